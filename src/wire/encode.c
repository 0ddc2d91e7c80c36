/* encode.c: messages to bytes.
 *
 * What was not edited is written as the bytes it was read from. The rest is written in one fixed
 * order: known fields by number, repeated ones in their order, then unknown fields. Lengths come
 * before contents, so the tree is walked twice: to measure every message that is written anew, in
 * the order in which it will be written, then to write.
 */
#include "base/out.h"
#include "wire/wire.h"

enum { WIRE_VARINT, WIRE_I64, WIRE_LEN, WIRE_I32 = 5 };

typedef struct encoder {
    const onx_doc *doc;
    onx_diag *diag;
    onx_status status;
    onx_buf sizes; /* uint64_t per message written anew */
    onx_buf open;  /* size_t per open message: where its size is */
    size_t next;   /* of `sizes`, while writing */
    uint64_t total;
    onx_out out; /* without a writer: only measure */
} encoder;

size_t onx_varint_size(uint64_t v) {
    size_t n = 1;
    while (v >= 0x80) v >>= 7, n++;
    return n;
}

size_t onx_varint_put(uint64_t v, char *out) {
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) out[n++] = (char)(v | 0x80);
    out[n++] = (char)v;
    return n;
}

static bool kept(const onx_msg *msg) {
    return !msg->dirty && msg->raw.data;
}

/* Payloads go straight to the writer: their pages are given back on the way. */
static void put(encoder *e, const void *data, size_t size) {
    e->total += size;
    if (!e->out.writer) return;
    if (size <= sizeof e->out.data)
        onx_out_put(&e->out, data, size);
    else if (!onx_out_flush(&e->out))
        e->out.status = onx_doc_write(e->doc, e->out.writer, (onx_str){data, size}, e->diag);
}

static void put_varint(encoder *e, uint64_t v) {
    char bytes[10];
    put(e, bytes, onx_varint_put(v, bytes));
}

static void put_tag(encoder *e, const onx_field *field, unsigned type) {
    put_varint(e, (uint64_t)field->number << 3 | type);
}

static void put_bytes(encoder *e, const onx_field *field, onx_str s) {
    put_tag(e, field, WIRE_LEN);
    put_varint(e, s.size);
    put(e, s.data, s.size);
}

/* Every kind of field but messages. */
static void put_field(encoder *e, const onx_msg *msg, const onx_field *field) {
    const void *p = onx_field_ptr(msg, field);
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_I32:
        put_tag(e, field, WIRE_VARINT);
        put_varint(e, (uint64_t)(int64_t) * (const int32_t *)p);
        break;
    case ONX_FIELD_I64:
        put_tag(e, field, WIRE_VARINT);
        put_varint(e, *(const uint64_t *)p);
        break;
    case ONX_FIELD_F32:
        put_tag(e, field, WIRE_I32);
        put(e, p, 4);
        break;
    case ONX_FIELD_I64S:
        for (size_t i = 0; i < ((const onx_i64s *)p)->n; i++) {
            put_tag(e, field, WIRE_VARINT);
            put_varint(e, (uint64_t)((const onx_i64s *)p)->v[i]);
        }
        break;
    case ONX_FIELD_F32S:
        for (size_t i = 0; i < ((const onx_f32s *)p)->n; i++) {
            put_tag(e, field, WIRE_I32);
            put(e, &((const onx_f32s *)p)->v[i], 4);
        }
        break;
    case ONX_FIELD_STRS:
    case ONX_FIELD_BYTESS:
        for (size_t i = 0; i < ((const onx_strs *)p)->n; i++)
            put_bytes(e, field, ((const onx_strs *)p)->v[i]);
        break;
    case ONX_FIELD_MSG:
    case ONX_FIELD_MSGS: break;
    default: put_bytes(e, field, *(const onx_str *)p); break;
    }
}

static void put_unknown(encoder *e, const onx_msg *msg) {
    for (const onx_unknown *u = msg->unknown; u; u = u->next) put(e, u->bytes.data, u->bytes.size);
}

/* The fields of `msg` from number `from` to before `to`, messages left out. */
static void put_fields(encoder *e, const onx_msg *msg, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++)
        if (onx_msg_has(msg, &msg->desc->fields[i])) put_field(e, msg, &msg->desc->fields[i]);
}

static uint64_t *size_at(encoder *e, size_t index) {
    return (uint64_t *)(void *)e->sizes.data + index;
}

static void measure_open(encoder *e, const onx_msg *msg) {
    size_t index = e->sizes.size / sizeof(uint64_t);
    e->total = 0;
    put_fields(e, msg, 0, msg->desc->n_fields);
    put_unknown(e, msg);
    onx_buf_put(&e->sizes, &e->total, sizeof e->total);
    onx_buf_put(&e->open, &index, sizeof index);
    if (e->sizes.failed || e->open.failed) e->status = onx_fail_nomem(e->diag);
}

static uint64_t framed(const onx_msg *msg, uint64_t size) {
    const onx_field *field = &msg->parent->desc->fields[msg->field];
    return onx_varint_size((uint64_t)field->number << 3) + onx_varint_size(size) + size;
}

/* Close the innermost message: its size is complete and counts in its parent. */
static void measure_close(encoder *e, const onx_msg *msg) {
    size_t *open = (size_t *)(void *)(e->open.data + e->open.size) - 1;
    e->open.size -= sizeof *open;
    if (e->open.size) *size_at(e, open[-1]) += framed(msg, *size_at(e, *open));
}

static onx_status measure(encoder *e, const onx_msg *root) {
    const onx_msg *msg = root, *child = NULL;
    measure_open(e, root);
    while (!e->status) {
        child = onx_msg_child_next(msg, child);
        if (child && kept(child)) {
            size_t *open = (size_t *)(void *)(e->open.data + e->open.size) - 1;
            *size_at(e, *open) += framed(child, child->raw.size);
        } else if (child) {
            measure_open(e, child);
            msg = child;
            child = NULL;
        } else {
            measure_close(e, msg);
            if (msg == root) break;
            child = msg;
            msg = msg->parent;
        }
    }
    return e->status;
}

static void write_child_header(encoder *e, const onx_msg *child, uint64_t size) {
    put_tag(e, &child->parent->desc->fields[child->field], WIRE_LEN);
    put_varint(e, size);
}

static onx_status write(encoder *e, const onx_msg *root) {
    const onx_msg *msg = root, *child = NULL;
    e->next = 1;
    while (!e->out.status) {
        const onx_msg *next = onx_msg_child_next(msg, child);
        unsigned from = child ? child->field + 1u : 0;
        if (!child || !next || next->field != child->field)
            put_fields(e, msg, from, next ? next->field : msg->desc->n_fields);
        child = next;
        if (child && kept(child)) {
            put_bytes(e, &msg->desc->fields[child->field], child->raw);
        } else if (child) {
            write_child_header(e, child, *size_at(e, e->next++));
            msg = child;
            child = NULL;
        } else {
            put_unknown(e, msg);
            if (msg == root) break;
            child = msg;
            msg = msg->parent;
        }
    }
    return onx_out_flush(&e->out);
}

static void encoder_init(encoder *e, const onx_msg *msg, onx_diag *diag) {
    e->doc = msg->doc;
    e->diag = diag;
    e->status = ONX_OK;
    e->next = 0;
    e->total = 0;
    onx_out_init(&e->out, NULL, diag);
    onx_buf_init(&e->sizes, msg->doc->ctx);
    onx_buf_init(&e->open, msg->doc->ctx);
}

static void encoder_fini(encoder *e) {
    onx_buf_fini(&e->sizes);
    onx_buf_fini(&e->open);
}

onx_status onx_wire_size(const void *root, uint64_t *size, onx_diag *diag) {
    const onx_msg *msg = root;
    if (kept(msg)) {
        *size = msg->raw.size;
        return ONX_OK;
    }
    encoder e;
    encoder_init(&e, msg, diag);
    onx_status status = measure(&e, msg);
    if (!status) *size = *size_at(&e, 0);
    encoder_fini(&e);
    return status;
}

onx_status onx_wire_encode(const void *root, const onx_writer *writer, onx_diag *diag) {
    const onx_msg *msg = root;
    if (kept(msg)) return onx_doc_write(msg->doc, writer, msg->raw, diag);
    encoder e;
    encoder_init(&e, msg, diag);
    onx_status status = measure(&e, msg);
    e.out.writer = writer;
    if (!status) status = write(&e, msg);
    encoder_fini(&e);
    return status;
}
