/* values.h: the elements of tensors, for people, and the parts of a data file one by one. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include "cli.h"

/* ── Elements ────────────────────────────────────────────────────────────────────────────────── */

/* A tensor whose elements can be had. */
typedef struct values {
    const onx_tensor *tensor;
    onx_dtype dtype;
    uint64_t count;
    size_t bytes;
    const char *dense; /* NULL: strings */
    void *owned;       /* `dense`, when it had to be unpacked */
} values;

onx_status values_open(values *v, const onx_tensor *tensor, onx_diag *diag);
void values_close(values *v);

typedef enum values_kind {
    VALUES_INT,
    VALUES_UINT,
    VALUES_BOOL,
    VALUES_REAL,
    VALUES_COMPLEX,
    VALUES_STRING,
} values_kind;
values_kind values_kind_of(onx_dtype dtype);

/* Elements `at` … `at + n - 1`, converted; `at` is a multiple of 8. */
void values_read(const values *v, uint64_t at, size_t n, onx_dtype as, void *out);
/* One element, with as few digits as tell it from its neighbours. Strings are quoted, and cut. */
cli_text values_text(const values *v, uint64_t index);
/* "[1,2,3]": where in the tensor an element is. */
cli_text values_place(const values *v, uint64_t index);

/* min, max, mean and the like, in one line. */
void values_print_stats(const values *v, FILE *out);
/* Nested brackets, as NumPy writes them; tensors of more than `most` elements are summarised. Lines
 * begin with `indent` spaces, the first one too. */
void values_print(const values *v, size_t most, size_t indent, FILE *out);

/* ── Parts ───────────────────────────────────────────────────────────────────────────────────── */

enum { PARTS_DEPTH = 128 }; /* more than the library reads */

/* A walk over data and all in it: start with the data as `root` and zeros, then call parts_next. */
typedef struct parts {
    const onx_data *root;
    size_t depth; /* of the part returned last: 1 is the root */
    struct {
        const onx_data *data, *last; /* `last`: of its elements, the one returned last */
        size_t at, count;            /* which of its elements comes next; how many there are */
    } stack[PARTS_DEPTH];
} parts;

const onx_data *parts_next(parts *p); /* NULL after the last one */
void parts_skip_rest(parts *p);       /* of the elements beside the part returned last */
/* The container of the part returned last, and its place in there; NULL for the root. */
const onx_data *parts_container(const parts *p, size_t *index);

#endif
