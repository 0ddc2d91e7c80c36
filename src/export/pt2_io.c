/* pt2_io.c: what a program of torch.export takes and gives: inputs of the user, weights and
 * constants before the walk; results, and what was changed, after it. */
#include "export/pt2_walk.h"

/* ─ Inputs ───────────────────────────────────────────────────────────────────────────────────── */

static bool bind_name(onx_pt2_walk *w, onx_str name, onx_xv v) {
    onx_pt2_arg arg = {.kind = ONX_PT2_NAME, .str = name};
    return onx_x_ok(w->x) && onx_pt2_bind(w, w->program->graph, &arg, v);
}

static bool add_tensor(onx_pt2_walk *w, const char *name, const onx_pt2_tensor *tensor,
                       onx_str own) {
    const onx_sym **sizes = onx_x_array(w->x, tensor->rank + 1, sizeof *sizes);
    if (!sizes || !onx_pt2_input_sizes(w, tensor, name, sizes)) return false;
    if (tensor->dtype->onx == ONX_DTYPE_NONE)
        return onx_x_fail(w->x, ONX_UNSUPPORTED, "input '%s' is of type %s, which ONNX has not",
                          name, tensor->dtype->name.data);
    return bind_name(w, own, onx_x_input(w->x, name, tensor->dtype->onx, tensor->rank, sizes));
}

/* A number of the user: an input of the model, int64 without dimensions. */
static bool add_number(onx_pt2_walk *w, const char *name, onx_str own) {
    onx_xv v = onx_x_input(w->x, name, ONX_DTYPE_I64, 0, NULL);
    if (v.kind != ONX_X_TENSOR) return false;
    return bind_name(w, own, onx_xv_run(ONX_X_INT, v.tensor->value));
}

static bool add_user(onx_pt2_walk *w, size_t i, size_t user) {
    const onx_pt2_arg *arg = &w->program->graph->in[i];
    const char *name = onx_pt2_input_name(w, user, i);
    if (!name) return false;
    if (arg->kind != ONX_PT2_NAME) {
        onx_x_note(w->x, "an input that is not a tensor is fixed to its value at export");
        return true;
    }
    const onx_pt2_tensor *tensor = onx_map_get(&w->program->tensors, w->program->graph, arg->str);
    if (tensor) return add_tensor(w, name, tensor, arg->str);
    if (onx_map_get(&w->program->numbers, w->program->graph, arg->str))
        return add_number(w, name, arg->str);
    return onx_x_fail(w->x, ONX_UNSUPPORTED, "input '%s' is neither a tensor nor an integer", name);
}

static bool add_weight(onx_pt2_walk *w, const onx_pt2_spec *spec, onx_str own) {
    const onx_torch_tensor *tensor = onx_map_get(&w->program->weights, NULL, spec->target);
    onx_str name;
    if (!onx_arena_str(&w->x->arena, spec->target, &name)) return onx_x_nomem(w->x);
    if (tensor) return bind_name(w, own, onx_x_weight(w->x, name.data, tensor));
    onx_x_fail(w->x, ONX_NOT_FOUND, "the archive does not have the tensor '%.*s'",
               ONX_FMT(spec->target));
    onx_x_hint(w->x, "only plain tensors can be read: no subclasses, none of other devices");
    return false;
}

/* The value of a constant input, if it is used, is under its own name. */
static bool add_value(onx_pt2_walk *w, const onx_pt2_spec *spec) {
    if (spec->value.kind != ONX_PT2_NONE)
        onx_x_note(w->x, "input '%.*s' is fixed to its value at export", ONX_FMT(spec->target));
    return bind_name(w, spec->target, onx_pt2_value(w, w->program->graph, &spec->value));
}

static bool add_input(onx_pt2_walk *w, size_t i, size_t *user) {
    const onx_pt2_spec *spec = &w->program->in[i];
    const onx_pt2_arg *arg = &w->program->graph->in[i];
    switch (spec->kind) {
    case ONX_PT2_IN_USER: return add_user(w, i, (*user)++);
    case ONX_PT2_IN_VALUE: return add_value(w, spec);
    case ONX_PT2_IN_OBJECT:
        return onx_x_fail(w->x, ONX_UNSUPPORTED,
                          "'%.*s' is an object of a C++ class (torchbind), which has no tensors",
                          ONX_FMT(spec->target));
    case ONX_PT2_IN_TOKEN:
        return onx_pt2_bind(w, w->program->graph, arg, (onx_xv){.kind = ONX_X_NONE});
    default:
        if (arg->kind != ONX_PT2_NAME)
            return onx_x_fail(w->x, ONX_MALFORMED, "the weight '%.*s' has no value",
                              ONX_FMT(spec->target));
        return add_weight(w, spec, arg->str);
    }
}

bool onx_pt2_inputs(onx_pt2_walk *w) {
    size_t user = 0;
    for (size_t i = 0; i < w->program->n_in; i++)
        if (!add_input(w, i, &user)) return false;
    return onx_x_ok(w->x);
}

/* ─ Outputs ──────────────────────────────────────────────────────────────────────────────────── */

/* "output", "output_0", "logits", "output_0.logits". */
static const char *output_name(onx_pt2_walk *w, const onx_str *leaf, size_t i, size_t n) {
    onx_buf text;
    onx_str copy;
    onx_buf_init(&text, w->x->ctx);
    bool named = leaf && leaf->size;
    if (!named || (leaf->data[0] >= '0' && leaf->data[0] <= '9')) onx_buf_puts(&text, "output");
    if (text.size && (named || n > 1)) onx_buf_putc(&text, '_');
    if (named)
        onx_buf_put(&text, leaf->data, leaf->size);
    else if (n > 1)
        onx_buf_printf(&text, "%zu", i);
    bool ok = !text.failed && onx_arena_str(&w->x->arena, (onx_str){text.data, text.size}, &copy);
    onx_buf_fini(&text);
    return ok ? copy.data : onx_x_nomem(w->x);
}

static bool is_result(const onx_pt2_spec *spec) {
    return spec->kind == ONX_PT2_OUT_USER || spec->kind == ONX_PT2_OUT_LOSS;
}

static bool add_results(onx_pt2_walk *w, size_t *made) {
    const onx_pt2 *p = w->program;
    size_t n = 0, i = 0;
    for (size_t k = 0; k < p->n_out; k++) n += is_result(&p->out[k]);
    const onx_str *leaves = onx_pt2_leaf_names(w->program, true, n);
    for (size_t k = 0; k < p->n_out && onx_x_ok(w->x); k++) {
        if (!is_result(&p->out[k])) continue;
        const char *own = output_name(w, leaves ? &leaves[i] : NULL, i, n);
        onx_xv v = onx_pt2_value(w, p->graph, &p->graph->out[k]);
        i++;
        if (!own || v.kind == ONX_X_UNKNOWN) continue;
        if (v.kind == ONX_X_TENSOR || onx_xv_is_number(&v))
            onx_x_output(w->x, onx_xnames_output(w->names, (*made)++, own), onx_xv_value(w->x, &v));
        else
            onx_x_note(w->x, "result '%s' of the program is not a tensor, and is left out", own);
    }
    return onx_x_ok(w->x);
}

/* What the program changes, and the model does not, unless the user wants it as an output. */
typedef struct changes {
    size_t n[2]; /* of weights, of inputs */
    onx_str first[2];
    size_t *made;
} changes;

static bool add_change(onx_pt2_walk *w, changes *c, bool input, onx_str target, onx_xv v) {
    if (!c->n[input]++) c->first[input] = target;
    if (!w->names || !w->names->mutations || v.kind != ONX_X_TENSOR) return onx_x_ok(w->x);
    onx_buf name;
    onx_buf_init(&name, w->x->ctx);
    onx_buf_printf(&name, "%.*s.out", ONX_FMT(target));
    onx_buf_putc(&name, '\0');
    if (name.failed)
        onx_x_nomem(w->x);
    else
        onx_x_output(w->x, onx_xnames_output(w->names, (*c->made)++, name.data),
                     onx_xt_value(w->x, v.tensor));
    onx_buf_fini(&name);
    return onx_x_ok(w->x);
}

/* Those that the signature names, in functional graphs; those that were written to, in others. */
static bool add_changes(onx_pt2_walk *w, changes *c) {
    const onx_pt2 *p = w->program;
    for (size_t i = 0; i < p->n_out; i++) {
        int kind = p->out[i].kind;
        bool input = kind == ONX_PT2_OUT_INPUT_MUTATION;
        if (!input && kind != ONX_PT2_OUT_BUFFER_MUTATION && kind != ONX_PT2_OUT_PARAMETER_MUTATION)
            continue;
        onx_xv v = onx_pt2_value(w, p->graph, &p->graph->out[i]);
        if (!add_change(w, c, input, p->out[i].target, v)) return false;
    }
    for (size_t i = 0; i < p->n_in; i++) {
        const onx_pt2_arg *arg = &p->graph->in[i];
        if (arg->kind != ONX_PT2_NAME) continue;
        onx_xv v = onx_pt2_value(w, p->graph, arg);
        bool input = p->in[i].kind == ONX_PT2_IN_USER;
        if (v.kind == ONX_X_TENSOR && v.tensor->storage->version &&
            !add_change(w, c, input, input ? arg->str : p->in[i].target, v))
            return false;
    }
    return onx_x_ok(w->x);
}

bool onx_pt2_outputs(onx_pt2_walk *w) {
    size_t made = 0;
    changes c = {.made = &made};
    if (!add_results(w, &made) || !add_changes(w, &c)) return false;
    const char *fate = w->names && w->names->mutations ? "an output of the model each"
                                                       : "the model does not keep that";
    for (size_t i = 0; i < 2; i++)
        if (c.n[i])
            onx_x_note(w->x, "the program changes %zu of its %s ('%.*s'%s): %s", c.n[i],
                       i ? "inputs" : "buffers", ONX_FMT(c.first[i]), c.n[i] > 1 ? " …" : "", fate);
    return onx_x_ok(w->x);
}
