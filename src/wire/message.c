/* message.c: documents, and trees of messages whatever their tables: link, walk, find. */
#include "wire/wire.h"

#include <stdio.h>

/* The blobs of a document: a list to release them, and a tree by address to find the one that a
 * span lies in. A parent in the tree has a larger `rank` than its children; ranks are as good as
 * random, so the tree is shallow whatever the order in which the blobs came. */
struct onx_blob_ref {
    onx_blob *blob;
    struct onx_blob_ref *next, *left, *right;
    uint64_t rank;
};

onx_status onx_doc_new(onx_context *ctx, onx_doc **out, onx_diag *diag) {
    ctx = onx_context_or_default(ctx);
    onx_doc *doc = onx_mem_alloc(ctx, sizeof *doc);
    if (!doc) return onx_fail_nomem(diag);
    *doc = (onx_doc){.ctx = ctx};
    onx_arena_init(&doc->arena, ctx);
    onx_context_retain(ctx);
    *out = doc;
    return ONX_OK;
}

void onx_doc_free(onx_doc *doc) {
    if (!doc) return;
    onx_context *ctx = doc->ctx;
    for (struct onx_blob_ref *r = doc->blobs; r; r = r->next) onx_blob_release(r->blob);
    onx_arena_fini(&doc->arena);
    onx_mem_free(ctx, doc, sizeof *doc);
    onx_context_free(ctx);
}

void onx_doc_limit(onx_doc *doc, size_t file_bytes) {
    size_t cap;
    bool fits = onx_mul_size(file_bytes, doc->ctx->limits.memory_factor, &cap) &&
                onx_add_size(cap, doc->arena.total + ((size_t)16 << 20), &cap);
    doc->arena.cap = fits ? cap : 0;
}

onx_status onx_doc_fail(onx_doc *doc, onx_diag *diag) {
    if (!doc->arena.capped) return onx_fail_nomem(diag);
    onx_fail(diag, ONX_LIMIT, "the file describes a structure far larger than the file itself");
    onx_diag_hint(diag, "raise onx_limits.memory_factor if the file is to be trusted");
    return ONX_LIMIT;
}

static uintptr_t start_of(const struct onx_blob_ref *ref) {
    return (uintptr_t)ref->blob->bytes.data;
}

/* Down to where `ref` ranks; what was there is split into what lies before it and behind it. */
static void tree_insert(struct onx_blob_ref **at, struct onx_blob_ref *ref) {
    while (*at && (*at)->rank >= ref->rank)
        at = start_of(ref) < start_of(*at) ? &(*at)->left : &(*at)->right;
    struct onx_blob_ref *rest = *at, **left = &ref->left, **right = &ref->right;
    *at = ref;
    while (rest) {
        bool before = start_of(rest) <= start_of(ref);
        struct onx_blob_ref ***side = before ? &left : &right;
        **side = rest;
        *side = before ? &rest->right : &rest->left;
        rest = **side;
    }
    *left = *right = NULL;
}

onx_status onx_doc_keep(onx_doc *doc, onx_blob *blob, onx_diag *diag) {
    struct onx_blob_ref *ref = onx_arena_alloc(&doc->arena, sizeof *ref);
    if (!ref) {
        onx_blob_release(blob);
        return onx_doc_fail(doc, diag);
    }
    uint64_t rank = onx_hash(doc->ctx->seed, &ref, sizeof ref);
    *ref = (struct onx_blob_ref){.blob = blob, .next = doc->blobs, .rank = rank};
    doc->blobs = ref;
    tree_insert(&doc->blob_tree, ref);
    return ONX_OK;
}

/* The blob that `span` lies in; NULL if it lies in the arena. */
static onx_blob *blob_of(const onx_doc *doc, onx_str span) {
    uintptr_t p = (uintptr_t)span.data;
    const struct onx_blob_ref *found = NULL;
    for (const struct onx_blob_ref *r = doc->blob_tree; r;) {
        bool here = start_of(r) <= p;
        if (here) found = r;
        r = here ? r->right : r->left;
    }
    return found && p - start_of(found) <= found->blob->bytes.size ? found->blob : NULL;
}

bool onx_doc_share(onx_doc *doc, const onx_doc *from, onx_str in, onx_str *out) {
    *out = in;
    if (doc == from || !in.data) return true;
    onx_blob *blob = blob_of(from, in);
    if (!blob) return onx_doc_str(doc, in, out);
    if (blob_of(doc, in) == blob) return true;
    onx_blob_retain(blob);
    return onx_doc_keep(doc, blob, NULL) == ONX_OK;
}

onx_str onx_doc_file_of(const onx_doc *doc, onx_str span) {
    const onx_blob *blob = blob_of(doc, span);
    return blob ? blob->bytes : span;
}

void onx_doc_drop(const onx_doc *doc, onx_str span) {
    const onx_blob *blob = blob_of(doc, span);
    if (blob && blob->kind == ONX_BLOB_MAPPED) (void)doc->ctx->os->drop(span.data, span.size);
}

onx_status onx_doc_write(const onx_doc *doc, const onx_writer *writer, onx_str span,
                         onx_diag *diag) {
    const size_t window = (size_t)8 << 20;
    const onx_blob *blob = span.size > window ? blob_of(doc, span) : NULL;
    bool mapped = blob && blob->kind == ONX_BLOB_MAPPED;
    for (size_t n; span.size; span.data += n, span.size -= n) {
        n = span.size < window ? span.size : window;
        ONX_TRY(onx_write_all(writer, span.data, n, diag));
        if (mapped) doc->ctx->os->drop(span.data, n);
    }
    return ONX_OK;
}

bool onx_doc_str(onx_doc *doc, onx_str in, onx_str *out) {
    return onx_arena_str(&doc->arena, in, out);
}

bool onx_strs_push(onx_doc *doc, onx_strs *a, onx_str s) {
    if (!onx_arena_grow(&doc->arena, &a->v, &a->cap, a->n, sizeof *a->v)) return false;
    a->v[a->n++] = s;
    return true;
}

bool onx_i64s_push(onx_doc *doc, onx_i64s *a, int64_t v) {
    if (!onx_arena_grow(&doc->arena, &a->v, &a->cap, a->n, sizeof *a->v)) return false;
    a->v[a->n++] = v;
    return true;
}

bool onx_f32s_push(onx_doc *doc, onx_f32s *a, float v) {
    if (!onx_arena_grow(&doc->arena, &a->v, &a->cap, a->n, sizeof *a->v)) return false;
    a->v[a->n++] = v;
    return true;
}

void *onx_msg_new(onx_doc *doc, const onx_desc *desc) {
    onx_msg *msg = onx_arena_alloc(&doc->arena, desc->size);
    if (msg) msg->desc = desc, msg->doc = doc;
    return msg;
}

void onx_msg_touch(void *msg) {
    for (onx_msg *m = msg; m && !m->dirty; m = m->parent) m->dirty = true;
}

void onx_msg_touch_all(void *root) {
    onx_msg *m;
    for (onx_walk w = onx_walk_begin(root); (m = onx_walk_next(&w));) m->dirty = true;
    onx_msg_touch(root);
}

const onx_field *onx_desc_field(const onx_desc *desc, onx_str name) {
    for (unsigned i = 0; i < desc->n_fields; i++)
        if (onx_str_is(name, desc->fields[i].name)) return &desc->fields[i];
    return NULL;
}

static bool is_packed(const onx_field *field) {
    return field->kind >= ONX_FIELD_PACKED_F32;
}

bool onx_msg_has(const void *msg, const onx_field *field) {
    const void *p = onx_field_ptr(msg, field);
    const onx_msg *m = msg;
    if (field->kind < ONX_FIELD_MSG) return m->has >> onx_field_index(m->desc, field) & 1;
    if (field->kind == ONX_FIELD_MSG) return *(void *const *)p != NULL;
    if (field->kind == ONX_FIELD_MSGS) return ((const onx_list *)p)->count > 0;
    if (is_packed(field)) return ((const onx_str *)p)->size > 0;
    return ((const onx_strs *)p)->n > 0; /* all arrays have the same layout */
}

void onx_msg_clear(void *msg, const onx_field *field) {
    onx_msg *m = msg;
    void *p = onx_field_ptr(msg, field);
    m->has &= ~(1u << onx_field_index(m->desc, field));
    if (field->kind == ONX_FIELD_MSG) {
        onx_msg *child = *(onx_msg **)p;
        if (child) child->dead = true;
        *(onx_msg **)p = NULL;
    } else if (field->kind == ONX_FIELD_MSGS) {
        while (((onx_list *)p)->first) onx_msg_remove(((onx_list *)p)->first);
    } else if (field->kind == ONX_FIELD_STR || field->kind == ONX_FIELD_BYTES || is_packed(field)) {
        *(onx_str *)p = (onx_str){NULL, 0};
    } else if (field->kind == ONX_FIELD_I32 || field->kind == ONX_FIELD_F32) {
        memset(p, 0, 4);
    } else if (field->kind == ONX_FIELD_I64) {
        memset(p, 0, 8);
    } else {
        ((onx_strs *)p)->n = 0;
    }
}

void onx_msg_set_has(void *msg, const onx_field *field) {
    onx_msg *m = msg;
    const onx_desc *desc = m->desc;
    for (unsigned i = 0; field->oneof && i < desc->n_fields; i++)
        if (desc->fields[i].oneof == field->oneof && &desc->fields[i] != field)
            onx_msg_clear(msg, &desc->fields[i]);
    if (field->kind < ONX_FIELD_MSG) m->has |= 1u << onx_field_index(desc, field);
}

static void link_before(onx_msg *p, const onx_field *field, onx_msg *b, onx_msg *c) {
    c->parent = p;
    c->field = (uint8_t)onx_field_index(p->desc, field);
    c->dead = false;
    if (field->kind == ONX_FIELD_MSG) {
        onx_msg_clear(p, field);
        onx_msg_set_has(p, field);
        *(onx_msg **)onx_field_ptr(p, field) = c;
        return;
    }
    onx_list *list = onx_field_ptr(p, field);
    c->next = b;
    c->prev = b ? b->prev : list->last;
    *(c->prev ? &c->prev->next : &list->first) = c;
    *(b ? &b->prev : &list->last) = c;
    list->count++;
}

void onx_msg_link(void *parent, const onx_field *field, void *child) {
    link_before(parent, field, NULL, child);
}

/* Runs that touch become one. */
bool onx_msg_add_unknown(onx_msg *msg, onx_str bytes) {
    onx_unknown *last = msg->unknown ? msg->unknown->last : NULL;
    if (last && last->bytes.data + last->bytes.size == bytes.data) {
        last->bytes.size += bytes.size;
        return true;
    }
    onx_unknown *run = onx_arena_alloc(&msg->doc->arena, sizeof *run);
    if (!run) return false;
    run->bytes = bytes;
    *(last ? &last->next : &msg->unknown) = run;
    msg->unknown->last = run;
    return true;
}

void onx_msg_insert(void *parent, const onx_field *field, void *before, void *child) {
    link_before(parent, field, before, child);
    onx_msg_touch(parent);
}

void onx_msg_append(void *parent, const onx_field *field, void *child) {
    onx_msg_insert(parent, field, NULL, child);
}

void onx_msg_remove(void *child) {
    onx_msg *c = child;
    if (!c->parent) return;
    const onx_field *field = &c->parent->desc->fields[c->field];
    if (field->kind == ONX_FIELD_MSG) {
        *(onx_msg **)onx_field_ptr(c->parent, field) = NULL;
    } else {
        onx_list *list = onx_field_ptr(c->parent, field);
        *(c->prev ? &c->prev->next : &list->first) = c->next;
        *(c->next ? &c->next->prev : &list->last) = c->prev;
        list->count--;
    }
    onx_msg_touch(c->parent);
    c->prev = c->next = c->parent = NULL;
    c->dead = true;
}

onx_msg *onx_msg_child_next(const void *msg, const onx_msg *child) {
    const onx_desc *desc = ((const onx_msg *)msg)->desc;
    if (child && child->next) return child->next;
    uint32_t left = desc->messages;
    if (child) left &= ~(uint32_t)0 << child->field << 1; /* in two steps: field may be 31 */
    for (; left; left &= left - 1) {
        const onx_field *field = &desc->fields[__builtin_ctz(left)];
        const void *p = onx_field_ptr(msg, field);
        onx_msg *first =
            field->kind == ONX_FIELD_MSG ? *(onx_msg *const *)p : ((const onx_list *)p)->first;
        if (first) return first;
    }
    return NULL;
}

onx_walk onx_walk_begin(const void *root) {
    return (onx_walk){root, NULL, false};
}

onx_msg *onx_walk_next(onx_walk *walk) {
    const onx_msg *at = walk->at;
    onx_msg *next = !at          ? (onx_msg *)(uintptr_t)walk->root
                    : walk->skip ? NULL
                                 : onx_msg_child_next(at, NULL);
    walk->skip = false;
    while (!next && at != walk->root) {
        next = onx_msg_child_next(at->parent, at);
        at = at->parent;
    }
    if (next) walk->at = next;
    return next;
}

void onx_walk_skip(onx_walk *walk) {
    walk->skip = true;
}

/* Written from the end: the innermost part is what tells most when the room is short. */
void onx_msg_path(const void *msg, char *out, size_t size) {
    char path[1024];
    size_t at = sizeof path - 1;
    path[at] = '\0';
    for (const onx_msg *m = msg; m && m->parent; m = m->parent) {
        const onx_field *field = &m->parent->desc->fields[m->field];
        char part[80];
        size_t index = 0;
        for (const onx_msg *s = m->prev; s; s = s->prev) index++;
        bool many = field->kind == ONX_FIELD_MSGS;
        int n = many ? snprintf(part, sizeof part, "%s[%zu]", field->name, index)
                     : snprintf(part, sizeof part, "%s", field->name);
        if (at < (size_t)n + 1 || sizeof path - at + (size_t)n > size) break;
        if (path[at]) path[--at] = '.';
        at -= (size_t)n;
        memcpy(path + at, part, (size_t)n);
    }
    snprintf(out, size, "%s", path + at);
}
