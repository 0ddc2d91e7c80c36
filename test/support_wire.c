/* support_wire.c: protobuf encodings for tests: another spelling of a message, and one spelling
 * for all.
 *
 * Written from the description of the format and the tables alone, without the codec, and
 * recursive: it is for messages that tests make or trust. */
#include "support.h"

#include <stdlib.h>

typedef struct item {
    uint32_t number;
    unsigned type;
    const onx_field *field; /* NULL: unknown, or known with a wire type that is not its own */
    onx_str value;          /* contents, without the length */
    onx_str all;            /* from the tag on */
} item;

typedef struct items {
    item *v;
    size_t n;
} items;

static uint64_t get_varint(const char **p) {
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char c = (unsigned char)*(*p)++;
        if (shift < 64) v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) return v;
    }
}

/* Wire type of one element, and whether the field may also come as a length-delimited list. */
static unsigned element_type(const onx_field *field, bool *list) {
    *list = false;
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_I32:
    case ONX_FIELD_I64: return TEST_VARINT;
    case ONX_FIELD_F32: return TEST_I32;
    case ONX_FIELD_F32S:
    case ONX_FIELD_PACKED_F32: *list = true; return TEST_I32;
    case ONX_FIELD_PACKED_F64: *list = true; return TEST_I64;
    case ONX_FIELD_I64S:
    case ONX_FIELD_PACKED_I32:
    case ONX_FIELD_PACKED_I64:
    case ONX_FIELD_PACKED_U64: *list = true; return TEST_VARINT;
    default: return TEST_LEN;
    }
}

static const char *skip(const char *p, unsigned type) {
    uint64_t n;
    switch (type) {
    case TEST_VARINT: get_varint(&p); return p;
    case TEST_I64: return p + 8;
    case TEST_I32: return p + 4;
    case TEST_LEN: n = get_varint(&p); return p + n;
    default: break;
    }
    for (;;) { /* a group */
        uint64_t tag = get_varint(&p);
        if ((tag & 7) == TEST_EGROUP) return p;
        p = skip(p, tag & 7);
    }
}

static const onx_field *known(const onx_desc *desc, uint32_t number, unsigned type) {
    for (unsigned i = 0; i < desc->n_fields; i++) {
        bool list;
        if (desc->fields[i].number != number) continue;
        bool fits = element_type(&desc->fields[i], &list) == type || (list && type == TEST_LEN);
        return fits ? &desc->fields[i] : NULL;
    }
    return NULL;
}

static items parse(const onx_desc *desc, onx_str in) {
    items out = {NULL, 0};
    size_t cap = 0;
    for (const char *p = in.data ? in.data : "", *end = p + in.size; p < end;) {
        const char *start = p;
        uint64_t tag = get_varint(&p);
        const char *value = p;
        item it = {.number = (uint32_t)(tag >> 3), .type = tag & 7};
        p = skip(p, it.type);
        if (it.type == TEST_LEN) get_varint(&value);
        it.value = (onx_str){value, (size_t)(p - value)};
        it.all = (onx_str){start, (size_t)(p - start)};
        it.field = known(desc, it.number, it.type);
        if (out.n == cap) out.v = realloc(out.v, (cap = cap * 2 + 16) * sizeof *out.v);
        if (!out.v) abort();
        out.v[out.n++] = it;
    }
    return out;
}

static bool is_message(const onx_field *field) {
    return field->kind == ONX_FIELD_MSG || field->kind == ONX_FIELD_MSGS;
}

static bool is_singular(const onx_field *field) {
    return field->kind <= ONX_FIELD_MSG;
}

/* ── One spelling ── */

static void canon_varint(const onx_field *field, uint64_t v, test_bytes *out) {
    bool narrow = field->kind == ONX_FIELD_I32 || field->kind == ONX_FIELD_PACKED_I32;
    test_put_varint(out, narrow ? (uint64_t)(int64_t)(int32_t)v : v);
}

/* The elements of one occurrence of a list. */
static void canon_elements(const item *it, test_bytes *out) {
    bool list;
    if (element_type(it->field, &list) != TEST_VARINT) {
        test_put(out, it->value.data, it->value.size);
        return;
    }
    for (const char *p = it->value.data, *end = p + it->value.size; p < end;)
        canon_varint(it->field, get_varint(&p), out);
}

static void canon_list(const items *all, const onx_field *field, test_bytes *out) {
    test_bytes packed = {NULL, 0, 0};
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].field == field) canon_elements(&all->v[i], &packed);
    if (packed.size) test_put_bytes(out, field->number, packed.data, packed.size);
    test_bytes_free(&packed);
}

static void canon_message(const onx_field *field, onx_str in, test_bytes *out) {
    test_bytes inner = {NULL, 0, 0};
    test_canon(field->child, in, &inner);
    test_put_message(out, field->number, &inner);
}

/* Occurrences before `from` were undone by another member of the oneof. */
static size_t oneof_start(const items *all, const onx_field *field) {
    size_t from = 0;
    for (size_t i = 0; i < all->n; i++) {
        const onx_field *f = all->v[i].field;
        if (f && f != field && field->oneof && f->oneof == field->oneof) from = i + 1;
    }
    return from;
}

static void canon_singular(const items *all, const onx_field *field, test_bytes *out) {
    const item *last = NULL;
    test_bytes merged = {NULL, 0, 0};
    for (size_t i = oneof_start(all, field); i < all->n; i++) {
        if (all->v[i].field != field) continue;
        last = &all->v[i];
        if (is_message(field)) test_put(&merged, last->value.data, last->value.size);
    }
    if (last && is_message(field)) {
        canon_message(field, (onx_str){merged.data, merged.size}, out);
    } else if (last && last->type == TEST_VARINT) {
        const char *p = last->value.data;
        test_put_tag(out, field->number, TEST_VARINT);
        canon_varint(field, get_varint(&p), out);
    } else if (last && last->type == TEST_LEN) {
        test_put_bytes(out, field->number, last->value.data, last->value.size);
    } else if (last) {
        test_put_tag(out, field->number, last->type);
        test_put(out, last->value.data, last->value.size);
    }
    test_bytes_free(&merged);
}

void test_canon(const onx_desc *desc, onx_str in, test_bytes *out) {
    items all = parse(desc, in);
    test_put(out, "", 0);
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const onx_field *field = &desc->fields[i];
        bool list;
        element_type(field, &list);
        if (list) {
            canon_list(&all, field, out);
        } else if (is_singular(field)) {
            canon_singular(&all, field, out);
        } else {
            for (size_t k = 0; k < all.n; k++) {
                if (all.v[k].field != field) continue;
                if (is_message(field))
                    canon_message(field, all.v[k].value, out);
                else
                    test_put_bytes(out, field->number, all.v[k].value.data, all.v[k].value.size);
            }
        }
    }
    for (size_t i = 0; i < all.n; i++)
        if (!all.v[i].field) test_put(out, all.v[i].all.data, all.v[i].all.size);
    free(all.v);
}

/* ── Another spelling ── */

/* A piece of the result. Pieces with the same key keep their order. */
typedef struct piece {
    uint32_t key;
    test_bytes bytes;
} piece;

typedef struct rewriter {
    const onx_desc *desc;
    unsigned what;
    test_random *r;
    piece *v;
    size_t n, cap;
} rewriter;

static bool chance(rewriter *w, unsigned what, size_t one_in) {
    return (w->what & what) && test_random_below(w->r, one_in) == 0;
}

static test_bytes *new_piece(rewriter *w, uint32_t key) {
    if (w->n == w->cap) w->v = realloc(w->v, (w->cap = w->cap * 2 + 16) * sizeof *w->v);
    if (!w->v) abort();
    w->v[w->n] = (piece){key, {NULL, 0, 0}};
    return &w->v[w->n++].bytes;
}

static uint32_t key_of(const onx_field *field) {
    return field->oneof ? (uint32_t)1 << 30 | field->oneof : field->number;
}

/* Tags and lengths have five bytes at most, values ten. */
static void put_number(rewriter *w, test_bytes *out, uint64_t v, size_t most) {
    size_t n = onx_varint_size(v);
    unsigned extra =
        chance(w, TEST_LONG, 3) && n < most ? 1 + (unsigned)test_random_below(w->r, most - n) : 0;
    test_put_long_varint(out, v, extra);
}

static void put_tag(rewriter *w, test_bytes *out, uint32_t number, unsigned type) {
    put_number(w, out, (uint64_t)number << 3 | type, 5);
}

static void put_span(rewriter *w, test_bytes *out, uint32_t number, onx_str s) {
    put_tag(w, out, number, TEST_LEN);
    put_number(w, out, s.size, 5);
    test_put(out, s.data, s.size);
}

static void put_child(rewriter *w, const onx_field *field, onx_str in) {
    test_bytes inner = {NULL, 0, 0};
    test_rewrite(field->child, in, w->what, w->r, &inner);
    put_span(w, new_piece(w, key_of(field)), field->number, (onx_str){inner.data, inner.size});
    test_bytes_free(&inner);
}

static void put_message(rewriter *w, const onx_field *field, onx_str in) {
    if (field->kind == ONX_FIELD_MSG && chance(w, TEST_REPEAT, 2)) {
        items all = parse(field->child, in);
        size_t cut = test_random_below(w->r, all.n + 1), at = 0;
        for (size_t i = 0; i < cut; i++) at += all.v[i].all.size;
        free(all.v);
        put_child(w, field, (onx_str){in.data, at});
        in = (onx_str){in.data + at, in.size - at};
    }
    put_child(w, field, in);
}

static void put_element(rewriter *w, test_bytes *out, unsigned type, const char **p) {
    if (type == TEST_VARINT) {
        put_number(w, out, get_varint(p), 10);
        return;
    }
    size_t n = type == TEST_I32 ? 4 : 8;
    test_put(out, *p, n);
    *p += n;
}

/* An occurrence of a list, in runs: each alone, or packed with its length. */
static void put_list(rewriter *w, const item *it) {
    bool list;
    unsigned type = element_type(it->field, &list);
    const char *p = it->value.data, *end = p + it->value.size;
    bool small = it->value.size < 1000;
    if (chance(w, TEST_PACKING, 8))
        put_span(w, new_piece(w, key_of(it->field)), it->number, (onx_str){"", 0});
    while (p < end) {
        bool alone = it->type != TEST_LEN;
        size_t run = SIZE_MAX;
        if (w->what & TEST_PACKING) {
            alone = small && test_random_below(w->r, 2);
            run = 1 + test_random_below(w->r, small ? 6 : it->value.size);
        }
        if (alone) {
            test_bytes *out = new_piece(w, key_of(it->field));
            put_tag(w, out, it->number, type);
            put_element(w, out, type, &p);
            continue;
        }
        test_bytes packed = {NULL, 0, 0};
        while (p < end && run--) put_element(w, &packed, type, &p);
        put_span(w, new_piece(w, key_of(it->field)), it->number,
                 (onx_str){packed.data, packed.size});
        test_bytes_free(&packed);
    }
}

/* Something that what follows undoes: an earlier value, or another member of the oneof. Messages
 * of the same field would merge instead. */
static void put_undone(rewriter *w, const onx_field *field) {
    const onx_field *other = &w->desc->fields[test_random_below(w->r, w->desc->n_fields)];
    bool rival = field->oneof && other->oneof == field->oneof && other != field;
    if (rival)
        field = other;
    else if (is_message(field))
        return;
    test_bytes *out = new_piece(w, key_of(field));
    bool list;
    unsigned type = element_type(field, &list);
    put_tag(w, out, field->number, type);
    if (type == TEST_VARINT)
        test_put_varint(out, test_random_next(w->r));
    else if (type == TEST_I32)
        test_put(out, "\1\2\3\4", 4);
    else
        test_put_varint(out, 0);
}

static void put_known(rewriter *w, const item *it) {
    bool list;
    const onx_field *field = it->field;
    unsigned type = element_type(field, &list);
    if (list) {
        put_list(w, it);
        return;
    }
    if (is_singular(field) && chance(w, TEST_REPEAT, 3)) put_undone(w, field);
    if (is_message(field)) {
        put_message(w, field, it->value);
        return;
    }
    test_bytes *out = new_piece(w, key_of(field));
    const char *p = it->value.data;
    if (type == TEST_LEN) {
        put_span(w, out, it->number, it->value);
    } else {
        put_tag(w, out, it->number, it->type);
        put_element(w, out, type, &p);
    }
}

static void put_value(rewriter *w, test_bytes *out, uint32_t number, unsigned type,
                      unsigned depth) {
    put_tag(w, out, number, type);
    switch (type) {
    case TEST_VARINT: put_number(w, out, test_random_next(w->r), 10); break;
    case TEST_I64: test_put(out, "unknown8", 8); break;
    case TEST_I32: test_put(out, "unk4", 4); break;
    case TEST_LEN: put_number(w, out, 7, 5), test_put(out, "unknown", 7); break;
    default:
        while (depth < 5 && test_random_below(w->r, 2)) {
            static const unsigned types[] = {TEST_VARINT, TEST_I64, TEST_LEN, TEST_SGROUP,
                                             TEST_I32};
            put_value(w, out, 1 + (uint32_t)test_random_below(w->r, 40),
                      types[test_random_below(w->r, 5)], depth + 1);
        }
        put_tag(w, out, number, TEST_EGROUP);
    }
}

/* A field with a number nobody has, or with a wire type that is not that of its number. */
static void put_unknown(rewriter *w) {
    static const unsigned types[] = {TEST_VARINT, TEST_I64, TEST_LEN, TEST_SGROUP, TEST_I32};
    static const uint32_t numbers[] = {1, 2, 3, 17, 18, 19, 100, 1000, 12345678, 536870911};
    unsigned type = types[test_random_below(w->r, ONX_COUNT(types))];
    uint32_t number = numbers[test_random_below(w->r, ONX_COUNT(numbers))];
    if (!known(w->desc, number, type)) put_value(w, new_piece(w, 0), number, type, 0);
}

static void put_shuffled(rewriter *w, test_bytes *out) {
    uint32_t *keys = malloc((w->n + 1) * sizeof *keys);
    bool *used = calloc(w->n + 1, sizeof *used);
    if (!keys || !used) abort();
    for (size_t i = 0; i < w->n; i++) keys[i] = w->v[i].key;
    /* Exchanges of near neighbours only when there are many: finding a key is a search. */
    size_t reach = w->n < 300 ? w->n : 8;
    for (size_t i = 0; (w->what & TEST_SHUFFLE) && i + 1 < w->n; i++) {
        size_t left = w->n - i, k = i + test_random_below(w->r, reach < left ? reach : left);
        uint32_t key = keys[i];
        keys[i] = keys[k];
        keys[k] = key;
    }
    for (size_t i = 0, first = 0; i < w->n; i++) {
        while (used[first]) first++;
        size_t k = first;
        while (used[k] || w->v[k].key != keys[i]) k++;
        used[k] = true;
        test_put(out, w->v[k].bytes.data, w->v[k].bytes.size);
    }
    free(keys);
    free(used);
}

void test_rewrite(const onx_desc *desc, onx_str in, unsigned what, test_random *r,
                  test_bytes *out) {
    rewriter w = {.desc = desc, .what = what, .r = r};
    items all = parse(desc, in);
    test_put(out, "", 0);
    for (size_t i = 0; i < all.n; i++) {
        if (chance(&w, TEST_UNKNOWN, 6)) put_unknown(&w);
        if (all.v[i].field)
            put_known(&w, &all.v[i]);
        else
            test_put(new_piece(&w, 0), all.v[i].all.data, all.v[i].all.size);
    }
    if (chance(&w, TEST_UNKNOWN, 4)) put_unknown(&w);
    put_shuffled(&w, out);
    for (size_t i = 0; i < w.n; i++) test_bytes_free(&w.v[i].bytes);
    free(w.v);
    free(all.v);
}
