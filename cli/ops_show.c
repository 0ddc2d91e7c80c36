/* ops_show.c: a schema, for people. */
#include "ops.h"

#include <string.h>

static void show_params(const char *title, const onx_schema_param *params, size_t n) {
    if (n) printf("%s\n", title);
    for (size_t i = 0; i < n; i++) {
        const onx_schema_param *p = &params[i];
        printf("  %s: %s", p->name, p->type);
        if (p->variadic)
            printf(", %s%s", p->optional ? "any number" : "one or more",
                   p->heterogeneous ? ", of any types" : "");
        else if (p->optional)
            printf(", optional");
        printf("\n");
    }
}

static void show_attrs(const onx_schema *s) {
    if (s->n_attrs) printf("attributes\n");
    for (size_t i = 0; i < s->n_attrs; i++) {
        const onx_schema_attr *a = &s->attrs[i];
        printf("  %s: %s", a->name, onx_attr_type_name(a->type));
        if (a->value)
            printf(" = %s\n", a->value);
        else
            printf(", %s\n", a->required ? "required" : "optional");
    }
}

/* A word on the line, or on the next one when it is full. */
static void put_word(const char *word, size_t n, size_t *column, size_t indent) {
    if (*column + 1 + n > 100) {
        printf("\n%*s", (int)indent, "");
        *column = indent;
    }
    printf(" %.*s", (int)n, word);
    *column += 1 + n;
}

/* "tensor(float)" is plain "float" here. */
static void show_type(const onx_schema_type *type) {
    int indent = printf("  %s:", type->name);
    size_t column = (size_t)indent;
    for (size_t i = 0; i < type->n; i++) {
        const char *word = type->allowed[i];
        size_t n = strlen(word);
        bool tensor = strncmp(word, "tensor(", 7) == 0;
        put_word(tensor ? word + 7 : word, tensor ? n - 8 : n, &column, (size_t)indent);
    }
    printf("\n");
}

/* The types of the first input that kernels take, of those that it may have. */
static void show_kernels(const onx_schema *s) {
    uint32_t types;
    if (!onx_schema_runs(s, &types)) {
        printf("cannot be run%s\n", s->is_function ? " but as a function" : "");
        return;
    }
    size_t column = (size_t)printf("runs on the cpu");
    const onx_schema_type *type = NULL;
    for (size_t i = 0; s->n_inputs && i < s->n_types; i++)
        if (strcmp(s->types[i].name, s->inputs[0].type) == 0) type = &s->types[i];
    for (size_t i = 0, shown = 0; type && i < type->n; i++)
        for (int d = 1; d < ONX_DTYPE_COUNT; d++) {
            const char *name = onx_dtype_name((onx_dtype)d), *word = type->allowed[i];
            size_t n = strlen(name);
            bool is_it = strlen(word) == n + 8 && strncmp(word, "tensor(", 7) == 0 &&
                         strncmp(word + 7, name, n) == 0;
            if (!is_it || !(types >> d & 1)) continue;
            if (!shown++) column += (size_t)printf(", %s:", s->inputs[0].name);
            put_word(name, n, &column, 4);
        }
    printf("\n");
}

/* The bytes of a node in ONNX text: up to its inputs, or to the attributes behind them. */
static size_t node_size(const char *text) {
    size_t depth = 0, i = 0;
    bool quoted = false, called = false;
    for (; text[i]; i++) {
        char c = text[i];
        if (c == '"') quoted = !quoted;
        if (quoted || (c == '>' && i && text[i - 1] == '=')) continue;
        if (strchr("({[<", c)) depth++;
        if (!strchr(")}]>", c) || !depth || --depth) continue;
        called = called || c == ')';
        if (called && text[i + 1 + strspn(text + i + 1, " \n")] != '<') return i + 1;
    }
    return i;
}

/* A body, one node on a line. */
static void show_function(const onx_schema *s) {
    if (!s->is_function) return;
    printf(s->function ? "function\n" : "a function whose body depends on the node\n");
    for (const char *at = s->function; at && *(at += strspn(at, " \n"));) {
        size_t n = node_size(at);
        printf("  %.*s\n", (int)n, at);
        at += n;
    }
}

void ops_show(const onx_schema *s) {
    printf("%s%s%s-%lld%s\ndomain %s, versions", s->domain, s->domain[0] ? "::" : "", s->name,
           (long long)s->since, s->deprecated ? ", deprecated" : "",
           s->domain[0] ? s->domain : "ai.onnx");
    for (size_t i = 0; i < s->n_versions; i++) printf(" %lld", (long long)s->versions[i]);
    printf("\n");
    show_params("inputs", s->inputs, s->n_inputs);
    show_params("outputs", s->outputs, s->n_outputs);
    show_attrs(s);
    if (s->n_types) printf("types\n");
    for (size_t i = 0; i < s->n_types; i++) show_type(&s->types[i]);
    show_function(s);
    show_kernels(s);
}
