/* strings_ref.c: StringConcat: plain loops; and the table of the family. */
#include "ops/strings/texts_ref.h"

/* The shape that two shapes broadcast to, right-aligned. */
static onx_status broadcast(const onx_call *call, size_t *rank, int64_t *dims) {
    const onx_operand *a = call->in[0], *b = call->in[1];
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (size_t i = 1; i <= *rank; i++) {
        int64_t m = i <= a->rank ? a->dims[a->rank - i] : 1;
        int64_t n = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (m != n && m != 1 && n != 1)
            return onx_call_fail(call, ONX_INVALID, "sizes %lld and %lld do not broadcast",
                                 (long long)m, (long long)n);
        dims[*rank - i] = m == 1 ? n : m;
    }
    return ONX_OK;
}

/* Which element of `x` broadcasts to element `at` of a tensor of that shape. */
static int64_t index_in(const onx_operand *x, size_t rank, const int64_t *dims, int64_t at) {
    int64_t index = 0, stride = 1;
    for (size_t i = 1; i <= x->rank; i++) {
        int64_t size = dims[rank - i], own = x->dims[x->rank - i];
        if (own != 1) index += at % size * stride;
        at /= size;
        stride *= own;
    }
    return index;
}

static onx_status concat_run(onx_call *call) {
    onx_operand *const *in = call->in;
    size_t rank;
    int64_t dims[ONX_RANK_MAX];
    ONX_TRY(broadcast(call, &rank, dims));
    onx_object *out = NULL;
    ONX_TRY(onx_object_tensor(call->ctx, ONX_DTYPE_STRING, rank, dims, &out, call->diag));
    onx_buf text;
    onx_buf_init(&text, call->ctx);
    onx_status status = ONX_OK;
    for (int64_t i = 0; i < out->count && status == ONX_OK; i++) {
        onx_str a = in[0]->object->strings[index_in(in[0], rank, dims, i)];
        onx_str b = in[1]->object->strings[index_in(in[1], rank, dims, i)];
        text.size = 0;
        onx_buf_put(&text, a.data, a.size);
        onx_buf_put(&text, b.data, b.size);
        status = text.failed
                     ? onx_fail_nomem(call->diag)
                     : onx_object_set_string(out, i, (onx_str){text.data, text.size}, call->diag);
    }
    onx_buf_fini(&text);
    if (status == ONX_OK) return onx_call_object(call, 0, out);
    onx_object_release(out);
    return status;
}

extern onx_kernel_rows onx_kernels_strings_ref;
onx_kernel_rows onx_kernels_strings_ref = {
    {.op = "RegexFullMatch",
     .first = 20,
     .types = {ONX_T(STRING)},
     .name = "regex_full_match",
     .flags = ONX_KERNEL_OBJECTS,
     .init = onx_regex_match_init,
     .bind = onx_regex_match_bind,
     .run = onx_regex_match_run},
    {"StringConcat",
     20,
     0,
     {ONX_T(STRING)},
     "string_concat",
     .flags = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS,
     .host = 3,
     .run = concat_run},
    {.op = "StringNormalizer",
     .first = 10,
     .types = {ONX_T(STRING)},
     .name = "string_normalizer",
     .flags = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS,
     .init = onx_string_normalizer_init,
     .run = onx_string_normalizer_run},
    {.op = "StringSplit",
     .first = 20,
     .types = {ONX_T(STRING)},
     .name = "string_split",
     .flags = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS,
     .init = onx_split_init,
     .run = onx_split_run},
    {.op = "TfIdfVectorizer",
     .first = 9,
     .types = {ONX_T_INDEX | ONX_T(STRING)},
     .name = "tf_idf",
     .flags = ONX_KERNEL_OBJECTS,
     .init = onx_tfidf_init,
     .bind = onx_tfidf_bind,
     .run = onx_tfidf_run},
    {.op = "Tokenizer",
     .first = 1,
     .types = {ONX_T(STRING)},
     .name = "tokenizer",
     .domain = "com.microsoft",
     .flags = ONX_KERNEL_LATE | ONX_KERNEL_OBJECTS,
     .init = onx_tokenizer_init,
     .bind = onx_tokenizer_bind,
     .run = onx_tokenizer_run},
    {0},
};
