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
    onx_arena *arena;
    onx_diag *diag;
    onx_str pattern;
    const char *p, *end;
    onx_regex *regex;
    group *groups; /* open ones; the first is the pattern itself */
    size_t n, cap;
    unsigned flags;
} parser;

static onx_status wrong(const parser *ps, const char *what, const char *first, const char *end) {
    onx_str text = {first, (size_t)(end - first)};
    return onx_fail(ps->diag, ONX_INVALID, "%s%s%.*s", what, text.size ? ": " : "", ONX_FMT(text));
}

static group *top(const parser *ps) {
    return &ps->groups[ps->n - 1];
}

static bool at(const parser *ps, const char *text) {
    size_t n = strlen(text);
    return (size_t)(ps->end - ps->p) >= n && memcmp(ps->p, text, n) == 0;
}

/* The next character, which there is. */
static onx_status take(parser *ps, uint32_t *code) {
    size_t n = ps->p < ps->end ? onx_utf8_get(ps->p, ps->end, code) : 0;
    if (!n) return onx_fail(ps->diag, ONX_INVALID, "invalid UTF-8");
    ps->p += n;
    return ONX_OK;
}

/* ── Code ────────────────────────────────────────────────────────────────────────────────────── */

/* Room for n more instructions. */
static onx_status reserve(parser *ps, size_t n) {
    onx_regex *re = ps->regex;
    if (n > ONX_REGEX_LIMIT || re->n + n > ONX_REGEX_LIMIT)
        return onx_fail(ps->diag, ONX_INVALID, "pattern too large - compile failed");
    while (re->cap < re->n + n)
        if (!onx_arena_grow(ps->arena, &re->code, &re->cap, re->cap, sizeof *re->code))
            return onx_fail_nomem(ps->diag);
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
    if (!onx_regex_class_end(ps->arena, set, negated) ||
        !onx_arena_grow(ps->arena, &re->classes, &re->cap_classes, re->n_classes,
                        sizeof *re->classes))
        return onx_fail_nomem(ps->diag);
    re->classes[re->n_classes++] = *set;
    return atom(ps, OP_CLASS, (int64_t)re->n_classes - 1);
}

static onx_status literal(parser *ps, uint32_t code) {
    onx_regex_class set = {0};
    if (!(ps->flags & FOLD) || onx_unicode_fold(code) == code) return atom(ps, OP_LITERAL, code);
    if (!onx_regex_add(ps->arena, &set, code, code, true)) return onx_fail_nomem(ps->diag);
    return class_atom(ps, &set, false);
}

/* All characters, but for one: of `.` */
static onx_status any(parser *ps) {
    onx_regex_class set = {0};
    bool ok = ps->flags & DOT_ALL || onx_regex_add(ps->arena, &set, '\n', '\n', false);
    return ok ? class_atom(ps, &set, true) : onx_fail_nomem(ps->diag);
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
    if (ps->p < ps->end && *ps->p == '?') ps->p++; /* lazy: which does not matter for a whole */
    if (before) return wrong(ps, "bad repetition operator", before, ps->p);
    if (counted && (low > REPEAT || high > REPEAT || (high >= 0 && low > high)))
        return wrong(ps, "invalid repetition size", first, ps->p);
    if (g->atom == NONE) return wrong(ps, "no argument for repetition operator", first, ps->p);
    int times = high < 0 ? low : high;
    if (counted && times > 0) g->weight *= times;
    if (counted && g->weight > REPEAT) return wrong(ps, "invalid repetition size", first, ps->p);
    if (g->weight > g->heaviest) g->heaviest = g->weight;
    return repeat(ps, g->atom, low, high);
}

/* ── Groups ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status open_group(parser *ps, unsigned outside) {
    if (ps->n == DEPTH) return onx_fail(ps->diag, ONX_INVALID, "nested too deeply");
    if (!onx_arena_grow(ps->arena, &ps->groups, &ps->cap, ps->n, sizeof *ps->groups))
        return onx_fail_nomem(ps->diag);
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
    if (ps->n == 1) return wrong(ps, "unexpected )", ps->pattern.data, ps->end);
    land(ps);
    ps->p++;
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
    const char *name = ps->p + (ps->p[2] == 'P' ? 4 : 3);
    const char *close = memchr(ps->p + 2, '>', (size_t)(ps->end - ps->p - 2));
    const char *first = ps->p;
    if (!close || close < name || !is_name((onx_str){name, (size_t)(close - name)}))
        return wrong(ps, "invalid named capture group", first, close ? close + 1 : ps->end);
    ps->p = close + 1;
    return open_group(ps, ps->flags);
}

/* (?flags) and (?flags: */
static onx_status flags(parser *ps) {
    static const char letters[] = "ismU";
    const char *first = ps->p;
    unsigned now = ps->flags, outside = ps->flags;
    bool negated = false, seen = true, done = false;
    for (ps->p += 2; !done;) {
        uint32_t c = 0;
        if (ps->p == ps->end) return wrong(ps, "invalid perl operator", first, ps->p);
        ONX_TRY(take(ps, &c));
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
            return wrong(ps, "invalid perl operator", first, ps->p);
    }
    ps->flags = now;
    return ps->p[-1] == ':' ? open_group(ps, outside) : ONX_OK;
}

static onx_status left_paren(parser *ps) {
    static const char *const around[] = {"(?=", "(?!", "(?<=", "(?<!"};
    if (!at(ps, "(?")) {
        ps->p++;
        return open_group(ps, ps->flags);
    }
    for (size_t i = 0; i < ONX_COUNT(around); i++)
        if (at(ps, around[i]))
            return wrong(ps, "invalid perl operator", ps->p, ps->p + strlen(around[i]));
    return at(ps, "(?P<") || at(ps, "(?<") ? named_group(ps) : flags(ps);
}

/* ── Escapes ─────────────────────────────────────────────────────────────────────────────────── */

static int digit(uint32_t c, int base) {
    int v = c >= '0' && c <= '9'   ? (int)c - '0'
            : c >= 'a' && c <= 'f' ? (int)c - 'a' + 10
            : c >= 'A' && c <= 'F' ? (int)c - 'A' + 10
                                   : 99;
    return v < base ? v : -1;
}

/* \x41 or \x{41}, behind the x; false: it is neither. */
static bool hexadecimal(parser *ps, uint32_t *out) {
    bool braced = ps->p < ps->end && *ps->p == '{', right = true;
    int n = 0;
    *out = 0;
    for (ps->p += braced; ps->p < ps->end && (braced ? right : n < 2); n++) {
        uint32_t c = 0;
        size_t size = onx_utf8_get(ps->p, ps->end, &c);
        ps->p += size ? size : 1;
        if (braced && c == '}') return n > 0;
        int value = digit(c, 16);
        *out = *out * 16 + (uint32_t)(value < 0 ? 0 : value);
        right = right && value >= 0 && *out <= ONX_UNICODE_LAST;
    }
    return right && !braced && n == 2;
}

/* A backslash and what it makes of the next character. */
static onx_status escape(parser *ps, uint32_t *out) {
    static const char letters[] = "afnrtv", means[] = "\a\f\n\r\t\v";
    const char *first = ps->p++;
    uint32_t c = 0;
    bool ok = false;
    if (ps->p == ps->end) return onx_fail(ps->diag, ONX_INVALID, "trailing \\");
    ONX_TRY(take(ps, &c));
    const char *letter = c && c < 0x80 ? strchr(letters, (int)c) : NULL;
    bool octal = c == '0' || (digit(c, 8) > 0 && ps->p < ps->end && digit((uint8_t)*ps->p, 8) >= 0);
    *out = c;
    if (octal) {
        *out = c - '0';
        for (int i = 0; i < 2 && ps->p < ps->end && digit((uint8_t)*ps->p, 8) >= 0; i++)
            *out = *out * 8 + (uint32_t)digit((uint8_t)*ps->p++, 8);
        ok = true;
    } else if (letter) {
        *out = (uint32_t)means[letter - letters];
        ok = true;
    } else if (c == 'x')
        ok = hexadecimal(ps, out);
    else
        ok = c < 0x80 && !(digit(c, 10) >= 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    return ok ? ONX_OK : wrong(ps, "invalid escape sequence", first, ps->p);
}

/* \d and its like, \p{…}: into `set`; *found: there was one. */
static onx_status escaped_class(parser *ps, onx_regex_class *set, bool *found) {
    const char *first = ps->p;
    char c = ps->end - ps->p > 1 ? ps->p[1] : 0, lower = (char)(c | 0x20);
    bool fold = ps->flags & FOLD, negated = c && c != lower, known = false, ok;
    *found = c && strchr("dswp", lower) && (c == lower || c == lower - 0x20);
    if (!*found) return ONX_OK;
    onx_str name = {&lower, 1};
    ps->p += 2;
    if (lower == 'p') {
        uint32_t code = 0;
        name.data = ps->p;
        if (ps->p == ps->end) return wrong(ps, "invalid character class range", first, ps->p);
        ONX_TRY(take(ps, &code));
        const char *close = memchr(ps->p, '}', (size_t)(ps->end - ps->p));
        name.size = (size_t)(ps->p - name.data);
        if (code == '{' && !close)
            return wrong(ps, "invalid character class range", first, ps->end);
        if (code == '{') {
            name = (onx_str){ps->p, (size_t)(close - ps->p)};
            ps->p = close + 1;
        }
        if (name.size && *name.data == '^') {
            name = (onx_str){name.data + 1, name.size - 1};
            negated = !negated;
        }
    }
    ok = onx_regex_add_named(ps->arena, set, lower == 'p' ? NAME_UNICODE : NAME_PERL, name, negated,
                             fold, &known);
    if (!ok) return onx_fail_nomem(ps->diag);
    return known ? ONX_OK : wrong(ps, "invalid character class range", first, ps->p);
}

/* ── Classes ─────────────────────────────────────────────────────────────────────────────────── */

/* [:alpha:] in a class; *found: there was one. */
static onx_status posix_class(parser *ps, onx_regex_class *set, bool *found) {
    const char *first = ps->p, *name = ps->p + 2, *end = name;
    while (end + 1 < ps->end && !(end[0] == ':' && end[1] == ']')) end++;
    *found = at(ps, "[:") && end + 1 < ps->end;
    if (!*found) return ONX_OK;
    bool negated = *name == '^', known = false;
    onx_str text = {name + negated, (size_t)(end - name - negated)};
    ps->p = end + 2;
    if (!onx_regex_add_named(ps->arena, set, NAME_POSIX, text, negated, ps->flags & FOLD, &known))
        return onx_fail_nomem(ps->diag);
    return known ? ONX_OK : wrong(ps, "invalid character class range", first, ps->p);
}

static onx_status class_char(parser *ps, const char *class, uint32_t *out) {
    if (ps->p == ps->end) return wrong(ps, "missing ]", class, ps->end);
    return *ps->p == '\\' ? escape(ps, out) : take(ps, out);
}

static onx_status class_range(parser *ps, const char *class, onx_regex_class *set) {
    const char *first = ps->p;
    uint32_t lo = 0, hi = 0;
    ONX_TRY(class_char(ps, class, &lo));
    hi = lo;
    if (ps->end - ps->p >= 2 && ps->p[0] == '-' && ps->p[1] != ']') {
        ps->p++;
        ONX_TRY(class_char(ps, class, &hi));
        if (hi < lo) return wrong(ps, "invalid character class range", first, ps->p);
    }
    return onx_regex_add(ps->arena, set, lo, hi, ps->flags & FOLD) ? ONX_OK
                                                                   : onx_fail_nomem(ps->diag);
}

static onx_status bracket(parser *ps) {
    const char *class = ps->p++;
    onx_regex_class set = {0};
    bool negated = ps->p < ps->end && *ps->p == '^', found;
    if (negated) ps->p++;
    for (bool first = true; ps->p < ps->end && (*ps->p != ']' || first); first = false) {
        found = false;
        if (ps->end - ps->p > 2 && at(ps, "[:")) ONX_TRY(posix_class(ps, &set, &found));
        if (!found && *ps->p == '\\') ONX_TRY(escaped_class(ps, &set, &found));
        if (!found) ONX_TRY(class_range(ps, class, &set));
    }
    if (ps->p == ps->end) return wrong(ps, "missing ]", class, ps->end);
    ps->p++;
    return class_atom(ps, &set, negated);
}

/* ── The pattern ─────────────────────────────────────────────────────────────────────────────── */

static onx_status quoted(parser *ps) {
    for (ps->p += 2; ps->p < ps->end && !at(ps, "\\E");) {
        uint32_t code = 0;
        ONX_TRY(take(ps, &code));
        ONX_TRY(literal(ps, code));
    }
    if (ps->p < ps->end) ps->p += 2;
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
    if (at(ps, "\\Q")) return quoted(ps);
    for (size_t i = 0; i < ONX_COUNT(simple) && ps->end - ps->p > 1; i++) {
        if (ps->p[1] != simple[i].letter) continue;
        ps->p += 2;
        return atom(ps, (onx_regex_op)simple[i].op, simple[i].arg);
    }
    ONX_TRY(escaped_class(ps, &set, &found));
    if (found) return class_atom(ps, &set, false);
    ONX_TRY(escape(ps, &code));
    return literal(ps, code);
}

static onx_status one(parser *ps, const char **before) {
    const char *first = ps->p, *again = *before;
    uint32_t code = 0;
    int low = 0, high = -1;
    bool lines = ps->flags & MULTI_LINE;
    *before = NULL;
    switch (*first) {
    case '(': return left_paren(ps);
    case ')': return right_paren(ps);
    case '|': ps->p++; return alternative(ps);
    case '[': return bracket(ps);
    case '\\': return backslash(ps);
    case '.': ps->p++; return any(ps);
    case '^': ps->p++; return atom(ps, OP_ASSERT, lines ? AT_LINE_BEGIN : AT_TEXT_BEGIN);
    case '$': ps->p++; return atom(ps, OP_ASSERT, lines ? AT_LINE_END : AT_TEXT_END);
    case '*': ps->p++; break;
    case '+':
        ps->p++;
        low = 1;
        break;
    case '?':
        ps->p++;
        high = 1;
        break;
    case '{':
        if (braces(&ps->p, ps->end, &low, &high)) break;
        /* fallthrough */
    default: ONX_TRY(take(ps, &code)); return literal(ps, code);
    }
    *before = again ? again : first;
    return repetition(ps, low, high, first, again);
}

onx_status onx_regex_compile(onx_arena *arena, onx_str pattern, const onx_regex **out,
                             onx_diag *diag) {
    parser ps = {.arena = arena,
                 .diag = diag,
                 .pattern = pattern,
                 .p = pattern.data,
                 .end = pattern.data + pattern.size};
    const char *before = NULL;
    ps.regex = onx_arena_alloc(arena, sizeof *ps.regex);
    if (!ps.regex) return onx_fail_nomem(diag);
    ONX_TRY(open_group(&ps, 0));
    while (ps.p < ps.end) ONX_TRY(one(&ps, &before));
    if (ps.n > 1) return wrong(&ps, "missing )", pattern.data, ps.end);
    land(&ps);
    *out = ps.regex;
    return ONX_OK;
}
