/* script.h: the Python source that torch.jit.save writes (code/__torch__/….py), as a tree.
 *
 *     text ──script_lex──▶ tokens ──script_parse──▶ classes and functions ──script.c──▶ by name
 *
 * TorchScript uses a small part of Python: no operators (torch.add(a, b) instead), no
 * comprehensions; break, continue and early return have been written out as flags. Types are
 * written as expressions (List[int]) and parsed as such; onx_script_type_of gives them a meaning.
 *
 * Every node remembers the byte of its file where it begins. Local variables are numbered per
 * function, so that a frame of the interpreter is an array. Nothing is executed here.
 *
 * Names are spans of the source, strings are decoded; all of it lives as long as the script.
 * Nesting is limited (ONX_SCRIPT_DEPTH), and so is the memory that an archive's code may take. */
#ifndef ONX_SCRIPT_H
#define ONX_SCRIPT_H

#include "base/mem.h"

#define ONX_SCRIPT_DEPTH 100 /* brackets within brackets, blocks within blocks */

typedef enum onx_script_expr_kind {
    ONX_EXPR_NAME,    /* text; slot */
    ONX_EXPR_NONE,    /* None */
    ONX_EXPR_BOOL,    /* i */
    ONX_EXPR_INT,     /* i */
    ONX_EXPR_FLOAT,   /* f */
    ONX_EXPR_COMPLEX, /* f, imag */
    ONX_EXPR_STR,     /* text, decoded */
    ONX_EXPR_ATTR,    /* items[0].text */
    ONX_EXPR_CALL,    /* items[0](items[1], ...): those after the positional ones have a keyword */
    ONX_EXPR_INDEX,   /* items[0][items[1]] */
    ONX_EXPR_SLICE,   /* items[0][items[1]:items[2]]; either bound may be NULL */
    ONX_EXPR_LIST,    /* [items...] */
    ONX_EXPR_TUPLE,   /* (items...) */
    ONX_EXPR_DICT,    /* {items[0]: items[1], ...} */
} onx_script_expr_kind;

typedef struct onx_script_expr {
    onx_script_expr_kind kind;
    uint32_t at;  /* byte of the file */
    int32_t slot; /* NAME: of the function's locals; -1: not a local (torch, ops, int, ...) */
    uint32_t n;
    uint32_t height; /* of the tree beneath, at most ONX_SCRIPT_DEPTH: walks may recurse */
    struct onx_script_expr **items;
    onx_str text;
    onx_str keyword; /* as an argument of a call: its name; empty: positional */
    union {
        int64_t i;
        struct {
            double f, imag;
        };
    };
} onx_script_expr;

typedef enum onx_script_stmt_kind {
    ONX_STMT_PASS,
    ONX_STMT_EXPR,    /* values[0] */
    ONX_STMT_ASSIGN,  /* targets = values. One value and several targets, or `unpack`: its elements.
                         Otherwise as many values as targets, all evaluated first */
    ONX_STMT_SETATTR, /* values[0] (an ATTR or INDEX) = values[1] */
    ONX_STMT_RETURN,  /* values[0]; none: None */
    ONX_STMT_IF,      /* values[0]: body, otherwise */
    ONX_STMT_FOR,     /* targets[0] in values[0] (a call of range): body */
    ONX_STMT_WHILE,   /* values[0]: body */
    ONX_STMT_WITH,    /* values[0] as targets[0], if there is one: body */
    ONX_STMT_DEF, /* targets[0] names a function without arguments, that sees the locals: body */
} onx_script_stmt_kind;

typedef struct onx_script_target {
    onx_str name;
    int32_t slot;
} onx_script_target;

typedef struct onx_script_block {
    struct onx_script_stmt **stmts;
    size_t n;
} onx_script_block;

typedef struct onx_script_stmt {
    onx_script_stmt_kind kind;
    uint32_t at, end; /* its first byte, and the one behind it */
    bool unpack;
    uint32_t target_count, value_count;
    onx_script_target *targets;
    onx_script_expr **values;
    onx_script_expr *type; /* ASSIGN: `x : T = e`; or NULL */
    onx_script_block body, otherwise;
} onx_script_stmt;

typedef struct onx_script_file {
    onx_str path; /* "code/__torch__/torch/nn/modules/linear.py" */
    onx_str text;
} onx_script_file;

typedef struct onx_script_arg {
    onx_str name;
    onx_script_expr *type;  /* NULL: none is written (the first, self, of some) */
    onx_script_expr *value; /* of its default; NULL: it has none */
} onx_script_arg;

typedef struct onx_script_local {
    onx_str name;
    uint32_t last_use; /* where its value is asked for the last time: loops aside, dead behind it */
} onx_script_local;

typedef struct onx_script_func {
    onx_str name; /* "forward" */
    const onx_script_file *file;
    uint32_t at;
    onx_script_arg *args; /* the locals 0 .. arg_count-1 */
    size_t arg_count, local_count;
    onx_script_local *locals; /* by slot */
    onx_script_expr *result;  /* its type; may be NULL */
    onx_script_block body;
} onx_script_func;

typedef enum onx_script_class_kind {
    ONX_CLASS_PLAIN, /* class C: */
    ONX_CLASS_MODULE,
    ONX_CLASS_NAMED_TUPLE,
    ONX_CLASS_ENUM,
    ONX_CLASS_INTERFACE,
} onx_script_class_kind;

typedef struct onx_script_attr {
    onx_str name;
    onx_script_expr *type;  /* NULL: of an Enum */
    onx_script_expr *value; /* Final[T] = value, or an Enum's value; NULL: the object has it */
} onx_script_attr;

typedef struct onx_script_class {
    onx_str name; /* qualified: "__torch__.torch.nn.modules.linear.Linear" */
    onx_script_class_kind kind;
    const onx_script_file *file;
    uint32_t at;
    onx_script_attr *attrs; /* in the order of the file: that of a NamedTuple's fields */
    onx_script_func *methods;
    onx_str *parameters, *buffers, *pre_hooks, *hooks;
    size_t attr_count, method_count, parameter_count, buffer_count, pre_hook_count, hook_count;
} onx_script_class;

/* What a qualified name stands for; both NULL: nothing. */
typedef struct onx_script_symbol {
    const onx_script_class *cls;
    const onx_script_func *func;
} onx_script_symbol;

/* Gives the text of a file of the archive ("code/__torch__.py"), which must stay; `*found` tells
 * whether there is one. */
typedef onx_status onx_script_read(void *user, onx_str path, onx_str *text, bool *found,
                                   onx_diag *diag);

typedef struct onx_script onx_script; /* the code of one archive: files are read when needed */

onx_status onx_script_new(onx_context *ctx, onx_script_read *read, void *user, onx_script **out,
                          onx_diag *diag);
void onx_script_free(onx_script *script);
/* "__torch__.torch.nn.functional.relu", from code/__torch__/torch/nn/functional.py. A name that the
 * archive does not define is no failure; source that cannot be parsed is. */
onx_status onx_script_find(onx_script *script, onx_str name, onx_script_symbol *out,
                           onx_diag *diag);

const onx_script_func *onx_script_method(const onx_script_class *cls, onx_str name); /* or NULL */
const onx_script_attr *onx_script_attribute(const onx_script_class *cls, onx_str name);

/* One file; `prefix` goes before the names of its classes ("__torch__.a.b"). */
typedef struct onx_script_module {
    onx_script_file file;
    onx_script_class *classes;
    onx_script_func *funcs;
    size_t class_count, func_count;
} onx_script_module;
onx_status onx_script_parse(onx_arena *arena, onx_str path, onx_str prefix, onx_str text,
                            onx_script_module *out, onx_diag *diag);

/* Where a node stands, from 1. */
size_t onx_script_line(const onx_script_file *file, uint32_t at);
/* Where the user wrote it, "/home/me/model.py:12", from what the archive notes about the file
 * (script_debug.c); of a trace, the innermost line outside PyTorch. Empty: not known. */
onx_str onx_script_origin(onx_script *script, const onx_script_file *file, uint32_t at);

/* Types. `number` is int, float or complex; Any matches all. */
typedef enum onx_script_type_kind {
    ONX_PY_UNKNOWN, /* not a type */
    ONX_PY_ANY,
    ONX_PY_TENSOR,
    ONX_PY_INT,
    ONX_PY_FLOAT,
    ONX_PY_BOOL,
    ONX_PY_COMPLEX,
    ONX_PY_NUMBER,
    ONX_PY_STR,
    ONX_PY_NONE,
    ONX_PY_DEVICE,
    ONX_PY_GENERATOR,
    ONX_PY_STREAM,
    ONX_PY_STORAGE,
    ONX_PY_ANY_LIST,
    ONX_PY_ANY_TUPLE,
    ONX_PY_ANY_ENUM,
    ONX_PY_OPTIONAL, /* items[0] */
    ONX_PY_LIST,     /* items[0] */
    ONX_PY_DICT,     /* items[0], items[1] */
    ONX_PY_TUPLE,    /* items */
    ONX_PY_UNION,    /* items */
    ONX_PY_FUTURE,   /* items[0]; also RRef, Await */
    ONX_PY_FINAL,    /* items[0] */
    ONX_PY_CLASS,    /* name */
} onx_script_type_kind;

typedef struct onx_script_type {
    onx_script_type_kind kind;
    onx_str name; /* CLASS: qualified */
    onx_script_expr *const *items;
    size_t n;
} onx_script_type;

/* What an expression means as a type: one level of it; `items` are the expressions beneath. */
onx_script_type onx_script_type_of(const onx_script_expr *expr);
/* "__torch__.a.b", as it is written, of a chain of names and dots; empty: it is another thing. */
onx_str onx_script_dotted(const onx_script_expr *expr);

#endif
