/* test_shape_ops.c: kernels that only move elements: against ONNX's backend tests, and odd
 * cases. */
#include "test.h"

#include <math.h>

#include "ir/dtype.h"
#include "kernel.h"
#include "support.h"

/* ── Operands of any type, as numbers ────────────────────────────────────────────────────────── */

enum { LARGE = 4096 }; /* elements of the largest operand here */

static const onx_dtype dtypes[] = {ONX_DTYPE_U8,   ONX_DTYPE_F16, ONX_DTYPE_F32, ONX_DTYPE_I64,
                                   ONX_DTYPE_C128, ONX_DTYPE_I4,  ONX_DTYPE_U2,  ONX_DTYPE_STRING};

/* An operand whose element i is a pattern of `code[i]`; every type here tells at least 4 apart. */
typedef struct filled {
    onx_operand operand;
    char data[LARGE * 16 + 1];
} filled;

static void fill(filled *f, onx_dtype dtype, size_t rank, const int64_t *dims,
                 const uint8_t *code) {
    f->operand = (onx_operand){0};
    if (!onx_operand_shape(&f->operand, dtype, rank, dims)) abort();
    size_t n = (size_t)f->operand.count, bits = onx_dtype_bits(dtype), size = bits / 8;
    if (n > LARGE) abort();
    char *data = f->data + 1; /* not aligned */
    if (dtype == ONX_DTYPE_STRING) {
        onx_object *object = NULL;
        if (onx_object_tensor(onx_context_or_default(NULL), dtype, rank, dims, &object, NULL))
            abort();
        for (size_t i = 0; i < n; i++) {
            char text[4] = {'s', (char)('a' + code[i] % 26), (char)('a' + code[i] / 26), 0};
            if (onx_object_set_string(object, (int64_t)i, onx_str_of(text), NULL)) abort();
        }
        onx_operand_show(&f->operand, object);
        return;
    }
    if (bits < 8) onx_dtype_pack((unsigned)bits, code, data, n);
    for (size_t i = 0; i < n && bits >= 8; i++) memset(data + i * size, code[i], size);
    f->operand.data = n ? data : NULL;
}

static void empty(filled *f) {
    onx_object_release(f->operand.object);
    f->operand = (onx_operand){0};
}

/* Element i as the code it was made of; -1: it was not made by fill. */
static int code_of(const onx_operand *operand, size_t i) {
    unsigned bits = onx_dtype_bits((onx_dtype)operand->dtype);
    if (operand->dtype == ONX_DTYPE_STRING) {
        onx_str s = operand->object->strings[i];
        if (s.size == 0) return 0;
        return s.size == 3 && s.data[0] == 's' ? s.data[1] - 'a' + 26 * (s.data[2] - 'a') : -1;
    }
    const uint8_t *data = operand->data;
    if (bits < 8) return data[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
    for (size_t j = 1; j < bits / 8; j++)
        if (data[i * bits / 8 + j] != data[i * bits / 8]) return -1;
    return data[i * bits / 8];
}

/* Has the output this shape, and these codes (cut to what the type can hold)? */
static bool has(const kernel_result *r, size_t rank, const int64_t *dims, const uint8_t *code) {
    const onx_operand *out = &r->out[0];
    bool same = r->status == ONX_OK && out->rank == rank;
    if (r->status) fprintf(stderr, "    %s\n", r->diag.message);
    for (size_t i = 0; same && i < rank; i++) same = out->dims[i] == dims[i];
    unsigned bits = same ? onx_dtype_bits((onx_dtype)out->dtype) : 0;
    unsigned mask = bits && bits < 8 ? (1u << bits) - 1 : 255;
    for (size_t i = 0; same && i < (size_t)out->count; i++)
        same = code_of(out, i) == (int)(code[i] & mask);
    return same;
}

static onx_operand ints(int64_t n, int64_t *values) {
    onx_operand made = {0};
    if (!onx_operand_shape(&made, ONX_DTYPE_I64, 1, &n)) abort();
    made.data = values;
    return made;
}

/* ── Against loops over coordinates ──────────────────────────────────────────────────────────── */

typedef struct box { /* a random tensor */
    size_t rank;
    int64_t dims[ONX_RANK_MAX];
    uint8_t code[LARGE];
    size_t count;
} box;

static void random_box(box *b, test_random *r, size_t rank, size_t largest) {
    b->rank = rank;
    b->count = 1;
    for (size_t i = 0; i < rank; i++) {
        b->dims[i] = (int64_t)test_random_below(r, largest + 1);
        if (b->dims[i] == 0 && test_random_below(r, 4)) b->dims[i] = 1;
        b->count *= (size_t)b->dims[i];
    }
    for (size_t i = 0; i < b->count && i < LARGE; i++) b->code[i] = (uint8_t)test_random_next(r);
}

static size_t offset_of(const box *b, const int64_t *at) {
    size_t offset = 0;
    for (size_t i = 0; i < b->rank; i++) offset = offset * (size_t)b->dims[i] + (size_t)at[i];
    return offset;
}

static void coordinates(const box *b, size_t index, int64_t *at) {
    for (size_t i = b->rank; i-- > 0; index /= (size_t)b->dims[i])
        at[i] = (int64_t)(index % (size_t)b->dims[i]);
}

static void finish(box *b) {
    b->count = 1;
    for (size_t i = 0; i < b->rank; i++) b->count *= (size_t)b->dims[i];
}

/* Run a node on a box as input 0, in every type and tier, and compare. */
static bool moves(const char *node, int opset, const box *in, size_t n_more, onx_operand *more,
                  const box *want) {
    static filled f;
    bool good = true;
    for (size_t t = 0; t < ONX_COUNT(dtypes); t++) {
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            onx_operand *all[8] = {&f.operand};
            fill(&f, dtypes[t], in->rank, in->dims, in->code);
            for (size_t i = 0; i < n_more; i++) all[i + 1] = more[i].data ? &more[i] : NULL;
            kernel_result r = kernel_run(*tier, opset, node, n_more + 1, all, 0);
            bool same = has(&r, want->rank, want->dims, want->code);
            if (!same)
                fprintf(stderr, "    %s of %s [%s]\n", node, onx_dtype_name(dtypes[t]), *tier);
            good = good && same;
            if (r.status == ONX_OK) kernel_free(&r);
            empty(&f);
        }
    }
    return good;
}

TEST(transposes) {
    test_random r = {1};
    static box in, out;
    for (int run = 0; run < 150; run++) {
        size_t rank = 1 + test_random_below(&r, 5);
        random_box(&in, &r, rank, rank < 3 ? 60 : rank < 4 ? 15 : rank == 4 ? 7 : 4);
        size_t perm[8];
        char node[100] = "y = Transpose<perm = [";
        for (size_t i = 0; i < rank; i++) {
            size_t j = test_random_below(&r, i + 1);
            perm[i] = perm[j];
            perm[j] = i;
        }
        for (size_t i = 0; i < rank; i++) {
            size_t n = strlen(node);
            (void)snprintf(node + n, sizeof node - n, i ? ", %zu" : "%zu", perm[i]);
        }
        strcat(node, "]>(x)");
        out = in;
        for (size_t i = 0; i < rank; i++) out.dims[i] = in.dims[perm[i]];
        for (size_t i = 0; i < in.count; i++) {
            int64_t to[8], from[8];
            coordinates(&out, i, to);
            for (size_t d = 0; d < rank; d++) from[perm[d]] = to[d];
            out.code[i] = in.code[offset_of(&in, from)];
        }
        REQUIRE(moves(node, 21, &in, 0, NULL, &out));
    }
}

/* The positions of a slice, walked one by one. */
static size_t walk(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *at) {
    size_t n = 0;
    if (start < 0 && start + size >= 0) start += size;
    if (end < 0 && end + size >= 0)
        end += size;
    else if (end < 0)
        end = -1;
    if (start < 0) start = 0;
    if (step < 0 && start >= size) start = size - 1;
    for (int64_t i = start; i >= 0 && i < size && (step > 0 ? i < end : i > end); i += step)
        at[n++] = i;
    return n;
}

TEST(slices) {
    test_random r = {2};
    static box in, out;
    for (int run = 0; run < 200; run++) {
        size_t rank = 1 + test_random_below(&r, 4);
        random_box(&in, &r, rank, rank < 3 ? 20 : 6);
        int64_t start[4], end[4], axis[4], step[4], at[4][64];
        out = in;
        for (size_t i = 0; i < rank; i++) {
            start[i] = (int64_t)test_random_below(&r, 50) - 25;
            end[i] = (int64_t)test_random_below(&r, 50) - 25;
            step[i] = (int64_t)test_random_below(&r, 7) - 3;
            if (step[i] == 0) step[i] = 1;
            if (run % 3 == 0) step[i] = 1;
            if (run % 5 == 0) end[i] = step[i] > 0 ? INT64_MAX : INT64_MIN;
            axis[i] = (int64_t)i - (run % 2 ? (int64_t)rank : 0);
            out.dims[i] = (int64_t)walk(in.dims[i], start[i], end[i], step[i], at[i]);
        }
        finish(&out);
        for (size_t i = 0; i < out.count; i++) {
            int64_t to[8], from[8] = {0};
            coordinates(&out, i, to);
            for (size_t d = 0; d < rank; d++) from[d] = at[d][to[d]];
            out.code[i] = in.code[offset_of(&in, from)];
        }
        int64_t n = (int64_t)rank;
        onx_operand more[4] = {ints(n, start), ints(n, end), ints(n, axis), ints(n, step)};
        if (!CHECK(moves("y = Slice(x, s, e, a, p)", 13, &in, 4, more, &out))) {
            for (size_t i = 0; i < rank; i++)
                fprintf(stderr, "    [%d:%d:%d] of %d\n", (int)start[i], (int)end[i], (int)step[i],
                        (int)in.dims[i]);
            return;
        }
    }
}

/* One step further from `at`, the way the mode goes; *way is the direction. */
static int64_t step_on(const char *mode, int64_t at, int64_t size, int64_t *way) {
    int64_t next = at + *way;
    if (next >= 0 && next < size) return next;
    if (strcmp(mode, "edge") == 0) return at;
    if (strcmp(mode, "wrap") == 0) return *way > 0 ? 0 : size - 1;
    *way = -*way;
    return size > 1 ? at + *way : at;
}

static int64_t padded_from(const char *mode, int64_t at, int64_t size) {
    int64_t way = at < 0 ? -1 : 1, here = at < 0 ? 0 : size - 1;
    if (at >= 0 && at < size) return at;
    for (int64_t n = at < 0 ? -at : at - size + 1; n > 0; n--)
        here = step_on(mode, here, size, &way);
    return here;
}

TEST(reversals) {
    test_random r = {8};
    static box in, out;
    for (int run = 0; run < 100; run++) {
        size_t batch = test_random_below(&r, 2);
        int64_t lens[64], at[4];
        char node[100];
        random_box(&in, &r, 2 + test_random_below(&r, 3), 8);
        for (int64_t i = 0; i < in.dims[batch]; i++)
            lens[i] = (int64_t)test_random_below(&r, (size_t)in.dims[1 - batch] + 1);
        (void)snprintf(node, sizeof node,
                       "y = ReverseSequence<batch_axis = %zu, time_axis = %zu>(x, l)", batch,
                       1 - batch);
        out = in;
        for (size_t i = 0; i < in.count; i++) {
            coordinates(&in, i, at);
            int64_t n = lens[at[batch]], *time = &at[1 - batch];
            if (*time < n) *time = n - 1 - *time;
            out.code[offset_of(&in, at)] = in.code[i];
        }
        onx_operand l = ints(in.dims[batch], lens);
        REQUIRE(moves(node, 28, &in, 1, &l, &out));
    }
}

TEST(pads) {
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
    test_random r = {3};
    static box in, out;
    for (int run = 0; run < 200; run++) {
        size_t rank = 1 + test_random_below(&r, 3);
        const char *mode = modes[run % 4];
        random_box(&in, &r, rank, rank < 2 ? 20 : 5);
        int64_t pads[8];
        char node[60];
        (void)snprintf(node, sizeof node, "y = Pad<mode = \"%s\">(x, p)", mode);
        out = in;
        for (size_t i = 0; i < rank; i++) {
            if (run % 4 && in.dims[i] == 0) in.dims[i] = 1;
            pads[i] = (int64_t)test_random_below(&r, 8) - 2;
            pads[i + rank] = (int64_t)test_random_below(&r, 8) - 2;
            if (in.dims[i] + pads[i] + pads[i + rank] < 0) pads[i] = -pads[i + rank];
            out.dims[i] = in.dims[i] + pads[i] + pads[i + rank];
        }
        finish(&in);
        finish(&out);
        for (size_t i = 0; i < out.count; i++) {
            int64_t at[8];
            bool inside = true;
            coordinates(&out, i, at);
            for (size_t d = 0; d < rank; d++) {
                at[d] -= pads[d];
                inside = inside && at[d] >= 0 && at[d] < in.dims[d];
                if (run % 4) at[d] = padded_from(mode, at[d], in.dims[d]);
            }
            out.code[i] = run % 4 || inside ? in.code[offset_of(&in, at)] : 0;
        }
        onx_operand more[1] = {ints(2 * (int64_t)rank, pads)};
        REQUIRE(moves(node, 25, &in, 1, more, &out));
    }
}

TEST(tiles_and_expands) {
    test_random r = {4};
    static box in, out;
    for (int run = 0; run < 100; run++) {
        size_t rank = 1 + test_random_below(&r, 3);
        bool tile = run % 2;
        random_box(&in, &r, rank, 4);
        int64_t list[8];
        for (size_t i = 0; i < rank; i++) {
            if (!tile && test_random_below(&r, 2)) in.dims[i] = 1;
            list[i] = (int64_t)test_random_below(&r, 4);
            if (!tile && in.dims[i] != 1) list[i] = test_random_below(&r, 2) ? 1 : in.dims[i];
        }
        finish(&in);
        out = in;
        for (size_t i = 0; i < rank; i++)
            out.dims[i] = tile ? in.dims[i] * list[i] : in.dims[i] == 1 ? list[i] : in.dims[i];
        finish(&out);
        for (size_t i = 0; i < out.count; i++) {
            int64_t at[8] = {0};
            coordinates(&out, i, at);
            for (size_t d = 0; d < rank; d++) at[d] = at[d] % in.dims[d];
            out.code[i] = in.code[offset_of(&in, at)];
        }
        onx_operand more[1] = {ints((int64_t)rank, list)};
        REQUIRE(moves(tile ? "y = Tile(x, r)" : "y = Expand(x, r)", 13, &in, 1, more, &out));
    }
}

/* Split along every axis and Concat again; Gather all in turn: nothing changes. */
TEST(round_trips) {
    test_random r = {5};
    static box in;
    static filled f;
    for (int run = 0; run < 60; run++) {
        size_t rank = 1 + test_random_below(&r, 3), axis = test_random_below(&r, rank);
        random_box(&in, &r, rank, 9);
        int64_t sizes[3] = {in.dims[axis] / 3, 0, 0}, order[16];
        sizes[1] = in.dims[axis] - 2 * sizes[0];
        sizes[2] = in.dims[axis] - sizes[0] - sizes[1];
        for (int64_t i = 0; i < in.dims[axis]; i++) order[i] = i % 2 ? i : i - in.dims[axis];
        onx_operand list = ints(3, sizes), indices = ints(in.dims[axis], order);
        char node[4][100];
        (void)snprintf(node[0], 100, "a, b, c = Split<axis = %zu>(x, s)", axis);
        (void)snprintf(node[1], 100, "y = Concat<axis = -%zu>(a, b, c)", rank - axis);
        (void)snprintf(node[2], 100, "y = Gather<axis = %zu>(x, i)", axis);
        for (size_t t = 0; t < ONX_COUNT(dtypes); t++) {
            fill(&f, dtypes[t], in.rank, in.dims, in.code);
            kernel_result parts =
                kernel_run("ref", 13, node[0], 2, (onx_operand *[]){&f.operand, &list}, 0);
            REQUIRE(parts.status == ONX_OK);
            kernel_result whole =
                kernel_run("ref", 13, node[1], 3,
                           (onx_operand *[]){&parts.out[0], &parts.out[1], &parts.out[2]}, 0);
            CHECK(has(&whole, in.rank, in.dims, in.code));
            kernel_result same =
                kernel_run("ref", 13, node[2], 2, (onx_operand *[]){&f.operand, &indices}, 0);
            CHECK(has(&same, in.rank, in.dims, in.code));
            kernel_free(&parts);
            kernel_free(&whole);
            kernel_free(&same);
            empty(&f);
        }
    }
}

/* Large ones go in tasks. */
TEST(large) {
    enum { ROWS = 700, COLS = 900 };
    float *x = malloc(sizeof *x * ROWS * COLS);
    REQUIRE(x);
    kernel_fill(x, (size_t)ROWS * COLS, 1, -1, 1);
    onx_operand in = kernel_operand(ONX_DTYPE_F32, "700,900", x);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 13, "y = Transpose(x)", 1, (onx_operand *[]){&in}, 0);
        CHECK(r.status == ONX_OK && r.out[0].dims[0] == COLS && r.out[0].dims[1] == ROWS);
        size_t wrong = 0;
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLS; j++)
                wrong += ((float *)r.out[0].data)[j * ROWS + i] != x[i * COLS + j];
        CHECK_EQ(wrong, 0);
        bool simd = r.kernel && strcmp(r.kernel->name, "transpose_4") == 0;
        CHECK(simd == (strcmp(*tier, "ref") != 0));
        kernel_free(&r);
    }
    free(x);
}

TEST(squares) {
    static const struct {
        const char *dims;
        size_t rows, cols;
    } shapes[] = {{"3,1003", 3, 1003}, {"1003,3", 1003, 3}, {"70,85", 70, 85}, {"32,16", 32, 16}};
    static const onx_dtype types[] = {ONX_DTYPE_U8, ONX_DTYPE_I32};
    static uint8_t x[70 * 85 * 4 + 1];
    kernel_fill_bytes(x, sizeof x, 1);
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t k = 0; k < ONX_COUNT(types) * ONX_COUNT(shapes); k++) {
            const onx_dtype type = types[k % ONX_COUNT(types)];
            size_t size = onx_dtype_bits(type) / 8, at = k / ONX_COUNT(types), wrong = 0;
            size_t rows = shapes[at].rows, cols = shapes[at].cols;
            onx_operand in = kernel_operand(type, shapes[at].dims, x + 1);
            kernel_result r =
                kernel_run(*tier, 13, "y = Transpose(x)", 1, (onx_operand *[]){&in}, 0);
            REQUIRE(r.status == ONX_OK && r.out[0].bytes == rows * cols * size);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++)
                    wrong += memcmp((char *)r.out[0].data + (j * rows + i) * size,
                                    x + 1 + (i * cols + j) * size, size) != 0;
            CHECK_EQ(wrong, 0);
            kernel_free(&r);
        }
}

/* ── Numbers ─────────────────────────────────────────────────────────────────────────────────── */

static bool is_floats(const onx_operand *a, size_t n, const float *want) {
    bool same = a->dtype == ONX_DTYPE_F32 && (size_t)a->count == n;
    for (size_t i = 0; same && i < n; i++) {
        float v = ((const float *)a->data)[i];
        same = v == want[i] || (v != v && want[i] != want[i]);
    }
    return same;
}

static bool is_ints(const onx_operand *a, size_t n, const int64_t *want) {
    return a->dtype == ONX_DTYPE_I64 && (size_t)a->count == n &&
           (!n || memcmp(a->data, want, n * sizeof *want) == 0);
}

TEST(top_k) {
    float nan = nanf(""), x[] = {2, 5, nan, 5, -1, 2};
    int64_t k = 4;
    onx_operand in = kernel_operand(ONX_DTYPE_F32, "6", x), n = ints(1, &k);
    kernel_result r = kernel_run("ref", 11, "v, i = TopK(x, k)", 2, (onx_operand *[]){&in, &n}, 0);
    CHECK(is_floats(&r.out[0], 4, (float[]){nan, 5, 5, 2}));
    CHECK(is_ints(&r.out[1], 4, (int64_t[]){2, 1, 3, 0}));
    kernel_free(&r);
    r = kernel_run("ref", 11, "v, i = TopK<largest = 0>(x, k)", 2, (onx_operand *[]){&in, &n}, 0);
    CHECK(is_floats(&r.out[0], 4, (float[]){-1, 2, 2, 5}));
    CHECK(is_ints(&r.out[1], 4, (int64_t[]){4, 0, 5, 1}));
    kernel_free(&r);
    uint64_t wide[] = {1, UINT64_MAX, 1ull << 63, 5};
    in = kernel_operand(ONX_DTYPE_U64, "2,2", wide);
    k = 1;
    r = kernel_run("ref", 11, "v, i = TopK<axis = 0>(x, k)", 2, (onx_operand *[]){&in, &n}, 0);
    CHECK(is_ints(&r.out[1], 2, (int64_t[]){1, 0}));
    kernel_free(&r);
    k = 3;
    r = kernel_run("ref", 11, "v, i = TopK<axis = 0>(x, k)", 2, (onx_operand *[]){&in, &n}, 0);
    CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "k is 3"));
}

TEST(sums_and_scatters) {
    float x[] = {1, 2, 3, 4, 5, 6};
    int64_t axis = 1, at[] = {0, -1, 0};
    onx_operand in = kernel_operand(ONX_DTYPE_F32, "2,3", x), a = ints(1, &axis);
    a.rank = 0;
    kernel_result r = kernel_run("ref", 14, "y = CumSum<reverse = 1, exclusive = 1>(x, a)", 2,
                                 (onx_operand *[]){&in, &a}, 0);
    CHECK(is_floats(&r.out[0], 6, (float[]){5, 3, 0, 11, 6, 0}));
    kernel_free(&r);
    int32_t low[] = {INT32_MAX, 1};
    onx_operand narrow = kernel_operand(ONX_DTYPE_I32, "1,2", low);
    r = kernel_run("ref", 14, "y = CumSum(x, a)", 2, (onx_operand *[]){&narrow, &a}, 0);
    CHECK(r.status == ONX_OK && ((int32_t *)r.out[0].data)[1] == INT32_MIN);
    kernel_free(&r);
    float more[] = {10, 20, 30};
    onx_operand i = kernel_operand(ONX_DTYPE_I64, "1,3", at);
    onx_operand u = kernel_operand(ONX_DTYPE_F32, "1,3", more);
    r = kernel_run("ref", 18, "y = ScatterElements<axis = 1, reduction = \"add\">(x, i, u)", 3,
                   (onx_operand *[]){&in, &i, &u}, 0);
    CHECK(is_floats(&r.out[0], 6, (float[]){41, 2, 23, 4, 5, 6}));
    kernel_free(&r);
    r = kernel_run("ref", 18, "y = ScatterElements<axis = 1>(x, i, u)", 3,
                   (onx_operand *[]){&in, &i, &u}, 0);
    CHECK(is_floats(&r.out[0], 6, (float[]){30, 2, 20, 4, 5, 6}));
    kernel_free(&r);
}

TEST(scalars) {
    float x = 3;
    int64_t one = 1, zero = 0;
    onx_operand in = kernel_operand(ONX_DTYPE_F32, "", &x), none = ints(0, &one);
    onx_operand index = kernel_operand(ONX_DTYPE_I64, "", &zero);
    static const char *const nodes[] = {"y = Transpose(x)", "y = Identity(x)", "y = Squeeze(x)"};
    for (size_t i = 0; i < ONX_COUNT(nodes); i++) {
        kernel_result r = kernel_run("ref", 13, nodes[i], 1, (onx_operand *[]){&in}, 0);
        CHECK(r.status == ONX_OK && r.out[0].rank == 0 && *(float *)r.out[0].data == 3);
        kernel_free(&r);
    }
    static const char *const lists[] = {"y = Reshape(x, l)",  "y = Expand(x, l)",
                                        "y = Tile(x, l)",     "y = Unsqueeze(x, l)",
                                        "y = Slice(x, l, l)", "y = Pad(x, l)"};
    for (size_t i = 0; i < ONX_COUNT(lists); i++) {
        onx_operand *all[] = {&in, &none, &none};
        kernel_result r = kernel_run("ref", 13, lists[i], i == 4 ? 3 : 2, all, 0);
        if (!CHECK(r.status == ONX_OK && r.out[0].rank == 0 && *(float *)r.out[0].data == 3))
            fprintf(stderr, "    %s: %s\n", lists[i], r.diag.message);
        kernel_free(&r);
    }
    kernel_result r = kernel_run("ref", 13, "y = NonZero(x)", 1, (onx_operand *[]){&in}, 0);
    CHECK(r.status == ONX_OK && r.out[0].dims[0] == 0 && r.out[0].dims[1] == 1);
    kernel_free(&r);
    r = kernel_run("ref", 13, "y = Gather(x, i)", 2, (onx_operand *[]){&in, &index}, 0);
    CHECK(r.status == ONX_INVALID);
}

/* ── What must fail ──────────────────────────────────────────────────────────────────────────── */

/* x is float[2,3], e float[0,3], l a list of integers. */
TEST(refusals) {
    static const struct {
        const char *node;
        int64_t n, list[8];
        onx_status status;
        const char *words;
    } cases[] = {
        {"y = Reshape(x, l)", 2, {4, 2}, ONX_INVALID, "6 elements do not fit"},
        {"y = Reshape(x, l)", 2, {4, -1}, ONX_INVALID, "6 elements do not fit"},
        {"y = Reshape(x, l)", 2, {-1, -1}, ONX_INVALID, "entry 1"},
        {"y = Reshape(x, l)", 1, {-2}, ONX_INVALID, "entry 0"},
        {"y = Reshape(x, l)", 3, {1, 6, 0}, ONX_INVALID, "copies dimension 2"},
        {"y = Reshape(x, l)", 3, {INT64_MAX, INT64_MAX, -1}, ONX_INVALID, "too large"},
        {"y = Reshape(x, l)", 2, {INT64_MAX, INT64_MAX}, ONX_LIMIT, "too large"},
        {"y = Reshape<allowzero = 1>(x, l)", 2, {0, -1}, ONX_INVALID, "anything"},
        {"y = Squeeze(x, l)", 1, {0}, ONX_INVALID, "cannot be squeezed"},
        {"y = Squeeze(x, l)", 1, {2}, ONX_INVALID, "out of range"},
        {"y = Squeeze(x, l)", 1, {INT64_MIN}, ONX_INVALID, "out of range"},
        {"y = Unsqueeze(x, l)", 2, {0, -4}, ONX_INVALID, "twice"},
        {"y = Unsqueeze(x, l)", 1, {4}, ONX_INVALID, "out of range"},
        {"y = Flatten<axis = 3>(x)", 0, {0}, ONX_INVALID, "out of range"},
        {"y = Slice(x, l, l, l, l)", 1, {0}, ONX_INVALID, "step 0 is 0"},
        {"y = Slice(x, l, l, l)", 2, {0, 0}, ONX_INVALID, "twice"},
        {"y = Slice(x, l, l, l)", 1, {7}, ONX_INVALID, "out of range"},
        {"y = Slice(x, l, l)", 3, {0, 0, 0}, ONX_INVALID, "3 entries for 2 axes"},
        {"y = Pad(x, l)", 3, {1, 1, 1}, ONX_INVALID, "pads are listed"},
        {"y = Pad(x, l)", 4, {-3, 0, 0, 0}, ONX_INVALID, "leave no tensor"},
        {"y = Pad(x, l)", 4, {INT64_MAX, 0, 1, 0}, ONX_INVALID, "out of range"},
        {"y = Pad<mode = \"edge\">(x, l)",
         4,
         {INT64_MIN, 0, INT64_MAX, 0},
         ONX_INVALID,
         "out of range"},
        {"y = Pad<mode = \"reflect\">(e, l)", 4, {1, 0, 0, 0}, ONX_INVALID, "no border"},
        {"y = Pad<mode = \"odd\">(x, l)", 4, {0, 0, 0, 0}, ONX_INVALID, "mode is 'odd'"},
        {"y = Expand(x, l)", 1, {2}, ONX_INVALID, "broadcast"},
        {"y = Expand(x, l)", 3, {-1, 2, 3}, ONX_INVALID, "would be -1"},
        {"y = Expand(x, l)", 4, {INT64_MAX, INT64_MAX, 2, 3}, ONX_LIMIT, "too large"},
        {"y = Tile(x, l)", 2, {1, -1}, ONX_INVALID, "repeat 1"},
        {"y = Tile(x, l)", 2, {INT64_MAX, 1}, ONX_INVALID, "repeat 0"},
        {"y = Tile(x, l)", 1, {1}, ONX_INVALID, "rank 2"},
        {"y = Gather(x, l)", 1, {2}, ONX_INVALID, "index 2"},
        {"y = Gather(x, l)", 1, {-3}, ONX_INVALID, "index -3"},
        {"y = Gather<axis = 1>(e, l)", 1, {3}, ONX_INVALID, "index 3"},
        {"y = Gather(e, l)", 1, {0}, ONX_INVALID, "index 0"},
        {"y = Gather<axis = 2>(x, l)", 1, {0}, ONX_INVALID, "axis 2"},
        {"y = GatherElements(x, l)", 1, {0}, ONX_INVALID, "does not fit"},
        {"y = GatherND(x, l)", 2, {1, 3}, ONX_INVALID, "index 3"},
        {"y = GatherND(x, l)", 3, {0, 0, 0}, ONX_INVALID, "length 3"},
        {"y = GatherND<batch_dims = 1>(x, l)", 2, {0, 0}, ONX_INVALID, "batch_dims"},
        {"y = Transpose<perm = [0, 0]>(x)", 0, {0}, ONX_INVALID, "no permutation"},
        {"y = Transpose<perm = [0]>(x)", 0, {0}, ONX_INVALID, "1 entries"},
        {"y = Transpose<perm = [0, 2]>(x)", 0, {0}, ONX_INVALID, "no permutation"},
        {"a, b = Split<axis = 1>(x)", 0, {0}, ONX_INVALID, "2 equal parts"},
        {"a, b = Split(x, l)", 2, {3, -1}, ONX_INVALID, "part 0"},
        {"a, b = Split(x, l)", 2, {1, 0}, ONX_INVALID, "short"},
        {"a, b = Split(x, l)", 3, {1, 1, 0}, ONX_INVALID, "one size for each"},
        {"y = Concat<axis = 2>(x)", 0, {0}, ONX_INVALID, "axis 2"},
        {"y = Concat<axis = 1>(x, e)", 0, {0}, ONX_INVALID, "input 1 differs"},
        {"y = Concat<axis = 0>(x, l)", 1, {0}, ONX_INVALID, "must have one type"},
        {"y = ConstantOfShape(l)", 2, {2, -1}, ONX_INVALID, "would be -1"},
        {"y = ConstantOfShape(l)", 2, {INT64_MAX, 8}, ONX_LIMIT, "too large"},
        {"y = Range(l, l, l)", 1, {0}, ONX_INVALID, "delta is 0"},
        {"y = DepthToSpace<blocksize = 2>(x)", 0, {0}, ONX_INVALID, "rank 2"},
        {"y = DepthToSpace<blocksize = 0>(x)", 0, {0}, ONX_INVALID, "blocksize is 0"},
        {"y = Reshape(x)", 0, {0}, ONX_INVALID, "'shape', of Reshape is missing"},
        {"y = CumSum(x, l)", 1, {2}, ONX_INVALID, "within the rank"},
        {"y = ReverseSequence(x, l)", 3, {0, 3, 1}, ONX_INVALID, "sequence 1 has length 3"},
        {"y = ReverseSequence(x, l)", 3, {0, 1, INT64_MIN}, ONX_INVALID, "sequence 2 has"},
        {"y = ReverseSequence(e, l)", 3, {0, 0, 1}, ONX_INVALID, "from 0 to 0"},
        {"y = ReverseSequence(x, l)", 2, {0, 0}, ONX_INVALID, "not a list of 3"},
        {"y = ReverseSequence(x, x)", 0, {0}, ONX_UNSUPPORTED, "no kernel"},
        {"y = ReverseSequence(l, l)", 1, {0}, ONX_INVALID, "rank 1"},
        {"y = ReverseSequence(x)", 0, {0}, ONX_INVALID, "'sequence_lens', of"},
        {"y = ReverseSequence<time_axis = 1>(x, l)", 3, {0}, ONX_INVALID, "the other 1"},
        {"y = ReverseSequence<batch_axis = -1>(x, l)", 3, {0}, ONX_INVALID, "batch_axis is -1"},
    };
    float data[6] = {1, 2, 3, 4, 5, 6};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,3", data);
    onx_operand e = kernel_operand(ONX_DTYPE_F32, "0,3", NULL);
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        int64_t copy[8];
        memcpy(copy, cases[i].list, sizeof copy);
        onx_operand l = ints(cases[i].n, copy), *all[8];
        size_t n = 0;
        for (const char *p = strrchr(cases[i].node, '('); *p != ')'; p++) {
            if (*p == 'x') all[n++] = &x;
            if (*p == 'e') all[n++] = &e;
            if (*p == 'l') all[n++] = &l;
        }
        kernel_result r = kernel_run("ref", 13, cases[i].node, n, all, 0);
        bool good = r.status == cases[i].status && strstr(r.diag.message, cases[i].words);
        if (!CHECK(good))
            fprintf(stderr, "    %s: %s, \"%s\"\n", cases[i].node, onx_status_name(r.status),
                    r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

/* ── In sessions ─────────────────────────────────────────────────────────────────────────────── */

static bool is_strings(const onx_arg *arg, size_t n, const char *letters) {
    const onx_tensor *tensor = arg->value ? onx_data_tensor(arg->value) : NULL;
    uint64_t count = 0;
    bool same = tensor && !onx_tensor_count(tensor, &count, NULL) && count == n;
    for (size_t i = 0; same && i < n; i++) {
        onx_str text;
        same = !onx_tensor_string_at(tensor, i, &text, NULL) && text.size == 1 &&
               text.data[0] == letters[i];
    }
    return same;
}

/* Strings, sequences, and shapes that are known only in the run, however the model is planned. */
TEST(sessions) {
    static const char text[] =
        "<ir_version: 10, opset_import: [\"\" : 21]>\n"
        "g (string[2,3] s, int64[K] to, float[2,3] x)\n"
        "=> (string[] t, int64[] sh, string[] r, int64[] nz, int64 l, float[] e, string[] c) {\n"
        "  t = Transpose (s)\n  sh = Shape (s)\n  r = Reshape (s, to)\n  nz = NonZero (x)\n"
        "  q = SequenceConstruct (x, x)\n  qi = Identity (q)\n  l = SequenceLength (qi)\n"
        "  z = Shape (nz)\n  o = ConstantOfShape (z)\n  e = Concat<axis = 0> (o, o)\n"
        "  k = Constant<value_strings = [\"p\", \"q\"]> ()\n  ki = Identity (k)\n"
        "  c = Concat<axis = 0> (k, ki)\n}";
    static const char *const letters[] = {"a", "b", "c", "d", "e", "f"};
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_model *model = NULL;
    onx_tensor *strings = NULL;
    int64_t to[] = {3, -1};
    float x[] = {0, 1, 0, 2, 0, 3};
    options.format = ONX_FORMAT_TEXT;
    REQUIRE(!onx_model_load_memory(NULL, text, strlen(text), &options, &model, NULL));
    REQUIRE(!onx_tensor_new_strings(NULL, "s", 2, (int64_t[]){2, 3}, letters, &strings, NULL));
    for (int way = 0; way < 4; way++) {
        onx_session_options how = ONX_INIT(onx_session_options);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_session *session = NULL;
        onx_arg in[3] = {{.dtype = ONX_DTYPE_STRING, .value = onx_tensor_data(strings)}, {0}, {0}};
        onx_arg out[7] = {{0}};
        in[1] = (onx_arg){.dtype = ONX_DTYPE_I64, .rank = 1, .dims = {2}, .data = to, .bytes = 16};
        in[2] =
            (onx_arg){.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {2, 3}, .data = x, .bytes = 24};
        how.level = way < 2 ? ONX_LEVEL_NONE : ONX_LEVEL_ALL;
        how.dynamic = way % 2;
        bool ran = !onx_session_new(model, &how, &session, &diag) &&
                   !onx_session_run(session, 3, in, 7, out, NULL, &diag);
        if (!CHECK(ran)) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
        CHECK(is_strings(&out[0], 6, "adbecf") && is_strings(&out[2], 6, "abcdef"));
        CHECK(is_strings(&out[6], 4, "pqpq"));
        CHECK(ran && ((int64_t *)out[1].data)[1] == 3 && *(int64_t *)out[4].data == 2);
        CHECK(ran && memcmp(out[3].data, (int64_t[]){0, 1, 1, 1, 0, 2}, 48) == 0);
        CHECK(out[5].rank == 2 && out[5].dims[0] == 4 && out[5].dims[1] == 3);
        for (size_t i = 0; i < 7; i++) onx_arg_clear(&out[i]);
        onx_session_free(session);
    }
    onx_tensor_free(strings);
    onx_model_free(model);
}

/* ── ONNX's own ──────────────────────────────────────────────────────────────────────────────── */

/* Every backend test of these operators that is one node. */
TEST(backend) {
    static const struct {
        const char *prefix, *except;
    } sets[] = {
        {"reshape_", NULL},     {"slice", NULL},    {"concat_", NULL},  {"split_", "sequence"},
        {"expand_", NULL},      {"tile", NULL},     {"constant", NULL}, {"edge_pad", NULL},
        {"reflect_pad", NULL},  {"wrap_pad", NULL}, {"gather", NULL},   {"transpose_", NULL},
        {"range_", "expanded"}, {"shape", NULL},    {"size", NULL},     {"squeeze", NULL},
        {"unsqueeze", NULL},    {"flatten", NULL},  {"identity", NULL}, {"onehot", NULL},
        {"compress", NULL},     {"nonzero", NULL},  {"scatter", NULL},  {"top_k", NULL},
        {"tril", NULL},         {"triu", NULL},     {"cumsum", NULL},   {"depthtospace", NULL},
        {"spacetodepth", NULL}, {"eyelike", NULL},  {"reverse", NULL},
    };
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    size_t total = 0;
    for (size_t i = 0; i < ONX_COUNT(sets); i++) {
        size_t failed = 0, ran = kernel_backend(sets[i].prefix, sets[i].except, &failed);
        if (!CHECK(ran > 0 && failed == 0))
            fprintf(stderr, "    %s: %zu ran, %zu failed\n", sets[i].prefix, ran, failed);
        total += ran;
    }
    CHECK(total > 100);
}

TEST_MAIN(E(transposes) E(slices) E(reversals) E(pads) E(tiles_and_expands) E(round_trips) E(large)
              E(squares) E(top_k) E(sums_and_scatters) E(scalars) E(refusals) E(sessions)
                  E(backend))
