/* dtype.c: the element types: names, sizes, packing. The conversion is in dtype_convert.c. */
#include "ir/dtype.h"

static const struct row {
    const char *name;
    uint8_t bits;
} rows[ONX_DTYPE_COUNT] = {
#define DTYPE_ROW(NAME, value, text, bits) [ONX_DTYPE_##NAME] = {text, bits},
    ONX_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};

static bool known(onx_dtype dtype) {
    return (unsigned)dtype < ONX_DTYPE_COUNT;
}

const char *onx_dtype_name(onx_dtype dtype) {
    return known(dtype) ? rows[dtype].name : "?";
}

onx_dtype onx_dtype_from_name(const char *name) {
    for (size_t i = 0; name && i < ONX_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0) return (onx_dtype)i;
    return ONX_DTYPE_NONE;
}

unsigned onx_dtype_bits(onx_dtype dtype) {
    return known(dtype) ? rows[dtype].bits : 0;
}

bool onx_dtype_bytes(onx_dtype dtype, uint64_t count, size_t *bytes) {
    unsigned bits = onx_dtype_bits(dtype);
    if (bits == 0 || count > SIZE_MAX) return false;
    /* Whole groups of 8 elements, and the rest: no product overflows unless the result does. */
    size_t whole, rest = ((size_t)count % 8 * bits + 7) / 8;
    return onx_mul_size((size_t)count / 8, bits, &whole) && onx_add_size(whole, rest, bytes);
}

void onx_dtype_unpack(unsigned bits, const void *src, uint8_t *dst, size_t count) {
    const uint8_t *in = src;
    unsigned mask = (1u << bits) - 1;
    for (size_t i = 0; i < count; i++) {
        size_t byte = i / 8 * bits + i % 8 * bits / 8;
        unsigned shift = (unsigned)(i % 8) * bits % 8, v = in[byte];
        if (shift + bits > 8) v |= (unsigned)in[byte + 1] << 8;
        dst[i] = (uint8_t)(v >> shift & mask);
    }
}

void onx_dtype_pack(unsigned bits, const uint8_t *src, void *dst, size_t count) {
    uint8_t *out = dst;
    unsigned mask = (1u << bits) - 1, held = 0, n = 0;
    for (size_t i = 0; i < count; i++) {
        held |= (src[i] & mask) << n;
        n += bits;
        if (n < 8) continue;
        *out++ = (uint8_t)held;
        held >>= 8;
        n -= 8;
    }
    if (n > 0) *out = (uint8_t)held;
}

void onx_dtype_copy_bits(const void *src, uint64_t from, void *dst, uint64_t to, uint64_t count) {
    const uint8_t *in = src;
    uint8_t *out = dst;
    uint64_t done = 0;
    if (from % 8 == 0 && to % 8 == 0) {
        done = count / 8 * 8;
        if (done) memcpy(out + to / 8, in + from / 8, (size_t)(done / 8));
    }
    for (; done < count; done += 2) {
        uint64_t a = from + done, b = to + done;
        unsigned pair = in[a / 8] >> a % 8 & 3u;
        out[b / 8] = (uint8_t)((out[b / 8] & ~(3u << b % 8)) | pair << b % 8);
    }
}
