/* test_npy.c: .npy and .npz files: by hand, every type there and back, and all that is refused. */
#include "ir/npy.h"

#include "base/zip.h"
#include "support.h"
#include "test.h"

#define INIT(literal)                                                                              \
    { (literal), sizeof(literal) - 1 }

/* With another limit for dimensions; 0: the usual one. */
static onx_context *new_context(test_heap *heap, uint32_t rank) {
    onx_context_options options = ONX_INIT(onx_context_options);
    options.limits.rank = rank;
    return test_context(heap, &options);
}

/* A .npy file of version 1.0; the header is not padded, which is fine. */
typedef struct file {
    char data[1024];
    size_t size;
} file;

static file make(const char *header, onx_str data) {
    file f = {.size = 10 + strlen(header) + data.size};
    uint16_t length = (uint16_t)strlen(header);
    memcpy(f.data, "\x93NUMPY\1\0", 8);
    memcpy(f.data + 8, &length, 2);
    memcpy(f.data + 10, header, length);
    if (data.size) memcpy(f.data + 10 + length, data.data, data.size);
    return f;
}

/* Reading into a document of its own, from an exact copy: the sanitizer sees reads past the end. */
typedef struct result {
    onx_doc *doc;
    char *copy;
    onx_tensor *tensor;
    onx_sequence *sequence;
    onx_status status;
    onx_diag diag;
} result;

static result read_in(onx_context *ctx, onx_str bytes, bool npz) {
    result r = {.copy = malloc(bytes.size + 1), .diag = ONX_INIT(onx_diag)};
    char *exact = r.copy + 1; /* unaligned, too */
    memcpy(exact, bytes.data, bytes.size);
    onx_str in = {exact, bytes.size};
    r.status = onx_doc_new(ctx, &r.doc, &r.diag);
    if (r.status) return r;
    r.status = npz ? onx_npz_read(r.doc, in, &r.sequence, &r.diag)
                   : onx_npy_read(r.doc, in, &r.tensor, &r.diag);
    return r;
}

static result read_file(const file *f) {
    return read_in(NULL, (onx_str){f->data, f->size}, false);
}

static void done(result *r) {
    onx_doc_free(r->doc);
    free(r->copy);
}

static bool has_bytes(const onx_tensor *tensor, onx_str want) {
    char got[1024];
    if (want.size > sizeof got) return false;
    if (onx_tensor_read(tensor, got, want.size, NULL) != ONX_OK) return false;
    return memcmp(got, want.data, want.size) == 0;
}

static void reads(const char *header, onx_str data, onx_dtype dtype, onx_str want) {
    file f = make(header, data);
    result r = read_file(&f);
    if (!CHECK(r.status == ONX_OK)) fprintf(stderr, "    %s: %s\n", header, r.diag.message);
    if (r.status == ONX_OK) {
        CHECK_EQ(onx_tensor_dtype(r.tensor), dtype);
        CHECK_EQ(onx_tensor_check(r.tensor, NULL), ONX_OK);
        if (!CHECK(has_bytes(r.tensor, want))) fprintf(stderr, "    %s\n", header);
    }
    done(&r);
}

static void refuses(const char *header, onx_str data, onx_status status, const char *word) {
    file f = make(header, data);
    result r = read_file(&f);
    CHECK_EQ(r.status, status);
    if (!CHECK(strstr(r.diag.message, word) != NULL))
        fprintf(stderr, "    %s: \"%s\" is not in \"%s\"\n", header, word, r.diag.message);
    done(&r);
}

/* ── Reading ─────────────────────────────────────────────────────────────────────────────────── */

#define ONE(descr) "{'descr': " descr ", 'fortran_order': False, 'shape': (1,), }"
#define TWO(descr) "{'descr': " descr ", 'fortran_order': False, 'shape': (2,), }"

TEST(types) {
    static const struct {
        const char *header;
        onx_str data;
        onx_dtype dtype;
        onx_str want;
    } cases[] = {
        {TWO("'|b1'"), INIT("\1\0"), ONX_DTYPE_BOOL, INIT("\1\0")},
        {TWO("'|u1'"), INIT("\1\2"), ONX_DTYPE_U8, INIT("\1\2")},
        {TWO("'|i1'"), INIT("\1\xff"), ONX_DTYPE_I8, INIT("\1\xff")},
        {ONE("'<u2'"), INIT("\1\2"), ONX_DTYPE_U16, INIT("\1\2")},
        {ONE("'>u2'"), INIT("\1\2"), ONX_DTYPE_U16, INIT("\2\1")},
        {ONE("'=i2'"), INIT("\1\2"), ONX_DTYPE_I16, INIT("\1\2")},
        {ONE("'u4'"), INIT("\1\2\3\4"), ONX_DTYPE_U32, INIT("\1\2\3\4")},
        {ONE("'>i4'"), INIT("\1\2\3\4"), ONX_DTYPE_I32, INIT("\4\3\2\1")},
        {ONE("'<u8'"), INIT("12345678"), ONX_DTYPE_U64, INIT("12345678")},
        {ONE("'>i8'"), INIT("12345678"), ONX_DTYPE_I64, INIT("87654321")},
        {ONE("'<f2'"), INIT("ab"), ONX_DTYPE_F16, INIT("ab")},
        {ONE("'>f4'"), INIT("abcd"), ONX_DTYPE_F32, INIT("dcba")},
        {ONE("'<f8'"), INIT("12345678"), ONX_DTYPE_F64, INIT("12345678")},
        {ONE("'<c8'"), INIT("12345678"), ONX_DTYPE_C64, INIT("12345678")},
        {ONE("'>c8'"), INIT("12345678"), ONX_DTYPE_C64, INIT("43218765")},
        {ONE("'>c16'"), INIT("12345678abcdefgh"), ONX_DTYPE_C128, INIT("87654321hgfedcba")},
        {ONE("'<V2'"), INIT("ab"), ONX_DTYPE_BF16, INIT("ab")},
        {ONE("'|V2'"), INIT("ab"), ONX_DTYPE_BF16, INIT("ab")},
        {ONE("'<f1'"), INIT("a"), ONX_DTYPE_F8E5M2, INIT("a")},
        {ONE("'bfloat16'"), INIT("ab"), ONX_DTYPE_BF16, INIT("ab")},
        {ONE("[('bfloat16', '<u2')]"), INIT("ab"), ONX_DTYPE_BF16, INIT("ab")},
        {ONE("[('bfloat16', '>u2')]"), INIT("ab"), ONX_DTYPE_BF16, INIT("ba")},
        {ONE("[('e4m3fn', '|u1')]"), INIT("a"), ONX_DTYPE_F8E4M3FN, INIT("a")},
        {ONE("[('e4m3fnuz', 'u1')]"), INIT("a"), ONX_DTYPE_F8E4M3FNUZ, INIT("a")},
        {ONE("[('e5m2', '|V1'),]"), INIT("a"), ONX_DTYPE_F8E5M2, INIT("a")},
        {ONE("[('e5m2fnuz', '|u1',)]"), INIT("a"), ONX_DTYPE_F8E5M2FNUZ, INIT("a")},
        {ONE("[('float8_e8m0fnu', '|u1')]"), INIT("a"), ONX_DTYPE_F8E8M0, INIT("a")},
        {ONE("[('float8e8m0', '|u1')]"), INIT("a"), ONX_DTYPE_F8E8M0, INIT("a")},
        {TWO("[('int4', '|i1')]"), INIT("\x03\xfd"), ONX_DTYPE_I4, INIT("\xd3")},
        {TWO("[('int4', '|i1')]"), INIT("\x03\x0d"), ONX_DTYPE_I4, INIT("\xd3")},
        {TWO("[('uint4', '|u1')]"), INIT("\x0f\x01"), ONX_DTYPE_U4, INIT("\x1f")},
        {TWO("[('float4e2m1', '|u1')]"), INIT("\x0f\x01"), ONX_DTYPE_F4E2M1, INIT("\x1f")},
        {TWO("[('int2', '|i1')]"), INIT("\xff\x01"), ONX_DTYPE_I2, INIT("\x07")},
        {TWO("[('uint2', '|u1')]"), INIT("\x03\x01"), ONX_DTYPE_U2, INIT("\x07")},
        {TWO("[('float6_e2m3fn', '|u1')]"), INIT("\x3f\x01"), ONX_DTYPE_F6E2M3, INIT("\x7f\0")},
        {TWO("[('float6e3m2', '|u1')]"), INIT("\x3f\x3f"), ONX_DTYPE_F6E3M2, INIT("\xff\x0f")},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++)
        reads(cases[i].header, cases[i].data, cases[i].dtype, cases[i].want);
}

/* The ways in which the same header can be written. */
TEST(headers) {
    static const char *const headers[] = {
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }",
        "{'shape': (2,3), 'fortran_order': False, 'descr': '|u1'}",
        "{\"descr\":\"|u1\",\"fortran_order\":False,\"shape\":(2,3,)}",
        "{ 'descr' : '|u1' , 'fortran_order' : False , 'shape' : ( 2L , 3L ) }   \n",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (002, 3, 1), }\n\n",
    };
    for (size_t i = 0; i < ONX_COUNT(headers); i++)
        reads(headers[i], ONX_LIT("123456"), ONX_DTYPE_U8, ONX_LIT("123456"));
    file f = make(headers[0], ONX_LIT("123456"));
    result r = read_file(&f);
    REQUIRE(r.status == ONX_OK);
    CHECK_EQ(onx_tensor_rank(r.tensor), 2);
    CHECK_EQ(onx_tensor_dim(r.tensor, 0), 2);
    CHECK_EQ(onx_tensor_dim(r.tensor, 1), 3);
    CHECK(r.tensor->raw_data.data == r.copy + 1 + 10 + strlen(headers[0])); /* in place */
    CHECK(r.tensor->name.size == 0);
    done(&r);
    /* Versions 2.0 and 3.0 have a longer length. */
    for (char version = 1; version <= 4; version++) {
        file g = make(headers[0], ONX_LIT("123456"));
        memmove(g.data + 12, g.data + 10, g.size - 10);
        memcpy(g.data + 10, "\0\0", 2);
        g.data[6] = version;
        g.size += 2;
        r = read_file(&g);
        CHECK_EQ(r.status, version == 1 ? ONX_MALFORMED : version == 4 ? ONX_UNSUPPORTED : ONX_OK);
        done(&r);
    }
}

#define SHAPED(shape, order) "{'descr': '<i2', 'fortran_order': " order ", 'shape': " shape ", }"

TEST(shapes) {
    reads(SHAPED("()", "False"), ONX_LIT("ab"), ONX_DTYPE_I16, ONX_LIT("ab"));
    reads(SHAPED("()", "True"), ONX_LIT("ab"), ONX_DTYPE_I16, ONX_LIT("ab"));
    reads(SHAPED("(0,)", "True"), ONX_LIT(""), ONX_DTYPE_I16, ONX_LIT(""));
    reads(SHAPED("(3, 0, 5)", "True"), ONX_LIT(""), ONX_DTYPE_I16, ONX_LIT(""));
    reads(SHAPED("(3,)", "True"), ONX_LIT("aabbcc"), ONX_DTYPE_I16, ONX_LIT("aabbcc"));
    reads(SHAPED("(1, 3)", "True"), ONX_LIT("aabbcc"), ONX_DTYPE_I16, ONX_LIT("aabbcc"));
    reads(SHAPED("(2, 3)", "True"), ONX_LIT("aabbccddeeff"), ONX_DTYPE_I16,
          ONX_LIT("aacceebbddff"));
    reads(SHAPED("(2, 1, 3)", "True"), ONX_LIT("aabbccddeeff"), ONX_DTYPE_I16,
          ONX_LIT("aacceebbddff"));
    reads("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }", ONX_LIT("aAbBcCdD"),
          ONX_DTYPE_I16, ONX_LIT("AaCcBbDd"));
    reads("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }", ONX_LIT("abcdefghijkl"),
          ONX_DTYPE_U8, ONX_LIT("agciekbhdjfl"));
    reads("{'descr': [('int4', 'i1')], 'fortran_order': True, 'shape': (2, 2), }",
          ONX_LIT("\1\2\3\4"), ONX_DTYPE_I4, ONX_LIT("\x31\x42"));
}

/* In another order, a thousand dimensions must not cost a thousandfold: those of 1 do not count. */
TEST(many_dimensions) {
    enum { N = 1 << 16 };
    test_heap heap = {0};
    onx_context *ctx = new_context(&heap, 0);
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    onx_buf_put(&buf, "\x93NUMPY\2\0\0\0\0\0", 12);
    onx_buf_puts(&buf, "{'descr': '|u1', 'fortran_order': True, 'shape': (2,");
    for (int i = 0; i < 1022; i++) onx_buf_puts(&buf, "1,");
    onx_buf_printf(&buf, "%d)}", N);
    uint32_t length = (uint32_t)buf.size - 12;
    memcpy(buf.data + 8, &length, 4);
    for (int i = 0; i < 2 * N; i++) onx_buf_putc(&buf, (char)(i % 2));
    REQUIRE(!buf.failed);
    result r = read_in(ctx, (onx_str){buf.data, buf.size}, false);
    REQUIRE(r.status == ONX_OK);
    CHECK_EQ(onx_tensor_rank(r.tensor), 1024);
    CHECK(r.tensor->raw_data.data[N - 1] == 0 && r.tensor->raw_data.data[N] == 1);
    done(&r);
    onx_buf_fini(&buf);
    onx_context_free(ctx);
    ctx = new_context(&heap, 3);
    file f = make(SHAPED("(1, 1, 1)", "False"), ONX_LIT("ab"));
    r = read_in(ctx, (onx_str){f.data, f.size}, false);
    CHECK_EQ(r.status, ONX_OK);
    done(&r);
    f = make(SHAPED("(1, 1, 1, 1)", "False"), ONX_LIT("ab"));
    r = read_in(ctx, (onx_str){f.data, f.size}, false);
    CHECK_EQ(r.status, ONX_LIMIT);
    done(&r);
    onx_context_free(ctx);
}

TEST(refused) {
    static const struct {
        const char *header;
        onx_status status;
        const char *word;
    } cases[] = {
        {"", ONX_MALFORMED, "'{' is expected"},
        {"x", ONX_MALFORMED, "'{' is expected"},
        {"{", ONX_MALFORMED, "a string is expected"},
        {"{}", ONX_MALFORMED, "a key is missing"},
        {"{'descr': '|u1', 'fortran_order': False, }", ONX_MALFORMED, "a key is missing"},
        {"{'descr': '|u1', 'descr': '|u1', }", ONX_MALFORMED, "unknown or repeated"},
        {"{'descr': '|u1', 'hello': 1}", ONX_MALFORMED, "unknown or repeated"},
        {"{'descr' '|u1'}", ONX_MALFORMED, "':' is expected"},
        {"{'descr': '|u1' 'shape': ()}", ONX_MALFORMED, "',' is expected"},
        {"{'descr': '|u1}", ONX_MALFORMED, "does not end"},
        {"{'descr': |u1}", ONX_MALFORMED, "a string is expected"},
        {"{'descr': None}", ONX_MALFORMED, "a string is expected"},
        {"{'fortran_order': 0}", ONX_MALFORMED, "'False' is expected"},
        {"{'fortran_order': true}", ONX_MALFORMED, "'False' is expected"},
        {"{'shape': 2}", ONX_MALFORMED, "'(' is expected"},
        {"{'shape': (2)}", ONX_MALFORMED, "not a tuple"},
        {"{'shape': (2 3)}", ONX_MALFORMED, "',' is expected"},
        {"{'shape': (2,,3)}", ONX_MALFORMED, "a dimension"},
        {"{'shape': (-2,)}", ONX_MALFORMED, "a dimension"},
        {"{'shape': (2.0,)}", ONX_MALFORMED, "',' is expected"},
        {"{'shape': (9223372036854775808,)}", ONX_MALFORMED, "a dimension"},
        {"{'shape': (1, ", ONX_MALFORMED, "a dimension"},
        {SHAPED("(1,)", "False") "?", ONX_MALFORMED, "something follows"},
        {SHAPED("(2,)", "False"), ONX_MALFORMED, "2 bytes follow"},
        {SHAPED("(0,)", "False"), ONX_MALFORMED, "2 bytes follow"},
        {SHAPED("(4611686018427387905,)", "False"), ONX_MALFORMED, "2 bytes follow"},
        {SHAPED("(9223372036854775807, 3)", "False"), ONX_INVALID, "overflow"},
        {SHAPED("(4294967296, 4294967296, 0)", "False"), ONX_INVALID, "overflow"},
        {ONE("'|O'"), ONX_UNSUPPORTED, "pickled"},
        {ONE("'O'"), ONX_UNSUPPORTED, "pickled"},
        {ONE("'<V1'"), ONX_UNSUPPORTED, "'<V1'"},
        {ONE("'<f16'"), ONX_UNSUPPORTED, "'<f16'"},
        {ONE("'<M8[ns]'"), ONX_UNSUPPORTED, "'<M8[ns]'"},
        {ONE("'<V3'"), ONX_UNSUPPORTED, "'<V3'"},
        {ONE("''"), ONX_UNSUPPORTED, "''"},
        {ONE("'<'"), ONX_UNSUPPORTED, "'<'"},
        {ONE("'<U'"), ONX_UNSUPPORTED, "'<U'"},
        {ONE("'<Ux'"), ONX_MALFORMED, "width"},
        {ONE("'<U18446744073709551615'"), ONX_MALFORMED, "width"},
        {ONE("'<U4611686018427387903'"), ONX_MALFORMED, "bytes follow"},
        {ONE("[('x', '<i2')]"), ONX_UNSUPPORTED, "records"},
        {ONE("[('bfloat16', '<u2'), ('y', '<u2')]"), ONX_UNSUPPORTED, "records"},
        {ONE("[('bfloat16', '<u2', (2,))]"), ONX_UNSUPPORTED, "records"},
        {ONE("[('bfloat16', '|u1')]"), ONX_MALFORMED, "field's size"},
        {ONE("[('bfloat16', '<f2')]"), ONX_MALFORMED, "field's size"},
        {ONE("[('e4m3fn', '')]"), ONX_MALFORMED, "field's size"},
        {ONE("[('e4m3fn', '|u12')]"), ONX_MALFORMED, "field's size"},
        {ONE("[]"), ONX_MALFORMED, "'(' is expected"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++)
        refuses(cases[i].header, ONX_LIT("ab"), cases[i].status, cases[i].word);
    refuses(TWO("'<U0'"), ONX_LIT(""), ONX_UNSUPPORTED, "no width");
    file f = make(ONE("'<V1'"), ONX_LIT("a"));
    result r = read_file(&f);
    CHECK(strstr(r.diag.hint, "8-bit") != NULL && r.diag.offset == 10 + 15);
    done(&r);
    f.data[7] = 1;
    r = read_file(&f);
    CHECK_EQ(r.status, ONX_UNSUPPORTED);
    CHECK_STR(r.diag.message, "version 1.1 of the .npy format is not known");
    done(&r);
    f.data[0] = '?';
    r = read_file(&f);
    CHECK_EQ(r.status, ONX_MALFORMED);
    done(&r);
}

static void has_strings(result *r, size_t n, const char *const *want) {
    if (!CHECK(r->status == ONX_OK)) fprintf(stderr, "    %s\n", r->diag.message);
    if (r->status == ONX_OK) {
        CHECK_EQ(onx_tensor_dtype(r->tensor), ONX_DTYPE_STRING);
        CHECK_EQ(onx_tensor_check(r->tensor, NULL), ONX_OK);
        CHECK_EQ(r->tensor->string_data.n, n);
        for (size_t i = 0; i < n; i++) {
            onx_str s = {NULL, 0};
            CHECK_EQ(onx_tensor_string_at(r->tensor, i, &s, NULL), ONX_OK);
            CHECK_STR(s.data, want[i]);
        }
    }
    done(r);
}

TEST(strings) {
    file f = make(TWO("'<U3'"), ONX_LIT("a\0\0\0\xe9\0\0\0\xac\x20\0\0"
                                        "\0\xf6\x01\0\0\0\0\0\0\0\0\0"));
    result r = read_file(&f);
    has_strings(&r, 2, (const char *[]){"a\xc3\xa9\xe2\x82\xac", "\xf0\x9f\x98\x80"});
    f = make(TWO("'>U1'"), ONX_LIT("\0\0\0a\0\0\0\0"));
    r = read_file(&f);
    has_strings(&r, 2, (const char *[]){"a", ""});
    f = make(TWO("'|S3'"), ONX_LIT("abcd\0\0"));
    r = read_file(&f);
    has_strings(&r, 2, (const char *[]){"abc", "d"});
    f = make("{'descr': '|S1', 'fortran_order': True, 'shape': (2,2)}", ONX_LIT("abcd"));
    r = read_file(&f);
    has_strings(&r, 4, (const char *[]){"a", "c", "b", "d"});
    f = make("{'descr': '<U0', 'fortran_order': False, 'shape': (0,)}", ONX_LIT(""));
    r = read_file(&f);
    has_strings(&r, 0, NULL);
    /* A NUL inside is part of the string. */
    f = make(ONE("'|S4'"), ONX_LIT("a\0b\0"));
    r = read_file(&f);
    REQUIRE(r.status == ONX_OK);
    CHECK(onx_str_eq(r.tensor->string_data.v[0], ONX_LIT("a\0b")));
    done(&r);
    refuses(ONE("'<U1'"), ONX_LIT("\0\xd8\0\0"), ONX_MALFORMED, "Unicode"); /* a surrogate */
    refuses(ONE("'<U1'"), ONX_LIT("\0\0\x11\0"), ONX_MALFORMED, "Unicode"); /* past the end of it */
}

/* ── Writing ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status write_tensor(const onx_tensor *tensor, onx_buf *buf, onx_diag *diag) {
    buf->size = 0;
    onx_writer out = onx_buf_writer(buf);
    return onx_npy_write(tensor, &out, diag);
}

/* As numpy.save writes it. */
TEST(as_numpy) {
    static const char want[] =
        "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }              "
        "                                            \n";
    static const char scalar[] =
        "\x93NUMPY\1\0v\0{'descr': '|u1', 'fortran_order': False, 'shape': (), }                  "
        "                                            \n";
    onx_tensor *t = NULL;
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    const float x[] = {1, 2, 3, 4, 5, 6};
    REQUIRE(onx_tensor_new(NULL, "x", ONX_DTYPE_F32, 2, (int64_t[]){2, 3}, x, 24, &t, NULL) ==
            ONX_OK);
    REQUIRE(write_tensor(t, &buf, NULL) == ONX_OK);
    CHECK_EQ(buf.size, 128 + 24);
    CHECK(memcmp(buf.data, want, 128) == 0 && memcmp(buf.data + 128, x, 24) == 0);
    onx_tensor_free(t);
    REQUIRE(onx_tensor_new(NULL, "x", ONX_DTYPE_U8, 0, NULL, "!", 1, &t, NULL) == ONX_OK);
    REQUIRE(write_tensor(t, &buf, NULL) == ONX_OK);
    CHECK(buf.size == 129 && memcmp(buf.data, scalar, 128) == 0 && buf.data[128] == '!');
    onx_tensor_free(t);
    /* Room for the first dimension to grow counts. */
    static const int64_t ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t rank = 14; rank <= 15; rank++) {
        REQUIRE(onx_tensor_new(NULL, "x", ONX_DTYPE_U8, rank, ones, "!", 1, &t, NULL) == ONX_OK);
        CHECK_EQ(write_tensor(t, &buf, NULL), ONX_OK);
        CHECK_EQ(buf.size, rank == 14 ? 129 : 193);
        onx_tensor_free(t);
    }
    onx_buf_fini(&buf);
}

/* Every type there and back, stored as raw bytes and as typed lists. */
TEST(round_trip) {
    static const int64_t shapes[][2] = {{0, 3}, {1, 1}, {3, 3}, {5, 7}};
    onx_buf buf, typed;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    onx_buf_init(&typed, onx_context_or_default(NULL));
    for (int d = 1; d < ONX_DTYPE_COUNT; d++)
        for (size_t s = 0; d != ONX_DTYPE_STRING && s < ONX_COUNT(shapes); s++) {
            onx_dtype dtype = (onx_dtype)d;
            char data[16 * 35], clean[16 * 35];
            size_t bytes = 0, count = (size_t)(shapes[s][0] * shapes[s][1]);
            onx_dtype_bytes(dtype, count, &bytes);
            for (size_t i = 0; i < bytes; i++) data[i] = (char)(i * 73 + 11);
            if (dtype == ONX_DTYPE_BOOL) memset(data, 1, bytes);
            onx_dtype_convert(dtype, data, dtype, clean, count, true); /* no bits left over */
            onx_tensor *t = NULL;
            REQUIRE(onx_tensor_new(NULL, "t", dtype, 2, shapes[s], clean, bytes, &t, NULL) ==
                    ONX_OK);
            CHECK_EQ(write_tensor(t, &buf, NULL), ONX_OK);
            CHECK_EQ(onx_tensor_store_typed(t, NULL), ONX_OK);
            CHECK_EQ(write_tensor(t, &typed, NULL), ONX_OK);
            CHECK(buf.size == typed.size && memcmp(buf.data, typed.data, buf.size) == 0);
            onx_tensor_free(t);
            unsigned bits = onx_dtype_bits(dtype);
            CHECK_EQ(buf.size, 128 + count * (bits < 8 ? 1 : bits / 8));
            result r = read_in(NULL, (onx_str){buf.data, buf.size}, false);
            CHECK_EQ(r.status, ONX_OK);
            if (r.status == ONX_OK) {
                CHECK_EQ(onx_tensor_dtype(r.tensor), dtype);
                CHECK_EQ(onx_tensor_dim(r.tensor, 1), shapes[s][1]);
                CHECK(has_bytes(r.tensor, (onx_str){clean, bytes}));
            }
            done(&r);
        }
    onx_buf_fini(&buf);
    onx_buf_fini(&typed);
}

/* Values as numpy shows them: signed 4-bit integers sign-extended, truth as 0 and 1. */
TEST(unpacked) {
    onx_tensor *t = NULL;
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    REQUIRE(onx_tensor_new(NULL, "t", ONX_DTYPE_I4, 1, (int64_t[]){3}, "\xd3\x08", 2, &t, NULL) ==
            ONX_OK);
    REQUIRE(write_tensor(t, &buf, NULL) == ONX_OK);
    CHECK(strstr(buf.data + 10, "'descr': [('int4', '|i1')]") != NULL);
    CHECK(memcmp(buf.data + 128, "\x03\xfd\xf8", 3) == 0);
    onx_tensor_free(t);
    REQUIRE(onx_tensor_new(NULL, "t", ONX_DTYPE_BOOL, 1, (int64_t[]){3}, "\0\1\7", 3, &t, NULL) ==
            ONX_OK);
    REQUIRE(write_tensor(t, &buf, NULL) == ONX_OK);
    CHECK(memcmp(buf.data + 128, "\0\1\1", 3) == 0);
    onx_tensor_free(t);
    onx_buf_fini(&buf);
}

/* The tensor of a .npy file with these bytes as strings. */
static void make_strings(onx_str *strings, size_t n, onx_doc **doc, onx_tensor **tensor) {
    if (onx_doc_new(NULL, doc, NULL) != ONX_OK) abort();
    onx_tensor *t = onx_msg_new(*doc, &onx_desc_tensor);
    if (!t || !onx_i64s_push(*doc, &t->dims, (int64_t)n)) abort();
    t->data_type = ONX_DTYPE_STRING;
    onx_msg_set_has(t, ONX_ROW(tensor, data_type));
    t->string_data = (onx_strs){strings, n, n};
    *tensor = t;
}

static onx_status write_strings(onx_str *strings, size_t n, onx_buf *buf) {
    onx_doc *doc;
    onx_tensor *t;
    make_strings(strings, n, &doc, &t);
    onx_status status = write_tensor(t, buf, NULL);
    onx_doc_free(doc);
    return status;
}

TEST(write_strings) {
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    onx_str some[] = {ONX_LIT("a"), ONX_LIT(""), ONX_LIT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")};
    REQUIRE(write_strings(some, 3, &buf) == ONX_OK);
    CHECK(strstr(buf.data + 10, "'<U3'") != NULL && buf.size == 128 + 36);
    CHECK(memcmp(buf.data + 128 + 24, "\xe9\0\0\0\xac\x20\0\0\0\xf6\x01", 12) == 0);
    result r = read_in(NULL, (onx_str){buf.data, buf.size}, false);
    has_strings(&r, 3, (const char *[]){some[0].data, "", some[2].data});
    some[1] = ONX_LIT("\xff\xfe");
    REQUIRE(write_strings(some, 3, &buf) == ONX_OK);
    CHECK(strstr(buf.data + 10, "'|S9'") != NULL && buf.size == 128 + 27);
    r = read_in(NULL, (onx_str){buf.data, buf.size}, false);
    has_strings(&r, 3, (const char *[]){some[0].data, some[1].data, some[2].data});
    some[1] = ONX_LIT("");
    REQUIRE(write_strings(some + 1, 1, &buf) == ONX_OK);
    CHECK(strstr(buf.data + 10, "'<U1'") != NULL && buf.size == 128 + 4);
    REQUIRE(write_strings(some, 0, &buf) == ONX_OK);
    CHECK_EQ(buf.size, 128);
    some[1] = ONX_LIT("x\0");
    CHECK_EQ(write_strings(some, 3, &buf), ONX_UNSUPPORTED);
    /* A long string among many short ones would become enormous. */
    enum { N = 1000 };
    static char text[100000];
    static onx_str many[N];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < N; i++) many[i] = ONX_LIT("y");
    many[7] = (onx_str){text, sizeof text};
    CHECK_EQ(write_strings(many, N, &buf), ONX_LIMIT);
    many[7] = (onx_str){text, 10000};
    CHECK_EQ(write_strings(many, N, &buf), ONX_OK);
    CHECK_EQ(buf.size, 128 + 40000 * N);
    onx_buf_fini(&buf);
}

TEST(not_written) {
    onx_doc *doc;
    onx_tensor *t;
    onx_buf buf;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf_init(&buf, onx_context_or_default(NULL));
    make_strings(NULL, 3, &doc, &t);
    t->string_data.n = 0; /* they are missing */
    CHECK_EQ(write_tensor(t, &buf, NULL), ONX_INVALID);
    t->data_type = 99;
    CHECK_EQ(write_tensor(t, &buf, NULL), ONX_INVALID);
    t->data_type = ONX_DTYPE_I32;
    t->dims.v[0] = INT64_MAX / 8; /* must not be allocated */
    CHECK_EQ(write_tensor(t, &buf, NULL), ONX_INVALID);
    t->string_data = (onx_strs){NULL, 0, 0};
    t->data_location = 1;
    CHECK_EQ(write_tensor(t, &buf, &diag), ONX_NOT_FOUND);
    CHECK(buf.size == 0 && diag.status == ONX_NOT_FOUND);
    onx_doc_free(doc);
    onx_buf_fini(&buf);
}

/* A header too long for version 1.0. */
TEST(version_two) {
    enum { RANK = 22000 };
    static int64_t dims[RANK];
    for (size_t i = 0; i < RANK; i++) dims[i] = 1;
    test_heap heap = {0};
    onx_context *ctx = new_context(&heap, RANK);
    onx_tensor *t = NULL;
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    for (size_t rank = RANK - 1000; rank <= RANK; rank += 1000) {
        REQUIRE(onx_tensor_new(ctx, "t", ONX_DTYPE_U8, rank, dims, "!", 1, &t, NULL) == ONX_OK);
        REQUIRE(write_tensor(t, &buf, NULL) == ONX_OK);
        onx_tensor_free(t);
        CHECK_EQ(buf.data[6], rank == RANK ? 2 : 1);
        CHECK_EQ(buf.size % 64, 1);
        result r = read_in(ctx, (onx_str){buf.data, buf.size}, false);
        CHECK(r.status == ONX_OK && onx_tensor_rank(r.tensor) == rank);
        done(&r);
    }
    onx_buf_fini(&buf);
    onx_context_free(ctx);
}

/* ── Archives ────────────────────────────────────────────────────────────────────────────────── */

static const onx_tensor *tensor_at(const onx_sequence *sequence, size_t index) {
    const onx_msg *m = sequence->tensor_values.first;
    while (m && index-- > 0) m = m->next;
    return (const onx_tensor *)m;
}

static onx_status make_archive(onx_context *ctx, const char *const *names, size_t n, onx_buf *buf) {
    onx_doc *doc;
    ONX_TRY(onx_doc_new(ctx, &doc, NULL));
    onx_sequence *s = onx_msg_new(doc, &onx_desc_sequence);
    onx_status status = s ? ONX_OK : ONX_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++) {
        onx_tensor *t = onx_msg_new(doc, &onx_desc_tensor);
        if (!t || !onx_i64s_push(doc, &t->dims, 2) ||
            !onx_doc_str(doc, onx_str_of(names[i]), &t->name)) {
            status = ONX_NO_MEMORY;
            break;
        }
        t->data_type = ONX_DTYPE_U8;
        t->raw_data = ONX_LIT("hi");
        onx_msg_set_has(t, ONX_ROW(tensor, raw_data));
        onx_msg_append(s, ONX_ROW(sequence, tensor_values), t);
    }
    onx_writer out = onx_buf_writer(buf);
    if (!status) status = onx_npz_write(s, &out, NULL);
    onx_doc_free(doc);
    return status;
}

TEST(archive) {
    static const char *const names[] = {"a", "", "/layer/w:0", "\xc3\xb6"};
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    REQUIRE(make_archive(NULL, names, 4, &buf) == ONX_OK);
    result r = read_in(NULL, (onx_str){buf.data, buf.size}, true);
    REQUIRE(r.status == ONX_OK);
    CHECK_EQ(r.sequence->elem_type, ONX_DATA_TENSOR);
    CHECK_EQ(r.sequence->tensor_values.count, 4);
    CHECK_STR(onx_tensor_name(tensor_at(r.sequence, 0)), "a");
    CHECK_STR(onx_tensor_name(tensor_at(r.sequence, 1)), "arr_1");
    CHECK_STR(onx_tensor_name(tensor_at(r.sequence, 2)), "/layer/w:0");
    CHECK_STR(onx_tensor_name(tensor_at(r.sequence, 3)), "\xc3\xb6");
    CHECK(has_bytes(tensor_at(r.sequence, 3), ONX_LIT("hi")));
    done(&r);
    buf.size = 0;
    CHECK_EQ(make_archive(NULL, (const char *[]){"a", "a"}, 2, &buf), ONX_CONFLICT);
    CHECK_EQ(make_archive(NULL, (const char *[]){"", "", "arr_1"}, 3, &buf), ONX_CONFLICT);
    buf.size = 0;
    REQUIRE(make_archive(NULL, NULL, 0, &buf) == ONX_OK);
    r = read_in(NULL, (onx_str){buf.data, buf.size}, true);
    CHECK(r.status == ONX_OK && r.sequence->tensor_values.count == 0);
    done(&r);
    onx_buf_fini(&buf);
}

static result read_entry(onx_str name, onx_str content) {
    onx_buf buf;
    onx_zip_writer zip;
    onx_context *ctx = onx_context_or_default(NULL);
    onx_buf_init(&buf, ctx);
    onx_writer out = onx_buf_writer(&buf);
    onx_zip_writer_init(&zip, ctx, &out);
    if (onx_zip_writer_add(&zip, name, &content, 1, NULL) || onx_zip_writer_finish(&zip, NULL))
        abort();
    onx_zip_writer_fini(&zip);
    result r = read_in(NULL, (onx_str){buf.data, buf.size}, true);
    onx_buf_fini(&buf);
    return r;
}

TEST(archive_refused) {
    file good = make(ONE("'|u1'"), ONX_LIT("!"));
    result r = read_entry(ONX_LIT("x.npy"), (onx_str){good.data, good.size});
    CHECK_EQ(r.status, ONX_OK);
    done(&r);
    r = read_entry(ONX_LIT("x.txt"), (onx_str){good.data, good.size});
    CHECK_EQ(r.status, ONX_UNSUPPORTED);
    CHECK_STR(r.diag.place, "entry 'x.txt'");
    done(&r);
    r = read_entry(ONX_LIT("\xff.npy"), (onx_str){good.data, good.size});
    CHECK_EQ(r.status, ONX_UNSUPPORTED);
    done(&r);
    r = read_entry(ONX_LIT("x.npy"), ONX_LIT("\x93NUMPY"));
    CHECK_EQ(r.status, ONX_MALFORMED);
    CHECK_STR(r.diag.place, "entry 'x.npy'");
    done(&r);
    static char name[65535 + 1];
    memset(name, 'n', sizeof name);
    memcpy(name + 65535 - 4, ".npy", 4);
    r = read_entry((onx_str){name, 65535}, (onx_str){good.data, good.size});
    CHECK_EQ(r.status, ONX_OK);
    done(&r);
    test_heap heap = {0};
    onx_context *ctx = new_context(&heap, 0);
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    REQUIRE(make_archive(ctx, (const char *[]){"123456"}, 1, &buf) == ONX_OK);
    ctx->limits.name_bytes = 10;
    r = read_in(ctx, (onx_str){buf.data, buf.size}, true);
    CHECK_EQ(r.status, ONX_OK);
    done(&r);
    ctx->limits.name_bytes = 9;
    r = read_in(ctx, (onx_str){buf.data, buf.size}, true);
    CHECK_EQ(r.status, ONX_LIMIT);
    done(&r);
    onx_buf_fini(&buf);
    onx_context_free(ctx);
}

/* numpy.savez_compressed(file, a=numpy.zeros(100, 'u1')) */
static const char compressed[] =
    "\x50\x4b\x03\x04\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\x06\xe2\x0c\xd6\xff\xff"
    "\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00\x61\x2e\x6e\x70\x79\x01\x00\x10\x00\xe4"
    "\x00\x00\x00\x00\x00\x00\x00\x49\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b"
    "\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x5e\x53\x6a\xa8"
    "\xae\xa3\xa0\x9e\x96\x5f\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc"
    "\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a\x86\x06\x06\x3a\x9a\x3a\x0a\xb5"
    "\x0a\x64\x03\x2e\x06\x3a\x00\x00\x50\x4b\x01\x02\x2d\x03\x2d\x00\x00\x00\x08\x00"
    "\x00\x00\x21\x00\x06\xe2\x0c\xd6\x49\x00\x00\x00\xe4\x00\x00\x00\x05\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00\x61\x2e\x6e\x70\x79\x50"
    "\x4b\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\x33\x00\x00\x00\x80\x00\x00\x00\x00"
    "\x00";

TEST(compressed) {
    result r = read_in(NULL, (onx_str){compressed, sizeof compressed - 1}, true);
    if (r.status == ONX_UNSUPPORTED) {
        CHECK(strstr(r.diag.message, "zlib") != NULL);
        done(&r);
        SKIP("built without zlib");
    }
    REQUIRE(r.status == ONX_OK);
    CHECK_STR(onx_tensor_name(tensor_at(r.sequence, 0)), "a");
    CHECK(has_bytes(tensor_at(r.sequence, 0), (onx_str){(char[100]){0}, 100}));
    done(&r);
}

/* 100 KB that claim to inflate to 100 MB. */
TEST(bomb) {
    enum { PACKED = 100000, INFLATED = 100000000 };
    static char data[PACKED];
    onx_context *ctx = onx_context_or_default(NULL);
    onx_buf buf;
    onx_zip_writer zip;
    onx_buf_init(&buf, ctx);
    onx_writer out = onx_buf_writer(&buf);
    onx_zip_writer_init(&zip, ctx, &out);
    CHECK_EQ(onx_zip_writer_add(&zip, ONX_LIT("x.npy"), &(onx_str){data, PACKED}, 1, NULL), ONX_OK);
    size_t directory = buf.size;
    CHECK_EQ(onx_zip_writer_finish(&zip, NULL), ONX_OK);
    onx_zip_writer_fini(&zip);
    buf.data[8] = buf.data[directory + 10] = ONX_ZIP_DEFLATED;
    memcpy(buf.data + 22, &(uint32_t){INFLATED}, 4);
    memcpy(buf.data + directory + 24, &(uint32_t){INFLATED}, 4);
    result r = read_in(NULL, (onx_str){buf.data, buf.size}, true);
    CHECK_EQ(r.status, ONX_LIMIT);
    done(&r);
    onx_buf_fini(&buf);
}

/* ── Trouble ─────────────────────────────────────────────────────────────────────────────────── */

/* Cut at every byte, and every byte changed: an error or a tensor that is well-formed. */
static void damage(onx_str good, bool npz) {
    static const unsigned char masks[] = {0x01, 0x10, 0x80, 0xff};
    char *bytes = malloc(good.size);
    test_heap heap = {0};
    onx_context *ctx = new_context(&heap, 0);
    memcpy(bytes, good.data, good.size);
    for (size_t i = 0; i < good.size * (ONX_COUNT(masks) + 1); i++) {
        size_t at = i / (ONX_COUNT(masks) + 1), kind = i % (ONX_COUNT(masks) + 1);
        bool cut = kind == ONX_COUNT(masks);
        if (!cut) bytes[at] ^= (char)masks[kind];
        result r = read_in(ctx, (onx_str){bytes, cut ? at : good.size}, npz);
        if (!cut) bytes[at] ^= (char)masks[kind];
        if (cut) CHECK(r.status != ONX_OK);
        if (r.status == ONX_OK && !npz) CHECK_EQ(onx_tensor_check(r.tensor, NULL), ONX_OK);
        CHECK(r.status == r.diag.status);
        done(&r);
    }
    CHECK_EQ(onx_context_memory_used(ctx), 0);
    onx_context_free(ctx);
    free(bytes);
}

TEST(damage) {
    file f =
        make("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", ONX_LIT("aabbccddeeff"));
    damage((onx_str){f.data, f.size}, false);
    f = make(TWO("[('int4', '|i1')]"), ONX_LIT("ab"));
    damage((onx_str){f.data, f.size}, false);
    f = make(TWO("'<U3'"), ONX_LIT("a\0\0\0b\0\0\0c\0\0\0d\0\0\0\0\0\0\0\0\0\0\0"));
    damage((onx_str){f.data, f.size}, false);
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    REQUIRE(make_archive(NULL, (const char *[]){"a", "b"}, 2, &buf) == ONX_OK);
    damage((onx_str){buf.data, buf.size}, true);
    onx_buf_fini(&buf);
}

/* Reads the file and writes what it read. */
static onx_status copy_file(onx_context *ctx, onx_str bytes, bool npz) {
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    onx_writer out = onx_buf_writer(&buf);
    result r = read_in(ctx, bytes, npz);
    onx_status status = r.status;
    if (!status)
        status = npz ? onx_npz_write(r.sequence, &out, NULL) : onx_npy_write(r.tensor, &out, NULL);
    if (status == ONX_IO && buf.failed) status = ONX_NO_MEMORY;
    done(&r);
    onx_buf_fini(&buf);
    return status;
}

TEST(no_memory) {
    onx_buf archive;
    onx_buf_init(&archive, onx_context_or_default(NULL));
    REQUIRE(make_archive(NULL, (const char *[]){"a", "b"}, 2, &archive) == ONX_OK);
    file files[] = {
        make(SHAPED("(2, 3)", "True"), ONX_LIT("aabbccddeeff")),
        make(TWO("[('int4', '|i1')]"), ONX_LIT("ab")),
        make(TWO("'>U1'"), ONX_LIT("\0\0\0a\0\0\0b")),
        make(TWO("'|b1'"), ONX_LIT("\0\1")),
    };
    for (size_t i = 0; i <= ONX_COUNT(files); i++) {
        bool npz = i == ONX_COUNT(files);
        onx_str bytes = {npz ? archive.data : files[i].data, npz ? archive.size : files[i].size};
        test_heap heap = {0};
        for (size_t fail_at = 2;; fail_at++) { /* 1 is the context itself */
            heap = (test_heap){.fail_at = fail_at, .fail_count = 1};
            onx_context *ctx = new_context(&heap, 0);
            onx_status status = copy_file(ctx, bytes, npz);
            CHECK_EQ(onx_context_memory_used(ctx), 0);
            onx_context_free(ctx);
            if (!heap.failed) {
                CHECK_EQ(status, ONX_OK);
                break;
            }
            CHECK_EQ(status, ONX_NO_MEMORY);
        }
        CHECK(heap.calls > 4);
    }
    onx_buf_fini(&archive);
}

TEST_MAIN(E(types) E(headers) E(shapes) E(many_dimensions) E(refused) E(strings) E(as_numpy)
              E(round_trip) E(unpacked) E(write_strings) E(not_written) E(version_two) E(archive)
                  E(archive_refused) E(compressed) E(bomb) E(damage) E(no_memory))
