/* mem.h: the context, its allocator, the arena, and growable arrays.
 *
 * Every byte the library allocates goes through onx_mem_*, so a test can fail the Nth allocation
 * and a context can cap the total. Callers pass sizes back when they free: there are no hidden
 * headers.
 */
#ifndef ONX_MEM_H
#define ONX_MEM_H

#include "base/base.h"
#include "base/os.h"

#include <stdatomic.h>

struct onx_context {
    onx_allocator allocator;
    onx_limits limits;
    const onx_os *os;          /* the operating system; tests put a failing one here */
    size_t memory_limit;       /* 0: none */
    atomic_size_t memory_used; /* bytes allocated now */
    atomic_size_t memory_peak;
    atomic_size_t refs;                    /* models and data hold one each */
    uint64_t seed;                         /* of the hash tables */
    struct onx_workers *workers;           /* rt/workers.c: the threads that sessions share */
    atomic_flag workers_lock;              /* held while that is looked up */
    struct onx_custom_ops *custom;         /* ops/custom.c: operators that were added; NULL: none */
    void (*custom_free)(onx_context *ctx); /* NULL: they belong to the parent */
    onx_context *parent;                   /* that its memory comes from; NULL: none */
    uint8_t poison;                        /* fills fresh memory; 0: it does not */
};

/* `ctx` or, when NULL, the default context, which is never freed. */
onx_context *onx_context_or_default(onx_context *ctx);
void onx_context_retain(onx_context *ctx);
/* A context with a limit of its own, whose memory is also counted by `parent`, and limited there.
 * It knows the operators of `parent`, and counts itself. */
onx_context *onx_context_child(onx_context *parent, size_t memory_limit) ONX_MUST_CHECK;

void *onx_mem_alloc(onx_context *ctx, size_t size) ONX_MUST_CHECK; /* uninitialised */
void *onx_mem_resize(onx_context *ctx, void *ptr, size_t old_size, size_t new_size) ONX_MUST_CHECK;
void onx_mem_free(onx_context *ctx, void *ptr, size_t size);

/* memcpy for what may be long. In pieces, for which libraries of C do not use `rep movsb`: on AMD's
 * processors that takes twenty times as long where the target is less than a line ahead of the
 * source, as addresses within a page. Above a megabyte they do not use it either. */
static inline void onx_mem_copy(void *to, const void *from, size_t n) {
    const size_t piece = 2048;
    char *t = to;
    const char *f = from;
    for (; n > piece && n < (size_t)1 << 20; n -= piece, t += piece, f += piece)
        memcpy(t, f, piece);
    memcpy(t, f, n);
}

/* Arena: allocations live until the arena ends. Zeroed, aligned to 16.
 *
 *     chunk ──▶ [ header | used … | free … ] ──▶ older chunk …
 */
typedef struct onx_chunk onx_chunk;
typedef struct onx_arena {
    onx_context *ctx;
    onx_chunk *chunks; /* newest first */
    char *next, *end;  /* free part of the newest chunk */
    size_t total;      /* bytes taken from the context */
    size_t cap;        /* refuse to grow past this; 0: no cap */
    bool capped;       /* an allocation was refused for that reason */
} onx_arena;

void onx_arena_init(onx_arena *arena, onx_context *ctx);
void onx_arena_fini(onx_arena *arena);
void *onx_arena_alloc(onx_arena *arena, size_t size) ONX_MUST_CHECK;
void *onx_arena_array(onx_arena *arena, size_t count, size_t elem_size) ONX_MUST_CHECK;
/* A copy followed by a NUL; false when memory ran out. */
bool onx_arena_str(onx_arena *arena, onx_str in, onx_str *out) ONX_MUST_CHECK;

/* Growable arrays in an arena: `v`, `n`, `cap`. Growing doubles and abandons the old block.
 * onx_arena_grow makes room for one more element and returns false when memory ran out. */
bool onx_arena_grow(onx_arena *arena, void *pv, size_t *cap, size_t n, size_t elem_size)
    ONX_MUST_CHECK;

/* A growable byte buffer on the context's allocator. Errors stick: check `failed` once at the
 * end. */
typedef struct onx_buf {
    onx_context *ctx;
    char *data;
    size_t size, cap;
    bool failed;
} onx_buf;

void onx_buf_init(onx_buf *buf, onx_context *ctx);
void onx_buf_fini(onx_buf *buf);
void onx_buf_put(onx_buf *buf, const void *data, size_t size);
void onx_buf_putc(onx_buf *buf, char c);
void onx_buf_puts(onx_buf *buf, const char *z);
void onx_buf_printf(onx_buf *buf, const char *fmt, ...) ONX_PRINTF(2, 3);
/* Room for `size` more bytes at the end, without counting them as used. NULL when memory ran
 * out. */
char *onx_buf_reserve(onx_buf *buf, size_t size);
/* Hand its text out as snprintf does, and end it: the length it has, of which `size` - 1 bytes and
 * a NUL are in `out`. A buffer that failed is empty. */
size_t onx_buf_give(onx_buf *buf, char *out, size_t size);

/* A hash map from (owner, name) to a pointer; open addressing, seeded, grows in the allocator. */
typedef struct onx_map_entry {
    const void *owner;
    onx_str name;
    void *value; /* NULL: free; ONX_MAP_GONE: removed */
    uint64_t hash;
} onx_map_entry;
typedef struct onx_map {
    onx_context *ctx;
    onx_map_entry *entries;
    size_t cap, used; /* a power of two; used counts removed entries too */
} onx_map;

void onx_map_init(onx_map *map, onx_context *ctx);
void onx_map_fini(onx_map *map);
void *onx_map_get(const onx_map *map, const void *owner, onx_str name);
/* Insert or replace. The name must outlive the entry. */
bool onx_map_put(onx_map *map, const void *owner, onx_str name, void *value) ONX_MUST_CHECK;
void onx_map_remove(onx_map *map, const void *owner, onx_str name);
uint64_t onx_hash(uint64_t seed, const void *data, size_t size);

#endif
