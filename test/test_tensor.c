/* test_tensor.c: payloads of every element type in every form, and what is wrong with some. */
#include "test.h"

#include "ir/ir.h"

/* Bytes that differ everywhere; bools are 0 and 1, and the last byte of packed types has zero
 * padding. */
static void fill(onx_dtype dtype, uint64_t count, unsigned char *out, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) out[i] = (unsigned char)(i * 37 + 11);
    for (size_t i = 0; dtype == ONX_DTYPE_BOOL && i < bytes; i++) out[i] &= 1;
    unsigned used = (unsigned)(count * onx_dtype_bits(dtype) % 8);
    if (used && bytes) out[bytes - 1] &= (unsigned char)((1u << used) - 1);
}

/* raw -> typed -> raw keeps every bit, whatever the type and the count. */
TEST(forms) {
    size_t tried = 0;
    for (int t = 1; t < ONX_DTYPE_COUNT; t++) {
        onx_dtype dtype = (onx_dtype)t;
        if (dtype == ONX_DTYPE_STRING) continue;
        for (int64_t count = 0; count < 18; count++) {
            unsigned char in[512], out[512];
            size_t bytes;
            onx_tensor *tensor;
            CHECK(onx_dtype_bytes(dtype, (uint64_t)count, &bytes));
            fill(dtype, (uint64_t)count, in, bytes);
            REQUIRE(onx_tensor_new(NULL, "t", dtype, 1, &count, in, bytes, &tensor, NULL) ==
                    ONX_OK);
            CHECK(onx_tensor_check(tensor, NULL) == ONX_OK);
            CHECK(onx_tensor_store_typed(tensor, NULL) == ONX_OK);
            CHECK(!onx_msg_has(tensor, ONX_ROW(tensor, raw_data)));
            CHECK(onx_tensor_check(tensor, NULL) == ONX_OK);
            CHECK(onx_tensor_read(tensor, out, bytes, NULL) == ONX_OK && !memcmp(in, out, bytes));
            CHECK(onx_tensor_store_raw(tensor, NULL) == ONX_OK);
            onx_str view = onx_tensor_view(tensor);
            CHECK(view.size == bytes && (bytes == 0 || !memcmp(view.data, in, bytes)));
            onx_tensor_free(tensor);
            tried++;
        }
    }
    CHECK_EQ(tried, 27 * 18);
}

TEST(reading_as) {
    const float values[4] = {1.5f, -2, 300, 0};
    int8_t out[4];
    double wide[4];
    onx_tensor *t;
    REQUIRE(onx_tensor_new(NULL, NULL, ONX_DTYPE_F32, 2, (int64_t[]){2, 2}, values, 16, &t, NULL) ==
            ONX_OK);
    CHECK(onx_tensor_read_as(t, ONX_DTYPE_I8, out, sizeof out, NULL) == ONX_OK);
    CHECK(out[0] == 1 && out[1] == -2 && out[2] == 127 && out[3] == 0);
    CHECK(onx_tensor_read_as(t, ONX_DTYPE_F64, wide, sizeof wide, NULL) == ONX_OK &&
          wide[0] == 1.5);
    CHECK_EQ(onx_tensor_read_as(t, ONX_DTYPE_F64, wide, 8, NULL), ONX_USAGE);
    CHECK_EQ(onx_tensor_read_as(t, ONX_DTYPE_STRING, wide, 8, NULL), ONX_USAGE);
    CHECK_EQ(onx_tensor_read(t, wide, 8, NULL), ONX_USAGE);
    onx_tensor_free(t);
}

TEST(strings) {
    onx_tensor *t;
    onx_str s;
    const char *words[] = {"", "a", "\xc3\xa9t\xc3\xa9"};
    REQUIRE(onx_tensor_new_strings(NULL, "s", 1, (int64_t[]){3}, words, &t, NULL) == ONX_OK);
    CHECK(onx_tensor_check(t, NULL) == ONX_OK);
    CHECK(onx_tensor_string_at(t, 2, &s, NULL) == ONX_OK && s.size == 5);
    CHECK_EQ(onx_tensor_string_at(t, 3, &s, NULL), ONX_USAGE);
    CHECK_EQ(onx_tensor_store_raw(t, NULL), ONX_USAGE);
    CHECK(onx_tensor_view(t).data == NULL);
    onx_tensor_free(t);
}

/* Each breaks one rule; the sentence names it. */
static bool refused(const char *text, const char *part) {
    onx_diag diag = {0};
    onx_data *data = NULL;
    onx_status status =
        onx_data_load_memory(NULL, text, strlen(text), ONX_DATA_TENSOR, &data, &diag);
    if (!status) status = onx_tensor_check(onx_data_tensor(data), &diag);
    onx_data_free(data);
    bool ok = status == ONX_INVALID && strstr(diag.message, part);
    if (!ok) fprintf(stderr, "    %s: %s: %s\n", text, onx_status_name(status), diag.message);
    return ok;
}

TEST(rules) {
    CHECK(refused("data_type: 1 dims: 3 float_data: 1", "has 1 entries"));
    CHECK(refused("data_type: 1 dims: 1 int32_data: 1", "belong in 'float_data'"));
    CHECK(refused("data_type: 1 dims: 1 raw_data: \"abc\"", "raw_data has 3 bytes"));
    CHECK(refused("data_type: 1 dims: 1 raw_data: \"abcd\" float_data: 1", "both"));
    CHECK(refused("data_type: 1 dims: 1", "no data"));
    CHECK(refused("data_type: 99 dims: 1", "element type 99"));
    CHECK(refused("dims: 1 float_data: 1", "element type 0"));
    CHECK(refused("data_type: 1 dims: -1", "negative"));
    CHECK(refused("data_type: 1 dims: 4611686018427387904 dims: 4", "overflows"));
    CHECK(refused("data_type: 1 dims: 0 dims: 4611686018427387904 dims: 4", "overflows"));
    CHECK(refused("data_type: 1 dims: 4194305 dims: 4194305 dims: 211106198978564", "overflows"));
    CHECK(refused("data_type: 8 dims: 1 raw_data: \"a\"", "strings"));
    CHECK(refused("data_type: 22 dims: 3 int32_data: 1", "has 1 entries"));
    CHECK(refused("data_type: 14 dims: 1 float_data: 1", "has 1 entries"));
    CHECK(refused("data_type: 1 dims: 4 float_data: 1 segment { begin: 2 end: 9 }", "segment"));
}

TEST(numbers_of_types) {
    CHECK_EQ(ONX_DTYPE_COUNT, 29);
    CHECK_STR(onx_dtype_name(ONX_DTYPE_F8E4M3FNUZ), "float8e4m3fnuz");
    CHECK_EQ(onx_dtype_from_name("bfloat16"), ONX_DTYPE_BF16);
    CHECK_EQ(onx_dtype_from_name("nothing"), ONX_DTYPE_NONE);
    size_t bytes;
    CHECK(onx_dtype_bytes(ONX_DTYPE_U2, 5, &bytes) && bytes == 2);
    CHECK(!onx_dtype_bytes(ONX_DTYPE_F64, UINT64_MAX / 4, &bytes));
    CHECK(!onx_dtype_bytes(ONX_DTYPE_STRING, 1, &bytes));
}

TEST_MAIN(E(forms) E(reading_as) E(strings) E(rules) E(numbers_of_types))
