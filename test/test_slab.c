/* test_slab.c: places in a slab: no two that are in use at the same time overlap; a plan is as
 * small as one must be where that is easy to see. */
#include "support.h"
#include "test.h"

#include "rt/engine.h"

enum { MOST = 6000 };

typedef struct use { /* of bytes, from event to event */
    size_t offset, bytes;
    size_t from, to;
} use;

static use uses[MOST];

static onx_slab new_slab(onx_arena *arena, size_t stays) {
    onx_slab slab = {0};
    onx_arena_init(arena, onx_context_or_default(NULL));
    if (!onx_slab_init(&slab, arena, stays)) abort();
    onx_slab_reset(&slab);
    return slab;
}

/* So many random sizes, of which up to `live` are in use at a time; how often places overlap. */
static size_t overlaps(size_t n, size_t live, uint64_t seed, onx_slab *slab) {
    test_random r = {seed};
    size_t in_use[64], n_use = 0, now = 0, wrong = 0;
    onx_slab_reset(slab);
    for (size_t i = 0; i < n; i++) {
        while (n_use && (n_use == live || test_random_below(&r, 3) == 0)) {
            size_t k = test_random_below(&r, n_use);
            uses[in_use[k]].to = now++;
            onx_slab_give(slab, uses[in_use[k]].offset);
            in_use[k] = in_use[--n_use];
        }
        size_t bytes = 1 + test_random_below(&r, test_random_below(&r, 4) ? 5000 : 100000);
        uses[i] = (use){.bytes = bytes, .from = now++, .to = SIZE_MAX};
        if (!onx_slab_take(slab, bytes, &uses[i].offset)) return SIZE_MAX;
        in_use[n_use++] = i;
    }
    if (!onx_slab_plan(slab)) return SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        wrong += uses[i].offset % ONX_ALIGN != 0;
        wrong += uses[i].offset + uses[i].bytes > slab->peak;
        for (size_t k = 0; k < i; k++)
            wrong += uses[i].from < uses[k].to && uses[k].from < uses[i].to &&
                     uses[i].offset < uses[k].offset + uses[k].bytes &&
                     uses[k].offset < uses[i].offset + uses[i].bytes;
    }
    return wrong;
}

TEST(apart) {
    onx_arena arena;
    onx_slab slab = new_slab(&arena, MOST);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        size_t n = seed == 60 ? MOST : seed * 7,
               live = 1 + seed % 20; /* the last: in time's order */
        CHECK_EQ(overlaps(n, live, seed, &slab), 0);
        CHECK(slab.peak >= slab.bound);
        CHECK(slab.peak <= 2 * slab.bound);
    }
    onx_arena_fini(&arena);
}

/* Layers that each need 3 parts, then 4, beside one that stays: the same places in each. */
TEST(layers) {
    enum { PART = 1 << 16, LAYERS = 12 };
    static size_t at[LAYERS][2], beside;
    onx_arena arena;
    onx_slab slab = new_slab(&arena, (size_t)2 * LAYERS + 1);
    REQUIRE(onx_slab_take(&slab, PART, &beside));
    for (size_t i = 0; i < LAYERS; i++)
        for (size_t k = 0; k < 2; k++) {
            REQUIRE(onx_slab_take(&slab, (3 + k) * PART, &at[i][k]));
            onx_slab_give(&slab, at[i][k]);
        }
    REQUIRE(onx_slab_plan(&slab));
    CHECK_EQ(slab.peak, (size_t)5 * PART);
    CHECK_EQ(slab.bound, slab.peak);
    for (size_t i = 1; i < LAYERS; i++) CHECK(at[i][0] == at[0][0] && at[i][1] == at[0][1]);
    onx_arena_fini(&arena);
}

TEST(too_large) {
    onx_arena arena;
    onx_slab slab = new_slab(&arena, 4);
    size_t at[4];
    CHECK(!onx_slab_take(&slab, SIZE_MAX, &at[0]));
    REQUIRE(onx_slab_take(&slab, SIZE_MAX / 2, &at[0]));
    onx_slab_give(&slab, at[0]);
    REQUIRE(onx_slab_take(&slab, SIZE_MAX / 2, &at[1]));
    CHECK(!onx_slab_take(&slab, SIZE_MAX / 2 + 1, &at[2]));
    onx_slab_give(&slab, at[1]);
    REQUIRE(onx_slab_take(&slab, 64, &at[2]));
    CHECK(onx_slab_plan(&slab)); /* in time's order: all sizes together are too many */
    CHECK(slab.peak == slab.bound && at[0] == 0 && at[1] == 0 && at[2] == 0);
    onx_arena_fini(&arena);
}

TEST_MAIN(E(apart) E(layers) E(too_large))
