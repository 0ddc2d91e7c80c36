/* map.c: the hash map. Open addressing with linear probing; at most three quarters full. */
#include "base/mem.h"

static char gone; /* its address marks a removed entry */

static uint64_t mix(uint64_t h) {
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
    return h ^ h >> 32;
}

uint64_t onx_hash(uint64_t seed, const void *data, size_t size) {
    const char *p = data;
    uint64_t h = seed ^ size * 0x9e3779b97f4a7c15;
    for (; size >= 8; p += 8, size -= 8) h = mix(h ^ onx_load_u64(p));
    uint64_t tail = 0;
    if (size) memcpy(&tail, p, size);
    return mix(h ^ tail);
}

void onx_map_init(onx_map *map, onx_context *ctx) {
    *map = (onx_map){.ctx = ctx};
}

void onx_map_fini(onx_map *map) {
    onx_mem_free(map->ctx, map->entries, map->cap * sizeof *map->entries);
    *map = (onx_map){.ctx = map->ctx};
}

static uint64_t key_hash(const onx_map *map, const void *owner, onx_str name) {
    return onx_hash(mix(map->ctx->seed ^ (uint64_t)(uintptr_t)owner), name.data, name.size);
}

static onx_map_entry *find(const onx_map *map, const void *owner, onx_str name) {
    if (!map->cap) return NULL;
    uint64_t hash = key_hash(map, owner, name);
    for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
        onx_map_entry *e = &map->entries[i];
        if (!e->value) return NULL;
        if (e->hash == hash && e->value != &gone && e->owner == owner && onx_str_eq(e->name, name))
            return e;
    }
}

void *onx_map_get(const onx_map *map, const void *owner, onx_str name) {
    onx_map_entry *e = find(map, owner, name);
    return e ? e->value : NULL;
}

static void place(onx_map_entry *entries, size_t cap, onx_map_entry entry) {
    size_t i = entry.hash & (cap - 1);
    while (entries[i].value) i = (i + 1) & (cap - 1);
    entries[i] = entry;
}

static bool grow(onx_map *map) {
    size_t live = 0, cap = 16, bytes;
    for (size_t i = 0; i < map->cap; i++)
        live += map->entries[i].value && map->entries[i].value != &gone;
    while (cap < live * 2 + 2) cap *= 2;
    if (!onx_mul_size(cap, sizeof(onx_map_entry), &bytes)) return false;
    onx_map_entry *entries = onx_mem_alloc(map->ctx, bytes);
    if (!entries) return false;
    memset(entries, 0, bytes);
    for (size_t i = 0; i < map->cap; i++)
        if (map->entries[i].value && map->entries[i].value != &gone)
            place(entries, cap, map->entries[i]);
    onx_mem_free(map->ctx, map->entries, map->cap * sizeof *map->entries);
    map->entries = entries;
    map->cap = cap;
    map->used = live;
    return true;
}

bool onx_map_put(onx_map *map, const void *owner, onx_str name, void *value) {
    onx_map_entry *e = find(map, owner, name);
    if (e) {
        e->value = value;
        e->name = name;
        return true;
    }
    if (map->used + 1 > map->cap / 4 * 3 && !grow(map)) return false;
    place(map->entries, map->cap, (onx_map_entry){owner, name, value, key_hash(map, owner, name)});
    map->used++;
    return true;
}

void onx_map_remove(onx_map *map, const void *owner, onx_str name) {
    onx_map_entry *e = find(map, owner, name);
    if (e) e->value = &gone;
}
