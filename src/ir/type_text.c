/* type_text.c: see type_text.h. Types nest in one place only, so a counter of open parentheses does
 * for a stack. */
#include "ir/type_text.h"

static const char *const dtype_words[] = {
#define WORD(name, value, text, bits) [value] = text,
    ONX_DTYPE_MAP(WORD)
#undef WORD
};

enum {
    WORD_NONE = -1,
    WORD_SEQ = ONX_DTYPE_COUNT,
    WORD_MAP,
    WORD_OPTIONAL,
    WORD_SPARSE,
    WORD_OPAQUE
};
static const struct {
    const char *text;
    int word;
} constructors[] = {{"seq", WORD_SEQ},
                    {"map", WORD_MAP},
                    {"optional", WORD_OPTIONAL},
                    {"sparse_tensor", WORD_SPARSE},
                    {"opaque", WORD_OPAQUE}};

/* A dtype, or one of WORD_*. */
static int find_word(onx_str word) {
    for (int i = 0; i < ONX_DTYPE_COUNT; i++)
        if (onx_str_is(word, dtype_words[i])) return i;
    for (size_t i = 0; i < ONX_COUNT(constructors); i++)
        if (onx_str_is(word, constructors[i].text)) return constructors[i].word;
    return WORD_NONE;
}

const char *onx_dtype_word(int32_t dtype) {
    return dtype >= 0 && dtype < ONX_DTYPE_COUNT ? dtype_words[dtype] : dtype_words[0];
}

bool onx_is_type_word(onx_str word) {
    return find_word(word) != WORD_NONE;
}

bool onx_type_is_next(onx_lex *lex, bool named) {
    onx_str word = onx_lex_peek_identifier(lex);
    int found = find_word(word);
    onx_lex ahead = *lex;
    ahead.at += word.size;
    char next = onx_lex_peek(&ahead);
    if (found >= ONX_DTYPE_COUNT) return next == '(';
    if (!named) return found > ONX_DTYPE_NONE;
    bool name = next == '"' || onx_lex_peek_identifier(&ahead).size > 0;
    return found != WORD_NONE && (next == '[' || name);
}

/* Dense and sparse tensor types have tables of their own, with the same rows. */
static const onx_field *elem_row(const onx_tensor_type *tensor) {
    return tensor->msg.desc == &onx_desc_tensor_type ? ONX_ROW(tensor_type, elem_type)
                                                     : ONX_ROW(sparse_tensor_type, elem_type);
}

/* ── Parsing ─────────────────────────────────────────────────────────────────────────────────── */

/* A new message in `field` of `parent`; NULL when memory ran out. */
static void *add(onx_lex *lex, void *parent, const onx_field *field) {
    onx_msg *child = onx_msg_new(lex->doc, field->child);
    if (child) onx_msg_append(parent, field, child);
    return child;
}

static onx_status read_dim(onx_lex *lex, onx_shape *shape) {
    onx_dim *dim = add(lex, shape, ONX_ROW(shape, dim));
    if (!dim) return onx_lex_nomem(lex);
    if (onx_lex_take(lex, '?')) return ONX_OK;
    bool named = onx_lex_peek(lex) == '"' || onx_lex_peek_identifier(lex).size > 0;
    if (named) {
        ONX_TRY(onx_lex_name(lex, "the name of a dimension", &dim->dim_param));
        onx_msg_set_has(dim, ONX_ROW(dim, dim_param));
        return ONX_OK;
    }
    ONX_TRY(onx_lex_i64(lex, "a dimension: a number, a name or '?'", &dim->dim_value));
    onx_msg_set_has(dim, ONX_ROW(dim, dim_value));
    return ONX_OK;
}

/* What follows the element type: nothing, "[]", or "[" dimensions "]". */
static onx_status read_shape(onx_lex *lex, onx_tensor_type *tensor, const onx_field *row) {
    bool open = onx_lex_take(lex, '[');
    if (open && onx_lex_take(lex, ']')) return ONX_OK;
    onx_shape *shape = add(lex, tensor, row);
    if (!shape) return onx_lex_nomem(lex);
    if (!open) return ONX_OK;
    do ONX_TRY(read_dim(lex, shape));
    while (onx_lex_take(lex, ','));
    return onx_lex_expect(lex, ']', "at the end of the shape");
}

/* The rest of a dense or sparse tensor type. */
static onx_status read_tensor(onx_lex *lex, onx_type *type, int dtype, bool sparse) {
    const onx_field *row = sparse ? ONX_ROW(type, sparse_tensor_type) : ONX_ROW(type, tensor_type);
    onx_tensor_type *tensor = add(lex, type, row);
    if (!tensor) return onx_lex_nomem(lex);
    tensor->elem_type = dtype;
    onx_msg_set_has(tensor, elem_row(tensor));
    row = sparse ? ONX_ROW(sparse_tensor_type, shape) : ONX_ROW(tensor_type, shape);
    return read_shape(lex, tensor, row);
}

static onx_status read_dtype(onx_lex *lex, const char *what, int *out) {
    int found = find_word(onx_lex_peek_identifier(lex));
    if (found < 0 || found >= ONX_DTYPE_COUNT) return onx_lex_expected(lex, what);
    onx_lex_identifier(lex);
    *out = found;
    return ONX_OK;
}

static onx_status read_sparse(onx_lex *lex, onx_type *type) {
    int dtype = 0;
    ONX_TRY(onx_lex_expect(lex, '(', "after 'sparse_tensor'"));
    ONX_TRY(read_dtype(lex, "an element type", &dtype));
    ONX_TRY(read_tensor(lex, type, dtype, true));
    return onx_lex_expect(lex, ')', "at the end of the sparse tensor type");
}

static onx_status read_opaque(onx_lex *lex, onx_type *type) {
    onx_opaque_type *opaque = add(lex, type, ONX_ROW(type, opaque_type));
    if (!opaque) return onx_lex_nomem(lex);
    ONX_TRY(onx_lex_expect(lex, '(', "after 'opaque'"));
    if (onx_lex_take(lex, ')')) return ONX_OK;
    ONX_TRY(onx_lex_loose_name(lex, "the name of an opaque type", &opaque->name));
    onx_msg_set_has(opaque, ONX_ROW(opaque_type, name));
    if (onx_lex_take(lex, ',')) {
        opaque->domain = opaque->name;
        onx_msg_set_has(opaque, ONX_ROW(opaque_type, domain));
        ONX_TRY(onx_lex_loose_name(lex, "the name of an opaque type", &opaque->name));
    }
    return onx_lex_expect(lex, ')', "at the end of the opaque type");
}

/* "seq(", "optional(" or "map(key,": the message and the row that take what follows. */
static onx_status open_nested(onx_lex *lex, onx_type *type, int word, void **holder,
                              const onx_field **row) {
    const onx_field *in_type = word == WORD_SEQ   ? ONX_ROW(type, sequence_type)
                               : word == WORD_MAP ? ONX_ROW(type, map_type)
                                                  : ONX_ROW(type, optional_type);
    *row = word == WORD_SEQ   ? ONX_ROW(sequence_type, elem_type)
           : word == WORD_MAP ? ONX_ROW(map_type, value_type)
                              : ONX_ROW(optional_type, elem_type);
    *holder = add(lex, type, in_type);
    if (!*holder) return onx_lex_nomem(lex);
    ONX_TRY(onx_lex_expect(lex, '(', "after 'seq', 'map' or 'optional'"));
    if (word != WORD_MAP) return ONX_OK;
    onx_map_type *map = *holder;
    int dtype = 0;
    ONX_TRY(read_dtype(lex, "the type of the keys", &dtype));
    map->key_type = dtype;
    onx_msg_set_has(map, ONX_ROW(map_type, key_type));
    return onx_lex_expect(lex, ',', "after the type of the keys");
}

onx_status onx_type_read(onx_lex *lex, onx_type **out) {
    onx_type *root = onx_msg_new(lex->doc, &onx_desc_type), *type = root;
    size_t open = 0;
    while (type) {
        ONX_TRY(onx_lex_depth(lex, 2 * open));
        int word = find_word(onx_lex_peek_identifier(lex));
        if (word == WORD_NONE)
            return onx_lex_expected(lex, "a type: float, int64[N], seq(…), map(…), optional(…)");
        onx_lex_identifier(lex);
        if (word < ONX_DTYPE_COUNT)
            ONX_TRY(read_tensor(lex, type, word, false));
        else if (word == WORD_SPARSE)
            ONX_TRY(read_sparse(lex, type));
        else if (word == WORD_OPAQUE)
            ONX_TRY(read_opaque(lex, type));
        if (word < ONX_DTYPE_COUNT || word == WORD_SPARSE || word == WORD_OPAQUE) break;
        void *holder = NULL;
        const onx_field *row = NULL;
        ONX_TRY(open_nested(lex, type, word, &holder, &row));
        open++;
        if (onx_lex_peek(lex) == ')') break;
        type = add(lex, holder, row);
    }
    if (!type) return onx_lex_nomem(lex);
    for (; open > 0; open--) ONX_TRY(onx_lex_expect(lex, ')', "at the end of the type"));
    *out = root;
    return ONX_OK;
}

onx_status onx_type_parse(onx_doc *doc, onx_str text, onx_type **out, onx_diag *diag) {
    onx_lex lex;
    onx_type *type = NULL;
    onx_lex_init(&lex, doc, text, diag);
    ONX_TRY(onx_type_read(&lex, &type));
    ONX_TRY(onx_lex_depth(&lex, onx_type_height(type)));
    onx_lex_peek(&lex);
    if (lex.at < lex.end) return onx_lex_expected(&lex, "the end of the type");
    *out = type;
    return ONX_OK;
}

size_t onx_type_height(const onx_type *type) {
    size_t height = 1;
    for (const onx_type *elem; (elem = onx_type_elem(type)); type = elem) height += 2;
    return height + onx_type_has_shape(type) + (onx_type_rank(type) > 0);
}

/* ── Printing ────────────────────────────────────────────────────────────────────────────────── */

static void print_quoted(onx_str s, onx_buf *buf) {
    onx_buf_putc(buf, '"');
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] == '"' || s.data[i] == '\\') onx_buf_putc(buf, '\\');
        onx_buf_putc(buf, s.data[i] ? s.data[i] : ' ');
    }
    onx_buf_putc(buf, '"');
}

static void print_dim(const onx_dim *dim, onx_buf *buf) {
    if (onx_msg_has(dim, ONX_ROW(dim, dim_value)))
        onx_buf_printf(buf, "%lld", (long long)dim->dim_value);
    else if (!onx_msg_has(dim, ONX_ROW(dim, dim_param)))
        onx_buf_putc(buf, '?');
    else if (onx_is_identifier(dim->dim_param))
        onx_buf_put(buf, dim->dim_param.data, dim->dim_param.size);
    else
        print_quoted(dim->dim_param, buf);
}

static void print_tensor(const onx_tensor_type *tensor, onx_buf *buf) {
    onx_buf_puts(buf, onx_dtype_word(tensor->elem_type));
    if (tensor->shape && tensor->shape->dim.count == 0) return;
    onx_buf_putc(buf, '[');
    if (tensor->shape) {
        ONX_EACH (onx_dim, dim, tensor->shape->dim) {
            if (dim->msg.prev) onx_buf_putc(buf, ',');
            print_dim(dim, buf);
        }
    }
    onx_buf_putc(buf, ']');
}

static void print_word(onx_str word, onx_buf *buf) {
    if (onx_is_word(word))
        onx_buf_put(buf, word.data, word.size);
    else
        print_quoted(word, buf);
}

static void print_opaque(const onx_opaque_type *opaque, onx_buf *buf) {
    onx_buf_puts(buf, "opaque(");
    if (onx_msg_has(opaque, ONX_ROW(opaque_type, domain))) {
        print_word(opaque->domain, buf);
        onx_buf_putc(buf, ',');
        print_word(opaque->name, buf);
    } else if (onx_msg_has(opaque, ONX_ROW(opaque_type, name))) {
        print_word(opaque->name, buf);
    }
    onx_buf_putc(buf, ')');
}

void onx_type_print(const onx_type *type, onx_buf *buf) {
    size_t open = 0;
    for (; type; type = onx_type_elem(type)) {
        if (type->tensor_type) print_tensor(type->tensor_type, buf);
        if (type->opaque_type) print_opaque(type->opaque_type, buf);
        if (type->sparse_tensor_type) {
            onx_buf_puts(buf, "sparse_tensor(");
            print_tensor(type->sparse_tensor_type, buf);
            onx_buf_putc(buf, ')');
        }
        if (type->map_type)
            onx_buf_printf(buf, "map(%s, ", onx_dtype_word(type->map_type->key_type));
        if (type->sequence_type) onx_buf_puts(buf, "seq(");
        if (type->optional_type) onx_buf_puts(buf, "optional(");
        open += type->map_type || type->sequence_type || type->optional_type;
    }
    for (; open > 0; open--) onx_buf_putc(buf, ')');
}

/* ── What text cannot say ────────────────────────────────────────────────────────────────────── */

static bool is_dtype(int32_t dtype) {
    return dtype >= 0 && dtype < ONX_DTYPE_COUNT;
}

static bool plain_tensor(const onx_tensor_type *tensor) {
    bool has = onx_msg_has(tensor, elem_row(tensor));
    if (tensor->msg.unknown || !has || !is_dtype(tensor->elem_type)) return false;
    if (!tensor->shape) return true;
    if (tensor->shape->msg.unknown) return false;
    ONX_EACH (onx_dim, dim, tensor->shape->dim) {
        if (dim->msg.unknown || onx_msg_has(dim, ONX_ROW(dim, denotation))) return false;
        if (!onx_is_text(dim->dim_param)) return false;
    }
    return true;
}

static bool plain_opaque(const onx_opaque_type *opaque) {
    bool has_name = onx_msg_has(opaque, ONX_ROW(opaque_type, name));
    bool has_domain = onx_msg_has(opaque, ONX_ROW(opaque_type, domain));
    return !opaque->msg.unknown && has_name >= has_domain && onx_is_text(opaque->name) &&
           onx_is_text(opaque->domain);
}

static bool plain_level(const onx_type *type) {
    const onx_elem_type *elem = type->sequence_type ? type->sequence_type : type->optional_type;
    const onx_map_type *map = type->map_type;
    if (type->msg.unknown || onx_msg_has(type, ONX_ROW(type, denotation))) return false;
    if (type->tensor_type) return plain_tensor(type->tensor_type);
    if (type->sparse_tensor_type) return plain_tensor(type->sparse_tensor_type);
    if (type->opaque_type) return plain_opaque(type->opaque_type);
    if (map)
        return !map->msg.unknown && onx_msg_has(map, ONX_ROW(map_type, key_type)) &&
               is_dtype(map->key_type);
    return elem && !elem->msg.unknown;
}

bool onx_type_is_plain(const onx_type *type) {
    for (; type; type = onx_type_elem(type))
        if (!plain_level(type)) return false;
    return true;
}
