/* export_script.c: TorchScript programs: what their inputs are, and what they give.
 *
 * The types of inputs come from the caller, or from what the program was traced with. A dimension
 * is dynamic where the caller names it; the others are fixed, which is reported. */
#include "base/number.h"
#include "export/exporting.h"
#include "export/interp.h"
#include "export/told.h"
#include "export/torch_tensor.h"

/* ─ Types from the caller ────────────────────────────────────────────────────────────────────── */

typedef struct input_type {
    onx_dtype dtype;
    size_t rank;
    const onx_sym *dims[ONX_RANK_MAX];
} input_type;

/* "float[batch,3]" */
static bool parse_type(onx_export *x, const char *text, input_type *out) {
    char name[32];
    size_t n = strcspn(text, "[");
    if (n >= sizeof name) return false;
    memcpy(name, text, n);
    name[n] = '\0';
    *out = (input_type){.dtype = onx_dtype_from_name(name)};
    if (!out->dtype) return false;
    if (!text[n]) return true;
    const char *at = text + n + 1;
    for (; *at && *at != ']'; at += *at == ',') {
        size_t size = strcspn(at, ",]");
        int64_t number;
        if (out->rank == ONX_RANK_MAX) return false;
        const onx_sym *dim = onx_sym_parse(x->syms, (onx_str){at, size});
        if (!dim || (onx_sym_is_int(dim, &number) && number < 0)) return false;
        out->dims[out->rank++] = dim;
        at += size;
    }
    return at[0] == ']' && !at[1];
}

static bool type_of_sample(onx_export *x, const onx_torch_tensor *sample, input_type *out) {
    const onx_torch_dtype_info *info = onx_torch_dtype_of(sample->dtype);
    if (!info || !info->onx || sample->rank > ONX_RANK_MAX) return false;
    *out = (input_type){.dtype = info->onx, .rank = sample->rank};
    for (size_t i = 0; i < sample->rank; i++) out->dims[i] = onx_sym_int(x->syms, sample->dims[i]);
    return true;
}

/* The value of an argument that is no tensor: "3", "0.5", "true", "none", or a text. */
static onx_xv parse_value(onx_export *x, onx_str text) {
    int64_t i;
    double f;
    if (onx_str_is(text, "none") || onx_str_is(text, "None")) return (onx_xv){.kind = ONX_X_NONE};
    if (onx_str_is(text, "true") || onx_str_is(text, "True")) return onx_xv_bool(x, true);
    if (onx_str_is(text, "false") || onx_str_is(text, "False")) return onx_xv_bool(x, false);
    if (onx_parse_i64(text, &i)) return onx_xv_int(x, i);
    if (onx_parse_f64(text, &f)) return onx_xv_float(f);
    return onx_xv_str(text);
}

/* ─ Inputs ───────────────────────────────────────────────────────────────────────────────────── */

/* What it is, or perhaps is. */
static onx_script_type_kind kind_of(const onx_interp_arg *arg) {
    onx_script_type type = onx_script_type_of(arg->type);
    if ((type.kind == ONX_PY_OPTIONAL || type.kind == ONX_PY_FINAL) && type.n)
        type = onx_script_type_of(type.items[0]);
    return type.kind;
}
static bool is_tensor(const onx_interp_arg *arg) {
    return kind_of(arg) == ONX_PY_TENSOR || kind_of(arg) == ONX_PY_ANY;
}
static bool is_number(const onx_interp_arg *arg) {
    onx_script_type_kind kind = kind_of(arg);
    return kind == ONX_PY_INT || kind == ONX_PY_FLOAT || kind == ONX_PY_BOOL ||
           kind == ONX_PY_NUMBER;
}

/* As it is written; trees of types are shallow. */
static void print_type(const onx_script_expr *type, onx_buf *out) {
    if (!type) return;
    onx_buf_put(out, type->text.data, type->text.size);
    for (uint32_t i = 0; i < type->n; i++) {
        onx_buf_puts(out, i == 0 ? "" : type->kind == ONX_EXPR_INDEX ? "[" : ", ");
        print_type(type->items[i], out);
    }
    if (type->kind == ONX_EXPR_INDEX) onx_buf_putc(out, ']');
}

/* E9: nothing is known about an input; the sentence shows them all. */
static onx_status fail_untyped(onx_exporting *e, onx_interp *in, size_t at) {
    onx_buf text;
    onx_buf_init(&text, e->x.ctx);
    for (size_t i = 0; i < onx_interp_input_count(in); i++) {
        const onx_interp_arg *arg = onx_interp_input(in, i);
        if (i) onx_buf_puts(&text, ", ");
        onx_buf_printf(&text, "%.*s: ", ONX_FMT(arg->name));
        print_type(arg->type, &text);
        if (arg->optional) onx_buf_puts(&text, " (may be left out)");
    }
    const onx_interp_arg *arg = onx_interp_input(in, at);
    onx_x_fail(&e->x, ONX_USAGE,
               "the type and shape of input '%.*s' are not known: forward takes (%.*s)",
               ONX_FMT(arg->name), ONX_FMT(((onx_str){text.data, text.size})));
    onx_x_hint(&e->x, "say it: --input-shape %.*s=1x3x224x224:f32, or --sample-inputs DIR",
               ONX_FMT(arg->name));
    onx_buf_fini(&text);
    return e->x.status;
}

/* Dimensions that the caller named, and a word about the others. */
static void name_dims(onx_exporting *e, const char *name, input_type *type) {
    onx_export *x = &e->x;
    size_t fixed = 0;
    onx_buf text;
    onx_buf_init(&text, x->ctx);
    onx_buf_printf(&text, "%s is %s", name, onx_dtype_name(type->dtype));
    for (size_t i = 0; i < type->rank; i++) {
        int64_t number;
        const char *size = onx_xnames_size(&e->names, name, i, type->rank);
        if (size) type->dims[i] = onx_sym_name(x->syms, onx_str_of(size));
        fixed += type->dims[i] && onx_sym_is_int(type->dims[i], &number);
        onx_buf_putc(&text, i ? ',' : '[');
        onx_sym_print(type->dims[i], &text);
    }
    if (type->rank) onx_buf_putc(&text, ']');
    onx_buf_putc(&text, '\0');
    if (fixed && !text.failed) onx_x_fix(x, text.data);
    onx_buf_fini(&text);
}

/* What the caller says about an input: under its name, or at its place. */
static const char *given_type(const onx_exporting *e, size_t at, const char *own,
                              const char *name) {
    for (size_t i = 0; i < e->options.n_inputs; i++) {
        const onx_export_input *input = &e->options.inputs[i];
        if (input->name ? !strcmp(input->name, own) || !strcmp(input->name, name) : i == at)
            return input->type;
    }
    return NULL;
}

/* Every input that the caller speaks of must be there. */
static onx_status check_given(onx_exporting *e, onx_interp *in) {
    for (size_t k = 0; k < e->options.n_inputs; k++) {
        const char *name = e->options.inputs[k].name;
        bool found = !name;
        for (size_t i = 0; i < onx_interp_input_count(in) && !found; i++)
            found = onx_str_is(onx_interp_input(in, i)->name, name) ||
                    !strcmp(onx_xnames_input(&e->names, i, ""), name);
        if (!found) onx_x_fail(&e->x, ONX_USAGE, "there is no input '%s'", name);
    }
    return e->x.status;
}

static onx_status make_input(onx_exporting *e, onx_interp *in, size_t i, onx_xv *out) {
    const onx_interp_arg *arg = onx_interp_input(in, i);
    input_type type;
    onx_str own;
    *out = (onx_xv){.kind = ONX_X_OTHER};
    if (!onx_arena_str(&e->x.arena, arg->name, &own)) return onx_fail_nomem(&e->x.diag);
    const char *name = onx_xnames_input(&e->names, i, own.data);
    const char *given = given_type(e, i, own.data, name);
    if (given && is_number(arg) && parse_type(&e->x, given, &type) && !type.rank) {
        onx_xv input = onx_x_input(&e->x, name, type.dtype, 0, type.dims);
        if (onx_x_ok(&e->x)) *out = onx_x_item(&e->x, input.tensor);
        return e->x.status;
    }
    if (given && (!is_tensor(arg) || !strcmp(given, "none"))) {
        *out = parse_value(&e->x, onx_str_of(given));
        if (is_number(arg) && onx_xv_is(out, ONX_X_STR)) {
            onx_x_fail(&e->x, ONX_USAGE, "'%s' is no number: input '%s'", given, name);
            onx_x_hint(&e->x, "give its value, %s=3, or its type, %s=int64[], for an input", name,
                       name);
        }
        return e->x.status;
    }
    if (given ? !parse_type(&e->x, given, &type)
              : !arg->sample || !type_of_sample(&e->x, arg->sample, &type)) {
        if (!given && arg->optional) return ONX_OK;
        if (!given) return fail_untyped(e, in, i);
        onx_x_fail(&e->x, ONX_USAGE, "'%s' is not a type: input '%s'", given, name);
        onx_x_hint(&e->x, "write it as float[batch,3,224,224]");
        return e->x.status;
    }
    name_dims(e, name, &type);
    *out = onx_x_input(&e->x, name, type.dtype, type.rank, type.dims);
    return e->x.status;
}

/* ─ Outputs ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status make_outputs(onx_exporting *e, onx_interp *in) {
    onx_export *x = &e->x;
    size_t own_count = onx_interp_output_count(in);
    size_t n = own_count + (e->names.mutations ? onx_interp_write_count(in) : 0);
    for (size_t i = 0; i < n && onx_x_ok(x); i++) {
        const onx_interp_result *result =
            i < own_count ? onx_interp_output(in, i) : onx_interp_write(in, i - own_count);
        onx_str own;
        if (!onx_arena_str(&x->arena, result->name, &own)) return onx_fail_nomem(&x->diag);
        onx_x_output(x, onx_xnames_output(&e->names, i, own.data), onx_xv_value(x, &result->value));
    }
    if (e->names.n_outputs > n)
        onx_x_fail(x, ONX_USAGE, "%zu names for %zu outputs", e->names.n_outputs, n);
    return x->status;
}

onx_status onx_export_script(onx_exporting *e) {
    onx_interp *in = onx_interp_open(&e->x, e->archive);
    onx_interp_expect(in, e->options.n_inputs);
    size_t n = in ? onx_interp_input_count(in) : 0;
    onx_xv *values = in ? onx_x_array(&e->x, n + 1, sizeof *values) : NULL;
    onx_status status = values ? ONX_OK : e->x.status;
    if (!status && e->names.n_inputs > n)
        onx_x_fail(&e->x, ONX_USAGE, "%zu names for %zu inputs", e->names.n_inputs, n);
    if (!status) status = check_given(e, in);
    for (size_t i = 0; i < n && !status && onx_x_ok(&e->x); i++)
        status = make_input(e, in, i, &values[i]);
    if (!status && onx_x_ok(&e->x)) onx_interp_run(in, values);
    if (!status && onx_x_ok(&e->x)) onx_x_check_missing(&e->x);
    if (!status && onx_x_ok(&e->x)) status = make_outputs(e, in);
    onx_interp_close(in);
    return status ? status : e->x.status;
}
