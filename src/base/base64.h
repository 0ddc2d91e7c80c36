/* base64.h: bytes as base64 (RFC 4648) and back. */
#ifndef ONX_BASE64_H
#define ONX_BASE64_H

#include "base/base.h"

/* Characters that `size` bytes take, padding included. */
static inline size_t onx_base64_size(size_t size) {
    return size / 3 * 4 + (size % 3 ? 4 : 0);
}
/* Writes onx_base64_size(size) characters, no NUL. Pieces of a multiple of 3 bytes can be encoded
 * one by one. */
void onx_base64_encode(const void *data, size_t size, char *out);

/* Bytes that `text` stands for, if it is base64. */
size_t onx_base64_decoded_size(onx_str text);
/* Writes onx_base64_decoded_size(text) bytes. Takes the standard and the URL-safe alphabet; padding
 * may be left out; nothing else may stand in between, and unused bits must be zero. On failure
 * `*bad` is the first offending character. */
bool onx_base64_decode(onx_str text, void *out, size_t *bad) ONX_MUST_CHECK;

#endif
