/* run.c: one run: is it to stop, and its tasks on the workers. */
#include "rt/engine.h"

#include "base/thread.h"

onx_status onx_run_check(const onx_run *run) {
    if (run->cancel && atomic_load_explicit(run->cancel, memory_order_relaxed))
        return onx_fail(run->diag, ONX_CANCELLED, "the run was cancelled");
    if (run->deadline && onx_clock_ns() > run->deadline)
        return onx_fail(run->diag, ONX_CANCELLED, "the run took longer than it was given");
    return ONX_OK;
}

typedef struct job {
    onx_run *run;
    onx_call *call;
    onx_task *task;
    void *user;
} job;

/* A failing task must not write the diagnostic of the run from several threads at once: only the
 * status counts here; the sentence is made by the kernel after the loop, or by onx_run_check. */
bool onx_run_stopped(const onx_run *run) {
    return (run->cancel && atomic_load_explicit(run->cancel, memory_order_relaxed)) ||
           (run->deadline && onx_clock_ns() > run->deadline);
}

static onx_status one(void *user, size_t index, size_t worker) {
    job *j = user;
    if (onx_run_stopped(j->run)) return ONX_CANCELLED;
    return j->task(j->user, j->call, index, onx_call_worker_scratch(j->call, worker));
}

onx_status onx_run_parallel(onx_run *run, onx_call *call, size_t count, onx_task *task,
                            void *user) {
    job j = {run, call, task, user};
    const onx_engine *engine = run->engine;
    onx_status status =
        onx_workers_run(engine->workers, engine->threads, count, call->back, one, &j);
    if (status != ONX_CANCELLED) return status;
    ONX_TRY(onx_run_check(run));
    return onx_fail(run->diag, ONX_CANCELLED, "the run was cancelled"); /* and taken back since */
}
