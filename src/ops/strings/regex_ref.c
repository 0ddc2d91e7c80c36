/* regex_ref.c: RegexFullMatch: base/regex.h for each string. */
#include "base/regex.h"
#include "ops/strings/texts_ref.h"

typedef struct regex_state {
    const onx_regex *regex;
} regex_state;

onx_status onx_regex_match_init(onx_call *call) {
    regex_state *state = onx_call_state(call, sizeof *state);
    onx_str pattern = onx_call_string(call, "pattern");
    if (!state) return onx_fail_nomem(call->diag);
    if (!onx_op_has(call->node, "pattern"))
        return onx_call_fail(call, ONX_INVALID, "there is no pattern");
    onx_status status = onx_regex_compile(call->arena, pattern, &state->regex, call->diag);
    if (status != ONX_INVALID || !call->diag) return status;
    char why[sizeof call->diag->message];
    memcpy(why, call->diag->message, sizeof why);
    return onx_call_fail(call, status, "the pattern is wrong: %s", why);
}

onx_status onx_regex_match_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    call->scratch_each = onx_matcher_bytes(((const regex_state *)call->state)->regex);
    return onx_call_shape(call, 0, ONX_DTYPE_BOOL, x->rank, x->dims);
}

enum { TASK = 256, PIECE = 1 << 16 };

static onx_status match_task(void *user, onx_call *call, size_t task, void *scratch) {
    const onx_operand *x = call->in[0];
    bool *y = call->out[0]->data;
    onx_matcher *m = onx_matcher_init(((const regex_state *)call->state)->regex, scratch);
    int64_t first = (int64_t)task * TASK;
    (void)user;
    for (int64_t i = first; i < first + TASK && i < x->count; i++) {
        onx_str text = x->object->strings[i];
        onx_matcher_begin(m);
        for (size_t at = 0; at < text.size; at += PIECE) {
            size_t n = text.size - at < PIECE ? text.size - at : PIECE;
            if (onx_call_stopped(call)) return ONX_CANCELLED;
            if (!onx_matcher_feed(m, text.data + at, n)) break;
        }
        y[i] = onx_matcher_end(m);
    }
    return ONX_OK;
}

onx_status onx_regex_match_run(onx_call *call) {
    return onx_call_parallel(call, (size_t)((call->in[0]->count + TASK - 1) / TASK), match_task,
                             NULL);
}
