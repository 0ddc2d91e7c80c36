/* tree.h: what the formats that follow the field tables (JSON, protobuf text) have in common.
 *
 * Printers see a message tree as a sequence of events, and the elements of a field one by one:
 *
 *     ENTER model   FIELD ir_version   ENTER graph   FIELD name   LEAVE graph   LEAVE model
 *
 * Parsers build a tree the same way: enter, add, leave. Neither recurses. What a parser keeps is
 * copied into the document, small things into its arena and large payloads into blobs.
 */
#ifndef ONX_TREE_H
#define ONX_TREE_H

#include "wire/wire.h"

/* ── Elements ────────────────────────────────────────────────────────────────────────────────── */

typedef enum onx_elem_kind {
    ONX_ELEM_I32, /* also enums */
    ONX_ELEM_I64,
    ONX_ELEM_U64,
    ONX_ELEM_F32,
    ONX_ELEM_F64,
    ONX_ELEM_STR,
    ONX_ELEM_BYTES,
    ONX_ELEM_MSG,
} onx_elem_kind;

typedef union onx_elem {
    int64_t i; /* I32 and I64 */
    uint64_t u;
    float f;
    double d;
    onx_str s; /* STR and BYTES */
} onx_elem;

onx_elem_kind onx_field_elem(const onx_field *field);
bool onx_field_repeated(const onx_field *field);

/* The elements of one field that holds no messages: onx_elems e = {msg, field, 0}, then call until
 * false. */
typedef struct onx_elems {
    const void *msg;
    const onx_field *field;
    size_t at;
} onx_elems;
bool onx_elems_next(onx_elems *elems, onx_elem *out);

const char *onx_enum_find(const onx_enum_name *enums, int64_t value); /* NULL: no such value */
bool onx_enum_value(const onx_enum_name *enums, onx_str name, int64_t *out);

/* The name under which unknown fields (tags and values, as bytes) stand beside the known ones. */
#define ONX_TREE_UNKNOWN "[onx.unknown]"

/* ── Printing ────────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_tree {
    enum { ONX_TREE_ENTER, ONX_TREE_FIELD, ONX_TREE_LEAVE } event;
    const onx_msg *root;
    const onx_msg *msg;     /* entered, left, or holder of the field */
    const onx_field *field; /* of FIELD: one that is set and holds no messages */
    unsigned next;          /* where to go on in the table of `msg` */
} onx_tree;

onx_tree onx_tree_begin(const void *root);
bool onx_tree_next(onx_tree *tree); /* false after the root was left */
/* The field that holds `msg` in its parent; NULL for the root. */
const onx_field *onx_tree_holder(const onx_tree *tree);

/* ── Parsing ─────────────────────────────────────────────────────────────────────────────────── */

enum { ONX_PACKED_KINDS = ONX_FIELD_PACKED_U64 - ONX_FIELD_PACKED_F32 + 1 };

typedef struct onx_builder {
    onx_doc *doc;
    onx_diag *diag;
    onx_msg *root;
    onx_msg *at;            /* the innermost open message; NULL before the root and after it */
    const onx_field *field; /* being read; NULL: none. For the place of errors */
    onx_buf marks;          /* a word for each open message */
    struct onx_packed { /* payloads grow here, one of each kind, until they go to the document */
        onx_msg *msg;
        const onx_field *field;
        onx_buf bytes;
    } packed[ONX_PACKED_KINDS];
} onx_builder;

/* `text_size` bounds the memory, as limits.memory_factor says. */
void onx_builder_init(onx_builder *b, onx_doc *doc, size_t text_size, onx_diag *diag);
void onx_builder_fini(onx_builder *b);
/* Open a message: the root, of type `desc`, or, with `field`, a child of the one that is open. */
onx_status onx_builder_enter(onx_builder *b, const onx_field *field, const onx_desc *desc)
    ONX_MUST_CHECK;
void onx_builder_leave(onx_builder *b);
/* A word that belongs to the open message, for the parser to keep what it likes; 0 at first. */
uint32_t *onx_builder_mark(onx_builder *b);
/* May this field be given (again)? A singular one only once, and of a oneof only one. */
onx_status onx_builder_check(onx_builder *b, const onx_field *field) ONX_MUST_CHECK;
/* Set the field, or append to it. Strings and bytes come from onx_builder_room. */
onx_status onx_builder_add(onx_builder *b, const onx_field *field, onx_elem elem) ONX_MUST_CHECK;
/* Memory of the document for `size` bytes of a field, and for strings a NUL behind them. */
onx_status onx_builder_room(onx_builder *b, const onx_field *field, size_t size, char **out)
    ONX_MUST_CHECK;
/* More unknown fields of the open message, in memory of the document. */
onx_status onx_builder_unknown(onx_builder *b, onx_str bytes) ONX_MUST_CHECK;
/* Everything is closed: the root becomes that of the document. */
onx_status onx_builder_finish(onx_builder *b, onx_msg **out) ONX_MUST_CHECK;
/* "line 3, column 7, in graph.node[3].op_type" */
void onx_builder_place(const onx_builder *b, onx_str text, size_t offset);

#endif
