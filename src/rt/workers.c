/* workers.c: the crew of a context.
 *
 *     caller:  post ──▶ take tasks … ──▶ withdraw ──▶ wait for those who joined to leave
 *     worker:  look for a job (spin, then sleep) ──▶ join ──▶ take tasks … ──▶ leave
 *
 * Joining and withdrawing happen under the lock, so a job is never joined after its caller has
 * withdrawn it. Tasks are taken from an atomic counter. */
#include "rt/workers.h"

#include "base/thread.h"

enum { THREADS_MAX = 256, SPINS = 4000 };

typedef struct job {
    onx_job_fn *body;
    void *user;
    size_t count, limit; /* tasks; workers that may join */
    size_t joined;       /* under the lock */
    atomic_size_t next, inside;
    atomic_size_t failed_at; /* the lowest task that failed; count: none */
    onx_status status;       /* of that one, under the lock */
} job;

struct onx_workers {
    onx_context *ctx;
    size_t refs; /* under the lock of the context */
    onx_mutex lock;
    onx_cond wake;
    job *posted;         /* under the lock */
    atomic_size_t posts; /* counts jobs, for those who spin */
    size_t sleepers;     /* under the lock */
    bool stop;           /* under the lock */
    size_t n_threads;    /* under the lock */
    onx_thread threads[THREADS_MAX];
};

/* The status is written before failed_at is lowered by its owner alone: under the crew's lock. */
static void record(onx_workers *w, job *j, size_t task, onx_status status) {
    onx_mutex_lock(&w->lock);
    if (task < atomic_load(&j->failed_at)) {
        atomic_store(&j->failed_at, task);
        j->status = status;
    }
    onx_mutex_unlock(&w->lock);
}

static void take_tasks(onx_workers *w, job *j, size_t worker) {
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (task >= j->count || atomic_load_explicit(&j->failed_at, memory_order_relaxed) < task)
            return;
        onx_status status = j->body(j->user, task, worker);
        if (status != ONX_OK) record(w, j, task, status);
    }
}

/* With the lock held: a job that wants more hands, or NULL. */
static job *join(onx_workers *w, size_t *worker) {
    job *j = w->posted;
    if (!j || j->joined >= j->limit) return NULL;
    *worker = ++j->joined;
    atomic_fetch_add(&j->inside, 1);
    return j;
}

static void work(void *user) {
    onx_workers *w = user;
    size_t seen = 0, worker = 0;
    onx_mutex_lock(&w->lock);
    while (!w->stop) {
        job *j = join(w, &worker);
        seen = atomic_load(&w->posts);
        onx_mutex_unlock(&w->lock);
        if (j) {
            take_tasks(w, j, worker);
            atomic_fetch_sub(&j->inside, 1);
        }
        for (size_t i = 0; i < SPINS && atomic_load(&w->posts) == seen; i++) onx_thread_relax();
        onx_mutex_lock(&w->lock);
        while (atomic_load(&w->posts) == seen && !w->stop) {
            w->sleepers++;
            onx_cond_wait(&w->wake, &w->lock);
            w->sleepers--;
        }
    }
    onx_mutex_unlock(&w->lock);
}

static bool post(onx_workers *w, job *j) {
    onx_mutex_lock(&w->lock);
    bool free = !w->posted && w->n_threads;
    if (free) {
        w->posted = j;
        atomic_fetch_add(&w->posts, 1);
        if (w->sleepers) onx_cond_wake_all(&w->wake);
    }
    onx_mutex_unlock(&w->lock);
    return free;
}

static void withdraw(onx_workers *w, job *j) {
    onx_mutex_lock(&w->lock);
    w->posted = NULL;
    onx_mutex_unlock(&w->lock);
    for (size_t i = 0; atomic_load(&j->inside); i++)
        if (i < SPINS)
            onx_thread_relax();
        else
            onx_thread_yield();
}

onx_status onx_workers_run(onx_workers *w, size_t threads, size_t count, onx_job_fn *body,
                           void *user) {
    job j = {.body = body, .user = user, .count = count};
    j.limit = threads < count ? threads - 1 : count - 1;
    atomic_init(&j.failed_at, count);
    if (w && threads > 1 && count > 1 && post(w, &j)) {
        take_tasks(w, &j, 0);
        withdraw(w, &j);
        return j.status;
    }
    for (size_t i = 0; i < count; i++) ONX_TRY(body(user, i, 0));
    return ONX_OK;
}

/* The crew of a context is looked up, and its references are counted, under this lock. */
static void crew_lock(onx_context *ctx) {
    while (atomic_flag_test_and_set(&ctx->workers_lock)) onx_thread_yield();
}
static void crew_unlock(onx_context *ctx) {
    atomic_flag_clear(&ctx->workers_lock);
}

static void grow(onx_workers *w, size_t wanted) {
    if (wanted > THREADS_MAX) wanted = THREADS_MAX;
    onx_mutex_lock(&w->lock);
    while (w->n_threads < wanted && onx_thread_start(&w->threads[w->n_threads], work, w))
        w->n_threads++;
    onx_mutex_unlock(&w->lock);
}

onx_status onx_workers_retain(onx_context *ctx, size_t threads, onx_workers **out, onx_diag *diag) {
    crew_lock(ctx);
    onx_workers *w = ctx->workers;
    if (!w) {
        w = onx_mem_alloc(ctx, sizeof *w);
        if (w) {
            memset(w, 0, sizeof *w);
            w->ctx = ctx;
            onx_mutex_init(&w->lock);
            onx_cond_init(&w->wake);
            ctx->workers = w;
        }
    }
    if (w) w->refs++;
    crew_unlock(ctx);
    if (!w) return onx_fail_nomem(diag);
    grow(w, threads ? threads - 1 : 0);
    *out = w;
    return ONX_OK;
}

void onx_workers_release(onx_workers *w) {
    if (!w) return;
    crew_lock(w->ctx);
    bool last = --w->refs == 0;
    if (last) w->ctx->workers = NULL;
    crew_unlock(w->ctx);
    if (!last) return;
    onx_mutex_lock(&w->lock);
    w->stop = true;
    onx_cond_wake_all(&w->wake);
    atomic_fetch_add(&w->posts, 1);
    onx_mutex_unlock(&w->lock);
    for (size_t i = 0; i < w->n_threads; i++) onx_thread_join(&w->threads[i]);
    onx_cond_fini(&w->wake);
    onx_mutex_fini(&w->lock);
    onx_mem_free(w->ctx, w, sizeof *w);
}
