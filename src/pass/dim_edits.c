/* dim_edits.c: many declared sizes change at once: prepared first, then made, and taken back where
 * what follows from them cannot be. */
#include "ir/edit.h"
#include "pass/surgery.h"

onx_status onx_dim_edits_init(onx_dim_edits *e, onx_model *model, onx_diag *diag) {
    *e = (onx_dim_edits){.doc = model->msg.doc};
    onx_arena_init(&e->arena, e->doc->ctx);
    e->syms = onx_syms_new(e->doc->ctx);
    return e->syms ? ONX_OK : onx_fail_nomem(diag);
}

void onx_dim_edits_fini(onx_dim_edits *e) {
    onx_syms_free(e->syms);
    onx_arena_fini(&e->arena);
}

/* Both messages have a number and a name, of which one counts. */
static const onx_field *value_row(const onx_msg *m) {
    return m->desc == &onx_desc_dim ? ONX_ROW(dim, dim_value) : ONX_ROW(simple_sharding, dim_value);
}
static const onx_field *param_row(const onx_msg *m) {
    return m->desc == &onx_desc_dim ? ONX_ROW(dim, dim_param) : ONX_ROW(simple_sharding, dim_param);
}
static uint32_t bit(const onx_msg *m, const onx_field *row) {
    return 1u << onx_field_index(m->desc, row);
}

static onx_status print_size(onx_dim_edits *e, const onx_sym *size, onx_str *out, onx_diag *diag) {
    onx_buf text;
    onx_buf_init(&text, e->doc->ctx);
    onx_sym_print(size, &text);
    onx_str printed = {text.data, text.size};
    bool open = !text.failed && memchr(text.data, '?', text.size);
    bool ok = !text.failed && (open || onx_doc_str(e->doc, printed, out));
    onx_buf_fini(&text);
    return ok ? ONX_OK : onx_fail_nomem(diag);
}

onx_status onx_dim_edits_set(onx_dim_edits *e, void *dim, const onx_sym *size, onx_diag *diag) {
    onx_msg *m = dim;
    onx_dim_edit edit = {.msg = m};
    edit.has = m->has & ~(bit(m, value_row(m)) | bit(m, param_row(m)));
    if (onx_sym_is_int(size, &edit.value)) {
        edit.has |= bit(m, value_row(m));
    } else if (size) {
        ONX_TRY(print_size(e, size, &edit.param, diag));
        if (edit.param.size) edit.has |= bit(m, param_row(m));
    }
    if (!onx_arena_grow(&e->arena, &e->v, &e->cap, e->n, sizeof *e->v)) return onx_fail_nomem(diag);
    e->v[e->n++] = edit;
    return ONX_OK;
}

void onx_dim_edits_swap(onx_dim_edits *e) {
    for (size_t i = 0; i < e->n; i++) {
        onx_dim_edit *edit = &e->v[i], old = *edit;
        int64_t *value = onx_field_ptr(edit->msg, value_row(edit->msg));
        onx_str *param = onx_field_ptr(edit->msg, param_row(edit->msg));
        *edit = (onx_dim_edit){edit->msg, edit->msg->has, *value, *param};
        edit->msg->has = old.has;
        *value = old.value;
        *param = old.param;
        onx_msg_touch(edit->msg);
    }
}

/* ─ Everywhere ───────────────────────────────────────────────────────────────────────────────── */

typedef struct outcome { /* what becomes of a text */
    const onx_sym *size;
    bool same;
} outcome;

static onx_status work_out(onx_dim_edits *e, onx_str text, onx_sym_replacer *fn, void *user,
                           outcome *out, onx_diag *diag) {
    const onx_sym *before = onx_sym_parse(e->syms, text);
    int64_t value;
    *out = (outcome){onx_sym_replace(e->syms, before, fn, user), false};
    out->same = out->size == before;
    if (onx_syms_failed(e->syms)) return onx_fail_nomem(diag);
    if (!onx_sym_is_int(out->size, &value) || value >= 0) return ONX_OK;
    return onx_fail(diag, ONX_INVALID, "the size '%.*s' would be %lld", ONX_FMT(text),
                    (long long)value);
}

/* Each text is worked out once. */
static onx_status find_outcome(onx_dim_edits *e, onx_map *known, onx_str text, onx_sym_replacer *fn,
                               void *user, const outcome **out, onx_diag *diag) {
    outcome *found = onx_map_get(known, NULL, text);
    *out = found;
    if (found) return ONX_OK;
    found = onx_arena_alloc(&e->arena, sizeof *found);
    if (!found) return onx_fail_nomem(diag);
    ONX_TRY(work_out(e, text, fn, user, found, diag));
    *out = found;
    return onx_map_put(known, NULL, text, found) ? ONX_OK : onx_fail_nomem(diag);
}

static onx_status replace(onx_dim_edits *e, onx_map *known, onx_msg *m, onx_sym_replacer *fn,
                          void *user, onx_diag *diag) {
    onx_str text = *(const onx_str *)onx_field_ptr(m, param_row(m));
    const outcome *o;
    if (!text.size || text.data[0] == '?') return ONX_OK;
    onx_status status = find_outcome(e, known, text, fn, user, &o, diag);
    if (status) {
        char path[160];
        onx_msg_path(m, path, sizeof path);
        onx_diag_place(diag, "%s", path);
        return status;
    }
    return o->same ? ONX_OK : onx_dim_edits_set(e, m, o->size, diag);
}

onx_status onx_dim_edits_replace(onx_dim_edits *e, onx_model *model, onx_sym_replacer *fn,
                                 void *user, onx_diag *diag) {
    onx_map known;
    onx_msg *m;
    onx_status status = ONX_OK;
    onx_map_init(&known, e->doc->ctx);
    for (onx_walk w = onx_walk_begin(model); !status && (m = onx_walk_next(&w));) {
        if (m->desc == &onx_desc_tensor) onx_walk_skip(&w);
        if (m->desc == &onx_desc_dim || m->desc == &onx_desc_simple_sharding)
            status = replace(e, &known, m, fn, user, diag);
    }
    onx_map_fini(&known);
    return status;
}
