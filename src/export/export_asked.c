/* export_asked.c: names, types and dynamic axes that the caller asks for: checked before the
 * export, for what makes no sense, and after it, for what did not come out so. A name that cannot
 * be given is an error; a size that is not called as it was asked to be is told. */
#include "export/exporting.h"
#include "ir/ir.h"

#include <string.h>

/* ─ Before ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status check_axis(const onx_export_axis *axes, size_t i, onx_diag *diag) {
    const onx_export_axis *a = &axes[i];
    if (!a->name || !a->size)
        return onx_fail(diag, ONX_USAGE, "dynamic axis %zu has no name, or its size has none", i);
    char first = a->size[0];
    if (!first || (first >= '0' && first <= '9') || first == '-' || strchr(a->size, ' ')) {
        onx_fail(diag, ONX_USAGE, "dynamic axis %lld of '%s' is called '%s', which is no name",
                 (long long)a->axis, a->name, a->size);
        onx_diag_hint(diag, "a size of any number has a name, as batch; a fixed one is a number in "
                            "--input-shape");
        return ONX_USAGE;
    }
    for (size_t k = 0; k < i; k++)
        if (axes[k].axis == a->axis && strcmp(axes[k].name, a->name) == 0)
            return onx_fail(diag, ONX_USAGE,
                            "dynamic axis %lld of '%s' has two names, '%s' and '%s'",
                            (long long)a->axis, a->name, axes[k].size, a->size);
    return ONX_OK;
}

/* Name `i` of the inputs and, behind them, of the outputs. */
static const char *name_at(const onx_export_options *o, size_t i) {
    const char *name =
        i < o->n_input_names ? o->input_names[i] : o->output_names[i - o->n_input_names];
    return name && *name ? name : NULL;
}

static onx_status check_given_once(const onx_export_options *o, size_t i, onx_diag *diag) {
    for (size_t k = 0; k < i; k++)
        if (o->inputs[i].name && o->inputs[k].name &&
            strcmp(o->inputs[i].name, o->inputs[k].name) == 0)
            return onx_fail(diag, ONX_USAGE, "the type of input '%s' is given twice",
                            o->inputs[i].name);
    return ONX_OK;
}

static onx_status check_domain(const char *domain, onx_diag *diag) {
    if (domain && onx_domain_plain(onx_str_of(domain)).size) return ONX_OK;
    onx_fail(diag, ONX_USAGE, "a version of ai.onnx is given as that of a domain of lowerings");
    onx_diag_hint(diag, "say --opset N");
    return ONX_USAGE;
}

onx_status onx_export_check_asked(const onx_export_options *o, onx_diag *diag) {
    size_t n = o->n_input_names + o->n_output_names;
    for (size_t i = 0; i < o->n_axes; i++) ONX_TRY(check_axis(o->axes, i, diag));
    for (size_t i = 0; i < o->n_inputs; i++) ONX_TRY(check_given_once(o, i, diag));
    for (size_t i = 0; i < o->n_opsets; i++) ONX_TRY(check_domain(o->opsets[i].domain, diag));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (name_at(o, i) && name_at(o, k) && strcmp(name_at(o, i), name_at(o, k)) == 0)
                return onx_fail(diag, ONX_USAGE, "the name '%s' is given twice: names must differ",
                                name_at(o, i));
    return ONX_OK;
}

/* ─ After ────────────────────────────────────────────────────────────────────────────────────── */

static void check_names(onx_export *x, const char *what, size_t n, const char *const *names,
                        bool input) {
    for (size_t i = 0; i < n; i++) {
        if (!names[i] || !*names[i]) continue;
        const onx_value *value = onx_graph_find(x->model->graph, names[i]);
        if (value && (input ? value->input != NULL : value->output != NULL)) continue;
        onx_x_fail(x, ONX_USAGE, "the name '%s' is for %s %zu, %s", names[i], what, i,
                   value ? "and something else in the program has it: take another"
                         : "and there are not so many");
    }
}

static void check_size(onx_export *x, const onx_export_axis *asked) {
    const onx_value *value = onx_graph_find(x->model->graph, asked->name);
    if (!value || (!value->input && !value->output)) {
        onx_x_fail(x, ONX_USAGE, "a dynamic axis of '%s': no input or output has that name",
                   asked->name);
        return;
    }
    const onx_fact *fact = onx_facts_of(x->facts, value);
    size_t axis;
    if (!fact->ranked) return;
    if (!onx_axis(asked->axis, fact->rank, &axis)) {
        onx_x_fail(x, ONX_USAGE, "dynamic axis %lld of '%s': it has %zu dimensions",
                   (long long)asked->axis, asked->name, fact->rank);
        return;
    }
    onx_buf text;
    onx_buf_init(&text, x->ctx);
    if (fact->dims[axis]) onx_sym_print(fact->dims[axis], &text);
    onx_buf_putc(&text, '\0');
    int64_t number;
    bool fixed = fact->dims[axis] && onx_sym_is_int(fact->dims[axis], &number);
    if (!text.failed && text.size > 1 && strcmp(text.data, asked->size) != 0 &&
        !(fixed && value->input))
        onx_x_note(x, "dimension %zu of '%s' is %s, and is not called '%s'", axis, asked->name,
                   text.data, asked->size);
    onx_buf_fini(&text);
}

onx_status onx_export_check_given(onx_exporting *e) {
    const onx_export_options *o = &e->options;
    e->x.where = (onx_str){"", 0}; /* it is about no line of the program */
    check_names(&e->x, "input", o->n_input_names, o->input_names, true);
    check_names(&e->x, "output", o->n_output_names, o->output_names, false);
    for (size_t i = 0; i < o->n_axes && onx_x_ok(&e->x); i++) check_size(&e->x, &o->axes[i]);
    return e->x.status;
}
