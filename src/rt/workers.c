/* workers.c: the crew of a context.
 *
 *     caller:  post ──▶ take tasks … ──▶ withdraw ──▶ wait for those who joined to leave
 *     worker:  look for a job (spin, then sleep) ──▶ join ──▶ take tasks … ──▶ leave
 *
 * All of that goes through one word, the gate, which changes atomically:
 *
 *     number of the job (32 bits) | places that are left (16) | workers inside (16)
 *
 * so a job is never joined after its caller has withdrawn it, and nobody waits for a lock. Each
 * who takes part has a range of the tasks, which lie side by side in memory as a rule; who has done
 * his own takes from the other ends of the others'. */
#include "rt/workers.h"

#include "base/thread.h"

enum { THREADS_MAX = 256, PLACE = 1 << 16, TURNS = 64, BUSY_NS = 20000, AWAKE_NS = 1000000 };

typedef struct member {     /* one who takes part: a worker, or (the first) whoever posts a job */
    _Atomic uint64_t tasks; /* that are left of his range: first (32 bits) | end (32) */
    onx_thread thread;
    char apart[24]; /* no other member's tasks are in this line of the cache */
} member;

typedef struct job {
    onx_job_fn *body;
    void *user;
    size_t count, members; /* tasks; who may take part, with the caller */
    bool back;
    atomic_size_t failed_at; /* the lowest task that failed; count: none */
    onx_status status;       /* of that one, under the lock */
} job;

struct onx_workers {
    onx_context *ctx;
    size_t refs; /* under the lock of the context */
    _Atomic uint64_t gate;
    char apart[56];
    job *job; /* that the gate is open for */
    atomic_flag taken;
    atomic_bool stop;
    atomic_size_t sleepers, n_threads;
    onx_mutex lock;
    onx_cond wake;
    member *members[THREADS_MAX + 1]; /* one more than there are threads */
};

/* ─ Tasks ────────────────────────────────────────────────────────────────────────────────────── */

static void share_out(onx_workers *w, const job *j) {
    for (size_t i = 0; i < j->members; i++) {
        uint64_t first = j->count * i / j->members, end = j->count * (i + 1) / j->members;
        atomic_store_explicit(&w->members[i]->tasks, first << 32 | end, memory_order_relaxed);
    }
}

/* The first task of a range, or the last. */
static bool take(member *from, bool last, size_t *task) {
    uint64_t was = atomic_load_explicit(&from->tasks, memory_order_relaxed), next;
    do {
        uint64_t first = was >> 32, end = (uint32_t)was;
        if (first >= end) return false;
        *task = (size_t)(last ? end - 1 : first);
        next = last ? was - 1 : was + ((uint64_t)1 << 32);
    } while (!atomic_compare_exchange_weak_explicit(&from->tasks, &was, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void record(onx_workers *w, job *j, size_t task, onx_status status) {
    onx_mutex_lock(&w->lock);
    if (task < atomic_load(&j->failed_at)) {
        atomic_store(&j->failed_at, task);
        j->status = status;
    }
    onx_mutex_unlock(&w->lock);
}

static void take_tasks(onx_workers *w, job *j, size_t worker) {
    size_t task = 0;
    for (size_t i = 0; i < j->members; i++) {
        member *from = w->members[(worker + i) % j->members];
        while (take(from, j->back == (i == 0), &task)) {
            if (atomic_load_explicit(&j->failed_at, memory_order_relaxed) < task) continue;
            onx_status status = j->body(j->user, task, worker);
            if (status != ONX_OK) record(w, j, task, status);
        }
    }
}

/* ─ The gate ─────────────────────────────────────────────────────────────────────────────────── */

static uint32_t number(uint64_t gate) {
    return (uint32_t)(gate >> 32);
}

/* One turn of a loop that waits for the gate: after a while others may have the processor, too. */
static bool wait_a_little(size_t turn, int64_t *since, int64_t longest) {
    onx_thread_relax();
    if (turn % TURNS) return true;
    int64_t now = onx_clock_ns();
    if (!turn) *since = now;
    if (now - *since > BUSY_NS) onx_thread_yield();
    return now - *since < longest;
}

/* Is there nothing new? The end may have come before the number was seen. */
static bool is_idle(onx_workers *w, uint32_t seen) {
    return number(atomic_load(&w->gate)) == seen && !atomic_load(&w->stop);
}

static void rest(onx_workers *w, uint32_t seen) {
    onx_mutex_lock(&w->lock);
    atomic_fetch_add(&w->sleepers, 1);
    while (is_idle(w, seen)) onx_cond_wait(&w->wake, &w->lock);
    atomic_fetch_sub(&w->sleepers, 1);
    onx_mutex_unlock(&w->lock);
}

static void wait_for_job(onx_workers *w, uint32_t seen) {
    int64_t since = 0;
    for (size_t turn = 0; is_idle(w, seen); turn++)
        if (!wait_a_little(turn, &since, AWAKE_NS)) rest(w, seen);
}

/* The caller is 0, workers are what is left of the places. */
static bool join(onx_workers *w, uint32_t *seen, size_t *worker) {
    uint64_t gate = atomic_load(&w->gate);
    do {
        *seen = number(gate);
        *worker = (uint16_t)(gate >> 16);
        if (!*worker) return false;
    } while (!atomic_compare_exchange_weak(&w->gate, &gate, gate - PLACE + 1));
    return true;
}

static void work(void *user) {
    onx_workers *w = user;
    uint32_t seen = 0;
    size_t worker = 0;
    while (!atomic_load(&w->stop)) {
        if (join(w, &seen, &worker)) {
            take_tasks(w, w->job, worker);
            atomic_fetch_sub(&w->gate, 1);
        }
        wait_for_job(w, seen);
    }
}

static void call(onx_workers *w, size_t wanted) {
    size_t sleepers = atomic_load(&w->sleepers);
    if (!sleepers) return;
    onx_mutex_lock(&w->lock);
    for (size_t i = 0; i < wanted && i < sleepers; i++) onx_cond_wake_one(&w->wake);
    onx_mutex_unlock(&w->lock);
}

static void post(onx_workers *w, job *j) {
    uint64_t next = number(atomic_load(&w->gate)) + (uint32_t)1;
    share_out(w, j);
    w->job = j;
    atomic_store(&w->gate, next << 32 | (j->members - 1) * PLACE);
    call(w, j->members - 1);
}

static void withdraw(onx_workers *w) {
    int64_t since = 0;
    atomic_fetch_and(&w->gate, ~(uint64_t)(UINT16_MAX * (uint64_t)PLACE));
    for (size_t turn = 0; (uint16_t)atomic_load(&w->gate); turn++)
        (void)wait_a_little(turn, &since, INT64_MAX);
}

onx_status onx_workers_run(onx_workers *w, size_t threads, size_t count, bool back,
                           onx_job_fn *body, void *user) {
    job j = {.body = body, .user = user, .count = count, .members = threads, .back = back};
    size_t most = w ? atomic_load(&w->n_threads) + 1 : 1;
    if (j.members > most) j.members = most;
    if (j.members > count) j.members = count;
    if (j.members > 1 && count < UINT32_MAX && !atomic_flag_test_and_set(&w->taken)) {
        atomic_init(&j.failed_at, count);
        post(w, &j);
        take_tasks(w, &j, 0);
        withdraw(w);
        atomic_flag_clear(&w->taken);
        return j.status;
    }
    for (size_t i = 0; i < count; i++) ONX_TRY(body(user, back ? count - 1 - i : i, 0));
    return ONX_OK;
}

/* ─ Its life ─────────────────────────────────────────────────────────────────────────────────── */

/* The crew of a context is looked up, and its references are counted, under this lock. */
static void crew_lock(onx_context *ctx) {
    while (atomic_flag_test_and_set(&ctx->workers_lock)) onx_thread_yield();
}
static void crew_unlock(onx_context *ctx) {
    atomic_flag_clear(&ctx->workers_lock);
}

static bool add_member(onx_workers *w, size_t index) {
    w->members[index] = onx_mem_alloc(w->ctx, sizeof(member));
    if (w->members[index]) memset(w->members[index], 0, sizeof(member));
    return w->members[index];
}

/* As far as there are memory and threads. */
static void grow(onx_workers *w, size_t wanted) {
    if (wanted > THREADS_MAX) wanted = THREADS_MAX;
    onx_mutex_lock(&w->lock);
    for (size_t n = w->n_threads + 1; n <= wanted && add_member(w, n); n++) {
        if (!onx_thread_start(&w->members[n]->thread, work, w)) {
            onx_mem_free(w->ctx, w->members[n], sizeof(member));
            break;
        }
        w->n_threads++;
    }
    onx_mutex_unlock(&w->lock);
}

static onx_workers *make(onx_context *ctx) {
    onx_workers *w = onx_mem_alloc(ctx, sizeof *w);
    if (!w) return NULL;
    memset(w, 0, sizeof *w);
    w->ctx = ctx;
    if (!add_member(w, 0)) {
        onx_mem_free(ctx, w, sizeof *w);
        return NULL;
    }
    onx_mutex_init(&w->lock);
    onx_cond_init(&w->wake);
    return w;
}

onx_status onx_workers_retain(onx_context *ctx, size_t threads, onx_workers **out, onx_diag *diag) {
    crew_lock(ctx);
    if (!ctx->workers) ctx->workers = make(ctx);
    onx_workers *w = ctx->workers;
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
    atomic_store(&w->stop, true);
    atomic_fetch_add(&w->gate, (uint64_t)1 << 32);
    call(w, THREADS_MAX);
    for (size_t i = 0; i <= w->n_threads; i++) {
        if (i) onx_thread_join(&w->members[i]->thread);
        onx_mem_free(w->ctx, w->members[i], sizeof(member));
    }
    onx_cond_fini(&w->wake);
    onx_mutex_fini(&w->lock);
    onx_mem_free(w->ctx, w, sizeof *w);
}
