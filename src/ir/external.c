/* external.c: finding external data, safely.
 *
 * This is the only way from a name in a model to an open file. A location must be relative and
 * without ".."; the kernel resolves it beneath the folder (no link leads out); what is opened must
 * be a plain file with one name. One exception: where the model's file is itself a link (as in
 * download caches), its data may lie in the folder that link leads to.
 */
#include "ir/external.h"

#include "ir/edit.h"

#include <errno.h>
#include <stdio.h>

typedef struct finder {
    onx_doc *doc;
    size_t map_threshold;
    int dir, real_dir; /* open folders; real_dir < 0: the model is not a link */
    char folder[ONX_PATH_MAX], real_folder[ONX_PATH_MAX];
    onx_map files; /* location to onx_blob */
    onx_diag *diag;
} finder;

bool onx_external_is_plain(onx_str location) {
    const char *p = location.data, *end = p + location.size;
    if (location.size == 0 || location.size >= ONX_PATH_MAX || *p == '/') return false;
    if (memchr(p, '\0', location.size)) return false;
    while (p < end) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        size_t n = (size_t)((slash ? slash : end) - p);
        if (n == 2 && p[0] == '.' && p[1] == '.') return false;
        p += n + 1;
    }
    return true;
}

/* `tensor` is NULL for a file that no tensor names. */
static onx_status fail(finder *f, const onx_tensor *tensor, onx_status status) {
    char path[160];
    if (!tensor) return status;
    onx_msg_path(tensor, path, sizeof path);
    onx_diag_place(f->diag, "%s, external data of tensor '%.*s'", path, ONX_FMT(tensor->name));
    return status;
}
#define FAIL(f, tensor, status, ...) fail(f, tensor, onx_fail((f)->diag, status, __VA_ARGS__))

/* The model is a link, and so is this file: allowed if it leads into the folder of the real
 * model. */
static int open_beside_real(finder *f, const char *location) {
    char path[2 * ONX_PATH_MAX], real[ONX_PATH_MAX];
    const onx_os *os = f->doc->ctx->os;
    size_t n = strlen(f->real_folder);
    if (f->real_dir < 0) return -EXDEV;
    snprintf(path, sizeof path, "%s/%s", f->folder, location);
    int error = os->real_path(path, real);
    if (error) return error;
    if (strncmp(real, f->real_folder, n) || real[n] != '/') return -EXDEV;
    return os->open_beneath(f->real_dir, real + n + 1);
}

static onx_status open_file(finder *f, const onx_tensor *tensor, onx_str location, int *out) {
    const onx_os *os = f->doc->ctx->os;
    if (!onx_external_is_plain(location)) {
        FAIL(f, tensor, ONX_DENIED, "the location '%.*s' is not a relative path without '..'",
             ONX_FMT(location));
        onx_diag_hint(f->diag, "external data must lie beneath the model's folder");
        return ONX_DENIED;
    }
    int fd = os->open_beneath(f->dir, location.data);
    if (fd == -EXDEV || fd == -ELOOP) fd = open_beside_real(f, location.data);
    if (fd == -EXDEV || fd == -ELOOP) {
        FAIL(f, tensor, ONX_DENIED, "'%.*s' leads out of the model's folder", ONX_FMT(location));
        onx_diag_hint(f->diag, "external data must lie beneath the model's folder");
        return ONX_DENIED;
    }
    if (fd < 0) {
        onx_status status = onx_fail_errno(f->diag, fd, "open external data", location.data);
        onx_diag_hint(f->diag, "the data file belongs in the folder '%s'", f->folder);
        return fail(f, tensor, status);
    }
    *out = fd;
    return ONX_OK;
}

static onx_status check_file(finder *f, const onx_tensor *tensor, onx_str location, int fd) {
    onx_file_info info;
    int error = f->doc->ctx->os->stat(fd, &info);
    if (error) return fail(f, tensor, onx_fail_errno(f->diag, error, "stat", location.data));
    if (!info.is_regular)
        return FAIL(f, tensor, ONX_DENIED, "'%.*s' is not a plain file", ONX_FMT(location));
    if (info.links > 1) {
        FAIL(f, tensor, ONX_DENIED, "'%.*s' is a hard link: it may be a file from elsewhere",
             ONX_FMT(location));
        onx_diag_hint(f->diag, "replace it by a copy");
        return ONX_DENIED;
    }
    return ONX_OK;
}

static onx_status find_file(finder *f, const onx_tensor *tensor, onx_str location, onx_blob **out) {
    onx_context *ctx = f->doc->ctx;
    onx_blob *blob = onx_map_get(&f->files, NULL, location);
    int fd = -1;
    if (!blob) {
        ONX_TRY(open_file(f, tensor, location, &fd));
        onx_status status = check_file(f, tensor, location, fd);
        if (!status)
            status = onx_blob_from_fd(ctx, fd, location.data, f->map_threshold, &blob, f->diag);
        ctx->os->close(fd);
        if (status) return status;
        ONX_TRY(onx_doc_keep(f->doc, blob, f->diag));
        if (!onx_map_put(&f->files, NULL, location, blob)) return onx_fail_nomem(f->diag);
    }
    *out = blob;
    return ONX_OK;
}

static bool parse_number(onx_str s, uint64_t *out) {
    uint64_t v = 0;
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] < '0' || s.data[i] > '9' || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (unsigned)(s.data[i] - '0'), &v))
            return false;
    *out = v;
    return s.size > 0 && v <= INT64_MAX;
}

bool onx_tensor_extent(const onx_tensor *tensor, uint64_t *offset, uint64_t *length) {
    if (!onx_tensor_is_external(tensor)) return false;
    const onx_entry *from = onx_entry_find(&tensor->external_data, "offset"),
                    *size = onx_entry_find(&tensor->external_data, "length");
    size_t needed = 0;
    if (!size && onx_tensor_bytes(tensor, &needed, NULL)) return false;
    *offset = 0;
    *length = needed;
    return (!from || parse_number(from->value, offset)) &&
           (!size || parse_number(size->value, length));
}

typedef struct reference {
    onx_str location;
    uint64_t offset, length;
    bool has_offset, has_length;
} reference;

static onx_status read_number(finder *f, const onx_tensor *tensor, const onx_entry *e, bool *has,
                              uint64_t *out) {
    if (*has) return FAIL(f, tensor, ONX_INVALID, "'%.*s' is given twice", ONX_FMT(e->key));
    *has = true;
    if (parse_number(e->value, out)) return ONX_OK;
    return FAIL(f, tensor, ONX_INVALID, "'%.*s' is not a number of bytes: '%.*s'", ONX_FMT(e->key),
                ONX_FMT(e->value));
}

static onx_status read_reference(finder *f, const onx_tensor *tensor, reference *ref) {
    *ref = (reference){.location = {NULL, 0}};
    ONX_EACH (onx_entry, e, tensor->external_data) {
        if (onx_str_is(e->key, "offset"))
            ONX_TRY(read_number(f, tensor, e, &ref->has_offset, &ref->offset));
        else if (onx_str_is(e->key, "length"))
            ONX_TRY(read_number(f, tensor, e, &ref->has_length, &ref->length));
        else if (onx_str_is(e->key, "location")) {
            if (ref->location.data)
                return FAIL(f, tensor, ONX_INVALID, "'location' is given twice");
            ref->location = e->value.data ? e->value : ONX_LIT("");
        }
    }
    if (!ref->location.data) return FAIL(f, tensor, ONX_INVALID, "there is no 'location'");
    return ONX_OK;
}

static onx_status find(finder *f, onx_tensor *tensor) {
    reference ref;
    onx_blob *file = NULL;
    size_t needed = 0;
    ONX_TRY(read_reference(f, tensor, &ref));
    if (tensor->data_type == ONX_DTYPE_STRING)
        return FAIL(f, tensor, ONX_INVALID, "strings cannot be external");
    ONX_TRY(onx_tensor_bytes(tensor, &needed, f->diag));
    ONX_TRY(find_file(f, tensor, ref.location, &file));
    if (!ref.has_length) ref.length = needed;
    if (ref.offset > file->bytes.size || ref.length > file->bytes.size - ref.offset) {
        FAIL(f, tensor, ONX_INVALID, "%llu bytes at %llu lie outside '%.*s', which has %zu",
             (unsigned long long)ref.length, (unsigned long long)ref.offset, ONX_FMT(ref.location),
             file->bytes.size);
        onx_diag_hint(f->diag, "the data file is cut off, or belongs to another model");
        return ONX_INVALID;
    }
    if (ref.length != needed)
        return FAIL(f, tensor, ONX_INVALID, "the data have %llu bytes, but the tensor needs %zu",
                    (unsigned long long)ref.length, needed);
    tensor->external = (onx_str){file->bytes.data + ref.offset, needed};
    return ONX_OK;
}

/* The folder of a path: everything before the last slash, or ".". */
static void folder_of(const char *path, char *out) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= ONX_PATH_MAX) n = 0;
    memcpy(out, path, n);
    strcpy(out + n, n ? "" : slash ? "/" : ".");
}

static onx_status open_folders(finder *f, const char *path, const char *folder) {
    const onx_os *os = f->doc->ctx->os;
    char real[ONX_PATH_MAX], here[ONX_PATH_MAX];
    if (folder)
        snprintf(f->folder, sizeof f->folder, "%s", folder);
    else
        folder_of(path, f->folder);
    f->dir = os->open_dir(f->folder);
    if (f->dir < 0)
        return onx_fail_errno(f->diag, f->dir, "open the folder of external data", f->folder);
    if (folder || os->real_path(path, real) || os->real_path(f->folder, here)) return ONX_OK;
    folder_of(real, f->real_folder);
    if (strcmp(f->real_folder, here)) f->real_dir = os->open_dir(f->real_folder);
    return ONX_OK;
}

static bool needs_file(const onx_msg *msg) {
    return msg->desc == &onx_desc_tensor && onx_tensor_is_external((const onx_tensor *)msg);
}

static onx_status find_all(finder *f, void *root, const char *path, const char *folder) {
    onx_msg *m;
    bool open = false;
    for (onx_walk w = onx_walk_begin(root); (m = onx_walk_next(&w));) {
        if (!needs_file(m)) continue;
        if (!open) ONX_TRY(open_folders(f, path, folder));
        open = true;
        ONX_TRY(find(f, (onx_tensor *)m));
    }
    return ONX_OK;
}

static finder *finder_new(onx_doc *doc, size_t map_threshold, onx_diag *diag) {
    finder *f = onx_mem_alloc(doc->ctx, sizeof *f); /* too large for the stack */
    if (!f) return NULL;
    *f = (finder){
        .doc = doc, .map_threshold = map_threshold, .dir = -1, .real_dir = -1, .diag = diag};
    onx_map_init(&f->files, doc->ctx);
    return f;
}

static void finder_free(finder *f) {
    onx_context *ctx = f->doc->ctx;
    if (f->dir >= 0) ctx->os->close(f->dir);
    if (f->real_dir >= 0) ctx->os->close(f->real_dir);
    onx_map_fini(&f->files);
    onx_mem_free(ctx, f, sizeof *f);
}

onx_status onx_external_load(void *root, const char *path, const char *folder, size_t map_threshold,
                             onx_diag *diag) {
    finder *f = finder_new(((onx_msg *)root)->doc, map_threshold, diag);
    if (!f) return onx_fail_nomem(diag);
    onx_status status = find_all(f, root, path, folder);
    finder_free(f);
    return status;
}

onx_status onx_external_open(onx_doc *doc, const char *path, onx_str location, size_t map_threshold,
                             onx_str *out, onx_diag *diag) {
    onx_blob *blob = NULL;
    finder *f = finder_new(doc, map_threshold, diag);
    if (!f) return onx_fail_nomem(diag);
    onx_status status = open_folders(f, path, NULL);
    if (!status) status = find_file(f, NULL, location, &blob);
    finder_free(f);
    if (!status) *out = blob->bytes;
    return status;
}

onx_status onx_external_set(onx_tensor *tensor, const char *location, uint64_t offset,
                            uint64_t length) {
    char number[2][24];
    snprintf(number[0], sizeof number[0], "%llu", (unsigned long long)offset);
    snprintf(number[1], sizeof number[1], "%llu", (unsigned long long)length);
    const onx_field *row = ONX_ROW(tensor, external_data);
    onx_tensor_set_raw(tensor, (onx_str){"", 0});
    onx_msg_clear(tensor, ONX_ROW(tensor, raw_data));
    ONX_TRY(onx_entry_set(tensor, row, "location", location));
    ONX_TRY(onx_entry_set(tensor, row, "offset", number[0]));
    ONX_TRY(onx_entry_set(tensor, row, "length", number[1]));
    onx_i32_set(tensor, ONX_ROW(tensor, data_location), 1);
    return ONX_OK;
}
