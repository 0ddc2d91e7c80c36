/* interp_builtin.h: operators that Python has itself, as rows of tables. */
#ifndef ONX_INTERP_BUILTIN_H
#define ONX_INTERP_BUILTIN_H

#include "export/interp_internal.h"

typedef struct onx_py_row onx_py_row;
/* False: not with these arguments; another row, or an operator of tensors, may take them. */
typedef bool onx_py_fn(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                       onx_xv *out);
struct onx_py_row {
    const char *name;
    size_t least, most; /* how many arguments */
    onx_py_fn *fn;
    const char *word; /* for `fn`: which of those that are alike */
};

/* They end with a row without a name. A name may stand in several tables: they are asked in this
 * order. */
extern const onx_py_row onx_py_lists[], onx_py_dicts[], onx_py_strings[], onx_py_numbers[],
    onx_py_questions[];

/* `cond`, made by `word` from a and b, is guessed where it asks whether a size is 0. */
void onx_py_guess_size(onx_interp *in, const char *word, const onx_xv *a, const onx_xv *b,
                       const onx_xv *cond);

onx_xv onx_py_list_new(onx_interp *in, size_t n, const onx_xv *v);
void onx_py_list_remove(onx_xlist *list, size_t i);
/* The element equal to `v`; the length: there is none. */
size_t onx_py_position(onx_interp *in, const onx_xlist *list, const onx_xv *v);
void onx_py_dict_set(onx_interp *in, onx_xdict *dict, onx_xv key, onx_xv value);
onx_xv onx_py_dict_copy(onx_interp *in, const onx_xdict *dict);

#endif
