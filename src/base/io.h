/* io.h: whole files in, whole files out.
 *
 * Reading gives a blob: a mapped file or a buffer, reference counted.
 * Writing goes through onx_writer; the file kind writes a temporary file beside the target, syncs
 * it, renames it over the target and syncs the folder: after a crash the old or the new file is
 * there, whole.
 */
#ifndef ONX_IO_H
#define ONX_IO_H

#include "base/mem.h"

typedef struct onx_blob {
    onx_context *ctx;
    onx_str bytes;
    atomic_size_t refs;
    enum { ONX_BLOB_BORROWED, ONX_BLOB_OWNED, ONX_BLOB_MAPPED } kind;
} onx_blob;

/* Files below `map_threshold` bytes are read, larger ones mapped; SIZE_MAX reads everything. */
#define ONX_MAP_THRESHOLD ((size_t)256 << 10)

onx_status onx_blob_open(onx_context *ctx, const char *path, size_t map_threshold, onx_blob **out,
                         onx_diag *diag) ONX_MUST_CHECK;
/* From an open descriptor, which stays the caller's. `name` is for messages. */
onx_status onx_blob_from_fd(onx_context *ctx, int fd, const char *name, size_t map_threshold,
                            onx_blob **out, onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_blob_from_reader(onx_context *ctx, const onx_reader *reader, onx_blob **out,
                                onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_blob_borrow(onx_context *ctx, onx_str bytes, onx_blob **out, onx_diag *diag)
    ONX_MUST_CHECK;
/* An owned, uninitialised buffer; write through (char *)blob->bytes.data before sharing it. */
onx_status onx_blob_new(onx_context *ctx, size_t size, onx_blob **out, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_blob_retain(onx_blob *blob);
void onx_blob_release(onx_blob *blob);

/* A file being replaced. `writer` is buffered and may be given spans of any size. */
typedef struct onx_replace onx_replace;
onx_status onx_replace_begin(onx_context *ctx, const char *path, onx_replace **out, onx_diag *diag)
    ONX_MUST_CHECK;
/* The same for a plain name in an open folder. Follows no link. If `owned`, the folder is closed
 * with the file, also on failure; else it must stay open as long. */
onx_status onx_replace_begin_in(onx_context *ctx, int dir, bool owned, const char *name,
                                onx_replace **out, onx_diag *diag) ONX_MUST_CHECK;
const onx_writer *onx_replace_writer(onx_replace *file);
/* The file is complete: sync it, and let it wait under its temporary name. */
onx_status onx_replace_prepare(onx_replace *file, onx_diag *diag) ONX_MUST_CHECK;
/* Put `file` at the end of a chain; what is done with the first one is then done with all. */
void onx_replace_chain(onx_replace **first, onx_replace *file);
/* Prepare all, then rename them in order: as good as at once. Frees them in every case. */
onx_status onx_replace_commit(onx_replace *first, onx_diag *diag) ONX_MUST_CHECK;
void onx_replace_abort(onx_replace *first); /* may be NULL */
/* `status`, told better: the system's reason when it was a write to this file that failed. */
onx_status onx_replace_failed(const onx_replace *file, onx_status status, onx_diag *diag);

/* "cannot open: No such file or directory", from a negative errno of onx_os. */
onx_status onx_fail_errno(onx_diag *diag, int error, const char *what, const char *path);

/* A writer that appends to `buf`. */
onx_writer onx_buf_writer(onx_buf *buf);
/* Write all of `bytes`, or fail. */
onx_status onx_write_all(const onx_writer *writer, const void *data, size_t size, onx_diag *diag)
    ONX_MUST_CHECK;

#endif
