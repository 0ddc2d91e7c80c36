/* inference.c: inference as onx.h has it: facts behind a handle, as texts and numbers. */
#include "base/options.h"
#include "infer/infer_internal.h"

typedef struct onx_inference_hook { /* what is reported on the way to the caller */
    onx_infer_options options;
    onx_diag first;
    size_t reports;
} onx_inference_hook;

struct onx_inference {
    onx_facts *facts;
};

static void hear(void *user, const onx_node *node, const onx_value *value, const onx_diag *diag) {
    (void)node, (void)value;
    onx_inference_hook *hook = user;
    if (hook->reports++ == 0) hook->first = *diag;
    if (hook->options.report) hook->options.report(hook->options.user, diag);
}

onx_status onx_infer_facts(const onx_model *model, const onx_infer_options *options,
                           onx_facts **out, onx_diag *diag) {
    onx_inference_hook hook = {.reports = 0};
    onx_facts *facts = NULL;
    ONX_TRY(ONX_OPTIONS(&hook.options, options, diag));
    if (hook.options.n_sizes && !hook.options.sizes)
        return onx_fail(diag, ONX_USAGE, "sizes are counted, but not given");
    for (size_t i = 0; i < hook.options.n_sizes; i++)
        if (!hook.options.sizes[i].name || hook.options.sizes[i].value < 0)
            return onx_fail(diag, ONX_USAGE, "size %zu has no name, or is negative", i);
    onx_facts_options infer = {.n_sizes = hook.options.n_sizes,
                               .sizes = hook.options.sizes,
                               .report = hear,
                               .user = &hook};
    ONX_TRY(onx_facts_new(model, &infer, &facts, diag));
    if (hook.options.strict && hook.reports) {
        onx_facts_free(facts);
        if (diag) *diag = hook.first;
        return hook.first.status;
    }
    facts->options.report = NULL; /* the hook ends here */
    *out = facts;
    return ONX_OK;
}

onx_status onx_inference_new(const onx_model *model, const onx_infer_options *options,
                             onx_inference **out, onx_diag *diag) {
    if (!model || !out)
        return onx_fail(diag, ONX_USAGE, "onx_inference_new needs a model and a place");
    onx_context *ctx = model->msg.doc->ctx;
    onx_inference *inference = onx_mem_alloc(ctx, sizeof *inference);
    if (!inference) return onx_fail_nomem(diag);
    onx_status status = onx_infer_facts(model, options, &inference->facts, diag);
    if (status)
        onx_mem_free(ctx, inference, sizeof *inference);
    else
        *out = inference;
    return status;
}

void onx_inference_free(onx_inference *inference) {
    if (!inference) return;
    onx_context *ctx = inference->facts->ctx;
    onx_facts_free(inference->facts);
    onx_mem_free(ctx, inference, sizeof *inference);
}

/* ── Asking ──────────────────────────────────────────────────────────────────────────────────── */

static const onx_fact *fact_of(const onx_inference *inference, const onx_value *value) {
    return inference ? onx_facts_of(inference->facts, value) : &onx_fact_none;
}

static const onx_sym *dim_of(const onx_inference *inference, const onx_value *value, size_t index) {
    const onx_fact *fact = fact_of(inference, value);
    return fact->ranked && index < fact->rank ? fact->dims[index] : NULL;
}

onx_type_kind onx_inference_kind(const onx_inference *inference, const onx_value *value) {
    return fact_of(inference, value)->kind;
}

onx_dtype onx_inference_dtype(const onx_inference *inference, const onx_value *value) {
    return fact_of(inference, value)->dtype;
}

bool onx_inference_has_shape(const onx_inference *inference, const onx_value *value) {
    return fact_of(inference, value)->ranked;
}

size_t onx_inference_rank(const onx_inference *inference, const onx_value *value) {
    const onx_fact *fact = fact_of(inference, value);
    return fact->ranked ? fact->rank : 0;
}

typedef struct search {
    const onx_facts *facts;
    bool found;
} search;

static void look(void *user, const onx_sym *name) {
    search *s = user;
    s->found |= onx_facts_unknown(s->facts, name);
}

onx_extent_kind onx_sym_extent(const onx_facts *facts, const onx_sym *sym) {
    int64_t ignored;
    search s = {facts, !sym};
    if (onx_sym_is_int(sym, &ignored)) return ONX_EXTENT_NUMBER;
    onx_sym_names(sym, look, &s);
    return s.found ? ONX_EXTENT_UNKNOWN : ONX_EXTENT_SYMBOLIC;
}

onx_extent_kind onx_inference_dim_kind(const onx_inference *inference, const onx_value *value,
                                       size_t index) {
    const onx_sym *sym = dim_of(inference, value, index);
    return sym ? onx_sym_extent(inference->facts, sym) : ONX_EXTENT_UNKNOWN;
}

int64_t onx_inference_dim(const onx_inference *inference, const onx_value *value, size_t index) {
    int64_t size;
    return onx_sym_is_int(dim_of(inference, value, index), &size) ? size : -1;
}

static onx_buf empty(const onx_inference *inference) {
    onx_buf text;
    onx_buf_init(&text, inference ? inference->facts->ctx : onx_context_or_default(NULL));
    return text;
}

size_t onx_inference_dim_text(const onx_inference *inference, const onx_value *value, size_t index,
                              char *out, size_t size) {
    onx_buf text = empty(inference);
    onx_sym_print(dim_of(inference, value, index), &text);
    return onx_buf_give(&text, out, size);
}

size_t onx_inference_type(const onx_inference *inference, const onx_value *value, char *out,
                          size_t size) {
    onx_buf text = empty(inference);
    onx_fact_print(fact_of(inference, value), &text);
    return onx_buf_give(&text, out, size);
}

size_t onx_inference_elements(const onx_inference *inference, const onx_value *value, char *out,
                              size_t size) {
    const onx_fact *fact = fact_of(inference, value);
    onx_buf text = empty(inference);
    for (size_t i = 0; fact->elems && i < fact->n_elems; i++) {
        if (i) onx_buf_puts(&text, ", ");
        onx_sym_print(fact->elems[i], &text);
    }
    return onx_buf_give(&text, out, size);
}

size_t onx_inference_why(const onx_inference *inference, const onx_value *value, size_t index,
                         char *out, size_t size) {
    onx_buf text = empty(inference);
    if (inference && value) onx_facts_why(inference->facts, value, index, &text);
    return onx_buf_give(&text, out, size);
}
