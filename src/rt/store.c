/* store.c: packed weights: made once for each tensor, kernel and form, and counted. The tensor is
 * known by the address of its data, which stays while anyone holds what was made of it.
 *
 * They lie one behind the other in chunks. A chunk goes with the last of what lies in it. */
#include "rt/engine.h"

#include "base/thread.h"

enum { INPUTS_MAX = 8, CHUNK_MIN = 64 << 10, CHUNK_MAX = 32 << 20 };

typedef struct chunk {
    const onx_provider *provider;
    char *data;
    size_t bytes, used, refs;
    size_t present; /* bytes whose pages are there */
    struct chunk *next;
} chunk;

struct onx_packed {
    size_t refs;
    const onx_kernel *kernel;
    uint64_t format;
    const void *from[INPUTS_MAX]; /* data of the inputs that are packed */
    const onx_provider *provider; /* whose memory it is in */
    chunk *chunk;
    void *data;
    size_t bytes;
    onx_packed *next;
};
struct onx_store {
    atomic_size_t refs;
    onx_context *ctx;
    onx_mutex lock;
    onx_packed *all;
    chunk *chunks; /* the newest first */
    size_t total;  /* bytes in them */
};
/* All sessions have a host of their own, but its memory is one. */
static const onx_provider host_memory = {.host = true};

onx_status onx_store_new(onx_context *ctx, onx_store **out, onx_diag *diag) {
    onx_store *store = onx_mem_alloc(ctx, sizeof *store);
    if (!store) return onx_fail_nomem(diag);
    *store = (onx_store){.ctx = ctx};
    atomic_init(&store->refs, 1);
    onx_mutex_init(&store->lock);
    onx_context_retain(ctx);
    *out = store;
    return ONX_OK;
}

onx_store *onx_store_retain(onx_store *store) {
    atomic_fetch_add(&store->refs, 1);
    return store;
}

void onx_store_release(void *user) {
    onx_store *store = user;
    if (!store || atomic_fetch_sub(&store->refs, 1) != 1) return;
    onx_context *ctx = store->ctx;
    onx_mutex_fini(&store->lock);
    onx_mem_free(ctx, store, sizeof *store);
    onx_context_free(ctx);
}

static bool same(const onx_packed *a, const onx_packed *b) {
    return a->kernel == b->kernel && a->provider == b->provider && a->format == b->format &&
           a->bytes == b->bytes && memcmp(a->from, b->from, sizeof a->from) == 0;
}

static void leave_chunk(onx_store *store, chunk *c) {
    if (--c->refs) return;
    chunk **link = &store->chunks;
    while (*link != c) link = &(*link)->next;
    *link = c->next;
    store->total -= c->bytes;
    onx_device_free(c->provider, store->ctx, c->data, c->bytes);
    onx_mem_free(store->ctx, c, sizeof *c);
}

/* Give back the pages that nothing lies in. */
static void trim(onx_store *store, chunk *c) {
    if (!c || c->present <= c->used) return;
    (void)store->ctx->os->drop(c->data + c->used, c->present - c->used);
    c->present = c->used;
}

static onx_status add_chunk(onx_store *store, const onx_provider *provider, size_t bytes,
                            onx_diag *diag) {
    chunk *c = onx_mem_alloc(store->ctx, sizeof *c);
    if (!c) return onx_fail_nomem(diag);
    *c = (chunk){.provider = provider, .bytes = bytes, .next = store->chunks};
    void *data = NULL;
    onx_status status = onx_device_alloc(provider, store->ctx, bytes, &data, diag);
    if (status != ONX_OK) {
        onx_mem_free(store->ctx, c, sizeof *c);
        return status;
    }
    c->data = data;
    trim(store, store->chunks);
    store->total += bytes;
    store->chunks = c;
    return ONX_OK;
}

/* A chunk that has room for so many bytes, with one more reference: they grow with the store. */
static onx_status enter_chunk(onx_store *store, const onx_provider *provider, size_t bytes,
                              chunk **out, onx_diag *diag) {
    chunk *c = store->chunks;
    while (c && (c->provider != provider || c->bytes - c->used < bytes)) c = c->next;
    if (!c) {
        size_t wanted = store->total < CHUNK_MIN ? CHUNK_MIN : store->total;
        if (wanted > CHUNK_MAX) wanted = CHUNK_MAX;
        ONX_TRY(add_chunk(store, provider, wanted < bytes ? bytes : wanted, diag));
        c = store->chunks;
    }
    c->refs++;
    *out = c;
    return ONX_OK;
}

/* Pages for so many more bytes of the chunk; of the one that is being filled large ones, whole. */
static onx_status page_in(const onx_store *store, onx_call *call, chunk *c, size_t bytes) {
    size_t end = c->used + bytes, before = c->present;
    if (c->provider != &host_memory || end <= before) return ONX_OK;
    if (c == store->chunks)
        end += ONX_OS_LARGE_PAGE - 1 - ((uintptr_t)c->data + end - 1) % ONX_OS_LARGE_PAGE;
    c->present = end < c->bytes ? end : c->bytes;
    return onx_call_touch(call, c->data + before, c->present - before, true);
}

static onx_status fill(const onx_store *store, onx_call *call, const onx_packed *packed) {
    ONX_TRY(page_in(store, call, packed->chunk, packed->bytes));
    for (size_t i = 0; i < call->n_in && i < INPUTS_MAX; i++)
        if (packed->from[i] && call->in[i]->bytes <= CHUNK_MAX)
            ONX_TRY(onx_call_touch(call, packed->from[i], call->in[i]->bytes, false));
    ONX_TRY(call->kernel->pack(call, packed->data));
    for (size_t i = 0; i < call->n_in && i < INPUTS_MAX; i++)
        if (packed->from[i]) onx_call_spent(call, packed->from[i], call->in[i]->bytes);
    return ONX_OK;
}

static onx_status make(onx_store *store, onx_call *call, const onx_packed *key, onx_packed **out) {
    onx_packed *packed = onx_mem_alloc(store->ctx, sizeof *packed);
    if (!packed) return onx_fail_nomem(call->diag);
    *packed = *key;
    packed->refs = 1;
    onx_status status =
        enter_chunk(store, key->provider, onx_align_up(key->bytes), &packed->chunk, call->diag);
    if (status == ONX_OK) {
        packed->data = packed->chunk->data + packed->chunk->used;
        status = fill(store, call, packed);
        if (status != ONX_OK) leave_chunk(store, packed->chunk);
    }
    if (status != ONX_OK) {
        onx_mem_free(store->ctx, packed, sizeof *packed);
        return status;
    }
    packed->chunk->used += onx_align_up(key->bytes);
    packed->next = store->all;
    store->all = packed;
    *out = packed;
    return ONX_OK;
}

onx_status onx_store_pack(onx_store *store, onx_call *call, const onx_provider *provider,
                          onx_packed **out) {
    if (!call->kernel->pack_bytes) return ONX_OK;
    onx_packed key = {.kernel = call->kernel,
                      .format = call->pack_format,
                      .provider = provider->host ? &host_memory : provider};
    key.bytes = call->kernel->pack_bytes(call);
    if (!key.bytes) return ONX_OK;
    size_t n = 0;
    for (size_t i = 0; i < call->n_in && i < INPUTS_MAX; i++)
        if (call->kernel->packs >> i & 1 && call->in[i]) key.from[i] = call->in[i]->data, n++;
    if (!n) return onx_fail(call->diag, ONX_USAGE, "a kernel packs inputs that it does not name");
    onx_mutex_lock(&store->lock);
    onx_packed *found = store->all;
    while (found && !same(found, &key)) found = found->next;
    onx_status status = ONX_OK;
    if (found)
        found->refs++;
    else
        status = make(store, call, &key, &found);
    onx_mutex_unlock(&store->lock);
    if (status == ONX_OK) *out = found;
    return status;
}

void onx_store_trim(onx_store *store) {
    onx_mutex_lock(&store->lock);
    trim(store, store->chunks);
    onx_mutex_unlock(&store->lock);
}

const void *onx_packed_data(const onx_packed *packed) {
    return packed->data;
}
size_t onx_packed_bytes(const onx_packed *packed) {
    return packed->bytes;
}

void onx_packed_release(onx_store *store, onx_packed *packed) {
    if (!packed) return;
    onx_mutex_lock(&store->lock);
    if (--packed->refs == 0) {
        onx_packed **at = &store->all;
        while (*at != packed) at = &(*at)->next;
        *at = packed->next;
        leave_chunk(store, packed->chunk);
        onx_mem_free(store->ctx, packed, sizeof *packed);
    }
    onx_mutex_unlock(&store->lock);
}
