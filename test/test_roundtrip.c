/* test_roundtrip.c: what comes in goes out: every model and every data file of the test data,
 * through every way in and out of the library and every format, and through encodings that other
 * writers might choose. */
#include "api/format.h"
#include "support.h"
#include "test.h"

static bool is_bytes(const void *data, size_t size, const test_bytes *b) {
    return size == b->size && (size == 0 || memcmp(data, b->data, size) == 0);
}

/* Says which file, once, before the line of the check that fails. */
static const char *current_file;
static bool ok_here(bool ok, const char *what, int line, const onx_diag *diag) {
    if (!ok) {
        char text[1200] = "";
        if (diag && diag->status) onx_diag_format(diag, text, sizeof text);
        fprintf(stderr, "%s: %s\n", current_file, text);
    }
    return test_check(ok, what, __FILE__, line);
}
#define OK(call) ok_here((call) == ONX_OK, #call, __LINE__, &diag)
#define TRUE(cond) ok_here((cond), #cond, __LINE__, &diag)

typedef void model_check(onx_model *model, const test_bytes *file);

/* Every model beneath $ONX_DATA; only each n-th, and only up to a size, when asked for. */
static void each_model(model_check *check, size_t step, size_t most) {
    if (!test_data()) SKIP("ONX_DATA is not set");
    test_files files = test_files_find(test_data(), ".onnx");
    size_t seen = 0;
    CHECK(files.count > 1000);
    for (size_t i = 0; i < files.count; i += step) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_load_options options = ONX_INIT(onx_load_options);
        onx_model *model = NULL;
        test_bytes file = test_file_read(files.paths[i]);
        options.no_external = true;
        current_file = files.paths[i];
        if (file.size <= most &&
            OK(onx_model_load(NULL, files.paths[i], &options, &model, &diag))) {
            check(model, &file);
            seen++;
        }
        onx_model_free(model);
        test_bytes_free(&file);
    }
    CHECK(seen > 0);
    printf("%s: %zu models\n", test_current, seen);
    test_files_free(&files);
}

/* ── Bytes ── */

static void check_saved_is(onx_model *model, const test_bytes *file) {
    onx_diag diag = ONX_INIT(onx_diag);
    void *out = NULL;
    size_t size = 0;
    if (!OK(onx_model_save_memory(model, NULL, &out, &size, &diag))) return;
    TRUE(is_bytes(out, size, file));
    onx_buffer_free(NULL, out, size);
}

static void check_bytes(onx_model *model, const test_bytes *file) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *copy = NULL;
    TRUE(test_links(model));
    OK(onx_model_verify(model, &diag));
    check_saved_is(model, file);
    if (OK(onx_model_clone(model, &copy, &diag))) {
        TRUE(onx_model_equal(model, copy, &diag));
        check_saved_is(copy, file);
        onx_model_touch(copy); /* all of these were written in the order that we use */
        check_saved_is(copy, file);
        TRUE(onx_model_equal(model, copy, &diag));
        TRUE(test_links(copy));
        OK(onx_model_compact(&copy, &diag));
        check_saved_is(copy, file);
    }
    onx_model_free(copy);
}

TEST(models_keep_their_bytes) {
    each_model(check_bytes, 1, SIZE_MAX);
}

/* ── Paths, memory, streams ── */

typedef struct source {
    const test_bytes *bytes;
    size_t at;
    test_random random;
} source;

static ptrdiff_t source_read(void *user, void *data, size_t size) {
    source *s = user;
    size_t left = s->bytes->size - s->at, n = 1 + test_random_below(&s->random, 5000);
    if (n > size) n = size;
    if (n > left) n = left;
    if (n) memcpy(data, s->bytes->data + s->at, n);
    s->at += n;
    return (ptrdiff_t)n;
}

static int bytes_write(void *user, const void *data, size_t size) {
    test_put(user, data, size);
    return 0;
}

static char folder[256];

static void check_ways(onx_model *model, const test_bytes *file) {
    size_t files = test_folder_count(folder);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options load = ONX_INIT(onx_load_options);
    onx_model *again = NULL;
    test_bytes out = {NULL, 0, 0};
    source s = {file, 0, {file->size}};
    const char *path = test_path(folder, "copy.onnx");
    load.no_external = true;
    if (OK(onx_model_load_stream(NULL, &(onx_reader){&s, source_read}, &load, &again, &diag))) {
        TRUE(onx_model_equal(model, again, &diag));
        OK(onx_model_save_stream(again, &(onx_writer){&out, bytes_write}, NULL, &diag));
        TRUE(is_bytes(out.data, out.size, file));
        OK(onx_model_save(again, path, NULL, &diag));
        TRUE(test_file_is(path, file->data, file->size));
        onx_model_touch(again);
        OK(onx_model_save(again, path, NULL, &diag)); /* over a file that is there */
        OK(onx_model_save(model, path, NULL, &diag));
        TRUE(test_file_is(path, file->data, file->size));
        onx_model_free(again);
    }
    test_bytes_free(&out);
    for (int copy = 0; copy < 2; copy++) {
        test_bytes mine = {NULL, 0, 0};
        test_put(&mine, file->data, file->size);
        load.copy = copy;
        if (OK(onx_model_load_memory(NULL, mine.data, mine.size, &load, &again, &diag))) {
            if (copy) memset(mine.data, 0xee, mine.size); /* the bytes are ours again */
            TRUE(onx_model_equal(model, again, &diag));
            check_saved_is(again, file);
            onx_model_free(again);
        }
        if (OK(onx_model_load(NULL, path, &load, &again, &diag))) {
            TRUE(onx_model_equal(model, again, &diag));
            onx_model_free(again);
        }
        test_bytes_free(&mine);
    }
    CHECK(test_folder_count(folder) <= files + 1); /* nothing left behind */
}

TEST(paths_memory_and_streams) {
    test_folder_new(folder);
    each_model(check_ways, 25, SIZE_MAX);
    test_folder_remove(folder);
}

/* ── Text ── */

static void check_form(onx_model *model, onx_format format) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options load = ONX_INIT(onx_load_options);
    onx_save_options save = ONX_INIT(onx_save_options);
    onx_model *again = NULL;
    void *text = NULL;
    size_t size = 0;
    save.format = load.format = format;
    load.no_external = true;
    if (!OK(onx_model_save_memory(model, &save, &text, &size, &diag))) return;
    if (OK(onx_model_load_memory(NULL, text, size, &load, &again, &diag))) {
        TRUE(onx_model_equal(model, again, &diag));
        TRUE(test_links(again));
        onx_model_free(again);
    }
    load.format = ONX_FORMAT_AUTO; /* known by its looks */
    TRUE(onx_format_sniff((onx_str){text, size}) == format);
    onx_buffer_free(NULL, text, size);
}

static void check_forms(onx_model *model, const test_bytes *file) {
    (void)file;
    check_form(model, ONX_FORMAT_TEXT);
    check_form(model, ONX_FORMAT_JSON);
    check_form(model, ONX_FORMAT_TEXTPROTO);
}

TEST(text_forms) {
    each_model(check_forms, 1, SIZE_MAX);
}

static void check_form_file(const onx_model *model, const char *name) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *again = NULL;
    const char *path = test_path(folder, name);
    current_file = path;
    OK(onx_model_save((onx_model *)(uintptr_t)model, path, NULL, &diag));
    if (OK(onx_model_load(NULL, path, NULL, &again, &diag))) {
        TRUE(onx_model_equal(model, again, &diag));
        onx_model_touch(again); /* edited text saves as text, and as protobuf */
        OK(onx_model_save(again, path, NULL, &diag));
        OK(onx_model_save(again, test_path(folder, "again.onnx"), NULL, &diag));
        onx_model_free(again);
        if (OK(onx_model_load(NULL, test_path(folder, "again.onnx"), NULL, &again, &diag)))
            TRUE(onx_model_equal(model, again, &diag));
        onx_model_free(again);
    }
}

TEST(a_model_with_everything) {
    static const char *const names[] = {"m.onnx",     "m.pb",       "m.onnxtxt", "m.onnxtext",
                                        "m.json",     "m.onnxjson", "m.txtpb",   "m.textproto",
                                        "m.prototxt", "m.pbtxt"};
    onx_diag diag = ONX_INIT(onx_diag);
    test_bytes bytes = test_model_rich_bytes();
    onx_model *model = test_model_rich(NULL);
    REQUIRE(model != NULL);
    current_file = "rich";
    CHECK(test_is_plain(model));
    check_forms(model, NULL);
    test_folder_new(folder);
    for (size_t i = 0; i < ONX_COUNT(names); i++) check_form_file(model, names[i]);
    check_ways(model, &bytes);
    /* Our order of fields is by number; this model was written so, but for attributes. */
    test_bytes canon = {NULL, 0, 0}, again = {NULL, 0, 0};
    void *out = NULL;
    size_t size = 0;
    onx_model_touch(model);
    OK(onx_model_save_memory(model, NULL, &out, &size, &diag));
    test_canon(&onx_desc_model, (onx_str){bytes.data, bytes.size}, &canon);
    test_canon(&onx_desc_model, (onx_str){out, size}, &again);
    CHECK(is_bytes(canon.data, canon.size, &again));
    onx_buffer_free(NULL, out, size);
    test_bytes_free(&canon);
    test_bytes_free(&again);
    test_bytes_free(&bytes);
    onx_model_free(model);
    test_folder_remove(folder);
}

/* ── Data files ── */

static onx_data_kind kind_of_type(const onx_type *type) {
    switch (onx_type_kind_of(type)) {
    case ONX_TYPE_SPARSE_TENSOR: return ONX_DATA_SPARSE_TENSOR;
    case ONX_TYPE_SEQUENCE: return ONX_DATA_SEQUENCE;
    case ONX_TYPE_MAP: return ONX_DATA_MAP;
    case ONX_TYPE_OPTIONAL: return ONX_DATA_OPTIONAL;
    default: return ONX_DATA_TENSOR;
    }
}

/* ".../test_x/test_data_set_0/input_1.pb": what ".../test_x/model.onnx" declares for it. */
static onx_data_kind declared_kind(const char *path, const onx_model *model) {
    const char *name = strrchr(path, '/') + 1;
    bool input = strncmp(name, "input_", 6) == 0;
    size_t index = (size_t)strtoul(strchr(name, '_') + 1, NULL, 10);
    const onx_graph *g = onx_model_graph(model);
    onx_value *value = input ? onx_graph_input(g, index) : onx_graph_output(g, index);
    return value && onx_value_type(value) ? kind_of_type(onx_value_type(value)) : ONX_DATA_NONE;
}

static void check_data_form(const onx_data *data, const char *name) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data *again = NULL;
    const char *path = test_path(folder, name);
    OK(onx_data_save(data, path, &diag));
    if (OK(onx_data_load(NULL, path, onx_data_kind_of(data), &again, &diag))) {
        TRUE(onx_data_equal(data, again, &diag));
    }
    onx_data_free(again);
}

static void check_data(const onx_data *data, const test_bytes *file, bool forms) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data *again = NULL;
    void *out = NULL;
    size_t size = 0;
    if (OK(onx_data_save_memory(data, &out, &size, &diag))) TRUE(is_bytes(out, size, file));
    onx_buffer_free(NULL, out, size);
    if (forms) {
        source s = {file, 0, {1}};
        check_data_form(data, "d.pb");
        check_data_form(data, "d.json");
        check_data_form(data, "d.textproto");
        onx_data_kind kind = onx_data_kind_of(data);
        if (OK(onx_data_load_stream(NULL, &(onx_reader){&s, source_read}, kind, &again, &diag)))
            TRUE(onx_data_equal(data, again, &diag));
        onx_data_free(again);
    }
    onx_msg_touch_all((onx_msg *)(uintptr_t)data);
    test_bytes canon[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    if (!OK(onx_data_save_memory(data, &out, &size, &diag))) return;
    test_canon(((const onx_msg *)data)->desc, (onx_str){file->data, file->size}, &canon[0]);
    test_canon(((const onx_msg *)data)->desc, (onx_str){out, size}, &canon[1]);
    TRUE(is_bytes(canon[0].data, canon[0].size, &canon[1]));
    onx_buffer_free(NULL, out, size);
    for (int i = 0; i < 2; i++) test_bytes_free(&canon[i]);
}

TEST(data_files) {
    if (!test_data()) SKIP("ONX_DATA is not set");
    static const char *const kinds[] = {"none", "tensor", "sparse", "sequence", "map", "optional"};
    size_t counts[6] = {0}, declared = 0, ambiguous = 0, bytes = 0;
    char model_path[512] = "";
    onx_model *model = NULL;
    test_files files = test_files_find(test_data(), ".pb");
    CHECK(files.count > 1000);
    test_folder_new(folder);
    for (size_t i = 0; i < files.count; i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_data *data = NULL;
        test_bytes file = test_file_read(files.paths[i]);
        current_file = files.paths[i];
        char wanted[512];
        const char *set = strstr(files.paths[i], "/test_data_set");
        snprintf(wanted, sizeof wanted, "%.*s/model.onnx", set ? (int)(set - files.paths[i]) : 0,
                 files.paths[i]);
        if (strcmp(wanted, model_path)) {
            onx_model_free(model);
            model = NULL;
            snprintf(model_path, sizeof model_path, "%s", wanted);
            onx_load_options options = ONX_INIT(onx_load_options);
            options.no_external = true;
            if (set && onx_model_load(NULL, model_path, &options, &model, NULL)) model = NULL;
        }
        if (OK(onx_data_load(NULL, files.paths[i], ONX_DATA_NONE, &data, &diag))) {
            onx_data_kind kind = onx_data_kind_of(data);
            onx_data_kind expected = model ? declared_kind(files.paths[i], model) : ONX_DATA_NONE;
            /* The bytes of an optional are also those of a sequence of one. */
            bool twins = expected == ONX_DATA_OPTIONAL && kind == ONX_DATA_SEQUENCE &&
                         onx_data_count(data) == 1;
            if (expected) TRUE(kind == expected || twins);
            if (twins) {
                onx_data_free(data);
                OK(onx_data_load(NULL, files.paths[i], kind = expected, &data, &diag));
                TRUE(onx_data_kind_of(data) == expected);
            }
            declared += expected != ONX_DATA_NONE;
            ambiguous += twins;
            counts[kind]++;
            check_data(data, &file, i % 10 == 0 || kind != ONX_DATA_TENSOR);
        }
        bytes += file.size;
        onx_data_free(data);
        test_bytes_free(&file);
    }
    onx_model_free(model);
    CHECK(declared > files.count / 2);
    CHECK(ambiguous < 10);
    printf("data files: %zu (%zu bytes), %zu with a declared kind;", files.count, bytes, declared);
    for (size_t k = 1; k < 6; k++) printf(" %zu %s", counts[k], kinds[k]);
    printf("\n");
    test_folder_remove(folder);
    test_files_free(&files);
}

/* ── Other encodings ── */

static void check_encoding(onx_model *model, const test_bytes *file, unsigned what, uint64_t seed) {
    onx_diag diag = ONX_INIT(onx_diag);
    test_random random = {seed};
    test_bytes other = {NULL, 0, 0}, canon[3] = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}};
    onx_load_options load = ONX_INIT(onx_load_options);
    load.no_external = true;
    load.format = ONX_FORMAT_PROTOBUF;
    test_rewrite(&onx_desc_model, (onx_str){file->data, file->size}, what, &random, &other);
    onx_model *again = NULL, *copy = NULL;
    if (OK(onx_model_load_memory(NULL, other.data, other.size, &load, &again, &diag))) {
        bool unknown = what & TEST_UNKNOWN;
        if (!unknown) TRUE(onx_model_equal(model, again, &diag));
        check_saved_is(again, &other);
        OK(onx_model_clone(again, &copy, &diag));
        TRUE(onx_model_equal(again, copy, &diag));
        onx_model_touch(again); /* what was edited keeps its unknown fields */
        void *out = NULL;
        size_t size = 0;
        OK(onx_model_save_memory(again, NULL, &out, &size, &diag));
        test_canon(&onx_desc_model, (onx_str){file->data, file->size}, &canon[0]);
        test_canon(&onx_desc_model, (onx_str){other.data, other.size}, &canon[1]);
        test_canon(&onx_desc_model, (onx_str){out, size}, &canon[2]);
        TRUE(is_bytes(canon[1].data, canon[1].size, &canon[2]));
        if (!unknown) TRUE(is_bytes(canon[0].data, canon[0].size, &canon[1]));
        onx_buffer_free(NULL, out, size);
        if (unknown) check_forms(again, NULL); /* and so does text */
        onx_model_free(copy);
        onx_model_free(again);
    }
    for (int i = 0; i < 3; i++) test_bytes_free(&canon[i]);
    test_bytes_free(&other);
}

static void check_encodings(onx_model *model, const test_bytes *file) {
    static const unsigned kinds[] = {TEST_SHUFFLE,
                                     TEST_REPEAT,
                                     TEST_PACKING,
                                     TEST_LONG,
                                     TEST_UNKNOWN,
                                     TEST_SHUFFLE | TEST_REPEAT | TEST_PACKING | TEST_LONG,
                                     TEST_SHUFFLE | TEST_REPEAT | TEST_PACKING | TEST_LONG |
                                         TEST_UNKNOWN};
    for (size_t k = 0; k < ONX_COUNT(kinds); k++)
        check_encoding(model, file, kinds[k], file->size * 31 + k);
}

TEST(other_encodings) {
    each_model(check_encodings, 13, 20000);
}

TEST(other_encodings_of_everything) {
    test_bytes bytes = test_model_rich_bytes();
    onx_model *model = test_model_rich(NULL);
    REQUIRE(model != NULL);
    current_file = "rich";
    for (uint64_t seed = 0; seed < 100; seed++)
        check_encoding(model, &bytes, (unsigned)(1 + seed % 31), seed);
    onx_model_free(model);
    test_bytes_free(&bytes);
}

TEST_MAIN(E(models_keep_their_bytes) E(paths_memory_and_streams) E(text_forms)
              E(a_model_with_everything) E(data_files) E(other_encodings)
                  E(other_encodings_of_everything))
