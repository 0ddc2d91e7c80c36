/* utf8.c: see utf8.h. Overlong forms, surrogates and code points past U+10FFFF are not valid. */
#include "base/utf8.h"

size_t onx_utf8_get(const char *p, const char *end, uint32_t *out) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)*p;
    if (lead < 0x80) return *out = lead, 1;
    size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc0 || lead > 0xf7 || (size_t)(end - p) < size) return 0;
    uint32_t code = lead & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    if (code < least[size] || code > 0x10ffff || surrogate) return 0;
    *out = code;
    return size;
}

size_t onx_utf8_size(const char *p, const char *end) {
    uint32_t code;
    return onx_utf8_get(p, end, &code);
}

size_t onx_utf8_put(uint32_t code, char out[4]) {
    if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return 0;
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[size] | code);
    return size;
}

void onx_diag_text(onx_diag *diag, onx_str text, size_t offset) {
    if (!diag) return;
    size_t line = 1, column = 1;
    for (size_t i = 0; i < offset && i < text.size; i++) {
        column += (text.data[i] & 0xc0) != 0x80;
        if (text.data[i] == '\n') line++, column = 1;
    }
    onx_diag_place(diag, "line %zu, column %zu", line, column);
    diag->offset = (int64_t)offset;
}
