/* texts_ref.h: what the kernels of this folder share: sets of texts, and the kernels' functions. */
#ifndef ONX_TEXTS_REF_H
#define ONX_TEXTS_REF_H

#include "rt/object.h"

/* Texts, each under an owner, and each pair with a number: 1, 2 … in the order they came. */
typedef struct onx_texts_entry {
    onx_str text;
    uint32_t owner, number; /* number 0: the place is free */
} onx_texts_entry;
typedef struct onx_texts {
    onx_texts_entry *entries;
    size_t cap; /* a power of two */
    uint64_t seed;
    uint32_t n;
} onx_texts;

/* init: room for `most` texts, in memory of the program. */
onx_status onx_texts_init(onx_call *call, onx_texts *texts, size_t most) ONX_MUST_CHECK;
/* Its number; 0: it is not there. */
uint32_t onx_texts_find(const onx_texts *texts, uint32_t owner, onx_str text);
/* Its number, which is a new one if it was not there. The text must outlive the set. */
uint32_t onx_texts_put(onx_texts *texts, uint32_t owner, onx_str text);

onx_status onx_string_normalizer_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_string_normalizer_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_regex_match_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_regex_match_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_regex_match_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_split_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_split_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tokenizer_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tokenizer_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tokenizer_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tfidf_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tfidf_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_tfidf_run(onx_call *call) ONX_MUST_CHECK;

#endif
