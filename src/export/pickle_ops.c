/* pickle_ops.c: the opcodes of pickles, and the stack and memo they work on. Those that PyTorch
 * never writes are not in the table, and are refused. */
#include "export/pickle_machine.h"

#include "base/utf8.h"

enum { STACK_MAX = 1 << 20, MEMO_MAX = 1 << 20 };

/* ── The stack ───────────────────────────────────────────────────────────────────────────────── */

static onx_status push(onx_pk_machine *m, onx_pk *value) {
    if (!value) return onx_pk_nomem(m);
    if (m->depth >= STACK_MAX)
        return ONX_PK_FAIL(m, LIMIT, "more than %d values on the stack", STACK_MAX);
    if (!onx_arena_grow(&m->scratch, &m->stack, &m->stack_cap, m->depth, sizeof *m->stack))
        return onx_fail_nomem(m->diag);
    m->stack[m->depth++] = value;
    return ONX_OK;
}

/* Take the last `n` values, which must be above the last mark. They stay in place until something
 * is pushed. Of none, `out` is not set: there may be no stack yet. */
static onx_status take(onx_pk_machine *m, size_t n, onx_pk ***out) {
    size_t floor = m->mark_count ? m->marks[m->mark_count - 1] : 0;
    if (m->depth - floor < n)
        return ONX_PK_FAIL(m, MALFORMED, "the pickle takes more values than it made");
    m->depth -= n;
    if (n) *out = m->stack + m->depth;
    return ONX_OK;
}

/* All values above the last mark, and the mark. */
static onx_status take_marked(onx_pk_machine *m, size_t *n, onx_pk ***out) {
    if (!m->mark_count) return ONX_PK_FAIL(m, MALFORMED, "the pickle goes back to no mark");
    *n = m->depth - m->marks[m->mark_count - 1];
    ONX_TRY(take(m, *n, out));
    m->mark_count--;
    return ONX_OK;
}

/* ── Opcodes ─────────────────────────────────────────────────────────────────────────────────── */

/* What follows an opcode: little-endian numbers, a big-endian double, bytes after their count, two
 * lines. */
typedef enum arg_kind { NOTHING, U8, U16, I32, U32, U64, F64, BYTES8, BYTES32, LINES } arg_kind;

typedef struct arg {
    int64_t i; /* a number, or what the table says */
    double f;
    onx_str s, second;
    onx_pk_kind kind; /* from the table */
} arg;

static onx_status op_proto(onx_pk_machine *m, const arg *a) {
    if (a->i >= 2 && a->i <= 5) return ONX_OK;
    return ONX_PK_FAIL(m, UNSUPPORTED, "pickle protocol %d; 2 to 5 are known", (int)a->i);
}

static onx_status op_frame(onx_pk_machine *m, const arg *a) {
    (void)m, (void)a; /* a hint for buffers */
    return ONX_OK;
}

static onx_status op_empty(onx_pk_machine *m, const arg *a) {
    return push(m, onx_pk_new(m, a->kind));
}

static onx_status op_int(onx_pk_machine *m, const arg *a) {
    onx_pk *value = onx_pk_new(m, a->kind);
    if (value) value->i = a->i;
    return push(m, value);
}

/* Two's complement, of as many bytes as it takes. */
static onx_status op_long(onx_pk_machine *m, const arg *a) {
    if (a->s.size > sizeof(int64_t)) return ONX_PK_FAIL(m, LIMIT, "an int of more than 64 bits");
    bool negative = a->s.size && a->s.data[a->s.size - 1] & 0x80;
    arg number = {.kind = ONX_PK_INT, .i = negative ? -1 : 0};
    memcpy(&number.i, a->s.data, a->s.size);
    return op_int(m, &number);
}

static onx_status op_float(onx_pk_machine *m, const arg *a) {
    onx_pk *value = onx_pk_new(m, ONX_PK_FLOAT);
    if (value) value->f = a->f;
    return push(m, value);
}

static bool is_utf8(onx_str s) {
    for (size_t at = 0, n; at < s.size; at += n)
        if (!(n = onx_utf8_size(s.data + at, s.data + s.size))) return false;
    return true;
}

static onx_status op_text(onx_pk_machine *m, const arg *a) {
    if (a->kind == ONX_PK_STR && !is_utf8(a->s))
        return ONX_PK_FAIL(m, MALFORMED, "a string is not UTF-8");
    onx_pk *value = onx_pk_new(m, a->kind);
    if (value && !onx_arena_str(&m->out->arena, a->s, &value->s)) value = NULL;
    return push(m, value);
}

/* Strings of Python 2: text, or bytes. */
static onx_status op_old_text(onx_pk_machine *m, const arg *a) {
    return op_text(m, &(arg){.kind = is_utf8(a->s) ? ONX_PK_STR : ONX_PK_BYTES, .s = a->s});
}

/* "module.name" */
static onx_status op_global(onx_pk_machine *m, const arg *a) {
    onx_str module = a->s, name = a->second;
    onx_pk *value = onx_pk_new(m, ONX_PK_GLOBAL);
    char *text = value ? onx_arena_alloc(&m->out->arena, module.size + name.size + 2) : NULL;
    if (!text) return onx_pk_nomem(m);
    if (!is_utf8(module) || !is_utf8(name))
        return ONX_PK_FAIL(m, MALFORMED, "the name of a class is not UTF-8");
    memcpy(text, module.data, module.size);
    text[module.size] = '.';
    memcpy(text + module.size + 1, name.data, name.size);
    value->s = (onx_str){text, module.size + 1 + name.size};
    return push(m, value);
}

static onx_status op_stack_global(onx_pk_machine *m, const arg *a) {
    onx_pk **names = NULL;
    (void)a;
    ONX_TRY(take(m, 2, &names));
    if (names[0]->kind != ONX_PK_STR || names[1]->kind != ONX_PK_STR)
        return ONX_PK_FAIL(m, MALFORMED, "the name of a class is no string");
    return op_global(m, &(arg){.s = names[0]->s, .second = names[1]->s});
}

static onx_status op_mark(onx_pk_machine *m, const arg *a) {
    (void)a;
    if (m->mark_count >= STACK_MAX) return ONX_PK_FAIL(m, LIMIT, "more than %d marks", STACK_MAX);
    if (!onx_arena_grow(&m->scratch, &m->marks, &m->mark_cap, m->mark_count, sizeof *m->marks))
        return onx_fail_nomem(m->diag);
    m->marks[m->mark_count++] = m->depth;
    return ONX_OK;
}

static onx_status op_pop(onx_pk_machine *m, const arg *a) {
    onx_pk **value = NULL;
    (void)a;
    return take(m, 1, &value);
}

/* Of a dict, keys and values in turn. */
static onx_status fill(onx_pk_machine *m, onx_pk *whole, onx_pk **values, size_t n) {
    size_t step = whole->kind == ONX_PK_DICT ? 2 : 1;
    if (n % step) return ONX_PK_FAIL(m, MALFORMED, "a key of a dict has no value");
    for (size_t i = 0; i < n; i += step)
        ONX_TRY(step == 2 ? onx_pk_set(m, whole, values[i], values[i + 1])
                          : onx_pk_append(m, whole, values[i]));
    return ONX_OK;
}

static onx_status push_items(onx_pk_machine *m, onx_pk_kind kind, onx_pk **values, size_t n) {
    onx_pk *whole = onx_pk_new(m, kind);
    if (!whole) return onx_pk_nomem(m);
    ONX_TRY(fill(m, whole, values, n));
    return push(m, whole);
}

static onx_status op_tuple_of(onx_pk_machine *m, const arg *a) {
    onx_pk **values = NULL;
    ONX_TRY(take(m, (size_t)a->i, &values));
    return push_items(m, ONX_PK_TUPLE, values, (size_t)a->i);
}

static onx_status op_marked(onx_pk_machine *m, const arg *a) {
    onx_pk **values = NULL;
    size_t n = 0;
    ONX_TRY(take_marked(m, &n, &values));
    return push_items(m, a->kind, values, n);
}

/* Add to the list or dict on top, which stays there. */
static onx_status add_items(onx_pk_machine *m, onx_pk_kind kind, onx_pk **values, size_t n) {
    onx_pk **whole = NULL;
    ONX_TRY(take(m, 1, &whole));
    m->depth++;
    if ((*whole)->kind != kind)
        return ONX_PK_FAIL(m, UNSUPPORTED, "the pickle adds to %s as if it were %s",
                           onx_pk_kind_name((*whole)->kind), onx_pk_kind_name(kind));
    return fill(m, *whole, values, n);
}

static onx_status op_add(onx_pk_machine *m, const arg *a) {
    size_t n = a->kind == ONX_PK_DICT ? 2 : 1;
    onx_pk **values = NULL;
    ONX_TRY(take(m, n, &values));
    return add_items(m, a->kind, values, n);
}

static onx_status op_add_marked(onx_pk_machine *m, const arg *a) {
    onx_pk **values = NULL;
    size_t n = 0;
    ONX_TRY(take_marked(m, &n, &values));
    return add_items(m, a->kind, values, n);
}

static onx_status memo_put(onx_pk_machine *m, size_t index) {
    onx_pk **value = NULL;
    if (index >= MEMO_MAX) return ONX_PK_FAIL(m, LIMIT, "more than %d values noted", MEMO_MAX);
    ONX_TRY(take(m, 1, &value));
    m->depth++;
    while (m->memo_count <= index) {
        if (!onx_arena_grow(&m->scratch, &m->memo, &m->memo_cap, m->memo_count, sizeof *m->memo))
            return onx_fail_nomem(m->diag);
        m->memo[m->memo_count++] = NULL;
    }
    m->memo[index] = *value;
    return ONX_OK;
}

static onx_status op_put(onx_pk_machine *m, const arg *a) {
    return memo_put(m, (size_t)a->i);
}

static onx_status op_memoize(onx_pk_machine *m, const arg *a) {
    (void)a;
    return memo_put(m, m->memo_count);
}

static onx_status op_get(onx_pk_machine *m, const arg *a) {
    size_t index = (size_t)a->i;
    if (index >= m->memo_count || !m->memo[index])
        return ONX_PK_FAIL(m, MALFORMED, "the pickle has not noted a value %zu", index);
    return push(m, m->memo[index]);
}

static onx_status op_call(onx_pk_machine *m, const arg *a) {
    onx_pk **values = NULL, *result = NULL;
    (void)a;
    ONX_TRY(take(m, 2, &values));
    ONX_TRY(onx_pk_call(m, values[0], values[1], &result));
    return push(m, result);
}

static onx_status op_build(onx_pk_machine *m, const arg *a) {
    onx_pk **values = NULL;
    (void)a;
    ONX_TRY(take(m, 2, &values));
    m->depth++;
    onx_pk *whole = values[0], *state = values[1];
    if (whole->kind != ONX_PK_OBJECT) return ONX_OK; /* notes on a dict or tensor */
    if (whole->object.state) return ONX_PK_FAIL(m, MALFORMED, "an object is given two states");
    ONX_TRY(onx_pk_join(m, whole, state));
    whole->object.state = state;
    return ONX_OK;
}

static onx_status op_persistent(onx_pk_machine *m, const arg *a) {
    onx_pk **id = NULL, *result = NULL;
    (void)a;
    ONX_TRY(take(m, 1, &id));
    ONX_TRY(onx_pk_persistent(m, *id, &result));
    return push(m, result);
}

static onx_status op_stop(onx_pk_machine *m, const arg *a) {
    (void)a;
    if (m->depth != 1 || m->mark_count)
        return ONX_PK_FAIL(m, MALFORMED, "the pickle ends with %zu values, not one", m->depth);
    m->out->root = m->stack[0];
    return ONX_OK;
}

static const struct op {
    onx_status (*run)(onx_pk_machine *m, const arg *a);
    arg_kind arg;
    onx_pk_kind kind;
    int8_t i;
} ops[256] = {
    [0x80] = {op_proto, U8, ONX_PK_NONE, 0},
    [0x95] = {op_frame, U64, ONX_PK_NONE, 0},
    ['N'] = {op_empty, NOTHING, ONX_PK_NONE, 0},
    [0x88] = {op_int, NOTHING, ONX_PK_BOOL, 1},
    [0x89] = {op_int, NOTHING, ONX_PK_BOOL, 0},
    ['K'] = {op_int, U8, ONX_PK_INT, 0},
    ['M'] = {op_int, U16, ONX_PK_INT, 0},
    ['J'] = {op_int, I32, ONX_PK_INT, 0},
    [0x8a] = {op_long, BYTES8, ONX_PK_NONE, 0},
    [0x8b] = {op_long, BYTES32, ONX_PK_NONE, 0},
    ['G'] = {op_float, F64, ONX_PK_NONE, 0},
    ['X'] = {op_text, BYTES32, ONX_PK_STR, 0},
    [0x8c] = {op_text, BYTES8, ONX_PK_STR, 0},
    ['B'] = {op_text, BYTES32, ONX_PK_BYTES, 0},
    ['C'] = {op_text, BYTES8, ONX_PK_BYTES, 0},
    ['T'] = {op_old_text, BYTES32, ONX_PK_NONE, 0},
    ['U'] = {op_old_text, BYTES8, ONX_PK_NONE, 0},
    ['c'] = {op_global, LINES, ONX_PK_NONE, 0},
    [0x93] = {op_stack_global, NOTHING, ONX_PK_NONE, 0},
    ['('] = {op_mark, NOTHING, ONX_PK_NONE, 0},
    ['0'] = {op_pop, NOTHING, ONX_PK_NONE, 0},
    [')'] = {op_tuple_of, NOTHING, ONX_PK_TUPLE, 0},
    [0x85] = {op_tuple_of, NOTHING, ONX_PK_TUPLE, 1},
    [0x86] = {op_tuple_of, NOTHING, ONX_PK_TUPLE, 2},
    [0x87] = {op_tuple_of, NOTHING, ONX_PK_TUPLE, 3},
    ['t'] = {op_marked, NOTHING, ONX_PK_TUPLE, 0},
    ['l'] = {op_marked, NOTHING, ONX_PK_LIST, 0},
    ['d'] = {op_marked, NOTHING, ONX_PK_DICT, 0},
    [']'] = {op_empty, NOTHING, ONX_PK_LIST, 0},
    ['}'] = {op_empty, NOTHING, ONX_PK_DICT, 0},
    ['a'] = {op_add, NOTHING, ONX_PK_LIST, 0},
    ['s'] = {op_add, NOTHING, ONX_PK_DICT, 0},
    ['e'] = {op_add_marked, NOTHING, ONX_PK_LIST, 0},
    ['u'] = {op_add_marked, NOTHING, ONX_PK_DICT, 0},
    ['q'] = {op_put, U8, ONX_PK_NONE, 0},
    ['r'] = {op_put, U32, ONX_PK_NONE, 0},
    [0x94] = {op_memoize, NOTHING, ONX_PK_NONE, 0},
    ['h'] = {op_get, U8, ONX_PK_NONE, 0},
    ['j'] = {op_get, U32, ONX_PK_NONE, 0},
    [0x81] = {op_call, NOTHING, ONX_PK_NONE, 0},
    ['R'] = {op_call, NOTHING, ONX_PK_NONE, 0},
    ['b'] = {op_build, NOTHING, ONX_PK_NONE, 0},
    ['Q'] = {op_persistent, NOTHING, ONX_PK_NONE, 0},
    ['.'] = {op_stop, NOTHING, ONX_PK_NONE, 0},
};

/* ── Running ─────────────────────────────────────────────────────────────────────────────────── */

static bool next_bytes(onx_pk_machine *m, size_t n, onx_str *out) {
    if (m->bytes.size - m->at < n) return false;
    *out = (onx_str){m->bytes.data + m->at, n};
    m->at += n;
    return true;
}

static bool next_number(onx_pk_machine *m, size_t n, uint64_t *out) {
    onx_str s;
    if (!next_bytes(m, n, &s)) return false;
    *out = 0;
    memcpy(out, s.data, n);
    return true;
}

static bool next_line(onx_pk_machine *m, onx_str *out) {
    const char *start = m->bytes.data + m->at;
    const char *end = memchr(start, '\n', m->bytes.size - m->at);
    if (!end) return false;
    *out = (onx_str){start, (size_t)(end - start)};
    m->at += out->size + 1;
    return true;
}

static bool next_counted(onx_pk_machine *m, size_t width, onx_str *out) {
    uint64_t count;
    return next_number(m, width, &count) && next_bytes(m, (size_t)count, out);
}

static double double_of(uint64_t bits) {
    double f;
    bits = __builtin_bswap64(bits);
    memcpy(&f, &bits, sizeof f);
    return f;
}

static bool next_arg(onx_pk_machine *m, arg_kind kind, arg *a) {
    static const uint8_t width[] = {[U8] = 1,  [U16] = 2, [I32] = 4,    [U32] = 4,
                                    [U64] = 8, [F64] = 8, [BYTES8] = 1, [BYTES32] = 4};
    uint64_t bits;
    if (kind == NOTHING) return true;
    if (kind == LINES) return next_line(m, &a->s) && next_line(m, &a->second);
    if (kind == BYTES8 || kind == BYTES32) return next_counted(m, width[kind], &a->s);
    if (!next_number(m, width[kind], &bits)) return false;
    a->i = kind == I32 ? (int32_t)bits : (int64_t)bits;
    a->f = double_of(bits);
    return true;
}

onx_status onx_pk_run(onx_pk_machine *m) {
    while (!m->out->root) {
        onx_str code;
        m->start = m->at;
        if (!next_bytes(m, 1, &code)) return ONX_PK_FAIL(m, MALFORMED, "the pickle is cut off");
        const struct op *op = &ops[(unsigned char)*code.data];
        arg a = {.kind = op->kind, .i = op->i};
        if (!op->run)
            return ONX_PK_FAIL(m, UNSUPPORTED, "opcode %#x, which PyTorch does not write",
                               (unsigned)(unsigned char)*code.data);
        if (!next_arg(m, op->arg, &a)) return ONX_PK_FAIL(m, MALFORMED, "the pickle is cut off");
        ONX_TRY(op->run(m, &a));
    }
    return ONX_OK;
}
