// run_threads.cpp: one session, run from several threads at once, in C++17.
//
//     run_threads MODEL [THREADS [RUNS]]
//
// Inputs are zeros; dimensions without a size are 1. A session may be shared; each thread has its
// own arguments. Outputs that the library allocates are freed with onx_arg_clear.
#include <onx.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

template <auto free> struct Deleter {
    template <class T> void operator()(T *object) const {
        free(object);
    }
};
using Model = std::unique_ptr<onx_model, Deleter<onx_model_free>>;
using Session = std::unique_ptr<onx_session, Deleter<onx_session_free>>;

// What failed, as an exception.
void check(onx_status status, const onx_diag &diag) {
    if (status == ONX_OK) return;
    char text[1024];
    onx_diag_format(&diag, text, sizeof text);
    throw std::runtime_error(text);
}

Model load(const char *path) {
    onx_model *model = nullptr;
    onx_diag diag = ONX_INIT(onx_diag);
    check(onx_model_load(nullptr, path, nullptr, &model, &diag), diag);
    return Model(model);
}

Session prepare(const onx_model *model) {
    onx_session *session = nullptr;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session_options options = ONX_INIT(onx_session_options);
    options.threads = 1; // of each run: the program has threads of its own
    check(onx_session_new(model, &options, &session, &diag), diag);
    return Session(session);
}

struct Input {
    onx_arg arg{};
    std::vector<char> memory;
};

Input zeros(const onx_session *session, size_t index) {
    const onx_type *type = onx_session_input_type(session, index);
    Input input;
    std::uint64_t count = 1;
    input.arg.dtype = onx_type_dtype(type);
    input.arg.rank = onx_type_rank(type);
    for (size_t i = 0; i < input.arg.rank; i++) {
        const int64_t dim = onx_type_dim(type, i);
        input.arg.dims[i] = dim < 0 ? 1 : dim;
        count *= static_cast<std::uint64_t>(input.arg.dims[i]);
    }
    if (!onx_dtype_bytes(input.arg.dtype, count, &input.arg.bytes))
        throw std::runtime_error("an input is too large, or not of numbers");
    input.memory.resize(input.arg.bytes);
    input.arg.data = input.memory.data();
    return input;
}

void run_many(onx_session *session, int runs) {
    std::vector<Input> inputs;
    std::vector<onx_arg> args;
    for (size_t i = 0; i < onx_session_input_count(session); i++) {
        inputs.push_back(zeros(session, i));
        args.push_back(inputs.back().arg);
    }
    std::vector<onx_arg> outputs(onx_session_output_count(session));
    for (int n = 0; n < runs; n++) {
        onx_diag diag = ONX_INIT(onx_diag);
        const onx_status status = onx_session_run(session, args.size(), args.data(), outputs.size(),
                                                  outputs.data(), nullptr, &diag);
        for (onx_arg &output : outputs) onx_arg_clear(&output);
        check(status, diag);
    }
}

} // namespace

int main(int argc, char **argv) try {
    if (argc < 2) {
        std::cerr << "usage: run_threads MODEL [THREADS [RUNS]]\n";
        return 2;
    }
    const int n = argc > 2 ? std::atoi(argv[2]) : 2, runs = argc > 3 ? std::atoi(argv[3]) : 100;
    const Model model = load(argv[1]);
    const Session session = prepare(model.get());
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < n; i++)
        threads.emplace_back([&] {
            try {
                run_many(session.get(), runs);
            } catch (const std::exception &error) {
                if (failed++ == 0) std::cerr << "run_threads: " << error.what() << '\n';
            }
        });
    for (std::thread &thread : threads) thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (failed) return 1;
    std::cout << n * runs << " runs";
    if (took.count() > 0) std::cerr << ", " << n * runs / took.count() << " in a second";
    std::cout << '\n';
    return 0;
} catch (const std::exception &error) {
    std::cerr << "run_threads: " << error.what() << '\n';
    return 1;
}
