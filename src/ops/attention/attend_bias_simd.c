/* attend_bias_simd.c: biases of attention as floats in the order of its scores, [key][lane], once
 * for all heads and batches that share them. */
#include "cpu/turn.h"
#include "ops/attention/attend_job_simd.h"

enum { SPAN = 64 }; /* keys that are turned at once */

/* Keys first … first + n - 1 of a row of a bias, as floats. */
static void read_bias(const onx_fused_bias *bias, int64_t b, int64_t h, int64_t row, int64_t first,
                      size_t n, float *to) {
    int64_t at = ((b * bias->n[1] + h) * bias->n[2] + row) * bias->n[3];
    if (bias->n[3] == 1) {
        float x = onx_fused_bias_at(bias, b, h, row, 0);
        for (size_t i = 0; i < n; i++) to[i] = x;
    } else if (bias->mode == ONX_ATTEND_ADD) {
        memcpy(to, (const float *)bias->operand->data + at + first, n * sizeof *to);
    } else {
        const uint8_t *from = (const uint8_t *)bias->operand->data + at + first;
        bool keep = bias->mode != ONX_ATTEND_FILL_TRUE;
        for (size_t i = 0; i < n; i++) to[i] = (from[i] != 0) == keep ? 0 : bias->fill;
    }
}

typedef struct turning {
    const onx_attend_job *j;
    size_t which;
} turning;

/* LANES rows of the bias of one head, or its only one. */
static onx_status turn_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call;
    const turning *t = user;
    const onx_fused_bias *bias = &t->j->bias[t->which];
    size_t keys = (size_t)t->j->plan->p.keys, lanes = t->j->plan->bias_lanes[t->which];
    size_t blocks = lanes > 1 ? lanes / LANES : 1;
    int64_t matrix = (int64_t)(index / blocks), first = (int64_t)(index % blocks) * LANES;
    size_t rows = least(LANES, (size_t)(bias->n[2] - first));
    float *to = t->j->turned[t->which] + (size_t)matrix * keys * lanes + first, *from = scratch;
    int64_t b = matrix / bias->n[1], h = matrix % bias->n[1];
    memset(from, 0, LANES * SPAN * sizeof *from);
    for (size_t key = 0; key < keys; key += SPAN) {
        size_t n = least(SPAN, keys - key);
        for (size_t i = 0; i < rows; i++)
            read_bias(bias, b, h, first + (int64_t)i, (int64_t)key, n, from + i * SPAN);
        if (lanes > 1)
            onx_turn(to + key * lanes, lanes, from, SPAN, LANES, n);
        else
            memcpy(to + key, from, n * sizeof *to);
    }
    return ONX_OK;
}

onx_status ONX_TIER(onx_attend_turn)(onx_call *call, onx_attend_job *j) {
    const onx_attend_plan *plan = call->plan;
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        if (!j->bias[i].operand) continue;
        turning t = {j, i};
        j->turned[i] = (float *)call->scratch + plan->bias_at[i];
        size_t blocks = plan->bias_lanes[i] > 1 ? plan->bias_lanes[i] / LANES : 1;
        size_t n = (size_t)(j->bias[i].n[0] * j->bias[i].n[1]) * blocks;
        ONX_TRY(onx_call_parallel(call, n, turn_task, &t));
    }
    return ONX_OK;
}
