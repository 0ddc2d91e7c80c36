/* workers.h: threads that help with the tasks of a kernel. One crew per context: sessions share it.
 *
 * A caller posts a job and works on it itself; idle workers join. There is one job at a time: a
 * second caller finds the crew busy and does its tasks alone, which is also what nested loops
 * do. */
#ifndef ONX_WORKERS_H
#define ONX_WORKERS_H

#include "base/mem.h"

typedef struct onx_workers onx_workers;
typedef onx_status onx_job_fn(void *user, size_t task, size_t worker);

/* The crew of a context, with at least `threads - 1` workers where the system gives them. */
onx_status onx_workers_retain(onx_context *ctx, size_t threads, onx_workers **out, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_workers_release(onx_workers *workers); /* the last one ends the threads; NULL is fine */
/* Tasks 0 … count-1 on at most `threads` threads, the caller being worker 0; `back`: everybody goes
 * from the end of his range to its start. After a failure no more tasks are started, but perhaps
 * those below it; the failure of the lowest task that failed is returned. */
onx_status onx_workers_run(onx_workers *workers, size_t threads, size_t count, bool back,
                           onx_job_fn *body, void *user) ONX_MUST_CHECK;

#endif
