/* pt2_args.c: graphs of torch.export's JSON, their nodes and arguments, as the structs of pt2.h.
 *
 * An argument is an object of one key that says what it is. What all of them come to is one table:
 * what stands at the bottom, and how many lists are around it. Graphs are read within graphs; the
 * depth of the JSON text bounds that. */
#include "base/number.h"
#include "export/pt2.h"

typedef enum part {
    PART_NONE,
    PART_UNION, /* an argument again */
    PART_NAME,  /* {"name": x}, or x */
    PART_INT,
    PART_FLOAT,
    PART_BOOL,
    PART_STR,
    PART_COMPLEX,
    PART_TYPE,
    PART_FORMAT,
    PART_LAYOUT,
    PART_DEVICE,
    PART_DICT,
    PART_GRAPH,
} part;

static const struct {
    const char *key;
    part part;
    uint8_t lists;
} arguments[] = {
    {"as_none", PART_NONE, 0},
    {"as_tensor", PART_NAME, 0},
    {"as_tensors", PART_NAME, 1},
    {"as_optional_tensor", PART_UNION, 0},
    {"as_optional_tensors", PART_UNION, 1},
    {"as_nested_tensors", PART_NAME, 2},
    {"as_custom_obj", PART_NAME, 0},
    {"as_name", PART_NAME, 0},
    {"as_int", PART_INT, 0},
    {"as_ints", PART_INT, 1},
    {"as_int_lists", PART_INT, 2},
    {"as_float", PART_FLOAT, 0},
    {"as_floats", PART_FLOAT, 1},
    {"as_bool", PART_BOOL, 0},
    {"as_bools", PART_BOOL, 1},
    {"as_string", PART_STR, 0},
    {"as_strings", PART_STR, 1},
    {"as_operator", PART_STR, 0},
    {"as_complex", PART_COMPLEX, 0},
    {"as_sym_int", PART_UNION, 0},
    {"as_sym_ints", PART_UNION, 1},
    {"as_sym_float", PART_UNION, 0},
    {"as_sym_floats", PART_UNION, 1},
    {"as_sym_bool", PART_UNION, 0},
    {"as_sym_bools", PART_UNION, 1},
    {"as_scalar_type", PART_TYPE, 0},
    {"as_memory_format", PART_FORMAT, 0},
    {"as_layout", PART_LAYOUT, 0},
    {"as_device", PART_DEVICE, 0},
    {"as_string_to_argument", PART_DICT, 0},
    {"as_graph", PART_GRAPH, 0},
};

static onx_status malformed(onx_diag *diag, const char *what) {
    return onx_fail(diag, ONX_MALFORMED, "%s is not as torch.export writes it", what);
}

static void *array(onx_pt2 *program, size_t n, size_t size) {
    return onx_arena_array(&program->arena, n + 1, size);
}

/* ─ Arguments ────────────────────────────────────────────────────────────────────────────────── */

/* The numbers of schema.py, as c10 has them: layouts 7 strided; formats 1 contiguous,
 * 2 channels_last, 3 channels_last_3d, 4 preserve. */
static bool enumeration(part kind, int64_t number, int64_t *out) {
    static const int64_t formats[] = {-1, 0, 2, 3, 1}, layouts[] = {-1, 1, 2, 4, 5, 6, 3, 0};
    if (kind == PART_TYPE) {
        const onx_torch_dtype_info *type = onx_torch_dtype_of_pt2(number);
        *out = type ? (int64_t)type->dtype : -1;
        return type != NULL;
    }
    bool format = kind == PART_FORMAT;
    size_t n = format ? ONX_COUNT(formats) : ONX_COUNT(layouts);
    if (number < 1 || (uint64_t)number >= n) return false;
    *out = format ? formats[number] : layouts[number];
    return true;
}

static onx_str name_of(const onx_json *json) {
    return onx_json_is(json, ONX_JSON_STRING) ? json->text
                                              : onx_json_str(onx_json_get(json, "name"));
}

static onx_status read_dict(onx_pt2 *program, const onx_json *json, onx_pt2_arg *out,
                            onx_diag *diag) {
    size_t n = onx_json_count(json), i = 0;
    onx_pt2_arg *list = array(program, n, sizeof *list);
    onx_str *keys = array(program, n, sizeof *keys);
    if (!list || !keys) return onx_fail_nomem(diag);
    out->kind = ONX_PT2_DICT;
    out->list = list, out->keys = keys, out->n = n;
    ONX_JSON_EACH(key, json) {
        keys[i] = key->text;
        ONX_TRY(onx_pt2_read_arg(program, key->first, &list[i++], diag));
    }
    return ONX_OK;
}

static bool read_number(part kind, const onx_json *json, onx_pt2_arg *out) {
    int64_t i;
    switch (kind) {
    case PART_INT: out->kind = ONX_PT2_INT; return onx_json_i64(json, &out->i);
    case PART_FLOAT: out->kind = ONX_PT2_FLOAT; return onx_json_f64(json, &out->f);
    case PART_BOOL:
        out->kind = ONX_PT2_BOOL;
        out->i = onx_json_true(json);
        return out->i || onx_json_is(json, ONX_JSON_FALSE);
    case PART_COMPLEX:
        out->kind = ONX_PT2_COMPLEX;
        return onx_json_f64(onx_json_get(json, "real"), &out->f) &&
               onx_json_f64(onx_json_get(json, "imag"), &out->im);
    default:
        out->kind = ONX_PT2_INT;
        return onx_json_i64(json, &i) && enumeration(kind, i, &out->i);
    }
}

static onx_status read_part(onx_pt2 *program, part kind, const onx_json *json, onx_pt2_arg *out,
                            onx_diag *diag) {
    switch (kind) {
    case PART_NONE: out->kind = ONX_PT2_NONE; return ONX_OK;
    case PART_UNION: return onx_pt2_read_arg(program, json, out, diag);
    case PART_DICT: return read_dict(program, json, out, diag);
    case PART_GRAPH:
        out->kind = ONX_PT2_GRAPH;
        return onx_pt2_read_graph(program, onx_json_get(json, "graph"), &out->graph, diag);
    case PART_NAME:
        out->kind = ONX_PT2_NAME;
        out->str = name_of(json);
        return out->str.size ? ONX_OK : malformed(diag, "the name of a value");
    case PART_STR:
    case PART_DEVICE:
        out->kind = kind == PART_STR ? ONX_PT2_STR : ONX_PT2_DEVICE;
        out->str = onx_json_str(kind == PART_STR ? json : onx_json_get(json, "type"));
        return ONX_OK;
    default: return read_number(kind, json, out) ? ONX_OK : malformed(diag, "a number");
    }
}

static onx_status read_lists(onx_pt2 *program, part kind, unsigned lists, const onx_json *json,
                             onx_pt2_arg *out, onx_diag *diag) {
    if (!lists) return read_part(program, kind, json, out, diag);
    size_t n = onx_json_count(json), i = 0;
    onx_pt2_arg *list = array(program, n, sizeof *list);
    if (!list) return onx_fail_nomem(diag);
    if (!onx_json_is(json, ONX_JSON_ARRAY)) return malformed(diag, "a list");
    out->kind = ONX_PT2_LIST;
    out->list = list, out->n = n;
    ONX_JSON_EACH(item, json)
    ONX_TRY(read_lists(program, kind, lists - 1, item, &list[i++], diag));
    return ONX_OK;
}

onx_status onx_pt2_read_arg(onx_pt2 *program, const onx_json *json, onx_pt2_arg *out,
                            onx_diag *diag) {
    const onx_json *key = onx_json_is(json, ONX_JSON_OBJECT) ? json->first : NULL;
    if (!key) return malformed(diag, "an argument");
    for (size_t i = 0; i < ONX_COUNT(arguments); i++)
        if (onx_str_is(key->text, arguments[i].key))
            return read_lists(program, arguments[i].part, arguments[i].lists, key->first, out,
                              diag);
    return onx_fail(diag, ONX_UNSUPPORTED, "arguments of kind '%.*s' are not known",
                    ONX_FMT(key->text));
}

static onx_status read_args(onx_pt2 *program, const onx_json *json, size_t *n,
                            const onx_pt2_arg **out, onx_diag *diag) {
    onx_pt2_arg *list = array(program, onx_json_count(json), sizeof *list);
    if (!list) return onx_fail_nomem(diag);
    *out = list, *n = onx_json_count(json);
    ONX_JSON_EACH(item, json) {
        const onx_json *arg = onx_json_get(item, "arg");
        list->name = onx_json_str(onx_json_get(item, "name"));
        ONX_TRY(onx_pt2_read_arg(program, arg ? arg : item, list++, diag));
    }
    return ONX_OK;
}

/* ─ Values ───────────────────────────────────────────────────────────────────────────────────── */

/* {"as_int": 3}, 3, or {"as_expr": {"expr_str": "s0", "hint": {"as_int": 3}}}; v1: hint 3. */
static bool read_size(const onx_json *json, onx_pt2_size *out) {
    const onx_json *expr = onx_json_get(json, "as_expr"), *number = onx_json_get(json, "as_int");
    if (!expr) return onx_json_i64(number ? number : json, &out->value);
    const onx_json *text = onx_json_get(expr, "expr_str"), *hint = onx_json_get(expr, "hint");
    out->expr = onx_json_str(text ? text : expr);
    if (!onx_json_i64(hint, &out->value))
        (void)onx_json_i64(onx_json_get(hint, "as_int"), &out->value);
    return out->expr.size > 0;
}

onx_status onx_pt2_read_tensor(onx_pt2 *program, const onx_json *meta, onx_pt2_tensor *out,
                               onx_diag *diag) {
    const onx_json *sizes = onx_json_get(meta, "sizes");
    size_t n = onx_json_count(sizes);
    int64_t dtype = 0;
    onx_pt2_size *size = array(program, n, sizeof *size);
    if (!size) return onx_fail_nomem(diag);
    if (n > ONX_TORCH_RANK) return onx_fail(diag, ONX_MALFORMED, "a tensor has %zu dimensions", n);
    *out = (onx_pt2_tensor){.rank = n, .sizes = size};
    if (onx_json_i64(onx_json_get(meta, "dtype"), &dtype))
        out->dtype = onx_torch_dtype_of_pt2(dtype);
    if (!out->dtype || !onx_json_is(sizes, ONX_JSON_ARRAY))
        return malformed(diag, "the type of a tensor");
    ONX_JSON_EACH(item, sizes)
    if (!read_size(item, size++)) return malformed(diag, "a size of a tensor");
    return ONX_OK;
}

static onx_status read_values(onx_pt2 *program, const onx_pt2_graph *graph, const onx_json *json,
                              onx_diag *diag) {
    ONX_JSON_EACH(key, onx_json_get(json, "tensor_values")) {
        const onx_json *meta = onx_json_get(key->first, "meta"); /* schema 1 */
        onx_pt2_tensor *tensor = array(program, 1, sizeof *tensor);
        if (!tensor || !onx_map_put(&program->tensors, graph, key->text, tensor))
            return onx_fail_nomem(diag);
        ONX_TRY(onx_pt2_read_tensor(program, meta ? meta : key->first, tensor, diag));
    }
    ONX_JSON_EACH(key, onx_json_get(json, "sym_int_values")) {
        onx_pt2_size *size = array(program, 1, sizeof *size);
        if (!size || !onx_map_put(&program->numbers, graph, key->text, size))
            return onx_fail_nomem(diag);
        if (!read_size(key->first, size)) return malformed(diag, "a symbolic number");
    }
    return ONX_OK;
}

/* ─ Graphs ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status read_node(onx_pt2 *program, const onx_json *json, onx_pt2_node *out,
                            onx_diag *diag) {
    const onx_json *meta = onx_json_get(json, "metadata");
    out->target = onx_json_str(onx_json_get(json, "target"));
    out->stack = onx_json_str(onx_json_get(meta, "stack_trace"));
    out->modules = onx_json_str(onx_json_get(meta, "nn_module_stack"));
    if (!out->target.size) return malformed(diag, "a node");
    onx_status status =
        read_args(program, onx_json_get(json, "inputs"), &out->n_in, &out->in, diag);
    if (!status)
        status = read_args(program, onx_json_get(json, "outputs"), &out->n_out, &out->out, diag);
    if (status && diag && !diag->place[0])
        onx_diag_place(diag, "a node '%.*s'", ONX_FMT(out->target));
    return status;
}

onx_status onx_pt2_read_graph(onx_pt2 *program, const onx_json *json, const onx_pt2_graph **out,
                              onx_diag *diag) {
    const onx_json *nodes = onx_json_get(json, "nodes");
    onx_pt2_graph *graph = array(program, 1, sizeof *graph);
    onx_pt2_node *node = array(program, onx_json_count(nodes), sizeof *node);
    if (!graph || !node) return onx_fail_nomem(diag);
    if (!onx_json_is(nodes, ONX_JSON_ARRAY)) return malformed(diag, "a graph");
    graph->nodes = node, graph->n_nodes = onx_json_count(nodes);
    ONX_TRY(read_args(program, onx_json_get(json, "inputs"), &graph->n_in, &graph->in, diag));
    ONX_TRY(read_args(program, onx_json_get(json, "outputs"), &graph->n_out, &graph->out, diag));
    ONX_TRY(read_values(program, graph, json, diag));
    ONX_JSON_EACH(item, nodes) ONX_TRY(read_node(program, item, node++, diag));
    *out = graph;
    return ONX_OK;
}
