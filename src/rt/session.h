/* session.h: a model made ready to run.
 *
 *     session ─┬─ source: its own copy of the model, as it was
 *              └─ variants: programs, one for each set of values that had to be kept by name
 *                   ├─ a copy of the model, rewritten; facts; the program
 *                   └─ idle lanes: what one run at a time needs: a frame, and pools
 *
 * Only the lists of variants and of idle lanes change after creation, under the lock. */
#ifndef ONX_SESSION_H
#define ONX_SESSION_H

#include "base/thread.h"
#include "infer/infer.h"
#include "pass/grad/gradient.h"
#include "rt/engine.h"

typedef struct onx_lane {
    onx_blocks pools[ONX_DEVICES];
    onx_frame *frame;
    onx_wanted *wanted; /* one per pin of a subgraph */
    struct onx_lane *next;
} onx_lane;

typedef struct onx_pin { /* a value that is kept, beyond the outputs of the graph */
    onx_str name;
    const onx_program *program; /* that computes it */
    uint32_t slot;
} onx_pin;

typedef struct onx_default { /* what an input is when it is not given */
    bool there, copied;
    onx_operand value;
} onx_default;

typedef struct onx_variant {
    onx_model *model;
    onx_facts *facts;
    onx_program *program;
    onx_arena arena;
    onx_str *names; /* that were asked for */
    size_t n_names;
    onx_pin *pins; /* found */
    size_t n_pins;
    onx_default *defaults; /* of the inputs that have one, by their place in the graph */
    bool all;
    onx_lane *idle;
    struct onx_variant *next;
} onx_variant;

struct onx_session {
    onx_context *ctx; /* of the model; with a memory limit: a child of that */
    onx_engine engine;
    onx_cpu cpu;
    onx_model *source;       /* functions inlined, Gradient nodes replaced */
    const onx_op **expanded; /* operators that were inlined in it, too */
    size_t n_expanded, cap_expanded;
    onx_level level;
    const char *disable, *enable; /* lists of passes */
    onx_numerics numerics;
    onx_log_fn *log;
    void *log_user;
    onx_size *sizes;
    size_t n_sizes;
    onx_arena arena;
    onx_mutex lock;
    onx_variant *variants;
};

/* As onx_session_new, with these providers before the CPU. */
onx_status onx_session_make(const onx_model *model, const onx_session_options *options,
                            const onx_provider *const *providers, size_t n_providers,
                            onx_session **out, onx_diag *diag) ONX_MUST_CHECK;
/* The variant that keeps these values (NULL elements and outputs of the graph count as kept). */
onx_status onx_session_variant(onx_session *session, size_t n, const char *const *names,
                               onx_variant **out, onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_variant_new(onx_session *session, size_t n, const char *const *names, bool all,
                           onx_variant **out, onx_diag *diag) ONX_MUST_CHECK;
void onx_variant_free(onx_session *session, onx_variant *variant);

onx_status onx_lane_take(onx_session *session, onx_variant *variant, size_t n_in, const onx_arg *in,
                         onx_lane **out, onx_diag *diag) ONX_MUST_CHECK;
void onx_lane_give(onx_session *session, onx_variant *variant, onx_lane *lane);
/* The inputs of the frame, from arguments: checked against what the model declares. */
onx_status onx_lane_feed(const onx_session *session, const onx_variant *variant, onx_lane *lane,
                         size_t n_in, const onx_arg *in, bool shapes_only, onx_diag *diag)
    ONX_MUST_CHECK;

/* sparse.c: sparse initializers and constants become dense. */
onx_status onx_session_write_out(onx_model *model, onx_diag *diag) ONX_MUST_CHECK;

/* Replaces Gradient nodes: onx_gradient_expand. NULL in a program with a table of its own whose
 * model has none. */
extern onx_gradient_fn *const onx_session_gradient;

void onx_lane_unfeed(onx_lane *lane);
/* outputs.c. Before the run: outputs of known size are written where they are wanted; those nobody
 * asks for go to blocks. After it: the others are copied, and all are described. */
onx_status onx_lane_direct(onx_session *session, onx_variant *variant, onx_lane *lane, size_t n_out,
                           onx_arg *out, onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_lane_deliver(onx_session *session, onx_variant *variant, onx_lane *lane,
                            size_t n_out, onx_arg *out, onx_diag *diag) ONX_MUST_CHECK;
/* inputs.c: a hint with the name that was probably meant, and those there are. */
void onx_names_hint(onx_diag *diag, const char *what, const char *typed, size_t n,
                    const char *(*name_at)(const onx_session *, size_t), const onx_session *s);
/* providers.c: those of the options, and `providers` before them. */
onx_status onx_session_choose(onx_session *s, const onx_session_options *options,
                              const onx_provider *const *providers, size_t n, onx_diag *diag)
    ONX_MUST_CHECK;
/* supply.c: initializers of the caller. */
onx_status onx_session_supply(onx_model *model, size_t n, const onx_tensor *const *initializers,
                              onx_diag *diag) ONX_MUST_CHECK;
/* log.c: nothing happens where nobody listens. */
void onx_session_log(const onx_session *s, onx_log_level level, const char *fmt, ...)
    ONX_PRINTF(3, 4);
void onx_session_log_variant(const onx_session *s, const onx_variant *v, size_t nodes);
const atomic_bool *onx_cancel_flag(const onx_cancel *cancel);

/* arg.c: data files and arguments as objects, and back. */
onx_status onx_object_of_data(onx_context *ctx, const onx_data *data, onx_object **out,
                              onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_data_of_object(onx_context *ctx, const onx_object *object, onx_data **out,
                              onx_diag *diag) ONX_MUST_CHECK;

#endif
