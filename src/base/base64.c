/* base64.c: see base64.h. */
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void onx_base64_encode(const void *data, size_t size, char *out) {
    const unsigned char *p = data;
    for (; size > 0; p += 3, out += 4) {
        size_t n = size < 3 ? size : 3;
        uint32_t bits = (uint32_t)p[0] << 16;
        if (n > 1) bits |= (uint32_t)p[1] << 8;
        if (n > 2) bits |= p[2];
        out[0] = digits[bits >> 18];
        out[1] = digits[bits >> 12 & 63];
        out[2] = n > 1 ? digits[bits >> 6 & 63] : '=';
        out[3] = n > 2 ? digits[bits & 63] : '=';
        size -= n;
    }
}

/* Without the padding, which only whole groups of four characters have. */
static onx_str unpadded(onx_str text) {
    if (text.size % 4 != 0) return text;
    for (int i = 0; i < 2 && text.size > 0 && text.data[text.size - 1] == '='; i++) text.size--;
    return text;
}

size_t onx_base64_decoded_size(onx_str text) {
    size_t n = unpadded(text).size;
    return n / 4 * 3 + n % 4 * 3 / 4;
}

/* 1 + the value of each character; 0 for those that are no digits. */
static void make_values(uint8_t values[256]) {
    memset(values, 0, 256);
    for (uint8_t i = 0; i < 64; i++) values[(unsigned char)digits[i]] = (uint8_t)(i + 1);
    values['-'] = values['+'];
    values['_'] = values['/'];
}

/* 2 to 4 characters to 1 to 3 bytes. The number of characters that are right. */
static size_t decode_group(const uint8_t values[256], const char *s, size_t n, unsigned char *out) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        uint32_t value = i < n ? values[(unsigned char)s[i]] : 1;
        if (value == 0) return i;
        bits = bits << 6 | (value - 1);
    }
    if (n < 4 && (bits & (n == 3 ? 0xff : 0xffff)) != 0) return n - 1;
    for (size_t i = 0; i + 1 < n; i++) out[i] = (unsigned char)(bits >> (16 - 8 * i));
    return n;
}

bool onx_base64_decode(onx_str text, void *out, size_t *bad) {
    uint8_t values[256];
    make_values(values);
    onx_str in = unpadded(text);
    unsigned char *p = out;
    for (size_t i = 0; i < in.size; i += 4, p += 3) {
        size_t n = in.size - i < 4 ? in.size - i : 4;
        size_t good = n == 1 ? 0 : decode_group(values, in.data + i, n, p);
        if (good == n) continue;
        *bad = i + good;
        return false;
    }
    return true;
}
