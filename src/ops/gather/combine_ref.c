/* combine_ref.c: two elements become one. Integers wrap around, booleans are joined by or and and,
 * half floats are combined as floats and rounded, NaN wins over any number. Complex numbers are
 * ordered by their real parts, then by the imaginary ones; strings by their bytes. */
#include "ops/gather/combine_ref.h"

bool onx_combine_knows(onx_dtype dtype, onx_reduction how) {
    uint32_t all = ONX_T_NUMBERS | ONX_T(BOOL) | ONX_T(C64) | ONX_T(C128) | ONX_T(STRING);
    return how == ONX_REDUCE_NONE ||
           ((all >> dtype & 1) && !(dtype == ONX_DTYPE_STRING && how == ONX_REDUCE_MUL));
}

/* Sums and products are made in `W`: unsigned for integers, which wrap around. */
#define COMBINE(T, W)                                                                              \
    {                                                                                              \
        T a, b;                                                                                    \
        memcpy(&a, to, sizeof a);                                                                  \
        memcpy(&b, from, sizeof b);                                                                \
        switch (how) {                                                                             \
        case ONX_REDUCE_ADD: a = (T)((W)a + (W)b); break;                                          \
        case ONX_REDUCE_MUL: a = (T)((W)a * (W)b); break;                                          \
        case ONX_REDUCE_MAX: a = a > b || a != a ? a : b; break;                                   \
        default: a = a < b || a != a ? a : b; break;                                               \
        }                                                                                          \
        memcpy(to, &a, sizeof a);                                                                  \
        return;                                                                                    \
    }

static void combine_floats(onx_reduction how, char *to, const char *from) COMBINE(float, float)

    static void combine_half(onx_dtype dtype, onx_reduction how, char *to, const char *from) {
    float a = 0, b = 0;
    (void)onx_dtype_convert(dtype, to, ONX_DTYPE_F32, &a, 1, true);
    (void)onx_dtype_convert(dtype, from, ONX_DTYPE_F32, &b, 1, true);
    combine_floats(how, (char *)&a, (const char *)&b);
    (void)onx_dtype_convert(ONX_DTYPE_F32, &a, dtype, to, 1, true);
}

static void combine_complex(onx_dtype dtype, onx_reduction how, char *to, const char *from) {
    onx_dtype part = dtype == ONX_DTYPE_C64 ? ONX_DTYPE_F32 : ONX_DTYPE_F64;
    double a[2] = {0}, b[2] = {0}, c[2];
    (void)onx_dtype_convert(part, to, ONX_DTYPE_F64, a, 2, true);
    (void)onx_dtype_convert(part, from, ONX_DTYPE_F64, b, 2, true);
    bool nan = a[0] != a[0] || a[1] != a[1], less = a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
    if (how == ONX_REDUCE_ADD) {
        c[0] = a[0] + b[0], c[1] = a[1] + b[1];
    } else if (how == ONX_REDUCE_MUL) {
        c[0] = a[0] * b[0] - a[1] * b[1], c[1] = a[0] * b[1] + a[1] * b[0];
    } else {
        memcpy(c, nan || less == (how == ONX_REDUCE_MIN) ? a : b, sizeof c);
    }
    (void)onx_dtype_convert(ONX_DTYPE_F64, c, part, to, 2, true);
}

static bool is_less(onx_str a, onx_str b) {
    size_t n = a.size < b.size ? a.size : b.size;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order < 0 : a.size < b.size;
}

/* Bytes for a sum of `size` bytes: powers of two, so that many small summands cost no more than
 * their bytes. */
static size_t room_of(size_t size) {
    size_t room = 16;
    while (room < size && room <= SIZE_MAX / 2) room *= 2;
    return room < size ? size : room;
}

static bool append(onx_str *to, onx_str tail, bool own, onx_arena *arena) {
    if (!tail.size) return true;
    if (tail.size > SIZE_MAX - to->size) return false;
    size_t size = to->size + tail.size;
    char *text = own && size <= room_of(to->size) ? (char *)to->data : NULL;
    if (!text) {
        text = onx_arena_alloc(arena, room_of(size));
        if (!text) return false;
        if (to->size) memcpy(text, to->data, to->size);
    }
    memcpy(text + to->size, tail.data, tail.size);
    *to = (onx_str){text, size};
    return true;
}

static bool combine_text(onx_reduction how, char *to, const char *from, bool own,
                         onx_arena *arena) {
    onx_str a, b;
    memcpy(&a, to, sizeof a);
    memcpy(&b, from, sizeof b);
    if (how == ONX_REDUCE_ADD && !append(&a, b, own, arena)) return false;
    if (how != ONX_REDUCE_ADD && is_less(b, a) == (how == ONX_REDUCE_MIN)) a = b;
    memcpy(to, &a, sizeof a);
    return true;
}

static void combine(onx_dtype dtype, onx_reduction how, char *to, const char *from) {
    bool any = how == ONX_REDUCE_ADD || how == ONX_REDUCE_MAX;
    switch (dtype) {
    case ONX_DTYPE_F32: combine_floats(how, to, from); return;
    case ONX_DTYPE_F64: COMBINE(double, double)
    case ONX_DTYPE_I8: COMBINE(int8_t, uint64_t)
    case ONX_DTYPE_I16: COMBINE(int16_t, uint64_t)
    case ONX_DTYPE_I32: COMBINE(int32_t, uint64_t)
    case ONX_DTYPE_I64: COMBINE(int64_t, uint64_t)
    case ONX_DTYPE_U8: COMBINE(uint8_t, uint64_t)
    case ONX_DTYPE_U16: COMBINE(uint16_t, uint64_t)
    case ONX_DTYPE_U32: COMBINE(uint32_t, uint64_t)
    case ONX_DTYPE_U64: COMBINE(uint64_t, uint64_t)
    case ONX_DTYPE_BOOL: *to = (char)(any ? *to || *from : *to && *from); return;
    case ONX_DTYPE_C64:
    case ONX_DTYPE_C128: combine_complex(dtype, how, to, from); return;
    default: combine_half(dtype, how, to, from); return;
    }
}

bool onx_combine(onx_dtype dtype, onx_reduction how, char *to, const char *from, bool own,
                 onx_arena *arena) {
    if (dtype == ONX_DTYPE_STRING) return combine_text(how, to, from, own, arena);
    combine(dtype, how, to, from);
    return true;
}
