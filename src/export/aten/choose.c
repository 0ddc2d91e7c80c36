/* choose.c: one value or another: where, clamp, masked_fill. */
#include "export/aten/lowering.h"

/* ─ Bounds ───────────────────────────────────────────────────────────────────────────────────── */

static bool is_scalar(onx_export *x, const onx_xv *v) {
    return v->kind == ONX_X_NONE || onx_xv_is_number(v) || onx_x_rank(x, onx_xv_value(x, v)) == 0;
}

/* None of the two must be there; tensors take Max and Min. */
static void give_clamp(onx_export *x, const onx_xv *v, const onx_xv *low, const onx_xv *high,
                       onx_xv *out) {
    onx_xv list[3] = {*v};
    size_t n = 1;
    if (!onx_xv_is(low, ONX_X_NONE)) list[n++] = *low;
    if (!onx_xv_is(high, ONX_X_NONE)) list[n++] = *high;
    onx_dtype dtype = onx_x_promote(x, n, list);
    onx_value *value = onx_x_as(x, v, dtype);
    onx_value *min = onx_xv_is(low, ONX_X_NONE) ? NULL : onx_x_as(x, low, dtype);
    onx_value *max = onx_xv_is(high, ONX_X_NONE) ? NULL : onx_x_as(x, high, dtype);
    if (!onx_x_ok(x)) return;
    if (is_scalar(x, low) && is_scalar(x, high)) {
        value = onx_emit_wide(x, "Clip", value, min, max);
    } else {
        if (min) value = onx_emit_wide(x, "Max", value, min);
        if (max) value = onx_emit_wide(x, "Min", value, max);
    }
    onx_x_give(x, out, value);
}

static const onx_xv none = {.kind = ONX_X_NONE};

static void lower_clamp(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_clamp(x, &a[0], &a[1], &a[2], out);
}
static void lower_clamp_min(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_clamp(x, &a[0], &a[1], &none, out);
}
static void lower_clamp_max(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_clamp(x, &a[0], &none, &a[1], out);
}

/* ─ Conditions ───────────────────────────────────────────────────────────────────────────────── */

static void lower_where(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_x_promote(x, 2, a + 1);
    if (onx_dtype_is_complex(dtype)) {
        onx_dtype part = onx_complex_part(dtype);
        onx_value *is = onx_x_unsqueeze(x, onx_x_as(x, &a[0], ONX_DTYPE_BOOL), -1);
        *out = onx_xv_complex(x, onx_emit(x, "Where", is, onx_complex_pairs(x, &a[1], part),
                                          onx_complex_pairs(x, &a[2], part)));
        return;
    }
    onx_x_give(x, out,
               onx_emit(x, "Where", onx_x_as(x, &a[0], ONX_DTYPE_BOOL), onx_x_as(x, &a[1], dtype),
                        onx_x_as(x, &a[2], dtype)));
}

static void lower_masked_fill(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = onx_xv_type(x, &a[0]);
    onx_x_give(x, out,
               onx_emit(x, "Where", onx_x_as(x, &a[1], ONX_DTYPE_BOOL), onx_x_as(x, &a[2], dtype),
                        onx_xv_value(x, &a[0])));
}

#define CLAMP(name)                                                                                \
    { name "(Tensor self, Any? min=None, Any? max=None)", lower_clamp, NULL }
const onx_aten onx_aten_choose[] = {
    CLAMP("clamp"),
    CLAMP("clip"),
    {"clamp_min(Tensor self, Any min)", lower_clamp_min, NULL},
    {"clamp_max(Tensor self, Any max)", lower_clamp_max, NULL},
    {"where.self(Tensor condition, Any self, Any other)", lower_where, NULL},
    {"masked_fill(Tensor self, Tensor mask, Any value)", lower_masked_fill, NULL},
    {NULL, NULL, NULL},
};
