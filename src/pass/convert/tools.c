/* tools.c: what steps ask about a node, and the changes they make: see step.h. */
#include "pass/convert/step.h"

#include <stdio.h>

enum { MAX_LIST = 65536 }; /* elements of a constant that becomes an attribute */

onx_status onx_convert_refuse(onx_convert *c, const char *fmt, ...) {
    char sentence[sizeof c->diag.message];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    c->diag.hint[0] = '\0';
    return onx_fail(&c->diag, ONX_UNSUPPORTED, "%s", sentence);
}

/* ─ What is known ────────────────────────────────────────────────────────────────────────────── */

const onx_fact *onx_convert_in(const onx_convert *c, const onx_node *node, size_t index) {
    static const onx_fact nothing;
    const onx_value *value = index < node->input.n ? onx_node_input(node, index) : NULL;
    return value ? onx_facts_of(c->facts, value) : &nothing;
}

bool onx_convert_has(const onx_node *node, size_t index) {
    return index < node->input.n && onx_node_input(node, index);
}

const onx_tensor *onx_convert_constant(const onx_convert *c, const onx_node *node, size_t index) {
    return onx_convert_in(c, node, index)->constant;
}

/* The elements of a constant as `dtype`, if they are few. */
static void *elements(onx_convert *c, const onx_node *node, size_t index, onx_dtype dtype,
                      size_t width, size_t *n) {
    const onx_tensor *tensor = onx_convert_constant(c, node, index);
    uint64_t count;
    if (!tensor || onx_tensor_count(tensor, &count, NULL) || count > MAX_LIST) return NULL;
    if (onx_tensor_dtype(tensor) == ONX_DTYPE_STRING) return NULL;
    void *out = onx_arena_array(&c->arena, (size_t)count + 1, width);
    if (!out || onx_tensor_read_as(tensor, dtype, out, (size_t)count * width, NULL)) return NULL;
    *n = (size_t)count;
    return out;
}

/* Elements that inference has followed: all of them are numbers. */
static int64_t *followed(onx_convert *c, const onx_fact *fact, size_t *n) {
    if (!fact->elems || fact->n_elems > MAX_LIST) return NULL;
    int64_t *out = onx_arena_array(&c->arena, fact->n_elems + 1, sizeof *out);
    for (size_t i = 0; out && i < fact->n_elems; i++)
        if (!onx_sym_is_int(fact->elems[i], &out[i])) return NULL;
    *n = fact->n_elems;
    return out;
}

bool onx_convert_ints(onx_convert *c, const onx_node *node, size_t index, size_t *n,
                      int64_t **out) {
    *out = elements(c, node, index, ONX_DTYPE_I64, sizeof **out, n);
    if (!*out) *out = followed(c, onx_convert_in(c, node, index), n);
    return *out;
}

bool onx_convert_floats(onx_convert *c, const onx_node *node, size_t index, size_t *n,
                        float **out) {
    *out = elements(c, node, index, ONX_DTYPE_F32, sizeof **out, n);
    return *out;
}

bool onx_convert_is_float(onx_dtype dtype) {
    return dtype == ONX_DTYPE_F32 || dtype == ONX_DTYPE_F16 || dtype == ONX_DTYPE_F64 ||
           dtype == ONX_DTYPE_BF16;
}

bool onx_convert_rank(const onx_convert *c, const onx_node *node, size_t index, size_t *rank) {
    const onx_fact *fact = onx_convert_in(c, node, index);
    *rank = fact->rank;
    return fact->ranked;
}

bool onx_convert_dim(const onx_convert *c, const onx_node *node, size_t index, size_t axis,
                     int64_t *out) {
    const onx_fact *fact = onx_convert_in(c, node, index);
    return fact->ranked && axis < fact->rank && fact->dims[axis] &&
           onx_sym_is_int(fact->dims[axis], out);
}

bool onx_convert_is_used(const onx_node *node, size_t output) {
    const onx_value *value = output < node->output.n ? onx_node_output(node, output) : NULL;
    return value && onx_value_is_needed(value);
}

int64_t onx_convert_int(const onx_convert *c, const onx_node *node, const char *name) {
    return onx_op_int(c->at.before, node, name);
}

onx_str onx_convert_string(const onx_convert *c, const onx_node *node, const char *name) {
    return onx_op_string(c->at.before, node, name);
}

onx_status onx_convert_plain(onx_convert *c, const onx_node *node, const char *name) {
    const onx_attr *attr = onx_node_attr(node, name);
    if (!attr || !attr->ref_attr_name.size) return ONX_OK;
    onx_convert_refuse(
        c, "attribute '%.100s' is a parameter of the function: its value is not known", name);
    onx_diag_hint(&c->diag, "inline the function first: onx inline");
    return ONX_UNSUPPORTED;
}

/* ─ New nodes ────────────────────────────────────────────────────────────────────────────────── */

static onx_status note_made(onx_convert *c, onx_node *node) {
    if (!onx_arena_grow(&c->arena, &c->at.made, &c->at.cap_made, c->at.n_made, sizeof *c->at.made))
        return onx_fail_nomem(&c->diag);
    c->at.made[c->at.n_made++] = node;
    return ONX_OK;
}

/* The first failure of a builder is remembered in the model; here it is passed on. */
static onx_status builder_failed(onx_convert *c) {
    const onx_diag *error = onx_model_error(c->model);
    if (!error || error->status == ONX_NO_MEMORY) return onx_fail_nomem(&c->diag);
    return onx_fail(&c->diag, error->status, "%.500s", error->message);
}

static onx_status add_named(onx_convert *c, const char *op, const char *hint, size_t n_in,
                            onx_value *const *in, onx_node **out) {
    onx_graph *graph = c->at.node->graph;
    const char *name = onx_graph_new_name(graph, hint);
    if (!name) return onx_fail_nomem(&c->diag);
    onx_node *node = onx_graph_add_node(graph, op, n_in, in, 1, &name);
    if (!node) return builder_failed(c);
    if (onx_node_move(node, c->at.node)) return onx_fail_nomem(&c->diag);
    *out = node;
    return note_made(c, node);
}

onx_status onx_convert_add(onx_convert *c, const char *op, size_t n_in, onx_value *const *in,
                           onx_node **out) {
    return add_named(c, op, op, n_in, in, out);
}

onx_status onx_convert_tensor(onx_convert *c, const char *hint, onx_dtype dtype, size_t rank,
                              const int64_t *dims, const void *data, size_t bytes,
                              onx_value **out) {
    onx_tensor *tensor;
    onx_node *node;
    ONX_TRY(onx_tensor_new(c->model->msg.doc->ctx, NULL, dtype, rank, dims, data, bytes, &tensor,
                           &c->diag));
    onx_status status = add_named(c, "Constant", hint, 0, NULL, &node);
    if (!status && onx_node_set_tensor(node, "value", tensor)) status = onx_fail_nomem(&c->diag);
    onx_tensor_free(tensor);
    if (!status) *out = onx_node_output(node, 0);
    return status;
}

onx_status onx_convert_list(onx_convert *c, const char *hint, size_t n, const int64_t *values,
                            onx_value **out) {
    int64_t dims[1] = {(int64_t)n};
    return onx_convert_tensor(c, hint, ONX_DTYPE_I64, 1, dims, values, n * sizeof *values, out);
}

onx_status onx_convert_scalar(onx_convert *c, const char *hint, onx_dtype dtype, double number,
                              onx_value **out) {
    alignas(16) char bytes[16];
    size_t size;
    if (!onx_dtype_bytes(dtype, 1, &size) || size > sizeof bytes ||
        onx_dtype_convert(ONX_DTYPE_F64, &number, dtype, bytes, 1, true))
        return onx_convert_refuse(c, "there is no number of type %s", onx_dtype_name(dtype));
    return onx_convert_tensor(c, hint, dtype, 0, NULL, bytes, size, out);
}

/* ─ Changes of the node ──────────────────────────────────────────────────────────────────────── */

static onx_status note_loose(onx_convert *c, onx_value *value) {
    if (!value) return ONX_OK;
    if (!onx_arena_grow(&c->arena, &c->loose, &c->cap_loose, c->n_loose, sizeof *c->loose))
        return onx_fail_nomem(&c->diag);
    c->loose[c->n_loose++] = value;
    return ONX_OK;
}

onx_status onx_convert_set_input(onx_convert *c, onx_node *node, size_t index, onx_value *value) {
    if (index < node->input.n) ONX_TRY(note_loose(c, onx_node_input(node, index)));
    if (!value && index >= node->input.n) return ONX_OK;
    for (size_t i = node->input.n; i < index; i++)
        ONX_TRY(onx_node_set_input(node, i, NULL, &c->diag));
    ONX_TRY(onx_node_set_input(node, index, value, &c->diag));
    while (node->input.n && !onx_node_input(node, node->input.n - 1) && !value)
        ONX_TRY(onx_node_remove_input(node, node->input.n - 1));
    return ONX_OK;
}

onx_status onx_convert_drop_attr(onx_convert *c, onx_node *node, const char *name) {
    onx_status status = onx_node_remove_attr(node, name);
    return status == ONX_NO_MEMORY ? onx_fail_nomem(&c->diag) : ONX_OK;
}

void onx_convert_put_number(onx_buf *text, const char *name, const char *number, onx_dtype dtype) {
    bool cast = dtype != ONX_DTYPE_F32;
    onx_buf_printf(text, "%s%s = Constant <value: tensor = float {%s}> ()\n", name,
                   cast ? "_f32" : "", number);
    if (cast) onx_buf_printf(text, "%s = Cast <to: int = %d> (%s_f32)\n", name, (int)dtype, name);
}

void onx_convert_put(onx_buf *text, const char *pattern, const char *word) {
    for (const char *p = pattern; *p; p++) {
        if (*p == '$')
            onx_buf_puts(text, word);
        else
            onx_buf_putc(text, *p);
    }
}

void onx_convert_put_list(onx_buf *text, const char *name, size_t n, const int64_t *values) {
    onx_buf_printf(text, "%s = Constant <value = int64[%zu] {", name, n);
    for (size_t i = 0; i < n; i++)
        onx_buf_printf(text, "%s%lld", i ? ", " : "", (long long)values[i]);
    onx_buf_puts(text, "}> ()\n");
}

/* ─ Nodes in the place of a node ─────────────────────────────────────────────────────────────── */

/* The last of the nodes has the name of the one they replace. */
static onx_status inline_body(onx_convert *c, onx_node *node, const onx_model *body) {
    onx_node *end = onx_node_next(node), *first;
    for (size_t i = 0; i < node->input.n; i++) ONX_TRY(note_loose(c, onx_node_input(node, i)));
    ONX_TRY(onx_node_inline(node, onx_model_function_first(body), &first, &c->diag));
    onx_node *last = NULL;
    for (onx_node *n = first; n && n != end; n = onx_node_next(n)) {
        ONX_TRY(note_made(c, n));
        if (onx_str_is(n->op_type, "Constant")) ONX_TRY(note_loose(c, onx_node_output(n, 0)));
        last = n;
    }
    if (last && node->name.size && !last->name.size && onx_node_set_name(last, node->name.data))
        return onx_fail_nomem(&c->diag);
    return ONX_OK;
}

static onx_status expand(onx_convert *c, onx_node *node, const onx_op *op, int64_t *version) {
    size_t n = node->input.n;
    const onx_fact **ins = onx_arena_array(&c->arena, n + 1, sizeof *ins);
    onx_model *body;
    if (!ins) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i < n; i++) ins[i] = onx_convert_in(c, node, i);
    ONX_TRY(onx_op_body(op, node, n, ins, c->model->msg.doc->ctx, &body, &c->diag));
    *version = onx_function_opset(onx_model_function_first(body), "");
    onx_status status = inline_body(c, node, body);
    onx_model_free(body);
    return status;
}

onx_status onx_convert_expand_as(onx_convert *c, onx_node *node, const onx_op *row,
                                 const char *text) {
    onx_op op = *row;
    op.since = (int32_t)c->at.version;
    op.function = text;
    op.body = NULL;
    int64_t version;
    ONX_TRY(expand(c, node, &op, &version));
    return onx_convert_catch_up(c, version);
}

onx_status onx_convert_expand(onx_convert *c, onx_node *node, const char *text) {
    return onx_convert_expand_as(c, node, c->at.before, text);
}

onx_status onx_convert_expand_buf(onx_convert *c, onx_node *node, onx_buf *text) {
    onx_buf_putc(text, '\0');
    onx_status status =
        text->failed ? onx_fail_nomem(&c->diag) : onx_convert_expand(c, node, text->data);
    onx_buf_fini(text);
    return status;
}

onx_status onx_convert_expand_data(onx_convert *c, onx_node *node) {
    return onx_convert_expand(c, node, c->at.step->data);
}

onx_status onx_convert_expand_body(onx_convert *c, onx_node *node) {
    int64_t version;
    ONX_TRY(expand(c, node, c->at.before, &version));
    return onx_convert_catch_up(c, version);
}
