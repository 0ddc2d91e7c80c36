/* test_objects.c: objects (rt/object.h): their counts, their memory, sharing, and every failure of
 * the allocator. */
#include "rt/object.h"
#include "support.h"
#include "test.h"

static test_heap heap;

static onx_context *start(void) {
    heap = (test_heap){0};
    return test_context(&heap, NULL);
}
static void finish(onx_context *ctx) {
    onx_context_free(ctx);
    CHECK_EQ(heap.blocks, 0);
    CHECK_EQ(heap.bytes, 0);
}
static onx_object *number(onx_context *ctx, float value) {
    onx_object *object = NULL;
    if (onx_object_tensor(ctx, ONX_DTYPE_F32, 0, NULL, &object, NULL) != ONX_OK) return NULL;
    memcpy(object->data, &value, sizeof value);
    return object;
}
static float value_of(const onx_object *object) {
    float value;
    memcpy(&value, object->data, sizeof value);
    return value;
}

TEST(tensors) {
    onx_context *ctx = start();
    onx_object *t = NULL, *other = NULL;
    REQUIRE(onx_object_tensor(ctx, ONX_DTYPE_I4, 2, (int64_t[]){3, 3}, &t, NULL) == ONX_OK);
    CHECK_EQ(t->count, 9);
    CHECK_EQ(t->bytes, 5);
    CHECK_EQ((uintptr_t)t->data % ONX_ALIGN, 0);
    memset(t->data, 0x5a, t->bytes);
    onx_operand shown;
    onx_operand_show(&shown, t);
    CHECK(shown.data == t->data && shown.kind == ONX_TYPE_TENSOR && shown.rank == 2);
    CHECK(shown.dims[1] == 3 && shown.bytes == 5 && shown.dtype == ONX_DTYPE_I4);
    REQUIRE(onx_object_of(ctx, &shown, &other, NULL) == ONX_OK);
    CHECK(other == t);
    onx_object_release(other);
    shown.object = NULL;
    REQUIRE(onx_object_of(ctx, &shown, &other, NULL) == ONX_OK);
    CHECK(other != t && memcmp(other->data, t->data, 5) == 0);
    onx_object_release(other);
    onx_object_release(t);
    onx_object_release(NULL);
    finish(ctx);
}

TEST(sizes_are_checked) {
    onx_context *ctx = start();
    onx_object *t = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    int64_t many[ONX_RANK_MAX + 1] = {0}, huge = INT64_MAX;
    CHECK_EQ(onx_object_tensor(ctx, ONX_DTYPE_F32, ONX_RANK_MAX + 1, many, &t, &diag),
             ONX_UNSUPPORTED);
    CHECK_EQ(onx_object_tensor(ctx, ONX_DTYPE_F32, 1, (int64_t[]){-1}, &t, &diag), ONX_INVALID);
    CHECK_EQ(onx_object_tensor(ctx, ONX_DTYPE_F32, 2, (int64_t[]){huge, 2}, &t, NULL), ONX_INVALID);
    CHECK_EQ(onx_object_tensor(ctx, ONX_DTYPE_C128, 1, &huge, &t, NULL), ONX_INVALID);
    CHECK_EQ(onx_object_tensor(ctx, ONX_DTYPE_STRING, 1, &huge, &t, NULL), ONX_INVALID);
    CHECK_EQ(onx_object_tensor(ctx, ONX_DTYPE_NONE, 0, NULL, &t, NULL), ONX_INVALID);
    CHECK_EQ(onx_object_tensor(ctx, ONX_DTYPE_U8, 1, &huge, &t, &diag), ONX_NO_MEMORY);
    CHECK(t == NULL);
    REQUIRE(onx_object_tensor(ctx, ONX_DTYPE_F32, 2, (int64_t[]){0, 7}, &t, NULL) == ONX_OK);
    onx_operand shown;
    onx_operand_show(&shown, t);
    CHECK(shown.data == NULL && shown.count == 0);
    onx_object_release(t);
    finish(ctx);
}

TEST(strings) {
    onx_context *ctx = start();
    onx_object *t = NULL, *copy = NULL;
    REQUIRE(onx_object_tensor(ctx, ONX_DTYPE_STRING, 1, (int64_t[]){3}, &t, NULL) == ONX_OK);
    CHECK(t->strings[2].size == 0 && t->strings[2].data);
    CHECK(onx_object_set_string(t, 1, ONX_LIT("one"), NULL) == ONX_OK);
    CHECK(onx_object_set_string(t, 1, ONX_LIT("a longer one"), NULL) == ONX_OK);
    CHECK(onx_object_set_string(t, 0, ONX_LIT("x"), NULL) == ONX_OK);
    CHECK(onx_object_set_string(t, 0, ONX_LIT(""), NULL) == ONX_OK);
    CHECK_STR(t->strings[1].data, "a longer one");
    (void)onx_object_retain(t);
    REQUIRE(onx_object_unshare(t, &copy, NULL) == ONX_OK);
    CHECK(copy != t);
    CHECK(onx_object_set_string(copy, 1, ONX_LIT("changed"), NULL) == ONX_OK);
    CHECK_STR(t->strings[1].data, "a longer one");
    onx_object_release(copy);
    onx_object_release(t);
    finish(ctx);
}

TEST(lists) {
    onx_context *ctx = start();
    onx_object *list = NULL, *same = NULL, *copy = NULL;
    REQUIRE(onx_object_list(ctx, ONX_TYPE_SEQUENCE, 0, &list, NULL) == ONX_OK);
    for (int i = 0; i < 100; i++) /* 0 is pushed on by what follows: 99 … 0 */
        REQUIRE(onx_object_insert(list, 0, number(ctx, (float)i), NULL) == ONX_OK);
    REQUIRE(onx_object_insert(list, 100, number(ctx, -1), NULL) == ONX_OK);
    REQUIRE(onx_object_insert(list, 50, number(ctx, -2), NULL) == ONX_OK);
    CHECK_EQ(list->count, 102);
    CHECK(value_of(list->items[0]) == 99 && value_of(list->items[49]) == 50);
    CHECK(value_of(list->items[50]) == -2 && value_of(list->items[51]) == 49);
    CHECK(value_of(list->items[101]) == -1);
    onx_object_erase(list, 50);
    onx_object_erase(list, 100);
    CHECK_EQ(list->count, 100);
    CHECK(value_of(list->items[50]) == 49 && value_of(list->items[99]) == 0);

    REQUIRE(onx_object_unshare(list, &same, NULL) == ONX_OK);
    CHECK(same == list);
    REQUIRE(onx_object_unshare(onx_object_retain(list), &copy, NULL) == ONX_OK);
    CHECK(copy != list && copy->items[7] == list->items[7]);
    onx_object_erase(copy, 0);
    CHECK(list->count == 100 && value_of(list->items[0]) == 99);
    onx_object_release(list);
    CHECK(value_of(copy->items[0]) == 98);
    onx_object_release(copy);
    finish(ctx);
}

/* A million optionals inside each other: freeing them must not use the stack for it. */
TEST(deep_nesting) {
    onx_context *ctx = start();
    onx_object *inner = number(ctx, 1);
    for (int i = 0; i < 1000000; i++) {
        onx_object *outer = NULL;
        REQUIRE(onx_object_list(ctx, ONX_TYPE_OPTIONAL, 1, &outer, NULL) == ONX_OK);
        REQUIRE(onx_object_insert(outer, 0, inner, NULL) == ONX_OK);
        inner = outer;
    }
    onx_object_release(inner);
    finish(ctx);
}

/* What the tests above do, with the n-th allocation failing; true once nothing failed. */
static bool everything(onx_context *ctx) {
    onx_object *list = NULL, *strings = NULL, *copy = NULL, *strings2 = NULL;
    bool ok = onx_object_list(ctx, ONX_TYPE_SEQUENCE, 1, &list, NULL) == ONX_OK;
    ok = ok && onx_object_tensor(ctx, ONX_DTYPE_STRING, 1, (int64_t[]){2}, &strings, NULL) == 0;
    ok = ok && onx_object_set_string(strings, 0, ONX_LIT("text"), NULL) == ONX_OK;
    for (int i = 0; ok && i < 6; i++) {
        onx_object *item = number(ctx, 1);
        ok = item && onx_object_insert(list, i / 2, item, NULL) == ONX_OK;
    }
    ok = ok && onx_object_unshare(onx_object_retain(list), &copy, NULL) == ONX_OK;
    ok = ok && onx_object_unshare(onx_object_retain(strings), &strings2, NULL) == ONX_OK;
    onx_object_release(list);
    onx_object_release(strings);
    onx_object_release(copy);
    onx_object_release(strings2);
    return ok;
}

TEST(failing_memory) {
    for (size_t at = 1;; at++) {
        onx_context *ctx = start();
        heap.fail_at = heap.calls + at;
        heap.fail_count = 1;
        bool ok = everything(ctx);
        size_t failed = heap.failed;
        finish(ctx);
        CHECK(ok == (failed == 0));
        if (failed == 0) {
            CHECK(at > 10);
            break;
        }
    }
}

TEST_MAIN(E(tensors) E(sizes_are_checked) E(strings) E(lists) E(deep_nesting) E(failing_memory))
