/* regex_parse.c: a pattern becomes a program, in one pass and without a tree: each part of the
 * pattern is a piece of code that can be moved and copied, and what is read later changes the piece
 * before it. Groups that are open stand on a stack. What is wrong is said in RE2's words. */
#include "base/regex_program.h"
#include "base/utf8.h"

enum { DEPTH = 10000, REPEAT = 1000 };
enum { FOLD = 1, DOT_ALL = 2, MULTI_LINE = 4, LAZY = 8 }; /* flags: i s m U */
#define NONE SIZE_MAX

typedef struct group {
    size_t start;   /* where its code begins */
    size_t first;   /* where the alternative that is being read begins */
    size_t jumps;   /* the last of those at the ends of alternatives, each with the one before it */
    size_t atom;    /* where that begins which a repetition would repeat; NONE: there is nothing */
    int weight;     /* the most that repetitions in repetitions multiply to, in `atom` … */
    int heaviest;   /* … and in all of the group */
    unsigned flags; /* those that hold outside of it */
} group;

typedef struct parser {
    onx_regex_cursor in;
    onx_str pattern;
    onx_regex *regex;
    group *groups; /* open ones; the first is the pattern itself */
    size_t n, cap;
    unsigned flags;
} parser;

static group *top(const parser *ps) {
    return &ps->groups[ps->n - 1];
}

/* ── Code ────────────────────────────────────────────────────────────────────────────────────── */

/* Room for n more instructions. */
static onx_status reserve(parser *ps, size_t n) {
    onx_regex *re = ps->regex;
    if (n > ONX_REGEX_LIMIT || re->n + n > ONX_REGEX_LIMIT)
        return onx_fail(ps->in.diag, ONX_INVALID, "pattern too large - compile failed");
    while (re->cap < re->n + n)
        if (!onx_arena_grow(ps->in.arena, &re->code, &re->cap, re->cap, sizeof *re->code))
            return onx_fail_nomem(ps->in.diag);
    return ONX_OK;
}

static onx_status emit(parser *ps, onx_regex_op op, int64_t arg) {
    ONX_TRY(reserve(ps, 1));
    ps->regex->code[ps->regex->n++] = (onx_regex_inst){(uint32_t)op, (int32_t)arg};
    return ONX_OK;
}

/* An instruction before the code that begins at `place`. */
static onx_status insert(parser *ps, size_t place, onx_regex_op op, int64_t arg) {
    ONX_TRY(reserve(ps, 1));
    onx_regex_inst *code = ps->regex->code + place;
    memmove(code + 1, code, (ps->regex->n++ - place) * sizeof *code);
    *code = (onx_regex_inst){(uint32_t)op, (int32_t)arg};
    return ONX_OK;
}

static onx_status atom(parser *ps, onx_regex_op op, int64_t arg) {
    top(ps)->atom = ps->regex->n;
    top(ps)->weight = 1;
    if (op == OP_ASSERT) ps->regex->asserts = true;
    return emit(ps, op, arg);
}

static onx_status class_atom(parser *ps, onx_regex_class *set, bool negated) {
    onx_regex *re = ps->regex;
    if (!onx_regex_class_end(ps->in.arena, set, negated) ||
        !onx_arena_grow(ps->in.arena, &re->classes, &re->cap_classes, re->n_classes,
                        sizeof *re->classes))
        return onx_fail_nomem(ps->in.diag);
    re->classes[re->n_classes++] = *set;
    return atom(ps, OP_CLASS, (int64_t)re->n_classes - 1);
}

static onx_status literal(parser *ps, uint32_t code) {
    onx_regex_class set = {0};
    if (!(ps->flags & FOLD) || onx_unicode_fold(code) == code) return atom(ps, OP_LITERAL, code);
    if (!onx_regex_add(ps->in.arena, &set, code, code, true)) return onx_fail_nomem(ps->in.diag);
    return class_atom(ps, &set, false);
}

/* All characters, but for one: of `.` */
static onx_status any(parser *ps) {
    onx_regex_class set = {0};
    bool ok = ps->flags & DOT_ALL || onx_regex_add(ps->in.arena, &set, '\n', '\n', false);
    return ok ? class_atom(ps, &set, true) : onx_fail_nomem(ps->in.diag);
}

/* ── Repetition ──────────────────────────────────────────────────────────────────────────────── */

/* From `low` to `high` times what begins at `first`; high -1: without end. The code is written
 * behind what is repeated, and then moved over it. */
static onx_status repeat(parser *ps, size_t first, int low, int high) {
    onx_regex *re = ps->regex;
    size_t length = re->n - first, start = re->n;
    size_t fixed = (size_t)low, more = high < 0 ? low == 0 : (size_t)(high - low);
    ONX_TRY(reserve(ps, (fixed + more) * (length + 1) + 1));
    for (size_t i = 0; i < fixed + more; i++) {
        size_t left = fixed + more - i;
        if (i >= fixed) /* to the end: over all that may follow */
            ONX_TRY(emit(ps, OP_SPLIT, (int64_t)(left * (length + 1) + (high < 0))));
        memcpy(re->code + re->n, re->code + first, length * sizeof *re->code);
        re->n += length;
    }
    if (high < 0 && low == 0) ONX_TRY(emit(ps, OP_JUMP, -(int64_t)length - 1));
    if (high < 0 && low > 0) ONX_TRY(emit(ps, OP_SPLIT, -(int64_t)length));
    memmove(re->code + first, re->code + start, (re->n - start) * sizeof *re->code);
    re->n -= length;
    return ONX_OK;
}

/* A number as RE2 has it in braces: no zero in front, not too long. */
static bool number(const char **p, const char *end, int *out) {
    const char *first = *p;
    int64_t n = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p) {
        if (n >= 100000000) return false;
        n = 10 * n + (**p - '0');
    }
    *out = n > REPEAT ? REPEAT + 1 : (int)n;
    return *p > first && !(*first == '0' && *p - first > 1);
}

/* {n}, {n,} or {n,m} at `p`; false: it is text. */
static bool braces(const char **p, const char *end, int *low, int *high) {
    const char *q = *p + 1;
    if (!number(&q, end, low)) return false;
    *high = *low;
    if (q < end && *q == ',') {
        q++;
        *high = -1;
        if (q < end && *q != '}' && !number(&q, end, high)) return false;
    }
    if (q == end || *q != '}') return false;
    *p = q + 1;
    return true;
}

/* `before`: where a repetition just before this one begins; NULL: there is none. */
static onx_status repetition(parser *ps, int low, int high, const char *first, const char *before) {
    group *g = top(ps);
    bool counted = *first == '{';
    /* Lazy, which does not matter for a whole. */
    if (ps->in.p < ps->in.end && *ps->in.p == '?') ps->in.p++;
    if (before) return onx_regex_wrong(&ps->in, "bad repetition operator", before, ps->in.p);
    if (counted && (low > REPEAT || high > REPEAT || (high >= 0 && low > high)))
        return onx_regex_wrong(&ps->in, "invalid repetition size", first, ps->in.p);
    if (g->atom == NONE)
        return onx_regex_wrong(&ps->in, "no argument for repetition operator", first, ps->in.p);
    int times = high < 0 ? low : high;
    if (counted && times > 0) g->weight *= times;
    if (counted && g->weight > REPEAT)
        return onx_regex_wrong(&ps->in, "invalid repetition size", first, ps->in.p);
    if (g->weight > g->heaviest) g->heaviest = g->weight;
    return repeat(ps, g->atom, low, high);
}

/* ── Groups ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status open_group(parser *ps, unsigned outside) {
    if (ps->n == DEPTH) return onx_fail(ps->in.diag, ONX_INVALID, "nested too deeply");
    if (!onx_arena_grow(ps->in.arena, &ps->groups, &ps->cap, ps->n, sizeof *ps->groups))
        return onx_fail_nomem(ps->in.diag);
    ps->groups[ps->n++] = (group){.start = ps->regex->n,
                                  .first = ps->regex->n,
                                  .jumps = NONE,
                                  .atom = NONE,
                                  .weight = 1,
                                  .heaviest = 1,
                                  .flags = outside};
    return ONX_OK;
}

static onx_status alternative(parser *ps) {
    group *g = top(ps);
    size_t length = ps->regex->n - g->first;
    ONX_TRY(insert(ps, g->first, OP_SPLIT, (int64_t)length + 2));
    ONX_TRY(emit(ps, OP_JUMP, g->jumps == NONE ? -1 : (int64_t)g->jumps));
    g->jumps = ps->regex->n - 1;
    g->first = ps->regex->n;
    g->atom = NONE;
    g->weight = 1;
    return ONX_OK;
}

/* The jumps of its alternatives lead to its end. */
static void land(parser *ps) {
    onx_regex *re = ps->regex;
    for (size_t i = top(ps)->jumps; i != NONE;) {
        int32_t before = re->code[i].arg;
        re->code[i].arg = (int32_t)(re->n - i);
        i = before < 0 ? NONE : (size_t)before;
    }
}

/* A group that is closed is what a repetition behind it repeats. */
static onx_status right_paren(parser *ps) {
    group inner = *top(ps);
    if (ps->n == 1) return onx_regex_wrong(&ps->in, "unexpected )", ps->pattern.data, ps->in.end);
    land(ps);
    ps->in.p++;
    ps->n--;
    ps->flags = inner.flags;
    top(ps)->atom = inner.start;
    top(ps)->weight = inner.heaviest;
    if (inner.heaviest > top(ps)->heaviest) top(ps)->heaviest = inner.heaviest;
    return ONX_OK;
}

static bool is_name(onx_str name) {
    static const char *const groups[] = {"L", "Mn", "Mc", "Nd", "Nl", "Pc"};
    const char *p = name.data, *end = name.data + name.size;
    uint32_t code, lo, hi;
    while (p < end) {
        size_t n = onx_utf8_get(p, end, &code);
        bool found = false;
        for (size_t i = 0; i < ONX_COUNT(groups) && n && !found; i++) {
            onx_unicode_group g;
            if (!onx_unicode_find(onx_str_of(groups[i]), &g)) return false;
            for (size_t k = 0; !found && onx_unicode_next(&g, &k, &lo, &hi) && lo <= code;)
                found = code <= hi;
        }
        if (!found) return false;
        p += n;
    }
    return name.size > 0;
}

/* (?P<name> or (?<name> */
static onx_status named_group(parser *ps) {
    const char *name = ps->in.p + (ps->in.p[2] == 'P' ? 4 : 3);
    const char *close = memchr(ps->in.p + 2, '>', (size_t)(ps->in.end - ps->in.p - 2));
    const char *first = ps->in.p;
    if (!close || close < name || !is_name((onx_str){name, (size_t)(close - name)}))
        return onx_regex_wrong(&ps->in, "invalid named capture group", first,
                               close ? close + 1 : ps->in.end);
    ps->in.p = close + 1;
    return open_group(ps, ps->flags);
}

/* (?flags) and (?flags: */
static onx_status flags(parser *ps) {
    static const char letters[] = "ismU";
    const char *first = ps->in.p;
    unsigned now = ps->flags, outside = ps->flags;
    bool negated = false, seen = true, done = false;
    for (ps->in.p += 2; !done;) {
        uint32_t c = 0;
        if (ps->in.p == ps->in.end)
            return onx_regex_wrong(&ps->in, "invalid perl operator", first, ps->in.p);
        ONX_TRY(onx_regex_take(&ps->in, &c));
        const char *letter = c && c < 0x80 ? strchr(letters, (int)c) : NULL;
        if (letter) {
            unsigned bit = 1u << (letter - letters);
            now = negated ? now & ~bit : now | bit;
            seen = true;
        } else if (c == '-' && !negated) {
            negated = true;
            seen = false;
        } else if ((c == ':' || c == ')') && seen)
            done = true;
        else
            return onx_regex_wrong(&ps->in, "invalid perl operator", first, ps->in.p);
    }
    ps->flags = now;
    return ps->in.p[-1] == ':' ? open_group(ps, outside) : ONX_OK;
}

static onx_status left_paren(parser *ps) {
    static const char *const around[] = {"(?=", "(?!", "(?<=", "(?<!"};
    if (!onx_regex_at(&ps->in, "(?")) {
        ps->in.p++;
        return open_group(ps, ps->flags);
    }
    for (size_t i = 0; i < ONX_COUNT(around); i++)
        if (onx_regex_at(&ps->in, around[i]))
            return onx_regex_wrong(&ps->in, "invalid perl operator", ps->in.p,
                                   ps->in.p + strlen(around[i]));
    return onx_regex_at(&ps->in, "(?P<") || onx_regex_at(&ps->in, "(?<") ? named_group(ps)
                                                                         : flags(ps);
}

/* ── The pattern ─────────────────────────────────────────────────────────────────────────────── */

static onx_status bracket(parser *ps) {
    onx_regex_class set = {0};
    bool negated = false;
    ONX_TRY(onx_regex_bracket(&ps->in, ps->flags & FOLD, &set, &negated));
    return class_atom(ps, &set, negated);
}

static onx_status quoted(parser *ps) {
    for (ps->in.p += 2; ps->in.p < ps->in.end && !onx_regex_at(&ps->in, "\\E");) {
        uint32_t code = 0;
        ONX_TRY(onx_regex_take(&ps->in, &code));
        ONX_TRY(literal(ps, code));
    }
    if (ps->in.p < ps->in.end) ps->in.p += 2;
    return ONX_OK;
}

static onx_status backslash(parser *ps) {
    static const struct {
        char letter;
        uint8_t op, arg;
    } simple[] = {{'b', OP_ASSERT, AT_WORD_EDGE},
                  {'B', OP_ASSERT, AT_NO_WORD_EDGE},
                  {'A', OP_ASSERT, AT_TEXT_BEGIN},
                  {'z', OP_ASSERT, AT_TEXT_END},
                  {'C', OP_BYTE, 0}};
    onx_regex_class set = {0};
    bool found = false;
    uint32_t code = 0;
    if (onx_regex_at(&ps->in, "\\Q")) return quoted(ps);
    for (size_t i = 0; i < ONX_COUNT(simple) && ps->in.end - ps->in.p > 1; i++) {
        if (ps->in.p[1] != simple[i].letter) continue;
        ps->in.p += 2;
        return atom(ps, (onx_regex_op)simple[i].op, simple[i].arg);
    }
    ONX_TRY(onx_regex_escaped_class(&ps->in, ps->flags & FOLD, &set, &found));
    if (found) return class_atom(ps, &set, false);
    ONX_TRY(onx_regex_escape(&ps->in, &code));
    return literal(ps, code);
}

static onx_status one(parser *ps, const char **before) {
    const char *first = ps->in.p, *again = *before;
    uint32_t code = 0;
    int low = 0, high = -1;
    bool lines = ps->flags & MULTI_LINE;
    *before = NULL;
    switch (*first) {
    case '(': return left_paren(ps);
    case ')': return right_paren(ps);
    case '|': ps->in.p++; return alternative(ps);
    case '[': return bracket(ps);
    case '\\': return backslash(ps);
    case '.': ps->in.p++; return any(ps);
    case '^': ps->in.p++; return atom(ps, OP_ASSERT, lines ? AT_LINE_BEGIN : AT_TEXT_BEGIN);
    case '$': ps->in.p++; return atom(ps, OP_ASSERT, lines ? AT_LINE_END : AT_TEXT_END);
    case '*': ps->in.p++; break;
    case '+':
        ps->in.p++;
        low = 1;
        break;
    case '?':
        ps->in.p++;
        high = 1;
        break;
    case '{':
        if (braces(&ps->in.p, ps->in.end, &low, &high)) break;
        /* fallthrough */
    default: ONX_TRY(onx_regex_take(&ps->in, &code)); return literal(ps, code);
    }
    *before = again ? again : first;
    return repetition(ps, low, high, first, again);
}

onx_status onx_regex_compile(onx_arena *arena, onx_str pattern, const onx_regex **out,
                             onx_diag *diag) {
    parser ps = {.in = {arena, diag, pattern.data, pattern.data + pattern.size, false},
                 .pattern = pattern};
    const char *before = NULL;
    ps.regex = onx_arena_alloc(arena, sizeof *ps.regex);
    if (!ps.regex) return onx_fail_nomem(diag);
    ONX_TRY(open_group(&ps, 0));
    while (ps.in.p < ps.in.end) ONX_TRY(one(&ps, &before));
    if (ps.n > 1) return onx_regex_wrong(&ps.in, "missing )", pattern.data, ps.in.end);
    land(&ps);
    *out = ps.regex;
    return ONX_OK;
}
