/* seed.c: inputs to start the fuzz targets from, made of the test data and of the cases in
 * $ROOT/test ($ROOT: the current folder, unless it is set).
 *
 *     seed DATA OUT      writes OUT/fuzz_wire/…, OUT/fuzz_json/… and so on
 *
 * Small files only: they are what a fuzzer is fast with. OUT/fuzz_json.dict and the like hold the
 * words of each language, for -dict. */
#include "case_file.h"
#include "export/archive.h"
#include "support.h"
#include "text/text.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { MOST = 2500, EVERY = 7 };

static const char *out_folder;
static size_t written;

static void write_seed(const char *target, const char *head, size_t head_size, onx_str body) {
    char path[600];
    test_bytes all = {NULL, 0, 0};
    test_put(&all, head, head_size);
    test_put(&all, body.data, body.size);
    snprintf(path, sizeof path, "%s/%s", out_folder, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%05zu", out_folder, target, written++);
    test_file_write(path, all.data, all.size);
    test_bytes_free(&all);
}

/* The number that fuzz_table (fuzz.h) takes for a message type. */
static char table_number(const onx_desc *desc) {
    static const onx_desc *const tables[] = {&onx_desc_model,
#define TABLE(name, type, proto) &onx_desc_##name,
                                             ONX_MESSAGES(TABLE)
#undef TABLE
    };
    for (size_t i = 0; i < ONX_COUNT(tables); i++)
        if (tables[i] == desc) return (char)i;
    return 0;
}

typedef onx_status print_fn(const void *msg, const onx_writer *writer, onx_diag *diag);

static onx_status print_text(const void *msg, const onx_writer *writer, onx_diag *diag) {
    return onx_text_print(msg, writer, diag);
}

static void write_form(const char *target, const onx_msg *msg, print_fn *print, bool number) {
    char head[1] = {table_number(msg->desc)};
    onx_buf text;
    onx_buf_init(&text, msg->doc->ctx);
    onx_writer writer = onx_buf_writer(&text);
    if (print(msg, &writer, NULL) == ONX_OK && text.size <= 2 * MOST)
        write_seed(target, head, number, (onx_str){text.data, text.size});
    onx_buf_fini(&text);
}

static void write_forms(const onx_msg *msg) {
    write_form("fuzz_json", msg, onx_json_print, true);
    write_form("fuzz_textproto", msg, onx_textproto_print, true);
    if (msg->desc == &onx_desc_model) write_form("fuzz_text", msg, print_text, false);
}

static void seed_model(onx_str bytes) {
    static const char program[] =
        "\x10\x00\x01\x02\x01\x03\x04\x02\x05\x03\x01\x00\x02\x06\x00\x09\x03";
    onx_model *model = NULL;
    if (onx_model_load_memory(NULL, bytes.data, bytes.size, NULL, &model, NULL)) return;
    write_seed("fuzz_wire", "", 1, bytes);
    write_seed("fuzz_roundtrip", program, sizeof program - 1, bytes);
    write_forms(&model->msg);
    onx_model_free(model);
}

static void seed_array(const onx_data *data, const char *ending) {
    char path[600];
    snprintf(path, sizeof path, "%s/array%s", out_folder, ending);
    if (onx_data_save(data, path, NULL)) return;
    test_bytes bytes = test_file_read(path);
    write_seed("fuzz_npy", "", 0, (onx_str){bytes.data, bytes.size});
    test_bytes_free(&bytes);
    remove(path);
}

static void seed_data(const char *path, onx_str bytes) {
    onx_data *data = NULL;
    if (onx_data_load(NULL, path, ONX_DATA_NONE, &data, NULL)) return;
    char head[1] = {table_number(((onx_msg *)data)->desc)};
    write_seed("fuzz_wire", head, 1, bytes);
    write_seed("fuzz_npy", "", 0, bytes);
    write_forms((onx_msg *)data);
    seed_array(data, ".npy");
    seed_array(data, ".npz");
    onx_data_free(data);
}

/* ── Cases of our own: every operator with its types, and numbers that belong together ── */

static void seed_case(const char *text, size_t index) {
    onx_model *model = NULL;
    void *bytes = NULL;
    size_t size = 0;
    text = strstr(text, "<ir_version");
    if (!text || case_parse(NULL, text, &model, NULL)) return;
    if (onx_model_save_memory(model, NULL, &bytes, &size, NULL) == ONX_OK && size <= MOST) {
        write_seed("fuzz_run", "\0\7", 2, (onx_str){bytes, size});
        write_seed("fuzz_tools", (char[]){(char)(index % 16), 0}, 2, (onx_str){bytes, size});
    }
    onx_buffer_free(NULL, bytes, size);
    onx_model_free(model);
}

static void seed_cases(const char *folder) {
    char path[600];
    const char *root = getenv("ROOT");
    snprintf(path, sizeof path, "%s/test/%s", root ? root : ".", folder);
    test_files files = test_files_find(path, ".txt");
    for (size_t i = 0; i < files.count; i++) {
        case_file file;
        const char *text;
        snprintf(path, sizeof path, "%s%s", folder, strrchr(files.paths[i], '/'));
        if (!case_file_open(&file, path)) continue;
        for (size_t n = 0; (text = case_file_next(&file)); n++)
            if (n % EVERY == 0) seed_case(text, i + n);
        case_file_close(&file);
    }
    test_files_free(&files);
}

/* ── PyTorch's files: their pickles, and small archives of them ── */

/* A record as fuzz_archive takes it: the number of a name, two bytes of size, the content. */
static void put_record(test_bytes *b, unsigned name, onx_str content) {
    test_put_byte(b, name);
    test_put_byte(b, content.size & 0xff);
    test_put_byte(b, content.size >> 8 & 0xff);
    test_put(b, content.data, content.size);
}

static void seed_torch(const char *path) {
    onx_archive *archive = NULL;
    if (onx_archive_open(NULL, path, &archive, NULL)) return;
    for (size_t i = 0; i < onx_archive_record_count(archive); i++) {
        onx_str name = onx_archive_record_name(archive, i), content;
        test_bytes b = {NULL, 0, 0};
        if (!onx_str_ends(name, ONX_LIT("pkl")) ||
            onx_archive_read(archive, name, &content, NULL) || content.size > MOST)
            continue;
        write_seed("fuzz_pickle", "", 0, content);
        put_record(&b, 0, content);
        put_record(&b, 1, ONX_LIT("\x80\2)."));
        put_record(&b, 2, ONX_LIT("0123456789abcdef"));
        put_record(&b, 6, ONX_LIT("3\n"));
        write_seed("fuzz_archive", "\1", 1, (onx_str){b.data, b.size});
        test_bytes_free(&b);
    }
    onx_archive_close(archive);
}

/* ── Words ── */

static FILE *open_words(const char *target) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s.dict", out_folder, target);
    FILE *file = fopen(path, "w");
    if (!file) exit(1);
    return file;
}

/* A field's name as in the .proto, or, for JSON, "irVersion". */
static void write_name(FILE *file, const char *name, bool camel) {
    fputc('"', file);
    for (bool join = false; *name; name++) {
        if (camel && *name == '_')
            join = true;
        else
            fputc(join && *name >= 'a' ? *name - 'a' + 'A' : *name, file), join = false;
    }
    fputs("\"\n", file);
}

static void write_fields(FILE *file, bool camel) {
    static const onx_desc *const tables[] = {
#define TABLE(name, type, proto) &onx_desc_##name,
        ONX_MESSAGES(TABLE)
#undef TABLE
    };
    for (size_t t = 0; t < ONX_COUNT(tables); t++)
        for (unsigned i = 0; i < tables[t]->n_fields; i++) {
            const onx_field *f = &tables[t]->fields[i];
            write_name(file, f->name, camel);
            for (const onx_enum_name *e = f->enums; e && e->name; e++)
                write_name(file, e->name, false);
        }
}

static void write_words(void) {
    static const char *const text[] = {"ir_version",
                                       "opset_import",
                                       "producer_name",
                                       "domain",
                                       "functions",
                                       "graph",
                                       "seq(",
                                       "map(",
                                       "optional(",
                                       "sparse_tensor(",
                                       "=> (",
                                       "<",
                                       ">",
                                       "#@ ",
                                       "overload",
                                       "@",
                                       ": tensor =",
                                       ": graph =",
                                       ": ints =",
                                       "[onx.unknown]"};
    static const char *const array[] = {"\\x93NUMPY\\x01\\x00",
                                        "'descr': ",
                                        "'fortran_order': ",
                                        "'shape': ",
                                        "True",
                                        "False",
                                        "'<f4'",
                                        "'>i8'",
                                        "'|b1'",
                                        "'<U3'",
                                        "'|S2'",
                                        "'<V2'",
                                        "bfloat16",
                                        "PK\\x03\\x04",
                                        "PK\\x01\\x02",
                                        "PK\\x05\\x06",
                                        "PK\\x06\\x06",
                                        ".npy"};
    FILE *file = open_words("fuzz_json");
    write_fields(file, true);
    fputs("\"NaN\"\n\"Infinity\"\n\"-Infinity\"\n\"null\"\n\"[onx.unknown]\"\n", file);
    fclose(file);
    file = open_words("fuzz_textproto");
    write_fields(file, false);
    fputs("\"nan\"\n\"inf\"\n\"-inf\"\n\"true\"\n\"[onx.unknown]\"\n", file);
    fclose(file);
    file = open_words("fuzz_text");
    for (size_t i = 0; i < ONX_COUNT(text); i++) fprintf(file, "\"%s\"\n", text[i]);
    for (int d = 1; d < ONX_DTYPE_COUNT; d++)
        fprintf(file, "\"%s[N,2]\"\n", onx_dtype_name((onx_dtype)d));
    fclose(file);
    file = open_words("fuzz_npy");
    for (size_t i = 0; i < ONX_COUNT(array); i++) fprintf(file, "\"%s\"\n", array[i]);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: seed DATA OUT\n");
        return 2;
    }
    out_folder = argv[2];
    mkdir(out_folder, 0777);
    static const char *const endings[] = {".onnx", ".pb"};
    for (size_t k = 0; k < ONX_COUNT(endings); k++) {
        test_files files = test_files_find(argv[1], endings[k]);
        for (size_t i = 0; i < files.count; i++) {
            bool chosen = i % (EVERY * (k + 1)) == 0;
            if (k && !chosen) continue;
            test_bytes bytes = test_file_read(files.paths[i]);
            onx_str s = {bytes.data, bytes.size};
            if (bytes.size <= MOST && k == 0) write_seed("fuzz_run", "\0\7", 2, s);
            if (bytes.size <= MOST && k == 0)
                write_seed("fuzz_tools", (char[]){(char)(i % 16), 0}, 2, s);
            if (bytes.size <= MOST && k == 0 && chosen) seed_model(s);
            if (bytes.size <= MOST && k == 1) seed_data(files.paths[i], s);
            test_bytes_free(&bytes);
        }
        test_files_free(&files);
    }
    test_files archives = test_files_find(argv[1], ".pt");
    for (size_t i = 0; i < archives.count; i++) seed_torch(archives.paths[i]);
    test_files_free(&archives);
    seed_cases("types");
    seed_cases("kernels");
    write_words();
    test_bytes rich = test_model_rich_bytes();
    seed_model((onx_str){rich.data, rich.size});
    for (char tool = 0; tool < 16; tool++)
        write_seed("fuzz_tools", (char[]){tool, 0}, 2, (onx_str){rich.data, rich.size});
    test_bytes_free(&rich);
    printf("%zu seeds\n", written);
    return 0;
}
