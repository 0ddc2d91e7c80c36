/* peak.c: what the machine can do: all threads at once multiply and add in registers, then copy
 * memory that no cache holds. Each for a few hundredths of a second; the best of several tries. */
#include "base/thread.h"
#include "rt/session.h"

enum { TRIES = 4, THREADS_MAX = 256, COPY_BYTES = 32 << 20 };

typedef struct peak_try {
    onx_cpu_work *work;
    char *from, *to; /* NULL: arithmetic */
    double done;     /* operations, or bytes read and written */
} peak_try;

static void arithmetic(void *user) {
    peak_try *t = user;
    t->done = t->work();
}

static void copy(void *user) {
    peak_try *t = user;
    memcpy(t->to, t->from, COPY_BYTES);
    t->done = 2.0 * COPY_BYTES;
}

/* All of them at once: how much was done in a second. */
static double run_tries(peak_try *tries, size_t n, void (*body)(void *)) {
    onx_thread threads[THREADS_MAX];
    size_t started = 1;
    double done = 0;
    int64_t start = onx_clock_ns();
    while (started < n && onx_thread_start(&threads[started], body, &tries[started])) started++;
    body(&tries[0]);
    for (size_t i = 1; i < started; i++) onx_thread_join(&threads[i]);
    double seconds = (double)(onx_clock_ns() - start) * 1e-9;
    for (size_t i = 0; i < started; i++) done += tries[i].done;
    return seconds > 0 ? done / seconds : 0;
}

static double best_of(peak_try *tries, size_t n, void (*body)(void *)) {
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        double now = run_tries(tries, n, body);
        if (now > best) best = now;
    }
    return best;
}

onx_status onx_session_peak(const onx_session *s, double *flops, double *bytes, onx_diag *diag) {
    peak_try tries[THREADS_MAX];
    if (!s || !flops || !bytes)
        return onx_fail(diag, ONX_USAGE, "a session and places for two figures are needed");
    size_t n = s->engine.threads < THREADS_MAX ? s->engine.threads : THREADS_MAX;
    size_t size = n * COPY_BYTES;
    char *memory = onx_mem_alloc(s->ctx, 2 * size);
    if (!memory) return onx_fail_nomem(diag);
    memset(memory, 1, 2 * size);
    for (size_t i = 0; i < n; i++)
        tries[i] = (peak_try){onx_cpu_work_of(&s->cpu), memory + i * COPY_BYTES,
                              memory + size + i * COPY_BYTES, 0};
    *flops = best_of(tries, n, arithmetic);
    *bytes = best_of(tries, n, copy);
    onx_mem_free(s->ctx, memory, 2 * size);
    return ONX_OK;
}
