/* ms_group_ref.h: what GroupQueryAttention knows of a node, and of its sizes. */
#ifndef ONX_MS_GROUP_REF_H
#define ONX_MS_GROUP_REF_H

#include "ops/microsoft/ms_cache_ref.h"

/* Inputs. */
enum {
    QUERY,
    KEY,
    VALUE,
    PAST_KEY,
    PAST_VALUE,
    LENGTHS,
    TOTAL,
    COS,
    SIN,
    PLACES,
    BIAS,
    SINK,
    K_SCALE,
    V_SCALE
};

typedef struct onx_ms_group {
    int64_t q_heads, kv_heads, window, show; /* window -1: none */
    float scale, cap;
    bool causal, turns, alternate, smooth, slides;
    unsigned bits; /* of the caches; 0: they are floats */
    bool by_channel;
    const onx_attend_vectors *vectors; /* of the tier; NULL: none */
} onx_ms_group;

typedef struct onx_ms_group_plan {
    int64_t batch, q_len, kv_len, head;
    int64_t past, total, present; /* rows of the past, keys of the longest batch, rows to keep */
    int64_t most;                 /* keys of any batch, at most */
    bool packed;                  /* query, key and value are one */
    bool prompt;                  /* there is nothing before */
    int64_t stored;               /* elements of a row of a cache */
    size_t keys_at;               /* in scratch: keys that are turned, behind the queries */
    size_t cache_at;              /* then: new keys and values as integers */
} onx_ms_group_plan;

#endif
