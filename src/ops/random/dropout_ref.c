/* dropout_ref.c: Dropout: in training, elements become 0 at random, and the others are scaled so
 * that the mean stays; else nothing happens.
 *
 *     since 12    training where the input training_mode says so
 *     7, 10       never
 *     1, 6        unless is_test is set
 *
 * An element stays where the number drawn for it (twister_ref.h) is not below the ratio, as with
 * NumPy's np.random.uniform(0, 1, shape) >= ratio. */
#include "ops/random/dropout_ref.h"

#include "ops/random/twister_ref.h"

#include <math.h>

enum { SPAN = 256, CHECK = 64 * SPAN };

typedef struct state {
    onx_seed seed;
    double ratio; /* where it is no input */
    bool trains;  /* where that is no input */
} state;

/* The first element of a scalar input, as a double. */
static onx_status get_scalar(const onx_call *call, size_t index, const char *what, double *out) {
    const onx_operand *in = onx_call_in(call, index);
    if (!in) return ONX_OK;
    if (in->count != 1)
        return onx_call_fail(call, ONX_INVALID, "%s has %lld elements; it must have one", what,
                             (long long)in->count);
    onx_operand_get(in, 0, 1, out);
    return ONX_OK;
}

/* Before 12, is it training? */
static bool always_trains(const onx_call *call) {
    return call->op->since < 7 && !onx_call_int(call, "is_test");
}

onx_status onx_dropout_init_none(onx_call *call) {
    const onx_operand *mode = onx_call_in(call, 2);
    double trains = 0;
    bool known = !mode || (mode->constant && mode->count == 1);
    if (known && mode) ONX_TRY(get_scalar(call, 2, "training_mode", &trains));
    bool masks = call->n_out > 1 && call->out[1];
    return known && trains == 0 && !masks && !always_trains(call) ? ONX_OK : ONX_UNSUPPORTED;
}

onx_status onx_dropout_init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    onx_seed_init(&st->seed, call);
    st->ratio = call->op->since < 12 ? (double)onx_call_float(call, "ratio") : 0.5;
    st->trains = always_trains(call);
    return ONX_OK;
}

onx_status onx_dropout_bind(onx_call *call) {
    const onx_operand *in = call->in[0];
    onx_dtype mask = call->op->since < 10 ? (onx_dtype)in->dtype : ONX_DTYPE_BOOL;
    ONX_TRY(onx_bind_same(call));
    return onx_call_shape(call, 1, mask, in->rank, in->dims);
}

static onx_status drop(onx_call *call, onx_twister *t, double ratio) {
    const onx_operand *in = call->in[0], *out = call->out[0];
    const onx_operand *mask = call->n_out > 1 ? call->out[1] : NULL;
    double x[SPAN], stays[SPAN], scale = t ? 1 / (1 - ratio) : 1;
    size_t count = (size_t)in->count;
    for (size_t i = 0; i < count; i += SPAN) {
        size_t n = count - i < SPAN ? count - i : SPAN;
        onx_operand_get(in, i, n, x);
        for (size_t e = 0; e < n; e++) {
            stays[e] = !t || onx_twister_uniform(t) >= ratio;
            x[e] *= stays[e] * scale;
        }
        if (out && t)
            (void)onx_dtype_convert(ONX_DTYPE_F64, x, (onx_dtype)out->dtype, onx_operand_at(out, i),
                                    n, true);
        else if (out && out->data != in->data)
            memcpy(onx_operand_at(out, i), onx_operand_at(in, i),
                   n * (onx_dtype_bits((onx_dtype)in->dtype) / 8));
        if (mask) onx_operand_put(mask, i, n, stays);
        if (i % CHECK == 0) ONX_TRY(onx_call_check(call));
    }
    return ONX_OK;
}

onx_status onx_dropout_run(onx_call *call) {
    state *st = call->state;
    double ratio = st->ratio, trains = st->trains;
    onx_twister t;
    ONX_TRY(get_scalar(call, 1, "ratio", &ratio));
    ONX_TRY(get_scalar(call, 2, "training_mode", &trains));
    if (trains == 0) return drop(call, NULL, 0);
    if (!(ratio >= 0 && ratio < 1))
        return onx_call_fail(call, ONX_INVALID, "the ratio is %g; it must be in [0, 1)", ratio);
    onx_twister_start(&t, &st->seed);
    return drop(call, &t, ratio);
}
