/* fuzz_run.c: models are run.
 *
 *     one byte of options, one byte of seed, the model
 *
 * A model that loads is made into a session, optimized and plain, and run with inputs made up from
 * the seed. Whatever happens, it ends soon, in bounded memory, and with all memory given back; and
 * when both ways give a result, they give the same shapes. */
#include "fuzz.h"

enum { ARGS = 8, BYTES = 1 << 16 };

typedef struct inputs {
    onx_arg args[ARGS];
    size_t n;
    char bytes[ARGS][BYTES];
} inputs;

/* Small sizes, small numbers: those that get far. */
static bool make_input(const onx_type *type, uint32_t *seed, onx_arg *arg, char *bytes) {
    size_t size = 0;
    uint64_t count = 1;
    if (!type || onx_type_kind_of(type) != ONX_TYPE_TENSOR || !onx_type_has_shape(type))
        return false;
    *arg = (onx_arg){.dtype = onx_type_dtype(type), .rank = onx_type_rank(type), .data = bytes};
    if (arg->rank > ONX_RANK_MAX || arg->dtype == ONX_DTYPE_STRING) return false;
    for (size_t i = 0; i < arg->rank; i++) {
        int64_t dim = onx_type_dim(type, i);
        arg->dims[i] = dim < 0 ? 1 + (*seed >> 3 & 3) : dim;
        count *= (uint64_t)arg->dims[i];
        if (arg->dims[i] > BYTES || count > BYTES) return false;
    }
    if (!onx_dtype_bytes(arg->dtype, count, &size) || size > BYTES) return false;
    arg->bytes = size;
    float numbers[1024];
    for (size_t i = 0; i < 1024; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        numbers[i] = (float)(int)(*seed >> 28) - 4;
    }
    if (count > 1024 || arg->dtype == ONX_DTYPE_BOOL)
        for (size_t i = 0; i < size; i++) bytes[i] = (char)(*seed >> (i & 7) & 1);
    else
        FUZZ_OK(onx_dtype_convert(ONX_DTYPE_F32, numbers, arg->dtype, bytes, count, true), NULL);
    return true;
}

static bool make_inputs(const onx_session *session, uint32_t seed, inputs *in) {
    in->n = onx_session_input_count(session);
    if (in->n > ARGS) return false;
    for (size_t i = 0; i < in->n; i++)
        if (!make_input(onx_session_input_type(session, i), &seed, &in->args[i], in->bytes[i]))
            return false;
    return true;
}

static bool run(const onx_model *model, uint8_t how, uint8_t seed, onx_arg *out, size_t *n_out) {
    static inputs in;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_run_options limits = ONX_INIT(onx_run_options);
    onx_session *session = NULL;
    options.threads = 1;
    options.level = how & 1 ? ONX_LEVEL_NONE : ONX_LEVEL_ALL;
    options.cpu = how & 2 ? "ref" : NULL;
    options.dynamic = how & 4;
    options.pin_all = how & 8;
    options.memory_limit = (size_t)256 << 20;
    limits.timeout = 1;
    onx_status status = onx_session_new(model, &options, &session, &diag);
    if (status == ONX_OK && !make_inputs(session, seed, &in))
        status = ONX_CANCELLED;
    else if (status == ONX_OK) {
        *n_out = onx_session_output_count(session);
        if (*n_out > ARGS) *n_out = ARGS;
        status = onx_session_run(session, in.n, in.args, *n_out, out, &limits, &diag);
    }
    if (status != ONX_OK && status != ONX_CANCELLED) fuzz_refused(status, &diag);
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
        bool plain = run(model, data[0] | 1, data[1], out[0], &n[0]);
        bool other = run(model, data[0] & 0xfe, data[1], out[1], &n[1]);
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
