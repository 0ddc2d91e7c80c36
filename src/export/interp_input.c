/* interp_input.c: what forward takes: tuples, lists and dicts of tensors taken apart into inputs of
 * the model, and put together again. How long a list is, and which keys a dict has, tells what the
 * program was traced with; else how many inputs there are, and which keys forward asks for. */
#include "export/interp_internal.h"

#include <stdio.h>

onx_str onx_interp_part(onx_interp *in, onx_str base, const char *mark, size_t i) {
    char *text = onx_x_alloc(in->x, base.size + 24);
    if (!text) return base;
    int n = snprintf(text, base.size + 24, "%.*s%s%zu", (int)base.size, base.data, mark, i);
    return (onx_str){text, (size_t)n};
}

onx_str onx_interp_join(onx_interp *in, onx_str outer, onx_str name) {
    if (!outer.size) return name;
    char *text = onx_x_alloc(in->x, outer.size + name.size + 2);
    if (!text) return name;
    memcpy(text, outer.data, outer.size);
    text[outer.size] = '.';
    memcpy(text + outer.size + 1, name.data, name.size);
    return (onx_str){text, outer.size + 1 + name.size};
}

/* ─ Keys in the code ─────────────────────────────────────────────────────────────────────────── */

typedef struct keys {
    onx_str *v;
    size_t n, cap;
} keys;

static void add_key(onx_interp *in, keys *k, onx_str key) {
    for (size_t i = 0; i < k->n; i++)
        if (onx_str_eq(k->v[i], key)) return;
    if (onx_arena_grow(&in->x->arena, &k->v, &k->cap, k->n, sizeof *k->v))
        k->v[k->n++] = key;
    else
        onx_x_nomem(in->x);
}

/* x["key"], or a call whose arguments begin with x, "key". Trees are only so high. */
static void find_in_expr(onx_interp *in, const onx_script_expr *e, int32_t slot, keys *k) {
    size_t at = e->kind == ONX_EXPR_CALL ? 1 : 0;
    bool pair = (at || e->kind == ONX_EXPR_INDEX) && e->n > at + 1;
    if (pair && e->items[at]->kind == ONX_EXPR_NAME && e->items[at]->slot == slot &&
        e->items[at + 1]->kind == ONX_EXPR_STR)
        add_key(in, k, e->items[at + 1]->text);
    for (size_t i = 0; i < e->n; i++)
        if (e->items[i]) find_in_expr(in, e->items[i], slot, k);
}

static void find_in_block(onx_interp *in, const onx_script_block *block, int32_t slot, keys *k) {
    for (size_t i = 0; i < block->n; i++) {
        const onx_script_stmt *s = block->stmts[i];
        for (size_t v = 0; v < s->value_count; v++) find_in_expr(in, s->values[v], slot, k);
        find_in_block(in, &s->body, slot, k);
        find_in_block(in, &s->otherwise, slot, k);
    }
}

/* ─ Parts ────────────────────────────────────────────────────────────────────────────────────── */

/* One argument, or a part of one. */
typedef struct part {
    const onx_script_expr *type;
    const onx_pk *sample; /* NULL: none */
    int32_t slot;         /* of an argument, its local; else -1 */
    size_t depth;         /* in named tuples, which may hold themselves */
} part;

/* What it is made of; NONE: it is one input. */
typedef struct parts {
    onx_xkind kind;
    size_t n;
    const part *v;
    const onx_str *keys;
    const onx_script_class *cls; /* of an OBJECT, which is a named tuple */
} parts;

static void parts_of_dict(onx_interp *in, const part *p, const onx_script_expr *type, parts *out) {
    keys found = {0};
    bool given = p->sample && p->sample->kind == ONX_PK_DICT;
    for (size_t i = 0; given && i + 1 < p->sample->items.n; i += 2)
        if (p->sample->items.v[i]->kind == ONX_PK_STR)
            add_key(in, &found, p->sample->items.v[i]->s);
    if (!given && p->slot >= 0) find_in_block(in, &in->forward->body, p->slot, &found);
    part *v = onx_x_array(in->x, found.n + 1, sizeof *v);
    if (!v || !found.n) return;
    for (size_t i = 0; i < found.n; i++)
        v[i] = (part){type, given ? onx_pk_get(p->sample, found.v[i]) : NULL, -1, p->depth};
    *out = (parts){ONX_X_DICT, found.n, v, found.v, NULL};
}

static void parts_of_list(onx_interp *in, const part *p, const onx_script_type *t, parts *out) {
    bool tuple = t->kind == ONX_PY_TUPLE;
    onx_pk_kind kind = tuple ? ONX_PK_TUPLE : ONX_PK_LIST;
    bool given = p->sample && p->sample->kind == kind && (!tuple || p->sample->items.n == t->n);
    size_t n = tuple ? t->n : given ? p->sample->items.n : in->list_length;
    part *v = onx_x_array(in->x, n + 1, sizeof *v);
    if (!v || !n) return;
    for (size_t i = 0; i < n; i++)
        v[i] = (part){t->items[tuple ? i : 0], given ? p->sample->items.v[i] : NULL, -1, p->depth};
    *out = (parts){tuple ? ONX_X_TUPLE : ONX_X_LIST, n, v, NULL, NULL};
}

static void parts_of_fields(onx_interp *in, const part *p, onx_str name, parts *out) {
    enum { DEEPEST = 8 };
    onx_script_symbol found = {0};
    onx_status status = onx_script_find(in->script, name, &found, &in->x->diag);
    if (status) in->x->status = status;
    if (status || !found.cls || found.cls->kind != ONX_CLASS_NAMED_TUPLE) return;
    size_t n = found.cls->attr_count;
    part *v = onx_x_array(in->x, n + 1, sizeof *v);
    onx_str *names = onx_x_array(in->x, n + 1, sizeof *names);
    if (p->depth == DEEPEST)
        onx_x_fail(in->x, ONX_LIMIT, "an input of named tuples in named tuples");
    if (!v || !names || !onx_x_ok(in->x)) return;
    for (size_t i = 0; i < n; i++) {
        v[i] = (part){found.cls->attrs[i].type, NULL, -1, p->depth + 1};
        names[i] = found.cls->attrs[i].name;
    }
    *out = (parts){ONX_X_OBJECT, n, v, names, found.cls};
}

static parts parts_of(onx_interp *in, const part *p) {
    parts out = {.kind = ONX_X_NONE};
    if (!p->type) return out;
    onx_script_type t = onx_script_type_of(p->type);
    if (t.kind == ONX_PY_OPTIONAL && p->sample) t = onx_script_type_of(t.items[0]);
    if (t.kind == ONX_PY_TUPLE || t.kind == ONX_PY_LIST) parts_of_list(in, p, &t, &out);
    if (t.kind == ONX_PY_DICT) parts_of_dict(in, p, t.items[1], &out);
    if (t.kind == ONX_PY_CLASS) parts_of_fields(in, p, t.name, &out);
    return out;
}

static part argument(const onx_interp *in, size_t i) {
    const onx_pk *samples =
        in->samples.root ? onx_pk_get(in->samples.root, in->forward->name) : NULL;
    bool given =
        samples && samples->kind == ONX_PK_LIST && samples->items.n == in->forward->arg_count - 1;
    return (part){in->forward->args[i].type, given ? samples->items.v[i - 1] : NULL, (int32_t)i, 0};
}

/* ─ Taking apart, putting together ───────────────────────────────────────────────────────────── */

static void add_inputs(onx_interp *in, onx_str name, const part *p, bool optional) {
    parts all = parts_of(in, p);
    for (size_t i = 0; i < all.n && onx_x_ok(in->x); i++)
        add_inputs(in,
                   all.keys ? onx_interp_join(in, name, all.keys[i])
                            : onx_interp_part(in, name, ".", i),
                   &all.v[i], optional);
    if (all.kind != ONX_X_NONE || !onx_x_ok(in->x)) return;
    if (!onx_arena_grow(&in->x->arena, &in->inputs, &in->input_cap, in->input_count,
                        sizeof *in->inputs)) {
        onx_x_nomem(in->x);
        return;
    }
    bool may_miss = p->type && onx_script_type_of(p->type).kind == ONX_PY_OPTIONAL;
    in->inputs[in->input_count++] = (onx_interp_arg){
        .name = name,
        .type = p->type,
        .optional = optional || may_miss,
        .sample = p->sample && p->sample->kind == ONX_PK_TENSOR ? p->sample->tensor : NULL};
}

void onx_interp_find_inputs(onx_interp *in) {
    in->input_count = 0;
    for (size_t i = 1; onx_x_ok(in->x) && i < in->forward->arg_count; i++) {
        part p = argument(in, i);
        add_inputs(in, in->forward->args[i].name, &p, in->forward->args[i].value != NULL);
    }
}

void onx_interp_expect(onx_interp *in, size_t n) {
    size_t lists = 0, others = 0;
    if (!in || !onx_x_ok(in->x)) return;
    for (size_t i = 0; i < in->input_count; i++) {
        const onx_interp_arg *arg = &in->inputs[i];
        bool list = arg->type && onx_script_type_of(arg->type).kind == ONX_PY_LIST;
        lists += list;
        others += !list && !arg->optional;
    }
    if (!lists || n <= others || (n - others) % lists) return;
    in->list_length = (n - others) / lists;
    onx_interp_find_inputs(in);
}

static onx_xv take(onx_interp *in, const part *p, const onx_xv *values, size_t *next) {
    parts all = parts_of(in, p);
    if (all.kind == ONX_X_NONE || !onx_x_ok(in->x)) {
        onx_xv v = values[(*next)++];
        return v.kind == ONX_X_OTHER ? onx_py_other(onx_py_unset, NULL) : v;
    }
    bool dict = all.kind == ONX_X_DICT;
    onx_xv out = all.cls ? onx_py_new(in, all.cls, ONX_LIT(""), NULL)
                 : dict  ? onx_xv_dict(in->x)
                         : onx_xv_list(in->x, all.kind, 0, NULL);
    for (size_t i = 0; i < all.n && onx_x_ok(in->x); i++) {
        onx_xv v = take(in, &all.v[i], values, next);
        if (all.cls) onx_py_set(in, &out, all.keys[i], v);
        if (all.cls) continue;
        if (dict) onx_xlist_add(in->x, &out.dict->keys, onx_xv_str(all.keys[i]));
        onx_xlist_add(in->x, dict ? &out.dict->values : out.list, v);
    }
    return out;
}

onx_xv onx_interp_arguments(onx_interp *in, const onx_xv *values) {
    size_t next = 0;
    onx_xv args = onx_xv_list(in->x, ONX_X_TUPLE, 0, NULL);
    for (size_t i = 1; i < in->forward->arg_count && onx_x_ok(in->x); i++) {
        part p = argument(in, i);
        onx_xlist_add(in->x, args.list, take(in, &p, values, &next));
    }
    return args;
}

/* ─ Sizes of the trace ───────────────────────────────────────────────────────────────────────── */

static void find_traced(onx_interp *in, const onx_torch_tensor *sample, const onx_xv *v) {
    const onx_fact *fact = onx_x_fact(in->x, onx_xt_value(in->x, v->tensor));
    for (size_t i = 0; fact->rank == sample->rank && i < fact->rank; i++) {
        int64_t now;
        if (onx_sym_is_int(fact->dims[i], &now) || sample->dims[i] < 2) continue;
        if (onx_arena_grow(&in->x->arena, &in->traced, &in->traced_cap, in->traced_count,
                           sizeof *in->traced))
            in->traced[in->traced_count++] = (onx_traced_size){sample->dims[i], fact->dims[i]};
        else
            onx_x_nomem(in->x);
    }
}

void onx_interp_find_traced(onx_interp *in, const onx_xv *values) {
    for (size_t i = 0; i < in->input_count && onx_x_ok(in->x); i++)
        if (in->inputs[i].sample && values[i].kind == ONX_X_TENSOR)
            find_traced(in, in->inputs[i].sample, &values[i]);
}

static void warn(onx_interp *in, onx_str name, int64_t size, const onx_sym *sym) {
    onx_buf text;
    onx_buf_init(&text, in->x->ctx);
    onx_sym_print(sym, &text);
    onx_x_note(in->x,
               "%.*s has the number %lld, which was '%.*s' in the trace: perhaps the model is "
               "right for no other",
               ONX_FMT(name), (long long)size, ONX_FMT(((onx_str){text.data, text.size})));
    onx_buf_fini(&text);
}

void onx_interp_warn_traced(onx_interp *in, onx_str name, size_t n, const onx_xarg *args) {
    static const char *const shaped[] = {"view",  "reshape", "expand", "zeros",  "ones",
                                         "empty", "full",    "repeat", "arange", "new_zeros"};
    bool found = false;
    for (size_t i = 0; in->traced_count && i < ONX_COUNT(shaped); i++)
        found |= onx_str_is(name, shaped[i]);
    for (size_t i = 0; found && i < n; i++)
        for (size_t k = 0; onx_xv_is_list(&args[i].v) && k < args[i].v.list->n; k++)
            for (size_t t = 0; t < in->traced_count; t++) {
                int64_t size;
                if (onx_xv_known_int(&args[i].v.list->v[k], &size) && size == in->traced[t].size)
                    warn(in, name, size, in->traced[t].sym);
            }
}

size_t onx_interp_input_count(const onx_interp *in) {
    return in ? in->input_count : 0;
}

const onx_interp_arg *onx_interp_input(const onx_interp *in, size_t i) {
    return &in->inputs[i];
}
