/* base.h: what every file of the library may use: errors, checked arithmetic, small inline helpers.
 *
 * Error discipline, in three macros:
 *     ONX_TRY(call)                       pass a failure on
 *     return onx_fail(diag, STATUS, ...)  start one, with its sentence
 *     onx_diag_place(diag, ...)           say where, once, at the level that knows
 * On failure a function leaves its outputs untouched and owes nothing.
 */
#ifndef ONX_BASE_H
#define ONX_BASE_H

#include "onx.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "onx reads tensor data in place: it needs a little-endian machine"
#endif

#define ONX_MUST_CHECK __attribute__((warn_unused_result))
#define ONX_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ONX_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ONX_TRY(call)                                                                              \
    do {                                                                                           \
        onx_status onx_try_status = (call);                                                        \
        if (onx_try_status != ONX_OK) return onx_try_status;                                       \
    } while (0)

/* Fill `diag` (which may be NULL) with a status and a sentence; returns the status. */
onx_status onx_fail(onx_diag *diag, onx_status status, const char *fmt, ...) ONX_PRINTF(3, 4);
/* Out of memory: never allocates, never fails. */
onx_status onx_fail_nomem(onx_diag *diag);
/* Set the place ("graph main, node 'conv1', attribute 'pads'") and the way out. */
void onx_diag_place(onx_diag *diag, const char *fmt, ...) ONX_PRINTF(2, 3);
/* near.c: how many letters must be put in, left out or exchanged, whatever their case; `most` when
 * it is that or more, or a name is long. */
size_t onx_str_distance(onx_str a, onx_str b, size_t most);
void onx_diag_hint(onx_diag *diag, const char *fmt, ...) ONX_PRINTF(2, 3);
void onx_diag_file(onx_diag *diag, const char *path); /* unless a file is named already */

/* Strings: a span of bytes. Those that the library stores are also followed by a NUL. */
#define ONX_LIT(literal) ((onx_str){(literal), sizeof(literal) - 1})
/* For printf: "%.*s", ONX_FMT(s). Cut at 200 bytes so that a hostile name cannot flood a
 * message. */
#define ONX_FMT(s) ((int)((s).size < 200 ? (s).size : 200)), ((s).data ? (s).data : "")

static inline onx_str onx_str_of(const char *z) {
    return (onx_str){z, z ? strlen(z) : 0};
}
static inline bool onx_str_eq(onx_str a, onx_str b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
static inline bool onx_str_is(onx_str a, const char *z) {
    return onx_str_eq(a, onx_str_of(z));
}
static inline bool onx_str_ends(onx_str a, onx_str tail) {
    return a.size >= tail.size &&
           onx_str_eq((onx_str){a.data + a.size - tail.size, tail.size}, tail);
}

/* Checked arithmetic: true on success. The only place where sizes from a file may be combined. */
static inline bool onx_add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool onx_mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool onx_add_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool onx_sub_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_sub_overflow(a, b, out);
}
static inline bool onx_mul_i64(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

/* Where part i <= n begins, when `count` is cut into n parts as even as can be; the first are the
 * largest. */
static inline size_t onx_part_at(size_t count, size_t n, size_t i) {
    return count / n * i + (i < count % n ? i : count % n);
}

/* Unaligned little-endian loads and stores. */
static inline uint32_t onx_load_u32(const void *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t onx_load_u64(const void *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#endif
