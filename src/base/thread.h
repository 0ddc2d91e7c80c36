/* thread.h: threads, locks and the clock of the operating system (os_thread.c). */
#ifndef ONX_THREAD_H
#define ONX_THREAD_H

#include "base/base.h"

typedef struct onx_mutex {
    alignas(16) char raw[64];
} onx_mutex;
typedef struct onx_cond {
    alignas(16) char raw[64];
} onx_cond;
typedef struct onx_thread { /* stays where it is until it is joined */
    alignas(16) char raw[16];
    void (*body)(void *);
    void *user;
} onx_thread;

/* These cannot fail on the systems we know. */
void onx_mutex_init(onx_mutex *mutex);
void onx_mutex_fini(onx_mutex *mutex);
void onx_mutex_lock(onx_mutex *mutex);
void onx_mutex_unlock(onx_mutex *mutex);
void onx_cond_init(onx_cond *cond);
void onx_cond_fini(onx_cond *cond);
void onx_cond_wait(onx_cond *cond, onx_mutex *mutex);
void onx_cond_wake_one(onx_cond *cond);

/* False: the system gives no more threads. */
bool onx_thread_start(onx_thread *thread, void (*body)(void *), void *user) ONX_MUST_CHECK;
void onx_thread_join(onx_thread *thread);
void onx_thread_yield(void);
/* A hint to the processor, in a loop that waits for memory to change. */
static inline void onx_thread_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* How many processors this process may use: affinity, and the quota of its control group. */
size_t onx_thread_available(void);
/* Bytes of the second-level cache of a processor; 0: not known. */
size_t onx_thread_cache(void);
/* Asks the system for matrix tiles (AMX) in all threads of the process; false: there are none. */
bool onx_thread_tiles(void);
/* Monotonic. */
int64_t onx_clock_ns(void);

#endif
