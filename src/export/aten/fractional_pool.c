/* fractional_pool.c: pools of windows that begin at random places, which are given: numbers from 0
 * to 1 for each image, channel and axis. */
#include "export/aten/nn_args.h"

typedef struct fractional {
    onx_value *input; /* [batch, channels, …] */
    size_t axes;
    int64_t kernel[ONX_NN_AXES], out[ONX_NN_AXES];
    onx_value *samples; /* [batch, channels, axes] */
    bool added;
} fractional;

/* [batch, channels, results, kernel]: where along an axis the elements of each window are. The last
 * one ends where the image does. */
static onx_value *places(onx_export *x, const fractional *p, size_t i) {
    onx_dtype dtype = ONX_DTYPE_F32;
    onx_xv in = onx_x_size_of(x, p->input, 2 + i), n = onx_xv_int(x, p->out[i]);
    onx_xv last = onx_x_arith(x, "sub", in, onx_xv_int(x, p->kernel[i]));
    onx_xv kernel = onx_xv_int(x, p->kernel[i]);
    /* Of images the width comes first, of volumes the depth. */
    int64_t which = p->axes == 2 ? 1 - (int64_t)i : (int64_t)i;
    onx_value *sample =
        onx_x_unsqueeze(x, onx_x_cast(x, onx_x_pick(x, p->samples, 2, which), dtype), -1);
    onx_value *step = onx_x_as(x, &last, dtype);
    if (p->out[i] > 1) step = onx_emit_number(x, "Div", step, (double)p->out[i] - 1);
    onx_value *k = onx_x_cast(x, onx_x_count(x, &n), dtype);
    onx_value *at = onx_emit(x, "Floor", onx_emit(x, "Mul", onx_emit(x, "Add", k, sample), step));
    at = onx_emit(x, "Sub", at, onx_emit(x, "Floor", onx_emit(x, "Mul", sample, step)));
    onx_value *is_last = onx_emit_number(x, "Equal", k, (double)p->out[i] - 1);
    at = onx_emit(x, "Where", is_last, onx_x_as(x, &last, dtype), at);
    at = onx_x_unsqueeze(x, onx_x_cast(x, at, ONX_DTYPE_I64), -1);
    return onx_emit(x, "Add", at, onx_x_count(x, &kernel));
}

/* [batch, channels, results …, elements of a window]: places in the flat image. */
static onx_value *all_places(onx_export *x, const fractional *p) {
    onx_value *sum = NULL;
    onx_xv step = onx_xv_int(x, 1), shape[3 + ONX_NN_AXES];
    for (size_t i = p->axes; i-- > 0;) {
        int64_t others[2 * ONX_NN_AXES];
        size_t n = 0;
        onx_value *at = onx_emit(x, "Mul", places(x, p, i), onx_x_scalar(x, &step, ONX_DTYPE_I64));
        for (size_t k = 0; k < 2 * p->axes; k++)
            if (k % p->axes != i) others[n++] = 2 + (int64_t)k;
        at = onx_emit(x, "Unsqueeze", at, onx_x_ints(x, n, others));
        sum = sum ? onx_emit(x, "Add", sum, at) : at;
        step = onx_x_arith(x, "mul", step, onx_x_size_of(x, p->input, 2 + i));
    }
    for (size_t i = 0; i < 2; i++) shape[i] = onx_x_size_of(x, p->input, i);
    for (size_t i = 0; i < p->axes; i++) shape[2 + i] = onx_xv_int(x, p->out[i]);
    shape[2 + p->axes] = onx_xv_int(x, -1);
    return onx_x_reshape(x, sum, 3 + p->axes, shape);
}

/* (self, kernel_size, output_size, random_samples) -> (result, indices) */
static void lower_fractional(onx_export *x, const onx_xv *a, onx_xv *out) {
    fractional p = {.axes = onx_nn_axes(x), .samples = onx_nn_tensor(x, &a[3])};
    p.input = onx_nn_batch(x, onx_nn_tensor(x, &a[0]), p.axes, &p.added);
    if (!p.input || !p.samples || !onx_nn_ints(x, &a[1], "kernel_size", p.axes, p.kernel) ||
        !onx_nn_ints(x, &a[2], "output_size", p.axes, p.out))
        return;
    onx_xv flat[] = {onx_x_size_of(x, p.input, 0), onx_x_size_of(x, p.input, 1), onx_xv_int(x, -1)};
    int64_t last = 2 + (int64_t)p.axes;
    onx_value *at = all_places(x, &p);
    onx_value *v = onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", 2)),
                                 onx_x_reshape(x, p.input, 3, flat), onx_x_reshape(x, at, 3, flat));
    v = onx_x_reshape_like(x, v, at);
    onx_value *best = onx_emit_with(x, "ArgMax", ONX_ATTRS(ONX_AI("axis", last)), v);
    onx_value *found =
        onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", last)), at, best);
    onx_value *y = onx_x_reduce(x, "ReduceMax", v, 1, &last, false);
    onx_x_give(x, &out[0], onx_nn_unbatch(x, y, p.added));
    onx_x_give(x, &out[1], onx_nn_unbatch(x, onx_x_squeeze(x, found, last), p.added));
}

#define FRACTIONAL(n)                                                                              \
    "(Tensor self, int[" n "] kernel_size, int[" n "] output_size, Tensor random_samples) "        \
    "-> (Tensor, Tensor)"
const onx_aten onx_aten_fractional_pool[] = {
    {"fractional_max_pool2d" FRACTIONAL("2"), lower_fractional, NULL},
    {"fractional_max_pool3d" FRACTIONAL("3"), lower_fractional, NULL},
    {.schema = NULL},
};
