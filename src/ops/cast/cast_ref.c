/* cast_ref.c: Cast, CastLike, BitCast: plain loops, all types. What a conversion means is said in
 * ir/dtype.h. Strings are read and written as decimal numbers; infinities and NaN are "INF", "-INF"
 * and "NaN". A string that is no number is an error. */
#include "base/number.h"
#include "ir/dtype.h"
#include "ops/cast/cast.h"
#include "rt/kernel.h"
#include "rt/object.h"

#include <math.h>

enum { TASK = 32768, SPAN = 256 }; /* elements: multiples of whole bytes of packed types */

typedef enum round_mode { UP, DOWN, NEAREST } round_mode;
typedef struct state {
    onx_dtype to; /* NONE: as input 1 */
    round_mode mode;
    bool saturate;
} state;

static onx_status init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    bool like = call->n_in > 1;
    if (!like) st->to = onx_cast_to(call->op, call->node);
    if (!like && st->to == ONX_DTYPE_NONE)
        return onx_call_fail(call, ONX_INVALID, "the attribute 'to' names no type");
    onx_str mode = onx_call_string(call, "round_mode");
    st->mode = onx_str_is(mode, "down") ? DOWN : onx_str_is(mode, "nearest") ? NEAREST : UP;
    st->saturate = call->op->since < 19 || onx_call_int(call, "saturate") != 0;
    return ONX_OK;
}

static onx_status bind(onx_call *call) {
    const state *st = call->state;
    const onx_operand *in = call->in[0];
    onx_dtype to = st->to ? st->to : (onx_dtype)call->in[1]->dtype;
    return onx_call_shape(call, 0, to, in->rank, in->dims);
}

/* BitCast: the same bytes under another type. */
static onx_status bind_bits(onx_call *call) {
    const state *st = call->state;
    const onx_operand *in = call->in[0];
    unsigned bits = onx_dtype_bits((onx_dtype)in->dtype);
    if (bits == 0 || bits != onx_dtype_bits(st->to))
        return onx_call_fail(call, ONX_INVALID, "%s and %s are not of the same width",
                             onx_dtype_name((onx_dtype)in->dtype), onx_dtype_name(st->to));
    return onx_call_shape(call, 0, st->to, in->rank, in->dims);
}

/* ─ Numbers ──────────────────────────────────────────────────────────────────────────────────── */

/* To a power of two, so that rounding up leaves it as it is; what has no exponent stays. */
static double power_of_two(double x, round_mode mode) {
    int exponent;
    if (!(x > 0) || isinf(x)) return x;
    double fraction = frexp(x, &exponent); /* in [0.5, 1) */
    return ldexp(1, mode == NEAREST && fraction >= 0.75 ? exponent : exponent - 1);
}

static void convert_scales(const state *st, onx_dtype from, const char *src, char *dst, size_t n) {
    double x[SPAN];
    unsigned bits = onx_dtype_bits(from);
    for (size_t at = 0; at < n; at += SPAN) {
        size_t some = n - at < SPAN ? n - at : SPAN;
        (void)onx_dtype_convert(from, src + at / 8 * bits, ONX_DTYPE_F64, x, some, false);
        for (size_t i = 0; i < some; i++) x[i] = power_of_two(x[i], st->mode);
        (void)onx_dtype_convert(ONX_DTYPE_F64, x, ONX_DTYPE_F8E8M0, dst + at, some, st->saturate);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const state *st = call->state;
    onx_dtype from = (onx_dtype)call->in[0]->dtype, to = (onx_dtype)call->out[0]->dtype;
    size_t at = index * TASK, n = (size_t)call->in[0]->count - at;
    if (n > TASK) n = TASK;
    const char *src = (const char *)call->in[0]->data + at / 8 * onx_dtype_bits(from);
    char *dst = (char *)call->out[0]->data + at / 8 * onx_dtype_bits(to);
    if (to == ONX_DTYPE_F8E8M0 && st->mode != UP)
        convert_scales(st, from, src, dst, n);
    else
        return onx_dtype_convert(from, src, to, dst, n, st->saturate);
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    size_t n = ((size_t)call->in[0]->count + TASK - 1) / TASK;
    return onx_call_parallel(call, n, task, NULL);
}

/* ─ Strings ──────────────────────────────────────────────────────────────────────────────────── */

static bool is_whole(onx_dtype dtype) {
    return (ONX_T_INTS | ONX_T(BOOL) | ONX_T(I4) | ONX_T(U4) | ONX_T(I2) | ONX_T(U2)) >> dtype & 1;
}

/* Integers are read as such while they are, so that none loses digits. */
static bool parse(onx_str text, onx_dtype to, bool saturate, void *out) {
    int64_t s;
    uint64_t u;
    float f;
    double d;
    bool whole = is_whole(to);
    if (whole && onx_parse_i64(text, &s))
        return onx_dtype_convert(ONX_DTYPE_I64, &s, to, out, 1, saturate) == ONX_OK;
    if (whole && onx_parse_u64(text, &u))
        return onx_dtype_convert(ONX_DTYPE_U64, &u, to, out, 1, saturate) == ONX_OK;
    if (to == ONX_DTYPE_F32 && onx_parse_f32(text, &f)) {
        memcpy(out, &f, sizeof f);
        return true;
    }
    return onx_parse_f64(text, &d) &&
           onx_dtype_convert(ONX_DTYPE_F64, &d, to, out, 1, saturate) == ONX_OK;
}

enum { CHECK_EVERY = 1024 }; /* elements until the deadline is looked at */
enum { ELEMENT = 16 };       /* bytes that the largest one has */

static onx_status run_parse(onx_call *call) {
    const state *st = call->state;
    const onx_operand *out = call->out[0];
    const onx_str *strings = call->in[0]->object->strings;
    unsigned bits = onx_dtype_bits((onx_dtype)out->dtype);
    uint8_t one[ELEMENT];
    if (out->bytes) ((uint8_t *)out->data)[out->bytes - 1] = 0; /* with bits that are left over */
    for (int64_t i = 0; i < out->count; i++) {
        if (i % CHECK_EVERY == 0) ONX_TRY(onx_call_check(call));
        if (!parse(strings[i], (onx_dtype)out->dtype, st->saturate, one))
            return onx_call_fail(call, ONX_INVALID, "'%.*s' is not a number", ONX_FMT(strings[i]));
        onx_dtype_copy_bits(one, 0, out->data, (uint64_t)i * bits, bits);
    }
    return ONX_OK;
}

static onx_str print_float(double value, onx_dtype from, char *out) {
    if (isnan(value)) return ONX_LIT("NaN");
    if (isinf(value)) return value < 0 ? ONX_LIT("-INF") : ONX_LIT("INF");
    bool wide = from == ONX_DTYPE_F64;
    return (onx_str){out, wide ? onx_print_f64(value, out) : onx_print_f32((float)value, out)};
}

static onx_str print(const char *src, size_t at, onx_dtype from, char *out) {
    union {
        int64_t s;
        uint64_t u;
        double f;
    } x;
    uint8_t one[ELEMENT];
    unsigned bits = onx_dtype_bits(from);
    bool whole = is_whole(from);
    onx_dtype wide = from == ONX_DTYPE_U64 ? from : whole ? ONX_DTYPE_I64 : ONX_DTYPE_F64;
    onx_dtype_copy_bits(src, (uint64_t)at * bits, one, 0, bits);
    (void)onx_dtype_convert(from, one, wide, &x, 1, false);
    if (wide == ONX_DTYPE_U64) return (onx_str){out, onx_print_u64(x.u, out)};
    return whole ? (onx_str){out, onx_print_i64(x.s, out)} : print_float(x.f, from, out);
}

/* The elements of an input, strings or numbers, as strings. */
static onx_status run_print(onx_call *call) {
    const onx_operand *in = call->in[0];
    onx_object *object = NULL;
    if (in->object) return onx_call_object(call, 0, onx_object_retain(in->object));
    ONX_TRY(
        onx_object_tensor(call->ctx, ONX_DTYPE_STRING, in->rank, in->dims, &object, call->diag));
    for (int64_t i = 0; i < in->count; i++) {
        char text[ONX_NUMBER_MAX];
        onx_str number = print(in->data, (size_t)i, (onx_dtype)in->dtype, text);
        onx_status status = i % CHECK_EVERY ? ONX_OK : onx_call_check(call);
        if (status == ONX_OK) status = onx_object_set_string(object, i, number, call->diag);
        if (status == ONX_OK) continue;
        onx_object_release(object);
        return status;
    }
    return onx_call_object(call, 0, object);
}

static onx_status run_strings(onx_call *call) {
    return call->out[0]->dtype == ONX_DTYPE_STRING ? run_print(call) : run_parse(call);
}

static bool has_strings(const onx_call *call) {
    const state *st = call->state;
    return st->to == ONX_DTYPE_STRING || call->in[0]->dtype == ONX_DTYPE_STRING ||
           (call->n_in > 1 && call->in[1]->dtype == ONX_DTYPE_STRING);
}
static onx_status init_numbers(onx_call *call) {
    ONX_TRY(init(call));
    return has_strings(call) ? ONX_UNSUPPORTED : ONX_OK;
}
static onx_status init_strings(onx_call *call) {
    ONX_TRY(init(call));
    return has_strings(call) ? ONX_OK : ONX_UNSUPPORTED;
}

#define ROWS(op_)                                                                                  \
    {.op = op_, .first = 1, .name = "cast", .init = init_numbers, .bind = bind, .run = run}, {     \
        .op = op_, .first = 1, .name = "cast_string", .flags = ONX_KERNEL_OBJECTS,                 \
        .init = init_strings, .bind = bind, .run = run_strings                                     \
    }

extern onx_kernel_rows onx_kernels_cast_ref;
onx_kernel_rows onx_kernels_cast_ref = {
    {.op = "BitCast",
     .first = 26,
     .name = "bit_cast",
     .flags = ONX_KERNEL_VIEW,
     .init = init,
     .bind = bind_bits},
    ROWS("Cast"),
    ROWS("CastLike"),
    {0},
};
