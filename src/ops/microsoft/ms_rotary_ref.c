/* ms_rotary_ref.c: RotaryEmbedding of com.microsoft: plain kernel. Positions are one number, of the
 * first place, or one for each; the size of a head may follow from the caches. */
#include "ops/attention/rotary_ref.h"
#include "ops/microsoft/microsoft_ref.h"

onx_status onx_ms_rotary_init(onx_call *call) {
    onx_rotary_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->heads = onx_call_int(call, "num_heads");
    st->turned = onx_call_int(call, "rotary_embedding_dim");
    st->alternate = onx_call_int(call, "interleaved") == 1;
    if (st->heads < 0 || st->turned < 0 || (st->turned && !st->heads))
        return onx_call_fail(call, ONX_INVALID,
                             "num_heads and rotary_embedding_dim must not be negative, and the "
                             "second needs the first");
    return ONX_OK;
}

static onx_status bind_heads(const onx_call *call, onx_rotary_plan *p) {
    const onx_rotary_state *st = call->state;
    const onx_operand *x = call->in[0], *cosines = call->in[2];
    const int64_t *d = x->dims;
    if (x->rank == 4) {
        *p = (onx_rotary_plan){d[0], d[1], d[2], d[3], 0, 0};
        return ONX_OK;
    }
    if (x->rank != 3)
        return onx_call_fail(call, ONX_INVALID, "the input has %u dimensions; it needs 3 or 4",
                             (unsigned)x->rank);
    int64_t width = cosines->dims[1];
    bool counted = st->heads > 0;
    if (counted ? d[2] % st->heads != 0 : width < 1 || width > d[2] / 2 || d[2] % (2 * width))
        return onx_call_fail(call, ONX_INVALID, "a width of %lld is not that of %s",
                             (long long)d[2], counted ? "num_heads heads" : "heads of the caches");
    int64_t heads = counted ? st->heads : d[2] / (2 * width);
    *p = (onx_rotary_plan){d[0], heads, d[1], d[2] / heads, 0, 0};
    return ONX_OK;
}

onx_status onx_ms_rotary_bind(onx_call *call) {
    const onx_rotary_state *st = call->state;
    const onx_operand *places = call->in[1], *c = call->in[2], *s = call->in[3];
    onx_rotary_plan *p = call->plan;
    ONX_TRY(onx_bind_same(call));
    *p = (onx_rotary_plan){0};
    if (!call->in[0]->count) return ONX_OK;
    if (c->rank != 2 || s->rank != 2 || c->dims[0] != s->dims[0] || c->dims[1] != s->dims[1])
        return onx_call_fail(call, ONX_INVALID,
                             "cos_cache and sin_cache need two dimensions, the same");
    ONX_TRY(bind_heads(call, p));
    bool one = places->rank < 2 && places->count == 1;
    if (!one && (places->rank != 2 || places->dims[0] != p->batch || places->dims[1] != p->length))
        return onx_call_fail(call, ONX_INVALID,
                             "position_ids needs one element, or one for each place");
    p->turned = st->turned ? st->turned : p->head;
    p->rows = c->dims[0];
    ONX_TRY(onx_rotary_check(call, p->head, p->turned, c->dims[1]));
    return onx_rotary_scratch(call, p->head);
}

static int64_t place(const onx_rotary *r, int64_t b, int64_t s) {
    const onx_operand *places = r->more;
    if (places->rank == 2) return onx_operand_int(places, b * r->length + s);
    int64_t first = onx_operand_int(places, 0);
    return first < 0 || first >= r->rows ? first : first + s;
}

onx_status onx_ms_rotary_run(onx_call *call) {
    if (!call->out[0]->count) return ONX_OK;
    return onx_rotary_run_plan(call, 2, place, call->in[1]);
}
