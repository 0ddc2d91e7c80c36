/* decode.c: bytes to messages, in one pass, without recursion.
 *
 * The stack holds the messages that are open, each with the end of its bytes:
 *
 *     ModelProto [ ir_version graph [ node [ input … attribute [ …▲ ] ] ] ]
 *
 * Accepted is what protobuf accepts: fields in any order, packed or not, singular fields repeated
 * (the last one wins, messages merge), unknown fields and groups. Everything is bounded: nesting,
 * lengths of strings, and memory by the size of the file.
 */
#include "wire/wire.h"

enum { WIRE_VARINT, WIRE_I64, WIRE_LEN, WIRE_SGROUP, WIRE_EGROUP, WIRE_I32 };
enum { TAG_BYTES = 5 }; /* at most: a longer one is malformed, whatever its value */

typedef struct frame {
    onx_msg *msg;
    const char *end;
    uint32_t gathered; /* packed fields that are complete already: see gather */
} frame;

typedef struct decoder {
    onx_doc *doc;
    onx_diag *diag;
    const char *base; /* of the file, for offsets */
    onx_buf stack;    /* of frames */
} decoder;

static frame *top(decoder *d) {
    return (frame *)(void *)(d->stack.data + d->stack.size) - 1;
}

static onx_status fail_at(decoder *d, const char *p, const onx_field *field, onx_status status) {
    char path[200];
    const onx_msg *msg = top(d)->msg;
    onx_msg_path(msg, path, sizeof path);
    bool dot = path[0] && field;
    onx_diag_place(d->diag, "%s%s%s%s%s", path[0] || field ? "" : msg->desc->name, path,
                   dot ? "." : "", field ? field->name : "", "");
    if (d->diag) d->diag->offset = p - d->base;
    return status;
}

#define FAIL(d, p, field, status, ...)                                                             \
    fail_at(d, p, field, onx_fail((d)->diag, status, __VA_ARGS__))

static onx_status fail_nomem(decoder *d, const char *p) {
    return fail_at(d, p, NULL, onx_doc_fail(d->doc, d->diag));
}

size_t onx_varint_get(const char *p, const char *end, uint64_t *out) {
    uint64_t v = 0;
    for (size_t i = 0; i < 10 && p + i < end; i++) {
        uint64_t byte = (unsigned char)p[i];
        if (i == 9 && byte > 1) return 0;
        v |= (byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *out = v;
            return i + 1;
        }
    }
    return 0;
}

/* The bytes of the value that follows a tag; NULL when it is cut or malformed. Groups nest at most
 * `depth`. */
static const char *skip_value(const char *p, const char *end, uint32_t number, uint32_t type,
                              uint32_t depth) {
    enum { GROUPS = 128 };
    uint32_t groups[GROUPS];
    size_t open = 0;
    if (depth > GROUPS) depth = GROUPS;
    for (;;) {
        uint64_t v = 0;
        size_t n = 0;
        switch (type) {
        case WIRE_VARINT: n = onx_varint_get(p, end, &v); break;
        case WIRE_I64: n = end - p >= 8 ? 8 : 0; break;
        case WIRE_I32: n = end - p >= 4 ? 4 : 0; break;
        case WIRE_LEN:
            n = onx_varint_get(p, end, &v);
            if (!n || v > (uint64_t)(end - p - (ptrdiff_t)n)) return NULL;
            n += (size_t)v;
            break;
        case WIRE_SGROUP:
            if (open == depth) return NULL;
            groups[open++] = number;
            break;
        case WIRE_EGROUP:
            if (open == 0 || groups[--open] != number) return NULL;
            break;
        default: return NULL;
        }
        if (n == 0 && type != WIRE_SGROUP && type != WIRE_EGROUP) return NULL;
        p += n;
        if (open == 0) return p;
        n = onx_varint_get(p, end, &v);
        if (!n || n > TAG_BYTES || v > UINT32_MAX || v >> 3 == 0) return NULL;
        p += n;
        number = (uint32_t)(v >> 3);
        type = (uint32_t)(v & 7);
    }
}

static const onx_field *find_field(const onx_desc *desc, uint32_t number) {
    const onx_field *fields = desc->fields;
    for (unsigned i = 0; i < desc->n_fields; i++)
        if (fields[i].number == number) return &fields[i];
    return NULL;
}

static onx_status push(decoder *d, const char *p, onx_msg *msg, const char *end) {
    if (d->stack.size / sizeof(frame) > d->doc->ctx->limits.depth) {
        FAIL(d, p, NULL, ONX_LIMIT, "messages are nested more than %u deep",
             (unsigned)d->doc->ctx->limits.depth);
        onx_diag_hint(d->diag, "raise onx_limits.depth if the file is to be trusted");
        return ONX_LIMIT;
    }
    frame f = {msg, end, 0};
    onx_buf_put(&d->stack, &f, sizeof f);
    return d->stack.failed ? onx_fail_nomem(d->diag) : ONX_OK;
}

/* A submessage begins: link it to its parent first, so that errors inside can name their path. */
static onx_status open_message(decoder *d, const onx_field *field, onx_str bytes) {
    onx_msg *parent = top(d)->msg, *child = NULL;
    if (field->kind == ONX_FIELD_MSG) child = *(onx_msg **)onx_field_ptr(parent, field);
    if (child) { /* merges with what was there: it is no longer one span of the file */
        child->raw = (onx_str){NULL, 0};
    } else {
        child = onx_msg_new(d->doc, field->child);
        if (!child) return fail_nomem(d, bytes.data);
        child->raw = bytes;
        onx_msg_link(parent, field, child);
    }
    return push(d, bytes.data, child, bytes.data + bytes.size);
}

/* Prose and values may be long; everything else is a name. */
size_t onx_string_limit(const onx_limits *limits, const onx_field *field) {
    bool prose = !strcmp(field->name, "doc_string") || !strcmp(field->name, "value");
    return prose ? limits->string_bytes : limits->name_bytes;
}

static onx_status read_string(decoder *d, const onx_field *field, onx_str bytes, onx_str *out) {
    const onx_limits *limits = &d->doc->ctx->limits;
    bool copied = field->kind == ONX_FIELD_STR || field->kind == ONX_FIELD_STRS;
    size_t limit = copied ? onx_string_limit(limits, field) : SIZE_MAX;
    if (bytes.size > limit)
        return FAIL(d, bytes.data, field, ONX_LIMIT,
                    "a string of %zu bytes is over the limit of %zu", bytes.size, limit);
    if (!copied)
        *out = bytes;
    else if (!onx_doc_str(d->doc, bytes, out))
        return fail_nomem(d, bytes.data);
    return ONX_OK;
}

static size_t packed_width(const onx_field *field) {
    return field->kind == ONX_FIELD_PACKED_F32 || field->kind == ONX_FIELD_F32S ? 4
           : field->kind == ONX_FIELD_PACKED_F64                                ? 8
                                                                                : 0;
}

static bool packed_ok(const onx_field *field, onx_str bytes) {
    size_t width = packed_width(field);
    if (width) return bytes.size % width == 0;
    size_t run = 0; /* bytes of the varint so far */
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        if (++run > 10 || (run == 10 && c > 1)) return false;
        if (c < 0x80) run = 0;
    }
    return run == 0;
}

size_t onx_packed_count(onx_field_kind kind, onx_str packed) {
    if (kind == ONX_FIELD_PACKED_F32) return packed.size / 4;
    if (kind == ONX_FIELD_PACKED_F64) return packed.size / 8;
    size_t n = 0;
    for (size_t i = 0; i < packed.size; i++) n += (unsigned char)packed.data[i] < 0x80;
    return n;
}

static uint32_t unpacked_wire(const onx_field *field) {
    size_t width = packed_width(field);
    return width == 4 ? WIRE_I32 : width == 8 ? WIRE_I64 : WIRE_VARINT;
}

/* The payload came in several pieces: put all that follow in this message together, in one buffer.
 * Called twice: to measure with out == NULL, then to copy. Stops at bytes that the main loop will
 * refuse. */
static size_t gather(const onx_field *field, const char *p, const char *end, char *out) {
    size_t total = 0;
    uint64_t tag, n;
    for (size_t used; p < end && (used = onx_varint_get(p, end, &tag)) && tag <= UINT32_MAX;) {
        const char *value = p + used;
        uint32_t type = (uint32_t)tag & 7;
        p = skip_value(value, end, (uint32_t)(tag >> 3), type, UINT32_MAX);
        if (!p) break;
        if (tag >> 3 != field->number || (type != WIRE_LEN && type != unpacked_wire(field)))
            continue;
        if (type == WIRE_LEN) value += onx_varint_get(value, end, &n);
        if (!packed_ok(field, (onx_str){value, (size_t)(p - value)})) break;
        if (out) memcpy(out + total, value, (size_t)(p - value));
        total += (size_t)(p - value);
    }
    return total;
}

/* `tag` is where this occurrence begins, `bytes` its payload. */
static onx_status read_packed(decoder *d, const onx_field *field, const char *tag, onx_str bytes,
                              bool simple) {
    frame *f = top(d);
    uint32_t bit = 1u << onx_field_index(f->msg->desc, field);
    onx_str *slot = onx_field_ptr(f->msg, field);
    if (!packed_ok(field, bytes))
        return FAIL(d, bytes.data, field, ONX_MALFORMED,
                    "a packed list of numbers is malformed or cut");
    if (f->gathered & bit) return ONX_OK;
    if (slot->size == 0 && simple) {
        *slot = bytes;
        return ONX_OK;
    }
    size_t rest = gather(field, tag, f->end, NULL), size;
    char *all =
        onx_add_size(slot->size, rest, &size) ? onx_arena_alloc(&d->doc->arena, size) : NULL;
    if (!all) return fail_nomem(d, tag);
    if (slot->size) memcpy(all, slot->data, slot->size);
    gather(field, tag, f->end, all + slot->size);
    *slot = (onx_str){all, size};
    f->gathered |= bit;
    return ONX_OK;
}

static bool push_number(decoder *d, const onx_field *field, void *slot, uint64_t v) {
    if (field->kind == ONX_FIELD_I64S) return onx_i64s_push(d->doc, slot, (int64_t)v);
    uint32_t bits = (uint32_t)v;
    float value;
    memcpy(&value, &bits, sizeof value);
    return onx_f32s_push(d->doc, slot, value);
}

static onx_status read_number_list(decoder *d, const onx_field *field, onx_str bytes) {
    void *slot = onx_field_ptr(top(d)->msg, field);
    if (!packed_ok(field, bytes))
        return FAIL(d, bytes.data, field, ONX_MALFORMED,
                    "a packed list of numbers is malformed or cut");
    const char *p = bytes.data, *end = bytes.data + bytes.size;
    while (p < end) {
        uint64_t v = 0;
        if (field->kind == ONX_FIELD_F32S)
            v = onx_load_u32(p), p += 4;
        else
            p += onx_varint_get(p, end, &v);
        if (!push_number(d, field, slot, v)) return fail_nomem(d, p);
    }
    return ONX_OK;
}

/* A length-delimited value. */
static onx_status read_bytes(decoder *d, const onx_field *field, const char *tag, onx_str bytes) {
    onx_msg *msg = top(d)->msg;
    void *slot = onx_field_ptr(msg, field);
    onx_str s;
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_STR:
    case ONX_FIELD_BYTES:
        ONX_TRY(read_string(d, field, bytes, slot));
        onx_msg_set_has(msg, field);
        return ONX_OK;
    case ONX_FIELD_STRS:
    case ONX_FIELD_BYTESS:
        ONX_TRY(read_string(d, field, bytes, &s));
        return onx_strs_push(d->doc, slot, s) ? ONX_OK : fail_nomem(d, bytes.data);
    case ONX_FIELD_MSG:
    case ONX_FIELD_MSGS: return open_message(d, field, bytes);
    case ONX_FIELD_I64S:
    case ONX_FIELD_F32S: return read_number_list(d, field, bytes);
    default: return read_packed(d, field, tag, bytes, true);
    }
}

/* A varint or fixed-size value, of `bytes`. */
static onx_status read_scalar(decoder *d, const onx_field *field, const char *tag, onx_str bytes,
                              uint64_t v) {
    onx_msg *msg = top(d)->msg;
    void *slot = onx_field_ptr(msg, field);
    uint32_t v32 = (uint32_t)v;
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_I32:
    case ONX_FIELD_F32: memcpy(slot, &v32, sizeof v32); break;
    case ONX_FIELD_I64: memcpy(slot, &v, sizeof v); break;
    case ONX_FIELD_I64S:
    case ONX_FIELD_F32S: return push_number(d, field, slot, v) ? ONX_OK : fail_nomem(d, tag);
    default: return read_packed(d, field, tag, bytes, false);
    }
    onx_msg_set_has(msg, field);
    return ONX_OK;
}

/* The wire type that a scalar of this kind has; WIRE_LEN for all others. */
static uint32_t scalar_wire(const onx_field *field) {
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_I32:
    case ONX_FIELD_I64: return WIRE_VARINT;
    case ONX_FIELD_F32: return WIRE_I32;
    case ONX_FIELD_STR:
    case ONX_FIELD_BYTES:
    case ONX_FIELD_MSG:
    case ONX_FIELD_STRS:
    case ONX_FIELD_BYTESS:
    case ONX_FIELD_MSGS: return WIRE_LEN;
    default: return unpacked_wire(field);
    }
}

static bool takes_bytes(const onx_field *field) {
    return field->kind != ONX_FIELD_I32 && field->kind != ONX_FIELD_I64 &&
           field->kind != ONX_FIELD_F32;
}

static onx_status fail_cut(decoder *d, const char *p, const onx_field *field, uint32_t type) {
    uint64_t length = 0;
    size_t n = type == WIRE_LEN ? onx_varint_get(p, top(d)->end, &length) : 0;
    size_t left = (size_t)(top(d)->end - p) - n;
    if (n == 0) return FAIL(d, p, field, ONX_MALFORMED, "a value is cut or malformed");
    FAIL(d, p, field, ONX_MALFORMED, "a value of %llu bytes is declared, but only %zu are left",
         (unsigned long long)length, left);
    onx_diag_hint(d->diag, "the file is cut off or not an ONNX file");
    return ONX_MALFORMED;
}

/* One field of the innermost open message. */
static onx_status read_field(decoder *d, const char **at) {
    const char *tag = *at, *end = top(d)->end;
    uint64_t key, v = 0;
    size_t n = onx_varint_get(tag, end, &key);
    uint32_t number = (uint32_t)(key >> 3), type = (uint32_t)(key & 7);
    if (n == 0 || n > TAG_BYTES || key > UINT32_MAX || number == 0 || type > WIRE_I32 ||
        type == WIRE_EGROUP) {
        FAIL(d, tag, NULL, ONX_MALFORMED, "a field tag is malformed");
        onx_diag_hint(d->diag, "the file is damaged, cut off, or not an ONNX file");
        return ONX_MALFORMED;
    }
    const char *p = tag + n;
    const onx_field *field = find_field(top(d)->msg->desc, number);
    const char *next = skip_value(p, end, number, type, d->doc->ctx->limits.depth);
    if (!next) return fail_cut(d, p, field, type);
    *at = next;
    if (field && type == WIRE_LEN && takes_bytes(field)) {
        const char *value = p + onx_varint_get(p, end, &v);
        onx_str bytes = {value, (size_t)v};
        bool message = field->child != NULL;
        ONX_TRY(read_bytes(d, field, tag, bytes));
        if (message) *at = value; /* go on inside it */
        return ONX_OK;
    }
    if (!field || type == WIRE_LEN || type != scalar_wire(field)) {
        bool kept = onx_msg_add_unknown(top(d)->msg, (onx_str){tag, (size_t)(next - tag)});
        return kept ? ONX_OK : fail_nomem(d, tag);
    }
    if (type == WIRE_VARINT)
        onx_varint_get(p, end, &v);
    else
        v = type == WIRE_I32 ? onx_load_u32(p) : onx_load_u64(p);
    return read_scalar(d, field, tag, (onx_str){p, (size_t)(next - p)}, v);
}

static onx_status decode(decoder *d, onx_msg *root, onx_str bytes) {
    const char *p = bytes.data;
    frame first = {root, bytes.data + bytes.size, 0};
    onx_buf_put(&d->stack, &first, sizeof first);
    if (d->stack.failed) return onx_fail_nomem(d->diag);
    while (d->stack.size) {
        if (p == top(d)->end)
            d->stack.size -= sizeof(frame);
        else
            ONX_TRY(read_field(d, &p));
    }
    return ONX_OK;
}

onx_status onx_wire_decode(onx_doc *doc, const onx_desc *desc, onx_str bytes, onx_msg **out,
                           onx_diag *diag) {
    static const char nothing[1] = "";
    if (!bytes.data) bytes = (onx_str){nothing, 0};
    decoder d = {.doc = doc, .diag = diag, .base = bytes.data};
    onx_buf_init(&d.stack, doc->ctx);
    onx_msg *root = onx_msg_new(doc, desc);
    onx_status status = root ? decode(&d, root, bytes) : onx_doc_fail(doc, diag);
    onx_buf_fini(&d.stack);
    if (status) return status;
    root->raw = bytes;
    doc->root = root;
    *out = root;
    return ONX_OK;
}
