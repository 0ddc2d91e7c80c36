/* type_table.c: see type_table.h. */
#include "type_table.h"
#include "ops/signature.h"

#include <stdio.h>
#include <stdlib.h>

/* "seq(float[2,3])" without sizes and spaces. */
static void plain_type(char *type) {
    char *out = type;
    int depth = 0;
    for (const char *p = type; *p; p++) {
        depth += *p == '[';
        if (!depth && *p != ' ') *out++ = *p;
        depth -= *p == ']';
    }
    *out = '\0';
}

/* "seq(all1)" is one cell for each of the types in all1. */
static void add_word(type_table *t, onx_str variable, onx_str word) {
    size_t from = 0, to = word.size;
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] == '(' || word.data[i] == ',' || word.data[i] == ' ') from = i + 1;
    while (to > from && word.data[to - 1] == ')') to--;
    uint32_t types = onx_signature_types((onx_str){word.data + from, to - from});
    if (!types) abort();
    for (onx_dtype d = 0; d < 32; d++) {
        if (!(types >> d & 1)) continue;
        if (t->n == TYPE_CELLS) abort();
        char *name = t->names[t->n++];
        (void)snprintf(name, TYPE_NAME, "%.*s=%.*s%s%.*s", (int)variable.size, variable.data,
                       (int)from, word.data, onx_dtype_name(d), (int)(word.size - to),
                       word.data + to);
        plain_type(name);
    }
}

static onx_context *parse(const onx_op *op, onx_arena *arena, onx_signature *s) {
    onx_context *ctx = NULL;
    if (onx_context_new(NULL, &ctx)) abort();
    onx_arena_init(arena, ctx);
    if (onx_signature_parse(op, arena, s, NULL)) abort();
    return ctx;
}

static bool is_used(const onx_signature *s, onx_str variable) {
    bool used = false;
    for (size_t i = 0; i < s->n_inputs; i++) used = used || onx_str_eq(s->inputs[i].type, variable);
    for (size_t i = 0; i < s->n_outputs; i++)
        used = used || onx_str_eq(s->outputs[i].type, variable);
    return used;
}

void type_table_init(type_table *t, const onx_op *op) {
    onx_arena arena;
    onx_signature s;
    onx_context *ctx = parse(op, &arena, &s);
    *t = (type_table){.op = op};
    for (size_t i = 0; i < s.n_constraints; i++) {
        onx_str rest = s.constraints[i].types, word;
        if (!is_used(&s, s.constraints[i].name)) continue;
        while (onx_signature_cut(&rest, '|', &word)) add_word(t, s.constraints[i].name, word);
    }
    onx_arena_fini(&arena);
    onx_context_free(ctx);
}

/* What is new in a version although the attributes and the number of inputs do not show it. */
static const struct {
    const char *name;
    int32_t since;
} changed[] = {
    {"GridSample", 20},         /* other names of modes */
    {"GroupNormalization", 21}, /* scales channels, not groups */
    {"Max", 8},                 /* shapes may differ, from here on */
    {"Mean", 8},
    {"Min", 8},
    {"PRelu", 7},     /* slopes belonged to channels */
    {"RoiAlign", 16}, /* another default of what there was no choice of */
    {"Scan", 9},      /* no batches any more */
    {"Sum", 8},
};

static const onx_attr_decl *find_attr(const onx_signature *s, onx_str name) {
    for (size_t i = 0; i < s->n_attrs; i++)
        if (onx_str_eq(s->attrs[i].name, name)) return &s->attrs[i];
    return NULL;
}

static bool attr_keeps(const onx_attr_decl *was, const onx_signature *is, const onx_node *node) {
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)was->name.size, was->name.data);
    const onx_attr *here = onx_node_attr(node, name);
    if (here) return onx_attr_type_of(here) == was->type;
    if (was->required) return false;
    const onx_attr_decl *now = find_attr(is, was->name);
    return now ? onx_str_eq(now->text, was->text) : was->text.data == NULL;
}

bool type_table_keeps(const onx_op *was, const onx_op *is, const onx_node *node) {
    onx_arena a, b;
    onx_signature s, t;
    bool keeps = true;
    for (size_t i = 0; i < ONX_COUNT(changed); i++)
        if (strcmp(changed[i].name, is->name) == 0 && was->since < changed[i].since) return false;
    onx_context *one = parse(was, &a, &s), *two = parse(is, &b, &t);
    for (size_t i = 0; i < s.n_attrs; i++) keeps = keeps && attr_keeps(&s.attrs[i], &t, node);
    onx_arena_fini(&a), onx_arena_fini(&b);
    onx_context_free(one), onx_context_free(two);
    return keeps;
}

/* What the type variables of a node are. */
typedef struct binding {
    size_t n;
    char names[16][TYPE_NAME];
} binding;

static bool bind(binding *b, const char *name) {
    size_t to_equals = strcspn(name, "=") + 1;
    for (size_t i = 0; i < b->n; i++)
        if (strncmp(b->names[i], name, to_equals) == 0) return strcmp(b->names[i], name) == 0;
    if (b->n < 16) (void)snprintf(b->names[b->n++], TYPE_NAME, "%s", name);
    return true;
}

/* A type that a parameter names itself is no cell, but must be this one. */
static bool cover(type_table *t, binding *b, const onx_inference *inference,
                  const onx_param *params, size_t n, size_t index, onx_value *value) {
    char type[256], variable[TYPE_NAME], name[TYPE_NAME];
    if (!n || (index >= n && !params[n - 1].variadic)) return false;
    const onx_param *p = &params[index < n ? index : n - 1];
    if (!value) return p->optional || p->variadic;
    (void)onx_inference_type(inference, value, type, sizeof type);
    plain_type(type);
    (void)snprintf(variable, sizeof variable, "%.*s", (int)p->type.size, p->type.data);
    (void)snprintf(name, sizeof name, "%.12s=%.50s", variable, type);
    if (!p->heterogeneous && !bind(b, name)) return false;
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->names[i], name) == 0) return t->covered[i] = true;
    plain_type(variable);
    return strcmp(variable, type) == 0;
}

bool type_table_cover(type_table *t, const onx_inference *inference, const onx_node *node) {
    onx_arena arena;
    onx_signature s;
    onx_attr_decl decl;
    onx_context *ctx = parse(t->op, &arena, &s);
    binding b = {0};
    bool ok = true;
    for (const onx_attr *a = onx_node_attr_first(node); a; a = onx_attr_next(a))
        ok = ok && onx_signature_attr(t->op->signature, onx_attr_name(a), &decl);
    for (size_t i = 0; i < onx_node_input_count(node); i++)
        ok = ok && cover(t, &b, inference, s.inputs, s.n_inputs, i, onx_node_input(node, i));
    for (size_t i = 0; i < onx_node_output_count(node); i++)
        ok = ok && cover(t, &b, inference, s.outputs, s.n_outputs, i, onx_node_output(node, i));
    onx_arena_fini(&arena);
    onx_context_free(ctx);
    return ok;
}

size_t type_table_covered(const type_table *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) n += t->covered[i];
    return n;
}
