/* pt2_weights.c: where the parameters, buffers and constants of a torch.export archive lie.
 *
 *     torch >= 2.8     data/weights/NAME_weights_config.json: path -> {path_name, tensor_meta};
 *                      data/weights/weight_0: the bytes of a storage; constants alike
 *     torch 2.1 - 2.7  serialized_state_dict.pt, serialized_constants.pt: archives of torch.save
 *                      (2.8 had such, too: data/weights/NAME.pt)
 *
 * A tensor in a file that is not a plain one is left out; who needs it fails. */
#include "export/pt2.h"

struct onx_pt2_file {
    struct onx_pt2_file *next;
    onx_archive *archive;
    onx_pickle pickle;
};

void onx_pt2_close_files(onx_pt2 *program) {
    for (struct onx_pt2_file *file = program->files; file; file = file->next) {
        onx_pickle_fini(&file->pickle);
        onx_archive_close(file->archive);
    }
}

static onx_status put(onx_pt2 *program, onx_str path, const onx_torch_tensor *tensor,
                      onx_diag *diag) {
    if (onx_map_get(&program->weights, NULL, path)) return ONX_OK;
    if (onx_map_put(&program->weights, NULL, path, (void *)(uintptr_t)tensor)) return ONX_OK;
    return onx_fail_nomem(diag);
}

/* ─ Nested files ─────────────────────────────────────────────────────────────────────────────── */

static onx_status read_dict(onx_pt2 *program, const onx_pk *dict, onx_diag *diag) {
    if (!dict || dict->kind != ONX_PK_DICT) return ONX_OK;
    for (size_t i = 0; i + 1 < dict->items.n; i += 2) {
        const onx_pk *key = dict->items.v[i], *value = dict->items.v[i + 1];
        if (key->kind == ONX_PK_STR && value->kind == ONX_PK_TENSOR)
            ONX_TRY(put(program, key->s, value->tensor, diag));
    }
    return ONX_OK;
}

static onx_status read_nested(onx_pt2 *program, onx_str record, onx_diag *diag) {
    uint64_t size = onx_archive_record_size(program->archive, record);
    if (size == 0 || size == UINT64_MAX) return ONX_OK;
    struct onx_pt2_file *file = onx_arena_alloc(&program->arena, sizeof *file);
    if (!file) return onx_fail_nomem(diag);
    ONX_TRY(onx_archive_open_record(program->archive, record, &file->archive, diag));
    onx_status status = onx_pickle_read(file->archive, ONX_LIT("data.pkl"), &file->pickle, diag);
    if (status) {
        onx_archive_close(file->archive);
        return status;
    }
    file->next = program->files;
    program->files = file;
    return read_dict(program, file->pickle.root, diag);
}

/* ─ Raw storages ─────────────────────────────────────────────────────────────────────────────── */

/* The text, in the arena. */
static onx_status text_of(onx_pt2 *program, onx_str *out, onx_diag *diag, const char *prefix,
                          onx_str middle, const char *tail) {
    onx_buf text;
    onx_buf_init(&text, program->arena.ctx);
    onx_buf_puts(&text, prefix);
    onx_buf_put(&text, middle.data, middle.size);
    onx_buf_puts(&text, tail);
    bool ok = !text.failed && onx_arena_str(&program->arena, (onx_str){text.data, text.size}, out);
    onx_buf_fini(&text);
    return ok ? ONX_OK : onx_fail_nomem(diag);
}

static bool read_numbers(const onx_json *json, size_t n, int64_t *out) {
    if (onx_json_count(json) != n) return false;
    ONX_JSON_EACH(item, json) {
        const onx_json *number = onx_json_get(item, "as_int");
        if (!onx_json_i64(number ? number : item, out++)) return false;
    }
    return true;
}

static onx_status read_tensor(onx_pt2 *program, const onx_json *meta, onx_torch_tensor *out,
                              onx_diag *diag) {
    onx_pt2_tensor type;
    ONX_TRY(onx_pt2_read_tensor(program, meta, &type, diag));
    int64_t *dims = onx_arena_array(&program->arena, type.rank * 2 + 1, sizeof *dims);
    if (!dims) return onx_fail_nomem(diag);
    out->dtype = type.dtype->dtype, out->rank = type.rank;
    out->dims = dims, out->strides = dims + type.rank;
    if (read_numbers(onx_json_get(meta, "sizes"), type.rank, dims) &&
        read_numbers(onx_json_get(meta, "strides"), type.rank, dims + type.rank)) {
        const onx_json *offset = onx_json_get(meta, "storage_offset");
        const onx_json *number = onx_json_get(offset, "as_int");
        (void)onx_json_i64(number ? number : offset, &out->offset);
        return onx_torch_tensor_check(out, diag);
    }
    return onx_fail(diag, ONX_MALFORMED, "sizes and strides of a weight must be numbers");
}

static onx_status read_payload(onx_pt2 *program, const char *folder, const onx_json *key,
                               onx_diag *diag) {
    const onx_json *json = key->first, *meta = onx_json_get(json, "tensor_meta");
    onx_torch_tensor *tensor = onx_arena_alloc(&program->arena, sizeof *tensor);
    onx_str record;
    if (!tensor) return onx_fail_nomem(diag);
    if (!meta || onx_json_true(onx_json_get(json, "use_pickle"))) return ONX_OK;
    ONX_TRY(
        text_of(program, &record, diag, folder, onx_json_str(onx_json_get(json, "path_name")), ""));
    ONX_TRY(onx_torch_storage_of(program->archive, record, &tensor->storage, diag));
    tensor->is_parameter = onx_json_true(onx_json_get(json, "is_param"));
    onx_status status = read_tensor(program, meta, tensor, diag);
    if (!status) return put(program, key->text, tensor, diag);
    onx_diag_place(diag, "'%.*s'", ONX_FMT(key->text));
    return status;
}

static onx_status read_config(onx_pt2 *program, const char *folder, onx_str record,
                              onx_diag *diag) {
    const onx_json *json;
    onx_str text;
    if (!onx_archive_has(program->archive, record)) return ONX_OK;
    ONX_TRY(onx_archive_read(program->archive, record, &text, diag));
    ONX_TRY(onx_pt2_parse(program, text, &json, diag));
    ONX_JSON_EACH(key, onx_json_get(json, "config"))
    ONX_TRY(read_payload(program, folder, key, diag));
    return ONX_OK;
}

onx_status onx_pt2_read_weights(onx_pt2 *program, onx_str model, onx_diag *diag) {
    static const struct {
        const char *folder, *config;
    } parts[] = {{"data/weights/", "_weights_config.json"},
                 {"data/constants/", "_constants_config.json"}};
    if (onx_archive_kind_of(program->archive) == ONX_ARCHIVE_PT2_FLAT) {
        ONX_TRY(read_nested(program, ONX_LIT("serialized_state_dict.pt"), diag));
        ONX_TRY(read_nested(program, ONX_LIT("serialized_state_dict.json"), diag));
        return read_nested(program, ONX_LIT("serialized_constants.pt"), diag);
    }
    for (size_t i = 0; i < ONX_COUNT(parts); i++) {
        onx_str record;
        ONX_TRY(text_of(program, &record, diag, parts[i].folder, model, parts[i].config));
        ONX_TRY(read_config(program, parts[i].folder, record, diag));
        ONX_TRY(text_of(program, &record, diag, parts[i].folder, model, ".pt"));
        ONX_TRY(read_nested(program, record, diag));
    }
    return ONX_OK;
}
