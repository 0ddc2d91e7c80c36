/* blocks.c: memory of a device: plain allocations, and the pool of blocks that runs draw from.
 *
 * A free block is handed out again when it is large enough and not more than twice too large; what
 * a steady sequence of runs needs is found without allocating. Sizes are rounded up by an eighth at
 * most, so that a value that grows finds what it needs, too, now and then; and what is held is
 * never more than twice what was used at once: more is given back before there is more. */
#include "rt/engine.h"

/* Host memory is over-allocated to be aligned; the pointer to free lies before it. */
typedef struct prefix {
    void *start;
    size_t bytes;
} prefix;

onx_status onx_device_alloc(const onx_provider *provider, onx_context *ctx, size_t bytes,
                            void **out, onx_diag *diag) {
    if (provider->alloc) return provider->alloc(provider->user, ctx, bytes, out);
    size_t total = 0;
    if (!onx_add_size(bytes, ONX_ALIGN + sizeof(prefix), &total)) return onx_fail_nomem(diag);
    char *start = onx_mem_alloc(ctx, total);
    if (!start) return onx_fail_nomem(diag);
    uintptr_t data =
        ((uintptr_t)start + sizeof(prefix) + ONX_ALIGN - 1) & ~(uintptr_t)(ONX_ALIGN - 1);
    *((prefix *)data - 1) = (prefix){start, total};
    *out = (void *)data;
    return ONX_OK;
}

void onx_device_free(const onx_provider *provider, onx_context *ctx, void *data, size_t bytes) {
    if (!data) return;
    if (provider->alloc) {
        provider->free(provider->user, ctx, data, bytes);
        return;
    }
    prefix p = *((prefix *)data - 1);
    onx_mem_free(ctx, p.start, p.bytes);
}

void onx_blocks_init(onx_blocks *pool, onx_context *ctx, const onx_provider *provider) {
    *pool = (onx_blocks){.ctx = ctx, .provider = provider};
}

void onx_blocks_trim(onx_blocks *pool) {
    while (pool->free) {
        onx_block *block = pool->free;
        pool->free = block->next;
        pool->held -= block->bytes;
        onx_device_free(pool->provider, pool->ctx, block->data, block->bytes);
        onx_mem_free(pool->ctx, block, sizeof *block);
    }
}

void onx_blocks_fini(onx_blocks *pool) {
    onx_blocks_trim(pool);
}

/* The smallest free block that will do, taken out of the list; NULL: none. */
static onx_block *find(onx_blocks *pool, size_t bytes) {
    onx_block **best = NULL;
    for (onx_block **at = &pool->free; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && (!best || (*at)->bytes < (*best)->bytes)) best = at;
    if (!best || (*best)->bytes / 2 > bytes) return NULL;
    onx_block *block = *best;
    *best = block->next;
    return block;
}

/* The next of eight sizes between a power of two and the next; 0: too large. */
static size_t round_up(size_t bytes) {
    size_t step = ONX_ALIGN;
    while (step <= bytes / 16) step *= 2;
    return onx_add_size(bytes ? bytes : 1, step - 1, &bytes) ? bytes / step * step : 0;
}

onx_status onx_blocks_take(onx_blocks *pool, size_t bytes, onx_block **out, onx_diag *diag) {
    size_t wanted = round_up(bytes);
    if (!wanted) return onx_fail_nomem(diag);
    onx_block *block = find(pool, wanted);
    if (!block) {
        if (pool->held / 2 > pool->most) onx_blocks_trim(pool);
        block = onx_mem_alloc(pool->ctx, sizeof *block);
        if (!block) return onx_fail_nomem(diag);
        *block = (onx_block){.bytes = wanted, .pool = pool};
        onx_status status = onx_device_alloc(pool->provider, pool->ctx, wanted, &block->data, diag);
        if (status != ONX_OK) {
            onx_mem_free(pool->ctx, block, sizeof *block);
            return status;
        }
        pool->held += wanted;
    }
    if (pool->ctx->poison && !pool->provider->alloc)
        memset(block->data, pool->ctx->poison, block->bytes);
    block->refs = 1;
    block->next = NULL;
    pool->used += block->bytes;
    if (pool->used > pool->most) pool->most = pool->used;
    *out = block;
    return ONX_OK;
}

void onx_block_release(onx_block *block) {
    if (!block || --block->refs) return;
    onx_blocks *pool = block->pool;
    pool->used -= block->bytes;
    block->next = pool->free;
    pool->free = block;
}
