/* fact.c: single facts: from declared types and from tensors, merged, completed, as text. */
#include "infer/infer_internal.h"
#include "ir/ir.h"

#include <stdio.h>

const onx_fact onx_fact_none = {0};

/* ── Sizes ───────────────────────────────────────────────────────────────────────────────────── */

const onx_sym *onx_facts_fresh(onx_facts *facts, onx_loss *loss) {
    char name[16];
    if (facts->n_unknown >= ONX_INFER_NAMES) return NULL;
    int n = snprintf(name, sizeof name, "?%u", (unsigned)facts->n_unknown++);
    const onx_sym *sym = onx_sym_name(facts->syms, (onx_str){name, (size_t)n});
    bool kept = sym && loss && onx_map_put(&facts->unknown, sym, (onx_str){NULL, 0}, loss);
    facts->failed |= !kept;
    return kept ? sym : NULL;
}

static bool given_size(void *user, onx_str name, int64_t *value) {
    const onx_facts_options *options = user;
    for (size_t i = 0; i < options->n_sizes; i++) {
        if (!onx_str_is(name, options->sizes[i].name)) continue;
        *value = options->sizes[i].value;
        return true;
    }
    return false;
}

/* A name with `?` in front is one of ours, from another time. */
const onx_sym *onx_declared_size(onx_facts *facts, const onx_dim *dim) {
    int64_t value;
    if (onx_msg_has(dim, ONX_ROW(dim, dim_value)))
        return dim->dim_value < 0 ? NULL : onx_sym_int(facts->syms, dim->dim_value);
    if (!dim->dim_param.size || dim->dim_param.data[0] == '?') return NULL;
    const onx_sym *sym = onx_sym_parse(facts->syms, dim->dim_param);
    if (onx_sym_eval(sym, given_size, &facts->options, &value) && value >= 0)
        return onx_sym_int(facts->syms, value);
    return sym;
}

/* ── From types ──────────────────────────────────────────────────────────────────────────────── */

static onx_status declared_dims(onx_facts *facts, const onx_shape *shape, onx_fact *out) {
    const onx_sym **dims = onx_arena_array(&facts->arena, shape->dim.count + 1, sizeof *dims);
    size_t i = 0;
    if (!dims) return ONX_NO_MEMORY;
    ONX_EACH (onx_dim, dim, shape->dim) dims[i++] = onx_declared_size(facts, dim);
    out->ranked = true;
    out->rank = shape->dim.count;
    out->dims = dims;
    return ONX_OK;
}

onx_status onx_fact_of_type(onx_facts *facts, const onx_type *type, onx_fact *out) {
    for (onx_fact *fact = out;; type = onx_type_elem(type)) {
        *fact = (onx_fact){.kind = onx_type_kind_of(type), .dtype = onx_type_dtype(type)};
        const onx_tensor_type *tensor = !type               ? NULL
                                        : type->tensor_type ? type->tensor_type
                                                            : type->sparse_tensor_type;
        if (tensor && tensor->shape) ONX_TRY(declared_dims(facts, tensor->shape, fact));
        if (!onx_type_elem(type)) return ONX_OK;
        onx_fact *elem = onx_arena_alloc(&facts->arena, sizeof *elem);
        if (!elem) return ONX_NO_MEMORY;
        fact->elem = elem;
        fact = elem;
    }
}

/* ── From tensors ────────────────────────────────────────────────────────────────────────────── */

static bool is_integer(onx_dtype dtype) {
    switch (dtype) {
    case ONX_DTYPE_BOOL:
    case ONX_DTYPE_I8:
    case ONX_DTYPE_I16:
    case ONX_DTYPE_I32:
    case ONX_DTYPE_I64:
    case ONX_DTYPE_U8:
    case ONX_DTYPE_U16:
    case ONX_DTYPE_U32:
    case ONX_DTYPE_U64:
    case ONX_DTYPE_I4:
    case ONX_DTYPE_U4:
    case ONX_DTYPE_I2:
    case ONX_DTYPE_U2: return true;
    default: return false;
    }
}

bool onx_fact_ints(onx_facts *facts, const onx_tensor *tensor, size_t *n, const int64_t **out) {
    uint64_t count;
    size_t bytes;
    bool away = onx_tensor_is_external(tensor) && !tensor->external.data;
    if (away || !is_integer(onx_tensor_dtype(tensor)) || onx_tensor_check(tensor, NULL) ||
        onx_tensor_count(tensor, &count, NULL) || count > ONX_INFER_LIST ||
        !onx_dtype_bytes(ONX_DTYPE_I64, count, &bytes))
        return false;
    int64_t *values = onx_arena_array(&facts->arena, (size_t)count + 1, sizeof *values);
    onx_status status =
        values ? onx_tensor_read_as(tensor, ONX_DTYPE_I64, values, bytes, NULL) : ONX_NO_MEMORY;
    facts->failed |= status == ONX_NO_MEMORY;
    if (status != ONX_OK) return false;
    *n = (size_t)count;
    *out = values;
    return true;
}

enum { FEW = 8 }; /* elements that are followed of tensors that are hardly ever sizes */

static onx_status read_floats(onx_facts *facts, const onx_tensor *tensor, size_t n, onx_fact *out) {
    double values[FEW];
    size_t known = 0;
    bool away = onx_tensor_is_external(tensor) && !tensor->external.data;
    if (away || n > FEW ||
        onx_tensor_read_as(tensor, ONX_DTYPE_F64, values, n * sizeof *values, NULL))
        return ONX_OK;
    const onx_sym **elems = onx_arena_array(&facts->arena, n + 1, sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        known += (elems[i] = onx_sym_real(facts->syms, values[i])) != NULL;
    out->n_elems = known ? n : 0;
    out->elems = known ? elems : NULL;
    return ONX_OK;
}

static onx_status read_elems(onx_facts *facts, const onx_tensor *tensor, onx_fact *out) {
    uint64_t count;
    size_t n;
    const int64_t *values;
    if (onx_tensor_count(tensor, &count, NULL) || count > ONX_INFER_ELEMS) return ONX_OK;
    if (out->dtype == ONX_DTYPE_F32 || out->dtype == ONX_DTYPE_F64 || out->dtype == ONX_DTYPE_F16 ||
        out->dtype == ONX_DTYPE_BF16)
        return read_floats(facts, tensor, (size_t)count, out);
    if (out->dtype != ONX_DTYPE_I64 && count > FEW) return ONX_OK;
    if (!onx_fact_ints(facts, tensor, &n, &values)) return ONX_OK;
    const onx_sym **elems = onx_arena_array(&facts->arena, n + 1, sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) elems[i] = onx_sym_int(facts->syms, values[i]);
    out->n_elems = n;
    out->elems = elems;
    return ONX_OK;
}

onx_status onx_fact_of_tensor(onx_facts *facts, const onx_tensor *tensor, onx_fact *out) {
    size_t rank = onx_tensor_rank(tensor);
    *out = (onx_fact){.kind = ONX_TYPE_TENSOR, .dtype = onx_tensor_dtype(tensor)};
    uint64_t count;
    if (onx_tensor_count(tensor, &count, NULL)) return ONX_OK;
    const onx_sym **dims = onx_arena_array(&facts->arena, rank + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < rank; i++) dims[i] = onx_sym_int(facts->syms, onx_tensor_dim(tensor, i));
    out->ranked = true;
    out->rank = rank;
    out->dims = dims;
    if (onx_tensor_check(tensor, NULL)) return ONX_OK;
    out->constant = tensor;
    return read_elems(facts, tensor, out);
}

/* ── Together ────────────────────────────────────────────────────────────────────────────────── */

static onx_status merge_dims(onx_facts *facts, onx_fact *fact, const onx_fact *declared,
                             bool *agree) {
    const onx_sym **dims = onx_arena_array(&facts->arena, fact->rank + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < fact->rank; i++) {
        const onx_sym *a = fact->dims[i], *b = declared->dims[i];
        int64_t difference;
        dims[i] = b && onx_facts_unknown(facts, a) ? b : a;
        const onx_sym *d = onx_sym_sub(facts->syms, a, b);
        if (onx_sym_is_int(d, &difference) && difference) *agree = false;
    }
    fact->dims = dims;
    return ONX_OK;
}

static onx_status merge_one(onx_facts *facts, onx_fact *fact, const onx_fact *declared,
                            bool *agree) {
    if (!fact->dtype) fact->dtype = declared->dtype;
    if (declared->dtype && declared->dtype != fact->dtype) *agree = false;
    if (!declared->ranked) return ONX_OK;
    if (!fact->ranked) {
        fact->ranked = true;
        fact->rank = declared->rank;
        fact->dims = declared->dims;
        return ONX_OK;
    }
    if (fact->rank == declared->rank) return merge_dims(facts, fact, declared, agree);
    *agree = false;
    return ONX_OK;
}

/* Level by level, down to the elements of sequences and the like. */
onx_status onx_fact_merge(onx_facts *facts, onx_fact *fact, const onx_fact *declared, bool *agree) {
    for (*agree = true; declared && declared->kind;) {
        if (!fact->kind) {
            *fact = *declared;
            return ONX_OK;
        }
        if (fact->kind != declared->kind) {
            *agree = false;
            return ONX_OK;
        }
        ONX_TRY(merge_one(facts, fact, declared, agree));
        if (!declared->elem) return ONX_OK;
        onx_fact *elem = onx_arena_alloc(&facts->arena, sizeof *elem);
        if (!elem) return ONX_NO_MEMORY;
        if (fact->elem) *elem = *fact->elem;
        fact->elem = elem;
        fact = elem;
        declared = declared->elem;
    }
    return ONX_OK;
}

bool onx_fact_is_open(const onx_fact *fact) {
    return fact->kind == ONX_TYPE_NONE || (fact->kind == ONX_TYPE_TENSOR && !fact->ranked) ||
           (fact->kind == ONX_TYPE_TENSOR && !fact->dtype);
}

onx_status onx_fact_complete(onx_facts *facts, const onx_infer *in, const onx_value *value,
                             onx_fact *fact) {
    size_t known = 0;
    if (onx_fact_is_open(fact)) {
        onx_loss *loss = onx_loss_new(facts, in, value, ONX_LOST_SHAPE);
        if (!loss || !onx_map_put(&facts->losses, value, (onx_str){NULL, 0}, loss))
            return ONX_NO_MEMORY;
    }
    while (known < fact->rank && fact->dims[known]) known++;
    if (fact->kind != ONX_TYPE_TENSOR || !fact->ranked || known == fact->rank) return ONX_OK;
    const onx_sym **dims = onx_arena_array(&facts->arena, fact->rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < fact->rank; i++)
        if ((dims[i] = fact->dims[i]) == NULL && facts->n_unknown < ONX_INFER_NAMES)
            dims[i] = onx_facts_fresh(facts, onx_loss_new(facts, in, value, i));
    fact->dims = dims;
    return ONX_OK;
}

/* ── Text ────────────────────────────────────────────────────────────────────────────────────── */

static void print_tensor(const onx_fact *fact, onx_buf *out) {
    onx_buf_puts(out, fact->dtype ? onx_dtype_name(fact->dtype) : "?");
    if (fact->ranked && !fact->rank) return;
    onx_buf_putc(out, '[');
    for (size_t i = 0; fact->ranked && i < fact->rank; i++) {
        if (i) onx_buf_putc(out, ',');
        if (fact->dims[i])
            onx_sym_print(fact->dims[i], out);
        else
            onx_buf_putc(out, '?');
    }
    onx_buf_putc(out, ']');
}

void onx_fact_print(const onx_fact *fact, onx_buf *out) {
    size_t open = 0;
    for (; fact && fact->kind > ONX_TYPE_TENSOR && fact->kind != ONX_TYPE_OPAQUE;
         fact = fact->elem) {
        open++;
        if (fact->kind == ONX_TYPE_SPARSE_TENSOR) {
            onx_buf_puts(out, "sparse_tensor(");
            break;
        }
        if (fact->kind == ONX_TYPE_MAP)
            onx_buf_printf(out, "map(%s, ", onx_dtype_name(fact->dtype));
        else
            onx_buf_puts(out, fact->kind == ONX_TYPE_SEQUENCE ? "seq(" : "optional(");
    }
    if (!fact || !fact->kind)
        onx_buf_putc(out, '?');
    else if (fact->kind == ONX_TYPE_OPAQUE)
        onx_buf_puts(out, "opaque()");
    else
        print_tensor(fact, out);
    while (open--) onx_buf_putc(out, ')');
}
