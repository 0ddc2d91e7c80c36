/* ops_json.c: schemas as JSON, with the names that ONNX gives to what they hold. */
#include "json.h"
#include "ops.h"

#include <stdlib.h>
#include <string.h>

/* How few and how many values there can be, as ONNX counts them: a variadic parameter wants those
 * before it. */
static void put_counts(json *j, const char *least, const char *most, const onx_schema_param *params,
                       size_t n) {
    int64_t min = 0, max = 0;
    for (size_t i = 0; i < n; i++) {
        const onx_schema_param *p = &params[i];
        max = p->variadic ? INT32_MAX : (int64_t)i + 1;
        if (p->variadic || !p->optional) min = (int64_t)i + !p->optional;
    }
    json_number(j, least, min);
    json_number(j, most, max);
}

static void put_params(json *j, const char *key, const onx_schema_param *params, size_t n) {
    json_open(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        const onx_schema_param *p = &params[i];
        json_open(j, NULL, '{');
        json_string(j, "name", p->name);
        json_string(j, "type", p->type);
        json_string(j, "option", p->variadic ? "Variadic" : p->optional ? "Optional" : "Single");
        json_bool(j, "homogeneous", !p->heterogeneous);
        json_number(j, "min", p->variadic && p->optional ? 0 : 1);
        json_close(j);
    }
    json_close(j);
}

/* The texts of lists and integers are JSON as they stand. */
static void put_default(json *j, const onx_schema_attr *attr) {
    char text[64];
    if (attr->type == ONX_ATTR_STRING) {
        size_t n = strlen(attr->value);
        char *inside = malloc(n);
        if (inside) snprintf(inside, n, "%.*s", (int)n - 2, attr->value + 1);
        json_string(j, "default", inside ? inside : "");
        free(inside);
    } else if (attr->type == ONX_ATTR_FLOAT) {
        snprintf(text, sizeof text, "%.17g", (double)strtof(attr->value, NULL));
        json_raw(j, "default", text);
    } else {
        json_raw(j, "default", attr->value);
    }
}

static void put_attrs(json *j, const onx_schema *s) {
    json_open(j, "attributes", '[');
    for (size_t i = 0; i < s->n_attrs; i++) {
        char type[32];
        size_t n = 0;
        const char *name = onx_attr_type_name(s->attrs[i].type);
        for (; name[n] && n + 1 < sizeof type; n++)
            type[n] = name[n] >= 'a' && name[n] <= 'z' ? (char)(name[n] - 32) : name[n];
        type[n] = '\0';
        json_open(j, NULL, '{');
        json_string(j, "name", s->attrs[i].name);
        json_string(j, "type", type);
        json_bool(j, "required", s->attrs[i].required);
        if (s->attrs[i].value) put_default(j, &s->attrs[i]);
        json_close(j);
    }
    json_close(j);
}

static void put_types(json *j, const onx_schema *s) {
    json_open(j, "types", '[');
    for (size_t i = 0; i < s->n_types; i++) {
        json_open(j, NULL, '{');
        json_string(j, "name", s->types[i].name);
        json_open(j, "allowed", '[');
        for (size_t k = 0; k < s->types[i].n; k++) json_string(j, NULL, s->types[i].allowed[k]);
        json_close(j), json_close(j);
    }
    json_close(j);
}

static void put_schema(json *j, const onx_schema *s) {
    json_open(j, NULL, '{');
    json_string(j, "domain", s->domain[0] ? s->domain : "ai.onnx");
    json_string(j, "name", s->name);
    json_number(j, "since", s->since);
    json_bool(j, "deprecated", s->deprecated);
    put_counts(j, "min_input", "max_input", s->inputs, s->n_inputs);
    put_counts(j, "min_output", "max_output", s->outputs, s->n_outputs);
    put_params(j, "inputs", s->inputs, s->n_inputs);
    put_params(j, "outputs", s->outputs, s->n_outputs);
    put_attrs(j, s);
    put_types(j, s);
    json_bool(j, "has_function", s->function != NULL);
    json_bool(j, "has_context_function", s->is_function && !s->function);
    json_bool(j, "has_inference", s->infers);
    json_bool(j, "has_kernel", onx_schema_runs(s, NULL));
    if (s->function) json_string(j, "function", s->function);
    json_close(j);
}

void ops_json(const onx_schema *schema) {
    json j;
    json_begin(&j, stdout);
    json_open(&j, NULL, '[');
    put_schema(&j, schema);
    json_close(&j);
}

int ops_json_all(void) {
    json j;
    onx_op_info op;
    int status = CLI_OK;
    json_begin(&j, stdout);
    json_open(&j, NULL, '[');
    for (size_t i = 0; onx_op_info_at(i, &op) && status == CLI_OK; i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        const onx_schema *schema = NULL;
        if (strcmp(op.domain, "onx.internal") == 0) continue;
        if (onx_schema_find(NULL, op.domain, op.name, op.since, &schema, &diag) == ONX_OK)
            put_schema(&j, schema);
        else
            status = cli_fail(&cli_ops, &diag);
        onx_schema_free(schema);
    }
    json_close(&j);
    return status;
}
