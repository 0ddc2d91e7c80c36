/* turns.h: transpositions that change places with what follows them:
 *
 *     op(Transpose(x)) = Transpose(op'(x))
 *
 * turns.c decides where that pays; turn_rules.c knows which operators can, and how op' differs. */
#ifndef ONX_TURNS_H
#define ONX_TURNS_H

#include "pass/pass.h"

/* Dimension i of the result is dimension at[i] of what goes in. */
typedef struct onx_turn {
    size_t n;
    uint8_t at[ONX_RANK_MAX];
} onx_turn;

/* How an operator takes a turned input. */
typedef enum onx_turn_way {
    ONX_TURN_NOT,  /* it must be turned */
    ONX_TURN_PASS, /* its result is turned instead */
    ONX_TURN_END,  /* its result is the same */
} onx_turn_way;

/* `is_turned` tells it of the inputs that would come unturned. */
onx_turn_way onx_turn_way_of(const onx_pass_ctx *ctx, const onx_node *node, const onx_turn *turn,
                             bool (*is_turned)(const void *user, const onx_value *value),
                             const void *user);
/* A node before `node` that does the same with unturned inputs: in[i] is what input i is then;
 * NULL: it is not turned, so constants have to be. */
onx_status onx_turn_remake(onx_pass_ctx *ctx, onx_node *node, const onx_turn *turn,
                           onx_value *const *in, onx_value **out) ONX_MUST_CHECK;

#endif
