/* data_file.c: data files: protobuf messages, NumPy arrays, and their text forms. */
#include "api/format.h"
#include "ir/data.h"
#include "ir/edit.h"
#include "ir/npy.h"

typedef enum data_format { DATA_MESSAGE, DATA_NPY, DATA_NPZ } data_format;

static data_format format_from_path(const char *path) {
    onx_str p = onx_str_of(path);
    return onx_str_ends(p, ONX_LIT(".npy"))   ? DATA_NPY
           : onx_str_ends(p, ONX_LIT(".npz")) ? DATA_NPZ
                                              : DATA_MESSAGE;
}

static data_format format_sniff(onx_str bytes) {
    if (bytes.size >= 6 && !memcmp(bytes.data, "\x93NUMPY", 6)) return DATA_NPY;
    if (bytes.size >= 4 && (!memcmp(bytes.data, "PK\3\4", 4) || !memcmp(bytes.data, "PK\5\6", 4)))
        return DATA_NPZ;
    return DATA_MESSAGE;
}

/* Decode as each kind in turn; take the first that makes sense. Decoding is cheap: payloads are not
 * touched. */
static onx_status guess_kind(onx_context *ctx, onx_str bytes, onx_format format,
                             onx_data_kind *kind) {
    static const onx_data_kind order[] = {ONX_DATA_TENSOR, ONX_DATA_SEQUENCE, ONX_DATA_OPTIONAL,
                                          ONX_DATA_MAP, ONX_DATA_SPARSE_TENSOR};
    *kind = ONX_DATA_TENSOR;
    for (size_t i = 0; i < ONX_COUNT(order); i++) {
        onx_doc *doc;
        onx_msg *root;
        ONX_TRY(onx_doc_new(ctx, &doc, NULL));
        onx_doc_limit(doc, bytes.size);
        onx_status status =
            onx_format_read(doc, format, onx_data_table(order[i]), bytes, &root, NULL);
        bool right = !status && onx_data_plausible(root);
        onx_doc_free(doc);
        if (right) *kind = order[i];
        if (right || status == ONX_NO_MEMORY) return status;
    }
    return ONX_OK;
}

static onx_status read_message(onx_doc *doc, onx_blob *blob, const char *path, onx_data_kind kind,
                               onx_msg **out, onx_diag *diag) {
    onx_format format = onx_format_from_path(path);
    if (format == ONX_FORMAT_AUTO) format = onx_format_sniff(blob->bytes);
    if (kind == ONX_DATA_NONE && guess_kind(doc->ctx, blob->bytes, format, &kind))
        return onx_fail_nomem(diag);
    const onx_desc *table = onx_data_table(kind);
    if (!table) return onx_fail(diag, ONX_USAGE, "there is no such kind of data");
    ONX_TRY(onx_format_read(doc, format, table, blob->bytes, out, diag));
    return onx_limits_check(*out, diag);
}

static onx_status read_data(onx_doc *doc, onx_blob *blob, const char *path, onx_data_kind kind,
                            onx_data **out, onx_diag *diag) {
    data_format format = path ? format_from_path(path) : DATA_MESSAGE;
    if (format == DATA_MESSAGE && onx_format_from_path(path) == ONX_FORMAT_AUTO)
        format = format_sniff(blob->bytes);
    onx_msg *root = NULL;
    onx_tensor *tensor;
    onx_sequence *sequence;
    onx_doc_limit(doc, blob->bytes.size);
    if (format == DATA_NPY) {
        ONX_TRY(onx_npy_read(doc, blob->bytes, &tensor, diag));
        root = &tensor->msg;
    } else if (format == DATA_NPZ) {
        ONX_TRY(onx_npz_read(doc, blob->bytes, &sequence, diag));
        root = &sequence->msg;
    } else {
        ONX_TRY(read_message(doc, blob, path, kind, &root, diag));
    }
    onx_doc_limit(doc, SIZE_MAX);
    doc->root = root;
    *out = (onx_data *)root;
    return ONX_OK;
}

/* Takes over `blob`. */
static onx_status load(onx_context *ctx, onx_blob *blob, const char *path, onx_data_kind kind,
                       onx_data **out, onx_diag *diag) {
    onx_doc *doc;
    onx_status status = onx_doc_new(ctx, &doc, diag);
    if (status) {
        onx_blob_release(blob);
        return status;
    }
    status = onx_doc_keep(doc, blob, diag);
    if (!status) status = read_data(doc, blob, path, kind, out, diag);
    if (status) onx_doc_free(doc);
    return status;
}

onx_status onx_data_load(onx_context *ctx, const char *path, onx_data_kind kind, onx_data **out,
                         onx_diag *diag) {
    onx_blob *blob;
    if (!path || !out) return onx_fail(diag, ONX_USAGE, "onx_data_load needs a path and an output");
    ctx = onx_context_or_default(ctx);
    ONX_TRY(onx_blob_open(ctx, path, ONX_MAP_THRESHOLD, &blob, diag));
    onx_status status = load(ctx, blob, path, kind, out, diag);
    if (status) onx_diag_file(diag, path);
    return status;
}

onx_status onx_data_load_memory(onx_context *ctx, const void *bytes, size_t size,
                                onx_data_kind kind, onx_data **out, onx_diag *diag) {
    onx_blob *blob;
    if ((!bytes && size) || !out)
        return onx_fail(diag, ONX_USAGE, "onx_data_load_memory needs bytes and an output");
    ctx = onx_context_or_default(ctx);
    ONX_TRY(onx_blob_borrow(ctx, (onx_str){bytes ? bytes : "", size}, &blob, diag));
    return load(ctx, blob, NULL, kind, out, diag);
}

onx_status onx_data_load_stream(onx_context *ctx, const onx_reader *reader, onx_data_kind kind,
                                onx_data **out, onx_diag *diag) {
    onx_blob *blob;
    if (!reader || !out) return onx_fail(diag, ONX_USAGE, "onx_data_load_stream needs a reader");
    ctx = onx_context_or_default(ctx);
    ONX_TRY(onx_blob_from_reader(ctx, reader, &blob, diag));
    return load(ctx, blob, NULL, kind, out, diag);
}

static onx_status write_data(const onx_data *data, const char *path, const onx_writer *writer,
                             onx_diag *diag) {
    onx_data_kind kind = onx_data_kind_of(data);
    switch (format_from_path(path)) {
    case DATA_NPY:
        if (kind == ONX_DATA_TENSOR) return onx_npy_write(onx_data_tensor(data), writer, diag);
        return onx_fail(diag, ONX_UNSUPPORTED, ".npy files hold one dense tensor");
    case DATA_NPZ: {
        const onx_sequence *sequence = (const onx_sequence *)data;
        if (kind == ONX_DATA_SEQUENCE && sequence->elem_type == ONX_DATA_TENSOR)
            return onx_npz_write(sequence, writer, diag);
        onx_fail(diag, ONX_UNSUPPORTED, ".npz files hold sequences of dense tensors");
        onx_diag_hint(diag, "save a single tensor as .npy");
        return ONX_UNSUPPORTED;
    }
    default:
        return onx_format_write((const onx_msg *)data, onx_format_from_path(path), writer, diag);
    }
}

onx_status onx_data_save(const onx_data *data, const char *path, onx_diag *diag) {
    onx_replace *file;
    if (!data || !path) return onx_fail(diag, ONX_USAGE, "onx_data_save needs data and a path");
    ONX_TRY(onx_replace_begin(((const onx_msg *)data)->doc->ctx, path, &file, diag));
    onx_status status = write_data(data, path, onx_replace_writer(file), diag);
    if (!status) return onx_replace_commit(file, diag);
    status = onx_replace_failed(file, status, diag);
    onx_replace_abort(file);
    onx_diag_file(diag, path);
    return status;
}

onx_status onx_data_save_stream(const onx_data *data, const onx_writer *writer, onx_diag *diag) {
    if (!data || !writer)
        return onx_fail(diag, ONX_USAGE, "onx_data_save_stream needs data and a writer");
    return onx_wire_encode(data, writer, diag);
}

static onx_status write_message(const void *what, const onx_writer *writer, onx_diag *diag) {
    return onx_wire_encode(what, writer, diag);
}

onx_status onx_data_save_memory(const onx_data *data, void **out, size_t *size, onx_diag *diag) {
    if (!data || !out || !size)
        return onx_fail(diag, ONX_USAGE, "onx_data_save_memory needs data and outputs");
    return onx_collect(((const onx_msg *)data)->doc->ctx, write_message, data, out, size, diag);
}
