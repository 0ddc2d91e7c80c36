/* os_posix.c: the operating system, Linux and other POSIX systems. The only file that makes system
 * calls. */
#define _GNU_SOURCE
#include "base/os.h"

#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

static int fd_or_errno(int fd) {
    return fd >= 0 ? fd : -errno;
}

static int os_open_dir(const char *path) {
    return fd_or_errno(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int os_open_read(const char *path) {
    return fd_or_errno(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

/* Without openat2: walk the components by hand, following no symbolic link at all. */
static int walk_beneath(int dir, const char *path) {
    char part[256];
    int at = dir, next;
    if (*path == '/') return -EXDEV;
    for (;;) {
        while (*path == '/') path++;
        size_t n = strcspn(path, "/");
        bool last = path[n + strspn(path + n, "/")] == '\0';
        if (n == 0 || n >= sizeof part)
            next = -ENOENT;
        else if (n == 2 && path[0] == '.' && path[1] == '.')
            next = -EXDEV;
        else {
            memcpy(part, path, n);
            part[n] = '\0';
            int flags = O_CLOEXEC | O_NOFOLLOW | O_RDONLY | O_NONBLOCK | O_NOCTTY;
            next = fd_or_errno(openat(at, part, flags | (last ? 0 : O_DIRECTORY)));
        }
        if (at != dir) close(at);
        if (next < 0 || last) return next;
        at = next;
        path += n;
    }
}

static int os_open_beneath(int dir, const char *path) {
#ifdef SYS_openat2
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    for (int tries = 0; tries < 100; tries++) {
        long fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
        if (fd >= 0) return (int)fd;
        if (errno == EAGAIN) continue; /* a rename raced with the walk */
        if (errno != ENOSYS && errno != EPERM) return -errno;
        break;
    }
#endif
    return walk_beneath(dir, path);
}

static int os_open_write(const char *path) {
    return fd_or_errno(open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
}

static int os_create_exclusive(int dir, const char *name) {
    return fd_or_errno(
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
}

static int os_lock(int fd) {
    return flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
}

static int os_set_mode(int fd, uint32_t mode) {
    return fchmod(fd, (mode_t)mode) ? -errno : 0;
}

static int os_real_path(const char *path, char *out) {
    _Static_assert(ONX_PATH_MAX >= PATH_MAX, "realpath writes up to PATH_MAX bytes");
    return realpath(path, out) ? 0 : -errno;
}

static int os_close(int fd) {
    return close(fd) ? -errno : 0;
}

static onx_file_info info_of(const struct stat *st) {
    return (onx_file_info){.size = (uint64_t)st->st_size,
                           .device = st->st_dev,
                           .inode = st->st_ino,
                           .links = st->st_nlink,
                           .is_regular = S_ISREG(st->st_mode),
                           .mode = st->st_mode & 07777};
}

static int os_stat(int fd, onx_file_info *info) {
    struct stat st;
    if (fstat(fd, &st)) return -errno;
    *info = info_of(&st);
    return 0;
}

static int os_stat_path(const char *path, onx_file_info *info) {
    struct stat st;
    if (stat(path, &st)) return -errno;
    *info = info_of(&st);
    return 0;
}

/* One call never moves more than 1 GiB, well inside what every kernel accepts. */
static size_t clip(size_t size) {
    return size < ((size_t)1 << 30) ? size : (size_t)1 << 30;
}

static int64_t os_read(int fd, void *data, size_t size) {
    ssize_t n;
    do n = read(fd, data, clip(size));
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int64_t os_read_at(int fd, void *data, size_t size, uint64_t offset) {
    ssize_t n;
    do n = pread(fd, data, clip(size), (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int64_t os_write(int fd, const void *data, size_t size) {
    ssize_t n;
    do n = write(fd, data, clip(size));
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int os_sync(int fd) {
    if (fsync(fd) == 0) return 0;
    return errno == EINVAL || errno == EROFS ? 0
                                             : -errno; /* nothing to sync on such a file system */
}

static int os_rename(int dir, const char *from, const char *to) {
    return renameat(dir, from, dir, to) ? -errno : 0;
}

static int os_unlink(int dir, const char *name) {
    return unlinkat(dir, name, 0) ? -errno : 0;
}

static int os_map(int fd, uint64_t size, void **address) {
    void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return -errno;
    *address = p;
    return 0;
}

static int os_unmap(void *address, uint64_t size) {
    return munmap(address, size) ? -errno : 0;
}

/* For the pages that lie within that memory. */
static int advise(const void *address, uint64_t size, int advice) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)address + page - 1) & ~(page - 1);
    uintptr_t to = ((uintptr_t)address + size) & ~(page - 1);
    return to > from && madvise((void *)from, to - from, advice) ? -errno : 0;
}

static int os_drop(const void *address, uint64_t size) {
    return advise(address, size, MADV_DONTNEED);
}

#ifdef MADV_POPULATE_WRITE /* Linux 5.14 */
/* Large pages come sooner, and are found faster whenever they are used, unless a host took its
 * memory back where it lay free in large pieces: then one takes milliseconds, ten times what its
 * small pages would. Where that happens, small ones are taken for a while. */
static int touch_large(const void *address) {
    enum { SLOW_NS = 2000000, WHILE = 256 };
    static atomic_int small;
    if (atomic_load_explicit(&small, memory_order_relaxed) > 0) {
        atomic_fetch_sub_explicit(&small, 1, memory_order_relaxed);
        return advise(address, ONX_OS_LARGE_PAGE, MADV_POPULATE_WRITE);
    }
    (void)advise(address, ONX_OS_LARGE_PAGE, MADV_HUGEPAGE); /* there may be none */
    int64_t start = onx_clock_ns();
    int result = advise(address, ONX_OS_LARGE_PAGE, MADV_POPULATE_WRITE);
    if (onx_clock_ns() - start > SLOW_NS)
        atomic_store_explicit(&small, WHILE, memory_order_relaxed);
    return result;
}

static int os_touch(const void *address, size_t size, bool write) {
    if (!write) return advise(address, size, MADV_POPULATE_READ);
    if (size == ONX_OS_LARGE_PAGE && (uintptr_t)address % ONX_OS_LARGE_PAGE == 0)
        return touch_large(address);
    return advise(address, size, MADV_POPULATE_WRITE);
}
#else
static int os_touch(const void *address, size_t size, bool write) {
    (void)address, (void)size, (void)write;
    return 0;
}
#endif

static const char *os_variable(const char *name) {
    return getenv(name);
}

const onx_os onx_os_host = {
    .open_dir = os_open_dir,
    .open_read = os_open_read,
    .open_beneath = os_open_beneath,
    .open_write = os_open_write,
    .create_exclusive = os_create_exclusive,
    .lock = os_lock,
    .set_mode = os_set_mode,
    .real_path = os_real_path,
    .close = os_close,
    .stat = os_stat,
    .stat_path = os_stat_path,
    .read = os_read,
    .read_at = os_read_at,
    .write = os_write,
    .sync = os_sync,
    .rename = os_rename,
    .unlink = os_unlink,
    .map = os_map,
    .unmap = os_unmap,
    .drop = os_drop,
    .touch = os_touch,
    .variable = os_variable,
};

void onx_errno_text(int error, char *out, size_t size) {
    const char *text = strerror_r(error, out, size); /* GNU: returns the text, maybe not in `out` */
    if (text != out) snprintf(out, size, "%s", text);
}
