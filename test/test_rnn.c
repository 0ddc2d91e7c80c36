/* test_rnn.c: LSTM, GRU, RNN: the recorded tests. */
#include "kernel.h"
#include "test.h"

TEST(backend) {
    static const char *const prefixes[] = {"lstm_", "gru_", "rnn_", "simple_rnn_"};
    size_t failed = 0, ran = 0;
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        ran += kernel_backend(prefixes[i], "", &failed);
    CHECK_EQ(ran, 18);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(backend))
