/* regex_run.c: a program on a text. The machine is in many places of the program at once: a state
 * is the set of them. States are made when the text first leads to them, and kept, with where each
 * byte leads from there; when the memory is full, all are forgotten but the one it is in.
 *
 * A place is an instruction, at the begin of a character or, IN_CHAR, in the midst of one whose
 * first bytes are known: `part`. That is one for all places, for where a character begins another
 * one cannot go on. What stands before the begin of a character matters to assertions: `before`.
 */
#include "base/regex_program.h"

#define IN_CHAR 0x80000000u
enum { END = 256, SYMBOLS = 257, BUCKETS = 1024, ROOM = 256 << 10 };
enum { UNKNOWN = 0, NO = 1, YES = 2 }; /* where the end leads; others: offsets of states */
enum { BEGIN, NEWLINE, WORD, OTHER };  /* before */

typedef struct state {
    uint32_t next[SYMBOLS]; /* offset of the state; UNKNOWN */
    uint32_t chain;         /* the next of its bucket */
    uint32_t part, before, n;
    uint32_t places[];
} state;

typedef struct set { /* of places: in order of arrival */
    uint32_t *list, *where;
    uint32_t n;
} set;

struct onx_matcher {
    const onx_regex *regex;
    state *now;
    char *base;        /* states; offsets count from here */
    size_t used, room; /* bytes of it */
    set here, then;    /* begins of characters; and where a byte leads */
    uint32_t part, before;
    uint32_t buckets[BUCKETS];
};

/* ── Memory ──────────────────────────────────────────────────────────────────────────────────── */

static size_t places_of(const onx_regex *regex) {
    return 2 * (regex->n + 1); /* each begun, or not; and the end */
}
static size_t state_bytes(size_t n) {
    return (sizeof(state) + n * sizeof(uint32_t) + 15) / 16 * 16;
}
static size_t head_bytes(const onx_regex *regex) {
    return (sizeof(onx_matcher) + 4 * places_of(regex) * sizeof(uint32_t) + 15) / 16 * 16;
}

size_t onx_matcher_bytes(const onx_regex *regex) {
    return head_bytes(regex) + 2 * state_bytes(places_of(regex)) + ROOM;
}

onx_matcher *onx_matcher_init(const onx_regex *regex, void *memory) {
    onx_matcher *m = memory;
    uint32_t *lists = (uint32_t *)(m + 1);
    size_t n = places_of(regex);
    *m = (onx_matcher){.regex = regex, .base = (char *)memory + head_bytes(regex)};
    m->room = 2 * state_bytes(n) + ROOM;
    m->used = 16; /* offsets below are answers */
    m->here = (set){lists, lists + n, 0};
    m->then = (set){lists + 2 * n, lists + 3 * n, 0};
    memset(lists, 0, 4 * n * sizeof *lists);
    return m;
}

/* ── Sets ────────────────────────────────────────────────────────────────────────────────────── */

/* `where` may hold anything: what it says is believed only if the list agrees. */
static void put(set *s, uint32_t place) {
    uint32_t slot = 2 * (place & ~IN_CHAR) + (place >> 31);
    if (s->where[slot] < s->n && s->list[s->where[slot]] == place) return;
    s->where[slot] = s->n;
    s->list[s->n++] = place;
}

static state *state_at(const onx_matcher *m, uint32_t offset) {
    return (state *)(void *)(m->base + offset);
}

/* The state that is `then`, `part` and `before`. */
static state *intern(onx_matcher *m) {
    const set *s = &m->then;
    uint64_t hash = onx_hash(m->part * 31 + m->before, s->list, s->n * sizeof *s->list);
    uint32_t *bucket = &m->buckets[hash % BUCKETS];
    for (uint32_t at = *bucket; at; at = state_at(m, at)->chain) {
        state *old = state_at(m, at);
        if (old->n == s->n && old->part == m->part && old->before == m->before &&
            memcmp(old->places, s->list, s->n * sizeof *s->list) == 0)
            return old;
    }
    size_t bytes = state_bytes(s->n);
    if (m->room - m->used < bytes) { /* forget all */
        memset(m->buckets, 0, sizeof m->buckets);
        m->used = 16;
    }
    state *new = state_at(m, (uint32_t)m->used);
    memset(new->next, 0, sizeof new->next);
    new->chain = *bucket;
    new->part = m->part;
    new->before = m->before;
    new->n = s->n;
    memcpy(new->places, s->list, s->n * sizeof *s->list);
    *bucket = (uint32_t)m->used;
    m->used += bytes;
    return new;
}

/* ── Steps ───────────────────────────────────────────────────────────────────────────────────── */

static uint32_t kind_of(unsigned c) {
    bool word =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return c == '\n' ? NEWLINE : word ? WORD : OTHER;
}

/* What holds between what was before and byte `c`, or the end. */
static unsigned asserted(uint32_t before, unsigned c) {
    uint32_t after = c == END ? OTHER : kind_of(c);
    unsigned holds = (before == WORD) != (after == WORD) ? AT_WORD_EDGE : AT_NO_WORD_EDGE;
    if (before == BEGIN) holds |= AT_TEXT_BEGIN;
    if (before == BEGIN || before == NEWLINE) holds |= AT_LINE_BEGIN;
    if (c == END) holds |= AT_TEXT_END;
    if (c == END || after == NEWLINE) holds |= AT_LINE_END;
    return holds;
}

/* All places that can be reached without a byte. */
static void spread(onx_matcher *m, unsigned holds) {
    const onx_regex *re = m->regex;
    for (uint32_t i = 0; i < m->here.n; i++) {
        uint32_t at = m->here.list[i];
        if (at == re->n) continue;
        const onx_regex_inst *inst = &re->code[at];
        bool on =
            inst->op == OP_SPLIT || (inst->op == OP_ASSERT && (holds & (unsigned)inst->arg) != 0);
        if (on) put(&m->here, at + 1);
        if (inst->op == OP_SPLIT || inst->op == OP_JUMP)
            put(&m->here, (uint32_t)((int64_t)at + inst->arg));
    }
}

/* `part`: 1 and then what the bytes so far say of the code point, with how many are to come in
 * the highest bits. 0: none. Where no place wants to know the code point, only how many. */
enum { LEFT_SHIFT = 28, LENGTH_SHIFT = 26 };

static uint32_t part_begin(unsigned c) {
    uint32_t left = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    if (c < 0xc2 || c > 0xf4) return 0;
    return left << LEFT_SHIFT | left << LENGTH_SHIFT | (c & (0x3fu >> left));
}

static bool takes(const onx_regex *re, const onx_regex_inst *inst, uint32_t code) {
    return inst->op == OP_LITERAL ? (uint32_t)inst->arg == code
                                  : onx_regex_class_has(&re->classes[inst->arg], code);
}

static bool wants_all(const onx_regex *re, const onx_regex_inst *inst) {
    return inst->op == OP_CLASS && re->classes[inst->arg].all;
}

/* A byte at the begin of a character. *exact: some place wants to know which one it becomes. */
static void step_begin(onx_matcher *m, unsigned c, bool *exact) {
    const onx_regex *re = m->regex;
    for (uint32_t i = 0; i < m->here.n; i++) {
        uint32_t at = m->here.list[i];
        if (at == re->n) continue;
        const onx_regex_inst *inst = &re->code[at];
        if (inst->op > OP_BYTE) continue;
        if (inst->op == OP_BYTE || (c < 0x80 && takes(re, inst, c)))
            put(&m->then, at + 1);
        else if (c >= 0x80 && part_begin(c)) {
            put(&m->then, at | IN_CHAR);
            *exact = *exact || !wants_all(re, inst);
        }
    }
}

/* A byte in the midst of one. */
static void step_on(onx_matcher *m, const state *s, unsigned c, bool *exact) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const onx_regex *re = m->regex;
    uint32_t left = s->part >> LEFT_SHIFT, length = s->part >> LENGTH_SHIFT & 3;
    if (!left || (c & 0xc0) != 0x80) return;
    uint32_t code = (s->part & 0x1fffff) << 6 | (c & 0x3f);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t at = s->places[i] & ~IN_CHAR;
        if (at == s->places[i]) continue;
        const onx_regex_inst *inst = &re->code[at];
        bool all = wants_all(re, inst);
        if (left > 1) {
            put(&m->then, at | IN_CHAR);
            *exact = *exact || !all;
        } else if (all || (code >= least[length] && takes(re, inst, code)))
            put(&m->then, at + 1);
    }
    if (left > 1) m->part = (left - 1) << LEFT_SHIFT | length << LENGTH_SHIFT | code;
}

/* Where byte `c`, or the end, leads from a state. */
static void spread_from(onx_matcher *m, const state *s, unsigned c) {
    m->here.n = m->then.n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (!(s->places[i] & IN_CHAR)) put(&m->here, s->places[i]);
    spread(m, asserted(s->before, c));
}

static state *step(onx_matcher *m, state *s, unsigned c) {
    bool exact = false;
    spread_from(m, s, c);
    m->part = 0;
    step_on(m, s, c, &exact);
    if (c >= 0x80 && !m->part) m->part = part_begin(c);
    step_begin(m, c, &exact);
    if (!exact) m->part &= 3u << LEFT_SHIFT;
    bool open = false;
    for (uint32_t i = 0; i < m->then.n && !open; i++) open = m->then.list[i] & IN_CHAR;
    if (!open) m->part = 0;
    m->before = m->regex->asserts ? kind_of(c) : OTHER;
    size_t used = m->used;
    state *next = intern(m);
    bool forgotten = m->used < used; /* and `s` with all others */
    if (!forgotten) s->next[c] = (uint32_t)((char *)next - m->base);
    return next;
}

void onx_matcher_begin_after(onx_matcher *m, int before) {
    m->then.n = 0;
    put(&m->then, 0);
    m->part = 0;
    m->before = before == ONX_MATCHER_EDGE ? BEGIN : kind_of((unsigned)before);
    if (!m->regex->asserts) m->before = OTHER;
    m->now = intern(m);
}

void onx_matcher_begin(onx_matcher *m) {
    onx_matcher_begin_after(m, ONX_MATCHER_EDGE);
}

bool onx_matcher_feed(onx_matcher *m, const char *text, size_t size) {
    for (size_t i = 0; i < size && m->now->n; i++) {
        unsigned c = (unsigned char)text[i];
        uint32_t next = m->now->next[c];
        m->now = next ? state_at(m, next) : step(m, m->now, c);
    }
    return m->now->n > 0;
}

/* Is the end of the program among the places, before byte `c` or the end? */
static bool is_through(onx_matcher *m, unsigned c) {
    spread_from(m, m->now, c);
    for (uint32_t i = 0; i < m->here.n; i++)
        if (m->here.list[i] == m->regex->n) return true;
    return false;
}

bool onx_matcher_end(onx_matcher *m) {
    uint32_t *known = &m->now->next[END];
    if (!*known) *known = is_through(m, END) ? YES : NO;
    return *known == YES;
}

bool onx_matcher_ends(onx_matcher *m, int next) {
    bool edge = next == ONX_MATCHER_EDGE || !m->regex->asserts;
    return edge ? onx_matcher_end(m) : is_through(m, (unsigned)next);
}
