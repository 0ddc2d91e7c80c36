/* test_external.c: data outside the model file: what may be opened, which numbers are believed,
 * every place a tensor can be, and moving data in and out. */
#define _XOPEN_SOURCE 700
#include "support.h"
#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[256]; /* …/onx-test-x, with: secret, model/, model2/ */

static const char *at(const char *name) {
    return test_path(root, name);
}

static void fixture(void) {
    test_folder_new(root);
    CHECK(mkdir(at("model"), 0777) == 0 && mkdir(at("model/sub"), 0777) == 0 &&
          mkdir(at("model2"), 0777) == 0);
    test_file_write(at("secret"), "SECRETS!", 8);
    test_file_write(at("model2/data"), "SECRETS!", 8);
    test_file_write(at("model/data"), "goodgood", 8);
    test_file_write(at("model/sub/data"), "goodgood", 8);
}

typedef struct entry {
    const char *key;
    onx_str value;
} entry;

static test_bytes external_tensor(size_t n, const entry *entries, int64_t dim, onx_dtype dtype) {
    test_bytes t = {NULL, 0, 0};
    test_put_int(&t, 1, (uint64_t)dim);
    test_put_int(&t, 2, (uint64_t)dtype);
    test_put_str(&t, 8, "T");
    for (size_t i = 0; i < n; i++) {
        test_bytes e = {NULL, 0, 0};
        test_put_str(&e, 1, entries[i].key);
        test_put_bytes(&e, 2, entries[i].value.data, entries[i].value.size);
        test_put_message(&t, 13, &e);
    }
    test_put_int(&t, 14, 1);
    return t;
}

static test_bytes in_graph(uint32_t number, test_bytes *message) {
    test_bytes g = {NULL, 0, 0};
    test_put_message(&g, number, message);
    return g;
}
static test_bytes model_of(test_bytes *graph) {
    test_bytes m = {NULL, 0, 0};
    test_put_int(&m, 1, 10);
    test_put_message(&m, 7, graph);
    return m;
}

/* Write a model whose tensor has these entries, and load it. Only good bytes are read. */
static onx_status try_model(const char *path, test_bytes *model, onx_diag *diag) {
    onx_model *loaded = NULL;
    *diag = (onx_diag){.size = sizeof *diag};
    test_file_write(path, model->data, model->size);
    test_bytes_free(model);
    onx_status status = onx_model_load(NULL, path, NULL, &loaded, diag);
    if (!status) {
        onx_tensor *t = onx_graph_initializer_first(onx_model_graph(loaded));
        onx_str view = t ? onx_tensor_view(t) : (onx_str){NULL, 0};
        CHECK(!t || (view.data && view.size >= 4 && !memcmp(view.data, "good", 4)));
        CHECK(!t || onx_tensor_is_external(t));
    } else {
        CHECK(diag->status == status && diag->message[0] && diag->file[0] &&
              strstr(diag->place, "'T'"));
    }
    onx_model_free(loaded);
    return status;
}

static onx_status try_entries(size_t n, const entry *entries, onx_diag *diag) {
    test_bytes t = external_tensor(n, entries, 2, ONX_DTYPE_F32), g = in_graph(5, &t),
               m = model_of(&g);
    return try_model(at("model/m.onnx"), &m, diag);
}

static onx_status try_location(onx_str location) {
    onx_diag diag;
    return try_entries(1, &(entry){"location", location}, &diag);
}
#define LOCATION(literal) try_location((onx_str){literal, sizeof(literal) - 1})

/* ── Paths ── */

TEST(locations) {
    fixture();
    CHECK_EQ(LOCATION("data"), ONX_OK);
    CHECK_EQ(LOCATION("./data"), ONX_OK);
    CHECK_EQ(LOCATION("sub/data"), ONX_OK);
    CHECK_EQ(LOCATION("sub//data"), ONX_OK);
    CHECK_EQ(LOCATION("./sub/./data"), ONX_OK);
    static const char *const denied[] = {"../secret",
                                         "sub/../../secret",
                                         "/etc/passwd",
                                         "//etc/passwd",
                                         "./sub/./../..//secret",
                                         "..",
                                         "sub/..",
                                         "sub/../data", /* harmless, but why */
                                         "../model2/data",
                                         "../model/data",
                                         "/",
                                         "/proc/self/mem",
                                         "/dev/zero",
                                         "/proc/self/environ"};
    for (size_t i = 0; i < ONX_COUNT(denied); i++)
        if (!CHECK(try_location(onx_str_of(denied[i])) == ONX_DENIED))
            fprintf(stderr, "    %s\n", denied[i]);
    CHECK_EQ(LOCATION(""), ONX_DENIED);
    CHECK_EQ(LOCATION("data\0/../secret"), ONX_DENIED);
    CHECK_EQ(LOCATION("\0"), ONX_DENIED);
    CHECK(LOCATION(".") != ONX_OK);
    CHECK(LOCATION("sub") != ONX_OK);
    CHECK(LOCATION("sub/") != ONX_OK);
    CHECK(LOCATION("data/") != ONX_OK);
    CHECK(LOCATION("data/x") != ONX_OK);
    CHECK_EQ(LOCATION("missing"), ONX_NOT_FOUND);
    /* Other systems' ways up: here they are plain names, of files that are not there. */
    CHECK_EQ(LOCATION("..\\secret"), ONX_NOT_FOUND);
    CHECK_EQ(LOCATION("C:\\secret"), ONX_NOT_FOUND);
    CHECK_EQ(LOCATION("file:///etc/passwd"), ONX_NOT_FOUND);
    CHECK_EQ(LOCATION("~/secret"), ONX_NOT_FOUND);
    CHECK_EQ(LOCATION("*/_ORT_MEM_ADDR_/*"),
             ONX_NOT_FOUND); /* another program's mark: nothing here */
    test_bytes long_path = {NULL, 0, 0};
    for (int i = 0; i < 2500; i++) test_put(&long_path, "./", 2);
    test_put(&long_path, "data", 4);
    CHECK_EQ(try_location((onx_str){long_path.data, long_path.size}), ONX_DENIED);
    long_path.size = 300;
    memset(long_path.data, 'n', 300);
    CHECK(try_location((onx_str){long_path.data, 300}) != ONX_OK);
    test_bytes_free(&long_path);
    test_folder_remove(root);
}

TEST(links_and_devices) {
    fixture();
    CHECK(symlink("../secret", at("model/out")) == 0);
    CHECK(symlink(at("secret"), at("model/absolute")) == 0);
    CHECK(symlink("data", at("model/inside")) == 0);
    CHECK(symlink("..", at("model/up")) == 0);
    CHECK(symlink("sub", at("model/down")) == 0);
    CHECK(symlink("../model/data", at("model/round")) == 0);
    CHECK(symlink("loop", at("model/loop")) == 0);
    CHECK(symlink("gone", at("model/dangling")) == 0);
    CHECK(symlink("/proc/self/fd/0", at("model/magic")) == 0);
    CHECK_EQ(LOCATION("inside"), ONX_OK);
    CHECK_EQ(LOCATION("down/data"), ONX_OK);
    CHECK_EQ(LOCATION("out"), ONX_DENIED);
    CHECK_EQ(LOCATION("absolute"), ONX_DENIED);
    CHECK_EQ(LOCATION("up/secret"), ONX_DENIED);
    CHECK_EQ(LOCATION("up/model2/data"), ONX_DENIED);
    CHECK_EQ(LOCATION("round"), ONX_DENIED);
    CHECK_EQ(LOCATION("loop"), ONX_DENIED);
    CHECK_EQ(LOCATION("magic"), ONX_DENIED);
    CHECK(LOCATION("dangling") != ONX_OK);
    CHECK(link(at("secret"), at("model/hard")) == 0);
    CHECK_EQ(LOCATION("hard"), ONX_DENIED);
    CHECK(mkfifo(at("model/fifo"), 0666) == 0);
    CHECK_EQ(LOCATION("fifo"), ONX_DENIED); /* at once: nobody writes into it */
    test_folder_remove(root);
}

TEST(unreadable) {
    if (geteuid() == 0) SKIP("root can read everything");
    fixture();
    CHECK(chmod(at("model/data"), 0) == 0);
    CHECK_EQ(LOCATION("data"), ONX_IO);
    test_folder_remove(root);
}

/* A cache of downloads: names are links into a folder of contents, the model's as well as the
 * data's. */
TEST(download_cache) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    fixture();
    CHECK(mkdir(at("blobs"), 0777) == 0 && mkdir(at("snap"), 0777) == 0 &&
          mkdir(at("other"), 0777) == 0);
    test_bytes t = external_tensor(1, &(entry){"location", {"m.data", 6}}, 2, ONX_DTYPE_F32);
    test_bytes g = in_graph(5, &t), m = model_of(&g);
    test_file_write(at("blobs/aaaa"), m.data, m.size);
    test_file_write(at("blobs/bbbb"), "goodgood", 8);
    test_file_write(at("other/data"), "SECRETS!", 8);
    CHECK(symlink("../blobs/aaaa", at("snap/m.onnx")) == 0);
    CHECK(symlink("../blobs/bbbb", at("snap/m.data")) == 0);
    CHECK_EQ(onx_model_load(NULL, at("snap/m.onnx"), NULL, &model, &diag), ONX_OK);
    if (model) {
        onx_str view = onx_tensor_view(onx_graph_initializer_first(onx_model_graph(model)));
        CHECK(view.size == 8 && !memcmp(view.data, "goodgood", 8));
    }
    onx_model_free(model);
    /* The data may lie where the model lies, and nowhere else. */
    CHECK(unlink(at("snap/m.data")) == 0 && symlink("../other/data", at("snap/m.data")) == 0);
    CHECK_EQ(onx_model_load(NULL, at("snap/m.onnx"), NULL, &model, &diag), ONX_DENIED);
    CHECK(unlink(at("snap/m.data")) == 0 && symlink("../blobs/../secret", at("snap/m.data")) == 0);
    CHECK_EQ(onx_model_load(NULL, at("snap/m.onnx"), NULL, &model, &diag), ONX_DENIED);
    CHECK(mkdir(at("blobs2"), 0777) == 0); /* a name that begins like the folder's */
    test_file_write(at("blobs2/data"), "SECRETS!", 8);
    CHECK(unlink(at("snap/m.data")) == 0 && symlink("../blobs2/data", at("snap/m.data")) == 0);
    CHECK_EQ(onx_model_load(NULL, at("snap/m.onnx"), NULL, &model, &diag), ONX_DENIED);
    /* A model that is no link has no such second folder. */
    test_file_write(at("snap/plain.onnx"), m.data, m.size);
    CHECK(unlink(at("snap/m.data")) == 0 && symlink("../blobs/bbbb", at("snap/m.data")) == 0);
    CHECK_EQ(onx_model_load(NULL, at("snap/plain.onnx"), NULL, &model, &diag), ONX_DENIED);
    test_bytes_free(&m);
    test_folder_remove(root);
}

/* Old kernels and some sandboxes have no openat2: the path is walked by hand then, without
 * following links. */
static void no_openat2(void) {
    enum { OPENAT2 = 437 };
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OPENAT2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {ONX_COUNT(filter), filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

static void try_without_openat2(void) {
    static const char *const good[] = {"data", "./data", "sub/data", "sub//data", "./sub/./data"};
    static const char *const bad[] = {"../secret",   "sub/../../secret",
                                      "/etc/passwd", "out",
                                      "up/secret",   "hard",
                                      "fifo",        "sub",
                                      "sub/",        "loop",
                                      "inside",      "down/data",
                                      "data/x",      ".",
                                      "missing"};
    no_openat2();
    for (size_t i = 0; i < ONX_COUNT(good); i++)
        if (!CHECK(try_location(onx_str_of(good[i])) == ONX_OK))
            fprintf(stderr, "    %s\n", good[i]);
    for (size_t i = 0; i < ONX_COUNT(bad); i++)
        if (!CHECK(try_location(onx_str_of(bad[i])) != ONX_OK)) fprintf(stderr, "    %s\n", bad[i]);
    /* The cache of downloads works there too. */
    onx_model *model = NULL;
    test_bytes t = external_tensor(1, &(entry){"location", {"m.data", 6}}, 2, ONX_DTYPE_F32);
    test_bytes g = in_graph(5, &t), m = model_of(&g);
    test_file_write(at("model2/aaaa"), m.data, m.size);
    test_file_write(at("model2/bbbb"), "goodgood", 8);
    CHECK(symlink("../model2/aaaa", at("model/l.onnx")) == 0 &&
          symlink("../model2/bbbb", at("model/m.data")) == 0);
    CHECK_EQ(onx_model_load(NULL, at("model/l.onnx"), NULL, &model, NULL), ONX_OK);
    CHECK(unlink(at("model/m.data")) == 0 && symlink("../secret", at("model/m.data")) == 0);
    CHECK_EQ(onx_model_load(NULL, at("model/l.onnx"), NULL, &model, NULL), ONX_DENIED);
}

TEST(without_openat2) {
    fixture();
    CHECK(symlink("../secret", at("model/out")) == 0 && link(at("secret"), at("model/hard")) == 0);
    CHECK(symlink("..", at("model/up")) == 0 && symlink("loop", at("model/loop")) == 0);
    CHECK(symlink("data", at("model/inside")) == 0 && symlink("sub", at("model/down")) == 0);
    CHECK(mkfifo(at("model/fifo"), 0666) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        size_t before = test_failures;
        try_without_openat2();
        _exit(test_failures > before);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    test_folder_remove(root);
}

/* ── Numbers ── */

static onx_status try_numbers(const char *offset, const char *length) {
    onx_diag diag;
    entry entries[3] = {{"location", {"data", 4}}};
    size_t n = 1;
    if (offset) entries[n++] = (entry){"offset", onx_str_of(offset)};
    if (length) entries[n++] = (entry){"length", onx_str_of(length)};
    return try_entries(n, entries, &diag);
}

TEST(offsets_and_lengths) {
    static const char *const bad[] = {"-1",
                                      "",
                                      "0x10",
                                      " 0",
                                      "0 ",
                                      "1e3",
                                      "\xd9\xa3",
                                      "+0",
                                      "0.0",
                                      "00x",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "99999999999999999999999999",
                                      "9",
                                      "17",
                                      "nan"};
    fixture();
    test_file_write(at("model/data"), "goodgoodGOOD", 12); /* the tensor needs 8 bytes */
    CHECK_EQ(try_numbers(NULL, NULL), ONX_OK);
    CHECK_EQ(try_numbers("0", "8"), ONX_OK);
    CHECK_EQ(try_numbers("00", "008"), ONX_OK);
    CHECK_EQ(try_numbers("4", "8"), ONX_OK);
    CHECK_EQ(try_numbers("4", NULL), ONX_OK);
    CHECK_EQ(try_numbers("5", NULL), ONX_INVALID);
    CHECK_EQ(try_numbers("12", "0"), ONX_INVALID);
    CHECK_EQ(try_numbers("13", "0"), ONX_INVALID);
    CHECK_EQ(try_numbers("0", "7"), ONX_INVALID);
    CHECK_EQ(try_numbers("0", "0"), ONX_INVALID);
    CHECK_EQ(try_numbers("0", "12"), ONX_INVALID);
    for (size_t i = 0; i < ONX_COUNT(bad); i++) {
        if (!CHECK(try_numbers(bad[i], NULL) == ONX_INVALID))
            fprintf(stderr, "    offset '%s'\n", bad[i]);
        if (!CHECK(try_numbers(NULL, bad[i]) == ONX_INVALID))
            fprintf(stderr, "    length '%s'\n", bad[i]);
        CHECK(try_numbers(bad[i], bad[i]) == ONX_INVALID);
    }
    test_folder_remove(root);
}

TEST(keys) {
    onx_diag diag;
    const entry location = {"location", {"data", 4}}, offset = {"offset", {"0", 1}},
                length = {"length", {"8", 1}};
    const entry secret = {"location", {"../secret", 9}}, unknown = {"basepath", {"..", 2}};
    const entry checksum = {"checksum", {"da39a3ee5e6b4b0d3255bfef95601890afd80709", 40}};
    fixture();
    CHECK_EQ(try_entries(3, (const entry[]){location, offset, length}, &diag), ONX_OK);
    CHECK_EQ(try_entries(3, (const entry[]){length, offset, location}, &diag), ONX_OK);
    CHECK_EQ(try_entries(2, (const entry[]){location, unknown}, &diag), ONX_OK);
    CHECK_EQ(try_entries(2, (const entry[]){location, location}, &diag), ONX_INVALID);
    CHECK_EQ(try_entries(2, (const entry[]){location, secret}, &diag), ONX_INVALID);
    CHECK_EQ(try_entries(2, (const entry[]){secret, location}, &diag), ONX_INVALID);
    CHECK_EQ(try_entries(3, (const entry[]){location, offset, offset}, &diag), ONX_INVALID);
    CHECK_EQ(try_entries(3, (const entry[]){location, length, length}, &diag), ONX_INVALID);
    CHECK_EQ(try_entries(1, (const entry[]){offset}, &diag), ONX_INVALID);
    CHECK_EQ(try_entries(0, &location, &diag), ONX_INVALID);
    CHECK_EQ(try_entries(2, (const entry[]){location, checksum}, &diag),
             ONX_OK); /* kept, not verified */
    test_folder_remove(root);
}

/* Every element type, with files one byte short, right, and longer. */
TEST(sizes_of_every_type) {
    fixture();
    for (int d = 1; d < ONX_DTYPE_COUNT; d++)
        for (int k = -1; k <= 1; k++) {
            onx_diag diag;
            size_t bytes = 0;
            char content[200] = "good";
            bool string = d == ONX_DTYPE_STRING;
            onx_dtype_bytes((onx_dtype)d, 7, &bytes);
            char length[20];
            snprintf(length, sizeof length, "%zu", bytes + (size_t)k);
            memset(content, 0, sizeof content);
            memcpy(content, "good", 4);
            test_file_write(at("model/data"), content, string ? 8 : bytes + (size_t)k);
            const entry entries[] = {{"location", {"data", 4}}, {"length", onx_str_of(length)}};
            for (size_t n = 1; n <= 2; n++) {
                test_bytes t = external_tensor(n, entries, 7, (onx_dtype)d), g = in_graph(5, &t),
                           m = model_of(&g);
                onx_model *model = NULL;
                test_file_write(at("model/m.onnx"), m.data, m.size);
                test_bytes_free(&m);
                /* Without a length, the file may be longer than the tensor. */
                bool right = !string && (k == 0 || (k == 1 && n == 1));
                onx_status status = onx_model_load(NULL, at("model/m.onnx"), NULL, &model, &diag);
                CHECK_EQ(status, right ? ONX_OK : ONX_INVALID);
                onx_model_free(model);
            }
        }
    test_folder_remove(root);
}

/* Sizes that overflow, negative ones, unknown types: refused before any file is opened. */
TEST(shapes_that_lie) {
    static const int64_t dims[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 61, (int64_t)1 << 40};
    onx_diag diag;
    fixture();
    for (size_t i = 0; i < ONX_COUNT(dims); i++) {
        test_bytes t =
            external_tensor(1, &(entry){"location", {"data", 4}}, dims[i], ONX_DTYPE_F64);
        test_bytes g = in_graph(5, &t), m = model_of(&g);
        CHECK_EQ(try_model(at("model/m.onnx"), &m, &diag), ONX_INVALID);
    }
    test_bytes t = external_tensor(1, &(entry){"location", {"data", 4}}, 2, (onx_dtype)99);
    test_bytes g = in_graph(5, &t), m = model_of(&g);
    CHECK_EQ(try_model(at("model/m.onnx"), &m, &diag), ONX_INVALID);
    test_folder_remove(root);
}

/* ── Every place ── */

static test_bytes wrap(uint32_t number, test_bytes *message) {
    test_bytes b = {NULL, 0, 0};
    test_put_message(&b, number, message);
    return b;
}
/* NodeProto.attribute { number: message } */
static test_bytes in_node(uint32_t number, test_bytes *message) {
    test_bytes a = wrap(number, message);
    return wrap(5, &a);
}

static test_bytes place_initializer(test_bytes *t) {
    test_bytes g = in_graph(5, t);
    return model_of(&g);
}
static test_bytes place_sparse(test_bytes *t, uint32_t part) {
    test_bytes s = wrap(part, t), g = in_graph(15, &s);
    return model_of(&g);
}
static test_bytes place_sparse_values(test_bytes *t) {
    return place_sparse(t, 1);
}
static test_bytes place_sparse_indices(test_bytes *t) {
    return place_sparse(t, 2);
}
static test_bytes place_attribute(test_bytes *t) {
    test_bytes n = in_node(5, t), g = in_graph(1, &n);
    return model_of(&g);
}
static test_bytes place_attribute_list(test_bytes *t) {
    test_bytes n = in_node(10, t), g = in_graph(1, &n);
    return model_of(&g);
}
static test_bytes place_sparse_attribute(test_bytes *t) {
    test_bytes s = wrap(1, t), n = in_node(22, &s), g = in_graph(1, &n);
    return model_of(&g);
}
static test_bytes place_sparse_attributes(test_bytes *t) {
    test_bytes s = wrap(2, t), n = in_node(23, &s), g = in_graph(1, &n);
    return model_of(&g);
}
static test_bytes place_subgraph(test_bytes *t) {
    test_bytes inner = in_graph(5, t), n = in_node(6, &inner), g = in_graph(1, &n);
    return model_of(&g);
}
static test_bytes place_subgraphs(test_bytes *t) {
    test_bytes n1 = in_node(5, t), inner = in_graph(1, &n1), n2 = in_node(11, &inner),
               g = in_graph(1, &n2);
    return model_of(&g);
}
static test_bytes place_function(test_bytes *t) {
    test_bytes n = in_node(5, t), f = wrap(7, &n), m = {NULL, 0, 0};
    test_put_int(&m, 1, 10);
    test_put_message(&m, 25, &f);
    return m;
}
static test_bytes place_function_default(test_bytes *t) {
    test_bytes a = wrap(5, t), f = wrap(11, &a), m = {NULL, 0, 0};
    test_put_int(&m, 1, 10);
    test_put_message(&m, 25, &f);
    return m;
}
static test_bytes place_training(test_bytes *t, uint32_t graph) {
    test_bytes g = in_graph(5, t), info = wrap(graph, &g), m = {NULL, 0, 0};
    test_put_int(&m, 1, 10);
    test_put_message(&m, 20, &info);
    return m;
}
static test_bytes place_initialization(test_bytes *t) {
    return place_training(t, 1);
}
static test_bytes place_algorithm(test_bytes *t) {
    return place_training(t, 2);
}

static const struct {
    const char *name;
    test_bytes (*put)(test_bytes *tensor);
} places[] = {
    {"initializer", place_initializer},
    {"sparse initializer, values", place_sparse_values},
    {"sparse initializer, indices", place_sparse_indices},
    {"attribute", place_attribute},
    {"list in an attribute", place_attribute_list},
    {"sparse attribute", place_sparse_attribute},
    {"sparse list in an attribute", place_sparse_attributes},
    {"initializer of a subgraph", place_subgraph},
    {"attribute in a subgraph", place_subgraphs},
    {"attribute in a function", place_function},
    {"default of a function", place_function_default},
    {"initialization of training", place_initialization},
    {"algorithm of training", place_algorithm},
};

static onx_tensor *only_tensor(const onx_model *model) {
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));)
        if (m->desc == &onx_desc_tensor) return (onx_tensor *)(uintptr_t)m;
    return NULL;
}

static test_bytes placed(size_t place, const char *location) {
    test_bytes t = external_tensor(1, &(entry){"location", onx_str_of(location)}, 2, ONX_DTYPE_F32);
    return places[place].put(&t);
}

TEST(every_place_of_a_tensor) {
    static const char *const bad[] = {"../secret", "/etc/passwd", "out",
                                      "hard",      "fifo",        "sub/../../secret"};
    fixture();
    CHECK(symlink("../secret", at("model/out")) == 0 && link(at("secret"), at("model/hard")) == 0);
    CHECK(mkfifo(at("model/fifo"), 0666) == 0);
    for (size_t p = 0; p < ONX_COUNT(places); p++) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_model *model = NULL;
        test_bytes m = placed(p, "data");
        test_file_write(at("model/m.onnx"), m.data, m.size);
        if (CHECK(onx_model_load(NULL, at("model/m.onnx"), NULL, &model, &diag) == ONX_OK)) {
            onx_str view = onx_tensor_view(only_tensor(model));
            CHECK(view.size == 8 && !memcmp(view.data, "goodgood", 8));
            onx_model_free(model);
        } else {
            fprintf(stderr, "    %s: %s\n", places[p].name, diag.message);
        }
        /* From memory there is no folder: the data are not there, and nothing is opened. */
        if (CHECK(onx_model_load_memory(NULL, m.data, m.size, NULL, &model, &diag) == ONX_OK)) {
            char out[8];
            CHECK(onx_tensor_view(only_tensor(model)).data == NULL);
            CHECK(onx_tensor_read(only_tensor(model), out, 8, &diag) == ONX_NOT_FOUND);
            onx_model_free(model);
        }
        test_bytes_free(&m);
        for (size_t k = 0; k < ONX_COUNT(bad); k++) {
            m = placed(p, bad[k]);
            test_file_write(at("model/m.onnx"), m.data, m.size);
            model = NULL;
            if (!CHECK(onx_model_load(NULL, at("model/m.onnx"), NULL, &model, &diag) == ONX_DENIED))
                fprintf(stderr, "    %s: %s\n", places[p].name, bad[k]);
            onx_model_free(model);
            onx_load_options options = ONX_INIT(onx_load_options);
            options.folder = at("model");
            CHECK_EQ(onx_model_load_memory(NULL, m.data, m.size, &options, &model, &diag),
                     ONX_DENIED);
            options.no_external = true;
            if (CHECK(onx_model_load(NULL, at("model/m.onnx"), &options, &model, &diag) ==
                      ONX_OK)) {
                CHECK(onx_tensor_view(only_tensor(model)).data == NULL);
                /* Saving elsewhere must not fetch it either. */
                CHECK(onx_model_save(model, at("model2/m.onnx"), NULL, &diag) == ONX_OK);
                onx_save_options save = ONX_INIT(onx_save_options);
                for (save.external = ONX_EXTERNAL_INLINE; save.external <= ONX_EXTERNAL_MANY;
                     save.external++) {
                    save.threshold = 1;
                    CHECK(onx_model_save(model, at("model2/n.onnx"), &save, &diag) ==
                          ONX_NOT_FOUND);
                }
                onx_model_free(model);
            }
            test_bytes_free(&m);
        }
    }
    CHECK(test_folder_count(at("model2")) == 2); /* data, m.onnx */
    test_folder_remove(root);
}

/* Data files have no folder of their own: what they call external is not fetched. */
TEST(data_files) {
    onx_data *data = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    fixture();
    test_bytes t = external_tensor(1, &(entry){"location", {"data", 4}}, 2, ONX_DTYPE_F32);
    test_file_write(at("model/t.pb"), t.data, t.size);
    if (CHECK(onx_data_load(NULL, at("model/t.pb"), ONX_DATA_TENSOR, &data, &diag) == ONX_OK)) {
        char out[8];
        CHECK(onx_tensor_read(onx_data_tensor(data), out, 8, &diag) != ONX_OK);
        onx_data_free(data);
    }
    test_bytes_free(&t);
    test_folder_remove(root);
}

/* ── A race ── */

static atomic_bool racing;
static atomic_size_t swaps;

static void *swap_forever(void *unused) {
    char good[300], bad[300], name[300];
    (void)unused;
    snprintf(good, sizeof good, "%s", at("model/good"));
    snprintf(bad, sizeof bad, "%s", at("model/bad"));
    snprintf(name, sizeof name, "%s", at("model/data"));
    while (atomic_load(&racing)) {
        test_file_write(good, "goodgood", 8);
        (void)!symlink("../secret", bad);
        (void)!rename(good, name);
        (void)!rename(bad, name);
        atomic_fetch_add(&swaps, 1);
    }
    return NULL;
}

TEST(race_for_a_link) {
    pthread_t thread;
    size_t loaded = 0, denied = 0, rounds = getenv("ONX_HOSTILE") ? 100000 : 3000;
    fixture();
    test_bytes t = external_tensor(1, &(entry){"location", {"data", 4}}, 2, ONX_DTYPE_F32);
    test_bytes g = in_graph(5, &t), m = model_of(&g);
    test_file_write(at("model/m.onnx"), m.data, m.size);
    test_bytes_free(&m);
    char path[300];
    snprintf(path, sizeof path, "%s", at("model/m.onnx"));
    atomic_store(&racing, true);
    REQUIRE(pthread_create(&thread, NULL, swap_forever, NULL) == 0);
    for (size_t i = 0; i < rounds; i++) {
        onx_model *model = NULL;
        onx_status status = onx_model_load(NULL, path, NULL, &model, NULL);
        if (!status) {
            onx_str view = onx_tensor_view(onx_graph_initializer_first(onx_model_graph(model)));
            if (!(view.size == 8 && !memcmp(view.data, "goodgood", 8)))
                test_check(false, "what was read is the good file", __FILE__, __LINE__);
            loaded++;
        }
        denied += status == ONX_DENIED;
        onx_model_free(model);
    }
    atomic_store(&racing, false);
    pthread_join(thread, NULL);
    test_checks += rounds;
    CHECK(loaded > 0 && denied > 0);
    printf("    race: %zu loads against %zu swaps: %zu read the good file, %zu were refused\n",
           rounds, (size_t)atomic_load(&swaps), loaded, denied);
    test_folder_remove(root);
}

/* ── Moving data ── */

/* A model with tensors of several sizes and forms: raw, typed lists, strings, empty; in attributes
 * and subgraphs. */
static onx_model *mixed_model(void) {
    static float big[2000];
    static int64_t longs[300];
    for (size_t i = 0; i < 2000; i++) big[i] = (float)i;
    for (size_t i = 0; i < 300; i++) longs[i] = (int64_t)i - 150;
    static const char *const strings[] = {"one", "two"};
    onx_model *m = onx_model_new(NULL, "mixed", 22);
    onx_graph *g = onx_model_graph(m);
    onx_graph_add_initializer(g, "big", ONX_DTYPE_F32, 2, (const int64_t[]){20, 100}, big,
                              sizeof big);
    onx_value *l = onx_graph_add_initializer(g, "longs", ONX_DTYPE_I64, 1, (const int64_t[]){300},
                                             longs, sizeof longs);
    CHECK(onx_tensor_store_typed(onx_value_initializer(l), NULL) == ONX_OK);
    onx_value *f =
        onx_graph_add_initializer(g, "floats", ONX_DTYPE_F32, 1, (const int64_t[]){300}, big, 1200);
    CHECK(onx_tensor_store_typed(onx_value_initializer(f), NULL) == ONX_OK);
    onx_graph_add_initializer(g, "small", ONX_DTYPE_F32, 1, (const int64_t[]){4}, big, 16);
    onx_graph_add_initializer(g, "empty", ONX_DTYPE_F32, 1, (const int64_t[]){0}, NULL, 0);
    onx_graph_add_initializer(g, "quarter", ONX_DTYPE_I4, 1, (const int64_t[]){4001}, big, 2001);
    onx_graph_add_strings(g, "strings", 1, (const int64_t[]){2}, strings);
    onx_tensor *t = NULL;
    CHECK(onx_tensor_new(NULL, "c", ONX_DTYPE_F32, 1, (const int64_t[]){500}, big, 2000, &t,
                         NULL) == ONX_OK);
    onx_node *c = onx_graph_add_node(g, "Constant", 0, NULL, 1, (const char *const[]){"const"});
    CHECK(onx_node_set_tensor(c, "value", t) == ONX_OK);
    onx_tensor_free(t);
    onx_value *x = onx_graph_add_input(g, "X", "bool");
    onx_node *iff = onx_graph_add_node(g, "If", 1, &x, 1, (const char *const[]){"Y"});
    onx_graph *inner = onx_node_add_graph(iff, "then_branch", "then");
    onx_value *w = onx_graph_add_initializer(inner, "inner", ONX_DTYPE_F32, 1,
                                             (const int64_t[]){1000}, big, 4000);
    onx_graph_add_output(inner, onx_graph_add_op(inner, "Neg", "n", w), NULL);
    onx_graph_add_output(g, onx_node_output(iff, 0), NULL);
    CHECK(onx_model_error(m) == NULL);
    return m;
}

/* The same tensors with the same elements, wherever and however they are stored. */
static bool same_contents(const onx_model *a, const onx_model *b) {
    onx_walk u = onx_walk_begin(a), v = onx_walk_begin(b);
    size_t seen = 0;
    for (;;) {
        const onx_msg *x = onx_walk_next(&u), *y = onx_walk_next(&v);
        if (x && x->desc == &onx_desc_tensor) onx_walk_skip(&u);
        if (y && y->desc == &onx_desc_tensor) onx_walk_skip(&v);
        if (!x || !y) return x == (const void *)y && seen > 0;
        if (x->desc != y->desc) return false;
        if (x->desc != &onx_desc_tensor) continue;
        const onx_tensor *s = (const onx_tensor *)x, *t = (const onx_tensor *)y;
        size_t n = 0, k = 0;
        seen++;
        if (s->data_type != t->data_type || !onx_str_eq(s->name, t->name)) return false;
        if (onx_tensor_bytes(s, &n, NULL) || onx_tensor_bytes(t, &k, NULL)) continue; /* strings */
        char *p = malloc(n + 1), *q = malloc(k + 1);
        bool same = n == k && !onx_tensor_read(s, p, n, NULL) && !onx_tensor_read(t, q, k, NULL) &&
                    !memcmp(p, q, n);
        free(p);
        free(q);
        if (!same) return false;
    }
}

static size_t count_external(const onx_model *model) {
    size_t n = 0;
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));)
        n += m->desc == &onx_desc_tensor && onx_tensor_is_external((const onx_tensor *)m);
    return n;
}

static onx_model *reload(const char *path) {
    onx_model *m = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    if (!CHECK(onx_model_load(NULL, path, NULL, &m, &diag) == ONX_OK))
        fprintf(stderr, "    %s: %s: %s\n", path, diag.place, diag.message);
    return m;
}

TEST(one_file) {
    onx_model *m = mixed_model();
    onx_diag diag = ONX_INIT(onx_diag);
    test_folder_new(root);
    for (int attributes = 0; attributes < 2; attributes++) {
        onx_save_options o = ONX_INIT(onx_save_options);
        o.external = ONX_EXTERNAL_ONE;
        o.attributes = attributes;
        CHECK_EQ(onx_model_save(m, at("m.onnx"), &o, &diag), ONX_OK);
        CHECK(test_file_exists(at("m.onnx.data")) && test_folder_count(root) == 2);
        onx_model *back = reload(at("m.onnx"));
        REQUIRE(back != NULL);
        CHECK(same_contents(m, back));
        CHECK_EQ(count_external(back), attributes ? 6 : 5); /* big, longs, floats, quarter, inner */
        const onx_msg *msg;
        for (onx_walk w = onx_walk_begin(back); (msg = onx_walk_next(&w));) {
            const onx_tensor *t = (const onx_tensor *)msg;
            if (msg->desc != &onx_desc_tensor || !onx_tensor_is_external(t)) continue;
            CHECK_STR(onx_tensor_location(t), "m.onnx.data");
            CHECK(t->external.size >= 1024);
            ONX_EACH (onx_entry, e, t->external_data)
                if (onx_str_is(e->key, "offset"))
                    CHECK(strtoull(e->value.data, NULL, 10) % 4096 == 0);
        }
        onx_model_free(back);
    }
    CHECK_EQ(count_external(m), 0); /* the model itself is as it was */
    onx_model_free(m);
    test_folder_remove(root);
}

TEST(thresholds_alignments_names) {
    onx_model *m = mixed_model();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_save_options o = ONX_INIT(onx_save_options);
    test_folder_new(root);
    o.external = ONX_EXTERNAL_ONE;
    o.threshold = 1;
    o.alignment = 1;
    o.external_file = "weights.bin";
    CHECK_EQ(onx_model_save(m, at("m.onnx"), &o, &diag), ONX_OK);
    onx_model *back = reload(at("m.onnx"));
    REQUIRE(back != NULL);
    CHECK_EQ(count_external(back), 6); /* also `small`; what is empty stays */
    test_bytes file = test_file_read(at("weights.bin"));
    CHECK_EQ(file.size, 8000 + 2400 + 1200 + 16 + 2001 + 4000); /* no gaps */
    test_bytes_free(&file);
    CHECK(same_contents(m, back));
    onx_model_free(back);
    o.threshold = UINT64_MAX;
    CHECK_EQ(onx_model_save(m, at("n.onnx"), &o, &diag), ONX_OK);
    back = reload(at("n.onnx"));
    REQUIRE(back != NULL);
    CHECK_EQ(count_external(back), 0);
    onx_model_free(back);
    static const char *const bad[] = {"../x", "sub/x", "/x", "m.onnx", ""};
    o.threshold = 1;
    for (size_t i = 0; i < ONX_COUNT(bad); i++) {
        o.external_file = bad[i];
        CHECK_EQ(onx_model_save(m, at("m.onnx"), &o, &diag), ONX_USAGE);
        CHECK(diag.message[0] != '\0');
    }
    o.external_file = NULL;
    static const uint64_t odd[] = {3, 12, 4097, UINT64_MAX, (uint64_t)1 << 63};
    for (size_t i = 0; i < ONX_COUNT(odd); i++) {
        o.alignment = odd[i];
        CHECK_EQ(onx_model_save(m, at("m.onnx"), &o, &diag), ONX_USAGE);
    }
    onx_writer nowhere = {NULL, NULL};
    o.alignment = 0;
    CHECK_EQ(onx_model_save_stream(m, &nowhere, &o, &diag), ONX_USAGE); /* there is no beside */
    onx_model_free(m);
    test_folder_remove(root);
}

TEST(many_files) {
    onx_model *m = mixed_model();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_save_options o = ONX_INIT(onx_save_options);
    test_folder_new(root);
    o.external = ONX_EXTERNAL_MANY;
    CHECK_EQ(onx_model_save(m, at("m.onnx"), &o, &diag), ONX_OK);
    CHECK_EQ(test_folder_count(root), 6);
    onx_model *back = reload(at("m.onnx"));
    REQUIRE(back != NULL);
    CHECK(same_contents(m, back));
    /* Many to one, one to none, and back over itself, each from what was loaded. */
    static const onx_external ways[] = {
        ONX_EXTERNAL_ONE,  ONX_EXTERNAL_INLINE, ONX_EXTERNAL_MANY,
        ONX_EXTERNAL_MANY, ONX_EXTERNAL_ONE,    ONX_EXTERNAL_ONE,
        ONX_EXTERNAL_KEEP, ONX_EXTERNAL_INLINE, ONX_EXTERNAL_INLINE};
    for (size_t i = 0; i < ONX_COUNT(ways); i++) {
        o.external = ways[i];
        CHECK_EQ(onx_model_save(back, at("m.onnx"), &o, &diag), ONX_OK);
        CHECK(same_contents(m, back)); /* what is loaded lives on, whatever became of its files */
        onx_model_free(back);
        back = reload(at("m.onnx"));
        REQUIRE(back != NULL);
        CHECK(same_contents(m, back));
    }
    CHECK_EQ(count_external(back), 0);
    onx_model_free(back);
    onx_model_free(m);
    test_folder_remove(root);
}

/* More files than a process may have open. */
TEST(very_many_files) {
    onx_model *m = onx_model_new(NULL, "many", 22);
    onx_graph *g = onx_model_graph(m);
    onx_save_options o = ONX_INIT(onx_save_options);
    onx_diag diag = ONX_INIT(onx_diag);
    test_folder_new(root);
    for (int i = 0; i < 1500; i++) {
        char name[20];
        float v = (float)i;
        snprintf(name, sizeof name, "w%d", i);
        onx_graph_add_initializer(g, name, ONX_DTYPE_F32, 0, NULL, &v, 4);
    }
    o.external = ONX_EXTERNAL_MANY;
    o.threshold = 1;
    CHECK_EQ(onx_model_save(m, at("m.onnx"), &o, &diag), ONX_OK);
    CHECK_EQ(test_folder_count(root), 1501);
    onx_model *back = reload(at("m.onnx"));
    CHECK(back && same_contents(m, back));
    onx_model_free(back);
    onx_model_free(m);
    test_folder_remove(root);
}

TEST(to_another_folder) {
    onx_model *m = mixed_model();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_save_options o = ONX_INIT(onx_save_options);
    test_folder_new(root);
    CHECK(mkdir(at("a"), 0777) == 0 && mkdir(at("b"), 0777) == 0 && mkdir(at("a/sub"), 0777) == 0);
    o.external = ONX_EXTERNAL_ONE;
    o.external_file = "weights.bin";
    CHECK_EQ(onx_model_save(m, at("a/m.onnx"), &o, &diag), ONX_OK);
    onx_model *back = reload(at("a/m.onnx"));
    REQUIRE(back != NULL);
    /* The data go along; nothing else does. */
    CHECK_EQ(onx_model_save(back, at("b/m.onnx"), NULL, &diag), ONX_OK);
    CHECK_EQ(test_folder_count(at("b")), 2);
    onx_model *other = reload(at("b/m.onnx"));
    CHECK(other && same_contents(m, other) && onx_model_equal(back, other, NULL));
    onx_model_free(other);
    /* Beside itself under another name, they are shared. */
    CHECK_EQ(onx_model_save(back, at("a/n.onnx"), NULL, &diag), ONX_OK);
    CHECK_EQ(test_folder_count(at("a")), 4); /* sub, m.onnx, n.onnx, weights.bin */
    other = reload(at("a/n.onnx"));
    CHECK(other && same_contents(m, other));
    onx_model_free(other);
    /* In place of its own data: refused, here and there. */
    test_bytes before = test_file_read(at("a/weights.bin"));
    CHECK_EQ(onx_model_save(back, at("a/weights.bin"), NULL, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_save(back, at("b/weights.bin"), NULL, &diag), ONX_USAGE);
    CHECK(test_file_is(at("a/weights.bin"), before.data, before.size));
    test_bytes_free(&before);
    onx_model_free(back);
    /* Data in a folder of their own. */
    test_bytes t = external_tensor(1, &(entry){"location", {"sub/data", 8}}, 2, ONX_DTYPE_F32);
    test_bytes g = in_graph(5, &t), bytes = model_of(&g);
    test_file_write(at("a/s.onnx"), bytes.data, bytes.size);
    test_file_write(at("a/sub/data"), "goodgood", 8);
    test_bytes_free(&bytes);
    back = reload(at("a/s.onnx"));
    REQUIRE(back != NULL);
    CHECK_EQ(onx_model_save(back, at("b/s.onnx"), NULL, &diag),
             ONX_NOT_FOUND); /* there is no b/sub */
    CHECK(diag.hint[0] && !test_file_exists(at("b/s.onnx")));
    CHECK(mkdir(at("b/sub"), 0777) == 0);
    CHECK_EQ(onx_model_save(back, at("b/s.onnx"), NULL, &diag), ONX_OK);
    CHECK(test_file_is(at("b/sub/data"), "goodgood", 8));
    /* A folder that leads elsewhere is not written to. */
    CHECK(mkdir(at("c"), 0777) == 0 && mkdir(at("target"), 0777) == 0 &&
          symlink("../target", at("c/sub")) == 0);
    CHECK(onx_model_save(back, at("c/s.onnx"), NULL, &diag) != ONX_OK);
    CHECK_EQ(test_folder_count(at("target")), 0);
    onx_model_free(back);
    onx_model_free(m);
    test_folder_remove(root);
}

/* The data file is replaced, not followed, when a link lies in its place; its mode stays. */
TEST(data_file_in_place) {
    struct stat st;
    onx_model *m = mixed_model();
    onx_save_options o = ONX_INIT(onx_save_options);
    onx_diag diag = ONX_INIT(onx_diag);
    fixture();
    CHECK(symlink("../secret", at("model/m.onnx.data")) == 0);
    o.external = ONX_EXTERNAL_ONE;
    CHECK_EQ(onx_model_save(m, at("model/m.onnx"), &o, &diag), ONX_OK);
    CHECK(test_file_is(at("secret"), "SECRETS!", 8));
    CHECK(lstat(at("model/m.onnx.data"), &st) == 0 && S_ISREG(st.st_mode));
    CHECK(chmod(at("model/m.onnx.data"), 0600) == 0);
    CHECK_EQ(onx_model_save(m, at("model/m.onnx"), &o, &diag), ONX_OK);
    CHECK(stat(at("model/m.onnx.data"), &st) == 0 && (st.st_mode & 0777) == 0600);
    onx_model_free(m);
    test_folder_remove(root);
}

/* Text forms carry external data as protobuf does. */
TEST(text_forms) {
    static const char *const names[] = {"m.onnxtxt", "m.json", "m.textproto"};
    onx_model *m = mixed_model();
    onx_diag diag = ONX_INIT(onx_diag);
    test_folder_new(root);
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        for (onx_external e = ONX_EXTERNAL_KEEP; e <= ONX_EXTERNAL_MANY; e++) {
            onx_save_options o = ONX_INIT(onx_save_options);
            o.external = e;
            CHECK_EQ(onx_model_save(m, at(names[i]), &o, &diag), ONX_OK);
            onx_model *back = reload(at(names[i]));
            CHECK(back && same_contents(m, back));
            onx_model_free(back);
        }
    onx_model_free(m);
    test_folder_remove(root);
}

/* A file that shrinks after it was loaded must not matter to a model that was loaded as a copy. */
TEST(copies_do_not_depend_on_files) {
    enum { N = 200000 };
    float *weights = calloc(N, sizeof *weights);
    for (size_t i = 0; i < N; i++) weights[i] = 1;
    onx_model *m = onx_model_new(NULL, "m", 22), *back = NULL;
    onx_graph_add_initializer(onx_model_graph(m), "W", ONX_DTYPE_F32, 1, (const int64_t[]){N},
                              weights, N * 4);
    test_folder_new(root);
    for (onx_external e = ONX_EXTERNAL_KEEP; e <= ONX_EXTERNAL_ONE; e += ONX_EXTERNAL_ONE) {
        onx_save_options o = ONX_INIT(onx_save_options);
        onx_load_options l = ONX_INIT(onx_load_options);
        o.external = e;
        l.copy = true;
        CHECK(onx_model_save(m, at("m.onnx"), &o, NULL) == ONX_OK);
        REQUIRE(onx_model_load(NULL, at("m.onnx"), &l, &back, NULL) == ONX_OK);
        CHECK(truncate(at("m.onnx"), 10) == 0);
        if (e == ONX_EXTERNAL_ONE) CHECK(truncate(at("m.onnx.data"), 10) == 0);
        CHECK(same_contents(m, back));
        CHECK(onx_model_save(back, at("again.onnx"), &o, NULL) == ONX_OK);
        onx_model_free(back);
        back = reload(at("again.onnx"));
        CHECK(back && same_contents(m, back));
        onx_model_free(back);
    }
    onx_model_free(m);
    free(weights);
    test_folder_remove(root);
}

/* Into memory and streams, data go inside the model or stay where they are. */
TEST(into_memory) {
    onx_model *m = mixed_model(), *back = NULL, *again = NULL;
    onx_save_options o = ONX_INIT(onx_save_options);
    onx_diag diag = ONX_INIT(onx_diag);
    void *bytes = NULL;
    size_t size = 0;
    test_folder_new(root);
    o.external = ONX_EXTERNAL_ONE;
    CHECK_EQ(onx_model_save(m, at("m.onnx"), &o, &diag), ONX_OK);
    REQUIRE((back = reload(at("m.onnx"))) != NULL);
    o.external = ONX_EXTERNAL_INLINE;
    CHECK_EQ(onx_model_save_memory(back, &o, &bytes, &size, &diag), ONX_OK);
    CHECK_EQ(onx_model_load_memory(NULL, bytes, size, NULL, &again, &diag), ONX_OK);
    CHECK(again && same_contents(m, again) && count_external(again) == 0);
    onx_model_free(again);
    onx_buffer_free(NULL, bytes, size);
    CHECK_EQ(onx_model_save_memory(back, NULL, &bytes, &size, &diag), ONX_OK);
    onx_load_options l = ONX_INIT(onx_load_options);
    l.folder = root;
    CHECK_EQ(onx_model_load_memory(NULL, bytes, size, &l, &again, &diag), ONX_OK);
    CHECK(again && same_contents(m, again) && count_external(again) == 5);
    onx_model_free(again);
    onx_buffer_free(NULL, bytes, size);
    onx_model_free(back);
    onx_model_free(m);
    test_folder_remove(root);
}

/* Large enough to be mapped, and to be written in several steps that give pages back. */
TEST(large_data) {
    enum { N = 6000000 };
    float *weights = malloc(N * sizeof *weights);
    for (size_t i = 0; i < N; i++) weights[i] = (float)i;
    onx_model *m = onx_model_new(NULL, "m", 22);
    onx_graph_add_initializer(onx_model_graph(m), "W", ONX_DTYPE_F32, 1, (const int64_t[]){N},
                              weights, N * sizeof *weights);
    static const onx_external ways[] = {ONX_EXTERNAL_INLINE, ONX_EXTERNAL_ONE, ONX_EXTERNAL_ONE,
                                        ONX_EXTERNAL_MANY, ONX_EXTERNAL_INLINE};
    test_folder_new(root);
    onx_model *at_hand = m;
    for (size_t i = 0; i < ONX_COUNT(ways); i++) {
        onx_save_options o = ONX_INIT(onx_save_options);
        o.external = ways[i];
        CHECK(onx_model_save(at_hand, at("m.onnx"), &o, NULL) == ONX_OK);
        CHECK(same_contents(m, at_hand)); /* pages that were given back can be read again */
        if (at_hand != m) onx_model_free(at_hand);
        REQUIRE((at_hand = reload(at("m.onnx"))) != NULL);
        CHECK(same_contents(m, at_hand));
    }
    onx_model_free(at_hand);
    onx_model_free(m);
    free(weights);
    test_folder_remove(root);
}

TEST_MAIN(E(locations) E(links_and_devices) E(unreadable) E(download_cache) E(without_openat2)
              E(offsets_and_lengths) E(keys) E(sizes_of_every_type) E(shapes_that_lie)
                  E(every_place_of_a_tensor) E(data_files) E(race_for_a_link) E(one_file)
                      E(thresholds_alignments_names) E(many_files) E(very_many_files)
                          E(to_another_folder) E(data_file_in_place) E(text_forms)
                              E(copies_do_not_depend_on_files) E(into_memory) E(large_data))
