/* type_fact.c: types in ONNX text as facts: "float[N, 2*M]", "seq(float[N])". Unlike the parser of
 * models it reads expressions as sizes. */
#include "infer/type_fact.h"

#include "ir/type_text.h"

static onx_str trim(onx_str s) {
    while (s.size && s.data[0] == ' ') s.data++, s.size--;
    while (s.size && s.data[s.size - 1] == ' ') s.size--;
    return s;
}

/* Cut the part before a comma off the front, if the comma is not inside brackets or quotes. */
static onx_str cut(onx_str *rest) {
    size_t n = 0, depth = 0;
    bool quoted = false;
    for (; n < rest->size; n++) {
        char c = rest->data[n];
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (c == ',' && !depth) break;
        if (c == '(') depth++;
        if (c == ')' && depth) depth--;
    }
    onx_str part = trim((onx_str){rest->data, n});
    size_t used = n < rest->size ? n + 1 : n;
    *rest = (onx_str){rest->data + used, rest->size - used};
    return part;
}

/* "word(T)" to "T". */
static bool unwrap(onx_str *text, const char *word) {
    size_t n = strlen(word);
    if (text->size < n + 2 || memcmp(text->data, word, n) != 0 || text->data[n] != '(' ||
        text->data[text->size - 1] != ')')
        return false;
    *text = trim((onx_str){text->data + n + 1, text->size - n - 2});
    return true;
}

static onx_dtype dtype_of(onx_str word) {
    for (int i = 1; i < ONX_DTYPE_COUNT; i++)
        if (onx_str_is(word, onx_dtype_name((onx_dtype)i))) return (onx_dtype)i;
    return ONX_DTYPE_NONE;
}

static const onx_sym *size_of(onx_facts *facts, onx_str text) {
    if (onx_str_is(text, "?")) return NULL;
    bool quoted = text.size > 1 && text.data[0] == '"' && text.data[text.size - 1] == '"';
    if (quoted) text = (onx_str){text.data + 1, text.size - 2};
    return onx_sym_parse(facts->syms, text);
}

/* "N, 2*M" to sizes; an empty list is "of any rank". */
static onx_status read_dims(onx_facts *facts, onx_str text, onx_fact *out, bool *readable) {
    onx_str rest = trim(text);
    size_t rank = 0, i = 0;
    if (!rest.size) return ONX_OK;
    for (onx_str all = rest; all.size; rank++) cut(&all);
    const onx_sym **dims = onx_arena_array(&facts->arena, rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    while (rest.size) {
        onx_str one = cut(&rest);
        *readable &= one.size > 0;
        dims[i++] = size_of(facts, one);
    }
    out->ranked = true;
    out->rank = rank;
    out->dims = dims;
    return ONX_OK;
}

static onx_status read_tensor(onx_facts *facts, onx_str text, bool scalars, onx_fact *out,
                              bool *readable) {
    const char *open = memchr(text.data, '[', text.size);
    size_t n = open ? (size_t)(open - text.data) : text.size;
    out->dtype = dtype_of(trim((onx_str){text.data, n}));
    *readable = out->dtype != ONX_DTYPE_NONE && (!open || text.data[text.size - 1] == ']');
    out->ranked = scalars && !open;
    if (!*readable || !open) return ONX_OK;
    return read_dims(facts, (onx_str){open + 1, text.size - n - 2}, out, readable);
}

onx_status onx_type_fact(onx_facts *facts, onx_str text, bool scalars, onx_fact *out,
                         bool *readable) {
    onx_fact whole = {0}, *fact = &whole;
    for (text = trim(text);;) {
        bool sparse = unwrap(&text, "sparse_tensor");
        fact->kind = sparse                      ? ONX_TYPE_SPARSE_TENSOR
                     : unwrap(&text, "seq")      ? ONX_TYPE_SEQUENCE
                     : unwrap(&text, "optional") ? ONX_TYPE_OPTIONAL
                     : unwrap(&text, "map")      ? ONX_TYPE_MAP
                                                 : ONX_TYPE_TENSOR;
        if (sparse || fact->kind == ONX_TYPE_TENSOR) break;
        if (fact->kind == ONX_TYPE_MAP) fact->dtype = dtype_of(cut(&text));
        text = trim(text);
        onx_fact *elem = onx_arena_alloc(&facts->arena, sizeof *elem);
        if (!elem) return ONX_NO_MEMORY;
        fact->elem = elem;
        fact = elem;
    }
    *readable = text.size > 0;
    if (*readable) ONX_TRY(read_tensor(facts, text, scalars, fact, readable));
    if (*readable) *out = whole;
    return ONX_OK;
}
