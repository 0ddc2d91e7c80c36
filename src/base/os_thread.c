/* os_thread.c: thread.h on POSIX threads, and what Linux says about processors. */
#define _GNU_SOURCE
#include "base/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(onx_mutex), "onx_mutex is too small");
_Static_assert(sizeof(pthread_cond_t) <= sizeof(onx_cond), "onx_cond is too small");

_Static_assert(sizeof(pthread_t) <= sizeof(((onx_thread *)0)->raw), "onx_thread is too small");

void onx_mutex_init(onx_mutex *mutex) {
    (void)pthread_mutex_init((pthread_mutex_t *)mutex, NULL);
}
void onx_mutex_fini(onx_mutex *mutex) {
    (void)pthread_mutex_destroy((pthread_mutex_t *)mutex);
}
void onx_mutex_lock(onx_mutex *mutex) {
    (void)pthread_mutex_lock((pthread_mutex_t *)mutex);
}
void onx_mutex_unlock(onx_mutex *mutex) {
    (void)pthread_mutex_unlock((pthread_mutex_t *)mutex);
}
void onx_cond_init(onx_cond *cond) {
    (void)pthread_cond_init((pthread_cond_t *)cond, NULL);
}
void onx_cond_fini(onx_cond *cond) {
    (void)pthread_cond_destroy((pthread_cond_t *)cond);
}
void onx_cond_wait(onx_cond *cond, onx_mutex *mutex) {
    (void)pthread_cond_wait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex);
}
void onx_cond_wake_one(onx_cond *cond) {
    (void)pthread_cond_signal((pthread_cond_t *)cond);
}

static void *enter(void *user) {
    onx_thread *thread = user;
    thread->body(thread->user);
    return NULL;
}

bool onx_thread_start(onx_thread *thread, void (*body)(void *), void *user) {
    thread->body = body;
    thread->user = user;
    return pthread_create((pthread_t *)thread->raw, NULL, enter, thread) == 0;
}
void onx_thread_join(onx_thread *thread) {
    pthread_t handle;
    memcpy(&handle, thread->raw, sizeof handle);
    (void)pthread_join(handle, NULL);
}
void onx_thread_yield(void) {
    (void)sched_yield();
}

/* The numbers at the start of a file; how many there are. */
static int read_numbers(const char *path, long *a, long *b) {
    char text[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    return n > 0 ? sscanf(text, "%ld %ld", a, b) : 0;
}

/* The quota of the control group in microseconds of each period: "max 100000" or "150000 100000"
 * in version 2; two files, the first -1 where there is no limit, in version 1. */
static size_t cgroup_quota(size_t most) {
    long quota = 0, period = 0, rest = 0;
    bool limited = read_numbers("/sys/fs/cgroup/cpu.max", &quota, &period) == 2 ||
                   (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, &rest) == 1 &&
                    read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, &rest) == 1);
    if (!limited || quota <= 0 || period <= 0) return most;
    size_t whole = (size_t)((quota - 1) / period + 1);
    return whole < most ? whole : most;
}

size_t onx_thread_available(void) {
    cpu_set_t set;
    size_t n = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = (size_t)CPU_COUNT(&set);
    else {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        n = online > 0 ? (size_t)online : 1;
    }
    return cgroup_quota(n ? n : 1);
}

size_t onx_thread_cache(void) {
#if defined(_SC_LEVEL2_CACHE_SIZE)
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (size_t)bytes : 0;
#else
    return 0;
#endif
}

bool onx_thread_tiles(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}

int64_t onx_clock_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
