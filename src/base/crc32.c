/* crc32.c: the checksum of zip, PNG and Ethernet: by tables, eight bytes at a time, and long ones
 * by multiplications without carry, where the processor has them. */
#include "base/zip.h"

void onx_crc32_init(onx_crc32 *crc) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t sum = i;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
        crc->table[0][i] = sum;
    }
    /* table[k][i]: the byte i, with k zero bytes after it. */
    for (size_t k = 1; k < 8; k++)
        for (size_t i = 0; i < 256; i++) {
            uint32_t before = crc->table[k - 1][i];
            crc->table[k][i] = before >> 8 ^ crc->table[0][before & 0xff];
        }
}

static uint32_t add_by_tables(const onx_crc32 *crc, uint32_t sum, const unsigned char *p,
                              size_t n) {
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t v = onx_load_u64(p) ^ sum;
        sum = 0;
        for (size_t k = 0; k < 8; k++) sum ^= crc->table[7 - k][v >> 8 * k & 0xff];
    }
    for (; n > 0; n--, p++) sum = sum >> 8 ^ crc->table[0][(sum ^ *p) & 0xff];
    return sum;
}

#ifdef __x86_64__
#include <immintrin.h>

/* The 128 bits `x`, moved ahead by as many bits as the constants `k` stand for: what is congruent
 * to them there. */
__attribute__((target("pclmul"))) static __m128i ahead(__m128i x, __m128i k) {
    return _mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11));
}

/* Folds blocks of 64 bytes, of which there is one at least, into 16 bytes that have the sum of all
 * of them after `sum`. Returns how many bytes that were. */
__attribute__((target("pclmul"))) static size_t fold_blocks(uint32_t sum, const unsigned char *p,
                                                            size_t n, unsigned char rest[16]) {
    const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4); /* x^512, x^576 mod P */
    const __m128i by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0); /* x^128, x^192 mod P */
    __m128i x[4];
    for (int i = 0; i < 4; i++) x[i] = _mm_loadu_si128((const __m128i *)p + i);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)sum));
    size_t done = 64;
    for (; n - done >= 64; done += 64)
        for (int i = 0; i < 4; i++)
            x[i] =
                _mm_xor_si128(ahead(x[i], by512), _mm_loadu_si128((const __m128i *)(p + done) + i));
    for (int i = 1; i < 4; i++) x[0] = _mm_xor_si128(ahead(x[0], by128), x[i]);
    _mm_storeu_si128((__m128i *)rest, x[0]);
    return done;
}
/* 0: none, they are too few, or the processor cannot. */
static size_t fold(uint32_t sum, const unsigned char *p, size_t n, unsigned char rest[16]) {
    return n >= 128 && __builtin_cpu_supports("pclmul") ? fold_blocks(sum, p, n, rest) : 0;
}
#else
static size_t fold(uint32_t sum, const unsigned char *p, size_t n, unsigned char rest[16]) {
    (void)sum, (void)p, (void)n, (void)rest;
    return 0;
}
#endif

uint32_t onx_crc32_add(const onx_crc32 *crc, uint32_t sum, onx_str bytes) {
    const unsigned char *p = (const unsigned char *)bytes.data;
    unsigned char rest[16];
    if (!bytes.size) return sum;
    sum = ~sum;
    size_t folded = fold(sum, p, bytes.size, rest);
    if (folded) sum = add_by_tables(crc, 0, rest, sizeof rest);
    return ~add_by_tables(crc, sum, p + folded, bytes.size - folded);
}
