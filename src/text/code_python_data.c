/* code_python_data.c: programs in Python: expressions for tensors and attributes. */
#include "base/number.h"
#include "text/code_python.h"
#include "text/tree.h"

#include <math.h>

void onx_code_py_dtype(onx_code *code, int32_t data_type) {
    if (data_type < 0 || data_type >= ONX_DTYPE_COUNT) {
        onx_code_printf(code, "%d", (int)data_type);
        return;
    }
    char name[32];
    size_t n = 0;
    for (const char *p = onx_dtype_name((onx_dtype)data_type); *p && n < 31; p++)
        name[n++] = *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
    name[n] = '\0';
    onx_code_printf(code, "TensorProto.%s", name);
}

/* ── Data ────────────────────────────────────────────────────────────────────────────────────── */

/* "int32_t" of C is int32 of NumPy. */
static void put_numpy_type(onx_code *code, const char *c_type) {
    if (strcmp(c_type, "float") == 0)
        c_type = "float32";
    else if (strcmp(c_type, "double") == 0)
        c_type = "float64";
    size_t n = strlen(c_type);
    if (n > 2 && c_type[n - 2] == '_') n -= 2;
    onx_code_printf(code, "np.%.*s", (int)n, c_type);
}

static void put_raw(onx_code *code, const onx_tensor *t) {
    uint64_t count = UINT64_MAX;
    bool sound = onx_tensor_check(t, NULL) == ONX_OK && t->raw_data.size;
    onx_code_puts(code, ", raw_data=");
    if (onx_tensor_count(t, &count, NULL)) count = UINT64_MAX;
    if (code->weights && (sound ? count > ONX_CODE_INLINE : t->raw_data.size > 256)) {
        uint64_t at = onx_code_weights(code, t->raw_data);
        onx_code_printf(code, "weights[%llu:%llu]", (unsigned long long)at,
                        (unsigned long long)(at + t->raw_data.size));
    } else if (sound) {
        onx_code_puts(code, "np.array([");
        onx_code_elements(code, onx_tensor_dtype(t), t->raw_data, false);
        onx_code_puts(code, "], ");
        put_numpy_type(code, onx_code_c_type(onx_tensor_dtype(t), t->raw_data));
        onx_code_puts(code, ").tobytes()");
    } else {
        onx_code_quote_str(code, t->raw_data, ONX_QUOTE_BYTES);
    }
}

static void put_real(onx_code *code, double v) {
    char text[ONX_NUMBER_MAX];
    if (isinf(v)) {
        onx_code_printf(code, "float(\"%sinf\")", v < 0 ? "-" : "");
    } else {
        onx_print_f64(v, text);
        onx_code_puts(code, text);
    }
}

static void put_single(onx_code *code, float v) {
    if (isinf(v))
        put_real(code, (double)v);
    else
        onx_code_float(code, v, false);
}

/* A list of TensorProto that holds numbers, and what NumPy calls one of them. */
typedef struct list {
    const onx_field *row;
    const char *type;
} list;

static size_t lists_of(list out[5]) {
    const list all[] = {{ONX_ROW(tensor, float_data), "float32"},
                        {ONX_ROW(tensor, int32_data), "int32"},
                        {ONX_ROW(tensor, int64_data), "int64"},
                        {ONX_ROW(tensor, double_data), "float64"},
                        {ONX_ROW(tensor, uint64_data), "uint64"}};
    memcpy(out, all, sizeof all);
    return ONX_COUNT(all);
}

static void put_elem(onx_code *code, const onx_field *row, onx_elem v) {
    switch (onx_field_elem(row)) {
    case ONX_ELEM_F32: put_single(code, v.f); break;
    case ONX_ELEM_F64: put_real(code, v.d); break;
    case ONX_ELEM_U64: onx_code_printf(code, "%llu", (unsigned long long)v.u); break;
    default: onx_code_printf(code, "%lld", (long long)v.i); break;
    }
}

/* The elements, each in its full width, to the weights. */
static void put_far(onx_code *code, const onx_tensor *t, const list *l) {
    onx_buf *bytes = &code->scratch;
    onx_elems elems = {t, l->row, 0};
    onx_elem v;
    size_t n = 0;
    bool narrow = onx_field_elem(l->row) == ONX_ELEM_I32 || onx_field_elem(l->row) == ONX_ELEM_F32;
    bytes->size = 0;
    for (; onx_elems_next(&elems, &v); n++) {
        int32_t small = (int32_t)v.i;
        if (onx_field_elem(l->row) == ONX_ELEM_I32)
            onx_buf_put(bytes, &small, sizeof small);
        else
            onx_buf_put(bytes, &v, narrow ? 4 : 8);
    }
    if (bytes->failed) onx_code_no_memory(code);
    uint64_t at = onx_code_weights(code, (onx_str){bytes->data, bytes->size});
    onx_code_printf(code, "elements(np.%s, %llu, %zu)", l->type, (unsigned long long)at, n);
}

static void put_list(onx_code *code, const onx_tensor *t, const list *l) {
    size_t n =
        onx_packed_count((onx_field_kind)l->row->kind, *(const onx_str *)onx_field_ptr(t, l->row));
    if (!n) return;
    onx_code_printf(code, ", %s=", l->row->name);
    if (code->weights && n > ONX_CODE_INLINE) {
        put_far(code, t, l);
        return;
    }
    onx_elems elems = {t, l->row, 0};
    onx_elem v;
    for (const char *before = "["; onx_elems_next(&elems, &v); before = ", ") {
        onx_code_puts(code, before);
        put_elem(code, l->row, v);
    }
    onx_code_puts(code, "]");
}

static void put_strings(onx_code *code, const onx_strs *strings) {
    onx_code_puts(code, "[");
    for (size_t i = 0; i < strings->n; i++) {
        if (i) onx_code_puts(code, ", ");
        bool text = onx_code_is_utf8(strings->v[i]);
        onx_code_quote_str(code, strings->v[i], text ? ONX_QUOTE_TEXT : ONX_QUOTE_BYTES);
    }
    onx_code_puts(code, "]");
}

static void put_bytes(onx_code *code, const onx_strs *strings) {
    onx_code_puts(code, ", string_data=[");
    for (size_t i = 0; i < strings->n; i++) {
        if (i) onx_code_puts(code, ", ");
        onx_code_quote_str(code, strings->v[i], ONX_QUOTE_BYTES);
    }
    onx_code_puts(code, "]");
}

/* ── Tensors ─────────────────────────────────────────────────────────────────────────────────── */

static bool has_nan(const onx_tensor *t) {
    float f;
    double d;
    for (size_t i = 0; i + 4 <= t->float_data.size; i += 4) {
        memcpy(&f, t->float_data.data + i, 4);
        if (isnan(f)) return true;
    }
    for (size_t i = 0; i + 8 <= t->double_data.size; i += 8) {
        memcpy(&d, t->double_data.data + i, 8);
        if (isnan(d)) return true;
    }
    return false;
}

static bool is_plain(const onx_tensor *t) {
    uint32_t known = ONX_BIT(tensor, data_type) | ONX_BIT(tensor, name) |
                     ONX_BIT(tensor, raw_data) | ONX_BIT(tensor, doc_string);
    return !(t->msg.has & ~known) && !t->msg.unknown && !t->segment && !t->external_data.count &&
           !t->metadata_props.count && !has_nan(t) && onx_code_is_utf8(t->name) &&
           onx_code_is_utf8(t->doc_string);
}

static void put_other(onx_code *code, const onx_tensor *t) {
    size_t size = t->raw_data.size + t->float_data.size + t->int32_data.size + t->int64_data.size +
                  t->double_data.size + t->uint64_data.size;
    if (!code->weights || size <= 256) {
        onx_code_py_message(code, NULL, &t->msg);
        return;
    }
    uint64_t bytes, at = onx_code_weights_msg(code, &t->msg, &bytes);
    onx_code_printf(code, "TensorProto.FromString(weights[%llu:%llu])", (unsigned long long)at,
                    (unsigned long long)(at + bytes));
}

void onx_code_py_tensor(onx_code *code, const onx_tensor *t) {
    list lists[5];
    if (!is_plain(t)) {
        put_other(code, t);
        return;
    }
    onx_code_puts(code, "TensorProto(dims=[");
    for (size_t i = 0; i < t->dims.n; i++)
        onx_code_printf(code, "%s%lld", i ? ", " : "", (long long)t->dims.v[i]);
    onx_code_puts(code, "]");
    if (onx_msg_has(t, ONX_ROW(tensor, data_type))) {
        onx_code_puts(code, ", data_type=");
        onx_code_py_dtype(code, t->data_type);
    }
    if (onx_msg_has(t, ONX_ROW(tensor, name))) {
        onx_code_puts(code, ", name=");
        onx_code_py_str(code, t->name, &t->msg);
    }
    if (onx_msg_has(t, ONX_ROW(tensor, doc_string))) {
        onx_code_puts(code, ", doc_string=");
        onx_code_py_str(code, t->doc_string, &t->msg);
    }
    if (onx_msg_has(t, ONX_ROW(tensor, raw_data))) put_raw(code, t);
    for (size_t i = 0, n = lists_of(lists); i < n; i++) put_list(code, t, &lists[i]);
    if (t->string_data.n) put_bytes(code, &t->string_data);
    onx_code_puts(code, ")");
}

/* ── Attributes ──────────────────────────────────────────────────────────────────────────────── */

static void put_ints(onx_code *code, const onx_i64s *ints) {
    onx_code_puts(code, "[");
    onx_code_elements(code, ONX_DTYPE_I64,
                      (onx_str){(const char *)ints->v, ints->n * sizeof *ints->v}, false);
    onx_code_puts(code, "]");
}

static void put_floats(onx_code *code, const onx_f32s *floats) {
    onx_code_puts(code, "[");
    for (size_t i = 0; i < floats->n; i++) {
        if (i) onx_code_puts(code, ", ");
        put_single(code, floats->v[i]);
    }
    onx_code_puts(code, "]");
}

static void put_graph(onx_code *code, const onx_graph *g) {
    onx_code_printf(code, "%s(GraphProto())", onx_code_graph_ident(code, g));
}

static void put_value(onx_code *code, const onx_attr *a) {
    switch ((onx_attr_type)a->type) {
    case ONX_ATTR_FLOAT: put_single(code, a->f); break;
    case ONX_ATTR_INT: onx_code_printf(code, "%lld", (long long)a->i); break;
    case ONX_ATTR_STRING:
        onx_code_quote_str(code, a->s, onx_code_is_utf8(a->s) ? ONX_QUOTE_TEXT : ONX_QUOTE_BYTES);
        break;
    case ONX_ATTR_TENSOR: onx_code_py_tensor(code, a->t); break;
    case ONX_ATTR_GRAPH: put_graph(code, a->g); break;
    case ONX_ATTR_TYPE: onx_code_py_message(code, NULL, &a->tp->msg); break;
    case ONX_ATTR_FLOATS: put_floats(code, &a->floats); break;
    case ONX_ATTR_INTS: put_ints(code, &a->ints); break;
    case ONX_ATTR_STRINGS: put_strings(code, &a->strings); break;
    default:
        ONX_EACH (onx_graph, g, a->graphs) {
            onx_code_puts(code, g->msg.prev ? ", " : "[");
            put_graph(code, g);
        }
        onx_code_puts(code, "]");
        break;
    }
}

void onx_code_py_attr(onx_code *code, const onx_attr *a) {
    if (onx_code_py_is_odd(code, a)) {
        onx_code_py_message(code, NULL, &a->msg);
        return;
    }
    bool ref = onx_msg_has(a, ONX_ROW(attr, ref_attr_name));
    bool empty = a->type >= ONX_ATTR_FLOATS && a->type <= ONX_ATTR_STRINGS && !a->floats.n &&
                 !a->ints.n && !a->strings.n;
    onx_code_puts(code, ref ? "AttributeProto(name=" : "attr(");
    onx_code_py_str(code, a->name, &a->msg);
    onx_code_puts(code, ref ? ", ref_attr_name=" : ", ");
    if (ref)
        onx_code_py_str(code, a->ref_attr_name, &a->msg);
    else
        put_value(code, a);
    if (ref || empty) onx_code_printf(code, ref ? ", type=%d" : ", attr_type=%d", (int)a->type);
    onx_code_puts(code, ")");
}
