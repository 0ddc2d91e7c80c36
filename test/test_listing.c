/* test_listing.c: the listing: it survives lack of memory anywhere, writers that fail anywhere, any
 * nesting, and hostile names. What it looks like is tested in test/cli/print.t. */
#include "onx.h"
#include "test.h"

static const char control[] =
    "<ir_version: 10, opset_import: [\"\" : 21, \"f\" : 1]>\n"
    "g (float[N] x, bool c, float[2] s = {1, 2}) => (float[N] y)\n"
    "<float[2] w = {1, 2}, float16[2] h = {1, 2}, string[1] t = {\"a\"}, int64[3] i = {1, 2, 3}>\n"
    "{ a = If(c) <then_branch: graph = t () => (float[N] p) { p = Add(x, w) },\n"
    "             else_branch: graph = e () => (float[N] q) { q = f.F<k = 1.5>(x) }>\n"
    "  y = Reshape<allowzero = 0>(a, i) }\n"
    "<domain: \"f\", opset_import: [\"\" : 21]> F <k> (v) => (w) { w = Relu(v) }\n";

/* ── Memory ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct heap {
    size_t calls, fail_at, used;
} heap;

static void *heap_resize(void *user, void *ptr, size_t old_size, size_t new_size) {
    heap *h = user;
    if (new_size > old_size && ++h->calls == h->fail_at) return NULL;
    h->used += new_size - old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

typedef struct sink {
    char *text;
    size_t size, limit; /* write no more than this */
} sink;

static int sink_write(void *user, const void *data, size_t size) {
    sink *s = user;
    if (size > s->limit - s->size) return -1;
    char *text = realloc(s->text, s->size + size + 1);
    if (!text) return -1;
    s->text = text;
    memcpy(text + s->size, data, size);
    s->size += size;
    text[s->size] = '\0';
    return 0;
}

static onx_model *load(onx_context *ctx, const char *text) {
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    if (onx_model_load_memory(ctx, text, strlen(text), &options, &model, &diag))
        fprintf(stderr, "%s: %s\n", diag.place, diag.message);
    return model;
}

static onx_status print(const onx_model *model, size_t width, size_t limit, char **out) {
    sink s = {NULL, 0, limit};
    onx_writer writer = {&s, sink_write};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_print_options options = ONX_INIT(onx_print_options);
    options.width = width;
    options.colour = true;
    onx_status status = onx_model_print(model, &writer, &options, &diag);
    CHECK(status == ONX_OK || diag.status == status);
    if (out)
        *out = s.text;
    else
        free(s.text);
    return status;
}

TEST(no_memory) {
    heap h = {0, 0, 0};
    onx_context_options options = ONX_INIT(onx_context_options);
    onx_context *ctx;
    options.allocator = (onx_allocator){&h, heap_resize};
    REQUIRE(onx_context_new(&options, &ctx) == ONX_OK);
    onx_model *model = load(ctx, control);
    REQUIRE(model);
    size_t used = h.used, failures = 0;
    for (size_t i = 1;; i++) {
        h.calls = 0;
        h.fail_at = i;
        onx_status status = print(model, 40, SIZE_MAX, NULL);
        CHECK_EQ(h.used, used);
        if (status == ONX_OK) break;
        failures++;
        CHECK_EQ(status, ONX_NO_MEMORY);
    }
    CHECK(failures > 2);
    onx_model_free(model);
    onx_context_free(ctx);
    CHECK_EQ(h.used, 0);
}

TEST(writer_fails) {
    onx_model *model = load(NULL, control);
    char *text = NULL;
    REQUIRE(model && print(model, 0, SIZE_MAX, &text) == ONX_OK);
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i += 7) CHECK_EQ(print(model, 0, i, NULL), ONX_IO);
    free(text);
    onx_model_free(model);
}

/* ── Shape ───────────────────────────────────────────────────────────────────────────────────── */

TEST(graphs_in_graphs) {
    enum { DEPTH = 24 };
    onx_model *model = onx_model_new(NULL, "deep", 21);
    onx_graph *g = onx_model_graph(model);
    onx_value *c = onx_graph_add_input(g, "c", "bool");
    for (int i = 0; i < DEPTH; i++) {
        onx_node *n = onx_graph_add_node(g, "If", 1, &c, 1, (const char *[]){NULL});
        onx_node_add_graph(n, "else_branch", "e");
        g = onx_node_add_graph(n, "then_branch", "t");
    }
    CHECK(onx_model_error(model) == NULL);
    char *text = NULL;
    REQUIRE(print(model, 100, SIZE_MAX, &text) == ONX_OK);
    size_t nodes = 0, branches = 0;
    for (const char *p = text; (p = strstr(p, "= \033[1;36mIf\033[0m(")); p++) nodes++;
    for (const char *p = text; (p = strstr(p, "_branch")); p++) branches++;
    CHECK_EQ(nodes, DEPTH);
    CHECK_EQ(branches, 2 * DEPTH);
    free(text);
    onx_model_free(model);
}

TEST(lines_fit) {
    onx_model *model = load(NULL, control);
    onx_print_options options = ONX_INIT(onx_print_options);
    for (size_t width = 40; model && width < 120; width += 11) {
        sink s = {NULL, 0, SIZE_MAX};
        onx_writer writer = {&s, sink_write};
        options.width = width;
        REQUIRE(onx_model_print(model, &writer, &options, NULL) == ONX_OK);
        for (char *line = s.text, *end; (end = strchr(line, '\n')); line = end + 1) {
            size_t n = 0;
            for (const char *p = line; p < end; p++) n += (*p & 0xc0) != 0x80;
            CHECK(n <= width);
            CHECK(end == line || end[-1] != ' ');
        }
        free(s.text);
    }
    onx_model_free(model);
}

TEST(names_are_text) {
    onx_model *model = onx_model_new(NULL, "\033]0;title\007", 21);
    onx_graph *g = onx_model_graph(model);
    onx_value *x = onx_graph_add_input(g, "\033[2J", "float[N]");
    onx_value *y = onx_graph_add_op(g, "Rel\xe2\x80\xaeu", "\xc2\x9b", x);
    onx_graph_add_output(g, y, "float[N]");
    onx_model_set_doc(model, "\r\bdoc");
    sink s = {NULL, 0, SIZE_MAX};
    onx_writer writer = {&s, sink_write};
    REQUIRE(onx_model_print(model, &writer, NULL, NULL) == ONX_OK);
    for (const char *p = s.text; *p; p++) CHECK(*p == '\n' || (unsigned char)*p >= 0x20);
    CHECK(!strstr(s.text, "\xe2\x80\xae") && !strstr(s.text, "\xc2\x9b"));
    CHECK(strstr(s.text, "Rel?u") != NULL);
    free(s.text);
    onx_model_free(model);
}

TEST(wrong_use) {
    onx_model *model = load(NULL, control);
    sink s = {NULL, 0, SIZE_MAX};
    onx_writer writer = {&s, sink_write};
    onx_print_options options = ONX_INIT(onx_print_options);
    CHECK_EQ(onx_model_print(NULL, &writer, NULL, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_print(model, NULL, NULL, NULL), ONX_USAGE);
    options.graph = "nothing";
    CHECK_EQ(onx_model_print(model, &writer, &options, NULL), ONX_NOT_FOUND);
    CHECK_EQ(s.size, 0);
    options.size = 1;
    CHECK_EQ(onx_model_print(model, &writer, &options, NULL), ONX_USAGE);
    onx_model_free(model);
}

TEST_MAIN(E(no_memory) E(writer_fails) E(graphs_in_graphs) E(lines_fit) E(names_are_text)
              E(wrong_use))
