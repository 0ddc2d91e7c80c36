/* test_pickle.c: pickles: what PyTorch writes, and what nobody should. */
#include "export/pickle.h"
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

#define PK(literal) ((onx_str){literal, sizeof(literal) - 1})

static onx_status read_pk(onx_str bytes, onx_pickle *out, onx_diag *diag) {
    size_t used;
    return onx_pickle_read_bytes(ctx, bytes, NULL, (onx_str){"", 0}, out, &used, diag);
}

/* A pickle that must be refused, with this status. */
static void check_refused(onx_str bytes, onx_status want) {
    onx_pickle pickle;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = read_pk(bytes, &pickle, &diag);
    if (!status) onx_pickle_fini(&pickle);
    CHECK_EQ(status, want);
    if (status != want) fprintf(stderr, "    %s\n", diag.message);
    CHECK(!status || diag.message[0]);
}

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

/* A list of everything plain, and a dict. */
TEST(plain_values) {
    onx_pickle p;
    begin();
    REQUIRE(!read_pk(PK("\x80\2](N\x88\x89K\7M\1\2J\xfe\xff\xff\xff\x8a\1\xff\x8a\0\x8a\x8"
                        "\0\0\0\0\0\0\0\x80G\x3f\xf8\0\0\0\0\0\0X\3\0\0\0abcC\2xye."),
                     &p, NULL));
    const onx_pk *const *v = p.root->items.v;
    CHECK_EQ(p.root->kind, ONX_PK_LIST);
    REQUIRE(p.root->items.n == 12);
    CHECK_EQ(v[0]->kind, ONX_PK_NONE);
    CHECK(v[1]->kind == ONX_PK_BOOL && v[1]->i == 1);
    CHECK(v[2]->kind == ONX_PK_BOOL && v[2]->i == 0);
    static const int64_t numbers[] = {7, 513, -2, -1, 0, INT64_MIN};
    for (size_t i = 0; i < ONX_COUNT(numbers); i++)
        CHECK(v[3 + i]->kind == ONX_PK_INT && v[3 + i]->i == numbers[i]);
    CHECK(v[9]->kind == ONX_PK_FLOAT && v[9]->f == 1.5);
    CHECK(v[10]->kind == ONX_PK_STR && onx_str_is(v[10]->s, "abc"));
    CHECK(v[11]->kind == ONX_PK_BYTES && onx_str_is(v[11]->s, "xy"));
    CHECK_EQ(p.root->depth, 2);
    CHECK_EQ(p.root->nodes, 13);
    onx_pickle_fini(&p);
    end();
}

TEST(dicts_keep_order_and_find_keys) {
    onx_pickle p;
    begin();
    REQUIRE(!read_pk(PK("\x80\2}(X\1\0\0\0bK\1X\1\0\0\0aK\2K\5K\3u."), &p, NULL));
    REQUIRE(p.root->kind == ONX_PK_DICT && p.root->items.n == 6);
    CHECK(onx_str_is(p.root->items.v[0]->s, "b"));
    const onx_pk *a = onx_pk_get(p.root, ONX_LIT("a"));
    CHECK(a && a->i == 2 && a == p.root->items.v[3]);
    CHECK(!onx_pk_get(p.root, ONX_LIT("c")) && !onx_pk_get(NULL, ONX_LIT("a")));
    onx_pickle_fini(&p);
    check_refused(PK("\x80\2}(X\1\0\0\0aK\1X\1\0\0\0aK\2u."), ONX_MALFORMED);
    check_refused(PK("\x80\2}(X\1\0\0\0au."), ONX_MALFORMED);
    end();
}

/* Protocol 4: frames, short strings, memo without numbers, globals from the stack. */
TEST(protocol_4) {
    onx_pickle p;
    begin();
    REQUIRE(!read_pk(PK("\x80\4\x95\0\0\0\0\0\0\0\0\x8c\5torch\x94\x8c\7float32\x94\x93h\0\x86."),
                     &p, NULL));
    REQUIRE(p.root->kind == ONX_PK_TUPLE && p.root->items.n == 2);
    CHECK(onx_str_is(p.root->items.v[0]->s, "torch.float32"));
    CHECK(onx_str_is(p.root->items.v[1]->s, "torch"));
    onx_pickle_fini(&p);
    end();
}

TEST(known_calls) {
    onx_pickle p;
    begin();
    REQUIRE(!read_pk(PK("\x80\2(ctorch.jit._pickle\nbuild_intlist\n](K\1K\2e\x85R"
                        "ctorch.jit._pickle\nrestore_type_tag\n}X\x0e\0\0\0Dict[str, int]\x86R"
                        "ctorch\ndevice\nX\4\0\0\0cudaK\1\x86R"
                        "cbuiltins\ncomplex\nG\0\0\0\0\0\0\0\0G\x3f\xf0\0\0\0\0\0\0\x86R"
                        "ccollections\nOrderedDict\n)R}X\1\0\0\0_K\1sb"
                        "ccollections\nOrderedDict\n]](X\1\0\0\0kK\3ea\x85Rt."),
                     &p, NULL));
    REQUIRE(p.root->kind == ONX_PK_TUPLE && p.root->items.n == 6);
    const onx_pk *const *v = p.root->items.v;
    CHECK(v[0]->kind == ONX_PK_LIST && v[0]->items.n == 2 && onx_str_is(v[0]->type, "List[int]"));
    CHECK(v[1]->kind == ONX_PK_DICT && onx_str_is(v[1]->type, "Dict[str, int]"));
    CHECK(v[2]->kind == ONX_PK_DEVICE && onx_str_is(v[2]->s, "cuda:1"));
    CHECK(v[3]->kind == ONX_PK_COMPLEX && v[3]->complex.re == 0 && v[3]->complex.im == 1);
    CHECK(v[4]->kind == ONX_PK_DICT && v[4]->items.n == 0);
    const onx_pk *k = onx_pk_get(v[5], ONX_LIT("k"));
    CHECK(k && k->i == 3);
    onx_pickle_fini(&p);
    end();
}

/* A module with a shared child, an enum, and something that Python would run. */
TEST(objects) {
    onx_pickle p;
    begin();
    REQUIRE(!read_pk(PK("\x80\2c__torch__.a\nNet\n)\x81}(X\1\0\0\0xc__torch__.a\nSub\n)\x81}bq\1"
                        "X\1\0\0\0yh\1X\1\0\0\0ec__torch__.a\nColor\nK\2RX\1\0\0\0f"
                        "cos\nsystem\nX\2\0\0\0ls\x85Rub."),
                     &p, NULL));
    const onx_pk *x = onx_pk_get(p.root, ONX_LIT("x")), *y = onx_pk_get(p.root, ONX_LIT("y"));
    const onx_pk *e = onx_pk_get(p.root, ONX_LIT("e")), *f = onx_pk_get(p.root, ONX_LIT("f"));
    REQUIRE(x && y && e && f);
    CHECK(onx_str_is(p.root->type, "__torch__.a.Net") && !p.root->object.args);
    CHECK(x == y && onx_str_is(x->type, "__torch__.a.Sub"));
    CHECK(e->kind == ONX_PK_OBJECT && e->object.args && e->object.args->i == 2);
    CHECK(f->kind == ONX_PK_OBJECT && onx_str_is(f->type, "os.system") && f->object.args);
    onx_pickle_fini(&p);
    end();
}

/* ── Tensors ─────────────────────────────────────────────────────────────────────────────────── */

#define STORAGE(class, key, n)                                                                     \
    "(X\7\0\0\0storagectorch\n" class "\nX\1\0\0\0" key "X\3\0\0\0cpu" n "tQ"
#define TENSOR(storage, offset, dims, strides)                                                     \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage offset dims strides "\x88"                      \
    "ccollections\nOrderedDict\n)RtR"

/* Every type is found by each of its names. */
TEST(element_types) {
    size_t count = 0;
    for (int64_t c10 = 0; c10 < 256; c10++) {
        const onx_torch_dtype_info *info = onx_torch_dtype_of(c10);
        if (!info) continue;
        count++;
        CHECK(onx_torch_dtype_of_name(info->name) == info);
        CHECK(!info->pt2 || onx_torch_dtype_of_pt2(info->pt2) == info);
        CHECK(!info->storage.size || onx_torch_dtype_of_storage(info->storage) == info);
        CHECK(!info->safetensors.size || onx_torch_dtype_of_safetensors(info->safetensors) == info);
        CHECK(!info->onx || onx_dtype_bits(info->onx) == 8u * info->bytes);
    }
    CHECK_EQ(count, 25);
    CHECK(onx_torch_dtype_of_name(ONX_LIT("torch.half"))->dtype == ONX_TORCH_F16);
    CHECK(onx_torch_dtype_of_onx(ONX_DTYPE_U8)->dtype == ONX_TORCH_U8);
    CHECK(!onx_torch_dtype_of_name(ONX_LIT("torch.string")) && !onx_torch_dtype_of_pt2(0));
    CHECK(!onx_torch_dtype_of_storage(ONX_LIT("")) && !onx_torch_dtype_of_onx(ONX_DTYPE_STRING));
}

static const float six[] = {0, 1, 2, 3, 4, 5};
#define SIX ((onx_str){(const char *)six, sizeof six})

/* Open an archive of one pickle and the record data/0 (six floats). */
static onx_status read_tensors(onx_str pickle, onx_buf *buf, onx_archive **archive, onx_pickle *p,
                               onx_diag *diag) {
    torch_record records[] = {
        {"m/data.pkl", pickle}, {"m/data/0", SIX}, {"m/data/1", {"", 0}}, {NULL, {NULL, 0}}};
    onx_str bytes = torch_zip(ctx, records, buf);
    onx_status status = onx_archive_open_memory(ctx, bytes, archive, diag);
    if (status) abort();
    status = onx_pickle_read(*archive, ONX_LIT("data.pkl"), p, diag);
    return status;
}

static bool has_floats(onx_archive *archive, const onx_torch_tensor *t, size_t n,
                       const float *want) {
    float got[16];
    onx_tensor *tensor = NULL;
    if (onx_torch_tensor_load(onx_archive_doc(archive), t, &tensor, NULL)) return false;
    return !onx_tensor_read(tensor, got, n * sizeof *got, NULL) &&
           memcmp(got, want, n * sizeof *got) == 0;
}

/* Two views of one storage: as it lies, and transposed. */
TEST(tensors_share_storages) {
    onx_archive *archive;
    onx_pickle p;
    onx_buf buf;
    begin();
    REQUIRE(!read_tensors(
        PK("\x80\2(" TENSOR(STORAGE("FloatStorage", "0", "K\6"), "K\0", "K\2K\3\x86",
                            "K\3K\1\x86") //
           TENSOR(STORAGE("FloatStorage", "0", "K\6"), "K\1", "K\2K\2\x86", "K\1K\3\x86") "t."),
        &buf, &archive, &p, NULL));
    const onx_torch_tensor *a = p.root->items.v[0]->tensor, *b = p.root->items.v[1]->tensor;
    CHECK(a->storage == b->storage && a->dtype == ONX_TORCH_F32 && a->requires_grad);
    CHECK(onx_torch_tensor_is_contiguous(a) && !onx_torch_tensor_is_contiguous(b));
    CHECK(onx_torch_tensor_same(a, a) && !onx_torch_tensor_same(a, b));
    CHECK(has_floats(archive, a, 6, six));
    CHECK(has_floats(archive, b, 4, (float[]){1, 4, 2, 5}));
    onx_str data;
    CHECK(!onx_archive_read(archive, ONX_LIT("data/0"), &data, NULL));
    onx_tensor *tensor = NULL;
    CHECK(!onx_torch_tensor_load(onx_archive_doc(archive), a, &tensor, NULL));
    CHECK(tensor && tensor->raw_data.data == data.data); /* in place */
    CHECK_EQ(p.tensors, 2);
    onx_pickle_fini(&p);
    onx_archive_close(archive);
    onx_buf_fini(&buf);
    end();
}

/* An initializer outlives the archive. */
TEST(initializers) {
    onx_archive *archive;
    onx_pickle p;
    onx_buf buf;
    begin();
    REQUIRE(!read_tensors(
        PK("\x80\2" TENSOR(STORAGE("FloatStorage", "0", "K\6"), "K\2", "K\4\x85", "K\1\x85") "."),
        &buf, &archive, &p, NULL));
    onx_model *model = onx_model_new(ctx, "m", 18);
    onx_graph *graph = onx_model_graph(model);
    onx_value *value = NULL;
    CHECK_EQ(onx_torch_tensor_add(graph, "w", p.root->tensor, &value, NULL), ONX_OK);
    onx_pickle_fini(&p);
    onx_archive_close(archive);
    float got[4];
    CHECK(value && !onx_tensor_read(onx_value_initializer(value), got, sizeof got, NULL) &&
          memcmp(got, six + 2, sizeof got) == 0);
    onx_model_free(model);
    onx_buf_fini(&buf);
    end();
}

/* Only types and sizes: the record is empty. */
TEST(tensors_without_data) {
    onx_archive *archive;
    onx_pickle p;
    onx_buf buf;
    begin();
    REQUIRE(!read_tensors(
        PK("\x80\2" TENSOR(STORAGE("LongStorage", "1", "K\6"), "K\0", "K\6\x85", "K\1\x85") "."),
        &buf, &archive, &p, NULL));
    onx_tensor *tensor;
    CHECK(!onx_torch_tensor_has_data(p.root->tensor) && p.root->tensor->dims[0] == 6);
    CHECK_EQ(onx_torch_tensor_load(onx_archive_doc(archive), p.root->tensor, &tensor, NULL),
             ONX_INVALID);
    onx_pickle_fini(&p);
    onx_archive_close(archive);
    onx_buf_fini(&buf);
    end();
}

static void check_tensor_refused(onx_str pickle, onx_status want) {
    onx_archive *archive;
    onx_pickle p;
    onx_buf buf;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = read_tensors(pickle, &buf, &archive, &p, &diag);
    if (!status) onx_pickle_fini(&p);
    CHECK_EQ(status, want);
    if (status != want) fprintf(stderr, "    %s\n", diag.message);
    onx_archive_close(archive);
    onx_buf_fini(&buf);
}

TEST(tensors_stay_in_their_storage) {
    begin();
#define ONE(class, key, count, offset, dims, strides)                                              \
    PK("\x80\2" TENSOR(STORAGE(class, key, count), offset, dims, strides) ".")
    check_tensor_refused(ONE("FloatStorage", "0", "K\6", "K\1", "K\6\x85", "K\1\x85"),
                         ONX_MALFORMED);
    check_tensor_refused(ONE("FloatStorage", "0", "K\6", "K\0", "K\6\x85", "K\2\x85"),
                         ONX_MALFORMED);
    check_tensor_refused(ONE("FloatStorage", "0", "K\7", "K\0", "K\6\x85", "K\1\x85"),
                         ONX_MALFORMED);
    check_tensor_refused(ONE("DoubleStorage", "0", "K\3", "K\0", "K\4\x85", "K\1\x85"),
                         ONX_MALFORMED);
    check_tensor_refused(ONE("FloatStorage", "2", "K\6", "K\0", "K\6\x85", "K\1\x85"),
                         ONX_NOT_FOUND);
    check_tensor_refused(ONE("FloatStorage", "0", "K\6", "J\xff\xff\xff\xff", "K\1\x85", "K\1\x85"),
                         ONX_MALFORMED);
    check_tensor_refused(ONE("FloatStorage", "0", "K\6", "K\3", "K\2\x85", "J\xff\xff\xff\xff\x85"),
                         ONX_MALFORMED);
    check_tensor_refused(
        ONE("FloatStorage", "0", "K\6", "K\0", "\x8a\x8\0\0\0\0\0\0\0\x40K\4\x86", "K\0K\0\x86"),
        ONX_MALFORMED);
    check_tensor_refused(ONE("FloatStorage", "0", "K\6", "K\0", "K\6K\1\x86", "K\1\x85"),
                         ONX_MALFORMED);
    check_tensor_refused(ONE("OddStorage", "0", "K\6", "K\0", "K\6\x85", "K\1\x85"),
                         ONX_UNSUPPORTED);
    end();
}

/* A stride of 0 makes much of little, but only so much. */
TEST(expanded_tensors_are_limited) {
    onx_archive *archive;
    onx_pickle p;
    onx_buf buf;
    begin();
    REQUIRE(!read_tensors(ONE("FloatStorage", "0", "K\6", "K\5", "K\3K\1\x86", "K\0K\1\x86"), &buf,
                          &archive, &p, NULL));
    CHECK(has_floats(archive, p.root->tensor, 3, (float[]){5, 5, 5}));
    onx_pickle_fini(&p);
    onx_archive_close(archive);
    onx_buf_fini(&buf);
    REQUIRE(!read_tensors(ONE("FloatStorage", "0", "K\6", "K\5", "J\0\0\0\x7f\x85", "K\0\x85"),
                          &buf, &archive, &p, NULL));
    onx_tensor *tensor;
    CHECK_EQ(onx_torch_tensor_load(onx_archive_doc(archive), p.root->tensor, &tensor, NULL),
             ONX_LIMIT);
    onx_pickle_fini(&p);
    onx_archive_close(archive);
    onx_buf_fini(&buf);
    end();
}

/* Untyped storages, quantized tensors, parameters, views as real. */
TEST(other_tensors) {
    onx_archive *archive;
    onx_pickle p;
    onx_buf buf;
    begin();
    REQUIRE(!read_tensors(
        PK("\x80\2(ctorch._utils\n_rebuild_tensor_v3\n((X\7\0\0\0storagectorch.storage\n"
           "UntypedStorage\nX\1\0\0\0"
           "0X\3\0\0\0cpuK\x18tQK\1K\2\x85K\1\x85\x89}ctorch\nuint16\ntR"
           "ctorch._utils\n_rebuild_qtensor\n(" STORAGE(
               "QUInt8Storage", "0", "K\x18") "K\0K\2\x85K\1\x85(ctorch\nper_tensor_"
                                              "affine\nG\x3f\xe0\0\0\0\0\0\0K\3t\x89}tR"
                                              "ctorch._utils\n_rebuild_parameter\n" TENSOR(
                                                  STORAGE("ComplexFloatStorage", "0", "K\3"), "K\1",
                                                  "K\2\x85", "K\1\x85") "\x88}\x87Rt."),
        &buf, &archive, &p, NULL));
    const onx_torch_tensor *u16 = p.root->items.v[0]->tensor, *q = p.root->items.v[1]->tensor;
    const onx_torch_tensor *c = p.root->items.v[2]->tensor;
    CHECK(u16->dtype == ONX_TORCH_U16 && u16->offset == 1);
    REQUIRE(q->quant);
    CHECK(q->dtype == ONX_TORCH_QU8 && q->quant->scale == 0.5 && q->quant->zero_point == 3);
    CHECK(c->is_parameter && c->dtype == ONX_TORCH_C64);
    onx_torch_tensor real;
    REQUIRE(!onx_torch_tensor_real(&p.arena, c, &real, NULL));
    CHECK(real.rank == 2 && real.dims[0] == 2 && real.dims[1] == 2);
    CHECK(has_floats(archive, &real, 4, six + 2));
    onx_pickle_fini(&p);
    onx_archive_close(archive);
    onx_buf_fini(&buf);
    end();
}

TEST(big_endian_tensors) {
    static const char swapped[] = {0x3f, (char)0x80, 0, 0, 0x40, 0, 0, 0};
    torch_record records[] = {
        {"m/data.pkl", ONE("FloatStorage", "0", "K\2", "K\0", "K\2\x85", "K\1\x85")},
        {"m/data/0", {swapped, sizeof swapped}},
        {"m/byteorder", ONX_LIT("big")},
        {NULL, {NULL, 0}}};
    onx_archive *archive = NULL;
    onx_pickle p;
    onx_buf buf;
    begin();
    onx_str bytes = torch_zip(ctx, records, &buf);
    REQUIRE(!onx_archive_open_memory(ctx, bytes, &archive, NULL));
    REQUIRE(!onx_pickle_read(archive, ONX_LIT("data.pkl"), &p, NULL));
    CHECK(has_floats(archive, p.root->tensor, 2, (float[]){1, 2}));
    onx_pickle_fini(&p);
    onx_archive_close(archive);
    onx_buf_fini(&buf);
    end();
}

/* ── Hostile ─────────────────────────────────────────────────────────────────────────────────── */

TEST(refused) {
    begin();
    check_refused(PK(""), ONX_MALFORMED);
    check_refused(PK("\x80\2."), ONX_MALFORMED);                 /* no value */
    check_refused(PK("\x80\2NN."), ONX_MALFORMED);               /* two */
    check_refused(PK("\x80\2N(."), ONX_MALFORMED);               /* a mark */
    check_refused(PK("\x80\1N."), ONX_UNSUPPORTED);              /* protocols */
    check_refused(PK("\x80\2i__main__\nX\n."), ONX_UNSUPPORTED); /* INST */
    check_refused(PK("\x80\2h\0."), ONX_MALFORMED);              /* nothing noted */
    check_refused(PK("\x80\2N(\x85."), ONX_MALFORMED);           /* past a mark */
    check_refused(PK("\x80\2t."), ONX_MALFORMED);                /* no mark */
    check_refused(PK("\x80\2N]a."), ONX_UNSUPPORTED);            /* append to None */
    check_refused(PK("\x80\2Nr\xff\xff\xff\xff."), ONX_LIMIT);
    check_refused(PK("\x80\2X\xff\xff\xff\xffzz."), ONX_MALFORMED);
    check_refused(PK("\x80\2X\1\0\0\0\xff."), ONX_MALFORMED); /* UTF-8 */
    check_refused(PK("\x80\2\x8a\x9\0\0\0\0\0\0\0\0\1."), ONX_LIMIT);
    check_refused(PK("\x80\2]q\0h\0a."), ONX_UNSUPPORTED); /* a list in itself */
    check_refused(PK("\x80\2]q\0]q\1h\0ah\1\x86h\0h\1a."), ONX_UNSUPPORTED);
    check_refused(PK("\x80\2NNR."), ONX_MALFORMED); /* call None */
    check_refused(PK("\x80\2K\1Q."), ONX_MALFORMED);
    end();
}

static void put_n(test_bytes *b, const char *text, size_t size, size_t n) {
    for (size_t i = 0; i < n; i++) test_put(b, text, size);
}

/* Deep, wide, and folded: each ends soon, in little memory. */
TEST(floods) {
    static const struct flood {
        const char *head, *text, *tail;
        size_t n;
        onx_status want;
    } floods[] = {
        {"\x80\2", "]", "", 1 << 24, ONX_LIMIT},
        {"\x80\2", "(", "", 1 << 24, ONX_LIMIT},
        {"\x80\2", "N", "", 1 << 24, ONX_LIMIT},
        {"\x80\2N", "\x94", ".", 1 << 24, ONX_LIMIT},
        {"\x80\2N", "\x85", ".", 200, ONX_LIMIT},                     /* depth */
        {"\x80\2N\x94", "h\001h\001\x86r\001", "", 1, ONX_MALFORMED}, /* cut off */
        {"\x80\2Nq\1", "h\001h\001\x86q\001", ".", 40, ONX_LIMIT},    /* 2^40 nodes */
        {"\x80\2]q\1",
         "N\x85q\2"
         "0",
         "h\001.", 1 << 22, ONX_LIMIT},
        {"\x80\2Nq\1",
         "h\001"
         "0",
         ".", 1 << 23, ONX_OK},
    };
    for (size_t i = 0; i < ONX_COUNT(floods); i++) {
        const struct flood *f = &floods[i];
        test_bytes b = {0};
        begin();
        test_put(&b, f->head, strlen(f->head));
        put_n(&b, f->text, strlen(f->text), f->n);
        test_put(&b, f->tail, strlen(f->tail));
        check_refused((onx_str){b.data, b.size}, f->want);
        CHECK(heap.peak < (size_t)192 << 20);
        if (heap.peak >= (size_t)192 << 20) fprintf(stderr, "    flood %zu: %zu\n", i, heap.peak);
        test_bytes_free(&b);
        end();
    }
}

/* Many small dicts, each with one key that is noted: the map of keys is limited too. */
TEST(flood_of_keys) {
    test_bytes b = {0};
    begin();
    test_put(&b, "\x80\2X\1\0\0\0kq\1", 10);
    put_n(&b, "}h\001h\001s0", 7, 1 << 21);
    test_put(&b, ".", 1);
    check_refused((onx_str){b.data, b.size}, ONX_LIMIT);
    CHECK(heap.peak < (size_t)192 << 20);
    test_bytes_free(&b);
    end();
}

static const char sample[] =
    "\x80\2c__torch__.a\nNet\n)\x81}(X\1\0\0\0xc__torch__.a\nSub\n)\x81}bq\1"
    "X\1\0\0\0yh\1X\1\0\0\0w](G\0\0\0\0\0\0\0\0K\1M\1\2eub.";

TEST(cut_off_anywhere) {
    onx_pickle p;
    begin();
    for (size_t n = 0; n < sizeof sample - 1; n++)
        check_refused((onx_str){sample, n}, ONX_MALFORMED);
    REQUIRE(!read_pk((onx_str){sample, sizeof sample - 1}, &p, NULL));
    onx_pickle_fini(&p);
    end();
}

TEST(memory_fails_anywhere) {
    for (size_t at = 1;; at++) {
        onx_pickle p;
        begin();
        heap.fail_at = heap.calls + at;
        onx_status status = read_pk((onx_str){sample, sizeof sample - 1}, &p, NULL);
        bool over = heap.failed == 0;
        if (!status) onx_pickle_fini(&p);
        CHECK(status == (over ? ONX_OK : ONX_NO_MEMORY));
        heap.fail_at = 0;
        end();
        if (over) break;
    }
}

/* ── PyTorch's files ─────────────────────────────────────────────────────────────────────────── */

/* Every pickle of an archive, and every tensor in it, loads. */
static size_t read_pickles(onx_archive *archive) {
    size_t tensors = 0;
    for (size_t i = 0; i < onx_archive_record_count(archive); i++) {
        onx_str name = onx_archive_record_name(archive, i);
        onx_pickle p;
        onx_diag diag = ONX_INIT(onx_diag);
        bool debug = onx_str_ends(name, ONX_LIT(".debug_pkl"));
        if (!debug && !onx_str_ends(name, ONX_LIT(".pkl"))) continue;
        if (!CHECK(onx_pickle_read(archive, name, &p, &diag) == ONX_OK)) {
            fprintf(stderr, "    %.*s: %s\n", ONX_FMT(name), diag.message);
            continue;
        }
        tensors += p.tensors;
        onx_pickle_fini(&p);
    }
    return tensors;
}

TEST(real_files) {
    static const char *const endings[] = {".pt", ".pt2"};
    size_t archives = 0, tensors = 0;
    if (!torch_folder()) SKIP("neither ONX_TORCH nor ONX_DATA has PyTorch's files");
    begin();
    for (size_t k = 0; k < ONX_COUNT(endings); k++) {
        test_files files = test_files_find(torch_folder(), endings[k]);
        for (size_t i = 0; i < files.count; i++) {
            onx_archive *archive = NULL;
            onx_diag diag = ONX_INIT(onx_diag);
            if (!CHECK(onx_archive_open(ctx, files.paths[i], &archive, &diag) == ONX_OK)) {
                fprintf(stderr, "    %s: %s\n", files.paths[i], diag.message);
                continue;
            }
            tensors += read_pickles(archive);
            archives++;
            onx_archive_close(archive);
        }
        test_files_free(&files);
    }
    end();
    printf("%zu archives, %zu tensors\n", archives, tensors);
    CHECK(archives > 0 && tensors > 0);
}

TEST_MAIN(E(plain_values) E(dicts_keep_order_and_find_keys) E(protocol_4) E(known_calls) E(objects)
              E(element_types) E(tensors_share_storages) E(initializers) E(tensors_without_data)
                  E(tensors_stay_in_their_storage) E(expanded_tensors_are_limited) E(other_tensors)
                      E(big_endian_tensors) E(refused) E(floods) E(flood_of_keys)
                          E(cut_off_anywhere) E(memory_fails_anywhere) E(real_files))
