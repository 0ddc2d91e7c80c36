/* control.c: If, Loop, Scan: meaning. What is known of a value that is carried from one iteration
 * to the next is what stays true through all of them. */
#include "ops/control/control.h"

bool onx_body_find(const onx_node *node, const char *name, onx_body *out) {
    size_t which = 0;
    ONX_EACH (onx_attr, attr, node->attribute) {
        if (onx_attr_type_of(attr) != ONX_ATTR_GRAPH || !attr->g) continue;
        if (onx_str_is(attr->name, name)) {
            *out = (onx_body){attr->g, which, onx_graph_input_count(attr->g),
                              onx_graph_output_count(attr->g)};
            return true;
        }
        which++;
    }
    return false;
}

const onx_type *onx_body_in_type(const onx_body *body, size_t index) {
    return index < body->n_in ? onx_value_type(onx_graph_input(body->graph, index)) : NULL;
}

const onx_type *onx_body_out_type(const onx_body *body, size_t index) {
    return index < body->n_out ? onx_value_type(onx_graph_output(body->graph, index)) : NULL;
}

size_t onx_body_scalar_rank(const onx_body *body, size_t index) {
    const onx_type *type = onx_body_in_type(body, index);
    return type && onx_type_has_shape(type) && onx_type_rank(type) == 1;
}

/* ─ If ───────────────────────────────────────────────────────────────────────────────────────── */

/* Facts about the outputs of one branch: as many as the node has, in the arena. */
static onx_status branch_facts(onx_infer *in, const char *name, onx_fact **out) {
    size_t n = onx_infer_n_out(in);
    onx_body body;
    if (!onx_body_find(onx_infer_node(in), name, &body))
        return onx_infer_fail(in, "attribute '%s' is missing", name);
    if (body.n_in != 0)
        return onx_infer_fail(in, "'%s' has %zu inputs; it must have none", name, body.n_in);
    if (body.n_out < n)
        return onx_infer_fail(in, "'%s' has %zu outputs, but the node has %zu", name, body.n_out,
                              n);
    *out = onx_arena_array(onx_infer_arena(in), n ? n : 1, sizeof **out);
    if (!*out) return ONX_NO_MEMORY;
    return onx_infer_graph(in, body.graph, 0, NULL, n, *out);
}

/* The branch that is always taken. */
static onx_status infer_chosen(onx_infer *in, const char *taken, const char *other) {
    onx_fact *facts = NULL;
    onx_body body;
    ONX_TRY(branch_facts(in, taken, &facts));
    for (size_t i = 0; i < onx_infer_n_out(in); i++) *onx_infer_out(in, i) = facts[i];
    return onx_body_find(onx_infer_node(in), other, &body) ? onx_infer_unreached(in, body.graph)
                                                           : ONX_OK;
}

/* Conditions and numbers of iterations are scalars, or lists of one. */
static onx_status check_single(onx_infer *in, size_t index) {
    const onx_fact *fact = onx_infer_in(in, index);
    int64_t size;
    for (size_t i = 0; fact->ranked && i < fact->rank; i++)
        if (onx_sym_is_int(fact->dims[i], &size) && size != 1)
            return onx_infer_fail(in, "dimension %zu of input %zu is %lld; it must be 1, or none",
                                  i, index, (long long)size);
    return ONX_OK;
}

static onx_status infer_if(onx_infer *in) {
    static const char yes_name[] = "then_branch", no_name[] = "else_branch";
    const onx_fact *condition = onx_infer_in(in, 0);
    onx_fact *yes = NULL, *no = NULL;
    int64_t taken;
    ONX_TRY(check_single(in, 0));
    if (condition->n_elems == 1 && onx_sym_is_int(condition->elems[0], &taken))
        return taken ? infer_chosen(in, yes_name, no_name) : infer_chosen(in, no_name, yes_name);
    ONX_TRY(branch_facts(in, yes_name, &yes));
    ONX_TRY(branch_facts(in, no_name, &no));
    for (size_t i = 0; i < onx_infer_n_out(in); i++) {
        onx_infer_lost(in, i, ONX_LOST_SHAPE, "the branches do not give the same");
        ONX_TRY(onx_infer_one_type(in, "of the branches, output", i, &yes[i], &no[i]));
        ONX_TRY(onx_infer_union(in, &yes[i], &no[i], NULL));
        *onx_infer_out(in, i) = yes[i];
    }
    return ONX_OK;
}

/* ─ Bodies that are run again and again ──────────────────────────────────────────────────────── */

/* Facts of loops inside loops are looked for again in every round: no more rounds than these, and
 * none below that depth. */
enum { ROUNDS = 3, DEPTH = 3 };

typedef struct rounds {
    onx_body body;
    onx_fact *ins, *outs;    /* body.n_in, body.n_out of them */
    const onx_fact **as_ins; /* pointers to ins; NULL: as declared */
    size_t shift, n_carried; /* outs[i] goes to ins[shift + i] */
} rounds;

static onx_status rounds_new(onx_infer *in, const char *name, rounds *out) {
    onx_arena *arena = onx_infer_arena(in);
    if (!onx_body_find(onx_infer_node(in), name, &out->body))
        return onx_infer_fail(in, "attribute '%s' is missing", name);
    out->ins = onx_arena_array(arena, out->body.n_in + 1, sizeof *out->ins);
    out->outs = onx_arena_array(arena, out->body.n_out + 1, sizeof *out->outs);
    out->as_ins = onx_arena_array(arena, out->body.n_in + 1, sizeof *out->as_ins);
    return out->ins && out->outs && out->as_ins ? ONX_OK : ONX_NO_MEMORY;
}

static size_t rounds_allowed(const onx_graph *graph) {
    size_t depth = 0;
    while ((graph = onx_graph_outer(graph))) depth++;
    return depth <= DEPTH ? ROUNDS : 0;
}

/* Of what is carried, only kind and element type are sure to stay. */
static void forget(onx_fact *fact) {
    onx_fact kept = {.kind = fact->kind, .dtype = fact->dtype};
    *fact = fact->kind == ONX_TYPE_TENSOR ? kept : (onx_fact){0};
}

/* Go through the body until what it carries no longer changes. */
static onx_status rounds_run(onx_infer *in, rounds *r) {
    size_t last = rounds_allowed(r->body.graph);
    bool changed = true;
    for (size_t round = 0; changed && round <= last; round++) {
        for (size_t i = 0; round == last && i < r->n_carried; i++) forget(&r->ins[r->shift + i]);
        for (size_t i = 0; i < r->body.n_in; i++)
            r->as_ins[i] = r->ins[i].kind == ONX_TYPE_NONE ? NULL : &r->ins[i];
        ONX_TRY(
            onx_infer_graph(in, r->body.graph, r->body.n_in, r->as_ins, r->body.n_out, r->outs));
        changed = false;
        for (size_t i = 0; i < r->n_carried; i++) {
            onx_fact *carried = &r->ins[r->shift + i];
            ONX_TRY(onx_infer_one_type(in, "the value carried by body output", i, carried,
                                       &r->outs[i]));
            ONX_TRY(onx_infer_union(in, carried, &r->outs[i], &changed));
        }
    }
    return ONX_OK;
}

/* Output `index` of the node: `fact` stacked `size` times along a new axis. */
static onx_status stacked(onx_infer *in, size_t index, const onx_fact *fact, int64_t axis,
                          const onx_sym *size) {
    size_t rank = fact->rank + 1, at;
    if (fact->kind != ONX_TYPE_TENSOR) return ONX_OK;
    if (!fact->ranked) return onx_infer_unranked(in, index, fact->dtype);
    if (!onx_axis(axis, rank, &at))
        return onx_infer_fail(in, "axis %lld of output %zu is out of range for rank %zu",
                              (long long)axis, index, rank);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < rank; i++) dims[i] = i == at ? size : fact->dims[i < at ? i : i - 1];
    return onx_infer_tensor(in, index, fact->dtype, rank, dims);
}

/* ─ Loop ─────────────────────────────────────────────────────────────────────────────────────── */

/* Body: (counter, condition, carried…) -> (condition, carried…, scan outputs…). */
static onx_status loop_check(onx_infer *in, const onx_body *body, size_t n) {
    if (body->n_in != n + 2 || body->n_out < n + 1)
        return onx_infer_fail(in,
                              "the body has %zu inputs and %zu outputs; with %zu carried values it "
                              "must have %zu inputs and at least %zu outputs",
                              body->n_in, body->n_out, n, n + 2, n + 1);
    if (onx_infer_n_out(in) > body->n_out - 1)
        return onx_infer_fail(in, "the node has %zu outputs, but its body gives %zu",
                              onx_infer_n_out(in), body->n_out - 1);
    return ONX_OK;
}

/* The number of iterations, if nothing but M ends the loop. */
static const onx_sym *loop_trips(onx_infer *in, const onx_fact *cond) {
    const onx_fact *m = onx_infer_in(in, 0);
    int64_t value;
    bool endless = cond->n_elems == 1 && onx_sym_is_int(cond->elems[0], &value) && value != 0;
    if (m->n_elems != 1 || (onx_infer_has_in(in, 1) && !endless)) return NULL;
    onx_syms *syms = onx_infer_syms(in);
    return onx_sym_max(syms, m->elems[0], onx_sym_int(syms, 0));
}

static onx_fact scalar(onx_infer *in, onx_dtype dtype, size_t rank) {
    onx_fact fact = {.kind = ONX_TYPE_TENSOR, .dtype = dtype, .ranked = true, .rank = rank};
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), 1, sizeof *dims);
    if (!dims) return (onx_fact){0};
    dims[0] = onx_sym_int(onx_infer_syms(in), 1);
    fact.dims = dims;
    return fact;
}

static onx_status infer_loop(onx_infer *in) {
    size_t n = onx_infer_n_in(in) > 2 ? onx_infer_n_in(in) - 2 : 0;
    rounds r = {.shift = 1, .n_carried = n + 1};
    ONX_TRY(rounds_new(in, "body", &r));
    ONX_TRY(loop_check(in, &r.body, n));
    for (size_t i = 0; i < 2 && i < onx_infer_n_in(in); i++) ONX_TRY(check_single(in, i));
    r.ins[0] = scalar(in, ONX_DTYPE_I64, onx_body_scalar_rank(&r.body, 0));
    r.ins[1] = onx_infer_has_in(in, 1)
                   ? *onx_infer_in(in, 1)
                   : scalar(in, ONX_DTYPE_BOOL, onx_body_scalar_rank(&r.body, 1));
    for (size_t i = 0; i < n; i++) r.ins[2 + i] = *onx_infer_in(in, 2 + i);
    ONX_TRY(rounds_run(in, &r));
    const onx_sym *trips = loop_trips(in, &r.ins[1]);
    for (size_t i = 0; i < onx_infer_n_out(in); i++)
        if (i < n)
            *onx_infer_out(in, i) = r.ins[2 + i];
        else
            ONX_TRY(stacked(in, i, &r.outs[1 + i], 0, trips));
    return ONX_OK;
}

/* ─ Scan ─────────────────────────────────────────────────────────────────────────────────────── */

/* Body: (states…, slices…) -> (states…, scan outputs…). */
static onx_status scan_check(onx_infer *in, const onx_body *body, size_t n_all, int64_t n_scan) {
    if (n_scan < 1 || (uint64_t)n_scan > n_all)
        return onx_infer_fail(in, "num_scan_inputs is %lld, with %zu inputs", (long long)n_scan,
                              n_all);
    size_t n_states = n_all - (size_t)n_scan;
    if (body->n_in != n_all || body->n_out < n_states)
        return onx_infer_fail(in,
                              "the body has %zu inputs and %zu outputs; it must have %zu inputs "
                              "and at least %zu outputs",
                              body->n_in, body->n_out, n_all, n_states);
    if (onx_infer_n_out(in) > body->n_out)
        return onx_infer_fail(in, "the node has %zu outputs, but its body gives %zu",
                              onx_infer_n_out(in), body->n_out);
    return ONX_OK;
}

/* Attributes with an entry for each scan input or output have that many, or are not there. */
static onx_status scan_entries(onx_infer *in, const char *name, size_t needed) {
    size_t n;
    (void)onx_op_ints(onx_infer_node(in), name, &n);
    if (n == 0 || n == needed) return ONX_OK;
    return onx_infer_fail(in, "%s has %zu entries; it needs %zu", name, n, needed);
}

/* `fact` without one of its sizes, which all that are sliced share. */
static onx_status slice(onx_infer *in, onx_fact *fact, int64_t axis, onx_extent *size) {
    onx_fact kept = {.kind = fact->kind, .dtype = fact->dtype};
    size_t at;
    if (fact->ranked) {
        if (!onx_axis(axis, fact->rank, &at))
            return onx_infer_fail(in, "axis %lld of a scan input is out of range for rank %zu",
                                  (long long)axis, fact->rank);
        const onx_sym **dims = onx_arena_array(onx_infer_arena(in), fact->rank, sizeof *dims);
        if (!dims) return ONX_NO_MEMORY;
        kept.ranked = true;
        kept.dims = dims;
        for (size_t i = 0; i < fact->rank; i++)
            if (i != at) dims[kept.rank++] = fact->dims[i];
        ONX_TRY(onx_infer_meet(in, size, fact->dims[at]));
    }
    *fact = kept;
    return ONX_OK;
}

static int64_t axis_at(const onx_infer *in, const char *name, size_t index) {
    size_t n;
    const int64_t *axes = onx_op_ints(onx_infer_node(in), name, &n);
    return index < n ? axes[index] : 0;
}

static onx_status infer_scan(onx_infer *in) {
    size_t n_all = onx_infer_n_in(in);
    int64_t n_scan = onx_infer_int(in, "num_scan_inputs");
    rounds r = {0};
    onx_extent length = {"length of the sequences", NULL};
    ONX_TRY(rounds_new(in, "body", &r));
    ONX_TRY(scan_check(in, &r.body, n_all, n_scan));
    size_t n_states = r.n_carried = n_all - (size_t)n_scan, n_outs = r.body.n_out - n_states;
    ONX_TRY(scan_entries(in, "scan_input_axes", (size_t)n_scan));
    ONX_TRY(scan_entries(in, "scan_input_directions", (size_t)n_scan));
    ONX_TRY(scan_entries(in, "scan_output_axes", n_outs));
    ONX_TRY(scan_entries(in, "scan_output_directions", n_outs));
    for (size_t i = 0; i < n_all; i++) {
        r.ins[i] = *onx_infer_in(in, i);
        if (i >= n_states)
            ONX_TRY(slice(in, &r.ins[i], axis_at(in, "scan_input_axes", i - n_states), &length));
    }
    ONX_TRY(rounds_run(in, &r));
    for (size_t i = 0; i < onx_infer_n_out(in); i++)
        if (i < n_states)
            *onx_infer_out(in, i) = r.ins[i];
        else
            ONX_TRY(stacked(in, i, &r.outs[i], axis_at(in, "scan_output_axes", i - n_states),
                            length.size));
    return ONX_OK;
}

/* Scan 8 has a batch: every state is [batch, …], every scan input and output [batch, length, …]. */
static onx_status infer_scan8(onx_infer *in) {
    size_t n_all = onx_infer_n_in(in) ? onx_infer_n_in(in) - 1 : 0;
    int64_t n_scan = onx_infer_int(in, "num_scan_inputs");
    rounds r = {0};
    onx_extent batch = {"batch size", NULL}, length = {"length of the sequences", NULL};
    ONX_TRY(rounds_new(in, "body", &r));
    ONX_TRY(scan_check(in, &r.body, n_all, n_scan));
    size_t n_states = r.n_carried = n_all - (size_t)n_scan;
    for (size_t i = 0; i < n_all; i++) {
        r.ins[i] = *onx_infer_in(in, 1 + i);
        ONX_TRY(slice(in, &r.ins[i], 0, &batch));
        if (i >= n_states) ONX_TRY(slice(in, &r.ins[i], 0, &length));
    }
    ONX_TRY(rounds_run(in, &r));
    for (size_t i = 0; i < onx_infer_n_out(in); i++) {
        const onx_fact *fact = i < n_states ? &r.ins[i] : &r.outs[i];
        ONX_TRY(stacked(in, i, fact, 0, i < n_states ? batch.size : length.size));
        if (i >= n_states) ONX_TRY(stacked(in, i, onx_infer_out(in, i), 0, batch.size));
    }
    return ONX_OK;
}

#define IF "(cond:B) -> (outputs**:V) {else_branch:graph, then_branch:graph} "
#define LOOP1 "(M?:I, cond?:B, v_initial**:V) -> (v_final_and_scan_outputs**:V) {body:graph} "
#define LOOP "(M?:I, cond?:B, v_initial?**:V) -> (v_final_and_scan_outputs**:V) {body:graph} "
#define SCAN                                                                                       \
    "(initial_state_and_scan_inputs**:V) -> (final_state_and_scan_outputs**:V) "                   \
    "{scan_input_axes?:ints, scan_output_axes?:ints, scan_output_directions?:ints, "               \
    "scan_input_directions?:ints, num_scan_inputs:int, body:graph} "
#define SCAN8                                                                                      \
    "(sequence_lens?:I, initial_state_and_scan_inputs**:V) -> (final_state_and_scan_outputs**:V) " \
    "{directions?:ints, num_scan_inputs:int, body:graph} "
#define VALUES(all) "V:" all "|seq(" all ")|optional(seq(all13))|optional(" all ")"
#define IF_ROW(since, types)                                                                       \
    { "If", since, IF "[" types ", B:bool]", .infer = infer_if }
#define LOOP_ROW(since, types)                                                                     \
    { "Loop", since, LOOP "[" types ", I:int64, B:bool]", .infer = infer_loop }
#define SCAN_ROW(since, all)                                                                       \
    { "Scan", since, SCAN "[V:" all "]", .infer = infer_scan }

extern onx_op_rows onx_ops_control;
onx_op_rows onx_ops_control = {
    IF_ROW(1, "V:all1"),
    IF_ROW(11, "V:all1"),
    IF_ROW(13, "V:all1|seq(all1)"),
    IF_ROW(16, VALUES("all13")),
    IF_ROW(19, VALUES("all19")),
    IF_ROW(21, VALUES("all21")),
    IF_ROW(23, VALUES("all23")),
    IF_ROW(24, VALUES("all24")),
    IF_ROW(25, VALUES("all25")),
    {"Loop", 1, LOOP1 "[V:all1, I:int64, B:bool]", .infer = infer_loop},
    LOOP_ROW(11, "V:all1"),
    LOOP_ROW(13, "V:all1|seq(all1)"),
    LOOP_ROW(16, VALUES("all13")),
    LOOP_ROW(19, VALUES("all19")),
    LOOP_ROW(21, VALUES("all21")),
    LOOP_ROW(23, VALUES("all23")),
    LOOP_ROW(24, VALUES("all24")),
    LOOP_ROW(25, VALUES("all25")),
    {"Scan", 8, SCAN8 "[I:int64, V:all1]", .infer = infer_scan8},
    SCAN_ROW(9, "all1"),
    SCAN_ROW(11, "all1"),
    SCAN_ROW(16, "all13"),
    SCAN_ROW(19, "all19"),
    SCAN_ROW(21, "all21"),
    SCAN_ROW(23, "all23"),
    SCAN_ROW(24, "all24"),
    SCAN_ROW(25, "all25"),
    {0},
};
