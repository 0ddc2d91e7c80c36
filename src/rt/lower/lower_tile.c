/* lower_tile.c: chains and trees of elementwise nodes to one onx.internal::Tile.
 *
 * A group grows from its last node backwards. A node joins when every use of its output is in the
 * group, and when that output is sure to have the shape of the group's result: what is smaller and
 * broadcast later would be computed again and again. */
#include "rt/lower/lower.h"

static const onx_tile_member *find_member(const onx_tile_group *group, const onx_node *node) {
    for (size_t i = 0; i < group->n; i++)
        if (group->members[i].node == node) return &group->members[i];
    return NULL;
}

static size_t rank_of(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    return fact->ranked ? fact->rank : 0;
}

/* May the constant of one element stand in the program itself? Not where it makes the rank. */
static bool is_inline(const onx_pass_ctx *ctx, const onx_node *node, const onx_value *value,
                      float *number) {
    size_t rank;
    if (!onx_lower_scalar(ctx, value, number, &rank)) return false;
    for (size_t i = 0; i < node->input.n && rank > 0; i++) {
        const onx_value *other = onx_node_input(node, i);
        if (other && !onx_pass_constant(ctx, other) && rank_of(ctx, other) >= rank) rank = 0;
    }
    return rank == 0;
}

/* The operand for an input of a member; ONX_TILE_ABSENT: it is absent; false: there is no room. */
static bool operand_of(onx_tile_group *group, const onx_node *node, onx_value *value,
                       uint8_t *operand) {
    onx_tile_program *p = &group->program;
    const onx_tile_member *member = value && value->def ? find_member(group, value->def) : NULL;
    float number;
    *operand = member ? member->value : ONX_TILE_ABSENT;
    if (member || !value) return true;
    if (is_inline(group->ctx, node, value, &number)) {
        *operand = onx_tile_const(p, number);
        return *operand != ONX_TILE_ABSENT;
    }
    size_t at = 0;
    while (at < p->n_in && group->in[at] != value) at++;
    if (at == ONX_TILE_INPUTS) return false;
    if (at == p->n_in) group->in[p->n_in++] = value;
    *operand = (uint8_t)at;
    return true;
}

static bool emit(onx_tile_group *group, onx_tile_member *member) {
    uint8_t operands[ONX_TILE_INPUTS];
    const onx_node *node = member->node;
    for (size_t i = 0; i < node->input.n; i++)
        if (!operand_of(group, node, onx_node_input(node, i), &operands[i])) return false;
    return onx_tile_add(&group->program, member->form, member->op, node, node->input.n, operands,
                        &member->value);
}

/* The program of the members there are. */
static bool build(onx_tile_group *group) {
    group->program = (onx_tile_program){0};
    for (size_t i = group->n; i > 0; i--)
        if (!emit(group, &group->members[i - 1])) return false;
    return group->program.n_in > 0;
}

static bool has_one_element(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    if (fact->kind != ONX_TYPE_TENSOR || !fact->ranked) return false;
    for (size_t i = 0; i < fact->rank; i++) {
        int64_t dim;
        if (!fact->dims[i] || !onx_sym_is_int(fact->dims[i], &dim) || dim != 1) return false;
    }
    return true;
}

static onx_dtype dtype_of(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    const onx_tensor *constant = onx_pass_constant(ctx, value);
    if (constant) return onx_tensor_dtype(constant);
    return fact->kind == ONX_TYPE_TENSOR ? fact->dtype : ONX_DTYPE_NONE;
}

static bool takes_inputs(const onx_pass_ctx *ctx, const onx_tile_member *member) {
    const onx_node *node = member->node;
    uint32_t scalars = member->form->scalars;
    if (node->input.n > ONX_TILE_INPUTS) return false;
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *value = onx_node_input(node, i);
        float number;
        size_t rank;
        if (!value) continue;
        if (!onx_tile_form_takes(member->form, i, dtype_of(ctx, value))) return false;
        if ((scalars >> i & 1) && !onx_lower_scalar(ctx, value, &number, &rank) &&
            !has_one_element(ctx, value))
            return false;
    }
    return true;
}

static bool member_init(const onx_pass_ctx *ctx, onx_node *node, onx_tile_member *member) {
    const onx_op *op = onx_pass_op(ctx, node);
    const onx_tile_form *form = op ? onx_tile_form_of(op, node) : NULL;
    const onx_value *out = onx_node_output(node, 0);
    *member = (onx_tile_member){node, op, form, ONX_TILE_ABSENT};
    return form && node->output.n == 1 && out && dtype_of(ctx, out) == onx_tile_form_gives(form) &&
           takes_inputs(ctx, member);
}

bool onx_tile_group_init(onx_tile_group *group, const onx_pass_ctx *ctx, onx_node *node) {
    group->ctx = ctx;
    group->n = 1;
    return member_init(ctx, node, &group->members[0]) && build(group);
}

/* Does the output of the node have the shape of its input `value`, whatever that is? */
static bool keeps_shape(const onx_pass_ctx *ctx, const onx_node *node, const onx_value *value) {
    const onx_fact *fact = onx_pass_fact(ctx, value);
    if (onx_pass_same_shape(fact, onx_pass_fact(ctx, onx_node_output(node, 0)))) return true;
    for (size_t i = 0; i < node->input.n; i++) {
        const onx_value *other = onx_node_input(node, i);
        float number;
        size_t rank;
        if (!other || other == value) continue;
        if (!onx_lower_scalar(ctx, other, &number, &rank) || rank > rank_of(ctx, value))
            return false;
    }
    return true;
}

static bool only_group_uses(const onx_tile_group *group, const onx_value *value) {
    onx_use use = {0};
    while (onx_value_use_next(value, &use))
        if (!find_member(group, use.node)) return false;
    return !onx_pass_held(group->ctx, value); /* last: it looks at every use */
}

/* The node that computes `value`, an input of `user`, joins if it can. */
static void join(onx_tile_group *group, const onx_node *user, const onx_value *value) {
    onx_node *node = value ? value->def : NULL;
    if (!node || node->graph != user->graph || group->n == ONX_TILE_CODE) return;
    if (find_member(group, node) || !only_group_uses(group, value)) return;
    if (!keeps_shape(group->ctx, user, value)) return;
    if (!member_init(group->ctx, node, &group->members[group->n])) return;
    group->n++;
    if (!build(group)) group->n--;
}

static onx_status fuse(onx_pass_ctx *ctx, onx_tile_group *group) {
    onx_node *node = group->members[0].node;
    onx_tile_program *program = &group->program;
    if (!build(group)) return ONX_OK;
    onx_tile_shorten(program);
    ONX_TRY(onx_pass_remake(ctx, node, ONX_INTERNAL "::Tile", program->n_in, group->in));
    if (onx_tile_put(program, node)) return onx_fail_nomem(ctx->diag);
    for (size_t i = 1; i < group->n; i++) ONX_TRY(onx_pass_remove(ctx, group->members[i].node));
    return ONX_OK;
}

extern onx_pass_fn onx_lower_tile;
onx_status onx_lower_tile(onx_pass_ctx *ctx, onx_graph *graph) {
    if (!onx_lower_has(ctx, "Tile")) return ONX_OK;
    onx_tile_group *group = onx_arena_alloc(&ctx->arena, sizeof *group);
    if (!group) return onx_fail_nomem(ctx->diag);
    for (onx_node *node = onx_graph_node_last(graph); node; node = onx_node_prev(node)) {
        if (!onx_tile_group_init(group, ctx, node)) continue;
        for (size_t i = 0; i < group->n; i++) {
            const onx_node *user = group->members[i].node;
            for (size_t k = 0; k < user->input.n; k++) join(group, user, onx_node_input(user, k));
        }
        if (group->n > 1) ONX_TRY(fuse(ctx, group));
    }
    return ONX_OK;
}
