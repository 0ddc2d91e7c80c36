/* test_safetensors.c: safetensors files, whole and in parts, right and wrong. */
#include "export/safetensors.h"
#include "test.h"
#include "torch_files.h"

static onx_context *ctx; /* of the case being run */
static test_heap heap;

static void begin(void) {
    heap = (test_heap){0};
    ctx = test_context(&heap, NULL);
}

static void end(void) {
    onx_context_free(ctx);
    CHECK_EQ(heap.blocks, 0);
}

/* A file of a header and `n` bytes of data: 0, 1, 2 … */
static test_bytes file_of(const char *header, size_t n) {
    test_bytes b = {0};
    uint64_t size = strlen(header);
    test_put(&b, &size, sizeof size);
    test_put(&b, header, (size_t)size);
    for (size_t i = 0; i < n; i++) test_put_byte(&b, (unsigned)i);
    return b;
}

static void check_status(const char *header, size_t n, onx_status want, const char *message) {
    test_bytes b = file_of(header, n);
    onx_safetensors *st = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_safetensors_open_memory(ctx, (onx_str){b.data, b.size}, &st, &diag);
    CHECK_EQ(status, want);
    if (!CHECK(!message || strstr(diag.message, message)))
        fprintf(stderr, "    %s\n", diag.message);
    onx_safetensors_close(st);
    test_bytes_free(&b);
}

static const char two[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"b\":{\"dtype\":\"I16\",\"shape\":[2,2],\"data_offsets\":[4,12]},"
    "\"a\\u00e9\":{\"data_offsets\":[0,4],\"dtype\":\"F32\",\"shape\":[]},"
    "\"none\":{\"dtype\":\"F16\",\"shape\":[0,3],\"data_offsets\":[12,12]}}  ";

TEST(tensors) {
    onx_safetensors *st = NULL;
    begin();
    test_bytes b = file_of(two, 12);
    REQUIRE(!onx_safetensors_open_memory(ctx, (onx_str){b.data, b.size}, &st, NULL));
    CHECK_EQ(st->count, 3);
    const onx_torch_tensor *t = onx_safetensors_find(st, ONX_LIT("b"));
    REQUIRE(t);
    CHECK(t->dtype == ONX_TORCH_I16 && t->rank == 2 && t->dims[1] == 2 && t->strides[0] == 2);
    const onx_torch_tensor *a = onx_safetensors_find(st, ONX_LIT("a\xc3\xa9"));
    CHECK(a && a->rank == 0 && a->dtype == ONX_TORCH_F32);
    CHECK(onx_safetensors_find(st, ONX_LIT("none")));
    CHECK(!onx_safetensors_find(st, ONX_LIT("__metadata__")));
    onx_model *model = onx_model_new(ctx, "m", 18);
    onx_value *value = NULL;
    REQUIRE(!onx_torch_tensor_add(onx_model_graph(model), "b", t, &value, NULL));
    const onx_tensor *tensor = onx_value_initializer(value);
    CHECK(tensor->raw_data.data == b.data + b.size - 8 && tensor->raw_data.size == 8);
    onx_safetensors_close(st);
    CHECK(tensor->raw_data.data[0] == 4);
    onx_model_free(model);
    test_bytes_free(&b);
    end();
}

TEST(refused) {
#define ONE(dtype, shape, place)                                                                   \
    "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" place "}}"
    begin();
    check_status(ONE("F32", "[2]", "[0,8]"), 8, ONX_OK, NULL);
    check_status("{}", 0, ONX_OK, NULL);
    check_status(ONE("F32", "[2]", "[0,8]"), 9, ONX_MALFORMED, "holes");
    check_status(ONE("F32", "[2]", "[0,8]"), 7, ONX_MALFORMED, "does not lie");
    check_status(ONE("F32", "[2]", "[1,9]"), 9, ONX_MALFORMED, "holes");
    check_status(ONE("F32", "[3]", "[0,8]"), 8, ONX_MALFORMED, "another size");
    check_status(ONE("F32", "[2]", "[8,0]"), 8, ONX_MALFORMED, "does not lie");
    check_status(ONE("F32", "[2]", "[0,8,8]"), 8, ONX_MALFORMED, "at most 2");
    check_status(ONE("F32", "[-2]", "[0,8]"), 8, ONX_MALFORMED, "sizes");
    check_status(ONE("F32", "[0.5]", "[0,8]"), 8, ONX_MALFORMED, "sizes");
    check_status(ONE("U8", "[4294967296,4294967296,8]", "[0,8]"), 8, ONX_MALFORMED, "another size");
    check_status(ONE("U8", "[4294967296,4294967296,0]", "[0,0]"), 0, ONX_MALFORMED, "another size");
    check_status(ONE("F4", "[2]", "[0,1]"), 1, ONX_UNSUPPORTED, "'F4'");
    check_status("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, ONX_MALFORMED, "needs");
    check_status("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 1, ONX_MALFORMED, "twice");
    check_status("{\"a\":{\"kind\":\"U8\"}}", 1, ONX_MALFORMED, "unknown");
    check_status("{\"a\":[]}", 0, ONX_MALFORMED, "expected");
    check_status("{\"__metadata__\":{\"a\":1}}", 0, ONX_MALFORMED, "expected");
    check_status("{} {}", 0, ONX_MALFORMED, NULL);
    check_status("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                 "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                 2, ONX_MALFORMED, "twice");
    check_status("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                 "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
                 3, ONX_MALFORMED, "overlap");
    check_status("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
                 "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                 2, ONX_MALFORMED, "overlap");
    check_status("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
                 "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
                 3, ONX_MALFORMED, "overlap");
    end();
}

TEST(cut_off_anywhere) {
    begin();
    test_bytes b = file_of(two, 12);
    for (size_t n = 0; n < b.size; n++) {
        onx_safetensors *st = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        CHECK_EQ(onx_safetensors_open_memory(ctx, (onx_str){b.data, n}, &st, &diag), ONX_MALFORMED);
        CHECK(diag.message[0]);
    }
    test_bytes_free(&b);
    end();
}

TEST(memory_fails_anywhere) {
    test_bytes b = file_of(two, 12);
    for (size_t at = 1;; at++) {
        onx_safetensors *st = NULL;
        begin();
        heap.fail_at = heap.calls + at;
        onx_status status = onx_safetensors_open_memory(ctx, (onx_str){b.data, b.size}, &st, NULL);
        bool over = heap.failed == 0;
        CHECK_EQ(status, over ? ONX_OK : ONX_NO_MEMORY);
        onx_safetensors_close(st);
        heap.fail_at = 0;
        end();
        if (over) break;
    }
    test_bytes_free(&b);
}

/* ── Parts ───────────────────────────────────────────────────────────────────────────────────── */

static void write_file(const char *path, const char *header, size_t n) {
    test_bytes b = file_of(header, n);
    test_file_write(path, b.data, b.size);
    test_bytes_free(&b);
}

static void check_index(const char *folder, const char *index, onx_status want, size_t count) {
    const char *path = test_path(folder, "model.safetensors.index.json");
    onx_safetensors *st = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    test_file_write(path, index, strlen(index));
    onx_status status = onx_safetensors_open(ctx, path, &st, &diag);
    CHECK_EQ(status, want);
    if (status != want) fprintf(stderr, "    %s\n", diag.message);
    CHECK_EQ(st ? st->count : 0, count);
    onx_safetensors_close(st);
}

TEST(parts) {
    char folder[256];
    begin();
    test_folder_new(folder);
    write_file(test_path(folder, "one"),
               "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2);
    write_file(test_path(folder, "two"),
               "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1);
    check_index(folder,
                "{\"metadata\":{\"total_size\":3},\"weight_map\":{\"a\":\"one\",\"b\":\"two\"}}",
                ONX_OK, 2);
    check_index(folder, "{\"weight_map\":{\"a\":\"two\"}}", ONX_MALFORMED, 0);
    check_index(folder, "{\"weight_map\":{\"c\":\"one\"}}", ONX_MALFORMED, 0);
    check_index(folder, "{\"weight_map\":{\"a\":\"three\"}}", ONX_NOT_FOUND, 0);
    check_index(folder, "{\"weight_map\":{\"a\":\"../one\"}}", ONX_DENIED, 0);
    check_index(folder, "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", ONX_DENIED, 0);
    check_index(folder, "{\"weight_map\":{\"a\":\"model.safetensors.index.json\"}}", ONX_MALFORMED,
                0);
    check_index(folder, "{\"weight_map\":{\"a\":1}}", ONX_MALFORMED, 0);
    check_index(folder, "{\"weight_map\":{}", ONX_MALFORMED, 0);
    test_folder_remove(folder);
    end();
}

TEST_MAIN(E(tensors) E(refused) E(cut_off_anywhere) E(memory_fails_anywhere) E(parts))
