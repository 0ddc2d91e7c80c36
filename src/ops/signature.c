/* signature.c: signatures as text to structures; the grammar is in op.h.
 *
 * Two things are added to it here. `?*` is a variadic parameter that may have no values at all. And
 * the names of sets, which may stand for a type wherever alternatives are listed, also inside seq()
 * and optional(): "f|int32", "seq(all1)|optional(seq(all1))".
 *
 *     f0      float16 float double                           before bfloat16 (opset 13)
 *     f       float16 bfloat16 float double
 *     s       int8 int16 int32 int64
 *     u       uint8 uint16 uint32 uint64
 *     i       s u
 *     w       int32 int64 uint32 uint64                      the wide integers
 *     n0      f0 i                                           all numbers
 *     n       f i
 *     c       complex64 complex128
 *     f8      float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz
 *     f6      float6e2m3 float6e3m2
 *     i4, i2  int4 uint4, int2 uint2
 *     all1    f0 i c bool string                             all types of an opset
 *     all13   all1 bfloat16
 *     all19   all13 f8
 *     all21   all19 i4
 *     all23   all21 float4e2m1
 *     all24   all23 float8e8m0
 *     all25   all24 i2
 *     all28   all25 f6
 *
 * A mistake in a signature is reported, never followed. */
#include "ops/signature.h"
#include "base/number.h"

#define BIT(dtype) (1u << ONX_DTYPE_##dtype)
enum {
    F0 = BIT(F16) | BIT(F32) | BIT(F64),
    F = F0 | BIT(BF16),
    S = BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64),
    U = BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64),
    W = BIT(I32) | BIT(I64) | BIT(U32) | BIT(U64),
    C = BIT(C64) | BIT(C128),
    F8 = BIT(F8E4M3FN) | BIT(F8E4M3FNUZ) | BIT(F8E5M2) | BIT(F8E5M2FNUZ),
    F6 = BIT(F6E2M3) | BIT(F6E3M2),
    I4 = BIT(I4) | BIT(U4),
    I2 = BIT(I2) | BIT(U2),
    ALL1 = F0 | S | U | C | BIT(BOOL) | BIT(STRING),
    ALL13 = ALL1 | BIT(BF16),
    ALL19 = ALL13 | F8,
    ALL21 = ALL19 | I4,
    ALL23 = ALL21 | BIT(F4E2M1),
    ALL24 = ALL23 | BIT(F8E8M0),
    ALL25 = ALL24 | I2,
    ALL28 = ALL25 | F6,
};
static const struct set {
    const char *name;
    uint32_t types;
} sets[] = {
    {"f0", F0},       {"f", F},           {"s", S},         {"u", U},         {"i", S | U},
    {"w", W},         {"n0", F0 | S | U}, {"n", F | S | U}, {"c", C},         {"f8", F8},
    {"f6", F6},       {"i4", I4},         {"i2", I2},       {"all1", ALL1},   {"all13", ALL13},
    {"all19", ALL19}, {"all21", ALL21},   {"all23", ALL23}, {"all24", ALL24}, {"all25", ALL25},
    {"all28", ALL28},
};

/* ── Text ────────────────────────────────────────────────────────────────────────────────────── */

static bool is_space(char c) {
    return c == ' ' || c == '\n';
}

static onx_str trim(onx_str s) {
    while (s.size && is_space(s.data[0])) s.data++, s.size--;
    while (s.size && is_space(s.data[s.size - 1])) s.size--;
    return s;
}

static bool is_word(onx_str s) {
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '_' && c != '.')
            return false;
    }
    return s.size > 0;
}

/* The length of `s` up to `stop`, which does not stand inside brackets or quotes there. */
static size_t span(onx_str s, char stop) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];
        if (c == stop && !depth && !quoted) return i;
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (c == '(' || c == '[' || c == '{') depth++;
        if ((c == ')' || c == ']' || c == '}') && depth) depth--;
    }
    return s.size;
}

bool onx_signature_cut(onx_str *rest, char stop, onx_str *part) {
    if (!rest->data) return false;
    size_t n = span(*rest, stop);
    *part = trim((onx_str){rest->data, n});
    *rest = n < rest->size ? (onx_str){rest->data + n + 1, rest->size - n - 1} : (onx_str){NULL, 0};
    return true;
}

/* Take a bracketed section off the front; false, and nothing taken, when there is none. */
static bool section(onx_str *rest, const char brackets[2], onx_str *inside) {
    onx_str s = trim(*rest);
    if (!s.size || s.data[0] != brackets[0]) return false;
    s.data++, s.size--;
    size_t n = span(s, brackets[1]);
    if (n == s.size) return false;
    *inside = trim((onx_str){s.data, n});
    if (!inside->size) inside->data = NULL;
    *rest = (onx_str){s.data + n + 1, s.size - n - 1};
    return true;
}

static size_t count_items(onx_str inside) {
    onx_str item;
    size_t n = 0;
    while (onx_signature_cut(&inside, ',', &item)) n++;
    return n;
}

/* "name?*: rest" to its parts. */
static bool split_item(onx_str item, onx_str *name, onx_str *marks, onx_str *rest) {
    onx_str head;
    if (!onx_signature_cut(&item, ':', &head)) return false;
    size_t n = 0;
    while (n < head.size && head.data[n] != '?' && head.data[n] != '*') n++;
    *name = (onx_str){head.data, n};
    *marks = (onx_str){head.data + n, head.size - n};
    *rest = trim(item);
    return is_word(*name) && rest->size;
}

/* ── Types ───────────────────────────────────────────────────────────────────────────────────── */

uint32_t onx_signature_types(onx_str word) {
    for (size_t i = 0; i < ONX_COUNT(sets); i++)
        if (onx_str_is(word, sets[i].name)) return sets[i].types;
    for (int i = 1; i < ONX_DTYPE_COUNT; i++)
        if (onx_str_is(word, onx_dtype_name((onx_dtype)i))) return 1u << i;
    return 0;
}

/* "seq(T)" to "T". */
static bool unwrap(onx_str *type, const char *word) {
    size_t n = strlen(word);
    if (type->size < n + 2 || memcmp(type->data, word, n) != 0 || type->data[n] != '(' ||
        type->data[type->size - 1] != ')')
        return false;
    *type = trim((onx_str){type->data + n + 1, type->size - n - 2});
    return true;
}

static bool is_type(onx_str type) {
    onx_str key;
    for (;;) {
        if (unwrap(&type, "map")) {
            if (!onx_signature_cut(&type, ',', &key) || !onx_signature_types(key)) return false;
            type = trim(type);
        } else if (!unwrap(&type, "seq") && !unwrap(&type, "optional") &&
                   !unwrap(&type, "sparse_tensor")) {
            return onx_signature_types(type) != 0;
        }
    }
}

bool onx_constraint_allows(const onx_constraint *constraint, onx_dtype dtype) {
    onx_str rest = constraint->types, one;
    while ((unsigned)dtype < ONX_DTYPE_COUNT && onx_signature_cut(&rest, '|', &one))
        if (onx_signature_types(one) >> dtype & 1) return true;
    return false;
}

/* Take one level of a fact off a type: its word, and the keys of a map. */
static bool take_level(onx_str *type, const onx_fact *fact) {
    static const char *const words[] = {[ONX_TYPE_SPARSE_TENSOR] = "sparse_tensor",
                                        [ONX_TYPE_SEQUENCE] = "seq",
                                        [ONX_TYPE_MAP] = "map",
                                        [ONX_TYPE_OPTIONAL] = "optional"};
    onx_str key;
    if (!unwrap(type, words[fact->kind])) return false;
    if (fact->kind != ONX_TYPE_MAP) return true;
    if (!onx_signature_cut(type, ',', &key)) return false;
    *type = trim(*type);
    return !fact->dtype || (onx_signature_types(key) >> fact->dtype & 1);
}

static bool allows(onx_str type, const onx_fact *fact) {
    while (fact && fact->kind > ONX_TYPE_TENSOR) {
        if (fact->kind == ONX_TYPE_OPAQUE || !take_level(&type, fact)) return false;
        if (fact->kind == ONX_TYPE_SPARSE_TENSOR) break;
        fact = fact->elem;
    }
    if (!fact || !fact->kind) return true;
    return fact->dtype ? onx_signature_types(type) >> fact->dtype & 1
                       : onx_signature_types(type) != 0;
}

bool onx_types_allow(onx_str types, const onx_fact *fact) {
    onx_str one;
    while (onx_signature_cut(&types, '|', &one))
        if (allows(one, fact)) return true;
    return false;
}

/* ── Items ───────────────────────────────────────────────────────────────────────────────────── */

static bool read_param(onx_str item, void *out) {
    onx_str name, marks, type;
    if (!split_item(item, &name, &marks, &type)) return false;
    bool optional = marks.size && marks.data[0] == '?';
    onx_str stars = {marks.data + optional, marks.size - optional};
    if (stars.size && !onx_str_is(stars, "*") && !onx_str_is(stars, "**")) return false;
    *(onx_param *)out = (onx_param){name, type, optional, stars.size > 0, stars.size == 2};
    return true;
}

static onx_attr_type attr_type(onx_str name) {
    for (int i = ONX_ATTR_FLOAT; i <= ONX_ATTR_TYPES; i++)
        if (onx_str_is(name, onx_attr_type_name((onx_attr_type)i))) return (onx_attr_type)i;
    return ONX_ATTR_UNDEFINED;
}

static bool is_default(onx_attr_type type, onx_str text) {
    int64_t i;
    float f;
    char first = text.size ? text.data[0] : '\0',
         last = text.size ? text.data[text.size - 1] : '\0';
    switch (type) {
    case ONX_ATTR_INT: return onx_parse_i64(text, &i);
    case ONX_ATTR_FLOAT: return onx_parse_f32(text, &f);
    case ONX_ATTR_STRING: return text.size > 1 && first == '"' && last == '"';
    default: return text.size > 1 && first == '[' && last == ']';
    }
}

static bool read_attr(onx_str item, void *out) {
    onx_str name, marks, rest, type, text = {NULL, 0};
    if (!split_item(item, &name, &marks, &rest)) return false;
    bool has_default = span(rest, '=') < rest.size, optional = onx_str_is(marks, "?");
    if (!onx_signature_cut(&rest, '=', &type) || (marks.size && !optional)) return false;
    if (has_default) text = trim(rest);
    onx_attr_decl decl = {name, attr_type(type), !optional && !has_default, text};
    if (!decl.type || (has_default && !is_default(decl.type, text))) return false;
    *(onx_attr_decl *)out = decl;
    return true;
}

static bool read_constraint(onx_str item, void *out) {
    onx_str name, marks, types, one;
    if (!split_item(item, &name, &marks, &types) || marks.size) return false;
    *(onx_constraint *)out = (onx_constraint){name, types};
    while (onx_signature_cut(&types, '|', &one))
        if (!is_type(one)) return false;
    return true;
}

bool onx_signature_attr(const char *signature, const char *name, onx_attr_decl *out) {
    onx_str rest = onx_str_of(signature), item, before;
    if (!onx_signature_cut(&rest, '{', &before)) return false;
    rest.size = span(rest, '}');
    while (onx_signature_cut(&rest, ',', &item)) {
        size_t n = strlen(name);
        bool named = item.size > n && memcmp(item.data, name, n) == 0 &&
                     (item.data[n] == ':' || item.data[n] == '?');
        if (named) return read_attr(item, out);
    }
    return false;
}

/* ── Signatures ──────────────────────────────────────────────────────────────────────────────── */

typedef bool read_fn(onx_str item, void *out);

/* All items of a section into an array; *mistake is set when one of them cannot be read. */
static onx_status read_items(onx_arena *arena, onx_str inside, size_t elem, read_fn *read,
                             size_t *n, void *out, bool *mistake) {
    size_t count = count_items(inside);
    char *items = onx_arena_array(arena, count ? count : 1, elem);
    if (!items) return ONX_NO_MEMORY;
    onx_str item;
    for (size_t i = 0; onx_signature_cut(&inside, ',', &item); i++)
        *mistake |= !read(item, items + i * elem);
    memcpy(out, &items, sizeof items);
    *n = count;
    return ONX_OK;
}

/* Is the type of every parameter a variable, or a type? */
static bool params_ok(const onx_signature *s, const onx_param *params, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool found = is_type(params[i].type);
        for (size_t j = 0; j < s->n_constraints && !found; j++)
            found = onx_str_eq(params[i].type, s->constraints[j].name);
        if (!found) return false;
    }
    return true;
}

typedef struct sections {
    onx_str ins, outs, attrs, vars;
} sections;

/* The four bracketed parts of a signature. */
static bool take_apart(const onx_op *op, sections *out) {
    onx_str rest = onx_str_of(op->signature);
    *out = (sections){.ins = {NULL, 0}};
    if (!section(&rest, "()", &out->ins)) return false;
    rest = trim(rest);
    if (rest.size < 2 || memcmp(rest.data, "->", 2) != 0) return false;
    rest = (onx_str){rest.data + 2, rest.size - 2};
    if (!section(&rest, "()", &out->outs)) return false;
    section(&rest, "{}", &out->attrs);
    section(&rest, "[]", &out->vars);
    return trim(rest).size == 0;
}

static onx_status mistaken(const onx_op *op, onx_diag *diag) {
    return onx_fail(diag, ONX_INVALID, "the signature of %s %d cannot be read: %.300s", op->name,
                    (int)op->since, op->signature ? op->signature : "");
}

onx_status onx_signature_parse(const onx_op *op, onx_arena *arena, onx_signature *out,
                               onx_diag *diag) {
    sections p;
    onx_signature s = {0};
    bool bad = false;
    if (!take_apart(op, &p)) return mistaken(op, diag);
    if (read_items(arena, p.ins, sizeof *s.inputs, read_param, &s.n_inputs, &s.inputs, &bad) ||
        read_items(arena, p.outs, sizeof *s.outputs, read_param, &s.n_outputs, &s.outputs, &bad) ||
        read_items(arena, p.attrs, sizeof *s.attrs, read_attr, &s.n_attrs, &s.attrs, &bad) ||
        read_items(arena, p.vars, sizeof *s.constraints, read_constraint, &s.n_constraints,
                   &s.constraints, &bad))
        return onx_fail_nomem(diag);
    if (bad || !params_ok(&s, s.inputs, s.n_inputs) || !params_ok(&s, s.outputs, s.n_outputs))
        return mistaken(op, diag);
    *out = s;
    return ONX_OK;
}

/* ── Inputs of a call ────────────────────────────────────────────────────────────────────────── */

typedef struct check {
    const onx_op *op;
    sections parts;
    size_t n;
    onx_op_input *input;
    const void *user;
    onx_diag *diag;
} check;

/* The types that a parameter can have, as written. */
static onx_str types_text(onx_str vars, onx_str type) {
    onx_str item;
    onx_constraint constraint;
    while (onx_signature_cut(&vars, ',', &item))
        if (read_constraint(item, &constraint) && onx_str_eq(constraint.name, type))
            return constraint.types;
    return type;
}

/* The first input whose type must be that of parameter `at`; inputs before it are one for each. */
static size_t partner_of(onx_str ins, const onx_param *param, size_t at) {
    onx_str item;
    onx_param other;
    for (size_t i = 0; i < at && onx_signature_cut(&ins, ',', &item); i++)
        if (read_param(item, &other) && onx_str_eq(other.type, param->type)) return i;
    return at;
}

/* Input `index`, a value of the parameter that begins at input `at`. */
static onx_status check_input(const check *c, const onx_param *param, size_t at, size_t index) {
    onx_type_kind kind = ONX_TYPE_NONE, other_kind = ONX_TYPE_NONE;
    onx_dtype dtype = ONX_DTYPE_NONE, other_dtype = ONX_DTYPE_NONE;
    if (index >= c->n || !c->input(c->user, index, &kind, &dtype)) {
        if (param->optional) return ONX_OK;
        return onx_fail(c->diag, ONX_INVALID, "input %zu, '%.*s', of %s is missing", index,
                        ONX_FMT(param->name), c->op->name);
    }
    onx_str types = types_text(c->parts.vars, param->type);
    if (kind > ONX_TYPE_TENSOR && !memchr(types.data, '(', types.size))
        return onx_fail(c->diag, ONX_INVALID, "input %zu, '%.*s', of %s must be a tensor", index,
                        ONX_FMT(param->name), c->op->name);
    size_t other = partner_of(c->parts.ins, param, at);
    if (param->heterogeneous || other == index ||
        !c->input(c->user, other, &other_kind, &other_dtype) || !dtype || !other_dtype ||
        dtype == other_dtype)
        return ONX_OK;
    return onx_fail(c->diag, ONX_INVALID, "inputs %zu and %zu of %s must have one type: %s, %s",
                    other, index, c->op->name, onx_dtype_name(other_dtype), onx_dtype_name(dtype));
}

onx_status onx_op_check(const onx_op *op, size_t n, onx_op_input *input, const void *user,
                        onx_diag *diag) {
    check c = {.op = op, .n = n, .input = input, .user = user, .diag = diag};
    if (!take_apart(op, &c.parts)) return mistaken(op, diag);
    onx_str rest = c.parts.ins, item;
    onx_param param;
    size_t at = 0;
    for (; onx_signature_cut(&rest, ',', &item); at++) {
        if (!read_param(item, &param)) return mistaken(op, diag);
        size_t end = param.variadic && n > at ? n : at + 1;
        for (size_t i = at; i < end; i++) ONX_TRY(check_input(&c, &param, at, i));
        if (param.variadic) return ONX_OK;
    }
    for (; at < n; at++) {
        onx_type_kind kind;
        onx_dtype dtype;
        if (input(user, at, &kind, &dtype))
            return onx_fail(diag, ONX_INVALID, "%s has no input %zu", op->name, at);
    }
    return ONX_OK;
}
