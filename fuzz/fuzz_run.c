/* fuzz_run.c: models are run.
 *
 *     one byte of options, one byte of seed, the model
 *
 * A model that loads is made into a session, optimized and plain, and run with inputs made up from
 * the seed. Whatever happens, it ends soon, in bounded memory, and with all memory given back; and
 * when both ways give a result, they give the same shapes. */
#include "fuzz.h"

#include <time.h>

/* A run ends within 100 ms of its time; what sanitizers make of that is about 500. */
enum { ARGS = 8, BYTES = 1 << 16, RUN_MS = 200, LATE_MS = 500 };

typedef struct inputs {
    onx_context *ctx;
    onx_arg args[ARGS];
    size_t n;
    uint32_t seed;
    char bytes[ARGS][BYTES];
} inputs;

static uint32_t next(inputs *in) {
    in->seed = in->seed * 1664525u + 1013904223u;
    return in->seed >> 16;
}

/* Small sizes, small numbers: those that get far. */
static bool make_tensor(inputs *in, const onx_type *type, onx_arg *arg, char *bytes) {
    float numbers[1024];
    size_t size = 0;
    uint64_t count = 1;
    bool shaped = onx_type_has_shape(type);
    *arg = (onx_arg){.dtype = onx_type_dtype(type), .data = bytes};
    arg->rank = shaped ? onx_type_rank(type) : next(in) % 5;
    if (arg->rank > ONX_RANK_MAX) return false;
    for (size_t i = 0; i < arg->rank; i++) {
        int64_t dim = shaped ? onx_type_dim(type, i) : -1;
        arg->dims[i] = dim < 0 ? (1 + (next(in) & 3)) % 4 : dim;
        count *= (uint64_t)arg->dims[i];
        if (arg->dims[i] > BYTES || count > BYTES) return false;
    }
    if (arg->dtype == ONX_DTYPE_STRING) return count <= 1024;
    if (!onx_dtype_bytes(arg->dtype, count, &size) || size > BYTES) return false;
    arg->bytes = size;
    for (size_t i = 0; i < 1024; i++) numbers[i] = (float)(int)(next(in) >> 12) - 4;
    if (count > 1024 || arg->dtype == ONX_DTYPE_BOOL)
        for (size_t i = 0; i < size; i++) bytes[i] = (char)(next(in) & 1);
    else
        FUZZ_OK(onx_dtype_convert(ONX_DTYPE_F32, numbers, arg->dtype, bytes, count, true), NULL);
    return true;
}

static bool make_element(inputs *in, const onx_type *type, char *bytes, onx_tensor **out) {
    static const char *const words[] = {"", "a", "B c", "\xc3\xa4", "12", "-3.5e2", "nan"};
    const char *strings[1024];
    onx_arg arg;
    if (onx_type_kind_of(type) != ONX_TYPE_TENSOR || !make_tensor(in, type, &arg, bytes))
        return false;
    for (size_t i = 0; i < 1024; i++) strings[i] = words[next(in) % ONX_COUNT(words)];
    return arg.dtype == ONX_DTYPE_STRING
               ? !onx_tensor_new_strings(in->ctx, "", arg.rank, arg.dims, strings, out, NULL)
               : !onx_tensor_new(in->ctx, "", arg.dtype, arg.rank, arg.dims, arg.data, arg.bytes,
                                 out, NULL);
}

static bool make_sequence(inputs *in, const onx_type *type, char *bytes, onx_data **out) {
    bool ok = onx_sequence_new(in->ctx, out, NULL) == ONX_OK;
    for (uint32_t n = next(in) % 4; ok && n; n--) {
        onx_tensor *element = NULL;
        ok = make_element(in, onx_type_elem(type), bytes, &element) &&
             onx_sequence_append(*out, "", element, NULL) == ONX_OK;
        onx_tensor_free(element);
    }
    return ok;
}

static bool make_map(inputs *in, const onx_type *type, char *bytes, onx_data **out) {
    static const char *const words[] = {"a", "B c", "", "12"};
    static const int64_t numbers[] = {3, 0, -7, INT64_MAX};
    int64_t n = next(in) % 5;
    onx_data *values = NULL;
    onx_tensor *keys = NULL;
    bool ok = onx_sequence_new(in->ctx, &values, NULL) == ONX_OK;
    if (onx_type_dtype(type) == ONX_DTYPE_STRING)
        ok = ok && !onx_tensor_new_strings(in->ctx, "", 1, &n, words, &keys, NULL);
    else
        ok = ok && !onx_tensor_new(in->ctx, "", ONX_DTYPE_I64, 1, &n, numbers, (size_t)n * 8, &keys,
                                   NULL);
    for (int64_t i = 0; ok && i < n; i++) {
        onx_tensor *element = NULL;
        ok = make_element(in, onx_type_elem(type), bytes, &element) &&
             onx_sequence_append(values, "", element, NULL) == ONX_OK;
        onx_tensor_free(element);
    }
    ok = ok && onx_map_new(in->ctx, keys, values, out, NULL) == ONX_OK;
    onx_tensor_free(keys);
    onx_data_free(values);
    return ok;
}

static bool make_input(inputs *in, const onx_type *type, onx_arg *arg, char *bytes) {
    onx_tensor *tensor = NULL;
    *arg = (onx_arg){0};
    switch (type ? onx_type_kind_of(type) : ONX_TYPE_NONE) {
    case ONX_TYPE_TENSOR:
        if (onx_type_dtype(type) != ONX_DTYPE_STRING) return make_tensor(in, type, arg, bytes);
        if (!make_element(in, type, bytes, &tensor)) return false;
        arg->value = onx_tensor_data(tensor);
        return true;
    case ONX_TYPE_SEQUENCE: return make_sequence(in, type, bytes, &arg->value);
    case ONX_TYPE_MAP: return make_map(in, type, bytes, &arg->value);
    case ONX_TYPE_OPTIONAL:
        if (onx_type_kind_of(onx_type_elem(type)) == ONX_TYPE_TENSOR && next(in) % 4)
            return make_tensor(in, onx_type_elem(type), arg, bytes);
        return onx_optional_new(in->ctx, NULL, &arg->value, NULL) == ONX_OK;
    default: return false;
    }
}

static bool make_inputs(inputs *in, const onx_session *session) {
    size_t n = onx_session_input_count(session);
    if (n > ARGS) return false;
    for (in->n = 0; in->n < n; in->n++)
        if (!make_input(in, onx_session_input_type(session, in->n), &in->args[in->n],
                        in->bytes[in->n])) {
            in->n += in->args[in->n].value != NULL;
            return false;
        }
    return true;
}

static double cpu_ms(void) {
    return (double)clock() * 1e3 / CLOCKS_PER_SEC;
}

static bool run(onx_context *ctx, const onx_model *model, uint8_t how, uint8_t seed, onx_arg *out,
                size_t *n_out) {
    static inputs in;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_run_options limits = ONX_INIT(onx_run_options);
    onx_session *session = NULL;
    in.ctx = ctx;
    in.seed = seed;
    in.n = 0;
    options.threads = 1;
    options.level = how & 1 ? ONX_LEVEL_NONE : ONX_LEVEL_ALL;
    options.cpu = how & 2 ? "ref" : NULL;
    options.dynamic = how & 4;
    options.pin_all = how & 8;
    options.memory_limit = (size_t)256 << 20;
    limits.timeout = RUN_MS * 1e-3;
    onx_status status = onx_session_new(model, &options, &session, &diag);
    if (status == ONX_OK && !make_inputs(&in, session))
        status = ONX_CANCELLED;
    else if (status == ONX_OK) {
        double start = cpu_ms();
        *n_out = onx_session_output_count(session);
        if (*n_out > ARGS) *n_out = ARGS;
        status = onx_session_run(session, in.n, in.args, *n_out, out, &limits, &diag);
        FUZZ_CHECK(cpu_ms() - start < RUN_MS + LATE_MS);
    }
    if (status != ONX_OK && status != ONX_CANCELLED) fuzz_refused(status, &diag);
    for (size_t i = 0; i < in.n; i++) onx_data_free(in.args[i].value);
    onx_session_free(session);
    return status == ONX_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    onx_context *ctx = fuzz_context();
    onx_model *model = NULL;
    onx_arg out[2][ARGS] = {{{0}}};
    size_t n[2] = {0, 0};
    if (onx_model_load_memory(ctx, data + 2, size - 2, NULL, &model, NULL) == ONX_OK) {
        bool plain = run(ctx, model, data[0] | 1, data[1], out[0], &n[0]);
        bool other = run(ctx, model, data[0] & 0xfe, data[1], out[1], &n[1]);
        for (size_t i = 0; plain && other && i < n[0]; i++) {
            FUZZ_CHECK(out[0][i].dtype == out[1][i].dtype && out[0][i].rank == out[1][i].rank);
            FUZZ_CHECK(memcmp(out[0][i].dims, out[1][i].dims, out[0][i].rank * 8) == 0);
        }
        for (size_t i = 0; i < ARGS; i++) {
            onx_arg_clear(&out[0][i]);
            onx_arg_clear(&out[1][i]);
        }
    }
    onx_model_free(model);
    fuzz_context_free(ctx);
    return 0;
}
