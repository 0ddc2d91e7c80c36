/* os.h: the operating system as a table of functions, so that tests can make any call fail.
 * The real one is onx_os_host (os_posix.c). Functions return -errno on failure. */
#ifndef ONX_OS_H
#define ONX_OS_H

#include "base/base.h"

#define ONX_PATH_MAX 4096
#define ONX_OS_LARGE_PAGE ((size_t)2 << 20)

typedef struct onx_file_info {
    uint64_t size, device, inode, links;
    bool is_regular;
    uint32_t mode;
} onx_file_info;

typedef struct onx_os {
    int (*open_dir)(const char *path);
    int (*open_read)(const char *path);
    /* Open for reading what lies beneath `dir`: refuses anything that resolves outside it, absolute
     * paths included (-EXDEV). Does not wait for the other end of a FIFO. */
    int (*open_beneath)(int dir, const char *path);
    int (*open_write)(const char *path); /* something that is not a plain file, such as a pipe */
    int (*create_exclusive)(int dir, const char *name);
    int (*lock)(int fd); /* exclusive, without waiting; ends with the process */
    int (*set_mode)(int fd, uint32_t mode);
    /* The path with all links followed, into `out` of at least ONX_PATH_MAX bytes. */
    int (*real_path)(const char *path, char *out);
    int (*close)(int fd);
    int (*stat)(int fd, onx_file_info *info);
    int (*stat_path)(const char *path, onx_file_info *info);
    int64_t (*read)(int fd, void *data, size_t size);
    int64_t (*read_at)(int fd, void *data, size_t size, uint64_t offset);
    int64_t (*write)(int fd, const void *data, size_t size);
    int (*sync)(int fd);
    int (*rename)(int dir, const char *from, const char *to);
    int (*unlink)(int dir, const char *name);
    int (*map)(int fd, uint64_t size, void **address);
    int (*unmap)(void *address, uint64_t size);
    int (*drop)(const void *address, uint64_t size); /* of a mapping: not needed again soon */
    /* Make the pages of memory that is about to be read (or written) present, faster than it would
     * happen by itself. Of advantage for whole megabytes; what is to be written comes in pieces
     * of ONX_OS_LARGE_PAGE best, at multiples of it. */
    int (*touch)(const void *address, size_t size, bool write);
    const char *(*variable)(const char *name); /* of the environment; NULL: not set */
} onx_os;

extern const onx_os onx_os_host;

void onx_errno_text(int error, char *out, size_t size);

#endif
