/* load.c: models from files, memory and streams. */
#include "api/format.h"
#include "base/options.h"
#include "ir/edit.h"
#include "ir/external.h"

static size_t map_threshold(const onx_load_options *options) {
    return options->copy ? SIZE_MAX : ONX_MAP_THRESHOLD;
}

static onx_status set_folder(onx_model *model, const char *path, const char *folder,
                             onx_diag *diag) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    onx_str where = folder  ? onx_str_of(folder)
                    : slash ? (onx_str){path, slash == path ? 1 : (size_t)(slash - path)}
                            : ONX_LIT(".");
    if (!path && !folder) return ONX_OK;
    if (!onx_doc_str(model->msg.doc, where, &where)) return onx_fail_nomem(diag);
    model->folder = where.data;
    return ONX_OK;
}

/* The rest of loading, once the bytes are there. Text formats need the bytes no longer than
 * this. */
static onx_status read_model(onx_doc *doc, onx_blob *blob, const char *path,
                             const onx_load_options *options, onx_model **out, onx_diag *diag) {
    onx_format format = options->format;
    if (format == ONX_FORMAT_AUTO) format = onx_format_from_path(path);
    if (format == ONX_FORMAT_AUTO) format = onx_format_sniff(blob->bytes);
    onx_msg *root;
    onx_doc_limit(doc, blob->bytes.size);
    ONX_TRY(onx_format_read(doc, format, &onx_desc_model, blob->bytes, &root, diag));
    onx_model *model = (onx_model *)root;
    ONX_TRY(onx_limits_check(model, diag));
    ONX_TRY(set_folder(model, path, options->folder, diag));
    if (!options->no_external && (path || options->folder))
        ONX_TRY(onx_external_load(model, path, options->folder, map_threshold(options), diag));
    onx_status status = onx_model_link(model, diag);
    onx_doc_limit(doc, SIZE_MAX);
    if (status) {
        onx_map_fini(&model->values);
        return status;
    }
    *out = model;
    return ONX_OK;
}

/* Takes over `blob`. */
static onx_status load(onx_context *ctx, onx_blob *blob, const char *path,
                       const onx_load_options *options, onx_model **out, onx_diag *diag) {
    onx_doc *doc;
    onx_status status = onx_doc_new(ctx, &doc, diag);
    if (status) {
        onx_blob_release(blob);
        return status;
    }
    status = onx_doc_keep(doc, blob, diag);
    if (!status) status = read_model(doc, blob, path, options, out, diag);
    if (status) onx_doc_free(doc);
    return status;
}

onx_status onx_model_load(onx_context *ctx, const char *path, const onx_load_options *options,
                          onx_model **out, onx_diag *diag) {
    onx_blob *blob;
    if (!path || !out)
        return onx_fail(diag, ONX_USAGE, "onx_model_load needs a path and an output");
    onx_load_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    ctx = onx_context_or_default(ctx);
    ONX_TRY(onx_blob_open(ctx, path, map_threshold(&o), &blob, diag));
    onx_status status = load(ctx, blob, path, &o, out, diag);
    if (status) onx_diag_file(diag, path);
    return status;
}

onx_status onx_model_load_memory(onx_context *ctx, const void *data, size_t size,
                                 const onx_load_options *options, onx_model **out, onx_diag *diag) {
    onx_blob *blob;
    if ((!data && size) || !out)
        return onx_fail(diag, ONX_USAGE, "onx_model_load_memory needs data and an output");
    onx_load_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    ctx = onx_context_or_default(ctx);
    if (o.copy) {
        ONX_TRY(onx_blob_new(ctx, size, &blob, diag));
        if (size) memcpy((char *)(uintptr_t)blob->bytes.data, data, size);
    } else {
        ONX_TRY(onx_blob_borrow(ctx, (onx_str){data ? data : "", size}, &blob, diag));
    }
    return load(ctx, blob, NULL, &o, out, diag);
}

onx_status onx_model_load_stream(onx_context *ctx, const onx_reader *reader,
                                 const onx_load_options *options, onx_model **out, onx_diag *diag) {
    onx_blob *blob;
    if (!reader || !out) return onx_fail(diag, ONX_USAGE, "onx_model_load_stream needs a reader");
    onx_load_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    ctx = onx_context_or_default(ctx);
    ONX_TRY(onx_blob_from_reader(ctx, reader, &blob, diag));
    return load(ctx, blob, NULL, &o, out, diag);
}
