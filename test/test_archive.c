/* test_archive.c: what files are, by their bytes; records; and what is said of files without a
 * graph. */
#include "export/archive.h"
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

#define BYTES(literal) ((onx_str){literal, sizeof(literal) - 1})

/* ── Kinds ───────────────────────────────────────────────────────────────────────────────────── */

/* Open, compare the kind and, where there is no graph, what is said of it. */
static void check_kind(onx_str bytes, onx_archive_kind want, const char *message,
                       const char *hint) {
    onx_archive *archive = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    if (!CHECK(onx_archive_open_memory(ctx, bytes, &archive, &diag) == ONX_OK)) {
        fprintf(stderr, "    %s\n", diag.message);
        return;
    }
    CHECK_EQ(onx_archive_kind_of(archive), want);
    CHECK(onx_archive_has_graph(archive) == !message);
    if (message) {
        CHECK_EQ(onx_archive_decline(archive, &diag), ONX_UNSUPPORTED);
        CHECK_STR(diag.message, message);
        CHECK(strstr(diag.hint, hint));
        CHECK(strlen(diag.hint) < sizeof diag.hint - 1); /* not cut off */
    }
    onx_archive_close(archive);
}

TEST(kinds_by_magic) {
    char tar[300] = {0};
    memcpy(tar + 257, "ustar", 5);
    begin();
    check_kind(BYTES(""), ONX_ARCHIVE_UNKNOWN, "this is none of the files that onx export knows",
               ".pt2");
    check_kind(BYTES("PYTORCH1 etc"), ONX_ARCHIVE_PYTORCH1,
               "this is a container of PyTorch before 1.0", "torch.export.save");
    check_kind(BYTES("\0\0\0\0TFL3xx"), ONX_ARCHIVE_TFLITE, "this is a TensorFlow Lite model",
               "tf2onnx");
    check_kind(BYTES("\0\0\0\0ET12xx"), ONX_ARCHIVE_EXECUTORCH, "this is an ExecuTorch program",
               "to_edge");
    check_kind(BYTES("\x89HDF\r\n\x1a\n"), ONX_ARCHIVE_HDF5,
               "this is an HDF5 file, as Keras writes them", "keras");
    check_kind(BYTES("GGUF\3\0\0\0"), ONX_ARCHIVE_GGUF,
               "this is a GGUF file: it holds weights, but no graph", "original");
    check_kind(BYTES("\x80\4K\1."), ONX_ARCHIVE_PICKLE,
               "this is a pickle of Python, but none of PyTorch", ".pt2");
    check_kind((onx_str){tar, sizeof tar}, ONX_ARCHIVE_SAVED_TAR,
               "this is a file of torch.save before torch 0.1.10: it holds weights, but no graph",
               "load_state_dict");
    check_kind(BYTES("\2\0\0\0\0\0\0\0{}"), ONX_ARCHIVE_SAFETENSORS,
               "this is a safetensors file: it holds weights, but no graph", "safetensors.torch");
    check_kind(BYTES("{\"metadata\": {}, \"weight_map\": {}}"), ONX_ARCHIVE_SAFETENSORS_INDEX,
               "this is the index of safetensors files: it holds weights, but no graph",
               "safetensors.torch");
    end();
}

#define STATE_DICT                                                                                 \
    "\200\2ccollections\nOrderedDict\n)R(X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0" \
    "storagectorch\nFloatStorage\nX\1\0\0\0"                                                       \
    "0X\3\0\0\0cpuK\1tQK\0K\1\x85K\1\x85\211ccollections\nOrderedDict\n)RtRu."
#define MODULE                                                                                     \
    "\200\2c__main__\nNet\n)\x81}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0"         \
    "storagectorch\nFloatStorage\nX\1\0\0\0"                                                       \
    "0X\3\0\0\0cpuK\1tQK\0K\1\x85K\1\x85\211ccollections\nOrderedDict\n)RtRsb."

/* Zip archives: up to four records, with or without a folder around them. */
TEST(kinds_by_records) {
    static const struct {
        onx_archive_kind kind;
        const char *message, *hint;
        torch_record records[4];
    } cases[] = {
        {ONX_ARCHIVE_SCRIPT,
         NULL,
         NULL,
         {{"m/data.pkl", {"", 0}}, {"m/constants.pkl", {"", 0}}, {"m/code/a.py", {"", 0}}}},
        {ONX_ARCHIVE_PT2,
         NULL,
         NULL,
         {{"x/archive_format", {"pt2", 3}}, {"x/models/model.json", {"{}", 2}}}},
        {ONX_ARCHIVE_PT2_FLAT,
         NULL,
         NULL,
         {{"version", {"8.7", 3}}, {"serialized_exported_program.json", {"{}", 2}}}},
        {ONX_ARCHIVE_SAVED,
         "this is a file of torch.save: it holds weights (1 tensors), but no graph",
         "load_state_dict",
         {{"a/data.pkl", {STATE_DICT, sizeof STATE_DICT - 1}}, {"a/data/0", {"abcd", 4}}}},
        {ONX_ARCHIVE_SAVED,
         "this is a file of torch.save: it holds a pickled module of the Python class "
         "__main__.Net (1 tensors), but no graph",
         "weights_only=False",
         {{"a/data.pkl", {MODULE, sizeof MODULE - 1}}, {"a/data/0", {"abcd", 4}}}},
        {ONX_ARCHIVE_SAVED,
         "this is a file of torch.save: it holds weights, but no graph",
         "load_state_dict",
         {{"a/data.pkl", {"i", 1}}}},
        {ONX_ARCHIVE_AOTI,
         "this is an AOTInductor package: machine code",
         "torch.export.save",
         {{"m/archive_format", {"pt2", 3}}, {"m/data/aotinductor/model/a.so", {"", 0}}}},
        {ONX_ARCHIVE_LITE,
         "this is a lite-interpreter file without its source code",
         "m.save",
         {{"m/data.pkl", {"", 0}}, {"m/constants.pkl", {"", 0}}, {"m/bytecode.pkl", {"", 0}}}},
        {ONX_ARCHIVE_SCRIPT_OLD,
         "this is a TorchScript archive before torch 1.2",
         "torch.jit.load",
         {{"m/model.json", {"", 0}}, {"m/tensors/0", {"", 0}}}},
        {ONX_ARCHIVE_PACKAGE,
         "this is a torch.package: Python source code",
         "PackageImporter",
         {{"m/.data/extern_modules", {"", 0}}, {"m/.data/0.storage", {"", 0}}}},
        {ONX_ARCHIVE_SERVE,
         "this is a TorchServe archive",
         "unzip",
         {{"MAR-INF/MANIFEST.json", {"", 0}}, {"m.pt", {"", 0}}}},
        {ONX_ARCHIVE_ZIP,
         "this is a zip archive, but none of PyTorch",
         ".pt2",
         {{"arr_0.npy", {"", 0}}}},
        {ONX_ARCHIVE_ZIP,
         "this is a zip archive, but none of PyTorch",
         ".pt2",
         {{NULL, {NULL, 0}}}},
    };
    begin();
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_buf buf;
        onx_str bytes = torch_zip(ctx, cases[i].records, &buf);
        check_kind(bytes, cases[i].kind, cases[i].message, cases[i].hint);
        onx_buf_fini(&buf);
    }
    end();
}

/* Before torch 1.6: four pickles in a row, the last one the object. */
TEST(saved_old) {
    begin();
    check_kind(BYTES("\x80\2\x8a\12\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                     "\x80\2M\xe9\3."
                     "\x80\2}." STATE_DICT "\x80\2]."),
               ONX_ARCHIVE_SAVED_OLD,
               "this is a file of torch.save before torch 1.6: it holds weights (1 tensors), but "
               "no graph",
               "load_state_dict");
    end();
}

/* ── Records ─────────────────────────────────────────────────────────────────────────────────── */

TEST(records) {
    static const torch_record records[] = {{"stem/data.pkl", {"N.", 2}},
                                           {"stem/data/0", {"abcd", 4}},
                                           {"stem/.data/version", {"10\n", 3}},
                                           {"stem/byteorder", {"little", 6}},
                                           {NULL, {NULL, 0}}};
    onx_archive *archive = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf buf;
    onx_str content;
    begin();
    onx_str bytes = torch_zip(ctx, records, &buf);
    REQUIRE(!onx_archive_open_memory(ctx, bytes, &archive, NULL));
    CHECK_EQ(onx_archive_record_count(archive), 4);
    CHECK(onx_str_is(onx_archive_record_name(archive, 1), "data/0"));
    CHECK(onx_archive_has(archive, ONX_LIT("data/0")) &&
          !onx_archive_has(archive, ONX_LIT("stem/data/0")));
    CHECK_EQ(onx_archive_record_size(archive, ONX_LIT("data/0")), 4);
    CHECK(onx_archive_record_size(archive, ONX_LIT("data/1")) == UINT64_MAX);
    CHECK(!onx_archive_read(archive, ONX_LIT("data/0"), &content, NULL));
    CHECK(onx_str_is(content, "abcd") && content.data > bytes.data &&
          content.data < bytes.data + bytes.size);
    CHECK_EQ(onx_archive_read(archive, ONX_LIT("data/1"), &content, &diag), ONX_NOT_FOUND);
    CHECK(strstr(diag.message, "data/1"));
    CHECK_EQ(onx_archive_version(archive), 10);
    CHECK(!onx_archive_is_big_endian(archive));
    onx_archive_close(archive);
    onx_buf_fini(&buf);
    end();
}

/* An archive in an archive, which outlives it. */
TEST(archives_in_archives) {
    static const torch_record inner[] = {{"archive/data.pkl", {"N.", 2}}, {NULL, {NULL, 0}}};
    onx_archive *outer = NULL, *archive = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf small, large;
    onx_str content;
    begin();
    torch_record records[] = {{"sample.pt", torch_zip(ctx, inner, &small)},
                              {"bad.pt", {small.data, small.size - 1}},
                              {"serialized_exported_program.json", {"{}", 2}},
                              {NULL, {NULL, 0}}};
    onx_str bytes = torch_zip(ctx, records, &large);
    REQUIRE(!onx_archive_open_memory(ctx, bytes, &outer, NULL));
    CHECK_EQ(onx_archive_open_record(outer, ONX_LIT("bad.pt"), &archive, &diag), ONX_MALFORMED);
    CHECK(strstr(diag.place, "bad.pt"));
    REQUIRE(!onx_archive_open_record(outer, ONX_LIT("sample.pt"), &archive, NULL));
    onx_archive_close(outer);
    CHECK_EQ(onx_archive_kind_of(archive), ONX_ARCHIVE_SAVED);
    CHECK(!onx_archive_read(archive, ONX_LIT("data.pkl"), &content, NULL));
    CHECK(onx_str_is(content, "N."));
    onx_archive_close(archive);
    onx_buf_fini(&small);
    onx_buf_fini(&large);
    end();
}

/* ── Hostile ─────────────────────────────────────────────────────────────────────────────────── */

static const torch_record sample[] = {{"m/data.pkl", {STATE_DICT, sizeof STATE_DICT - 1}},
                                      {"m/data/0", {"abcd", 4}},
                                      {"m/version", {"3\n", 2}},
                                      {"m/byteorder", {"little", 6}},
                                      {NULL, {NULL, 0}}};

/* Read everything; whatever comes of it, it comes cleanly. */
static onx_status read_all(onx_str bytes, onx_diag *diag) {
    onx_archive *archive = NULL;
    onx_status status = onx_archive_open_memory(ctx, bytes, &archive, diag);
    for (size_t i = 0; !status && i < onx_archive_record_count(archive); i++) {
        onx_str content;
        status = onx_archive_read(archive, onx_archive_record_name(archive, i), &content, diag);
    }
    if (!status && !onx_archive_has_graph(archive)) status = onx_archive_decline(archive, diag);
    onx_archive_close(archive);
    return status;
}

TEST(cut_off_anywhere) {
    onx_buf buf;
    begin();
    onx_str bytes = torch_zip(ctx, sample, &buf);
    for (size_t n = 0; n < bytes.size; n++) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_status status = read_all((onx_str){bytes.data, n}, &diag);
        CHECK(status == (n < 4 ? ONX_UNSUPPORTED : ONX_MALFORMED));
        CHECK(diag.message[0]);
    }
    onx_buf_fini(&buf);
    end();
}

/* Any byte other than it was: found, or one that says nothing (a date, say). */
TEST(damaged_anywhere) {
    onx_buf buf;
    size_t found = 0;
    begin();
    torch_zip(ctx, sample, &buf);
    for (size_t i = 0; i < buf.size; i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        buf.data[i] ^= 0x55;
        onx_status status = read_all((onx_str){buf.data, buf.size}, &diag);
        found += status != ONX_UNSUPPORTED || !strstr(diag.message, "(1 tensors)");
        buf.data[i] ^= 0x55;
    }
    CHECK(found > buf.size / 2);
    onx_buf_fini(&buf);
    end();
}

TEST(memory_fails_anywhere) {
    onx_buf buf;
    begin();
    onx_str bytes = torch_zip(ctx, sample, &buf);
    size_t blocks = heap.blocks;
    for (size_t at = 1;; at++) {
        onx_diag diag = ONX_INIT(onx_diag);
        heap.failed = 0;
        heap.fail_at = heap.calls + at;
        onx_status status = read_all(bytes, &diag);
        heap.fail_at = 0;
        CHECK_EQ(heap.blocks, blocks);
        CHECK(status == ONX_UNSUPPORTED || (heap.failed && status == ONX_NO_MEMORY));
        if (!heap.failed) break;
    }
    onx_buf_fini(&buf);
    end();
}

static void put32(char *p, uint32_t v) {
    memcpy(p, &v, sizeof v);
}

/* 64 KiB that claim to be 64 MiB, deflated: what deflate could do, but no archive does. */
TEST(zip_bombs) {
    enum { PACKED = 64 << 10, CLAIMED = 64 << 20, LOCAL_METHOD = 8, LOCAL_SIZE = 22 };
    enum { CENTRAL_METHOD = 10, CENTRAL_SIZE = 24, END = 22, END_DIRECTORY = 16 };
    static const char zeros[PACKED];
    static const torch_record records[] = {{"m/data.pkl", {zeros, PACKED}}, {NULL, {NULL, 0}}};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf buf;
    begin();
    torch_zip(ctx, records, &buf);
    char *central = buf.data + onx_load_u32(buf.data + buf.size - END + END_DIRECTORY);
    buf.data[LOCAL_METHOD] = central[CENTRAL_METHOD] = 8;
    put32(buf.data + LOCAL_SIZE, CLAIMED);
    put32(central + CENTRAL_SIZE, CLAIMED);
    CHECK_EQ(read_all((onx_str){buf.data, buf.size}, &diag), ONX_LIMIT);
    CHECK(strstr(diag.message, "inflates"));
    CHECK(heap.peak < 4 << 20);
    onx_buf_fini(&buf);
    end();
}

/* Names are keys: they may look like anything. */
TEST(names_are_names) {
    static const torch_record records[] = {{"m/../../etc/passwd", {"x", 1}},
                                           {"m//data/0", {"y", 1}},
                                           {"m/data.pkl", {"N.", 2}},
                                           {NULL, {NULL, 0}}};
    onx_archive *archive = NULL;
    onx_buf buf;
    onx_str content;
    begin();
    onx_str bytes = torch_zip(ctx, records, &buf);
    REQUIRE(!onx_archive_open_memory(ctx, bytes, &archive, NULL));
    CHECK(!onx_archive_read(archive, ONX_LIT("../../etc/passwd"), &content, NULL) &&
          onx_str_is(content, "x"));
    CHECK(!onx_archive_has(archive, ONX_LIT("data/0")));
    onx_archive_close(archive);
    onx_buf_fini(&buf);
    end();
}

/* ── PyTorch's files ─────────────────────────────────────────────────────────────────────────── */

TEST(real_files) {
    static const struct {
        const char *ending;
        onx_archive_kind kind;
    } forms[] = {{"/traced.pt", ONX_ARCHIVE_SCRIPT},
                 {"/scripted.pt", ONX_ARCHIVE_SCRIPT},
                 {"/export.pt2", ONX_ARCHIVE_PT2}};
    if (!torch_folder()) SKIP("neither ONX_TORCH nor ONX_DATA has PyTorch's files");
    begin();
    for (size_t k = 0; k < ONX_COUNT(forms); k++) {
        test_files files = test_files_find(torch_folder(), forms[k].ending);
        CHECK(files.count > 0);
        for (size_t i = 0; i < files.count; i++) {
            onx_archive *archive = NULL;
            onx_diag diag = ONX_INIT(onx_diag);
            if (!CHECK(onx_archive_open(ctx, files.paths[i], &archive, &diag) == ONX_OK)) continue;
            CHECK_EQ(onx_archive_kind_of(archive), forms[k].kind);
            CHECK(onx_archive_version(archive) >= 3);
            for (size_t n = 0; n < onx_archive_record_count(archive); n++) {
                onx_str content;
                CHECK(!onx_archive_read(archive, onx_archive_record_name(archive, n), &content,
                                        &diag));
            }
            onx_archive_close(archive);
        }
        test_files_free(&files);
    }
    end();
}

/* As miniz writes them: zip64 records, descriptors, padding. */
TEST(real_file_cut_off_anywhere) {
    if (!torch_folder()) SKIP("neither ONX_TORCH nor ONX_DATA has PyTorch's files");
    begin();
    test_bytes b = test_file_read(test_path(torch_folder(), "while_loop/scripted.pt"));
    REQUIRE(b.data);
    CHECK_EQ(read_all((onx_str){b.data, b.size}, NULL), ONX_OK);
    for (size_t n = 4; n < b.size; n++)
        CHECK_EQ(read_all((onx_str){b.data, n}, NULL), ONX_MALFORMED);
    test_bytes_free(&b);
    end();
}

TEST_MAIN(E(kinds_by_magic) E(kinds_by_records) E(saved_old) E(records) E(archives_in_archives)
              E(cut_off_anywhere) E(damaged_anywhere) E(memory_fails_anywhere) E(zip_bombs)
                  E(names_are_names) E(real_files) E(real_file_cut_off_anywhere))
