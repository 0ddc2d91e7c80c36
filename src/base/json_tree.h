/* json_tree.h: a JSON text as a tree, for texts whose parts are wanted in another order than they
 * stand in.
 *
 *     const onx_json *root;
 *     ONX_TRY(onx_json_tree(&arena, text, options, &root, diag));
 *     ONX_JSON_EACH (node, onx_json_get(root, "nodes")) … onx_json_str(onx_json_get(node, "name"))
 *
 * Accepts what json.h does, and numbers of Python that are not finite. Strings and numbers are
 * spans of the text, which must stay; only strings with escapes are copied. All functions take NULL
 * for what is not there, so a path can be followed without asking at each step. */
#ifndef ONX_JSON_TREE_H
#define ONX_JSON_TREE_H

#include "base/json.h"

typedef struct onx_json onx_json;
struct onx_json {
    onx_str text;          /* of a key, string or number */
    const onx_json *first; /* of an object: its first key; of an array: its first element; of a key:
                              its value */
    const onx_json *next;  /* the next key or element */
    uint32_t n;            /* keys or elements */
    uint8_t token;         /* onx_json_token; OBJECT and ARRAY stand for the whole */
};

/* At most `depth` levels; the tree may take as much of `arena` as that has. */
onx_status onx_json_tree(onx_arena *arena, onx_str text, uint32_t depth, const onx_json **out,
                         onx_diag *diag) ONX_MUST_CHECK;

/* The elements of an array, or the keys of an object (their values: key->first). */
#define ONX_JSON_EACH(it, json) for (const onx_json *it = onx_json_first(json); it; it = it->next)
static inline const onx_json *onx_json_first(const onx_json *json) {
    bool has = json && (json->token == ONX_JSON_OBJECT || json->token == ONX_JSON_ARRAY);
    return has ? json->first : NULL;
}
static inline bool onx_json_is(const onx_json *json, onx_json_token token) {
    return json && json->token == token;
}
/* The value of a key of an object; the last of equal ones. NULL: it is not there, or null. */
const onx_json *onx_json_get(const onx_json *json, const char *key);
const onx_json *onx_json_at(const onx_json *json, size_t index); /* of an array */
size_t onx_json_count(const onx_json *json);
/* "" and false and 0 where it is something else. */
onx_str onx_json_str(const onx_json *json);
bool onx_json_true(const onx_json *json);
/* False: not a whole number of 64 bits; not a number ("Infinity" as a string is one). */
bool onx_json_i64(const onx_json *json, int64_t *out);
bool onx_json_f64(const onx_json *json, double *out);

#endif
