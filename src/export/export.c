/* export.c: an export from its beginning to the model that comes out: inputs, weights, outputs. */
#include "export/export.h"
#include "export/strides.h"
#include "export/told.h"
#include "export/torch_tensor.h"
#include "ir/edit.h"
#include "rt/provider.h"

static onx_map *maps_of(onx_export *x, size_t i) {
    onx_map *maps[] = {&x->packed, &x->constants, &x->names,   &x->params, &x->weights,
                       &x->owners, &x->made,      &x->modules, &x->rows};
    return i < ONX_COUNT(maps) ? maps[i] : NULL;
}

onx_status onx_export_begin(onx_export *x, onx_context *ctx, int64_t opset, onx_diag *diag) {
    *x = (onx_export){.ctx = ctx, .opset = opset};
    onx_arena_init(&x->arena, ctx);
    for (size_t i = 0; maps_of(x, i); i++) onx_map_init(maps_of(x, i), ctx);
    x->model = onx_model_new(ctx, "main_graph", opset < ONX_X_BASE ? ONX_X_BASE : opset);
    x->cpu = onx_x_alloc(x, sizeof *x->cpu);
    if (!x->model || !x->cpu) return onx_fail_nomem(diag);
    x->graph = x->model->graph;
    ONX_TRY(onx_cpu_init(x->cpu, NULL, diag));
    ONX_TRY(onx_facts_new(x->model, NULL, &x->facts, diag));
    x->syms = onx_facts_syms(x->facts);
    return ONX_OK;
}

void onx_export_end(onx_export *x) {
    onx_facts_free(x->facts);
    onx_model_free(x->model);
    onx_model_free(x->lowerings);
    for (size_t i = 0; maps_of(x, i); i++) onx_map_fini(maps_of(x, i));
    onx_arena_fini(&x->arena);
}

/* ─ Inputs and weights ───────────────────────────────────────────────────────────────────────── */

static onx_value *add_input(onx_export *x, const char *name, const char *type) {
    onx_value *value =
        onx_graph_add_input(x->model->graph, onx_graph_new_name(x->model->graph, name), type);
    if (!value) {
        const onx_diag *error = onx_model_error(x->model);
        return onx_x_fail(x, error ? error->status : ONX_NO_MEMORY, "input '%s' of type %s: %s",
                          name, type, error ? error->message : "no memory");
    }
    if (onx_facts_add(x->facts, value, NULL, &x->diag)) return onx_x_nomem(x);
    const onx_fact *fact = onx_x_fact(x, value);
    for (size_t i = 0; i < fact->rank; i++)
        if (!onx_x_own(x, fact->dims[i], value, i)) return NULL;
    return value;
}

/* A size in a type: a number, or an expression in quotes. */
static void put_size(onx_export *x, const onx_sym *dim, onx_buf *type) {
    int64_t number;
    onx_buf text;
    if (onx_sym_is_int(dim, &number)) {
        onx_buf_printf(type, "%lld", (long long)number);
        return;
    }
    onx_buf_init(&text, x->ctx);
    onx_sym_print(dim, &text);
    onx_buf_putc(type, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"' || text.data[i] == '\\') onx_buf_putc(type, '\\');
        onx_buf_putc(type, text.data[i]);
    }
    onx_buf_putc(type, '"');
    type->failed |= text.failed;
    onx_buf_fini(&text);
}

onx_xv onx_x_input(onx_export *x, const char *name, onx_dtype dtype, size_t rank,
                   const onx_sym *const *dims) {
    onx_buf type;
    bool complex = onx_dtype_is_complex(dtype);
    onx_dtype real = !complex ? dtype : dtype == ONX_DTYPE_C128 ? ONX_DTYPE_F64 : ONX_DTYPE_F32;
    if (!onx_x_ok(x)) return (onx_xv){.kind = ONX_X_NONE};
    onx_buf_init(&type, x->ctx);
    onx_buf_puts(&type, onx_dtype_name(real));
    for (size_t i = 0; i < rank; i++) {
        onx_buf_putc(&type, i ? ',' : '[');
        put_size(x, dims[i], &type);
    }
    onx_buf_puts(&type, complex ? rank ? ",2]" : "[2]" : rank ? "]" : "");
    onx_buf_putc(&type, '\0');
    onx_xv v = {.kind = ONX_X_NONE};
    if (type.failed)
        onx_x_nomem(x);
    else
        v = onx_xv_tensor(x, add_input(x, name, type.data));
    onx_buf_fini(&type);
    if (v.kind == ONX_X_TENSOR) {
        v.tensor->dtype = dtype;
        v.tensor->storage->input = v.tensor->value->name;
    }
    return v;
}

/* Tensors of one storage, type, sizes and strides are one initializer. */
static onx_value *known_weight(onx_export *x, const onx_torch_tensor *tensor) {
    const onx_xweight *w = onx_map_get(&x->weights, tensor->storage, (onx_str){NULL, 0});
    for (; w; w = w->next)
        if (onx_torch_tensor_same(w->tensor, tensor)) return w->value;
    return NULL;
}

static bool keep_weight(onx_export *x, const onx_torch_tensor *tensor, onx_value *value) {
    onx_xweight *w = onx_x_alloc(x, sizeof *w);
    if (!w) return false;
    *w =
        (onx_xweight){onx_map_get(&x->weights, tensor->storage, (onx_str){NULL, 0}), tensor, value};
    return onx_map_put(&x->weights, tensor->storage, (onx_str){NULL, 0}, w) || onx_x_nomem(x);
}

/* In the place of a weight without its data: an input of that type. */
static onx_value *add_open_weight(onx_export *x, const char *name, const onx_torch_tensor *tensor) {
    const onx_torch_dtype_info *info = onx_torch_dtype_of(tensor->dtype);
    const onx_sym **dims = onx_x_array(x, tensor->rank + 1, sizeof *dims);
    if (!info) return onx_x_fail(x, ONX_UNSUPPORTED, "the type of '%s'", name);
    for (size_t i = 0; dims && i < tensor->rank; i++)
        dims[i] = onx_sym_int(x->syms, tensor->dims[i]);
    onx_xv input = onx_x_input(x, name, info->onx, tensor->rank, dims);
    if (input.kind != ONX_X_TENSOR || !keep_weight(x, tensor, input.tensor->value)) return NULL;
    return input.tensor->value;
}

static onx_value *add_weight(onx_export *x, const char *name, const onx_torch_tensor *tensor) {
    onx_torch_tensor real;
    onx_value *value = known_weight(x, tensor);
    if (value) return value;
    bool parameter = tensor->is_parameter || tensor->requires_grad; /* the latter: TorchScript */
    if (x->no_params && parameter) return add_open_weight(x, name, tensor);
    const char *fresh = onx_graph_new_name(x->model->graph, name);
    onx_status status = fresh ? onx_torch_tensor_real(&x->arena, tensor, &real, &x->diag)
                              : onx_fail_nomem(&x->diag);
    if (!status) status = onx_torch_tensor_add(x->model->graph, fresh, &real, &value, &x->diag);
    if (status) {
        x->status = status;
        onx_diag_place(&x->diag, "tensor '%.200s'", name);
        return NULL;
    }
    if (!onx_x_added(x, value) || !onx_map_put(&x->params, value, (onx_str){NULL, 0}, value))
        return onx_x_nomem(x);
    return keep_weight(x, tensor, value) ? value : NULL;
}

static void lay_weight(onx_export *x, const onx_torch_tensor *tensor, onx_xt *t) {
    onx_xlayout *l = onx_x_alloc(x, sizeof *l + tensor->rank * sizeof *l->strides);
    if (!l) return;
    l->offset = onx_sym_int(x->syms, 0);
    for (size_t i = 0; i < tensor->rank; i++)
        l->strides[i] = onx_sym_int(x->syms, tensor->strides[i]);
    t->layout = t->storage->layout = l;
}

/* A tensor of the file that is a parameter of quantization, as a vector. */
static onx_value *add_parameter(onx_export *x, const onx_torch_tensor *t, onx_dtype dtype) {
    onx_tensor *tensor;
    uint64_t count;
    size_t bytes;
    onx_status status = onx_torch_tensor_load(x->model->msg.doc, t, &tensor, &x->diag);
    if (!status) status = onx_tensor_count(tensor, &count, &x->diag);
    if (!status && !onx_dtype_bytes(dtype, count, &bytes)) status = onx_fail_nomem(&x->diag);
    void *data = status ? NULL : onx_x_alloc(x, bytes + 1);
    if (data) status = onx_tensor_read_as(tensor, dtype, data, bytes, &x->diag);
    if (status) x->status = status;
    if (!data || status) return NULL;
    int64_t dim = (int64_t)count;
    return onx_x_constant(x, dtype, 1, &dim, data, bytes);
}

static const onx_xquant *read_quant(onx_export *x, const onx_torch_tensor *t) {
    const onx_torch_quant *from = t->quant;
    onx_xquant *q = onx_x_alloc(x, sizeof *q);
    if (!q) return NULL;
    *q = (onx_xquant){.axis = -1, .dtype = onx_torch_dtype_of(t->dtype)->onx};
    if (!from->per_channel) {
        q->scale = onx_x_number(x, ONX_DTYPE_F32, from->scale);
        q->zero = onx_x_int(x, from->zero_point);
        return q;
    }
    bool between = from->zero_points->dtype == ONX_TORCH_F32;
    if (from->axis < 0 || (size_t)from->axis >= t->rank)
        return onx_x_fail(x, ONX_MALFORMED, "a tensor is quantized along an axis it has not");
    q->axis = from->axis;
    q->scale = add_parameter(x, from->scales, ONX_DTYPE_F32);
    q->zero = add_parameter(x, from->zero_points, between ? ONX_DTYPE_F32 : ONX_DTYPE_I64);
    return q;
}

onx_xv onx_x_weight(onx_export *x, const char *name, const onx_torch_tensor *tensor) {
    onx_xv none = {.kind = ONX_X_NONE};
    if (!onx_x_ok(x)) return none;
    const onx_torch_dtype_info *info = onx_torch_dtype_of(tensor->dtype);
    onx_xv v = onx_xv_tensor(x, add_weight(x, name, tensor));
    onx_str copy;
    if (v.kind != ONX_X_TENSOR || !info) return none;
    if (!onx_arena_str(&x->arena, onx_str_of(name), &copy)) onx_x_nomem(x);
    v.tensor->dtype = info->onx;
    v.tensor->storage->buffer = copy.data;
    if (!onx_torch_tensor_is_contiguous(tensor)) lay_weight(x, tensor, v.tensor);
    if (tensor->quant) v.tensor->quant = read_quant(x, tensor);
    return v;
}

onx_dtype onx_dtype_of_c10(int64_t c10) {
    const onx_torch_dtype_info *info = onx_torch_dtype_of(c10);
    return info ? info->onx : ONX_DTYPE_NONE;
}

/* ─ Outputs ──────────────────────────────────────────────────────────────────────────────────── */

static bool is_taken(const onx_value *value) {
    return !value->def || value->output || value->def->graph->outer;
}

void onx_x_output(onx_export *x, const char *name, onx_value *value) {
    if (!onx_x_ok(x) || !value) return;
    if (is_taken(value)) value = onx_emit(x, "Identity", value);
    if (!value) return;
    const char *fresh = onx_graph_new_name(x->model->graph, name);
    onx_status status = fresh ? onx_value_rename(value, fresh, &x->diag) : ONX_NO_MEMORY;
    if (!status && !onx_graph_add_output(x->model->graph, value, NULL)) status = ONX_NO_MEMORY;
    if (status) onx_x_fail(x, status, "output '%s' cannot be made: %s", name, x->diag.message);
}
