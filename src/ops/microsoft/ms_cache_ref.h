/* ms_cache_ref.h: keys and values as integers, for caches (onx_rows says how they lie). */
#ifndef ONX_MS_CACHE_REF_H
#define ONX_MS_CACHE_REF_H

#include "ops/attention/attend_ref.h"
#include "ops/microsoft/microsoft_ref.h"

/* Rows that are to become integers of that many bits: the nearest multiples of their scale. */
typedef struct onx_ms_cache {
    onx_rows from;
    unsigned bits; /* 8 or 4 */
    const onx_operand *scales;
    int64_t batch, heads, length, size, stored; /* stored: elements of a row of integers */
} onx_ms_cache;

/* The type of caches of so many bits; 0: as the query. */
onx_dtype onx_ms_cache_dtype(unsigned bits, const onx_operand *query);
/* Where they will be. */
onx_rows onx_ms_cache_rows(const onx_ms_cache *cache, void *to);
/* run: make them. Each worker needs room for a row of doubles. */
onx_status onx_ms_cache_pack(onx_call *call, const onx_ms_cache *cache, void *to) ONX_MUST_CHECK;

#endif
