/* told.c: failures, assumptions, and operators that are missing. */
#include "export/told.h"

#include <stdarg.h>
#include <stdio.h>

static const onx_str nothing = {NULL, 0};

void *onx_x_alloc(onx_export *x, size_t size) {
    void *p = onx_arena_alloc(&x->arena, size ? size : 1);
    return p ? p : onx_x_nomem(x);
}

void *onx_x_array(onx_export *x, size_t n, size_t elem_size) {
    void *p = onx_arena_array(&x->arena, n, elem_size);
    return p ? p : onx_x_nomem(x);
}

void *onx_x_nomem(onx_export *x) {
    if (!x->status) x->status = onx_fail_nomem(&x->diag);
    return NULL;
}

/* "add" of "add.Tensor(…". */
static onx_str op_name(const char *schema) {
    return schema ? (onx_str){schema, strcspn(schema, "(")} : nothing;
}

/* "module 'layer1.0', model.py:12, operator add": as much as is known. */
static void place(onx_export *x) {
    onx_buf text;
    onx_str op = op_name(x->op);
    onx_buf_init(&text, x->ctx);
    if (x->path.size) onx_buf_printf(&text, "module '%.*s'", ONX_FMT(x->path));
    if (x->where.size) onx_buf_printf(&text, "%s%.*s", text.size ? ", " : "", ONX_FMT(x->where));
    if (op.size) onx_buf_printf(&text, "%soperator %.*s", text.size ? ", " : "", ONX_FMT(op));
    if (text.size && !text.failed)
        onx_diag_place(&x->diag, "%.*s", ONX_FMT(((onx_str){text.data, text.size})));
    onx_buf_fini(&text);
}

void *onx_x_fail(onx_export *x, onx_status status, const char *fmt, ...) {
    char text[480];
    va_list args;
    if (x->status) return NULL;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    x->diag = ONX_INIT(onx_diag);
    x->status = onx_fail(&x->diag, status, "%s", text);
    place(x);
    return NULL;
}

void onx_x_hint(onx_export *x, const char *fmt, ...) {
    char text[300];
    va_list args;
    if (x->diag.hint[0]) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    onx_diag_hint(&x->diag, "%s", text);
}

/* ─ Notes ────────────────────────────────────────────────────────────────────────────────────── */

static onx_xnote *note(onx_export *x, onx_xnote **list, onx_str text) {
    onx_xnote **end = list;
    for (; *end; end = &(*end)->next)
        if (onx_str_eq((*end)->text, text)) {
            (*end)->count++;
            return *end;
        }
    onx_xnote *n = onx_x_alloc(x, sizeof *n);
    if (!n || !onx_arena_str(&x->arena, text, &n->text) ||
        !onx_arena_str(&x->arena, x->path, &n->path) ||
        !onx_arena_str(&x->arena, x->where, &n->where))
        return onx_x_nomem(x);
    n->count = 1;
    return *end = n;
}

void onx_x_note(onx_export *x, const char *fmt, ...) {
    char text[480];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    note(x, &x->notes, onx_str_of(text));
}

void onx_x_fix(onx_export *x, const char *text) {
    note(x, &x->fixed, onx_str_of(text));
}

void onx_x_lowered(onx_export *x, onx_str name) {
    onx_str path = x->path, where = x->where;
    x->path = x->where = nothing;
    note(x, &x->lowered, name);
    x->path = path;
    x->where = where;
}

void onx_x_missing(onx_export *x, onx_str name, onx_str args) {
    onx_xnote *n = note(x, &x->missing, name);
    x->survey = true;
    if (n && n->count == 1 && !onx_arena_str(&x->arena, args, &n->args)) onx_x_nomem(x);
}

onx_status onx_x_check_missing(onx_export *x) {
    onx_buf text;
    size_t kinds = 0;
    if (x->status || !x->missing) return x->status;
    onx_buf_init(&text, x->ctx);
    for (const onx_xnote *n = x->missing; n; n = n->next, kinds++) {
        if (text.size < 400)
            onx_buf_printf(&text, "%s%.*s(%.*s)", kinds ? "; " : "", ONX_FMT(n->text),
                           ONX_FMT(n->args));
        if (text.size < 400 && n->count > 1) onx_buf_printf(&text, " %zu times", n->count);
        if (text.size < 400 && n->path.size)
            onx_buf_printf(&text, ", first in '%.*s'", ONX_FMT(n->path));
        if (text.size < 400 && n->where.size) onx_buf_printf(&text, " at %.*s", ONX_FMT(n->where));
    }
    x->path = x->where = nothing;
    x->op = NULL;
    onx_x_fail(x, ONX_UNSUPPORTED, "%zu operator%s cannot be exported: %.*s", kinds,
               kinds == 1 ? "" : "s", ONX_FMT(((onx_str){text.data, text.size})));
    onx_x_hint(x, "write the operator in others in Python, or give its meaning as an ONNX function "
                  "(--lowerings FILE)");
    onx_buf_fini(&text);
    return x->status;
}
