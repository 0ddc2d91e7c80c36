/* numbers.h: reproducible numbers for tests of products. */
#ifndef ONX_TEST_NUMBERS_H
#define ONX_TEST_NUMBERS_H

#include <stdint.h>
#include <stdlib.h>

static uint64_t numbers_state = 88172645463325252u;
static size_t below(size_t limit) {
    numbers_state ^= numbers_state << 13;
    numbers_state ^= numbers_state >> 7;
    numbers_state ^= numbers_state << 17;
    return (size_t)(numbers_state >> 11) % limit;
}
static float *make(size_t count) { /* exactly so many floats, for the sanitizer; in [-1, 1) */
    float *p = malloc(count ? count * sizeof *p : 1);
    if (!p) exit(1);
    for (size_t i = 0; i < count; i++) p[i] = (float)below(1 << 20) / 0x1p19f - 1;
    return p;
}

#endif
