/* fuzz_npy.c: data files, whatever they are: .npy, .npz, protobuf messages, their text forms.
 *
 * Arrays that are read can be written and read back equal. */
#include "fuzz.h"

#include "ir/npy.h"

/* Equal; of booleans, which may be any bytes in a file and are written as 0 and 1, the values. */
static bool same_array(const onx_tensor *a, const onx_tensor *b) {
    size_t bytes = 0;
    if (a->data_type != ONX_DTYPE_BOOL) return onx_msg_equal(a, b, NULL);
    FUZZ_OK(onx_tensor_bytes(a, &bytes, NULL), NULL);
    char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
    FUZZ_CHECK(x && y);
    FUZZ_OK(onx_tensor_read(a, x, bytes, NULL), NULL);
    FUZZ_OK(onx_tensor_read(b, y, bytes, NULL), NULL);
    bool same = memcmp(x, y, bytes) == 0;
    free(x);
    free(y);
    return same;
}

static void check_array(onx_context *ctx, onx_str bytes) {
    onx_doc *doc = fuzz_doc(ctx, bytes.size);
    onx_tensor *tensor = NULL, *back = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_npy_read(doc, bytes, &tensor, &diag);
    if (status) {
        fuzz_refused(status, &diag);
    } else {
        onx_buf out;
        onx_buf_init(&out, ctx);
        onx_writer writer = onx_buf_writer(&out);
        onx_doc *other = fuzz_doc(ctx, 0);
        FUZZ_OK(onx_tensor_check(tensor, &diag), &diag);
        FUZZ_OK(onx_npy_write(tensor, &writer, &diag), &diag);
        FUZZ_OK(onx_npy_read(other, (onx_str){out.data, out.size}, &back, &diag), &diag);
        FUZZ_CHECK(same_array(tensor, back));
        onx_doc_free(other);
        onx_buf_fini(&out);
    }
    onx_doc_free(doc);
}

/* Writing an archive can be refused: names that no entry can have, strings that end with NUL. */
static void check_archive(onx_context *ctx, onx_str bytes) {
    onx_doc *doc = fuzz_doc(ctx, bytes.size), *other = fuzz_doc(ctx, 0);
    onx_sequence *sequence = NULL, *back = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf out;
    onx_buf_init(&out, ctx);
    onx_writer writer = onx_buf_writer(&out);
    onx_status status = onx_npz_read(doc, bytes, &sequence, &diag);
    if (!status) {
        status = onx_npz_write(sequence, &writer, &diag);
        if (!status) {
            FUZZ_OK(onx_npz_read(other, (onx_str){out.data, out.size}, &back, &diag), &diag);
            FUZZ_CHECK(back->tensor_values.count == sequence->tensor_values.count);
        }
    }
    if (status) fuzz_refused(status, &diag);
    onx_buf_fini(&out);
    onx_doc_free(other);
    onx_doc_free(doc);
}

static void check_any(onx_context *ctx, onx_str bytes) {
    onx_data *data = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status =
        onx_data_load_memory(ctx, bytes.data, bytes.size, ONX_DATA_NONE, &data, &diag);
    if (status)
        fuzz_refused(status, &diag);
    else {
        void *out = NULL;
        size_t size = 0;
        FUZZ_OK(onx_data_save_memory(data, &out, &size, &diag), &diag);
        onx_buffer_free(ctx, out, size);
        onx_data_free(data);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    onx_str bytes = {size ? (const char *)data : "", size};
    check_array(ctx, bytes);
    check_archive(ctx, bytes);
    check_any(ctx, bytes);
    fuzz_context_free(ctx);
    return 0;
}
