/* texts_ref.c: sets of texts: open addressing, seeded, never more than half full. */
#include "ops/strings/texts_ref.h"

onx_status onx_texts_init(onx_call *call, onx_texts *texts, size_t most) {
    size_t cap = 16, bytes;
    while (cap / 2 < most && cap < SIZE_MAX / 2) cap *= 2;
    bool fits = most < UINT32_MAX && onx_mul_size(cap, sizeof *texts->entries, &bytes);
    *texts = (onx_texts){.cap = cap, .seed = call->ctx->seed};
    texts->entries = fits ? onx_call_state(call, bytes) : NULL;
    return texts->entries ? ONX_OK : onx_fail_nomem(call->diag);
}

static onx_texts_entry *place(const onx_texts *texts, uint32_t owner, onx_str text) {
    uint64_t at = onx_hash(texts->seed + owner, text.data, text.size);
    for (;; at++) {
        onx_texts_entry *entry = &texts->entries[at & (texts->cap - 1)];
        if (!entry->number || (entry->owner == owner && onx_str_eq(entry->text, text)))
            return entry;
    }
}

uint32_t onx_texts_find(const onx_texts *texts, uint32_t owner, onx_str text) {
    return place(texts, owner, text)->number;
}

uint32_t onx_texts_put(onx_texts *texts, uint32_t owner, onx_str text) {
    onx_texts_entry *entry = place(texts, owner, text);
    if (!entry->number) *entry = (onx_texts_entry){text, owner, ++texts->n};
    return entry->number;
}
