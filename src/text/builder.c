/* builder.c: message trees from events. See tree.h. */
#include "text/tree.h"

#include "base/utf8.h"

enum { LARGE = 64 << 10 }; /* payloads of this many bytes go to a blob of their own */

void onx_builder_init(onx_builder *b, onx_doc *doc, size_t text_size, onx_diag *diag) {
    *b = (onx_builder){.doc = doc, .diag = diag};
    onx_buf_init(&b->marks, doc->ctx);
    for (size_t i = 0; i < ONX_COUNT(b->packed); i++) onx_buf_init(&b->packed[i].bytes, doc->ctx);
    onx_doc_limit(doc, text_size);
}

void onx_builder_fini(onx_builder *b) {
    onx_doc_limit(b->doc, SIZE_MAX);
    for (size_t i = 0; i < ONX_COUNT(b->packed); i++) onx_buf_fini(&b->packed[i].bytes);
    onx_buf_fini(&b->marks);
}

uint32_t *onx_builder_mark(onx_builder *b) {
    return (uint32_t *)(void *)(b->marks.data + b->marks.size) - 1;
}

onx_status onx_builder_enter(onx_builder *b, const onx_field *field, const onx_desc *desc) {
    const uint32_t mark = 0, limit = b->doc->ctx->limits.depth;
    if (b->marks.size / sizeof mark > limit) {
        onx_fail(b->diag, ONX_LIMIT, "messages are nested more than %u deep", (unsigned)limit);
        onx_diag_hint(b->diag, "raise onx_limits.depth if the file is to be trusted");
        return ONX_LIMIT;
    }
    onx_buf_put(&b->marks, &mark, sizeof mark);
    onx_msg *msg = b->marks.failed ? NULL : onx_msg_new(b->doc, field ? field->child : desc);
    if (!msg) return onx_doc_fail(b->doc, b->diag);
    if (field)
        onx_msg_link(b->at, field, msg);
    else
        b->root = msg;
    b->at = msg;
    b->field = NULL;
    return ONX_OK;
}

void onx_builder_leave(onx_builder *b) {
    b->marks.size -= sizeof(uint32_t);
    b->at = b->at->parent;
    b->field = NULL;
}

onx_status onx_builder_check(onx_builder *b, const onx_field *field) {
    const onx_desc *desc = b->at->desc;
    if (!onx_field_repeated(field) && onx_msg_has(b->at, field))
        return onx_fail(b->diag, ONX_MALFORMED, "'%s' is given twice, but holds one value",
                        field->name);
    for (unsigned i = 0; field->oneof && i < desc->n_fields; i++) {
        const onx_field *other = &desc->fields[i];
        if (other == field || other->oneof != field->oneof || !onx_msg_has(b->at, other)) continue;
        return onx_fail(b->diag, ONX_MALFORMED,
                        "'%s' cannot stand beside '%s': a %s has one of them", field->name,
                        other->name, desc->name);
    }
    return ONX_OK;
}

static onx_status bytes_room(onx_builder *b, size_t size, char **out) {
    if (size < LARGE) {
        char *p = onx_arena_alloc(&b->doc->arena, size ? size : 1);
        if (!p) return onx_doc_fail(b->doc, b->diag);
        *out = p;
        return ONX_OK;
    }
    onx_blob *blob;
    ONX_TRY(onx_blob_new(b->doc->ctx, size, &blob, b->diag));
    char *data = (char *)(uintptr_t)blob->bytes.data;
    ONX_TRY(onx_doc_keep(b->doc, blob, b->diag));
    *out = data;
    return ONX_OK;
}

onx_status onx_builder_room(onx_builder *b, const onx_field *field, size_t size, char **out) {
    if (!field || onx_field_elem(field) != ONX_ELEM_STR) return bytes_room(b, size, out);
    size_t limit = onx_string_limit(&b->doc->ctx->limits, field);
    if (size > limit)
        return onx_fail(b->diag, ONX_LIMIT, "a string of %zu bytes is over the limit of %zu", size,
                        limit);
    char *p = onx_arena_alloc(&b->doc->arena, size + 1);
    if (!p) return onx_doc_fail(b->doc, b->diag);
    *out = p;
    return ONX_OK;
}

/* Append what has gathered to the payload, empty so far unless fields of one kind take turns. */
static onx_status packed_flush(onx_builder *b, struct onx_packed *packed) {
    if (packed->bytes.size == 0) return ONX_OK;
    onx_str *payload = onx_field_ptr(packed->msg, packed->field);
    size_t size;
    if (!onx_add_size(payload->size, packed->bytes.size, &size)) return onx_fail_nomem(b->diag);
    char *data = NULL;
    ONX_TRY(bytes_room(b, size, &data));
    if (payload->size) memcpy(data, payload->data, payload->size);
    memcpy(data + payload->size, packed->bytes.data, packed->bytes.size);
    *payload = (onx_str){data, size};
    onx_buf_fini(&packed->bytes);
    return ONX_OK;
}

static onx_status packed_add(onx_builder *b, const onx_field *field, onx_elem elem) {
    struct onx_packed *packed = &b->packed[field->kind - ONX_FIELD_PACKED_F32];
    if (packed->msg != b->at || packed->field != field) {
        ONX_TRY(packed_flush(b, packed));
        packed->msg = b->at;
        packed->field = field;
    }
    char varint[10];
    if (field->kind == ONX_FIELD_PACKED_F32)
        onx_buf_put(&packed->bytes, &elem.f, sizeof elem.f);
    else if (field->kind == ONX_FIELD_PACKED_F64)
        onx_buf_put(&packed->bytes, &elem.d, sizeof elem.d);
    else
        onx_buf_put(&packed->bytes, varint, onx_varint_put(elem.u, varint));
    return packed->bytes.failed ? onx_fail_nomem(b->diag) : ONX_OK;
}

onx_status onx_builder_add(onx_builder *b, const onx_field *field, onx_elem elem) {
    void *slot = onx_field_ptr(b->at, field);
    bool ok = true;
    if (onx_field_elem(field) == ONX_ELEM_I32 && (elem.i < INT32_MIN || elem.i > INT32_MAX))
        return onx_fail(b->diag, ONX_MALFORMED, "%lld does not fit in 32 bits", (long long)elem.i);
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_I32: *(int32_t *)slot = (int32_t)elem.i; break;
    case ONX_FIELD_I64: *(int64_t *)slot = elem.i; break;
    case ONX_FIELD_F32: *(float *)slot = elem.f; break;
    case ONX_FIELD_STR:
    case ONX_FIELD_BYTES: *(onx_str *)slot = elem.s; break;
    case ONX_FIELD_I64S: ok = onx_i64s_push(b->doc, slot, elem.i); break;
    case ONX_FIELD_F32S: ok = onx_f32s_push(b->doc, slot, elem.f); break;
    case ONX_FIELD_STRS:
    case ONX_FIELD_BYTESS: ok = onx_strs_push(b->doc, slot, elem.s); break;
    default: return packed_add(b, field, elem);
    }
    if (!ok) return onx_doc_fail(b->doc, b->diag);
    if (!onx_field_repeated(field)) onx_msg_set_has(b->at, field);
    return ONX_OK;
}

/* Decoding them as the message they stand in must leave every byte unknown: then they are whole
 * fields, and none that the table has a place for. */
static onx_status check_unknown(onx_builder *b, onx_str bytes) {
    onx_doc *scratch;
    onx_msg *msg;
    ONX_TRY(onx_doc_new(b->doc->ctx, &scratch, b->diag));
    onx_status status = onx_wire_decode(scratch, b->at->desc, bytes, &msg, b->diag);
    size_t unknown = 0;
    for (const onx_unknown *u = status ? NULL : msg->unknown; u; u = u->next)
        unknown += u->bytes.size;
    if (!status && unknown != bytes.size)
        status = onx_fail(b->diag, ONX_MALFORMED,
                          "'" ONX_TREE_UNKNOWN "' holds a field that %s knows by name",
                          b->at->desc->name);
    onx_doc_free(scratch);
    return status;
}

onx_status onx_builder_unknown(onx_builder *b, onx_str bytes) {
    ONX_TRY(check_unknown(b, bytes));
    return onx_msg_add_unknown(b->at, bytes) ? ONX_OK : onx_doc_fail(b->doc, b->diag);
}

onx_status onx_builder_finish(onx_builder *b, onx_msg **out) {
    for (size_t i = 0; i < ONX_COUNT(b->packed); i++) ONX_TRY(packed_flush(b, &b->packed[i]));
    b->doc->root = b->root;
    *out = b->root;
    return ONX_OK;
}

void onx_builder_place(const onx_builder *b, onx_str text, size_t offset) {
    if (!b->diag) return;
    char path[160] = "", where[64];
    if (b->at) onx_msg_path(b->at, path, sizeof path);
    onx_diag_text(b->diag, text, offset);
    memcpy(where, b->diag->place, sizeof where);
    where[sizeof where - 1] = '\0';
    const char *name = b->field ? b->field->name : "";
    onx_diag_place(b->diag, "%s%s%s%s%s", where, path[0] || name[0] ? ", in " : "", path,
                   path[0] && name[0] ? "." : "", name);
}
