/* fuzz_archive.c: files, whatever they are. After a first byte of 0, the bytes of one; else a list
 * of records that a zip archive is made of, so that checksums are right: the number of a name, two
 * bytes of size, the content. */
#include "export/safetensors.h"
#include "fuzz_torch.h"
#include "torch_files.h"

static const char *const names[] = {
    "m/data.pkl",       "m/constants.pkl",     "m/data/0",
    "m/data/1",         "m/constants/0",       "m/code/a.py",
    "m/version",        "m/byteorder",         "m/bytecode.pkl",
    "m/archive_format", "m/models/model.json", "m/model.json",
    "m/tensors/0",      "m/inner.pt",          "serialized_exported_program.json",
};

static onx_str make_zip(onx_context *ctx, onx_str in, onx_buf *buf) {
    torch_record records[ONX_COUNT(names) + 1] = {{NULL, {NULL, 0}}};
    bool used[ONX_COUNT(names)] = {false};
    for (size_t n = 0; in.size >= 3 && n < ONX_COUNT(names);) {
        size_t name = (unsigned char)in.data[0] % ONX_COUNT(names), rest = in.size - 3;
        size_t size = (unsigned char)in.data[1] | (size_t)(unsigned char)in.data[2] << 8;
        if (size > rest) size = rest;
        if (!used[name]) records[n++] = (torch_record){names[name], {in.data + 3, size}};
        used[name] = true;
        in = (onx_str){in.data + 3 + size, rest - size};
    }
    return torch_zip(ctx, records, buf);
}

static void read_pickle(onx_archive *archive, onx_str name) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_pickle pickle;
    onx_status status = onx_pickle_read(archive, name, &pickle, &diag);
    if (status) {
        fuzz_refused(status, &diag);
        return;
    }
    fuzz_pickle(&pickle);
    onx_pickle_fini(&pickle);
}

static void read_record(onx_archive *archive, onx_str name) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_str content;
    onx_status status = onx_archive_read(archive, name, &content, &diag);
    if (status)
        fuzz_refused(status, &diag);
    else
        FUZZ_CHECK(onx_archive_record_size(archive, name) == content.size);
    if (onx_str_ends(name, ONX_LIT(".pkl"))) read_pickle(archive, name);
    if (onx_str_ends(name, ONX_LIT("inner.pt"))) {
        onx_archive *inner = NULL;
        status = onx_archive_open_record(archive, name, &inner, &diag);
        if (status) fuzz_refused(status, &diag);
        onx_archive_close(inner);
    }
}

static void read_safetensors(onx_context *ctx, onx_str bytes) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_safetensors *st = NULL;
    onx_status status = onx_safetensors_open_memory(ctx, bytes, &st, &diag);
    if (status) fuzz_refused(status, &diag);
    for (size_t i = 0; !status && i < st->count; i++) {
        FUZZ_OK(onx_torch_tensor_check(&st->tensors[i]->tensor, &diag), &diag);
        fuzz_load(&st->tensors[i]->tensor);
    }
    onx_safetensors_close(st);
}

static void read_archive(onx_context *ctx, onx_str bytes) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_archive *archive = NULL;
    onx_status status = onx_archive_open_memory(ctx, bytes, &archive, &diag);
    if (status) {
        fuzz_refused(status, &diag);
        return;
    }
    for (size_t i = 0; i < onx_archive_record_count(archive); i++)
        read_record(archive, onx_archive_record_name(archive, i));
    if (onx_archive_kind_of(archive) == ONX_ARCHIVE_SAFETENSORS) read_safetensors(ctx, bytes);
    if (!onx_archive_has_graph(archive)) {
        FUZZ_CHECK(onx_archive_decline(archive, &diag) == ONX_UNSUPPORTED);
        fuzz_refused(ONX_UNSUPPORTED, &diag);
    }
    onx_archive_close(archive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    onx_str rest = {size > 1 ? (const char *)data + 1 : "", size > 1 ? size - 1 : 0};
    onx_buf zip;
    onx_buf_init(&zip, ctx);
    if (size && data[0]) rest = make_zip(ctx, rest, &zip);
    read_archive(ctx, rest);
    onx_buf_fini(&zip);
    fuzz_context_free(ctx);
    return 0;
}
