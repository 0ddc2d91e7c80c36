/* wire.h: protobuf messages as C structs, described by tables; one codec walks the tables.
 *
 * A message type is a struct that begins with `onx_msg`, and an `onx_desc` that lists its fields
 * with their offsets. The tables for ONNX are in ir/tables.c. Decoding, encoding, comparing,
 * cloning, JSON and protobuf text all walk the same tables; none of them recurses.
 *
 * What is kept of the file:
 *   - every message remembers the bytes it was read from (`raw`); as long as neither it nor
 *     anything in
 *     it was edited, saving writes those bytes;
 *   - fields the table does not know stay in `unknown` and are written after the known ones;
 *   - strings are copied, with a NUL; bytes and packed numbers stay spans of the file.
 *
 * Rule: whoever changes a field of a message calls onx_msg_touch on it.
 */
#ifndef ONX_WIRE_H
#define ONX_WIRE_H

#include "base/io.h"

/* What one field holds in memory. */
typedef enum onx_field_kind {
    ONX_FIELD_I32,    /* int32_t (also enums) */
    ONX_FIELD_I64,    /* int64_t */
    ONX_FIELD_F32,    /* float */
    ONX_FIELD_STR,    /* onx_str: UTF-8, copied, NUL-terminated */
    ONX_FIELD_BYTES,  /* onx_str: any bytes, a span of the file */
    ONX_FIELD_MSG,    /* pointer to a message */
    ONX_FIELD_I64S,   /* onx_i64s, one tag an element */
    ONX_FIELD_F32S,   /* onx_f32s, one tag an element */
    ONX_FIELD_STRS,   /* onx_strs */
    ONX_FIELD_BYTESS, /* onx_strs of any bytes */
    ONX_FIELD_MSGS,   /* onx_list */
    /* Payloads of tensors: onx_str holding the packed encoding, as in the file. */
    ONX_FIELD_PACKED_F32, /* 4 bytes an element */
    ONX_FIELD_PACKED_F64, /* 8 bytes an element */
    ONX_FIELD_PACKED_I32, /* varints (sign-extended to 64 bits) */
    ONX_FIELD_PACKED_I64,
    ONX_FIELD_PACKED_U64,
} onx_field_kind;

typedef struct onx_i64s {
    int64_t *v;
    size_t n, cap;
} onx_i64s;
typedef struct onx_f32s {
    float *v;
    size_t n, cap;
} onx_f32s;
typedef struct onx_strs {
    onx_str *v;
    size_t n, cap;
} onx_strs;

typedef struct onx_msg onx_msg;
typedef struct onx_desc onx_desc;
typedef struct onx_doc onx_doc;

/* Messages of a repeated field, in order. */
typedef struct onx_list {
    onx_msg *first, *last;
    size_t count;
} onx_list;

typedef struct onx_enum_name {
    int32_t value;
    const char *name;
} onx_enum_name;

typedef struct onx_field {
    uint32_t number;
    uint8_t kind;    /* onx_field_kind */
    uint8_t oneof;   /* members of one oneof share a number > 0 */
    uint16_t offset; /* in the struct */
    const char *name;
    const onx_desc *child;      /* of messages */
    const onx_enum_name *enums; /* of enums; ends with a NULL name */
} onx_field;

struct onx_desc {
    const char *name;        /* "NodeProto" */
    uint16_t size;           /* of the struct */
    uint16_t n_fields;       /* at most 32 */
    const onx_field *fields; /* by number */
    uint32_t messages;       /* bit i: field i holds messages */
};

/* A run of unknown fields: tags and values as read. */
typedef struct onx_unknown {
    onx_str bytes;
    struct onx_unknown *next;
    struct onx_unknown *last; /* of the list; only in its first element */
} onx_unknown;

struct onx_msg {
    const onx_desc *desc;
    onx_doc *doc;
    onx_msg *parent;      /* the message that holds this one; NULL for a root and while detached */
    onx_msg *prev, *next; /* in the parent's repeated field */
    onx_str raw;          /* the bytes this was read from; data is NULL when there are none */
    onx_unknown *unknown;
    uint32_t has;  /* bit i: field i of the table was set (singular fields only) */
    uint8_t field; /* index of the field of the parent that holds this one */
    bool dirty;    /* edited, or something in it was: `raw` no longer holds */
    bool dead;     /* removed: readable, but no longer part of its parent */
};

/* What a tree of messages lives in: the model's or the tensor's memory. */
struct onx_doc {
    onx_context *ctx;
    onx_arena arena;
    onx_msg *root;
    struct onx_blob_ref *blobs, *blob_tree; /* payloads: the file, external data, buffers */
    onx_diag error; /* the first failure of a builder call; status ONX_OK if none */
};

onx_status onx_doc_new(onx_context *ctx, onx_doc **out, onx_diag *diag) ONX_MUST_CHECK;
void onx_doc_free(onx_doc *doc);
/* Keep `blob` alive as long as the document; takes over the caller's reference, also on failure. */
onx_status onx_doc_keep(onx_doc *doc, onx_blob *blob, onx_diag *diag) ONX_MUST_CHECK;

/* While a file of that size is read: bound the memory of its structure. SIZE_MAX lifts the
 * bound. */
void onx_doc_limit(onx_doc *doc, size_t file_bytes);
/* Memory ran out in `doc`: NO_MEMORY, or LIMIT if the file asked for more than its size allows. */
onx_status onx_doc_fail(onx_doc *doc, onx_diag *diag);

/* A new, empty message. It is detached: link it with onx_msg_append or by setting a field. NULL: no
 * memory. */
void *onx_msg_new(onx_doc *doc, const onx_desc *desc) ONX_MUST_CHECK;
void onx_msg_touch(void *msg);
void onx_msg_touch_all(void *root); /* every message below: the whole tree is written anew */

static inline void *onx_field_ptr(const void *msg, const onx_field *field) {
    return (char *)(uintptr_t)msg + field->offset;
}
/* The row called `name`; NULL if there is none. */
const onx_field *onx_desc_field(const onx_desc *desc, onx_str name);
static inline unsigned onx_field_index(const onx_desc *desc, const onx_field *field) {
    return (unsigned)(field - desc->fields);
}
/* Is the field set: presence for singular fields, not empty for repeated ones. */
bool onx_msg_has(const void *msg, const onx_field *field);
void onx_msg_set_has(void *msg, const onx_field *field); /* also clears the others of its oneof */
void onx_msg_clear(void *msg, const onx_field *field);

/* Children. `field` is the row of the parent's table, of kind MSG (the child replaces what was
 * there) or MSGS. */
void onx_msg_append(void *parent, const onx_field *field, void *child);
void onx_msg_insert(void *parent, const onx_field *field, void *before,
                    void *child); /* NULL: at the end */
void onx_msg_remove(void *child); /* unlinks, marks dead */
/* Append without marking anything as edited: for codecs. */
void onx_msg_link(void *parent, const onx_field *field, void *child);
bool onx_msg_add_unknown(onx_msg *msg, onx_str bytes) ONX_MUST_CHECK; /* false: no memory */

/* Arrays in messages; false when memory ran out. Strings are copied into the document. */
bool onx_doc_str(onx_doc *doc, onx_str in, onx_str *out) ONX_MUST_CHECK;
bool onx_strs_push(onx_doc *doc, onx_strs *a, onx_str s) ONX_MUST_CHECK; /* does not copy */
bool onx_i64s_push(onx_doc *doc, onx_i64s *a, int64_t v) ONX_MUST_CHECK;
bool onx_f32s_push(onx_doc *doc, onx_f32s *a, float v) ONX_MUST_CHECK;

/* The children of a message in order of fields: the one after `child`, or the first one. */
onx_msg *onx_msg_child_next(const void *msg, const onx_msg *child);
/* Walk a tree of messages without recursion, parents before children. */
typedef struct onx_walk {
    const onx_msg *root, *at;
    bool skip;
} onx_walk;
onx_walk onx_walk_begin(const void *root);
onx_msg *onx_walk_next(onx_walk *walk); /* the root first; NULL at the end */
void onx_walk_skip(onx_walk *walk);     /* do not go below the message just returned */

/* Decode `bytes` as a message of type `desc` into `doc` and make it the root.
 * The bytes must stay as they are while the document lives. */
onx_status onx_wire_decode(onx_doc *doc, const onx_desc *desc, onx_str bytes, onx_msg **out,
                           onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_wire_encode(const void *msg, const onx_writer *writer, onx_diag *diag)
    ONX_MUST_CHECK;
onx_status onx_wire_size(const void *msg, uint64_t *size, onx_diag *diag) ONX_MUST_CHECK;

/* Same fields with the same values, unknown fields included. On a difference, `diag` (may be NULL)
 * says where. */
bool onx_msg_equal(const void *a, const void *b, onx_diag *diag);
/* A deep copy into `doc`. Payloads that lie in blobs are shared, and the blobs kept. */
onx_status onx_msg_clone(onx_doc *doc, const void *msg, void *out, onx_diag *diag) ONX_MUST_CHECK;
/* The same without what `keep` does not want, and all below that; the root it must want. */
typedef bool onx_msg_keep(void *user, const onx_msg *msg);
onx_status onx_msg_clone_some(onx_doc *doc, const void *msg, onx_msg_keep *keep, void *user,
                              void *out, onx_diag *diag) ONX_MUST_CHECK;
/* A span of `from`, for use in `doc`: the blob it lies in is kept; what lies in none is copied.
 * False when memory ran out. */
bool onx_doc_share(onx_doc *doc, const onx_doc *from, onx_str in, onx_str *out) ONX_MUST_CHECK;
/* The whole file, or buffer, that a span lies in; the span itself if that is not known. */
onx_str onx_doc_file_of(const onx_doc *doc, onx_str span);
/* The bytes are not needed again soon: memory that maps a file is given back; it is read again if
 * they are needed after all. */
void onx_doc_drop(const onx_doc *doc, onx_str span);
/* Write a span of any size. Mapped pages are given back on the way: a copy needs little memory. */
onx_status onx_doc_write(const onx_doc *doc, const onx_writer *writer, onx_str span, onx_diag *diag)
    ONX_MUST_CHECK;
/* "graph.node[3].attribute[0].t": for messages to people. Writes at most `size` bytes with the
 * NUL. */
void onx_msg_path(const void *msg, char *out, size_t size);

/* The longest string that a field of kind STR or STRS may have. */
size_t onx_string_limit(const onx_limits *limits, const onx_field *field);

/* Varints and packed payloads. */
size_t onx_varint_size(uint64_t v);
size_t onx_varint_put(uint64_t v, char *out); /* at most 10 bytes */
/* Reads one varint of at most 10 bytes; the number of bytes used, or 0 if it is cut or too long. */
size_t onx_varint_get(const char *p, const char *end, uint64_t *out);
size_t onx_packed_count(onx_field_kind kind, onx_str packed);

#endif
