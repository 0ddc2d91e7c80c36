/* code_c_data.c: programs in C: tensors and attributes.
 *
 * Whether a tensor can be built with the functions of onx.h is found out by building it. */
#include "ir/type_text.h"
#include "text/code_c.h"

#include <math.h>

typedef enum way {
    RAW,     /* dense bytes */
    TYPED,   /* the same, then stored as lists */
    STRINGS, /* a list of C strings */
    OTHER    /* text, or a message among the weights */
} way;

static const char *const dtype_names[] = {
#define NAME(name, value, text, bits) [value] = #name,
    ONX_DTYPE_MAP(NAME)
#undef NAME
};

/* ── How ─────────────────────────────────────────────────────────────────────────────────────── */

static const char *name_of(const onx_tensor *t) {
    return onx_msg_has(t, ONX_ROW(tensor, name)) ? onx_tensor_name(t) : NULL;
}

static way strings_way(const onx_code *code, const onx_tensor *t) {
    onx_tensor *built = NULL;
    onx_arena arena;
    onx_arena_init(&arena, code->ctx);
    const char **strings = onx_arena_array(&arena, t->string_data.n + 1, sizeof *strings);
    uint64_t count;
    way found = OTHER;
    bool fits = strings && !onx_tensor_count(t, &count, NULL) && count == t->string_data.n;
    for (size_t i = 0; fits && i < t->string_data.n; i++) {
        onx_str copy;
        fits = onx_arena_str(&arena, t->string_data.v[i], &copy);
        strings[i] = copy.data;
    }
    if (fits &&
        !onx_tensor_new_strings(code->ctx, name_of(t), t->dims.n, t->dims.v, strings, &built, NULL))
        found = onx_msg_equal(t, built, NULL) ? STRINGS : OTHER;
    if (built) onx_tensor_free(built);
    onx_arena_fini(&arena);
    return found;
}

/* The dense bytes: where they are, or a copy in `*owned`. */
static bool dense_of(const onx_code *code, const onx_tensor *t, onx_str *dense, void **owned) {
    size_t bytes;
    *owned = NULL;
    *dense = onx_tensor_view(t);
    if (dense->data) return true;
    if (onx_tensor_check(t, NULL) || onx_tensor_is_external(t) || onx_tensor_bytes(t, &bytes, NULL))
        return false;
    *owned = onx_mem_alloc(code->ctx, bytes);
    *dense = (onx_str){*owned, bytes};
    if (*owned && !onx_tensor_read(t, *owned, bytes, NULL)) return true;
    onx_mem_free(code->ctx, *owned, bytes);
    *owned = NULL;
    return false;
}

static way dense_way(const onx_code *code, const onx_tensor *t, onx_str dense) {
    onx_tensor *built = NULL;
    way found = OTHER;
    if (onx_tensor_new(code->ctx, name_of(t), onx_tensor_dtype(t), t->dims.n, t->dims.v, dense.data,
                       dense.size, &built, NULL))
        return OTHER;
    if (onx_msg_equal(t, built, NULL))
        found = RAW;
    else if (!onx_tensor_store_typed(built, NULL) && onx_msg_equal(t, built, NULL))
        found = TYPED;
    onx_tensor_free(built);
    return found;
}

/* ── Statements ──────────────────────────────────────────────────────────────────────────────── */

static void put_dims(onx_code *code, const onx_tensor *t) {
    onx_code_puts(code, t->dims.n ? "" : "NONE");
    for (size_t i = 0; i < t->dims.n; i++)
        onx_code_printf(code, "%s%lld", i ? ", " : "DIMS(", (long long)t->dims.v[i]);
    onx_code_puts(code, t->dims.n ? ")" : "");
}

static void put_data(onx_code *code, const onx_tensor *t, onx_str dense) {
    uint64_t count = 0;
    onx_dtype dtype = onx_tensor_dtype(t);
    onx_tensor_count(t, &count, NULL);
    if (!dense.size) {
        onx_code_puts(code, "NULL, 0");
    } else if (code->weights && count > ONX_CODE_INLINE) {
        uint64_t at = onx_code_weights(code, dense);
        onx_code_printf(code, "weights + %llu, %zu", (unsigned long long)at, dense.size);
    } else {
        onx_code_printf(code, "DATA(%s, ", onx_code_c_type(dtype, dense));
        onx_code_elements(code, dtype, dense, true);
        onx_code_puts(code, ")");
    }
}

static void put_tensor(onx_code *code, const onx_tensor *t, onx_str dense) {
    onx_code_printf(code, "ONX_DTYPE_%s, ", dtype_names[onx_tensor_dtype(t)]);
    put_dims(code, t);
    onx_code_puts(code, ", ");
    put_data(code, t, dense);
}

static void put_strings(onx_code *code, const onx_strs *strings) {
    onx_code_puts(code, strings->n ? "(const char *const[]){" : "NULL");
    for (size_t i = 0; i < strings->n; i++) {
        if (i) onx_code_puts(code, ", ");
        onx_code_quote_str(code, strings->v[i], ONX_QUOTE_C);
    }
    onx_code_puts(code, strings->n ? "}" : "");
}

static void put_name(onx_code *code, const onx_tensor *t) {
    if (onx_msg_has(t, ONX_ROW(tensor, name)))
        onx_code_c_str(code, t->name, &t->msg);
    else
        onx_code_puts(code, "NULL");
}

/* The bytes of payloads, which decide where a tensor that cannot be built goes. */
static size_t payload_size(const onx_tensor *t) {
    return t->raw_data.size + t->float_data.size + t->int32_data.size + t->int64_data.size +
           t->double_data.size + t->uint64_data.size + t->string_data.n;
}

static void put_message(onx_code *code, const onx_tensor *t, const char *load) {
    uint64_t size, at = onx_code_weights_msg(code, &t->msg, &size);
    code->used |= ONX_USE_LOAD;
    onx_code_printf(code, "%sload_tensor(weights + %llu, %llu));\n", load, (unsigned long long)at,
                    (unsigned long long)size);
}

static bool is_large(const onx_code *code, const onx_tensor *t) {
    return code->weights && payload_size(t) > 256;
}

static void put_other(onx_code *code, const onx_tensor *t) {
    if (is_large(code, t) && !onx_code_c_is_odd(code, t) && !onx_tensor_is_external(t)) {
        code->used |= ONX_USE_ADD;
        put_message(code, t, "    add_tensor(g, ");
    } else {
        onx_code_c_merge(code, "onx_graph_add_fields(g", &t->msg);
    }
}

static void put_dense(onx_code *code, const onx_tensor *t, onx_str dense, way how) {
    if (how == TYPED) code->used |= ONX_USE_STORED;
    onx_code_puts(code, how == TYPED ? "    typed(onx_graph_add_initializer(g, "
                                     : "    onx_graph_add_initializer(g, ");
    put_name(code, t);
    onx_code_puts(code, ", ");
    put_tensor(code, t, dense);
    onx_code_puts(code, how == TYPED ? "));\n" : ");\n");
}

void onx_code_c_tensor(onx_code *code, const onx_tensor *t) {
    onx_str dense = {NULL, 0};
    void *owned = NULL;
    way how = OTHER;
    if (!onx_code_c_is_odd(code, t)) {
        if (t->data_type == ONX_DTYPE_STRING)
            how = strings_way(code, t);
        else if (dense_of(code, t, &dense, &owned))
            how = dense_way(code, t, dense);
    }
    if (how == OTHER) {
        put_other(code, t);
    } else if (how == STRINGS) {
        onx_code_puts(code, "    onx_graph_add_strings(g, ");
        put_name(code, t);
        onx_code_puts(code, ", ");
        put_dims(code, t);
        onx_code_puts(code, ", ");
        put_strings(code, &t->string_data);
        onx_code_puts(code, ");\n");
    } else {
        put_dense(code, t, dense, how);
    }
    onx_mem_free(code->ctx, owned, dense.size);
}

/* ── Attributes ──────────────────────────────────────────────────────────────────────────────── */

static void begin_set(onx_code *code, const char *set, const onx_attr *a) {
    onx_code_printf(code, "    check(onx_node_set_%s(n, ", set);
    onx_code_c_str(code, a->name, &a->msg);
    onx_code_puts(code, ", ");
}

static void end_set(onx_code *code) {
    onx_code_puts(code, "));\n");
}

static bool put_attr_tensor(onx_code *code, const onx_attr *a) {
    const onx_tensor *t = a->t;
    onx_str dense = {NULL, 0};
    void *owned = NULL;
    bool strings = t->data_type == ONX_DTYPE_STRING;
    way how = strings                             ? strings_way(code, t)
              : dense_of(code, t, &dense, &owned) ? dense_way(code, t, dense)
                                                  : OTHER;
    if (how != OTHER) {
        code->used |= how == RAW ? ONX_USE_TENSOR : how == TYPED ? ONX_USE_TYPED : ONX_USE_STRINGS;
        onx_code_printf(code, "    set_%s(n, ",
                        how == RAW     ? "tensor"
                        : how == TYPED ? "typed"
                                       : "strings");
        onx_code_c_str(code, a->name, &a->msg);
        onx_code_puts(code, ", ");
        put_name(code, t);
        onx_code_puts(code, ", ");
        if (how == STRINGS) {
            put_dims(code, t);
            onx_code_puts(code, ", ");
            put_strings(code, &t->string_data);
        } else {
            put_tensor(code, t, dense);
        }
        onx_code_puts(code, ");\n");
    }
    onx_mem_free(code->ctx, owned, dense.size);
    return how != OTHER;
}

static bool put_float(onx_code *code, const onx_attr *a) {
    begin_set(code, "float", a);
    if (isfinite(a->f)) {
        onx_code_float(code, a->f, true);
    } else {
        code->used |= ONX_USE_BITS;
        onx_code_printf(code, "bits(0x%08x)", (unsigned)onx_load_u32(&a->f));
    }
    end_set(code);
    return true;
}

static bool put_string(onx_code *code, const onx_attr *a) {
    bool plain = !a->s.size || !memchr(a->s.data, '\0', a->s.size);
    begin_set(code, plain ? "string" : "bytes", a);
    onx_code_quote_str(code, a->s, ONX_QUOTE_C);
    if (!plain) onx_code_printf(code, ", %zu", a->s.size);
    end_set(code);
    return true;
}

static bool put_ints(onx_code *code, const onx_attr *a) {
    onx_str dense = {(const char *)a->ints.v, a->ints.n * sizeof(int64_t)};
    begin_set(code, "ints", a);
    onx_code_puts(code, a->ints.n ? "DIMS(" : "NONE");
    onx_code_elements(code, ONX_DTYPE_I64, dense, true);
    onx_code_puts(code, a->ints.n ? ")" : "");
    end_set(code);
    return true;
}

static bool put_floats(onx_code *code, const onx_attr *a) {
    onx_str dense = {(const char *)a->floats.v, a->floats.n * sizeof(float)};
    for (size_t i = 0; i < a->floats.n; i++)
        if (!isfinite(a->floats.v[i])) return false;
    begin_set(code, "floats", a);
    onx_code_puts(code, a->floats.n ? "FLOATS(" : "NONE");
    onx_code_elements(code, ONX_DTYPE_F32, dense, true);
    onx_code_puts(code, a->floats.n ? ")" : "");
    end_set(code);
    return true;
}

static bool put_strings_attr(onx_code *code, const onx_attr *a) {
    for (size_t i = 0; i < a->strings.n; i++)
        if (a->strings.v[i].size && memchr(a->strings.v[i].data, '\0', a->strings.v[i].size))
            return false;
    begin_set(code, "strings", a);
    onx_code_printf(code, "%zu, ", a->strings.n);
    put_strings(code, &a->strings);
    end_set(code);
    return true;
}

static void put_graph(onx_code *code, const onx_attr *a, const onx_graph *g, const char *add) {
    onx_code_printf(code, "    %s(%s(n, ", onx_code_graph_ident(code, g), add);
    onx_code_c_str(code, a->name, &a->msg);
    onx_code_puts(code, ", ");
    onx_code_c_str(code, g->name, &g->msg);
    onx_code_puts(code, "));\n");
}

static bool put_graph_attr(onx_code *code, const onx_attr *a) {
    put_graph(code, a, a->g, "onx_node_add_graph");
    return true;
}

static bool put_graphs(onx_code *code, const onx_attr *a) {
    ONX_EACH (onx_graph, g, a->graphs) put_graph(code, a, g, "onx_node_append_graph");
    return a->graphs.count > 0;
}

static bool put_int(onx_code *code, const onx_attr *a) {
    begin_set(code, "int", a);
    onx_code_elements(code, ONX_DTYPE_I64, (onx_str){(const char *)&a->i, sizeof a->i}, true);
    end_set(code);
    return true;
}

static bool put_type(onx_code *code, const onx_attr *a) {
    if (!onx_type_is_plain(a->tp)) return false;
    begin_set(code, "type", a);
    code->scratch.size = 0;
    onx_type_print(a->tp, &code->scratch);
    onx_code_quote_str(code, (onx_str){code->scratch.data, code->scratch.size}, ONX_QUOTE_C);
    onx_code_puts(code, ", NULL");
    end_set(code);
    return true;
}

/* False: it cannot say this one. */
static bool (*const writers[])(onx_code *code, const onx_attr *a) = {
    [ONX_ATTR_FLOAT] = put_float,      [ONX_ATTR_INT] = put_int,
    [ONX_ATTR_STRING] = put_string,    [ONX_ATTR_TENSOR] = put_attr_tensor,
    [ONX_ATTR_GRAPH] = put_graph_attr, [ONX_ATTR_FLOATS] = put_floats,
    [ONX_ATTR_INTS] = put_ints,        [ONX_ATTR_STRINGS] = put_strings_attr,
    [ONX_ATTR_GRAPHS] = put_graphs,    [ONX_ATTR_TYPE] = put_type,
};

void onx_code_c_attr(onx_code *code, const onx_attr *a) {
    bool fits = onx_code_attr_fits(a);
    if (fits && a->ref_attr_name.data) {
        begin_set(code, "ref", a);
        onx_code_c_str(code, a->ref_attr_name, &a->msg);
        onx_code_printf(code, ", (onx_attr_type)%d));\n", (int)a->type);
        return;
    }
    if (fits && writers[a->type](code, a)) return;
    if (fits && a->t && is_large(code, a->t)) {
        onx_code_puts(code, "    load_attr(n, ");
        onx_code_c_str(code, a->name, &a->msg);
        code->used |= ONX_USE_ATTR;
        put_message(code, a->t, ", ");
        return;
    }
    onx_code_c_merge(code, "onx_node_add_fields(n", &a->msg);
}
