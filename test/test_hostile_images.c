/* test_hostile_images.c: random nodes of the operators on images and boxes, most of them wrong:
 * attributes and integers that are 0, negative or huge, floats that are no numbers, sizes and ranks
 * that do not fit, empty tensors. Each gives a result that does not depend on what was in memory
 * before, or fails with a sentence; and soon. */
#include "test.h"

#include "kernel_place.h"

#include "cpu/cpu.h"

#include <math.h>
#include <time.h>

enum { ROUNDS = 1500, INPUTS = 5, ELEMENTS = 1 << 12 };

static uint64_t state = 1234567;

static size_t below(size_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 16) % n;
}

/* In a node, %i is an integer that may be hostile, %f such a float. An input is its type (f: float;
 * i: int64) and its sizes: ? is random, + a random number of random sizes. */
static const struct {
    const char *node, *in[INPUTS];
} nodes[] = {
    {"y = Resize<mode=\"linear\", antialias=%i>(x, , s)", {"f1,?,?,?", "", "f4"}},
    {"y = Resize<mode=\"cubic\", exclude_outside=1, axes=[%i,%i]>(x, , s)", {"f?,?,?", "", "f2"}},
    {"y = Resize(x, , , z)", {"f?,?", "", "", "i2"}},
    {"y = Resize<mode=\"linear\", keep_aspect_ratio_policy=\"not_larger\">(x, , , z)",
     {"f?,?", "", "", "i2"}},
    {"y = Resize<coordinate_transformation_mode=\"tf_crop_and_resize\">(x, r, s)",
     {"f?,?", "f4", "f2"}},
    {"y = Resize<mode=\"cubic\", coordinate_transformation_mode=\"tf_crop_and_resize\">(x, r, , z)",
     {"f?,?", "f4", "", "i2"}},
    {"y = GridSample<mode=\"linear\", align_corners=%i>(x, g)", {"f1,?,?,?", "f1,?,?,2"}},
    {"y = GridSample<mode=\"cubic\", padding_mode=\"reflection\">(x, g)", {"f1,?,?", "f1,?,1"}},
    {"y = GridSample<mode=\"nearest\", padding_mode=\"border\">(x, g)", {"f1,1+", "f1,2,2,2"}},
    {"y = AffineGrid<align_corners=1>(t, s)", {"f?,2,3", "i4"}},
    {"y = ConvTranspose<strides=[%i,%i], pads=[%i,0,0,%i], group=%i>(x, w, b)",
     {"f1,2,?,?", "f2,1,?,?", "f1"}},
    {"y = ConvTranspose<output_shape=[%i], dilations=[%i], output_padding=[%i]>(x, w)",
     {"f1,1,?", "f1,?,?"}},
    {"y = ConvTranspose<auto_pad=\"SAME_LOWER\", strides=[%i,%i]>(x, w)", {"f?,?,?,?", "f?,?,?,?"}},
    {"y = DeformConv<offset_group=%i, group=%i, pads=[%i,0]>(x, w, o, b, m)",
     {"f1,1,3", "f1,1,2", "f1,2,?", "f1", "f1,2,?"}},
    {"y = DeformConv<strides=[%i,1]>(x, w, o)", {"f1,1,3,3", "f1,1,1,1", "f1,2,3,3"}},
    {"y = Col2Im<strides=[%i,%i], pads=[%i,%i,%i,0]>(x, i, k)", {"f1,4,?", "i2", "i2"}},
    {"y = MaxUnpool<kernel_shape=[%i], strides=[%i], pads=[%i,0]>(x, i, s)",
     {"f1,1,?", "i1,1,?", "i3"}},
    {"y = MaxRoiPool<pooled_shape=[%i,%i], spatial_scale=%f>(x, r)", {"f1,?,?,?", "f?,5"}},
    {"y = RoiAlign<output_height=%i, sampling_ratio=%i, spatial_scale=%f>(x, r, b)",
     {"f1,?,?,?", "f1,4", "i1"}},
    {"y = RoiAlign<mode=\"max\", output_width=2>(x, r, b)", {"f2,1,?,?", "f2,4", "i2"}},
    {"y = NonMaxSuppression<center_point_box=%i>(b, s, m, t, u)",
     {"f1,?,4", "f1,?,?", "i1", "f1", "f1"}},
};

/* ── Random things ── */

static const char *integer(void) {
    static const char *const odd[] = {
        "0",  "-1",         "9223372036854775807", "-9223372036854775808",
        "-3", "2147483647", "2147483648",          "4294967296"};
    static const char *const usual[] = {"1", "2", "3", "1", "4"};
    return below(4) ? usual[below(ONX_COUNT(usual))] : odd[below(ONX_COUNT(odd))];
}

static void write_node(const char *from, char *to, size_t size) {
    size_t n = 0;
    for (; *from && n + 32 < size; from++) {
        if (*from != '%') {
            to[n++] = *from;
            continue;
        }
        static const char *const floats[] = {"1.0", "0.5", "0.0", "-1.0", "1e38", "1e-38"};
        const char *text = *++from == 'i' ? integer() : floats[below(ONX_COUNT(floats))];
        n += (size_t)snprintf(to + n, size - n, "%s", text);
    }
    to[n] = 0;
}

static float number(void) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-38f, 0, -1, 1e10f};
    static const float usual[] = {0, 0.5f, 1, 2, 1.5f, 0.25f, 3};
    return below(5) ? usual[below(ONX_COUNT(usual))] : odd[below(ONX_COUNT(odd))];
}

static onx_operand operand(const char *rule, void *memory) {
    char dims[64];
    size_t n = 0, skip = below(12) == 0;
    onx_dtype dtype = *rule++ == 'f' ? ONX_DTYPE_F32 : ONX_DTYPE_I64;
    for (; *rule && n + 16 < sizeof dims; rule++) {
        if (*rule == '+')
            for (size_t i = below(4); i > 0; i--)
                n += (size_t)snprintf(dims + n, 8, ",%zu", below(4));
        else
            dims[n++] = *rule == '?' ? (char)('0' + below(5)) : *rule;
    }
    if (below(12) == 0) n += (size_t)snprintf(dims + n, 8, ",%zu", below(3)); /* another rank */
    dims[n] = 0;
    onx_operand o = kernel_operand(dtype, skip && n > 2 ? dims + 2 : dims, memory);
    for (int64_t i = 0; i < o.count; i++)
        if (dtype == ONX_DTYPE_F32)
            ((float *)memory)[i] = number();
        else
            ((int64_t *)memory)[i] = strtoll(integer(), NULL, 10);
    if (!o.count) o.data = NULL;
    return o;
}

/* ── One node ── */

typedef struct trial {
    const onx_node *node;
    const onx_provider *provider;
    size_t n_in;
    onx_operand operand[INPUTS], *in[INPUTS];
} trial;

/* True: it gave a result. */
static bool try_node(const trial *t, const char *text) {
    kernel_way one = {.pattern = 0xa5}, two = {.pattern = 0x5a, .shift = 1};
    kernel_result a = kernel_run_way(t->provider, t->node, t->n_in, t->in, &one);
    kernel_result b = kernel_run_way(t->provider, t->node, t->n_in, t->in, &two);
    bool good = a.status == b.status && (a.status == ONX_OK || a.diag.message[0]);
    bool known = a.status == ONX_OK || a.status == ONX_INVALID || a.status == ONX_LIMIT ||
                 a.status == ONX_UNSUPPORTED;
    if (good && a.status == ONX_OK)
        good = a.out[0].bytes == b.out[0].bytes &&
               (!a.out[0].bytes || memcmp(a.out[0].data, b.out[0].data, a.out[0].bytes) == 0);
    if (!CHECK(good && known))
        fprintf(stderr, "    %s: %s, %s\n", text, onx_status_name(a.status), a.diag.message);
    bool gave = a.status == ONX_OK;
    if (a.status == ONX_OK) kernel_free(&a);
    if (b.status == ONX_OK) kernel_free(&b);
    return gave;
}

static bool try_text(size_t which, const onx_provider *provider) {
    static double memory[INPUTS][ELEMENTS];
    char node[512], text[1024];
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_model *model = NULL;
    write_node(nodes[which].node, node, sizeof node);
    (void)snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 22]>\ng () => () {\n%s\n}\n", node);
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    if (!CHECK(!onx_model_load_memory(NULL, text, strlen(text), &options, &model, NULL)))
        return false;
    trial t = {.node = onx_graph_node_first(onx_model_graph(model)), .provider = provider};
    for (size_t i = 0; i < INPUTS && nodes[which].in[i]; i++, t.n_in++)
        if (*nodes[which].in[i]) {
            t.operand[i] = operand(nodes[which].in[i], memory[i]);
            t.in[i] = &t.operand[i];
        }
    clock_t before = clock();
    bool gave = try_node(&t, node);
    if (!CHECK(clock() - before < 5 * CLOCKS_PER_SEC)) fprintf(stderr, "    %s\n", node);
    onx_model_free(model);
    return gave;
}

TEST(nodes) {
    onx_cpu cpu;
    REQUIRE(onx_cpu_init(&cpu, "ref", NULL) == ONX_OK);
    for (size_t i = 0; i < ONX_COUNT(nodes); i++) {
        size_t gave = 0;
        for (int round = 0; round < ROUNDS; round++) gave += try_text(i, &cpu.provider);
        if (!CHECK(gave > 0)) fprintf(stderr, "    never right: %s\n", nodes[i].node);
    }
}

TEST_MAIN(E(nodes))
