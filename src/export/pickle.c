/* pickle.c: reading a pickle, and the values that come of it; the limits of pickle.h are kept
 * here. */
#include "export/pickle_machine.h"

/* With stack and memo, well within 256 MiB. */
enum {
    ARENA_BYTES = 96 << 20,
    ARENA_FACTOR = 64,     /* bytes of values for each byte of the pickle … */
    ARENA_LEAST = 1 << 20, /* … beyond these */
    KEYS_MAX = 1 << 19,
};

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

onx_status onx_pk_nomem(onx_pk_machine *m) {
    if (!m->out->arena.capped) return onx_fail_nomem(m->diag);
    return ONX_PK_FAIL(m, LIMIT, "the pickle describes far more than it should");
}

onx_pk *onx_pk_new(onx_pk_machine *m, onx_pk_kind kind) {
    onx_pk *value = onx_arena_alloc(&m->out->arena, sizeof *value);
    if (!value) return NULL;
    value->kind = kind;
    value->depth = 1;
    value->nodes = 1;
    if (kind == ONX_PK_DICT) value->items.keys = m->out->keys;
    return value;
}

onx_status onx_pk_join(onx_pk_machine *m, onx_pk *whole, onx_pk *part) {
    if (whole->sealed || whole == part)
        return ONX_PK_FAIL(m, UNSUPPORTED,
                           "the pickle changes a value that is already part of another: it would "
                           "contain itself");
    if (part->depth >= ONX_PK_DEPTH)
        return ONX_PK_FAIL(m, LIMIT, "values are nested more than %d levels deep", ONX_PK_DEPTH);
    if (part->nodes > ONX_PK_NODES - whole->nodes)
        return ONX_PK_FAIL(m, LIMIT, "the value unfolds to more than %zu nodes", ONX_PK_NODES);
    part->sealed = true;
    if (whole->depth <= part->depth) whole->depth = (uint8_t)(part->depth + 1);
    whole->nodes += part->nodes;
    return ONX_OK;
}

onx_status onx_pk_append(onx_pk_machine *m, onx_pk *whole, onx_pk *part) {
    ONX_TRY(onx_pk_join(m, whole, part));
    if (!onx_arena_grow(&m->out->arena, &whole->items.v, &whole->items.cap, whole->items.n,
                        sizeof *whole->items.v))
        return onx_pk_nomem(m);
    whole->items.v[whole->items.n++] = part;
    return ONX_OK;
}

onx_status onx_pk_set(onx_pk_machine *m, onx_pk *dict, onx_pk *key, onx_pk *value) {
    onx_map *keys = m->out->keys;
    if (key->kind == ONX_PK_STR) {
        if (onx_map_get(keys, dict, key->s))
            return ONX_PK_FAIL(m, MALFORMED, "the key '%.*s' is twice in a dict", ONX_FMT(key->s));
        if (m->keys++ >= KEYS_MAX) return ONX_PK_FAIL(m, LIMIT, "more than %d keys", KEYS_MAX);
        if (!onx_map_put(keys, dict, key->s, value)) return onx_fail_nomem(m->diag);
    }
    ONX_TRY(onx_pk_append(m, dict, key));
    return onx_pk_append(m, dict, value);
}

const onx_pk *onx_pk_get(const onx_pk *value, onx_str key) {
    if (value && value->kind == ONX_PK_OBJECT) value = value->object.state;
    if (!value || value->kind != ONX_PK_DICT) return NULL;
    return onx_map_get(value->items.keys, value, key);
}

const char *onx_pk_kind_name(onx_pk_kind kind) {
    static const char *const names[] = {
        "None",      "a bool",   "an int",    "a float",  "a complex number",
        "a str",     "bytes",    "a list",    "a tuple",  "a dict",
        "an object", "a tensor", "a storage", "a device", "a class or function",
    };
    return names[kind];
}

/* ── Reading ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status run(onx_pk_machine *m, onx_context *ctx) {
    onx_arena *arena = &m->out->arena;
    if (m->bytes.size > ONX_PK_SIZE)
        return ONX_PK_FAIL(m, LIMIT, "a pickle of more than %zu MiB", ONX_PK_SIZE >> 20);
    size_t cap = m->bytes.size * ARENA_FACTOR + ARENA_LEAST;
    arena->cap = cap < ARENA_BYTES ? cap : ARENA_BYTES;
    m->out->keys = onx_arena_alloc(arena, sizeof *m->out->keys);
    if (!m->out->keys) return onx_fail_nomem(m->diag);
    onx_map_init(m->out->keys, ctx);
    onx_status status = onx_pk_run(m);
    if (status && m->diag) m->diag->offset = (int64_t)m->start;
    return status;
}

onx_status onx_pickle_read_bytes(onx_context *ctx, onx_str bytes, onx_archive *archive,
                                 onx_str prefix, onx_pickle *out, size_t *used, onx_diag *diag) {
    onx_pickle pickle = {.root = NULL};
    onx_pk_machine m = {
        .out = &pickle, .diag = diag, .bytes = bytes, .archive = archive, .prefix = prefix};
    ctx = onx_context_or_default(ctx);
    onx_arena_init(&pickle.arena, ctx);
    onx_arena_init(&m.scratch, ctx);
    onx_status status = run(&m, ctx);
    onx_arena_fini(&m.scratch);
    if (status) {
        onx_pickle_fini(&pickle);
        return status;
    }
    *out = pickle;
    *used = m.at;
    return ONX_OK;
}

/* The folder of the tensors: "data.pkl" has "data/". */
static onx_status read_record(onx_archive *archive, onx_str record, onx_str bytes, onx_pickle *out,
                              onx_diag *diag) {
    static const onx_str suffix = {".pkl", 4};
    size_t stem = record.size - (onx_str_ends(record, suffix) ? suffix.size : 0), used;
    onx_buf prefix;
    onx_buf_init(&prefix, onx_archive_doc(archive)->ctx);
    onx_buf_put(&prefix, record.data, stem);
    onx_buf_putc(&prefix, '/');
    onx_status status = prefix.failed ? onx_fail_nomem(diag)
                                      : onx_pickle_read_bytes(prefix.ctx, bytes, archive,
                                                              (onx_str){prefix.data, prefix.size},
                                                              out, &used, diag);
    onx_buf_fini(&prefix);
    return status;
}

onx_status onx_pickle_read(onx_archive *archive, onx_str record, onx_pickle *out, onx_diag *diag) {
    onx_str bytes;
    ONX_TRY(onx_archive_read(archive, record, &bytes, diag));
    onx_status status = read_record(archive, record, bytes, out, diag);
    if (status) onx_diag_place(diag, "pickle '%.*s'", ONX_FMT(record));
    return status;
}

void onx_pickle_fini(onx_pickle *pickle) {
    if (pickle->keys) onx_map_fini(pickle->keys);
    pickle->keys = NULL;
    onx_arena_fini(&pickle->arena);
}
