/* slab.c: places in a slab, by liveness.
 *
 * While steps are bound in order, what is taken and given back is only noted: how many bytes stay
 * from when to when. Then the largest gets its place first, the lowest that is free all that time:
 * so most of what the layers of a model make has the same place in each layer, which is near the
 * smallest slab there can be, and threads find the lines of the cache that they wrote before. Where
 * places in the order of time come out smaller, or there are very many, it is those: the smallest
 * free region that is large enough, else the end. Memory comes when the plan is complete. */
#include "rt/engine.h"

enum { MANY = 2048 }; /* stays, which would take long to be placed by size */

bool onx_slab_init(onx_slab *slab, onx_arena *arena, size_t stays) {
    size_t twice;
    if (!onx_mul_size(stays, 2, &twice)) return false;
    slab->stays = onx_arena_array(arena, stays, sizeof *slab->stays);
    slab->order = onx_arena_array(arena, twice, sizeof *slab->order);
    slab->free = onx_arena_array(arena, stays, sizeof *slab->free);
    return slab->stays && slab->order && slab->free;
}

void onx_slab_reset(onx_slab *slab) {
    slab->n = slab->n_free = 0;
    slab->peak = slab->live = slab->bound = 0;
    slab->clock = 0;
}

bool onx_slab_take(onx_slab *slab, size_t bytes, size_t *offset) {
    size_t all = onx_align_up(bytes), live;
    if (all < bytes || !onx_add_size(slab->live, all, &live)) return false;
    slab->live = live;
    if (live > slab->bound) slab->bound = live;
    slab->stays[slab->n] = (onx_stay){all, 0, slab->clock++, UINT32_MAX, offset};
    *offset = slab->n++;
    return true;
}

void onx_slab_give(onx_slab *slab, size_t offset) {
    slab->live -= slab->stays[offset].bytes;
    slab->stays[offset].to = slab->clock++;
}

/* ─ In the order of sizes ────────────────────────────────────────────────────────────────────── */

static bool is_before(const onx_stay *a, const onx_stay *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->from < b->from;
}

/* order[0 … n-1], from the largest on: a heap whose top is the last of them. */
static void sift(const onx_slab *slab, uint32_t *heap, size_t n, size_t at) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_before(&slab->stays[heap[child]], &slab->stays[heap[child + 1]]))
            child++;
        if (!is_before(&slab->stays[heap[at]], &slab->stays[heap[child]])) return;
        uint32_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}
static void sort(const onx_slab *slab, uint32_t *order, size_t n) {
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (size_t i = n / 2; i-- > 0;) sift(slab, order, n, i);
    for (size_t i = n; i-- > 1;) {
        uint32_t last = order[0];
        order[0] = order[i];
        order[i] = last;
        sift(slab, order, i, 0);
    }
}

/* The lowest place that nobody has during the stay. Regions that are taken are listed by offset;
 * this becomes one of them. */
static size_t place(onx_stay *stay, onx_region *taken, size_t n) {
    size_t at = 0, i = n;
    for (size_t k = 0; k < n && (taken[k].offset < at || taken[k].offset - at < stay->bytes); k++) {
        if (taken[k].from >= stay->to || stay->from >= taken[k].to) continue;
        if (taken[k].offset + taken[k].bytes > at) at = taken[k].offset + taken[k].bytes;
    }
    while (i > 0 && taken[i - 1].offset > at) i--;
    memmove(&taken[i + 1], &taken[i], (n - i) * sizeof *taken);
    taken[i] = (onx_region){at, stay->bytes, stay->from, stay->to};
    stay->at = at;
    return at + stay->bytes;
}

/* The size of the slab; SIZE_MAX: sizes overflow. */
static size_t place_by_size(onx_slab *slab) {
    size_t peak = 0, total = 0;
    for (size_t i = 0; i < slab->n; i++)
        if (!onx_add_size(total, slab->stays[i].bytes, &total)) return SIZE_MAX;
    sort(slab, slab->order, slab->n);
    for (size_t i = 0; i < slab->n; i++) {
        size_t end_of_it = place(&slab->stays[slab->order[i]], slab->free, i);
        peak = end_of_it > peak ? end_of_it : peak;
    }
    return peak;
}

/* ─ In the order of time ─────────────────────────────────────────────────────────────────────── */

static void remove_region(onx_slab *slab, size_t at) {
    slab->n_free--;
    memmove(&slab->free[at], &slab->free[at + 1], (slab->n_free - at) * sizeof *slab->free);
}

/* At the end; a free region that touches it is used up first. */
static bool place_at_end(onx_slab *slab, size_t bytes, size_t *offset) {
    size_t start = slab->peak;
    if (slab->n_free) {
        onx_region *last = &slab->free[slab->n_free - 1];
        if (last->offset + last->bytes == slab->peak) {
            start = last->offset;
            slab->n_free--;
        }
    }
    if (!onx_add_size(start, bytes, &slab->peak)) return false;
    *offset = start;
    return true;
}

static bool begin(onx_slab *slab, size_t bytes, size_t *offset) {
    size_t best = slab->n_free;
    for (size_t i = 0; i < slab->n_free; i++)
        if (slab->free[i].bytes >= bytes &&
            (best == slab->n_free || slab->free[i].bytes < slab->free[best].bytes))
            best = i;
    if (best == slab->n_free) return place_at_end(slab, bytes, offset);
    onx_region *region = &slab->free[best];
    *offset = region->offset;
    region->offset += bytes;
    region->bytes -= bytes;
    if (!region->bytes) remove_region(slab, best);
    return true;
}

static void end(onx_slab *slab, size_t offset, size_t bytes) {
    size_t at = 0;
    while (at < slab->n_free && slab->free[at].offset < offset) at++;
    bool joins_prev = at && slab->free[at - 1].offset + slab->free[at - 1].bytes == offset;
    bool joins_next = at < slab->n_free && offset + bytes == slab->free[at].offset;
    if (joins_prev) {
        slab->free[at - 1].bytes += bytes;
        if (!joins_next) return;
        slab->free[at - 1].bytes += slab->free[at].bytes;
        remove_region(slab, at);
    } else if (joins_next) {
        slab->free[at].offset = offset;
        slab->free[at].bytes += bytes;
    } else {
        memmove(&slab->free[at + 1], &slab->free[at], (slab->n_free - at) * sizeof *slab->free);
        slab->free[at] = (onx_region){.offset = offset, .bytes = bytes};
        slab->n_free++;
    }
}

/* False: sizes overflow. */
static bool place_by_time(onx_slab *slab) {
    uint32_t *events = slab->order;
    slab->peak = slab->n_free = 0;
    for (size_t i = 0; i < slab->n; i++) {
        events[slab->stays[i].from] = (uint32_t)i;
        if (slab->stays[i].to != UINT32_MAX) events[slab->stays[i].to] = (uint32_t)i;
    }
    for (uint32_t now = 0; now < slab->clock; now++) {
        onx_stay *stay = &slab->stays[events[now]];
        if (stay->to == now)
            end(slab, stay->at, stay->bytes);
        else if (!begin(slab, stay->bytes, &stay->at))
            return false;
    }
    return true;
}

bool onx_slab_plan(onx_slab *slab) {
    if (!place_by_time(slab)) return false;
    size_t by_size = slab->n <= MANY ? place_by_size(slab) : SIZE_MAX;
    if (by_size <= slab->peak)
        slab->peak = by_size;
    else if (!place_by_time(slab))
        return false;
    for (size_t i = 0; i < slab->n; i++) *slab->stays[i].offset = slab->stays[i].at;
    return true;
}

onx_status onx_slab_back(onx_slab *slab, const onx_provider *provider, onx_context *ctx,
                         onx_diag *diag) {
    if (slab->peak <= slab->bytes) return ONX_OK;
    size_t wanted = slab->bytes ? slab->peak + slab->peak / 4 : slab->peak;
    if (wanted < slab->peak) wanted = slab->peak;
    onx_device_free(provider, ctx, slab->data, slab->bytes);
    slab->data = NULL;
    slab->bytes = 0;
    ONX_TRY(onx_device_alloc(provider, ctx, wanted, &slab->data, diag));
    slab->bytes = wanted;
    return ONX_OK;
}
