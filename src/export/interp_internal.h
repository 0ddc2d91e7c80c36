/* interp_internal.h: what the files of the interpreter share.
 *
 *     interp.c          from the archive to the outputs
 *     interp_input.c    arguments of forward, taken apart and put together
 *     interp_module.c   objects and constants, from the archive's pickles
 *     interp_bound.c    objects of classes written in C++
 *     interp_expr.c     expressions
 *     interp_call.c     calls: methods, functions, operators, forms (annotate, isinstance …)
 *     interp_builtin.c  what Python has itself; interp_number.c, interp_list.c, interp_dict.c,
 *                       interp_str.c: on numbers, lists, dicts and strings
 *     interp_upgrade.c  operators that once meant something else
 *     interp_autocast.c with torch.autocast
 *     interp_stmt.c     statements
 *     interp_stack.c    lists that a loop of the model's fills
 *     interp_change.c   what branches and loops of the model's change
 *     interp_form.c     one form for what they give
 *     interp_control.c  branches and loops that the model decides
 *
 * All of it recurses as the program does: expressions in statements in calls, no deeper than
 * ONX_INTERP_DEPTH together; and it takes no more than ONX_INTERP_STEPS steps: statements, and
 * elements of lists that are looked at (onx_py_spend). */
#ifndef ONX_INTERP_INTERNAL_H
#define ONX_INTERP_INTERNAL_H

#include "export/interp.h"
#include "export/pickle.h"

enum {
    ONX_INTERP_DEPTH = 2000,
    ONX_INTERP_CALLS = 100,
    ONX_INTERP_STEPS = 1 << 18,
    ONX_INTERP_OPERATORS = 1 << 16, /* calls of operators of tensors */
};

/* What `object` of an OTHER is; its `type` is one of these. */
extern const char onx_py_unset[]; /* a local without a value yet, an attribute not yet loaded */
extern const char onx_py_func[];  /* an onx_script_func */
extern const char onx_py_class[]; /* an onx_script_class */
extern const char onx_py_inner[]; /* an onx_script_stmt, a DEF */

/* What `object` of an OBJECT is. Attributes stand in the order of the class. Named tuples are
 * objects, too; so are the values of an Enum: the attribute `which` of its class. */
typedef struct onx_py_object {
    const onx_script_class *cls;
    onx_str path;        /* of a module: "layer1.0"; "" of the root and of other objects */
    const onx_pk *state; /* where attributes that are UNSET come from; NULL: nowhere */
    onx_xv *attrs;
    size_t which;
} onx_py_object;

/* What `object` of an OTHER of this type is: None, or a value, as only the model knows. */
extern const char onx_py_optional[];
typedef struct onx_py_maybe {
    onx_xv there; /* a BOOL: is there a value? */
    onx_xv value;
} onx_py_maybe;

/* What can change: a list, a dict, or an attribute (by its index) of an object. */
typedef struct onx_py_cell {
    onx_xv of;
    size_t attr; /* 0 of lists and dicts */
} onx_py_cell;
typedef struct onx_py_change {
    onx_py_cell cell;
    onx_xv before;
} onx_py_change;
typedef struct onx_py_changes { /* in a branch or loop of the model's, of what is older */
    struct onx_py_changes *outer;
    size_t branch; /* around it */
    onx_py_change *v;
    size_t n, cap;
} onx_py_changes;

typedef struct onx_traced_size {
    int64_t size;
    const onx_sym *sym; /* what it is now */
} onx_traced_size;

typedef struct onx_frame {
    const onx_script_func *func;
    onx_xv *locals;
    onx_xv result;
    bool returned;
} onx_frame;

/* What `with torch.autocast` says; dtype NONE: nothing. */
typedef struct onx_autocast {
    onx_dtype dtype;
    bool gpu;
} onx_autocast;

struct onx_interp {
    onx_export *x;
    onx_archive *archive;
    onx_script *script;
    onx_pickle data, constants, samples;
    onx_map values;   /* pickled lists, dicts, objects and tensors to what they became: made once */
    onx_map paths;    /* pickled objects and tensors to where they are in the tree of modules */
    onx_map enums;    /* (class, member) to its object */
    onx_map fresh;    /* lists, dicts and objects to the branch that they were made in */
    onx_map stacks;   /* lists that loops of the model's fill: interp_stack.c */
    onx_map set;      /* (object, attribute) of a module that was set, to the object */
    onx_map guesses;  /* conditions of the model's to what they are taken to be */
    onx_map builtins; /* (table, name) to its row */
    uint64_t version; /* of the file: how old the oldest operator in it is */
    onx_xv root;
    const onx_script_func *forward;
    size_t depth, calls, steps, operators;
    size_t branch, branches; /* the branch or loop of the model's that it is in; 0: none */
    onx_py_changes *changes; /* of that */
    onx_autocast autocast;
    bool restoring;          /* a __setstate__ runs: what it sets is the state that was saved */
    onx_traced_size *traced; /* sizes that are open now, and were fixed in the trace */
    size_t traced_count, traced_cap;
    size_t list_length; /* of lists that forward takes, where nothing else tells; 0: not known */
    onx_interp_arg *inputs;
    onx_interp_result *outputs, *writes;
    size_t input_count, input_cap, output_count, output_cap, write_count, write_cap;
};

static inline onx_xv onx_py_none(void) {
    return (onx_xv){.kind = ONX_X_NONE};
}
static inline onx_xv onx_py_unknown(void) {
    return (onx_xv){.kind = ONX_X_UNKNOWN};
}
static inline onx_xv onx_py_other(const char *type, const void *object) {
    return (onx_xv){.kind = ONX_X_OTHER, .object = (void *)(uintptr_t)object, .type = type};
}
static inline bool onx_py_is_other(const onx_xv *v, const char *type) {
    return v->kind == ONX_X_OTHER && v->type == type;
}
/* NULL: it is another thing. */
static inline const onx_py_maybe *onx_py_maybe_of(const onx_xv *v) {
    return onx_py_is_other(v, onx_py_optional) ? v->object : NULL;
}
const char *onx_py_kind(const onx_xv *v); /* "a list", for messages */

/* interp_input.c */
void onx_interp_find_inputs(onx_interp *in);
/* Sizes of `values` that differ from those of the trace; whether a call has one of the latter. */
void onx_interp_find_traced(onx_interp *in, const onx_xv *values);
void onx_interp_warn_traced(onx_interp *in, onx_str name, size_t n, const onx_xarg *args);
onx_xv onx_interp_arguments(onx_interp *in, const onx_xv *values);                 /* a tuple */
onx_str onx_interp_part(onx_interp *in, onx_str base, const char *mark, size_t i); /* "base.1" */
onx_str onx_interp_join(onx_interp *in, onx_str outer, onx_str name); /* "outer.name", "name" */

/* interp_module.c */
bool onx_interp_name(onx_interp *in, const onx_pk *root); /* fills in->paths */
onx_xv onx_py_load(onx_interp *in, const onx_pk *pk, onx_str path);
onx_xv onx_py_constant(onx_interp *in, onx_str name); /* "c10" */
onx_xv onx_py_new(onx_interp *in, const onx_script_class *cls, onx_str path, const onx_pk *state);
onx_xv onx_py_enum(onx_interp *in, const onx_script_class *cls, size_t which);
onx_xv onx_py_get(onx_interp *in, const onx_xv *v, onx_str name);
void onx_py_set(onx_interp *in, const onx_xv *v, onx_str name, onx_xv value);

/* interp_bound.c: an object whose class has no code, but is known; false: it is not known. */
bool onx_py_load_bound(onx_interp *in, const onx_pk *pk, onx_str path, onx_xv *out);

/* interp_expr.c */
onx_xv onx_py_eval(onx_interp *in, onx_frame *frame, const onx_script_expr *e);
onx_xv onx_py_item(onx_interp *in, const onx_xv *v, const onx_xv *index);
/* Elements of a list, tuple or named tuple; NULL: it is another thing. */
const onx_xv *onx_py_items(const onx_xv *v, size_t *n);
bool onx_py_spend(onx_interp *in, size_t steps); /* false: too many, x failed */
bool onx_py_enter(onx_interp *in);               /* one level deeper; false: x failed */
void onx_py_leave(onx_interp *in);

/* interp_call.c */
onx_xv onx_py_call(onx_interp *in, onx_frame *frame, const onx_script_expr *e);
onx_xv onx_py_call_func(onx_interp *in, const onx_script_func *func, size_t n,
                        const onx_xarg *args);
onx_xv onx_py_call_method(onx_interp *in, const onx_xv *self, onx_str name, size_t n,
                          const onx_xarg *args);
void onx_py_place(onx_interp *in, const onx_frame *frame, uint32_t at); /* sets x->where */
/* An operator: "add", "prim::dtype"; several results are a tuple. */
onx_xv onx_py_operator(onx_interp *in, onx_str name, size_t n, const onx_xarg *args);
/* interp_autocast.c: the arguments of an operator in the types that autocast gives them. */
void onx_py_autocast(onx_interp *in, onx_str name, size_t n, const onx_xarg **args);
bool onx_py_read_autocast(onx_interp *in, const onx_xv *v, onx_autocast *out);
/* interp_upgrade.c: a call of an operator as it is to be made now. */
void onx_py_upgrade(onx_interp *in, onx_str name, size_t *n, const onx_xarg **args);
bool onx_py_is_a(onx_interp *in, const onx_xv *v, const onx_script_expr *type);

/* interp_change.c: a list, a dict, or an attribute of an object is about to change. False: x
 * failed. */
bool onx_py_may_change(onx_interp *in, const onx_xv *v, size_t attr);
onx_xv onx_py_fresh(onx_interp *in, onx_xv v); /* it was just made */
void onx_py_changes_begin(onx_interp *in, onx_py_changes *changes);
void onx_py_changes_end(onx_interp *in, const onx_py_changes *changes); /* puts it back */
bool onx_py_cell_same(const onx_py_cell *a, const onx_py_cell *b);
onx_xv onx_py_cell_get(onx_interp *in, const onx_py_cell *cell); /* a copy */
void onx_py_cell_set(onx_interp *in, const onx_py_cell *cell, onx_xv value);

/* interp_builtin.c: what Python does itself. False: an operator of tensors. */
bool onx_py_builtin(onx_interp *in, onx_str name, size_t n, const onx_xarg *args, onx_xv *out);
bool onx_interp_add_builtins(onx_interp *in);
onx_xv onx_py_equal(onx_interp *in, const onx_xv *a, const onx_xv *b); /* a BOOL, or UNKNOWN */
/* A condition that only the model knows, but that is taken to hold, or not to: a size is not 0. */
bool onx_py_guess(onx_interp *in, const onx_xv *cond, bool *holds);
onx_xv onx_py_not(onx_interp *in, onx_xv v);
onx_xv onx_py_truth(onx_interp *in, onx_xv v); /* bool(v): a BOOL, or UNKNOWN */
onx_xv onx_py_number(onx_interp *in, onx_xv v, onx_script_type_kind type); /* int(v), float(v) … */
/* The value of a key; NULL: none. */
onx_xv *onx_py_find_key(onx_interp *in, const onx_xdict *dict, const onx_xv *key);

/* interp_stmt.c */
void onx_py_exec(onx_interp *in, onx_frame *frame, const onx_script_block *block);

/* interp_stack.c */
bool onx_py_is_stack(const onx_interp *in, const onx_xv *v);
onx_xv onx_py_stack_open(onx_interp *in);                     /* a list for one turn of a loop, */
onx_xv onx_py_stack_turn(onx_interp *in, const onx_xv *list); /* what was appended, as a tensor, */
/* and `list`, when `filled` was filled in the turns: `all` are what was appended. */
void onx_py_stack_close(onx_interp *in, const onx_xv *list, const onx_xv *filled, onx_xv all);
onx_xv onx_py_stack_new(onx_interp *in, onx_xv all, onx_xkind kind); /* a list of these */
/* The elements of any list as a tensor; of one without any, none that are like `sample`. */
onx_xv onx_py_stack_all(onx_interp *in, const onx_xv *list, const onx_xv *sample);
onx_xv onx_py_stack_sample(onx_interp *in, const onx_xv *list);
/* The second list is such a list from now on, of the same elements, if the first is. */
void onx_py_stack_copy(onx_interp *in, const onx_xv *from, const onx_xv *to);
onx_xv onx_py_stack_length(onx_interp *in, const onx_xv *v);
/* Of any list: the element that only the model knows. */
onx_xv onx_py_stack_item(onx_interp *in, const onx_xv *v, onx_xv index);
bool onx_py_stack_call(onx_interp *in, onx_str name, size_t n, const onx_xarg *args, onx_xv *out);

/* interp_control.c */
void onx_py_if(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, onx_xv cond);
void onx_py_loop(onx_interp *in, onx_frame *frame, const onx_script_stmt *s, const onx_xv *trips,
                 const onx_xv *cond);

#endif
