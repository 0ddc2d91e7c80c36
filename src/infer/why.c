/* why.c: where sizes, ranks and types stopped being known, and the way from there to a value.
 *
 * Every size that nothing is known about has a name of its own, "?7", and a record of the place
 * where it arose (onx_loss). An expression that has ?7 in it leads there, through any number of
 * nodes. */
#include "infer/infer_internal.h"
#include "ir/edit.h"

#include <stdio.h>

static const onx_str no_name = {NULL, 0};

struct onx_excuse {
    onx_excuse *next;
    size_t output, dim;
    const char *reason;
};

/* ── Recording ───────────────────────────────────────────────────────────────────────────────── */

static const char *keep_text(onx_facts *facts, const char *fmt, va_list args) {
    char text[300];
    onx_str kept;
    vsnprintf(text, sizeof text, fmt, args);
    bool done = onx_arena_str(&facts->arena, onx_str_of(text), &kept);
    facts->failed |= !done;
    return done ? kept.data : "memory ran out";
}

static const char *sentence(onx_facts *facts, const char *fmt, ...) ONX_PRINTF(2, 3);
static const char *sentence(onx_facts *facts, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const char *text = keep_text(facts, fmt, args);
    va_end(args);
    return text;
}

void onx_infer_lost(onx_infer *in, size_t output, size_t dim, const char *fmt, ...) {
    onx_excuse *excuse = onx_arena_alloc(&in->facts->arena, sizeof *excuse);
    if (!excuse) {
        in->facts->failed = true;
        return;
    }
    va_list args;
    va_start(args, fmt);
    *excuse = (onx_excuse){in->excuses, output, dim, keep_text(in->facts, fmt, args)};
    va_end(args);
    in->excuses = excuse;
}

const char *onx_infer_in_name(const onx_infer *in, size_t index) {
    return index < in->node->input.n ? onx_str_z(in->node->input.v[index]) : "";
}

/* What the operator said; its last word counts. */
static const char *said(const onx_infer *in, size_t output, size_t dim) {
    for (const onx_excuse *e = in->excuses; e; e = e->next)
        if (e->output == output && (e->dim == dim || e->dim == ONX_LOST_SHAPE)) return e->reason;
    return NULL;
}

/* An integer tensor that a shape could come from, with elements that are not known. */
static bool lacks_elems(const onx_fact *fact) {
    bool list = fact->kind == ONX_TYPE_TENSOR && fact->ranked && fact->rank < 2;
    bool whole = fact->dtype == ONX_DTYPE_I64 || fact->dtype == ONX_DTYPE_I32;
    if (!list || !whole || fact->constant) return false;
    for (size_t i = 0; fact->elems && i < fact->n_elems; i++)
        if (!fact->elems[i]) return true;
    return !fact->elems;
}

/* The input that has too little known about it for the operator to say more. */
static void blame_input(const onx_infer *in, onx_loss *loss) {
    onx_facts *facts = in->facts;
    for (size_t i = 0; i < in->n_in; i++) {
        if (!onx_node_input(in->node, i) || in->ins[i]->ranked) continue;
        if (in->ins[i]->kind > ONX_TYPE_TENSOR) continue;
        loss->cause = onx_node_input(in->node, i);
        loss->reason = sentence(facts, "the %s of '%.100s' is not known",
                                in->ins[i]->kind ? "rank" : "type", onx_infer_in_name(in, i));
        return;
    }
    for (size_t i = in->n_in; i-- > 0;) {
        if (!onx_node_input(in->node, i) || !lacks_elems(in->ins[i])) continue;
        loss->cause = onx_node_input(in->node, i);
        loss->data = true;
        loss->reason =
            sentence(facts, "it depends on what '%.100s' holds", onx_infer_in_name(in, i));
        return;
    }
    loss->reason = "it is not followed through this operator, or is too long an expression";
}

static void explain_node(const onx_infer *in, onx_loss *loss) {
    const onx_node *node = in->node;
    size_t output = loss->value ? loss->value->def_index : 0;
    loss->node = node;
    loss->reason = said(in, output, loss->dim);
    if (loss->reason) return;
    if (in->mistake)
        loss->reason = sentence(in->facts, "the node cannot be right: %.200s", in->mistake);
    else if (!in->op)
        loss->reason =
            sentence(in->facts, "nothing is known about the operator '%.*s%s%.*s'",
                     ONX_FMT(node->domain), node->domain.size ? "::" : "", ONX_FMT(node->op_type));
    else if (!in->op->infer)
        loss->reason = "nothing is known about the results of this operator";
    else
        blame_input(in, loss);
}

static const char *input_reason(onx_facts *facts, const onx_value *value, size_t dim) {
    const onx_node *owner = value ? onx_graph_owner(value->graph) : NULL;
    if (owner)
        return sentence(facts, "it need not be the same every time that '%.*s' runs",
                        ONX_FMT(owner->op_type));
    return dim == ONX_LOST_SHAPE ? "it is declared without a shape"
                                 : "it is declared without a size";
}

onx_loss *onx_loss_new(onx_facts *facts, const onx_infer *in, const onx_value *value, size_t dim) {
    onx_loss *loss = onx_arena_alloc(&facts->arena, sizeof *loss);
    if (!loss) return NULL;
    *loss = (onx_loss){.value = value, .dim = dim};
    if (in)
        explain_node(in, loss);
    else
        loss->reason = input_reason(facts, value, dim);
    return loss;
}

/* ── The way back ────────────────────────────────────────────────────────────────────────────── */

enum { WAY = 100000, SHOWN = 20 }; /* steps that are gone, and those that are told */

static bool any_has(size_t n, const onx_sym *const *syms, const onx_sym *name) {
    for (size_t i = 0; i < n; i++)
        if (onx_sym_has(syms[i], name)) return true;
    return false;
}

bool onx_fact_has(const onx_fact *fact, const onx_sym *name) {
    return any_has(fact->ranked ? fact->rank : 0, fact->dims, name) ||
           any_has(fact->elems ? fact->n_elems : 0, fact->elems, name);
}

static const onx_value *in_outputs(const onx_facts *facts, const onx_graph *graph,
                                   const onx_sym *name) {
    for (size_t i = 0; graph && i < graph->outs.n; i++)
        if (onx_fact_has(onx_facts_of(facts, graph->outs.v[i]->value), name))
            return graph->outs.v[i]->value;
    return NULL;
}

/* The value before this one that has the size, too: of an input of its node, of an output of a
 * graph inside it, or of an input of the node around it. */
static const onx_value *before(const onx_facts *facts, const onx_value *value,
                               const onx_sym *name) {
    const onx_node *node = value->def ? value->def : onx_graph_owner(value->graph);
    if (!node) return NULL;
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *input = onx_node_input(node, i);
        if (input && onx_fact_has(onx_facts_of(facts, input), name)) return input;
    }
    if (!value->def) return NULL;
    ONX_EACH (onx_attr, attr, node->attribute) {
        const onx_value *inner = in_outputs(facts, attr->g, name);
        if (inner) return inner;
    }
    return NULL;
}

static void print_step(const onx_value *value, onx_buf *out) {
    onx_str name = value->name;
    const onx_node *node = value->def;
    onx_buf_printf(out, "'%.*s'", ONX_FMT(name));
    if (!node) {
        onx_buf_puts(out, value->graph->outer ? ", an input of the graph" : ", an input");
        return;
    }
    onx_buf_printf(out, ", from %.*s", ONX_FMT(node->op_type));
    if (node->name.size) onx_buf_printf(out, " '%.*s'", ONX_FMT(node->name));
}

/* How the elements of a value come about: back to where they are data. */
static void print_data(const onx_facts *facts, const onx_value *value, onx_buf *out) {
    for (size_t steps = 0; value && steps < SHOWN; steps++) {
        const onx_node *node = value->def;
        const onx_value *next = NULL;
        onx_buf_puts(out, "  ");
        print_step(value, out);
        onx_buf_puts(out, ": what it holds is known only when the model runs\n");
        for (size_t i = 0; node && i < node->input.n && !next; i++) {
            const onx_value *input = onx_node_input(node, i);
            if (input && lacks_elems(onx_facts_of(facts, input))) next = input;
        }
        value = next;
    }
}

static void print_loss(const onx_facts *facts, const onx_loss *loss, onx_buf *out) {
    for (size_t steps = 0; loss && steps < SHOWN; steps++) {
        onx_buf_puts(out, "  ");
        if (loss->value) print_step(loss->value, out);
        onx_buf_printf(out, ": %s\n", loss->reason);
        if (loss->data) print_data(facts, loss->cause, out);
        loss =
            loss->data || !loss->cause ? NULL : onx_map_get(&facts->losses, loss->cause, no_name);
    }
}

typedef struct way {
    const onx_facts *facts;
    const onx_value *value;
    onx_buf *out;
    const onx_sym *told[SHOWN]; /* sizes that were explained */
    size_t n_told;
} way;

static bool is_told(way *w, const onx_sym *name) {
    for (size_t i = 0; i < w->n_told; i++)
        if (w->told[i] == name) return true;
    if (w->n_told == SHOWN) return true;
    w->told[w->n_told++] = name;
    return false;
}

/* One unknown size in an expression. */
static void explain_name(void *user, const onx_sym *name) {
    way *w = user;
    const onx_loss *loss = onx_map_get(&w->facts->unknown, name, no_name);
    const onx_value *value = w->value;
    size_t steps = 0;
    if (!loss || is_told(w, name)) return;
    onx_sym_print(name, w->out);
    onx_buf_puts(w->out, ":\n");
    for (; value && value != loss->value && steps < WAY; steps++) {
        if (steps < SHOWN) {
            onx_buf_puts(w->out, "  ");
            print_step(value, w->out);
            onx_buf_putc(w->out, '\n');
        }
        value = before(w->facts, value, name);
    }
    if (steps > SHOWN) onx_buf_printf(w->out, "  … through %zu more\n", steps - SHOWN);
    print_loss(w->facts, loss, w->out);
}

bool onx_facts_unknown(const onx_facts *facts, const onx_sym *sym) {
    return !sym || onx_map_get(&facts->unknown, sym, no_name);
}

void onx_facts_why(const onx_facts *facts, const onx_value *value, size_t dim, onx_buf *out) {
    const onx_fact *fact = onx_facts_of(facts, value);
    way w = {.facts = facts, .value = value, .out = out};
    if (dim == ONX_LOST_SHAPE && onx_fact_is_open(fact))
        print_loss(facts, onx_map_get(&facts->losses, value, no_name), out);
    else if (fact->ranked && dim < fact->rank && !fact->dims[dim])
        onx_buf_puts(out, "  too many sizes are not known for each to be followed\n");
    else if (fact->ranked && dim < fact->rank)
        onx_sym_names(fact->dims[dim], explain_name, &w);
}
