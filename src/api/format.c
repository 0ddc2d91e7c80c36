/* format.c: which format a file has, and one way in and out for all of them. */
#include "api/format.h"

#include <ctype.h>

static const struct {
    const char *ending;
    onx_format format;
} endings[] = {
    {".onnx", ONX_FORMAT_PROTOBUF},       {".pb", ONX_FORMAT_PROTOBUF},
    {".onnxtxt", ONX_FORMAT_TEXT},        {".onnxtext", ONX_FORMAT_TEXT},
    {".json", ONX_FORMAT_JSON},           {".onnxjson", ONX_FORMAT_JSON},
    {".textproto", ONX_FORMAT_TEXTPROTO}, {".txtpb", ONX_FORMAT_TEXTPROTO},
    {".prototxt", ONX_FORMAT_TEXTPROTO},  {".pbtxt", ONX_FORMAT_TEXTPROTO},
};

static const char *const names[] = {"auto", "protobuf", "onnxtxt", "json", "textproto"};

onx_format onx_format_from_path(const char *path) {
    for (size_t i = 0; path && i < ONX_COUNT(endings); i++)
        if (onx_str_ends(onx_str_of(path), onx_str_of(endings[i].ending))) return endings[i].format;
    return ONX_FORMAT_AUTO;
}

const char *onx_format_name(onx_format format) {
    return (size_t)format < ONX_COUNT(names) ? names[format] : "?";
}

/* Past blanks and comments, which ONNX text and protobuf text both write with '#'. */
static size_t skip_comments(onx_str bytes, size_t i, size_t n) {
    for (; i < n && (isspace((unsigned char)bytes.data[i]) || bytes.data[i] == '#'); i++)
        if (bytes.data[i] == '#')
            while (i + 1 < n && bytes.data[i + 1] != '\n') i++;
    return i;
}

/* No protobuf message of ours begins with printable text: JSON opens with a brace, ONNX text with
 * an angle bracket or notes ("#@") above it, protobuf text with a field name and a colon. */
onx_format onx_format_sniff(onx_str bytes) {
    size_t n = bytes.size < 4096 ? bytes.size : 4096, i = skip_comments(bytes, 0, n);
    if (n >= 2 && !memcmp(bytes.data, "#@", 2)) return ONX_FORMAT_TEXT;
    if (i == n) return n && bytes.data[0] == '#' ? ONX_FORMAT_TEXTPROTO : ONX_FORMAT_PROTOBUF;
    if (bytes.data[i] == '{') return ONX_FORMAT_JSON;
    if (bytes.data[i] == '<') return ONX_FORMAT_TEXT;
    size_t start = i;
    while (i < n && (isalnum((unsigned char)bytes.data[i]) || bytes.data[i] == '_')) i++;
    if (i - start < 2) return ONX_FORMAT_PROTOBUF;
    while (i < n && bytes.data[i] == ' ') i++;
    return i < n && (bytes.data[i] == ':' || bytes.data[i] == '{') ? ONX_FORMAT_TEXTPROTO
                                                                   : ONX_FORMAT_PROTOBUF;
}

onx_status onx_format_read(onx_doc *doc, onx_format format, const onx_desc *desc, onx_str bytes,
                           onx_msg **out, onx_diag *diag) {
    if (format == ONX_FORMAT_AUTO) format = onx_format_sniff(bytes);
    switch (format) {
    case ONX_FORMAT_PROTOBUF: return onx_wire_decode(doc, desc, bytes, out, diag);
    case ONX_FORMAT_JSON: return onx_json_parse(doc, desc, bytes, out, diag);
    case ONX_FORMAT_TEXTPROTO: return onx_textproto_parse(doc, desc, bytes, out, diag);
    case ONX_FORMAT_TEXT:
        if (desc == &onx_desc_model) {
            onx_model *model;
            ONX_TRY(onx_text_parse(doc, bytes, &model, diag));
            *out = &model->msg;
            return ONX_OK;
        }
        return onx_fail(diag, ONX_UNSUPPORTED, "ONNX text can hold models only");
    default: return onx_fail(diag, ONX_USAGE, "there is no such format");
    }
}

onx_status onx_format_write(const onx_msg *msg, onx_format format, const onx_writer *writer,
                            onx_diag *diag) {
    switch (format) {
    case ONX_FORMAT_AUTO:
    case ONX_FORMAT_PROTOBUF: return onx_wire_encode(msg, writer, diag);
    case ONX_FORMAT_JSON: return onx_json_print(msg, writer, diag);
    case ONX_FORMAT_TEXTPROTO: return onx_textproto_print(msg, writer, diag);
    case ONX_FORMAT_TEXT:
        if (msg->desc == &onx_desc_model)
            return onx_text_print((const onx_model *)msg, writer, diag);
        return onx_fail(diag, ONX_UNSUPPORTED, "ONNX text can hold models only");
    default: return onx_fail(diag, ONX_USAGE, "there is no such format");
    }
}

onx_status onx_format_save(const onx_msg *msg, onx_format format, const char *path,
                           onx_replace *others, onx_diag *diag) {
    onx_replace *file = NULL;
    onx_status status = onx_replace_begin(msg->doc->ctx, path, &file, diag);
    if (!status) {
        status = onx_format_write(msg, format, onx_replace_writer(file), diag);
        if (status) status = onx_replace_failed(file, status, diag);
        onx_replace_chain(&others, file);
    }
    if (!status) return onx_replace_commit(others, diag);
    onx_replace_abort(others);
    onx_diag_file(diag, path);
    return status;
}

onx_status onx_collect(onx_context *ctx, onx_write_fn *write, const void *what, void **out,
                       size_t *size, onx_diag *diag) {
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    onx_writer writer = onx_buf_writer(&buf);
    onx_status status = write(what, &writer, diag);
    if (buf.failed) status = onx_fail_nomem(diag);
    if (!status && buf.cap != buf.size) { /* the caller frees exactly `size` bytes */
        char *data = onx_mem_resize(ctx, buf.data, buf.cap, buf.size ? buf.size : 1);
        if (data)
            buf.data = data, buf.cap = buf.size;
        else
            status = onx_fail_nomem(diag);
    }
    if (status) {
        onx_buf_fini(&buf);
        return status;
    }
    *out = buf.data;
    *size = buf.size;
    return ONX_OK;
}

void onx_buffer_free(onx_context *ctx, void *buffer, size_t size) {
    onx_mem_free(onx_context_or_default(ctx), buffer, size);
}
