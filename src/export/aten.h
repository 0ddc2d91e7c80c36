/* aten.h: how rows of operators are found, and views remembered; for aten.c and alias.c. */
#ifndef ONX_ATEN_H
#define ONX_ATEN_H

#include "export/strides.h"

struct onx_xview {
    const onx_xview *before; /* what it is a view of; NULL: the whole storage */
    const onx_aten *row;
    onx_xv *args;              /* of the call; args[0] is filled in when it is looked at again */
    size_t index;              /* of a list of views */
    onx_dtype dtype;           /* of what it was asked of, */
    const onx_xlayout *layout; /* and how that lies in memory */
};

/* The storage is another value from now on. */
void onx_xstorage_write(onx_export *x, onx_xstorage *storage, onx_value *value);

/* The tables of aten/, one for each family; each ends with a row without a schema. */
typedef struct onx_aten_family {
    const onx_aten *rows; /* NULL: the end */
    onx_xkeeping keeping; /* how results lie in memory */
} onx_aten_family;
extern const onx_aten_family onx_aten_families[];
typedef struct onx_aten_exception {
    const char *name; /* of an operator; NULL: the end */
    onx_xkeeping keeping;
} onx_aten_exception;
extern const onx_aten_exception onx_aten_exceptions[];

/* A parameter of a schema. */
typedef struct onx_xparam {
    onx_str name;
    onx_str type;   /* without ? and [] */
    bool optional;  /* may be None */
    bool named;     /* after `*` */
    bool list;      /* [] */
    size_t n;       /* int[2]: 2; else 0 */
    onx_str preset; /* the default as written; no data: there is none */
} onx_xparam;

typedef struct onx_xschema {
    const onx_aten *row;
    onx_str name, overload;
    size_t n_params, n_outs;
    onx_xparam *params;
    struct onx_xschema *next; /* of the same name */
    onx_xkeeping keeping;     /* of its family */
    bool parsed;
} onx_xschema;

/* aten_schema.c: the rows of a name, from the first on, all parsed; NULL: none, or x failed. */
onx_xschema *onx_xschema_find(onx_export *x, onx_str name);

/* aten/qtensor_rules.c: are there quantized tensors among the arguments? A call with such. */
bool onx_quant_among(size_t n, const onx_xv *args);
void onx_quant_lower(onx_export *x, const onx_xschema *s, const onx_xv *args, onx_xv *out);
/* aten/complex_call.c: is there a complex tensor among the arguments? Then it lowers the call. */
bool onx_complex_in(size_t n, const onx_xv *a);
void onx_complex_lower(onx_export *x, const onx_xschema *s, onx_xv *a, onx_xv *out);

/* custom_lower.c: a call of an operator that the user lowers: true where that is so, and the
 * results are there, or x failed. */
bool onx_custom_call(onx_export *x, onx_str name, size_t n, const onx_xarg *args,
                     onx_xv out[ONX_X_OUTS], size_t *n_out);
/* Does the user lower it by a function of ONNX? How many results it has; 0: none. */
size_t onx_custom_outs(const onx_export *x, onx_str name);

#endif
