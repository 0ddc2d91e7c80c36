/* slab.c: places in a slab, by liveness: the smallest free region that is large enough, else the
 * end. Only sizes are computed here; memory comes when the plan is complete. */
#include "rt/engine.h"

void onx_slab_reset(onx_slab *slab) {
    slab->n_free = 0;
    slab->peak = slab->live = slab->bound = 0;
}

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

bool onx_slab_take(onx_slab *slab, size_t bytes, size_t *offset) {
    size_t best = slab->n_free;
    bytes = onx_align_up(bytes);
    for (size_t i = 0; i < slab->n_free; i++)
        if (slab->free[i].bytes >= bytes &&
            (best == slab->n_free || slab->free[i].bytes < slab->free[best].bytes))
            best = i;
    if (best == slab->n_free) {
        if (!place_at_end(slab, bytes, offset)) return false;
    } else {
        onx_region *region = &slab->free[best];
        *offset = region->offset;
        region->offset += bytes;
        region->bytes -= bytes;
        if (!region->bytes) remove_region(slab, best);
    }
    slab->live += bytes;
    if (slab->live > slab->bound) slab->bound = slab->live;
    return true;
}

void onx_slab_give(onx_slab *slab, size_t offset, size_t bytes) {
    size_t at = 0;
    bytes = onx_align_up(bytes);
    slab->live -= bytes;
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
    } else if (slab->n_free < slab->cap) {
        memmove(&slab->free[at + 1], &slab->free[at], (slab->n_free - at) * sizeof *slab->free);
        slab->free[at] = (onx_region){offset, bytes};
        slab->n_free++;
    }
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
