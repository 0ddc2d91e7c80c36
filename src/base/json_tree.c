/* json_tree.c: the tree of json_tree.h. What is open remembers what is around it, so nothing
 * recurses. */
#include "base/json_tree.h"
#include "base/number.h"

typedef struct open_node open_node;
struct open_node {
    onx_json json; /* first: becomes the node in the tree */
    open_node *outer;
    const onx_json **tail; /* where the next child goes */
};

typedef struct builder {
    onx_arena *arena;
    onx_json_reader r;
    open_node root; /* a key without text, whose value is the tree */
    open_node *open;
} builder;

static onx_status text_of(builder *b, onx_str *out) {
    *out = b->r.span;
    if (!b->r.escaped) return ONX_OK;
    size_t size = onx_json_unescape(b->r.span, NULL);
    char *copy = onx_arena_alloc(b->arena, size + 1);
    if (!copy) return onx_fail_nomem(b->r.diag);
    onx_json_unescape(b->r.span, copy);
    *out = (onx_str){copy, size};
    return ONX_OK;
}

static void enter(builder *b, open_node *node) {
    node->outer = b->open;
    node->tail = &node->json.first;
    b->open = node;
}

/* A value is whole; a key is over with it. */
static void end_value(builder *b) {
    if (b->open->json.token == ONX_JSON_KEY && b->open->outer) b->open = b->open->outer;
}

static onx_status add(builder *b) {
    onx_json_token token = b->r.token;
    bool opens = token == ONX_JSON_OBJECT || token == ONX_JSON_ARRAY || token == ONX_JSON_KEY;
    onx_json *node = onx_arena_alloc(b->arena, opens ? sizeof(open_node) : sizeof *node);
    if (!node) return onx_fail_nomem(b->r.diag);
    node->token = (uint8_t)token;
    if (token == ONX_JSON_KEY || token == ONX_JSON_STRING)
        ONX_TRY(text_of(b, &node->text));
    else if (token == ONX_JSON_NUMBER)
        node->text = b->r.span;
    *b->open->tail = node;
    b->open->tail = &node->next;
    b->open->json.n++;
    if (opens)
        enter(b, (open_node *)node);
    else
        end_value(b);
    return ONX_OK;
}

static onx_status build(builder *b) {
    for (;;) {
        ONX_TRY(onx_json_next(&b->r));
        if (b->r.token == ONX_JSON_END) return ONX_OK;
        if (b->r.token != ONX_JSON_OBJECT_END && b->r.token != ONX_JSON_ARRAY_END) {
            ONX_TRY(add(b));
            continue;
        }
        b->open = b->open->outer;
        end_value(b);
    }
}

onx_status onx_json_tree(onx_arena *arena, onx_str text, uint32_t depth, const onx_json **out,
                         onx_diag *diag) {
    builder b = {.arena = arena, .root.json.token = ONX_JSON_KEY};
    enter(&b, &b.root);
    onx_json_reader_init(&b.r, arena->ctx, text, depth, diag);
    b.r.python = true;
    onx_status status = build(&b);
    onx_json_reader_fini(&b.r);
    if (!status) *out = b.root.json.first;
    return status;
}

const onx_json *onx_json_get(const onx_json *json, const char *key) {
    const onx_json *found = NULL;
    onx_str name = onx_str_of(key);
    if (!onx_json_is(json, ONX_JSON_OBJECT)) return NULL;
    for (const onx_json *it = json->first; it; it = it->next)
        if (onx_str_eq(it->text, name)) found = it->first;
    return onx_json_is(found, ONX_JSON_NULL) ? NULL : found;
}

const onx_json *onx_json_at(const onx_json *json, size_t index) {
    const onx_json *it = onx_json_is(json, ONX_JSON_ARRAY) ? json->first : NULL;
    while (it && index--) it = it->next;
    return it;
}

size_t onx_json_count(const onx_json *json) {
    return onx_json_first(json) ? json->n : 0;
}

onx_str onx_json_str(const onx_json *json) {
    return onx_json_is(json, ONX_JSON_STRING) ? json->text : ONX_LIT("");
}

bool onx_json_true(const onx_json *json) {
    return onx_json_is(json, ONX_JSON_TRUE);
}

bool onx_json_i64(const onx_json *json, int64_t *out) {
    return onx_json_is(json, ONX_JSON_NUMBER) && onx_parse_i64(json->text, out);
}

bool onx_json_f64(const onx_json *json, double *out) {
    if (!onx_json_is(json, ONX_JSON_NUMBER) && !onx_json_is(json, ONX_JSON_STRING)) return false;
    return onx_parse_f64(json->text, out);
}
