/* test_workers.c: the crew of a context: every task once, whoever asks, awake or asleep. Run under
 * ThreadSanitizer it also shows that there are no races. */
#include "rt/workers.h"

#include "base/thread.h"
#include "support.h"
#include "test.h"

#include <pthread.h>

enum { TASKS = 1000, CALLERS = 4 };

typedef struct tally {
    atomic_int done[TASKS];
    atomic_int bad; /* a worker that there cannot be */
    size_t threads, fails, fails_too;
    onx_workers *crew;
} tally;

static onx_status count_task(void *user, size_t task, size_t worker) {
    tally *t = user;
    atomic_fetch_add(&t->done[task], 1);
    if (worker >= t->threads) atomic_fetch_add(&t->bad, 1);
    if (task == t->fails) return ONX_INVALID;
    return task == t->fails_too ? ONX_LIMIT : ONX_OK;
}

/* One job; false: a task did not run once. */
static bool run(tally *t, size_t tasks) {
    memset(t->done, 0, sizeof t->done);
    t->fails = t->fails_too = TASKS;
    bool ok = onx_workers_run(t->crew, t->threads, tasks, tasks % 2, count_task, t) == ONX_OK;
    for (size_t i = 0; i < TASKS; i++) ok = ok && t->done[i] == (i < tasks);
    return ok && !t->bad;
}

TEST(every_task_once) {
    static tally t;
    REQUIRE(!onx_workers_retain(onx_context_or_default(NULL), 5, &t.crew, NULL));
    for (t.threads = 1; t.threads < 8; t.threads++)
        for (size_t tasks = 0; tasks <= TASKS; tasks += 1 + tasks / 7)
            for (int again = 0; again < 20; again++) CHECK(run(&t, tasks));
    onx_workers_release(t.crew);
}

/* The lowest of the tasks that fail decides, and all below it are done. */
TEST(lowest_failure) {
    static tally t;
    REQUIRE(!onx_workers_retain(onx_context_or_default(NULL), 3, &t.crew, NULL));
    t.threads = 3;
    for (size_t i = 0; i + 1 < TASKS; i += 7) {
        memset(t.done, 0, sizeof t.done);
        t.fails = TASKS - 1 - i / 2;
        t.fails_too = i / 2;
        CHECK_EQ(onx_workers_run(t.crew, t.threads, TASKS, false, count_task, &t), ONX_LIMIT);
        for (size_t k = 0; k <= t.fails_too; k++) CHECK_EQ(t.done[k], 1);
    }
    onx_workers_release(t.crew);
}

TEST(asleep) {
    static tally t;
    REQUIRE(!onx_workers_retain(onx_context_or_default(NULL), 2, &t.crew, NULL));
    t.threads = 2;
    for (int i = 0; i < 10; i++) {
        for (int64_t since = onx_clock_ns(); onx_clock_ns() - since < 3000000;) onx_thread_yield();
        CHECK(run(&t, 100));
    }
    onx_workers_release(t.crew);
}

static void *call_often(void *user) {
    tally *t = user;
    bool ok = true;
    for (int i = 0; i < 200; i++) ok = run(t, TASKS - (size_t)i) && ok;
    return ok ? t : NULL;
}

TEST(many_callers) {
    static tally t[CALLERS];
    pthread_t threads[CALLERS];
    for (size_t i = 0; i < CALLERS; i++) {
        REQUIRE(!onx_workers_retain(onx_context_or_default(NULL), 1 + i, &t[i].crew, NULL));
        t[i].threads = 1 + i;
        REQUIRE(!pthread_create(&threads[i], NULL, call_often, &t[i]));
    }
    for (size_t i = 0; i < CALLERS; i++) {
        void *ok = NULL;
        CHECK(!pthread_join(threads[i], &ok) && ok);
        onx_workers_release(t[i].crew);
    }
}

/* Crews that end while their members come, or have just been called. */
TEST(short_lives) {
    static tally t;
    t.threads = 4;
    for (size_t i = 0; i < 3000; i++) {
        REQUIRE(!onx_workers_retain(onx_context_or_default(NULL), t.threads, &t.crew, NULL));
        if (i % 2) CHECK(run(&t, i % 7));
        onx_workers_release(t.crew);
    }
}

TEST(no_memory) {
    for (size_t fail = 1; fail < 10; fail++) {
        static tally t;
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        heap.fail_at = heap.calls + fail;
        t.threads = 4;
        if (!onx_workers_retain(ctx, 4, &t.crew, NULL)) {
            CHECK(run(&t, 50));
            onx_workers_release(t.crew);
        }
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
    }
}

TEST_MAIN(E(every_task_once) E(lowest_failure) E(asleep) E(many_callers) E(short_lives)
              E(no_memory))
