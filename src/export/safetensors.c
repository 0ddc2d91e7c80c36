/* safetensors.c: the header of a safetensors file, checked against its bytes; and the index of a
 * file in parts. */
#include "export/safetensors.h"

#include "base/json.h"
#include "base/number.h"

enum {
    HEADER_MAX = 100 << 20,
    TENSORS_MAX = 1 << 18,
    PARTS_MAX = 10000,
    DEPTH = 8, /* of the JSON; 3 are needed */
};

/* The reader of one JSON text: a header, or an index. */
typedef struct reader {
    onx_safetensors *st;
    onx_json_reader json;
    onx_archive *file; /* whose header it is */
    onx_str data;      /* the bytes of its tensors */
    const char *path;  /* of an index */
    onx_map parts;     /* of an index: names to archives */
    onx_diag *diag;
} reader;

/* ── JSON ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status expect(reader *r, onx_json_token token) {
    ONX_TRY(onx_json_next(&r->json));
    if (r->json.token == token) return ONX_OK;
    return onx_fail(r->diag, ONX_MALFORMED, "%s is expected, not %s", onx_json_token_name(token),
                    onx_json_token_name(r->json.token));
}

/* The string or key that was read, in the arena. */
static onx_status take_text(reader *r, onx_str *out) {
    size_t size = onx_json_unescape(r->json.span, NULL);
    char *text = onx_arena_alloc(&r->st->arena, size + 1);
    if (!text) return onx_fail_nomem(r->diag);
    onx_json_unescape(r->json.span, text);
    *out = (onx_str){text, size};
    return ONX_OK;
}

/* An array of numbers that are not negative, at most `most` of them. */
static onx_status read_numbers(reader *r, int64_t *out, size_t most, size_t *count) {
    size_t n = 0;
    ONX_TRY(expect(r, ONX_JSON_ARRAY));
    for (;;) {
        ONX_TRY(onx_json_next(&r->json));
        if (r->json.token == ONX_JSON_ARRAY_END) break;
        if (n == most || r->json.token != ONX_JSON_NUMBER ||
            !onx_parse_i64(r->json.span, &out[n]) || out[n] < 0)
            return onx_fail(r->diag, ONX_MALFORMED, "at most %zu sizes are expected here", most);
        n++;
    }
    *count = n;
    return ONX_OK;
}

/* {"key": "text", …}: every pair to `each`, which finds the text in r->json. */
static onx_status read_texts(reader *r, onx_status (*each)(reader *r, onx_str key)) {
    ONX_TRY(expect(r, ONX_JSON_OBJECT));
    for (;;) {
        onx_str key = {NULL, 0};
        ONX_TRY(onx_json_next(&r->json));
        if (r->json.token == ONX_JSON_OBJECT_END) return ONX_OK;
        ONX_TRY(take_text(r, &key));
        ONX_TRY(expect(r, ONX_JSON_STRING));
        ONX_TRY(each(r, key));
    }
}

static onx_status ignore(reader *r, onx_str key) {
    (void)r, (void)key;
    return ONX_OK;
}

/* ── Tensors ─────────────────────────────────────────────────────────────────────────────────── */

/* What the header says of one tensor. */
typedef struct entry {
    onx_str name;
    const onx_torch_dtype_info *info;
    int64_t dims[ONX_TORCH_RANK], place[2];
    size_t rank;
    unsigned seen; /* keys */
} entry;

enum { KEY_DTYPE = 1, KEY_SHAPE = 2, KEY_PLACE = 4, KEY_ALL = 7 };

static onx_status read_dtype(reader *r, entry *e) {
    ONX_TRY(expect(r, ONX_JSON_STRING));
    e->info = onx_torch_dtype_of_safetensors(r->json.span);
    if (e->info) return ONX_OK;
    return onx_fail(r->diag, ONX_UNSUPPORTED, "tensors of type '%.*s' are not supported",
                    ONX_FMT(r->json.span));
}

static onx_status read_place(reader *r, entry *e) {
    size_t n = 0;
    ONX_TRY(read_numbers(r, e->place, 2, &n));
    if (n == 2 && e->place[0] <= e->place[1] && (uint64_t)e->place[1] <= r->data.size)
        return ONX_OK;
    return onx_fail(r->diag, ONX_MALFORMED, "the data of the tensor does not lie in the file");
}

static onx_status read_key(reader *r, entry *e) {
    onx_str key = r->json.span;
    unsigned bit = onx_str_is(key, "dtype")          ? KEY_DTYPE
                   : onx_str_is(key, "shape")        ? KEY_SHAPE
                   : onx_str_is(key, "data_offsets") ? KEY_PLACE
                                                     : 0;
    if (!bit || e->seen & bit)
        return onx_fail(r->diag, ONX_MALFORMED, "the key '%.*s' is unknown, or there twice",
                        ONX_FMT(key));
    e->seen |= bit;
    return bit == KEY_DTYPE   ? read_dtype(r, e)
           : bit == KEY_SHAPE ? read_numbers(r, e->dims, ONX_TORCH_RANK, &e->rank)
                              : read_place(r, e);
}

static onx_status read_entry(reader *r, entry *e) {
    ONX_TRY(expect(r, ONX_JSON_OBJECT));
    for (;;) {
        ONX_TRY(onx_json_next(&r->json));
        if (r->json.token == ONX_JSON_OBJECT_END) break;
        ONX_TRY(read_key(r, e));
    }
    if (e->seen == KEY_ALL) return ONX_OK;
    return onx_fail(r->diag, ONX_MALFORMED, "a tensor needs dtype, shape and data_offsets");
}

/* Row-major strides; false: the bytes overflow. */
static bool set_strides(const entry *e, int64_t *strides, int64_t *bytes) {
    int64_t step = 1;
    bool empty = false;
    for (size_t i = e->rank; i-- > 0;) {
        strides[i] = step;
        if (e->dims[i] == 0)
            empty = true; /* must not hide an overflow of the others */
        else if (!onx_mul_i64(step, e->dims[i], &step))
            return false;
    }
    if (!onx_mul_i64(step, e->info->bytes, bytes)) return false;
    if (empty) *bytes = 0;
    return true;
}

static onx_status add_tensor(reader *r, const entry *e) {
    onx_safetensors *st = r->st;
    onx_safetensor *t = onx_arena_alloc(&st->arena, sizeof *t);
    onx_torch_storage *storage = onx_arena_alloc(&st->arena, sizeof *storage);
    int64_t *dims = onx_arena_array(&st->arena, 2 * e->rank + 1, sizeof *dims), bytes;
    if (!t || !storage || !dims ||
        !onx_arena_grow(&st->arena, &st->tensors, &st->cap, st->count, sizeof *st->tensors))
        return onx_fail_nomem(r->diag);
    for (size_t i = 0; i < e->rank; i++) dims[i] = e->dims[i];
    if (!set_strides(e, dims + e->rank, &bytes) || bytes != e->place[1] - e->place[0])
        return onx_fail(r->diag, ONX_MALFORMED,
                        "the data has another size than the type and shape of the tensor");
    *storage = (onx_torch_storage){.archive = r->file,
                                   .record = e->name,
                                   .bytes = (uint64_t)bytes,
                                   .data = {r->data.data + e->place[0], (size_t)bytes}};
    *t = (onx_safetensor){.name = e->name,
                          .tensor = {.storage = storage,
                                     .dtype = e->info->dtype,
                                     .rank = e->rank,
                                     .dims = dims,
                                     .strides = dims + e->rank}};
    if (onx_map_get(&st->names, NULL, e->name))
        return onx_fail(r->diag, ONX_MALFORMED, "the tensor is there twice");
    if (!onx_map_put(&st->names, NULL, e->name, t)) return onx_fail_nomem(r->diag);
    st->tensors[st->count++] = t;
    return onx_torch_tensor_check(&t->tensor, r->diag);
}

/* From the first byte to the last, tensor follows tensor: each is found where the one before it
 * ended. */
static onx_status check_tiles(reader *r, size_t first, onx_map *starts) {
    const onx_safetensors *st = r->st;
    size_t tiles = 0;
    for (size_t i = first; i < st->count; i++) {
        onx_torch_storage *s = st->tensors[i]->tensor.storage;
        onx_str key = {(const char *)&s->data.data, sizeof s->data.data};
        if (!s->data.size) continue;
        if (onx_map_get(starts, NULL, key))
            return onx_fail(r->diag, ONX_MALFORMED, "the data of two tensors overlap");
        if (!onx_map_put(starts, NULL, key, s)) return onx_fail_nomem(r->diag);
        tiles++;
    }
    const char *at = r->data.data, *end = at + r->data.size;
    for (; at < end; tiles--) {
        const onx_torch_storage *s =
            onx_map_get(starts, NULL, (onx_str){(const char *)&at, sizeof at});
        if (!s) break;
        at += s->data.size;
    }
    if (at == end && tiles == 0) return ONX_OK;
    return onx_fail(r->diag, ONX_MALFORMED, "the data of the tensors overlap, or leave holes");
}

static onx_status read_tensors(reader *r) {
    ONX_TRY(expect(r, ONX_JSON_OBJECT));
    for (;;) {
        entry e = {.seen = 0};
        ONX_TRY(onx_json_next(&r->json));
        if (r->json.token == ONX_JSON_OBJECT_END) return expect(r, ONX_JSON_END);
        ONX_TRY(take_text(r, &e.name));
        if (onx_str_is(e.name, "__metadata__")) {
            ONX_TRY(read_texts(r, ignore));
            continue;
        }
        if (r->st->count >= TENSORS_MAX)
            return onx_fail(r->diag, ONX_LIMIT, "more than %d tensors", TENSORS_MAX);
        onx_status status = read_entry(r, &e);
        if (!status) status = add_tensor(r, &e);
        if (status) onx_diag_place(r->diag, "tensor '%.*s'", ONX_FMT(e.name));
        if (status) return status;
    }
}

static onx_status read_header(reader *r, onx_str header) {
    size_t first = r->st->count;
    onx_map starts;
    onx_json_reader_init(&r->json, r->st->ctx, header, DEPTH, r->diag);
    onx_map_init(&starts, r->st->ctx);
    onx_status status = read_tensors(r);
    if (!status) status = check_tiles(r, first, &starts);
    onx_map_fini(&starts);
    onx_json_reader_fini(&r->json);
    return status;
}

/* The tensors of one file. */
static onx_status read_file(onx_safetensors *st, onx_archive *file, onx_diag *diag) {
    onx_str bytes = onx_archive_bytes(file);
    if (onx_archive_kind_of(file) != ONX_ARCHIVE_SAFETENSORS)
        return onx_fail(diag, ONX_MALFORMED, "this is no safetensors file, or one cut off");
    uint64_t size = onx_load_u64(bytes.data); /* which lies in the file, or it is another kind */
    if (size > HEADER_MAX)
        return onx_fail(diag, ONX_LIMIT, "a header of more than %d MiB", HEADER_MAX >> 20);
    reader r = {.st = st, .file = file, .diag = diag};
    r.data = (onx_str){bytes.data + 8 + size, bytes.size - 8 - (size_t)size};
    return read_header(&r, (onx_str){bytes.data + 8, (size_t)size});
}

/* ── Files in parts ──────────────────────────────────────────────────────────────────────────── */

static onx_status add_file(onx_safetensors *st, onx_archive *file, onx_diag *diag) {
    if (!onx_arena_grow(&st->arena, &st->files, &st->file_cap, st->file_count, sizeof *st->files)) {
        onx_archive_close(file);
        return onx_fail_nomem(diag);
    }
    st->files[st->file_count++] = file;
    return ONX_OK;
}

/* A part, which is opened and read when it is named first. */
static onx_status find_part(reader *r, onx_str name, onx_archive **out) {
    onx_archive *part = onx_map_get(&r->parts, NULL, name);
    if (!part) {
        if (r->st->file_count > PARTS_MAX)
            return onx_fail(r->diag, ONX_LIMIT, "more than %d parts", PARTS_MAX);
        ONX_TRY(onx_archive_open_beside(r->st->ctx, r->path, name, &part, r->diag));
        ONX_TRY(add_file(r->st, part, r->diag));
        if (!onx_map_put(&r->parts, NULL, name, part)) return onx_fail_nomem(r->diag);
        onx_status status = read_file(r->st, part, r->diag);
        if (status) onx_diag_file(r->diag, name.data);
        ONX_TRY(status);
    }
    *out = part;
    return ONX_OK;
}

/* "name of a tensor": "name of the file that it is in" */
static onx_status check_part(reader *r, onx_str key) {
    onx_archive *part = NULL;
    onx_str name = {NULL, 0};
    ONX_TRY(take_text(r, &name));
    ONX_TRY(find_part(r, name, &part));
    const onx_torch_tensor *t = onx_safetensors_find(r->st, key);
    if (t && t->storage->archive == part) return ONX_OK;
    return onx_fail(r->diag, ONX_MALFORMED, "the index looks for the tensor '%.*s' in '%.*s'",
                    ONX_FMT(key), ONX_FMT(name));
}

/* A value of any kind, which does not matter. */
static onx_status skip(reader *r) {
    size_t open = 0;
    do {
        ONX_TRY(onx_json_next(&r->json));
        onx_json_token t = r->json.token;
        open += t == ONX_JSON_OBJECT || t == ONX_JSON_ARRAY;
        open -= t == ONX_JSON_OBJECT_END || t == ONX_JSON_ARRAY_END;
    } while (open);
    return ONX_OK;
}

static onx_status read_parts(reader *r) {
    ONX_TRY(expect(r, ONX_JSON_OBJECT));
    for (;;) {
        ONX_TRY(onx_json_next(&r->json));
        if (r->json.token == ONX_JSON_OBJECT_END) return expect(r, ONX_JSON_END);
        ONX_TRY(onx_str_is(r->json.span, "weight_map") ? read_texts(r, check_part) : skip(r));
    }
}

static onx_status read_index(onx_safetensors *st, const char *path, onx_diag *diag) {
    reader r = {.st = st, .path = path, .diag = diag};
    onx_json_reader_init(&r.json, st->ctx, onx_archive_bytes(st->files[0]), DEPTH, diag);
    onx_map_init(&r.parts, st->ctx);
    onx_status status = read_parts(&r);
    onx_map_fini(&r.parts);
    onx_json_reader_fini(&r.json);
    return status;
}

/* ── Opening ─────────────────────────────────────────────────────────────────────────────────── */

/* Takes over `file`. */
static onx_status open_file(onx_archive *file, const char *path, onx_safetensors **out,
                            onx_diag *diag) {
    onx_context *ctx = onx_archive_doc(file)->ctx;
    onx_safetensors *st = onx_mem_alloc(ctx, sizeof *st);
    if (!st) {
        onx_archive_close(file);
        return onx_fail_nomem(diag);
    }
    *st = (onx_safetensors){.ctx = ctx};
    onx_context_retain(ctx);
    onx_arena_init(&st->arena, ctx);
    onx_map_init(&st->names, ctx);
    bool index = path && onx_archive_kind_of(file) == ONX_ARCHIVE_SAFETENSORS_INDEX;
    onx_status status = add_file(st, file, diag);
    if (!status) status = index ? read_index(st, path, diag) : read_file(st, file, diag);
    if (status)
        onx_safetensors_close(st);
    else
        *out = st;
    return status;
}

onx_status onx_safetensors_open(onx_context *ctx, const char *path, onx_safetensors **out,
                                onx_diag *diag) {
    onx_archive *file = NULL;
    ONX_TRY(onx_archive_open(ctx, path, &file, diag));
    onx_status status = open_file(file, path, out, diag);
    if (status) onx_diag_file(diag, path);
    return status;
}

onx_status onx_safetensors_open_memory(onx_context *ctx, onx_str bytes, onx_safetensors **out,
                                       onx_diag *diag) {
    onx_archive *file = NULL;
    ONX_TRY(onx_archive_open_memory(ctx, bytes, &file, diag));
    return open_file(file, NULL, out, diag);
}

void onx_safetensors_close(onx_safetensors *st) {
    if (!st) return;
    onx_context *ctx = st->ctx;
    for (size_t i = 0; i < st->file_count; i++) onx_archive_close(st->files[i]);
    onx_map_fini(&st->names);
    onx_arena_fini(&st->arena);
    onx_mem_free(ctx, st, sizeof *st);
    onx_context_free(ctx);
}

const onx_torch_tensor *onx_safetensors_find(const onx_safetensors *st, onx_str name) {
    const onx_safetensor *t = onx_map_get(&st->names, NULL, name);
    return t ? &t->tensor : NULL;
}
