/* listing_tensor.c: the numbers in a tensor, as few as people want to see, with as few digits as
 * tell them from their neighbours in the tensor's type. */
#include "text/listing.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void onx_line_dims(onx_listing *l, onx_dtype dtype, const onx_i64s *dims) {
    onx_line_puts(l, ONX_STYLE_TYPE, onx_dtype_name(dtype));
    for (size_t i = 0; i < dims->n; i++)
        onx_line_printf(l, ONX_STYLE_TYPE, i ? ",%lld" : "[%lld", (long long)dims->v[i]);
    onx_line_puts(l, ONX_STYLE_TYPE, dims->n ? "]" : "");
}

void onx_line_tensor_type(onx_listing *l, const onx_tensor *tensor) {
    onx_line_dims(l, onx_tensor_dtype(tensor), &tensor->dims);
}

/* What elements are turned into before they are printed; 0: int64. */
static const uint8_t wide[ONX_DTYPE_COUNT] = {[ONX_DTYPE_F32] = ONX_DTYPE_F32,
                                              [ONX_DTYPE_C64] = ONX_DTYPE_C128,
                                              [ONX_DTYPE_C128] = ONX_DTYPE_C128,
                                              [ONX_DTYPE_U64] = ONX_DTYPE_U64,
                                              [ONX_DTYPE_BOOL] = ONX_DTYPE_BOOL,
#define REAL(name) [ONX_DTYPE_##name] = ONX_DTYPE_F64
                                              REAL(F64),
                                              REAL(F16),
                                              REAL(BF16),
                                              REAL(F8E4M3FN),
                                              REAL(F8E4M3FNUZ),
                                              REAL(F8E5M2),
                                              REAL(F8E5M2FNUZ),
                                              REAL(F8E8M0),
                                              REAL(F6E2M3),
                                              REAL(F6E3M2),
                                              REAL(F4E2M1)
#undef REAL
};

static onx_dtype wide_type(onx_dtype dtype) {
    return wide[dtype] ? (onx_dtype)wide[dtype] : ONX_DTYPE_I64;
}

/* A double near v with fewer digits that is still the same element: 0.1 for float16
 * 0.0999755859375. */
static double fewest_digits(onx_dtype dtype, double v) {
    char printed[64], text[64];
    double near;
    if (dtype == ONX_DTYPE_F64 || !isfinite(v)) return v;
    for (int digits = 1; digits < 6; digits++) {
        uint16_t a = 0, b = 0;
        int n = snprintf(printed, sizeof printed, "%.*e", digits - 1, fabs(v));
        const char *e = memchr(printed, 'e', (size_t)n);
        /* The locale's point, whatever it is, stands behind the first digit: leave it out. */
        n = snprintf(text, sizeof text, "%s%c%.*se%d", v < 0 ? "-" : "", printed[0], digits - 1,
                     e - (digits - 1), atoi(e + 1) - (digits - 1));
        if (!onx_parse_f64((onx_str){text, (size_t)n}, &near)) continue;
        onx_dtype_convert(ONX_DTYPE_F64, &near, dtype, &a, 1, true);
        onx_dtype_convert(ONX_DTYPE_F64, &v, dtype, &b, 1, true);
        if (a == b) return near;
    }
    return v;
}

enum { ELEMENT_MAX = 2 * ONX_NUMBER_MAX + 2 };

typedef union element {
    int64_t i;
    uint64_t u;
    float f;
    double d[2];
    uint8_t b;
} element;

static size_t element_text(onx_dtype dtype, const void *p, char text[ELEMENT_MAX]) {
    onx_dtype as = wide_type(dtype);
    element e;
    memcpy(&e, p, onx_dtype_bits(as) / 8);
    switch (as) {
    case ONX_DTYPE_F32: return onx_print_f32(e.f, text);
    case ONX_DTYPE_F64: return onx_print_f64(fewest_digits(dtype, e.d[0]), text);
    case ONX_DTYPE_U64: return onx_print_u64(e.u, text);
    case ONX_DTYPE_BOOL: return (size_t)snprintf(text, ELEMENT_MAX, "%s", e.b ? "true" : "false");
    case ONX_DTYPE_C128: {
        size_t n = onx_print_f64(e.d[0], text);
        if (!signbit(e.d[1])) text[n++] = '+';
        n += onx_print_f64(e.d[1], text + n);
        text[n++] = 'j';
        return n;
    }
    default: return onx_print_i64(e.i, text);
    }
}

typedef struct values {
    onx_listing *l;
    const onx_tensor *tensor;
    uint64_t count, n; /* elements; those to be shown */
    bool one_line;
} values;

/* The comma before element `index`, which is so wide; false when the line has no room for it. */
static bool next_element(const values *v, uint64_t index, size_t width) {
    onx_listing *l = v->l;
    if (index == 0) return true;
    size_t at = l->column + l->gap + l->word_width;
    if (at > l->width && l->column > l->indent) at = l->indent + l->word_width; /* folded first */
    size_t tail = index + 1 == v->count ? strlen("]") : strlen(", ...]");
    if (v->one_line && at + strlen(", ") + width + tail > l->width) return false;
    onx_line_puts(l, ONX_STYLE_PLAIN, ",");
    onx_line_space(l);
    return true;
}

/* These print, and return how many elements they printed. */

static uint64_t put_numbers(const values *v, const char *dense) {
    enum { BLOCK = 64 }; /* of any type, a whole number of bytes */
    element block[BLOCK];
    onx_dtype dtype = onx_tensor_dtype(v->tensor), as = wide_type(dtype);
    size_t step = onx_dtype_bits(as) / 8;
    for (uint64_t at = 0; at < v->n; at += BLOCK) {
        uint64_t m = v->n - at < BLOCK ? v->n - at : BLOCK;
        const char *src = dense + at / 8 * onx_dtype_bits(dtype);
        if (onx_dtype_convert(dtype, src, as, block, m, true)) return at;
        for (uint64_t i = 0; i < m; i++) {
            char text[ELEMENT_MAX];
            size_t size = element_text(dtype, (const char *)block + i * step, text);
            if (!next_element(v, at + i, size)) return at + i;
            onx_line_put(v->l, ONX_STYLE_PLAIN, (onx_str){text, size});
        }
    }
    return v->n;
}

static uint64_t put_strings(const values *v) {
    for (uint64_t i = 0; i < v->n; i++) {
        onx_str s = v->tensor->string_data.v[i];
        if (!next_element(v, i, s.size < 64 ? s.size + 2 : 64)) return i;
        onx_line_string(v->l, s);
    }
    return v->n;
}

/* From where they are or, for lists of integers, unpacked for the moment. */
static uint64_t put_dense(const values *v) {
    onx_str view = onx_tensor_view(v->tensor);
    onx_context *ctx = v->tensor->msg.doc->ctx;
    onx_out *out = &v->l->out;
    uint64_t n = 0;
    size_t bytes = 0;
    if (view.data) return put_numbers(v, view.data);
    onx_status status = onx_tensor_bytes(v->tensor, &bytes, out->diag);
    char *dense = status ? NULL : onx_mem_alloc(ctx, bytes);
    if (!status && !dense) status = onx_fail_nomem(out->diag);
    if (!status) status = onx_tensor_read(v->tensor, dense, bytes, out->diag);
    if (!status)
        n = put_numbers(v, dense);
    else if (!out->status)
        out->status = status;
    onx_mem_free(ctx, dense, bytes);
    return n;
}

void onx_line_values(onx_listing *l, const onx_tensor *tensor, size_t limit, bool one_line) {
    uint64_t count;
    bool bad = onx_tensor_check(tensor, NULL) || onx_tensor_count(tensor, &count, NULL);
    bool absent = onx_tensor_is_external(tensor) && !tensor->external.data;
    if (absent) {
        onx_line_puts(l, ONX_STYLE_FAINT, "in ");
        onx_line_puts(l, ONX_STYLE_FAINT, onx_tensor_location(tensor));
    } else if (bad || tensor->segment) {
        onx_line_puts(l, ONX_STYLE_BAD, "no valid data");
    }
    if (absent || bad || tensor->segment) return;
    bool scalar = tensor->dims.n == 0;
    values v = {l, tensor, count, count < limit ? count : limit, one_line};
    onx_line_puts(l, ONX_STYLE_PLAIN, scalar ? "" : "[");
    uint64_t shown = tensor->data_type == ONX_DTYPE_STRING ? put_strings(&v) : put_dense(&v);
    if (shown < count) onx_line_puts(l, ONX_STYLE_FAINT, shown ? ", …" : "…");
    onx_line_puts(l, ONX_STYLE_PLAIN, scalar ? "" : "]");
}
