/* pt2_names.c: names for what a program takes and gives, from the trees that torch.export notes
 * (pytree): nested tuples, lists, dicts and named tuples, as JSON text within JSON.
 *
 *     [1, {"type": "builtins.dict", "context": "[\"a\"]", "children_spec": [{"type": null …}]}]
 *
 * The context of a dict, and of what is like one, is the list of its keys. */
#include "export/pt2.h"

enum { DEPTH = 64 };

typedef struct leaves {
    onx_pt2 *program;
    onx_str *names;
    size_t n, cap;
} leaves;

static const onx_json *subtext(onx_pt2 *program, onx_str text) {
    const onx_json *json = NULL;
    return text.size && onx_pt2_parse(program, text, &json, NULL) == ONX_OK ? json : NULL;
}

/* The names of the children: NULL where they have only numbers. */
static const onx_json *keys_of(onx_pt2 *program, const onx_json *tree, size_t n) {
    onx_str type = onx_json_str(onx_json_get(tree, "type"));
    onx_str context = onx_json_str(onx_json_get(tree, "context"));
    const onx_json *keys = subtext(program, context);
    if (onx_str_is(type, "collections.namedtuple")) ONX_JSON_EACH(key, program->fields)
    if (keys && onx_str_eq(key->text, onx_json_str(keys))) keys = key->first;
    if (onx_json_is(keys, ONX_JSON_OBJECT)) keys = onx_json_get(keys, "field_names");
    return onx_json_is(keys, ONX_JSON_ARRAY) && onx_json_count(keys) == n ? keys : NULL;
}

static bool join(onx_pt2 *program, onx_str prefix, const onx_json *key, size_t index,
                 onx_str *out) {
    onx_buf text;
    onx_buf_init(&text, program->arena.ctx);
    onx_buf_put(&text, prefix.data, prefix.size);
    if (prefix.size) onx_buf_putc(&text, '.');
    if (key && key->text.size)
        onx_buf_put(&text, key->text.data, key->text.size);
    else
        onx_buf_printf(&text, "%zu", index);
    bool ok = !text.failed && onx_arena_str(&program->arena, (onx_str){text.data, text.size}, out);
    onx_buf_fini(&text);
    return ok;
}

static bool walk(leaves *l, const onx_json *tree, onx_str name, const onx_json *keys,
                 unsigned depth) {
    const onx_json *children = onx_json_get(tree, "children_spec");
    size_t n = onx_json_count(children), i = 0;
    if (!onx_json_get(tree, "type")) {
        if (l->n == l->cap) return false;
        l->names[l->n++] = name;
        return true;
    }
    if (depth == DEPTH) return false;
    if (!keys) keys = keys_of(l->program, tree, n);
    const onx_json *key = onx_json_first(keys);
    ONX_JSON_EACH(child, children) {
        onx_str inner;
        if (!join(l->program, name, key, i++, &inner)) return false;
        if (!walk(l, child, inner, NULL, depth + 1)) return false;
        key = key ? key->next : NULL;
    }
    return true;
}

const onx_str *onx_pt2_leaf_names(onx_pt2 *program, bool results, size_t n) {
    const onx_json *spec = onx_json_get(program->call, results ? "out_spec" : "in_spec");
    const onx_json *tree = onx_json_at(subtext(program, onx_json_str(spec)), 1);
    const onx_json *args = onx_json_get(tree, "children_spec");
    leaves l = {.program = program, .cap = n};
    l.names = onx_arena_array(&program->arena, n + 1, sizeof *l.names);
    if (!l.names || !tree) return NULL;
    onx_str none = ONX_LIT("");
    bool ok = true;
    if (results) {
        ok = walk(&l, tree, none, NULL, 0);
    } else { /* (args, kwargs) */
        const onx_json *names = onx_json_get(program->call, "forward_arg_names");
        ok = onx_json_count(args) == 2 && walk(&l, args->first, none, names, 0) &&
             walk(&l, args->first->next, none, NULL, 0);
    }
    return ok && l.n == n ? l.names : NULL;
}
