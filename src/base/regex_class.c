/* regex_class.c: sets of characters: by range, by name, with all cases, negated. */
#include "base/regex_program.h"

#include <stdlib.h>

static bool add(onx_arena *arena, onx_regex_class *set, uint32_t lo, uint32_t hi) {
    if (!onx_arena_grow(arena, &set->v, &set->cap, set->n, sizeof *set->v)) return false;
    set->v[set->n++] = (onx_regex_range){lo, hi};
    return true;
}

bool onx_regex_add(onx_arena *arena, onx_regex_class *set, uint32_t lo, uint32_t hi, bool fold) {
    if (!add(arena, set, lo, hi)) return false;
    for (uint32_t c = lo; fold && onx_unicode_cased(c, &c) && c <= hi; c++)
        for (uint32_t other = onx_unicode_fold(c); other != c; other = onx_unicode_fold(other))
            if ((other < lo || other > hi) && !add(arena, set, other, other)) return false;
    return true;
}

static int by_first(const void *a, const void *b) {
    const onx_regex_range *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

static void negate(onx_regex_class *set) { /* there is room for one more */
    uint32_t next = 0;
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        onx_regex_range r = set->v[i];
        if (r.lo > next) set->v[n++] = (onx_regex_range){next, r.lo - 1};
        next = r.hi + 1;
    }
    if (next <= ONX_UNICODE_LAST) set->v[n++] = (onx_regex_range){next, ONX_UNICODE_LAST};
    set->n = n;
}

bool onx_regex_class_end(onx_arena *arena, onx_regex_class *set, bool negated) {
    size_t n = 0;
    if (!onx_arena_grow(arena, &set->v, &set->cap, set->n, sizeof *set->v)) return false;
    if (set->n) qsort(set->v, set->n, sizeof *set->v, by_first);
    for (size_t i = 0; i < set->n; i++) {
        onx_regex_range r = set->v[i], *last = n ? &set->v[n - 1] : NULL;
        if (!last || r.lo > last->hi + 1)
            set->v[n++] = r;
        else if (r.hi > last->hi)
            last->hi = r.hi;
    }
    set->n = n;
    if (negated) negate(set);
    onx_regex_range end = set->n ? set->v[set->n - 1] : (onx_regex_range){1, 0};
    set->all = set->n && end.lo <= 0x80 && end.hi == ONX_UNICODE_LAST;
    return true;
}

bool onx_regex_class_has(const onx_regex_class *set, uint32_t code) {
    size_t lo = 0, hi = set->n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (set->v[middle].hi < code)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < set->n && set->v[lo].lo <= code;
}

/* ── Names ───────────────────────────────────────────────────────────────────────────────────── */

/* Pairs of first and last characters. */
static const struct {
    onx_regex_names where;
    const char *name, *ranges;
} named[] = {
    {NAME_PERL, "d", "09"},
    {NAME_PERL, "s", "\t\n\f\r  "},
    {NAME_PERL, "w", "09AZ__az"},
    {NAME_POSIX, "alnum", "09AZaz"},
    {NAME_POSIX, "alpha", "AZaz"},
    {NAME_POSIX, "blank", "\t\t  "},
    {NAME_POSIX, "cntrl", "\1\x1f\x7f\x7f"},
    {NAME_POSIX, "digit", "09"},
    {NAME_POSIX, "graph", "!~"},
    {NAME_POSIX, "lower", "az"},
    {NAME_POSIX, "print", " ~"},
    {NAME_POSIX, "punct", "!/:@[`{~"},
    {NAME_POSIX, "space", "\t\r  "},
    {NAME_POSIX, "upper", "AZ"},
    {NAME_POSIX, "word", "09AZ__az"},
    {NAME_POSIX, "xdigit", "09AFaf"},
    {NAME_POSIX, "ascii", "\1\x7f"},
};

static bool add_ascii(onx_arena *arena, onx_regex_class *set, onx_regex_names where, onx_str name,
                      bool fold, bool *known) {
    for (size_t i = 0; i < ONX_COUNT(named); i++) {
        if (named[i].where != where || !onx_str_is(name, named[i].name)) continue;
        *known = true;
        for (const char *r = named[i].ranges; *r; r += 2) /* NUL cannot be written there */
            if (!onx_regex_add(arena, set, *r == 1 ? 0 : (uint32_t)*r, (uint32_t)r[1], fold))
                return false;
    }
    return true;
}

static bool add_group(onx_arena *arena, onx_regex_class *set, onx_str name, bool fold,
                      bool *known) {
    onx_unicode_group group;
    uint32_t lo, hi;
    *known = true;
    if (onx_str_is(name, "Any")) return onx_regex_add(arena, set, 0, ONX_UNICODE_LAST, false);
    *known = onx_unicode_find(name, &group);
    for (size_t at = 0; *known && onx_unicode_next(&group, &at, &lo, &hi);)
        if (!onx_regex_add(arena, set, lo, hi, fold)) return false;
    return true;
}

/* What is negated is made by itself first, with all its cases. */
bool onx_regex_add_named(onx_arena *arena, onx_regex_class *set, onx_regex_names where,
                         onx_str name, bool negated, bool fold, bool *known) {
    onx_regex_class own = {0}, *into = negated ? &own : set;
    *known = false;
    bool ok = where == NAME_UNICODE ? add_group(arena, into, name, fold, known)
                                    : add_ascii(arena, into, where, name, fold, known);
    if (!negated || !ok || !*known) return ok;
    if (!onx_regex_class_end(arena, &own, true)) return false;
    for (size_t i = 0; i < own.n; i++)
        if (!add(arena, set, own.v[i].lo, own.v[i].hi)) return false;
    return true;
}
