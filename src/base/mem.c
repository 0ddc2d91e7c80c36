/* mem.c: contexts, counted allocation, arenas, buffers. */
#include "base/mem.h"

#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>

static void *host_resize(void *user, void *ptr, size_t old_size, size_t new_size) {
    (void)user, (void)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

#define DEFAULT_LIMITS                                                                             \
    {                                                                                              \
        .size = sizeof(onx_limits), .depth = 100, .rank = 1024, .functions = 10000,                \
        .opsets = 1000, .name_bytes = (size_t)64 << 10, .string_bytes = (size_t)1 << 30,           \
        .memory_factor = 64                                                                        \
    }

/* Only its counters change, atomically. */
static onx_context default_context = {
    .allocator = {NULL, host_resize},
    .limits = DEFAULT_LIMITS,
    .os = &onx_os_host,
    .refs = 1,
    .seed = 0x2545f4914f6cdd1d,
};

onx_context *onx_context_or_default(onx_context *ctx) {
    return ctx ? ctx : &default_context;
}

static void limits_fill(onx_limits *limits, const onx_limits *wanted) {
    const onx_limits defaults = DEFAULT_LIMITS;
#define LIMIT(name) limits->name = wanted->name ? wanted->name : defaults.name
    LIMIT(depth);
    LIMIT(rank);
    LIMIT(functions);
    LIMIT(opsets);
    LIMIT(name_bytes);
    LIMIT(string_bytes);
    LIMIT(memory_factor);
#undef LIMIT
    limits->size = sizeof *limits;
}

onx_status onx_context_new(const onx_context_options *options, onx_context **out) {
    onx_context_options o;
    if (!out) return ONX_USAGE;
    ONX_TRY(ONX_OPTIONS(&o, options, NULL));
    onx_allocator allocator = o.allocator;
    if (!allocator.resize) allocator.resize = host_resize;
    onx_context *ctx = allocator.resize(allocator.user, NULL, 0, sizeof *ctx);
    if (!ctx) return ONX_NO_MEMORY;
    *ctx = (onx_context){.allocator = allocator, .os = &onx_os_host};
    ctx->memory_limit = o.memory_limit;
    limits_fill(&ctx->limits, &o.limits);
    atomic_init(&ctx->refs, 1);
    /* Addresses differ from run to run: enough to make collisions hard to prepare. */
    ctx->seed = default_context.seed ^ (uint64_t)(uintptr_t)ctx * 0x9e3779b97f4a7c15;
    *out = ctx;
    return ONX_OK;
}

static void *parent_resize(void *user, void *ptr, size_t old_size, size_t new_size) {
    if (new_size) return onx_mem_resize(user, ptr, old_size, new_size);
    onx_mem_free(user, ptr, old_size);
    return NULL;
}

onx_context *onx_context_child(onx_context *parent, size_t memory_limit) {
    if (memory_limit && memory_limit < sizeof(onx_context)) return NULL;
    onx_context *ctx = onx_mem_alloc(parent, sizeof *ctx);
    if (!ctx) return NULL;
    *ctx = (onx_context){.allocator = {parent, parent_resize},
                         .limits = parent->limits,
                         .os = parent->os,
                         .memory_limit = memory_limit,
                         .seed = parent->seed,
                         .custom = parent->custom,
                         .parent = parent};
    atomic_init(&ctx->refs, 1);
    atomic_init(&ctx->memory_used, sizeof *ctx);
    atomic_init(&ctx->memory_peak, sizeof *ctx);
    onx_context_retain(parent);
    return ctx;
}

void onx_context_retain(onx_context *ctx) {
    atomic_fetch_add(&ctx->refs, 1);
}

void onx_context_free(onx_context *ctx) {
    if (!ctx || ctx == &default_context || atomic_fetch_sub(&ctx->refs, 1) != 1) return;
    if (ctx->custom && ctx->custom_free) ctx->custom_free(ctx);
    onx_context *parent = ctx->parent;
    ctx->allocator.resize(ctx->allocator.user, ctx, sizeof *ctx, 0);
    onx_context_free(parent);
}

size_t onx_context_memory_used(const onx_context *ctx) {
    return atomic_load(&onx_context_or_default((onx_context *)(uintptr_t)ctx)->memory_used);
}

size_t onx_context_memory_peak(const onx_context *ctx) {
    return atomic_load(&onx_context_or_default((onx_context *)(uintptr_t)ctx)->memory_peak);
}

void *onx_mem_alloc(onx_context *ctx, size_t size) {
    return onx_mem_resize(ctx, NULL, 0, size);
}

/* Reserve the growth first, so that concurrent callers cannot pass the limit together. */
void *onx_mem_resize(onx_context *ctx, void *ptr, size_t old_size, size_t new_size) {
    if (new_size > PTRDIFF_MAX) return NULL; /* and the counters cannot wrap around */
    if (new_size == 0) new_size = 1;
    if (ptr && old_size == 0) old_size = 1;
    size_t used = atomic_fetch_add(&ctx->memory_used, new_size) + new_size;
    bool fits = !ctx->memory_limit || used - old_size <= ctx->memory_limit;
    void *p = fits ? ctx->allocator.resize(ctx->allocator.user, ptr, old_size, new_size) : NULL;
    if (p && ctx->poison && new_size > old_size)
        memset((char *)p + old_size, ctx->poison, new_size - old_size);
    used = atomic_fetch_sub(&ctx->memory_used, p ? old_size : new_size) - (p ? old_size : new_size);
    size_t peak = atomic_load(&ctx->memory_peak);
    while (p && used > peak && !atomic_compare_exchange_weak(&ctx->memory_peak, &peak, used)) {
    }
    return p;
}

void onx_mem_free(onx_context *ctx, void *ptr, size_t size) {
    if (!ptr) return;
    if (size == 0) size = 1;
    ctx->allocator.resize(ctx->allocator.user, ptr, size, 0);
    atomic_fetch_sub(&ctx->memory_used, size);
}

struct onx_chunk {
    onx_chunk *older;
    size_t size;
    alignas(16) char data[];
};

enum { CHUNK_FIRST = 4 << 10, CHUNK_MOST = 1 << 20 };

void onx_arena_init(onx_arena *arena, onx_context *ctx) {
    *arena = (onx_arena){.ctx = ctx};
}

void onx_arena_fini(onx_arena *arena) {
    while (arena->chunks) {
        onx_chunk *older = arena->chunks->older;
        onx_mem_free(arena->ctx, arena->chunks, arena->chunks->size);
        arena->chunks = older;
    }
    *arena = (onx_arena){.ctx = arena->ctx};
}

/* A new chunk that holds at least `size` bytes: a quarter of what there is, within bounds. */
static bool arena_extend(onx_arena *arena, size_t size) {
    size_t wanted = arena->total / 4, total;
    if (wanted < CHUNK_FIRST) wanted = CHUNK_FIRST;
    if (wanted > CHUNK_MOST) wanted = CHUNK_MOST;
    if (!onx_add_size(size, sizeof(onx_chunk), &size)) return false;
    if (wanted < size) wanted = size;
    if (!onx_add_size(arena->total, wanted, &total)) return false;
    if (arena->cap && total > arena->cap) return arena->capped = true, false;
    onx_chunk *chunk = onx_mem_alloc(arena->ctx, wanted);
    if (!chunk) return false;
    chunk->size = wanted;
    arena->total = total;
    bool keep = arena->chunks && (size_t)(arena->end - arena->next) > wanted - size;
    if (keep) { /* an oversized request: go on filling the current chunk afterwards */
        chunk->older = arena->chunks->older;
        arena->chunks->older = chunk;
        return true;
    }
    chunk->older = arena->chunks;
    arena->chunks = chunk;
    arena->next = chunk->data;
    arena->end = (char *)chunk + wanted;
    return true;
}

void *onx_arena_alloc(onx_arena *arena, size_t size) {
    size_t rounded;
    if (!onx_add_size(size, 15, &rounded)) return NULL;
    rounded &= ~(size_t)15;
    char *p = arena->next;
    if (!p || (size_t)(arena->end - p) < rounded) {
        onx_chunk *before = arena->chunks;
        if (!arena_extend(arena, rounded)) return NULL;
        if (arena->chunks == before) return memset(before->older->data, 0, rounded);
        p = arena->next;
    }
    arena->next = p + rounded;
    return memset(p, 0, rounded);
}

void *onx_arena_array(onx_arena *arena, size_t count, size_t elem_size) {
    size_t size;
    return onx_mul_size(count, elem_size, &size) ? onx_arena_alloc(arena, size) : NULL;
}

/* Strings need no alignment: short ones are taken from the end of the chunk. */
bool onx_arena_str(onx_arena *arena, onx_str in, onx_str *out) {
    size_t size;
    char *p;
    if (!onx_add_size(in.size, 1, &size)) return false;
    if (arena->next && size <= (size_t)(arena->end - arena->next))
        p = arena->end -= size;
    else
        p = onx_arena_alloc(arena, size);
    if (!p) return false;
    if (in.size) memcpy(p, in.data, in.size);
    p[in.size] = '\0';
    *out = (onx_str){p, in.size};
    return true;
}

bool onx_arena_grow(onx_arena *arena, void *pv, size_t *cap, size_t n, size_t elem_size) {
    if (n < *cap) return true;
    size_t wanted = *cap ? *cap : 2;
    if (*cap && !onx_mul_size(*cap, 2, &wanted)) return false;
    void *grown = onx_arena_array(arena, wanted, elem_size);
    if (!grown) return false;
    void *old;
    memcpy(&old, pv, sizeof old);
    if (n) memcpy(grown, old, n * elem_size);
    memcpy(pv, &grown, sizeof grown);
    *cap = wanted;
    return true;
}

void onx_buf_init(onx_buf *buf, onx_context *ctx) {
    *buf = (onx_buf){.ctx = ctx};
}

void onx_buf_fini(onx_buf *buf) {
    onx_mem_free(buf->ctx, buf->data, buf->cap);
    *buf = (onx_buf){.ctx = buf->ctx};
}

size_t onx_buf_give(onx_buf *buf, char *out, size_t size) {
    size_t n = buf->failed ? 0 : buf->size, kept = n < size ? n : size ? size - 1 : 0;
    if (kept) memcpy(out, buf->data, kept);
    if (size) out[kept] = '\0';
    onx_buf_fini(buf);
    return n;
}

char *onx_buf_reserve(onx_buf *buf, size_t size) {
    size_t needed;
    if (buf->failed || !onx_add_size(buf->size, size, &needed)) goto fail;
    if (needed > buf->cap) {
        size_t cap = buf->cap + buf->cap / 2;
        if (cap < needed) cap = needed;
        if (cap < 64) cap = 64;
        char *data = onx_mem_resize(buf->ctx, buf->data, buf->cap, cap);
        if (!data) goto fail;
        buf->data = data;
        buf->cap = cap;
    }
    return buf->data + buf->size;
fail:
    buf->failed = true;
    return NULL;
}

void onx_buf_put(onx_buf *buf, const void *data, size_t size) {
    char *p = size ? onx_buf_reserve(buf, size) : NULL;
    if (!p) return;
    memcpy(p, data, size);
    buf->size += size;
}

void onx_buf_putc(onx_buf *buf, char c) {
    onx_buf_put(buf, &c, 1);
}

void onx_buf_puts(onx_buf *buf, const char *z) {
    onx_buf_put(buf, z, strlen(z));
}

void onx_buf_printf(onx_buf *buf, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    char *p = n < 0 ? NULL : onx_buf_reserve(buf, (size_t)n + 1);
    if (p) {
        vsnprintf(p, (size_t)n + 1, fmt, again);
        buf->size += (size_t)n;
    }
    va_end(args);
    va_end(again);
}
