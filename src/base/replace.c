/* replace.c: writing. A file is replaced whole or left as it was.
 *
 *     begin    ".NAME.onx-tmp0" is created beside NAME, with the mode of NAME, and locked
 *     write    through a buffer; large spans go straight to the system
 *     prepare  sync; it waits under its temporary name, still locked
 *     commit   prepare if need be, rename over NAME, sync of the folder
 *     abort    the temporary file is removed
 *
 * Files that belong together are chained: all are prepared before the first one is renamed.
 *
 * A process killed in between leaves the temporary file; it is no longer locked, and the next save
 * of the same NAME removes it. What is not a plain file (a pipe, a terminal) is written directly.
 */
#include "base/io.h"

#include <errno.h>
#include <stdio.h>

enum { BUFFER = 64 << 10, ATTEMPTS = 100 };

struct onx_replace {
    onx_context *ctx;
    onx_writer writer;
    onx_replace *next; /* of the chain */
    int dir, fd;       /* dir < 0: written directly */
    bool owns_dir, prepared;
    int error;
    uint32_t mode; /* of the file to replace; 0: there is none */
    size_t used;
    char *buffer;
    char path[ONX_PATH_MAX], name[256], temp[300];
};

static int write_fd(onx_context *ctx, int fd, const char *data, size_t size) {
    while (size) {
        int64_t n = ctx->os->write(fd, data, size);
        if (n < 0) return (int)n;
        if (n == 0) return -EIO;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

static int flush(onx_replace *file) {
    if (!file->error) file->error = write_fd(file->ctx, file->fd, file->buffer, file->used);
    file->used = 0;
    return file->error;
}

static int replace_write(void *user, const void *data, size_t size) {
    onx_replace *file = user;
    if (size > BUFFER - file->used && flush(file)) return -1;
    if (size > BUFFER)
        file->error = write_fd(file->ctx, file->fd, data, size);
    else if (size)
        memcpy(file->buffer + file->used, data, size), file->used += size;
    return file->error ? -1 : 0;
}

/* Lock a temporary file that was just made. -EEXIST: another process took it for a leftover. */
static int lock_temp(onx_replace *file, int fd) {
    const onx_os *os = file->ctx->os;
    onx_file_info info;
    if (os->lock(fd) == -EWOULDBLOCK)
        return -EEXIST; /* other failures: files cannot be locked here */
    int error = os->stat(fd, &info);
    if (error) os->unlink(file->dir, file->temp);
    return error ? error : info.links ? 0 : -EEXIST;
}

/* Create and lock a temporary file. A leftover that nobody holds is removed first. */
static int create_temp(onx_replace *file) {
    const onx_os *os = file->ctx->os;
    for (int i = 0, stale = 0; i < ATTEMPTS; i++) {
        snprintf(file->temp, sizeof file->temp, ".%.200s.onx-tmp%d", file->name, i - stale);
        int fd = os->create_exclusive(file->dir, file->temp);
        if (fd >= 0) {
            int error = lock_temp(file, fd);
            if (!error) return fd;
            os->close(fd);
            if (error != -EEXIST) return error;
            continue;
        }
        if (fd != -EEXIST) return fd;
        int old = os->open_beneath(file->dir, file->temp);
        if (old < 0) continue;
        if (os->lock(old) == 0 && os->unlink(file->dir, file->temp) == 0) stale++;
        os->close(old);
    }
    return -EEXIST;
}

/* Split file->path into a folder, which is opened, and a name. */
static int open_folder(onx_replace *file) {
    char folder[ONX_PATH_MAX];
    char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    if (!*name) return -EISDIR;
    if (strlen(name) >= sizeof file->name) return -ENAMETOOLONG;
    strcpy(file->name, name);
    size_t n = slash ? (size_t)(slash - file->path) : 0;
    if (n) memcpy(folder, file->path, n);
    folder[n] = '\0';
    return file->ctx->os->open_dir(n ? folder : slash ? "/" : ".");
}

/* What the file may contain, it must not show to more people than the old one did. */
static int open_temp(onx_replace *file) {
    const onx_os *os = file->ctx->os;
    int fd = create_temp(file), error = 0;
    if (fd < 0) return fd;
    file->fd = fd;
    if (file->mode) error = os->set_mode(fd, file->mode);
    if (error) os->unlink(file->dir, file->temp);
    return error;
}

static int open_target(onx_replace *file, const char *path) {
    const onx_os *os = file->ctx->os;
    if (strlen(path) >= sizeof file->path) return -ENAMETOOLONG;
    strcpy(file->path, path);
    onx_file_info info;
    int error = os->stat_path(path, &info);
    if (error && error != -ENOENT) return error;
    if (!error) {
        if (!info.is_regular) return (file->fd = os->open_write(path)) < 0 ? file->fd : 0;
        file->mode = info.mode;
        error = os->real_path(path, file->path);
        if (error) return error;
    }
    file->dir = open_folder(file);
    if (file->dir < 0) return file->dir;
    file->owns_dir = true;
    return open_temp(file);
}

static void replace_free(onx_replace *file) {
    const onx_os *os = file->ctx->os;
    if (file->fd >= 0) os->close(file->fd);
    if (file->dir >= 0 && file->owns_dir) os->close(file->dir);
    onx_mem_free(file->ctx, file->buffer, BUFFER);
    onx_mem_free(file->ctx, file, sizeof *file);
}

static onx_replace *replace_new(onx_context *ctx) {
    onx_replace *file = onx_mem_alloc(ctx, sizeof *file);
    if (!file) return NULL;
    *file = (onx_replace){.ctx = ctx, .writer = {file, replace_write}, .dir = -1, .fd = -1};
    file->buffer = onx_mem_alloc(ctx, BUFFER);
    if (file->buffer) return file;
    replace_free(file);
    return NULL;
}

onx_status onx_replace_begin(onx_context *ctx, const char *path, onx_replace **out,
                             onx_diag *diag) {
    onx_replace *file = replace_new(ctx);
    if (!file) return onx_fail_nomem(diag);
    int error = open_target(file, path);
    if (error) {
        replace_free(file);
        return onx_fail_errno(diag, error, "write", path);
    }
    *out = file;
    return ONX_OK;
}

static int open_target_in(onx_replace *file, int dir, const char *name) {
    const onx_os *os = file->ctx->os;
    onx_file_info info;
    if (!*name || strlen(name) >= sizeof file->name || strchr(name, '/')) return -EINVAL;
    strcpy(file->name, name);
    strcpy(file->path, name);
    file->dir = dir;
    int old = os->open_beneath(dir, name);
    if (old >= 0) {
        int error = os->stat(old, &info);
        os->close(old);
        if (error) return error;
        if (info.is_regular) file->mode = info.mode;
    } else if (old == -EIO || old == -EMFILE || old == -ENFILE || old == -ENOMEM) {
        return old;
    }
    return open_temp(file);
}

onx_status onx_replace_begin_in(onx_context *ctx, int dir, bool owned, const char *name,
                                onx_replace **out, onx_diag *diag) {
    onx_replace *file = replace_new(ctx);
    if (!file) {
        if (owned) ctx->os->close(dir);
        return onx_fail_nomem(diag);
    }
    int error = open_target_in(file, dir, name);
    file->dir = dir;
    file->owns_dir = owned;
    if (error) {
        replace_free(file);
        return onx_fail_errno(diag, error, "write", name);
    }
    *out = file;
    return ONX_OK;
}

const onx_writer *onx_replace_writer(onx_replace *file) {
    return &file->writer;
}

onx_status onx_replace_prepare(onx_replace *file, onx_diag *diag) {
    int error = flush(file);
    if (!error && file->dir >= 0) error = file->error = file->ctx->os->sync(file->fd);
    file->prepared = true;
    onx_mem_free(file->ctx, file->buffer, BUFFER);
    file->buffer = NULL;
    return error ? onx_fail_errno(diag, error, "write", file->path) : ONX_OK;
}

void onx_replace_chain(onx_replace **first, onx_replace *file) {
    while (*first) first = &(*first)->next;
    *first = file;
}

/* Rename all; the rest stays when one cannot be renamed. The folders are synced last, each once. */
static onx_status rename_all(onx_replace *first, onx_diag *diag) {
    int dir = -1, error = 0;
    for (onx_replace *f = first; f; f = f->next) {
        if (f->dir < 0) continue;
        error = f->ctx->os->rename(f->dir, f->temp, f->name);
        if (error) return onx_fail_errno(diag, error, "write", f->path);
        f->temp[0] = '\0';
    }
    for (onx_replace *f = first; f; f = f->next) {
        if (f->dir >= 0 && f->dir != dir) error = f->ctx->os->sync(f->dir);
        if (error) return onx_fail_errno(diag, error, "write", f->path);
        dir = f->dir;
    }
    return ONX_OK;
}

onx_status onx_replace_commit(onx_replace *first, onx_diag *diag) {
    onx_status status = ONX_OK;
    for (onx_replace *f = first; f && !status; f = f->next)
        if (!f->prepared) status = onx_replace_prepare(f, diag);
    if (!status) status = rename_all(first, diag);
    onx_replace_abort(first);
    return status;
}

onx_status onx_replace_failed(const onx_replace *file, onx_status status, onx_diag *diag) {
    return file->error ? onx_fail_errno(diag, file->error, "write", file->path) : status;
}

void onx_replace_abort(onx_replace *first) {
    for (onx_replace *f = first, *next; f; f = next) {
        next = f->next;
        if (f->dir >= 0 && f->temp[0]) f->ctx->os->unlink(f->dir, f->temp);
        replace_free(f);
    }
}

static int buf_write(void *user, const void *data, size_t size) {
    onx_buf *buf = user;
    onx_buf_put(buf, data, size);
    return buf->failed ? -1 : 0;
}

onx_writer onx_buf_writer(onx_buf *buf) {
    return (onx_writer){buf, buf_write};
}

onx_status onx_write_all(const onx_writer *writer, const void *data, size_t size, onx_diag *diag) {
    if (size == 0 || writer->write(writer->user, data, size) == 0) return ONX_OK;
    return onx_fail(diag, ONX_IO, "the output cannot be written");
}
