/* code.h: a model as the program that builds it; for the files code*.c.
 *
 * code.c goes through the model and cuts it into functions; a language writes the statements:
 *
 *     graph         a function that fills it, and functions for its parts:
 *                       initializers, 64 at a time
 *                       nodes of one module, 64 at most
 *     subgraph      a function, called where the node gets it; written before the function of the
 *                   graph around it
 *     function      the same, for its body
 *
 * Statements that build exactly what the model has are preferred; where there are none for it, the
 * message is written as protobuf text, which can say everything. Numbers and names from the model
 * reach the program only through the functions below, which escape them. */
#ifndef ONX_CODE_H
#define ONX_CODE_H

#include "ir/ir.h"

typedef struct onx_code onx_code;

typedef struct onx_code_lang {
    const char *nothing; /* the statement of a graph that has none */
    /* Before anything is written: what cannot be said in statements goes to `code->odd`. */
    bool (*plan)(onx_code *code);
    void (*begin)(onx_code *code, const char *ident); /* of a function */
    void (*end)(onx_code *code);
    void (*call)(onx_code *code, const char *ident);       /* of a part of a graph */
    void (*graph)(onx_code *code, const onx_graph *graph); /* its name and description */
    void (*input)(onx_code *code, const onx_graph *graph, size_t index);
    void (*output)(onx_code *code, const onx_graph *graph, size_t index);
    void (*tensor)(onx_code *code, const onx_tensor *tensor); /* an initializer */
    void (*node)(onx_code *code, const onx_node *node);
    void (*infos)(onx_code *code, const onx_graph *graph);
    void (*message)(onx_code *code, const onx_msg *msg); /* of a list of the graph: as text */
    void (*entry)(onx_code *code, const onx_graph *graph, const onx_entry *entry);
    void (*tail)(onx_code *code); /* the end of the program, where the model is made */
    void (*head)(onx_code *code); /* its beginning: written last, when it is known what is used */
} onx_code_lang;

struct onx_code {
    const onx_model *model;
    onx_context *ctx;
    const onx_code_lang *lang;
    onx_code_options options;
    const onx_writer *weights; /* NULL: all data stands in the program */
    uint64_t offset;           /* where the next weights go */
    onx_arena arena;
    onx_buf functions; /* the program, but for its beginning and end */
    onx_buf body;      /* the function of the graph at hand */
    onx_buf *to;       /* where statements go: one of the two */
    onx_buf scratch;
    onx_map idents; /* graph to the name of its function; names that are taken */
    onx_map odd;    /* messages that only text can say */
    onx_map names;  /* of the languages' planning */
    uint32_t used;  /* helpers of the language that the program needs */
    bool declared;  /* the function at hand has a variable for nodes */
    size_t n_idents;
    onx_diag *diag;
    onx_status status;
};

extern const onx_code_lang onx_code_lang_c, onx_code_lang_python;

/* ── Writing (code_write.c) ── */

void onx_code_puts(onx_code *code, const char *text);
void onx_code_printf(onx_code *code, const char *fmt, ...) ONX_PRINTF(2, 3);
/* A literal. What is not plain ASCII is escaped in octal, which both languages read; Python's text,
 * unlike bytes, gets code points. Long ones go on in lines of their own. */
typedef enum onx_code_quote { ONX_QUOTE_C, ONX_QUOTE_BYTES, ONX_QUOTE_TEXT } onx_code_quote;
void onx_code_quote_str(onx_code *code, onx_str text, onx_code_quote quote);
/* A message as protobuf text in a literal: its fields, or all of it as a field of its parent. */
void onx_code_quote_msg(onx_code *code, const onx_msg *msg, bool as_field, onx_code_quote quote);
/* A type or the like in a comment: only if nothing in it could end the comment. */
bool onx_code_is_plain(onx_str text);
void onx_code_fail(onx_code *code, onx_status status, const onx_msg *where, const char *what);
void onx_code_no_memory(onx_code *code);

/* ── Names (code_name.c) ── */

/* An identifier that is not taken: build_, and what is left of `hint`. NULL: no memory. */
const char *onx_code_ident(onx_code *code, onx_str hint);
/* The function that fills a graph. */
const char *onx_code_graph_ident(const onx_code *code, const onx_graph *graph);
/* The module that a node belongs to, by its name or by those of its weights; "": no telling. */
onx_str onx_code_module(const onx_node *node);

/* ── Data (code_data.c) ── */

/* Has an attribute just its name, its type and what that type calls for? Others, and those of types
 * that programs do not spell out, are written as text. */
bool onx_code_attr_fits(const onx_attr *attr);

enum { ONX_CODE_INLINE = 16 }; /* elements that stand in the program */

/* Put bytes to the weights; where they begin there. */
uint64_t onx_code_weights(onx_code *code, onx_str bytes);
/* A message, encoded, to the weights. */
uint64_t onx_code_weights_msg(onx_code *code, const onx_msg *msg, uint64_t *size);
/* Dense elements, as numbers with commas between them, for C or Python; and the name of their type
 * in C, which is one of bits where numbers do not say all (NaN, types that C has not). */
void onx_code_elements(onx_code *code, onx_dtype dtype, onx_str dense, bool c);
const char *onx_code_c_type(onx_dtype dtype, onx_str dense);
void onx_code_int(onx_code *code, int64_t v, bool c);
void onx_code_float(onx_code *code, float v, bool c); /* finite */

#endif
