/* unicode.c: see unicode.h. The tables are those of unicode.def. */
#include "base/unicode.h"
#include "base/unicode.def"

/* ── Case ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct step { /* each `stride`-th from first to last moves by delta */
    uint32_t first, last, stride;
    int32_t delta;
} step;

static const step lower[] = {ONX_UNICODE_LOWER};
static const step upper[] = {ONX_UNICODE_UPPER};
static const step fold[] = {ONX_UNICODE_FOLD};

/* Sorted by `first`; those that take turns overlap. */
static uint32_t move(const step *steps, size_t n, uint32_t code) {
    for (size_t i = 0; i < n && steps[i].first <= code; i++)
        if (code <= steps[i].last && (code - steps[i].first) % steps[i].stride == 0)
            return (uint32_t)((int32_t)code + steps[i].delta);
    return code;
}

uint32_t onx_unicode_lower(uint32_t code) {
    return move(lower, ONX_COUNT(lower), code);
}

uint32_t onx_unicode_upper(uint32_t code) {
    return move(upper, ONX_COUNT(upper), code);
}

uint32_t onx_unicode_fold(uint32_t code) {
    return move(fold, ONX_COUNT(fold), code);
}

bool onx_unicode_cased(uint32_t code, uint32_t *out) {
    uint32_t best = UINT32_MAX;
    for (size_t i = 0; i < ONX_COUNT(fold) && fold[i].first < best; i++) {
        if (code > fold[i].last) continue;
        uint32_t past = code > fold[i].first ? code - fold[i].first : 0, stride = fold[i].stride;
        uint32_t next = fold[i].first + (past + stride - 1) / stride * stride;
        if (next <= fold[i].last && next < best) best = next;
    }
    *out = best;
    return best != UINT32_MAX;
}

/* ── Groups ──────────────────────────────────────────────────────────────────────────────────── */

static const char *const categories[] = {ONX_UNICODE_CATEGORY_NAMES};
static const char *const scripts[] = {ONX_UNICODE_SCRIPT_NAMES};
static const uint32_t category_runs[] = {ONX_UNICODE_CATEGORY_RUNS};
static const uint32_t script_runs[] = {ONX_UNICODE_SCRIPT_RUNS};

bool onx_unicode_find(onx_str name, onx_unicode_group *out) {
    *out = (onx_unicode_group){category_runs, ONX_COUNT(category_runs), 0, 0};
    for (uint32_t i = 0; i < ONX_COUNT(categories); i++) {
        onx_str own = {categories[i], name.size == 1 ? 1 : 2};
        if (!onx_str_eq(name, own)) continue;
        if (!out->first) out->first = i + 1;
        out->last = i + 1;
    }
    if (out->first) return true;
    *out = (onx_unicode_group){script_runs, ONX_COUNT(script_runs), 0, 0};
    for (uint32_t i = 0; i < ONX_COUNT(scripts) && !out->first; i++)
        if (onx_str_is(name, scripts[i])) out->first = out->last = i + 1;
    return out->first > 0;
}

bool onx_unicode_next(const onx_unicode_group *group, size_t *at, uint32_t *lo, uint32_t *hi) {
    bool found = false;
    for (; *at < group->n; ++*at) {
        uint32_t code = group->runs[*at] >> 11, value = group->runs[*at] & 0x7ff;
        bool in = value >= group->first && value <= group->last;
        if (found && !in) return *hi = code - 1, true;
        if (!found && in) *lo = code;
        found = found || in;
    }
    *hi = ONX_UNICODE_LAST;
    return found;
}

bool onx_unicode_is_space(uint32_t code) {
    static const uint32_t ranges[][2] = {
        {9, 13},          {28, 32},         {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
        {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
    for (size_t i = 0; i < ONX_COUNT(ranges) && ranges[i][0] <= code; i++)
        if (code <= ranges[i][1]) return true;
    return false;
}
