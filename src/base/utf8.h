/* utf8.h: UTF-8, and places in a text. */
#ifndef ONX_UTF8_H
#define ONX_UTF8_H

#include "base/base.h"

/* The bytes (1 to 4) of the character at `p`; 0 if they are no valid UTF-8. `p` is before `end`. */
size_t onx_utf8_size(const char *p, const char *end);
/* The same, and which code point it is. */
size_t onx_utf8_get(const char *p, const char *end, uint32_t *code);
/* Writes a code point as UTF-8 and returns its bytes; 0 for a surrogate or what is beyond
 * Unicode. */
size_t onx_utf8_put(uint32_t code, char out[4]);

/* "line 3, column 7" for a byte of `text`, columns counted in characters, and its offset. */
void onx_diag_text(onx_diag *diag, onx_str text, size_t offset);

#endif
