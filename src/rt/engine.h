/* engine.h: programs and their runs: what the files of the engine share.
 *
 *     graph ──build──▶ program ──bind──▶ frame ──exec──▶ results
 *                      immutable,        one per
 *                      shared            concurrent run
 *
 * A program is a list of steps over slots. A slot is a value: an input, a constant, something
 * captured from the program around, or the output of a step. Programs of subgraphs are children of
 * the step that runs them.
 *
 * When a step is bound, that is, when its sizes are computed:
 *
 *     EARLY   at bind, and it runs there too: its result depends on shapes alone and is needed to
 *             bind others (Shape, Gather, Concat … before a Reshape)
 *     RUN     at bind; runs in the run. Its outputs have places in the slab, assigned by liveness
 *     LATE    in the run: its sizes depend on data. Its outputs are blocks of the pool
 *
 * What follows from a LATE step is LATE. Where a value's bytes are:
 *
 *     slab      offset known from bind; places are reused as soon as values die
 *     block     of the pool of the run: reference-counted, returned to the pool, kept for later
 *               runs
 *     outside   inputs, constants, captures; outputs of the program, which belong to who asked
 *     share     those of another slot: views, and outputs written over an input
 */
#ifndef ONX_ENGINE_H
#define ONX_ENGINE_H

#include "rt/object.h"
#include "rt/provider.h"
#include "rt/workers.h"

enum { ONX_DEVICES = 4 };
#define ONX_NO_SLOT UINT32_MAX

typedef struct onx_program onx_program;
typedef struct onx_frame onx_frame;
typedef struct onx_blocks onx_blocks;
typedef struct onx_block onx_block;
typedef struct onx_packed onx_packed;

typedef enum onx_role {
    ONX_ROLE_TEMP, /* the output of a step */
    ONX_ROLE_INPUT,
    ONX_ROLE_CONSTANT,
    ONX_ROLE_CAPTURE,
} onx_role;

typedef struct onx_slot {
    onx_str name;
    uint8_t role;         /* onx_role */
    uint8_t device;       /* index of its provider in the session */
    bool output;          /* of the program (also one that is only asked for now and then) */
    bool late;            /* its shape is known only in the run */
    bool early;           /* its value is known at bind */
    bool viewed;          /* a step shows its bytes in another shape */
    uint32_t last;        /* the last step that needs it; ONX_NO_SLOT: none */
    bool owned;           /* a constant whose data belongs to the program */
    uint32_t maker;       /* of a TEMP: the step that computes it */
    uint32_t outer;       /* of a capture: the slot in the program around */
    onx_operand constant; /* of a constant; of others what is known of type and shape */
} onx_slot;

typedef enum onx_when { ONX_WHEN_RUN, ONX_WHEN_EARLY, ONX_WHEN_LATE } onx_when;

typedef struct onx_step {
    const onx_kernel *kernel;
    const char *tier;
    const onx_provider *provider;
    const onx_op *op;
    const onx_node *node; /* NULL: a copy between devices */
    void *state;
    const void *packed;
    onx_packed *holds; /* the reference to `packed` */
    size_t plan_bytes, plan_offset;
    uint8_t device, when;
    uint32_t n_in, n_out, n_dies, n_children, first_child; /* first: in a frame's children */
    uint32_t *in, *out;                                    /* slots, or ONX_NO_SLOT */
    uint32_t *dies;         /* slots that nobody needs after this step */
    onx_program **children; /* in the order of the node's graph attributes */
} onx_step;

struct onx_program {
    const struct onx_engine *engine;
    const onx_graph *graph;
    onx_program *outer;
    size_t depth; /* 0: the main graph */
    /* Outputs: those of the graph, then values that are asked for by name. */
    size_t n_slots, n_steps, n_inputs, n_outputs, n_pins, n_captures;
    onx_slot *slots;
    onx_step *steps;
    uint32_t *inputs, *outputs, *captures; /* slots; n_outputs + n_pins outputs */
    size_t plan_bytes;                     /* of all steps */
    size_t n_edges;                        /* operands of all steps, for the tables of a frame */
};

/* What programs are built for: providers, threads, memory. Immutable. */
typedef struct onx_engine {
    onx_context *ctx;
    const onx_provider *providers[ONX_DEVICES]; /* the host is the last one */
    size_t n_providers;
    size_t host; /* its index */
    onx_workers *workers;
    size_t threads;
    bool fetches;            /* see onx_call */
    bool dynamic;            /* all steps LATE */
    uint8_t poison;          /* what fresh memory of a run is filled with; 0: it is not */
    struct onx_store *store; /* packed weights */
} onx_engine;

/* A value of a subgraph that was asked for by name: what it was when that graph ran last. */
typedef struct onx_wanted {
    const onx_program *program;
    uint32_t slot;
    onx_operand value; /* kind NONE: the graph did not run */
    onx_block *block;
} onx_wanted;

/* One run: shared by the frames of the program and of its children. */
struct onx_run {
    const onx_engine *engine;
    onx_wanted *wanted;
    size_t n_wanted;
    const atomic_bool *cancel; /* NULL: none */
    int64_t deadline;          /* of onx_clock_ns; 0: none */
    onx_profile *profile;
    int64_t inside_ns; /* with a profile: what the steps within the one that runs have taken */
    void (*progress)(void *user, size_t step, size_t steps, const char *node); /* NULL: none */
    void *progress_user;
    onx_diag *diag;
};
void onx_wanted_clear(onx_wanted *wanted);
bool onx_run_stopped(const onx_run *run);
onx_status onx_run_check(const onx_run *run);
onx_status onx_run_parallel(onx_run *run, onx_call *call, size_t count, onx_task *task, void *user);
/* Many pages, fresh or of a file, come faster together than one by one as they are needed. */
onx_status onx_call_touch(onx_call *call, const void *data, size_t bytes, bool write)
    ONX_MUST_CHECK;

/* ─ Programs (build.c, analyse.c, store.c) ───────────────────────────────────────────────────── */

/* What a program is made from. `pinned` (may be NULL): values to keep. All memory of the program
 * and its children comes from `arena`; onx_program_fini gives back what else they hold. */
typedef struct onx_build {
    const onx_engine *engine;
    const struct onx_facts *facts;
    onx_arena *arena;
    bool (*pinned)(void *user, const onx_value *value);
    void *user;
    onx_diag *diag;
    /* For packing: all that the process may use, however few a run is to have. */
    onx_workers *workers;
    size_t threads;
} onx_build;
onx_status onx_program_build(const onx_build *build, const onx_graph *graph, onx_program **out)
    ONX_MUST_CHECK;
void onx_program_fini(onx_program *program); /* NULL is fine */
/* When steps are bound, how long slots live. */
onx_status onx_program_analyse(onx_program *program, onx_arena *arena, onx_diag *diag)
    ONX_MUST_CHECK;

/* Packed weights, shared by the sessions of a model. */
typedef struct onx_store onx_store;
onx_status onx_store_new(onx_context *ctx, onx_store **out, onx_diag *diag) ONX_MUST_CHECK;
onx_store *onx_store_retain(onx_store *store);
void onx_store_release(void *store); /* NULL is fine */
/* What the call's kernel makes of its constant inputs: made now, or shared. `*out` stays NULL when
 * there is nothing to pack. */
onx_status onx_store_pack(onx_store *store, onx_call *call, const onx_provider *provider,
                          onx_packed **out) ONX_MUST_CHECK;
void onx_store_trim(onx_store *store); /* give back pages that it took in advance */
const void *onx_packed_data(const onx_packed *packed);
size_t onx_packed_bytes(const onx_packed *packed);
void onx_packed_release(onx_store *store, onx_packed *packed);

/* ─ Blocks (blocks.c) ────────────────────────────────────────────────────────────────────────── */

/* Memory of one device, taken and given back within a run, kept for the next one. For one
 * thread. */
struct onx_block {
    size_t refs;
    size_t bytes;
    void *data;
    onx_blocks *pool;
    onx_block *next; /* while it is free */
};
struct onx_blocks {
    onx_context *ctx;
    const onx_provider *provider;
    onx_block *free;
    size_t used, held; /* bytes in blocks handed out, and in all */
    size_t most;       /* that were ever used at once */
};
void onx_blocks_init(onx_blocks *pool, onx_context *ctx, const onx_provider *provider);
void onx_blocks_fini(onx_blocks *pool); /* all blocks have come back */
onx_status onx_blocks_take(onx_blocks *pool, size_t bytes, onx_block **out, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_block_release(onx_block *block); /* NULL is fine */
/* Give free blocks back to the system. */
void onx_blocks_trim(onx_blocks *pool);

onx_status onx_device_alloc(const onx_provider *provider, onx_context *ctx, size_t bytes,
                            void **out, onx_diag *diag) ONX_MUST_CHECK;
void onx_device_free(const onx_provider *provider, onx_context *ctx, void *data, size_t bytes);

/* ─ Frames (frame.c, bind.c, exec.c) ─────────────────────────────────────────────────────────── */

typedef struct onx_place { /* where the bytes of a slot are, from bind */
    uint32_t root;         /* the slot whose place it shares; itself: its own */
    uint32_t shares;       /* of a root: slots that share it and live */
    bool slab;             /* of a root: in the slab, at: */
    bool lodged;           /* of an output of the program: values lie there before it does */
    size_t offset, bytes;
} onx_place;

typedef struct onx_region { /* part of a slab: free, or taken for some time */
    size_t offset, bytes;
    uint32_t from, to;
} onx_region;
typedef struct onx_stay { /* in a slab */
    size_t bytes, at;
    uint32_t from, to; /* by the clock of the slab; UINT32_MAX: for good */
    size_t *offset;    /* where the place is told */
} onx_stay;
typedef struct onx_slab {
    void *data;
    size_t bytes;             /* of data */
    size_t peak, live, bound; /* of the plan: its size; bytes that live; their maximum */
    onx_stay *stays;          /* in the order in which they begin; there is room for all of them, */
    uint32_t *order;          /* for as many, twice, */
    onx_region *free;         /* and for as many, by offset */
    size_t n, n_free;
    uint32_t clock; /* of taking and giving */
} onx_slab;

/* slab.c. False: sizes overflow. An offset is the number of a stay until there is a plan. */
bool onx_slab_init(onx_slab *slab, onx_arena *arena, size_t stays) ONX_MUST_CHECK;
void onx_slab_reset(onx_slab *slab);
bool onx_slab_take(onx_slab *slab, size_t bytes, size_t *offset) ONX_MUST_CHECK;
void onx_slab_give(onx_slab *slab, size_t offset);
bool onx_slab_plan(onx_slab *slab) ONX_MUST_CHECK;
/* Memory for the plan; what it had does not stay. A slab that has to grow again grows by a quarter
 * more, so that a past that grows with every run costs few allocations. */
onx_status onx_slab_back(onx_slab *slab, const onx_provider *provider, onx_context *ctx,
                         onx_diag *diag) ONX_MUST_CHECK;

struct onx_frame {
    const onx_program *program;
    onx_context *ctx;
    onx_run *run;        /* while it runs */
    onx_blocks *pools;   /* one per device, of the outermost frame */
    onx_operand *values; /* one per slot */
    onx_place *places;   /* one per slot */
    onx_block **blocks;  /* one per slot: what holds its bytes; NULL: nothing to release */
    onx_call *calls;     /* one per step */
    onx_operand **edges;
    char *plans;
    onx_packed **holds;  /* per step: what was packed when it was bound */
    int32_t *overwrites; /* per step: the input that output 0 is written over; -1: none */
    size_t *scratch;     /* per step: place in the slab */
    onx_slab slabs[ONX_DEVICES];
    onx_frame **children; /* made when they are needed: n_children per step, in order */
    size_t n_children;
    onx_operand *signature; /* inputs, then captures: what it is bound to */
    bool bound;
    size_t binds;               /* how often it was bound */
    int64_t bind_ns;            /* and how long that took, all in all */
    struct onx_result *results; /* free ones */
    onx_block *late_scratch;    /* of the LATE step that runs */
    onx_diag *diag;
    onx_arena arena;
    onx_frame *next; /* in the session's list of idle frames */
};
onx_status onx_frame_new(const onx_program *program, onx_blocks *pools, onx_frame **out,
                         onx_diag *diag) ONX_MUST_CHECK;
void onx_frame_free(onx_frame *frame); /* NULL is fine */
/* bind.c: places and plans for the inputs and captures in frame->values. Nothing happens when it is
 * bound to their shapes already. */
onx_status onx_frame_bind(onx_frame *frame) ONX_MUST_CHECK;
/* bind.c: a LATE step, in the run: sizes, and blocks for its outputs and its scratch. */
onx_status onx_step_bind(onx_frame *frame, uint32_t step) ONX_MUST_CHECK;
void onx_step_unbind(onx_frame *frame, uint32_t step); /* gives the scratch back */
/* exec.c: the steps of a bound frame. Outputs that have data already are written there. */
onx_status onx_frame_run(onx_frame *frame, onx_run *run) ONX_MUST_CHECK;
/* After a run: give back what it holds. */
void onx_frame_clear(onx_frame *frame);
/* Give back what holds the value of a slot. */
void onx_frame_drop(onx_frame *frame, size_t slot);
/* A block for a slot whose shape is set. */
onx_status onx_frame_take(onx_frame *frame, uint32_t slot, onx_diag *diag) ONX_MUST_CHECK;
/* Is an operand what the program was built for? Types decide which kernel runs, known sizes what
 * its init found out; both may rest on what a file declares, so every value is looked at once. */
onx_status onx_slot_verify(const onx_slot *slot, const onx_operand *value, onx_diag *diag)
    ONX_MUST_CHECK;
onx_status onx_step_verify(const onx_frame *frame, uint32_t step) ONX_MUST_CHECK; /* its outputs */
/* A sentence about the operands of a step, for errors. */
void onx_step_blame(const onx_frame *frame, uint32_t step, onx_diag *diag);

/* Scratch of one worker: after the shared part, aligned. */
static inline void *onx_call_worker_scratch(const onx_call *call, size_t worker) {
    if (!call->scratch) return NULL;
    return (char *)call->scratch + onx_align_up(call->scratch_bytes) +
           worker * onx_align_up(call->scratch_each);
}

#endif
