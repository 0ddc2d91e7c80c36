/* blob.c: bytes that outlive a call: mapped files, buffers, and memory of the caller. */
#include "base/io.h"

#include <errno.h>

onx_status onx_fail_errno(onx_diag *diag, int error, const char *what, const char *path) {
    char reason[128];
    onx_errno_text(-error, reason, sizeof reason);
    onx_status status = error == -ENOENT   ? ONX_NOT_FOUND
                        : error == -ENOMEM ? ONX_NO_MEMORY
                                           : ONX_IO;
    onx_fail(diag, status, "cannot %s: %s", what, reason);
    if (path) onx_diag_file(diag, path);
    return status;
}

static onx_status blob_make(onx_context *ctx, onx_str bytes, int kind, onx_blob **out,
                            onx_diag *diag) {
    onx_blob *blob = onx_mem_alloc(ctx, sizeof *blob);
    if (!blob) return onx_fail_nomem(diag);
    *blob = (onx_blob){.ctx = ctx, .bytes = bytes, .kind = kind};
    atomic_init(&blob->refs, 1);
    onx_context_retain(ctx); /* it may outlive what it was made for, in another context's model */
    *out = blob;
    return ONX_OK;
}

onx_status onx_blob_borrow(onx_context *ctx, onx_str bytes, onx_blob **out, onx_diag *diag) {
    return blob_make(ctx, bytes, ONX_BLOB_BORROWED, out, diag);
}

onx_status onx_blob_new(onx_context *ctx, size_t size, onx_blob **out, onx_diag *diag) {
    char *data = onx_mem_alloc(ctx, size);
    if (!data) return onx_fail_nomem(diag);
    onx_status status = blob_make(ctx, (onx_str){data, size}, ONX_BLOB_OWNED, out, diag);
    if (status) onx_mem_free(ctx, data, size);
    return status;
}

void onx_blob_retain(onx_blob *blob) {
    atomic_fetch_add(&blob->refs, 1);
}

void onx_blob_release(onx_blob *blob) {
    if (!blob || atomic_fetch_sub(&blob->refs, 1) != 1) return;
    onx_context *ctx = blob->ctx;
    void *data = (void *)(uintptr_t)blob->bytes.data;
    if (blob->kind == ONX_BLOB_MAPPED) ctx->os->unmap(data, blob->bytes.size);
    if (blob->kind == ONX_BLOB_OWNED) onx_mem_free(ctx, data, blob->bytes.size);
    onx_mem_free(ctx, blob, sizeof *blob);
    onx_context_free(ctx);
}

static onx_status read_exactly(onx_context *ctx, int fd, const char *name, onx_blob *blob,
                               onx_diag *diag) {
    char *data = (char *)(uintptr_t)blob->bytes.data;
    size_t done = 0;
    while (done < blob->bytes.size) {
        int64_t n = ctx->os->read_at(fd, data + done, blob->bytes.size - done, done);
        if (n < 0) return onx_fail_errno(diag, (int)n, "read", name);
        if (n == 0) {
            onx_fail(diag, ONX_CHANGED, "the file became shorter while it was read");
            onx_diag_file(diag, name);
            return ONX_CHANGED;
        }
        done += (size_t)n;
    }
    return ONX_OK;
}

typedef struct fd_reader {
    onx_context *ctx;
    int fd;
    int error;
} fd_reader;

static ptrdiff_t fd_read(void *user, void *data, size_t size) {
    fd_reader *r = user;
    int64_t n = r->ctx->os->read(r->fd, data, size);
    if (n < 0) r->error = (int)n;
    return (ptrdiff_t)n;
}

/* A pipe or device: its size is not known beforehand. */
static onx_status read_stream_fd(onx_context *ctx, int fd, const char *name, onx_blob **out,
                                 onx_diag *diag) {
    fd_reader r = {ctx, fd, 0};
    onx_status status = onx_blob_from_reader(ctx, &(onx_reader){&r, fd_read}, out, diag);
    if (status == ONX_IO && r.error) return onx_fail_errno(diag, r.error, "read", name);
    return status;
}

onx_status onx_blob_from_fd(onx_context *ctx, int fd, const char *name, size_t map_threshold,
                            onx_blob **out, onx_diag *diag) {
    onx_file_info info;
    int error = ctx->os->stat(fd, &info);
    if (error) return onx_fail_errno(diag, error, "stat", name);
    if (!info.is_regular) return read_stream_fd(ctx, fd, name, out, diag);
    if (info.size > SIZE_MAX) return onx_fail(diag, ONX_LIMIT, "the file does not fit in memory");
    size_t size = (size_t)info.size;
    if (size >= map_threshold && size > 0) {
        void *address;
        error = ctx->os->map(fd, size, &address);
        if (error) return onx_fail_errno(diag, error, "map", name);
        onx_status status = blob_make(ctx, (onx_str){address, size}, ONX_BLOB_MAPPED, out, diag);
        if (status) ctx->os->unmap(address, size);
        return status;
    }
    onx_blob *blob;
    ONX_TRY(onx_blob_new(ctx, size, &blob, diag));
    onx_status status = read_exactly(ctx, fd, name, blob, diag);
    if (status)
        onx_blob_release(blob);
    else
        *out = blob;
    return status;
}

onx_status onx_blob_open(onx_context *ctx, const char *path, size_t map_threshold, onx_blob **out,
                         onx_diag *diag) {
    int fd = ctx->os->open_read(path);
    if (fd < 0) return onx_fail_errno(diag, fd, "open", path);
    onx_status status = onx_blob_from_fd(ctx, fd, path, map_threshold, out, diag);
    ctx->os->close(fd);
    if (status) onx_diag_file(diag, path);
    return status;
}

onx_status onx_blob_from_reader(onx_context *ctx, const onx_reader *reader, onx_blob **out,
                                onx_diag *diag) {
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    onx_status status = ONX_OK;
    for (;;) {
        char *p = onx_buf_reserve(&buf, (size_t)64 << 10);
        if (!p) status = onx_fail_nomem(diag);
        if (status) break;
        size_t room = buf.cap - buf.size;
        ptrdiff_t n = reader->read(reader->user, p, room);
        if (n == 0) break;
        if (n < 0 || (size_t)n > room) status = onx_fail(diag, ONX_IO, "the stream cannot be read");
        if (status) break;
        buf.size += (size_t)n;
    }
    if (!status && buf.size < buf.cap) { /* give back the slack: a blob frees what it holds */
        char *data = onx_mem_resize(ctx, buf.data, buf.cap, buf.size ? buf.size : 1);
        if (data)
            buf.data = data, buf.cap = buf.size ? buf.size : 1;
        else
            status = onx_fail_nomem(diag);
    }
    if (!status) status = blob_make(ctx, (onx_str){buf.data, buf.size}, ONX_BLOB_OWNED, out, diag);
    if (status) onx_buf_fini(&buf);
    return status;
}
