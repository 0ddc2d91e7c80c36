/* sym.c: the table of expressions: normal form, and each expression once. */
#include "ir/sym_internal.h"

onx_syms *onx_syms_new(onx_context *ctx) {
    ctx = onx_context_or_default(ctx);
    onx_syms *syms = onx_mem_alloc(ctx, sizeof *syms);
    if (!syms) return NULL;
    *syms = (onx_syms){.ctx = ctx};
    onx_arena_init(&syms->arena, ctx);
    onx_map_init(&syms->atoms, ctx);
    onx_map_init(&syms->polys, ctx);
    return syms;
}

void onx_syms_free(onx_syms *syms) {
    if (!syms) return;
    onx_map_fini(&syms->atoms);
    onx_map_fini(&syms->polys);
    onx_arena_fini(&syms->arena);
    onx_mem_free(syms->ctx, syms, sizeof *syms);
}

static const onx_sym *out_of_memory(onx_syms *syms) {
    syms->failed = true;
    return NULL;
}

bool onx_syms_failed(const onx_syms *syms) {
    return syms->failed;
}

/* Longer products first, then by their factors; the number comes last. */
static int term_order(const onx_term *a, const onx_term *b) {
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->factors[i] != b->factors[i]) return a->factors[i]->id < b->factors[i]->id ? -1 : 1;
    return 0;
}

static void sort_terms(onx_term *terms, size_t n) {
    for (size_t i = 1; i < n; i++) {
        onx_term t = terms[i];
        size_t j = i;
        for (; j > 0 && term_order(&t, &terms[j - 1]) < 0; j--) terms[j] = terms[j - 1];
        terms[j] = t;
    }
}

/* Sum up equal products; false on overflow. */
static bool collect_terms(onx_term *terms, size_t *n) {
    size_t kept = 0;
    sort_terms(terms, *n);
    for (size_t i = 0; i < *n; i++) {
        bool same = kept && term_order(&terms[kept - 1], &terms[i]) == 0;
        if (!same) {
            if (kept && terms[kept - 1].coef == 0) kept--;
            terms[kept++] = terms[i];
        } else if (!onx_add_i64(terms[kept - 1].coef, terms[i].coef, &terms[kept - 1].coef)) {
            return false;
        }
    }
    if (kept && terms[kept - 1].coef == 0) kept--;
    *n = kept;
    return true;
}

static bool is_full(const onx_syms *syms) {
    return syms->arena.total > ONX_SYM_BYTES;
}

static bool is_name(const onx_term *terms, size_t n) {
    return n == 1 && terms[0].n == 1 && terms[0].coef == 1;
}

/* A sum in normal form that is not in the table: `owner` and `key` are where it will be found. */
static const onx_sym *enter(onx_syms *syms, const onx_term *terms, size_t n, uint32_t depth,
                            uint32_t size, const void *owner, onx_str key) {
    size_t bytes = n * sizeof *terms;
    onx_sym *sym = onx_arena_alloc(&syms->arena, sizeof *sym + bytes + sizeof(int64_t));
    if (!sym) return out_of_memory(syms);
    sym->n = (uint32_t)n;
    sym->depth = depth;
    sym->size = size;
    sym->range = onx_terms_range(terms, n);
    sym->id = syms->next_id++;
    memcpy(sym->terms, terms, bytes);
    char *name = (char *)sym->terms + (owner ? bytes : 0);
    if (owner) memcpy(name, key.data, key.size);
    key.data = name;
    return onx_map_put(&syms->polys, owner, key, sym) ? sym : out_of_memory(syms);
}

/* Most expressions are numbers, which have a short key: their value, under the table itself. */
const onx_sym *onx_sym_int(onx_syms *syms, int64_t value) {
    onx_str key = {(const char *)&value, sizeof value};
    const onx_sym *sym = onx_map_get(&syms->polys, syms, key);
    if (sym || value == INT64_MIN) return sym;
    onx_term term;
    memset(&term, 0, sizeof term);
    term.coef = value;
    return enter(syms, &term, value != 0, 0, 0, syms, key);
}

const onx_sym *onx_sym_intern(onx_syms *syms, onx_term *terms, size_t n) {
    if (!collect_terms(terms, &n) || n > ONX_SYM_TERMS) return NULL;
    if (n == 0 || (n == 1 && terms[0].n == 0)) return onx_sym_int(syms, n ? terms[0].coef : 0);
    onx_term clean[ONX_SYM_TERMS]; /* padding and unused factors are zero: the bytes are the key */
    memset(clean, 0, n * sizeof *clean);
    uint32_t depth = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        if (terms[i].coef == INT64_MIN) return NULL;
        clean[i].coef = terms[i].coef;
        clean[i].n = terms[i].n;
        for (uint32_t j = 0; j < terms[i].n; j++) {
            clean[i].factors[j] = terms[i].factors[j];
            if (terms[i].factors[j]->depth > depth) depth = terms[i].factors[j]->depth;
            size += terms[i].factors[j]->size;
        }
    }
    if (size > ONX_SYM_SIZE) return NULL;
    onx_str key = {(const char *)clean, n * sizeof *clean};
    onx_sym *sym = onx_map_get(&syms->polys, NULL, key);
    if (sym || (is_full(syms) && !is_name(clean, n))) return sym;
    return enter(syms, clean, n, depth, size, NULL, key);
}

static uint32_t deeper(const onx_sym *a, const onx_sym *b) {
    uint32_t depth = a ? a->depth : 0;
    return 1 + (b && b->depth > depth ? b->depth : depth);
}

const onx_sym *onx_sym_atom(onx_syms *syms, onx_atom_kind kind, onx_str name, const onx_sym *a,
                            const onx_sym *b) {
    struct {
        const onx_sym *a, *b;
        uintptr_t kind;
    } key = {a, b, kind};
    bool is_name = kind == ONX_ATOM_NAME;
    onx_str bytes = is_name ? name : (onx_str){(const char *)&key, sizeof key};
    const void *owner = is_name ? NULL : syms; /* names and other atoms do not meet */
    onx_atom *atom = onx_map_get(&syms->atoms, owner, bytes);
    if (atom) return atom->self;
    uint32_t depth = is_name ? 0 : deeper(a, b), size = 1 + (is_name ? 0 : a->size + b->size);
    if (depth > ONX_SYM_DEPTH || size > ONX_SYM_SIZE) return NULL;
    if (!is_name && is_full(syms)) return NULL;
    atom = onx_arena_alloc(&syms->arena, sizeof *atom);
    if (!atom || !onx_arena_str(&syms->arena, bytes, &bytes)) return out_of_memory(syms);
    *atom = (onx_atom){.kind = kind,
                       .id = syms->next_id++,
                       .depth = depth,
                       .size = size,
                       .range = onx_atom_range(kind, a, b),
                       .name = is_name ? bytes : (onx_str){NULL, 0},
                       .a = a,
                       .b = b};
    onx_term term = {.coef = 1, .n = 1, .factors = {atom}};
    atom->self = onx_sym_intern(syms, &term, 1);
    if (!atom->self) return NULL;
    if (!onx_map_put(&syms->atoms, owner, bytes, atom)) return out_of_memory(syms);
    return atom->self;
}

const onx_sym *onx_sym_name(onx_syms *syms, onx_str name) {
    return onx_sym_atom(syms, ONX_ATOM_NAME, name, NULL, NULL);
}

bool onx_sym_is_int(const onx_sym *sym, int64_t *value) {
    if (!sym || sym->n > 1 || (sym->n == 1 && sym->terms[0].n)) return false;
    *value = sym->n ? sym->terms[0].coef : 0;
    return true;
}
