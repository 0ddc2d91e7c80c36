/* twister_ref.c: MT19937 (Matsumoto and Nishimura, 1998), seeded and drawn from as NumPy does. */
#include "ops/random/twister_ref.h"

#include "base/thread.h"

#include <math.h>

enum { WORDS = 624, MIDDLE = 397 };

/* ─ Seeds ────────────────────────────────────────────────────────────────────────────────────── */

static void start_word(onx_twister *t, uint32_t seed) {
    *t = (onx_twister){.at = WORDS};
    for (uint32_t i = 0; i < WORDS; i++) {
        t->key[i] = seed;
        seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
    }
}

static void mix(onx_twister *t, uint32_t i, uint32_t factor, uint32_t more) {
    uint32_t before = t->key[i - 1];
    t->key[i] = (t->key[i] ^ (before ^ before >> 30) * factor) + more;
    if (i == WORDS - 1) t->key[0] = t->key[WORDS - 1];
}

/* The generator's way to take a seed of several words. */
static void start_words(onx_twister *t, const uint32_t *words, uint32_t n) {
    uint32_t i = 1;
    start_word(t, 19650218u);
    for (uint32_t k = 0; k < WORDS; k++) {
        mix(t, i, 1664525u, words[k % n] + k % n);
        i = i == WORDS - 1 ? 1 : i + 1;
    }
    for (uint32_t k = 0; k < WORDS - 1; k++) {
        mix(t, i, 1566083941u, 0u - i);
        i = i == WORDS - 1 ? 1 : i + 1;
    }
    t->key[0] = 0x80000000u;
}

static void ask_system(const onx_call *call, uint32_t words[2]) {
    const onx_os *os = call->ctx->os;
    int64_t clock = onx_clock_ns(), got = 0;
    memcpy(words, &clock, sizeof clock);
    int file = os->open_read("/dev/urandom");
    if (file < 0) return;
    uint32_t drawn[2];
    got = os->read(file, drawn, sizeof drawn);
    if (got == (int64_t)sizeof drawn) memcpy(words, drawn, sizeof drawn);
    (void)os->close(file);
}

void onx_seed_init(onx_seed *seed, const onx_call *call) {
    const onx_attr *attr = onx_node_attr(call->node, "seed");
    bool is_int = attr && attr->type == ONX_ATTR_INT;
    double number = is_int ? 0 : (double)onx_call_float(call, "seed");
    int64_t whole = is_int ? attr->i : 0;
    seed->given = attr && !isnan(number);
    atomic_init(&seed->runs, 0);
    if (!is_int) (void)onx_dtype_convert(ONX_DTYPE_F64, &number, ONX_DTYPE_I64, &whole, 1, true);
    seed->words[0] = (uint32_t)whole;
    if (seed->given) return;
    ask_system(call, seed->words);
    seed->words[2] = (uint32_t)onx_hash(0, &seed, sizeof seed);
}

void onx_twister_start(onx_twister *t, onx_seed *seed) {
    if (seed->given) {
        start_word(t, seed->words[0]);
        return;
    }
    uint32_t run = atomic_fetch_add(&seed->runs, 1);
    start_words(t, (uint32_t[]){seed->words[0], seed->words[1], seed->words[2], run}, 4);
}

/* ─ Numbers ──────────────────────────────────────────────────────────────────────────────────── */

static void refill(onx_twister *t) {
    uint32_t *k = t->key;
    for (size_t i = 0; i < WORDS; i++) {
        uint32_t y = (k[i] & 0x80000000u) | (k[(i + 1) % WORDS] & 0x7fffffffu);
        k[i] = k[(i + MIDDLE) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    t->at = 0;
}

static uint32_t draw(onx_twister *t) {
    if (t->at == WORDS) refill(t);
    uint32_t y = t->key[t->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

double onx_twister_uniform(onx_twister *t) {
    uint32_t high = draw(t) >> 5, low = draw(t) >> 6;
    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

double onx_twister_normal(onx_twister *t) {
    double x, y, r;
    t->has_normal = !t->has_normal;
    if (!t->has_normal) return t->normal;
    do {
        x = 2 * onx_twister_uniform(t) - 1;
        y = 2 * onx_twister_uniform(t) - 1;
        r = x * x + y * y;
    } while (r >= 1 || r == 0);
    double f = sqrt(-2 * log(r) / r);
    t->normal = f * x;
    return f * y;
}
