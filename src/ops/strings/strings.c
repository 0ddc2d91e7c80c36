/* strings.c: operators of text: meaning. */
#include "ops/op.h"

static onx_status infer_match(onx_infer *in) {
    return onx_infer_like(in, 0, ONX_DTYPE_BOOL, onx_infer_in(in, 0));
}

/* As many parts as the element with the most of them has; and how many each has. */
static onx_status infer_split(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    ONX_TRY(onx_infer_unranked(in, 0, ONX_DTYPE_STRING));
    ONX_TRY(onx_infer_unranked(in, 1, ONX_DTYPE_I64));
    if (!x->ranked) return ONX_OK;
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    dims[x->rank] = NULL;
    onx_infer_lost(in, 0, x->rank, "it is as many parts as an element of '%s' has at most",
                   onx_infer_in_name(in, 0));
    ONX_TRY(onx_infer_tensor(in, 0, ONX_DTYPE_STRING, x->rank + 1, dims));
    return onx_infer_tensor(in, 1, ONX_DTYPE_I64, x->rank, x->dims);
}

/* Stop words go; when nothing is left, one empty string stands for it. */
static onx_status infer_normalizer(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    const onx_attr *stop = onx_node_attr(onx_infer_node(in), "stopwords");
    int64_t rows = 1, n;
    if (!x->ranked) return onx_infer_unranked(in, 0, ONX_DTYPE_STRING);
    bool fits = x->rank == 1 || (x->rank == 2 && (!onx_sym_is_int(x->dims[0], &rows) || rows == 1));
    if (!fits) return onx_infer_fail(in, "the input must be [C] or [1,C]");
    const onx_sym *last = x->dims[x->rank - 1], *dims[2] = {x->dims[0], NULL};
    bool all = !stop || (!stop->ref_attr_name.size && !onx_attr_count(stop));
    dims[x->rank - 1] = all && onx_sym_is_int(last, &n) && n > 0 ? last : NULL;
    if (!dims[x->rank - 1])
        onx_infer_lost(in, 0, x->rank - 1, "it is as many words as are left of '%s', at least 1",
                       onx_infer_in_name(in, 0));
    return onx_infer_tensor(in, 0, ONX_DTYPE_STRING, x->rank, dims);
}

/* A count for each n-gram that has a place in the output. */
static onx_status infer_tf_idf(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    size_t n;
    const int64_t *places = onx_op_ints(onx_infer_node(in), "ngram_indexes", &n);
    int64_t last = -1;
    for (size_t i = 0; i < n; i++) {
        if (places[i] < 0)
            return onx_infer_fail(in, "ngram_indexes has %lld; places begin with 0",
                                  (long long)places[i]);
        if (places[i] > last) last = places[i];
    }
    if (places && !n) return onx_infer_fail(in, "ngram_indexes is empty");
    if (!x->ranked) return onx_infer_unranked(in, 0, ONX_DTYPE_F32);
    if (x->rank != 1 && x->rank != 2)
        return onx_infer_fail(in, "the input has %zu dimensions; it needs 1 or 2", x->rank);
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *dims[2] = {x->dims[0], NULL};
    dims[x->rank - 1] =
        places ? onx_sym_add(syms, onx_sym_int(syms, last), onx_sym_int(syms, 1)) : NULL;
    return onx_infer_tensor(in, 0, ONX_DTYPE_F32, x->rank, dims);
}

/* As many tokens as the string with the most of them has. */
static onx_status infer_tokenizer(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    if (!x->ranked) return onx_infer_unranked(in, 0, ONX_DTYPE_STRING);
    if (x->rank != 1 && x->rank != 2) return onx_infer_fail(in, "the input must be [C] or [N,C]");
    const onx_sym *dims[3] = {x->dims[0], x->rank == 2 ? x->dims[1] : NULL, NULL};
    onx_infer_lost(in, 0, x->rank, "it is as many tokens as a string of '%s' has at most",
                   onx_infer_in_name(in, 0));
    return onx_infer_tensor(in, 0, ONX_DTYPE_STRING, x->rank + 1, dims);
}

extern onx_op_rows onx_ops_strings;
onx_op_rows onx_ops_strings = {
    {"RegexFullMatch", 20, "(X:T1) -> (Y:T2) {pattern?:string} [T1:string, T2:bool]",
     .infer = infer_match},
    {"StringConcat", 20, "(X:T, Y:T) -> (Z:T) [T:string]", .infer = onx_infer_broadcast},
    {"StringNormalizer", 10,
     "(X:string) -> (Y:string) {case_change_action:string=\"NONE\", is_case_sensitive:int=0, "
     "locale?:string, stopwords?:strings}",
     .infer = infer_normalizer},
    {"StringSplit", 20,
     "(X:T1) -> (Y:T2, Z:T3) {delimiter?:string, maxsplit?:int} [T1:string, T2:string, T3:int64]",
     .infer = infer_split},
    {"TfIdfVectorizer", 9,
     "(X:T) -> (Y:T1) {max_gram_length:int, max_skip_count:int, min_gram_length:int, mode:string, "
     "ngram_counts:ints, ngram_indexes:ints, pool_int64s?:ints, pool_strings?:strings, "
     "weights?:floats} [T:int32|int64|string, T1:float]",
     .infer = infer_tf_idf},
    {"Tokenizer", 1,
     "(X:T) -> (Y:T) {mark:int, mincharnum:int, pad_value:string, separators?:strings, "
     "tokenexp?:string} [T:string]",
     .infer = infer_tokenizer, .domain = "com.microsoft"},
    {0},
};
