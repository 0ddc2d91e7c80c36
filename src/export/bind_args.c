/* bind_args.c: the arguments of a call in the order of a schema.
 *
 * Positional arguments fill parameters in order, named ones by name; what is left has its default.
 * A number stands for a list where a list of numbers is wanted: as many as the schema says. */
#include "export/bind_args.h"
#include "base/number.h"

/* Which kinds of values a type of the schemas takes. */
#define K(kind) (1u << ONX_X_##kind)
static const struct {
    const char *name;
    unsigned kinds;
} types[] = {
    {"Tensor", K(TENSOR)},
    {"Any", K(TENSOR) | K(INT) | K(FLOAT) | K(BOOL) | K(COMPLEX)},
    {"Scalar", K(INT) | K(FLOAT) | K(BOOL) | K(COMPLEX)},
    {"number", K(INT) | K(FLOAT) | K(BOOL) | K(COMPLEX)},
    {"int", K(INT) | K(BOOL)},
    {"float", K(FLOAT) | K(INT)},
    {"bool", K(BOOL)},
    {"complex", K(COMPLEX)},
    {"str", K(STR)},
    {"ScalarType", K(INT)},
    {"Layout", K(INT)},
    {"MemoryFormat", K(INT)},
    {"Device", K(DEVICE) | K(STR)},
    {"Generator", 0},
    {"Packed", K(TUPLE)}, /* an object of a class that is written in C++: its parts */
    {"t", ~0u},
};

static unsigned kinds_of(onx_str type) {
    for (size_t i = 0; i < ONX_COUNT(types); i++)
        if (onx_str_is(type, types[i].name)) return types[i].kinds;
    return 0;
}

static bool takes(unsigned kinds, onx_xkind kind) {
    return kind == ONX_X_UNKNOWN || (kinds >> kind & 1);
}

static bool takes_list(const onx_xparam *p, const onx_xlist *list) {
    unsigned kinds = kinds_of(p->type) | K(NONE) * onx_str_is(p->type, "Tensor");
    for (size_t i = 0; i < list->n; i++)
        if (!takes(kinds, list->v[i].kind)) return false;
    return true;
}

/* A number where a list of numbers is wanted. */
static bool spread(onx_export *x, const onx_xparam *p, onx_xv *v) {
    size_t n = p->n ? p->n : 1;
    onx_xlist *list = onx_x_alloc(x, sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        if (!onx_xlist_add(x, list, *v)) list = NULL;
    if (list) *v = (onx_xv){.kind = ONX_X_LIST, .list = list};
    return list != NULL;
}

static bool fit(onx_export *x, const onx_xparam *p, onx_xv *v) {
    if (v->kind == ONX_X_NONE) return p->optional;
    if (v->kind == ONX_X_UNKNOWN) return true;
    if (!p->list) return takes(kinds_of(p->type), v->kind);
    if (onx_xv_is_list(v)) return takes_list(p, v->list);
    return onx_xv_is_number(v) && takes(kinds_of(p->type), v->kind) && spread(x, p, v);
}

/* ─ Defaults ─────────────────────────────────────────────────────────────────────────────────── */

static const struct {
    const char *word;
    int64_t value;
} words[] = {
    {"True", 1}, {"False", 0}, {"Mean", 1}, {"contiguous_format", 0}, {"long", 4}, {"float", 6},
};

static bool preset_of(onx_export *x, const onx_xparam *p, onx_str text, onx_xv *out) {
    int64_t i;
    double f;
    *out = (onx_xv){.kind = ONX_X_NONE};
    if (onx_str_is(text, "None")) return true;
    for (size_t k = 0; k < ONX_COUNT(words); k++)
        if (onx_str_is(text, words[k].word)) {
            *out = k < 2 ? onx_xv_bool(x, words[k].value) : onx_xv_int(x, words[k].value);
            return onx_x_ok(x);
        }
    if (text.size >= 2 && (text.data[0] == '"' || text.data[0] == '\'')) {
        *out = onx_xv_str((onx_str){text.data + 1, text.size - 2});
        return true;
    }
    if (onx_str_is(p->type, "float") || !onx_parse_i64(text, &i)) {
        if (!onx_parse_f64(text, &f)) return false;
        *out = onx_xv_float(f);
    } else {
        *out = onx_xv_int(x, i);
    }
    return onx_x_ok(x);
}

/* "[0, 1]": element by element; a bare number is spread. */
static bool preset_list(onx_export *x, const onx_xparam *p, onx_xv *out) {
    onx_str rest = {p->preset.data + 1, p->preset.size - 2};
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    while (rest.size && onx_x_ok(x)) {
        onx_xv v;
        const char *comma = memchr(rest.data, ',', rest.size);
        size_t n = comma ? (size_t)(comma - rest.data) : rest.size;
        onx_str one = {rest.data, n};
        while (one.size && one.data[0] == ' ') one.data++, one.size--;
        if (!preset_of(x, p, one, &v) || !onx_xlist_add(x, out->list, v)) return false;
        n += comma != NULL;
        rest = (onx_str){rest.data + n, rest.size - n};
    }
    return onx_x_ok(x);
}

static bool preset(onx_export *x, const onx_xparam *p, onx_xv *out) {
    if (p->list && p->preset.size && p->preset.data[0] == '[') return preset_list(x, p, out);
    if (!preset_of(x, p, p->preset, out)) return false;
    return !p->list || out->kind == ONX_X_NONE || spread(x, p, out);
}

/* ─ All of them ──────────────────────────────────────────────────────────────────────────────── */

static size_t find_param(const onx_xschema *s, onx_str name) {
    size_t i = 0;
    while (i < s->n_params && !onx_str_eq(s->params[i].name, name)) i++;
    return i;
}

bool onx_xargs_bind(onx_export *x, const onx_xschema *s, size_t n, const onx_xarg *args,
                    onx_xv *out) {
    bool *given = onx_x_array(x, s->n_params + 1, sizeof *given);
    if (!given) return false;
    for (size_t i = 0; i < n; i++) {
        bool by_name = args[i].name.data != NULL;
        size_t at = by_name ? find_param(s, args[i].name) : i;
        if (at >= s->n_params || given[at] || (!by_name && s->params[at].named)) return false;
        out[at] = args[i].v;
        given[at] = true;
        if (!fit(x, &s->params[at], &out[at])) return false;
    }
    for (size_t i = 0; i < s->n_params; i++)
        if (!given[i] && (!s->params[i].preset.data || !preset(x, &s->params[i], &out[i])))
            return false;
    return onx_x_ok(x);
}
