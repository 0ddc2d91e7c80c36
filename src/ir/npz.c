/* npz.c: .npz files: zip archives of .npy files. Written uncompressed, as numpy.savez does. */
#include "base/utf8.h"
#include "base/zip.h"
#include "ir/edit.h"
#include "ir/npy.h"

static const onx_str suffix = {".npy", 4};

/* A place within an entry, from one within the array. */
static onx_status in_entry(onx_status status, onx_str name, onx_diag *diag) {
    char inner[sizeof diag->place] = "";
    if (!status || !diag) return status;
    memcpy(inner, diag->place, sizeof inner);
    onx_diag_place(diag, "entry '%.*s'%s%s", ONX_FMT(name), inner[0] ? ", " : "", inner);
    return status;
}

static onx_status check_name(const onx_context *ctx, onx_str name, onx_diag *diag) {
    if (!onx_str_ends(name, suffix))
        return onx_fail(diag, ONX_UNSUPPORTED,
                        "the entry is no array: its name does not end in .npy");
    if (name.size > ctx->limits.name_bytes)
        return onx_fail(diag, ONX_LIMIT, "the name has more than %zu bytes",
                        ctx->limits.name_bytes);
    for (size_t at = 0, n; at < name.size; at += n)
        if (!(n = onx_utf8_size(name.data + at, name.data + name.size)))
            return onx_fail(diag, ONX_UNSUPPORTED, "the name of the entry is not UTF-8");
    return ONX_OK;
}

static onx_status read_entry(onx_doc *doc, const onx_zip *zip, const onx_zip_entry *entry,
                             onx_sequence *sequence, onx_diag *diag) {
    onx_str content = {NULL, 0};
    onx_blob *owner = NULL;
    onx_tensor *tensor = NULL;
    ONX_TRY(check_name(doc->ctx, entry->name, diag));
    ONX_TRY(onx_zip_read(zip, entry, &content, &owner, diag));
    if (owner) ONX_TRY(onx_doc_keep(doc, owner, diag));
    ONX_TRY(onx_npy_read(doc, content, &tensor, diag));
    onx_str name = {entry->name.data, entry->name.size - suffix.size};
    if (!onx_doc_str(doc, name, &tensor->name)) return onx_doc_fail(doc, diag);
    onx_msg_set_has(tensor, ONX_ROW(tensor, name));
    onx_msg_append(sequence, ONX_ROW(sequence, tensor_values), tensor);
    return ONX_OK;
}

onx_status onx_npz_read(onx_doc *doc, onx_str bytes, onx_sequence **out, onx_diag *diag) {
    onx_zip_limits limits = {ONX_ZIP_ENTRIES, SIZE_MAX};
    size_t inflated;
    /* Zeros deflate to a thousandth: small archives may do so, large ones are bombs. */
    if (onx_mul_size(bytes.size, doc->ctx->limits.memory_factor, &inflated) &&
        onx_add_size(inflated, (size_t)64 << 20, &inflated))
        limits.inflated = inflated;
    onx_zip zip;
    ONX_TRY(onx_zip_open(doc->ctx, bytes, &limits, &zip, diag));
    onx_sequence *sequence = onx_msg_new(doc, &onx_desc_sequence);
    onx_status status = sequence ? ONX_OK : onx_doc_fail(doc, diag);
    for (size_t i = 0; !status && i < zip.count; i++) {
        status = read_entry(doc, &zip, &zip.entries[i], sequence, diag);
        in_entry(status, zip.entries[i].name, diag);
    }
    onx_zip_close(&zip);
    if (status) return status;
    onx_i32_set(sequence, ONX_ROW(sequence, elem_type), ONX_DATA_TENSOR);
    *out = sequence;
    return ONX_OK;
}

static onx_status write_entry(onx_zip_writer *zip, const onx_tensor *tensor, onx_buf *name,
                              size_t index, onx_diag *diag) {
    onx_npy_image image;
    name->size = 0;
    onx_buf_put(name, tensor->name.data, tensor->name.size);
    if (!tensor->name.size) onx_buf_printf(name, "arr_%zu", index);
    onx_buf_put(name, suffix.data, suffix.size);
    if (name->failed) return onx_fail_nomem(diag);
    ONX_TRY(onx_npy_image_init(&image, tensor, diag));
    onx_str parts[] = {{image.header.data, image.header.size}, image.data};
    onx_status status =
        onx_zip_writer_add(zip, (onx_str){name->data, name->size}, parts, ONX_COUNT(parts), diag);
    onx_npy_image_fini(&image);
    return status;
}

onx_status onx_npz_write(const onx_sequence *sequence, const onx_writer *writer, onx_diag *diag) {
    onx_context *ctx = sequence->msg.doc->ctx;
    onx_status status = ONX_OK;
    size_t index = 0;
    onx_zip_writer zip;
    onx_buf name;
    onx_zip_writer_init(&zip, ctx, writer);
    onx_buf_init(&name, ctx);
    ONX_EACH (onx_tensor, tensor, sequence->tensor_values) {
        status = write_entry(&zip, tensor, &name, index++, diag);
        if (status) break;
    }
    if (!status) status = onx_zip_writer_finish(&zip, diag);
    onx_buf_fini(&name);
    onx_zip_writer_fini(&zip);
    return status;
}
