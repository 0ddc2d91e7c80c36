/* unicode.h: properties of characters: case, categories and scripts. */
#ifndef ONX_UNICODE_H
#define ONX_UNICODE_H

#include "base/base.h"

enum { ONX_UNICODE_LAST = 0x10ffff };

/* Simple case mapping, one code point to one: the same where there is none. */
uint32_t onx_unicode_lower(uint32_t code);
uint32_t onx_unicode_upper(uint32_t code);
/* The next of those that differ only in case, in a circle: k, K, the Kelvin sign, k … */
uint32_t onx_unicode_fold(uint32_t code);
/* The first code point from `code` on that differs from another only in case; false: none. */
bool onx_unicode_cased(uint32_t code, uint32_t *out);
/* White space as Python's str.split has it. */
bool onx_unicode_is_space(uint32_t code);

/* A set of code points by name: a category ("Lu"), all of a letter ("L"), a script ("Greek"). */
typedef struct onx_unicode_group {
    const uint32_t *runs; /* from code point run >> 11 on they have the value run & 0x7ff */
    size_t n;
    uint32_t first, last; /* values that are in the group */
} onx_unicode_group;

bool onx_unicode_find(onx_str name, onx_unicode_group *out);
/* Its ranges, in rising order: *at begins with 0; false after the last one. */
bool onx_unicode_next(const onx_unicode_group *group, size_t *at, uint32_t *lo, uint32_t *hi);

#endif
