/* save.c: models to files, memory and streams, with their tensor data inside or beside them.
 *
 * Moving data in or out works on a copy of the structure that shares all payloads, so the caller's
 * model stays as it is, and memory stays small whatever the size of the data. Data files are
 * complete before the model is replaced.
 */
#include "api/format.h"
#include "base/options.h"
#include "ir/edit.h"
#include "ir/external.h"

#include <stdio.h>

typedef struct mover {
    onx_model *model; /* the copy being changed */
    onx_context *ctx;
    const onx_save_options *options;
    onx_diag *diag;
    char folder[ONX_PATH_MAX]; /* of the model file */
    char name[256];            /* of the model file */
    char location[256];        /* of the data file being written */
    int dir;                   /* that folder, open; < 0: not yet */
    onx_replace *file;         /* the data file being written */
    onx_replace *waiting;      /* complete ones: they are renamed with the model */
    size_t n_waiting;
    uint64_t offset, count;
} mover;

/* Each one that waits keeps a descriptor. */
enum { WAITING_MOST = 200 };

static uint64_t threshold(const onx_save_options *options) {
    return options->threshold ? options->threshold : 1024;
}

static uint64_t alignment(const onx_save_options *options) {
    return options->alignment ? options->alignment : 4096;
}

/* A tensor of a graph's initializers, or, when asked for, of an attribute. */
static bool may_move(const mover *m, const onx_tensor *tensor) {
    const onx_msg *parent = tensor->msg.parent;
    if (tensor->data_type == ONX_DTYPE_STRING || tensor->segment) return false;
    bool initializer = parent->desc == &onx_desc_graph;
    return initializer || (m->options->attributes && parent->desc == &onx_desc_attr);
}

static onx_status open_folder(mover *m) {
    if (m->dir < 0) m->dir = m->ctx->os->open_dir(m->folder);
    return m->dir < 0 ? onx_fail_errno(m->diag, m->dir, "open the folder", m->folder) : ONX_OK;
}

static onx_status open_file(mover *m) {
    const char *own = m->options->external_file;
    bool many = m->options->external == ONX_EXTERNAL_MANY;
    int n = many  ? snprintf(m->location, sizeof m->location, "%.200s.%llu.data", m->name,
                             (unsigned long long)m->count++)
            : own ? snprintf(m->location, sizeof m->location, "%s", own)
                  : snprintf(m->location, sizeof m->location, "%.200s.data", m->name);
    if (n < 0 || (size_t)n >= sizeof m->location || !m->location[0] || strchr(m->location, '/')) {
        onx_fail(m->diag, ONX_USAGE, "the data file needs a plain name, not '%.100s'",
                 own ? own : "");
        onx_diag_hint(m->diag, "it lies in the folder of the model file");
        return ONX_USAGE;
    }
    if (!strcmp(m->location, m->name))
        return onx_fail(m->diag, ONX_USAGE, "the data file and the model file have the same name");
    m->offset = 0;
    ONX_TRY(open_folder(m));
    return onx_replace_begin_in(m->ctx, m->dir, false, m->location, &m->file, m->diag);
}

/* The data file is complete. It waits for the model: a failure leaves all old files as they
 * were. */
static onx_status close_file(mover *m) {
    if (!m->file) return ONX_OK;
    ONX_TRY(onx_replace_prepare(m->file, m->diag));
    onx_replace_chain(&m->waiting, m->file);
    m->file = NULL;
    if (++m->n_waiting % WAITING_MOST) return ONX_OK;
    onx_replace *ready = m->waiting;
    m->waiting = NULL;
    return onx_replace_commit(ready, m->diag);
}

static onx_status pad(mover *m) {
    static const char zeros[4096];
    uint64_t gap = -m->offset & (alignment(m->options) - 1);
    m->offset += gap;
    for (uint64_t n; gap; gap -= n) {
        n = gap < sizeof zeros ? gap : sizeof zeros;
        ONX_TRY(onx_write_all(onx_replace_writer(m->file), zeros, (size_t)n, m->diag));
    }
    return ONX_OK;
}

/* The dense bytes of a tensor, from where they are or, for integer lists, unpacked for the
 * moment. */
static onx_status write_payload(mover *m, const onx_tensor *tensor, size_t bytes) {
    const onx_writer *writer = onx_replace_writer(m->file);
    onx_str view = onx_tensor_view(tensor);
    if (view.data) return onx_doc_write(tensor->msg.doc, writer, view, m->diag);
    char *dense = onx_mem_alloc(m->ctx, bytes);
    if (!dense) return onx_fail_nomem(m->diag);
    onx_status status = onx_tensor_read(tensor, dense, bytes, m->diag);
    if (!status) status = onx_write_all(writer, dense, bytes, m->diag);
    onx_mem_free(m->ctx, dense, bytes);
    return status;
}

static onx_status move_out(mover *m, onx_tensor *tensor) {
    size_t bytes;
    ONX_TRY(onx_tensor_check(tensor, m->diag));
    ONX_TRY(onx_tensor_bytes(tensor, &bytes, m->diag));
    if (bytes < threshold(m->options))
        return onx_tensor_is_external(tensor) ? onx_tensor_store_raw(tensor, m->diag) : ONX_OK;
    if (m->options->external == ONX_EXTERNAL_MANY) ONX_TRY(close_file(m));
    if (!m->file) ONX_TRY(open_file(m));
    ONX_TRY(pad(m));
    onx_status status = write_payload(m, tensor, bytes);
    if (status) return onx_replace_failed(m->file, status, m->diag);
    if (onx_external_set(tensor, m->location, m->offset, bytes)) return onx_fail_nomem(m->diag);
    m->offset += bytes;
    return ONX_OK;
}

static onx_status move_in(mover *m, onx_tensor *tensor) {
    if (!onx_tensor_is_external(tensor)) return ONX_OK;
    return onx_tensor_store_raw(tensor, m->diag);
}

static onx_status move_all(mover *m) {
    bool out = m->options->external != ONX_EXTERNAL_INLINE;
    onx_msg *msg;
    for (onx_walk w = onx_walk_begin(m->model); (msg = onx_walk_next(&w));) {
        onx_tensor *tensor = (onx_tensor *)msg;
        if (msg->desc != &onx_desc_tensor) continue;
        if (!out || !may_move(m, tensor))
            ONX_TRY(move_in(m, tensor));
        else
            ONX_TRY(move_out(m, tensor));
        onx_walk_skip(&w);
    }
    return close_file(m);
}

/* Is the file that `path` names in the folder that the model was loaded from? */
static bool same_folder(mover *m, const char *loaded_from) {
    char a[ONX_PATH_MAX], b[ONX_PATH_MAX];
    const onx_os *os = m->ctx->os;
    return !os->real_path(m->folder, a) && !os->real_path(loaded_from, b) && !strcmp(a, b);
}

static onx_status copy_file(mover *m, const onx_doc *doc, const char *location, onx_str bytes) {
    const char *slash = strrchr(location, '/'), *name = slash ? slash + 1 : location;
    ONX_TRY(open_folder(m));
    int dir = m->dir;
    if (slash) {
        char parent[ONX_PATH_MAX];
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - location), location);
        dir = m->ctx->os->open_beneath(m->dir, parent);
        if (dir < 0) {
            onx_status status =
                onx_fail_errno(m->diag, dir, "open the folder of external data", parent);
            onx_diag_hint(m->diag, "make that folder, or gather the data in one file or the model");
            return status;
        }
    }
    ONX_TRY(onx_replace_begin_in(m->ctx, dir, slash != NULL, name, &m->file, m->diag));
    onx_status status = onx_doc_write(doc, onx_replace_writer(m->file), bytes, m->diag);
    return status ? onx_replace_failed(m->file, status, m->diag) : close_file(m);
}

/* Data that stay external go where the model goes: whole files, each once. */
static onx_status copy_along(mover *m, const onx_model *model) {
    onx_map done;
    onx_status status = ONX_OK;
    const onx_msg *msg;
    onx_map_init(&done, m->ctx);
    for (onx_walk w = onx_walk_begin(model); !status && (msg = onx_walk_next(&w));) {
        const onx_tensor *tensor = (const onx_tensor *)msg;
        if (msg->desc != &onx_desc_tensor || !tensor->external.data) continue;
        onx_str location = onx_str_of(onx_tensor_location(tensor));
        if (!onx_external_is_plain(location) || onx_map_get(&done, NULL, location)) continue;
        if (!onx_map_put(&done, NULL, location, m)) status = onx_fail_nomem(m->diag);
        onx_str file = onx_doc_file_of(model->msg.doc, tensor->external);
        if (!status) status = copy_file(m, model->msg.doc, location.data, file);
    }
    onx_map_fini(&done);
    return status;
}

/* The model must not take the place of its own data. */
static onx_status check_names(mover *m, const onx_model *model) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(model); (msg = onx_walk_next(&w));) {
        if (msg->desc != &onx_desc_tensor) continue;
        const char *location = onx_tensor_location((const onx_tensor *)msg);
        while (location[0] == '.' && location[1] == '/') location += 2 + strspn(location + 2, "/");
        if (!*location || strcmp(location, m->name)) continue;
        onx_fail(m->diag, ONX_USAGE, "'%.200s' holds data of the model", m->name);
        onx_diag_hint(m->diag, "choose another name, or take the data into the model");
        return ONX_USAGE;
    }
    return ONX_OK;
}

static onx_status split_path(mover *m, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof m->folder || strlen(name) >= sizeof m->name)
        return onx_fail(m->diag, ONX_USAGE, "the path is too long");
    memcpy(m->folder, path, n);
    strcpy(m->folder + n, n ? "" : slash ? "/" : ".");
    strcpy(m->name, name);
    return ONX_OK;
}

/* The model with its data where the options want them; data files are written, and wait. */
static onx_status prepare(mover *m, onx_model *model, const onx_model **out) {
    *out = model;
    if (m->options->external == ONX_EXTERNAL_KEEP) {
        ONX_TRY(check_names(m, model));
        return model->folder && !same_folder(m, model->folder) ? copy_along(m, model) : ONX_OK;
    }
    ONX_TRY(onx_model_clone(model, &m->model, m->diag));
    *out = m->model;
    return move_all(m);
}

static onx_status save(mover *m, onx_model *model, const char *path) {
    const onx_model *prepared;
    onx_format format = m->options->format;
    if (format == ONX_FORMAT_AUTO) format = onx_format_from_path(path);
    ONX_TRY(split_path(m, path));
    onx_status status = prepare(m, model, &prepared);
    if (status) {
        onx_replace_abort(m->file);
        onx_replace_abort(m->waiting);
    } else {
        status = onx_format_save(&prepared->msg, format, path, m->waiting, m->diag);
    }
    onx_model_free(m->model);
    if (m->dir >= 0) m->ctx->os->close(m->dir);
    return status;
}

static onx_status check_save(const onx_model *model, const onx_save_options *options,
                             onx_diag *diag) {
    if (!model) return onx_fail(diag, ONX_USAGE, "there is no model to save");
    const onx_diag *error = onx_model_error(model);
    if (error && diag) *diag = *error;
    if (error) return error->status;
    uint64_t align = alignment(options);
    if (align & (align - 1) || align > (uint64_t)1 << 30)
        return onx_fail(diag, ONX_USAGE, "the alignment is not a power of two up to 1 GiB");
    return ONX_OK;
}

onx_status onx_model_save(onx_model *model, const char *path, const onx_save_options *options,
                          onx_diag *diag) {
    onx_save_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    ONX_TRY(check_save(model, &o, diag));
    if (!path) return onx_fail(diag, ONX_USAGE, "onx_model_save needs a path");
    onx_context *ctx = model->msg.doc->ctx;
    mover *m = onx_mem_alloc(ctx, sizeof *m); /* too large for the stack */
    if (!m) return onx_fail_nomem(diag);
    *m = (mover){.ctx = ctx, .options = &o, .diag = diag, .dir = -1};
    onx_status status = save(m, model, path);
    onx_mem_free(ctx, m, sizeof *m);
    if (status) onx_diag_file(diag, path);
    return status;
}

onx_status onx_model_save_stream(onx_model *model, const onx_writer *writer,
                                 const onx_save_options *options, onx_diag *diag) {
    onx_save_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    ONX_TRY(check_save(model, &o, diag));
    if (!writer) return onx_fail(diag, ONX_USAGE, "onx_model_save_stream needs a writer");
    if (o.external == ONX_EXTERNAL_KEEP)
        return onx_format_write(&model->msg, o.format, writer, diag);
    if (o.external != ONX_EXTERNAL_INLINE)
        return onx_fail(diag, ONX_USAGE, "external data can be written beside a file only");
    mover m = {.ctx = model->msg.doc->ctx, .options = &o, .diag = diag};
    ONX_TRY(onx_model_clone(model, &m.model, diag));
    onx_status status = move_all(&m);
    if (!status) status = onx_format_write(&m.model->msg, o.format, writer, diag);
    onx_model_free(m.model);
    return status;
}

typedef struct saving {
    onx_model *model;
    const onx_save_options *options;
} saving;

static onx_status write_saving(const void *what, const onx_writer *writer, onx_diag *diag) {
    const saving *s = what;
    return onx_model_save_stream(s->model, writer, s->options, diag);
}

onx_status onx_model_save_memory(onx_model *model, const onx_save_options *options, void **out,
                                 size_t *size, onx_diag *diag) {
    if (!model || !out || !size)
        return onx_fail(diag, ONX_USAGE, "onx_model_save_memory needs a model and outputs");
    saving s = {model, options};
    return onx_collect(model->msg.doc->ctx, write_saving, &s, out, size, diag);
}
