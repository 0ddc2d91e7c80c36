/* support.c: memory and an operating system that fail on demand, bytes, files. */
#define _XOPEN_SOURCE 700
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void die(const char *what, const char *name) {
    fprintf(stderr, "test support: %s %s: %s\n", what, name, strerror(errno));
    abort();
}

/* ── Memory: every block carries its size, to compare with what the library says it is ── */

typedef struct block {
    size_t size;
    alignas(16) char data[];
} block;

static void *heap_resize(void *user, void *ptr, size_t old_size, size_t new_size) {
    test_heap *heap = user;
    block *b = ptr ? (block *)(void *)((char *)ptr - offsetof(block, data)) : NULL;
    if ((b ? b->size : 0) != old_size) {
        fprintf(stderr, "test support: a block of %zu bytes is given back as %zu\n",
                b ? b->size : 0, old_size);
        abort();
    }
    if (new_size) {
        heap->calls++;
        bool fails = heap->fail_at && heap->calls >= heap->fail_at &&
                     (!heap->fail_count || heap->calls < heap->fail_at + heap->fail_count);
        heap->failed += fails;
        if (fails) return NULL;
    }
    heap->bytes -= old_size;
    heap->blocks -= b != NULL;
    if (!new_size) {
        free(b);
        return NULL;
    }
    block *n = malloc(sizeof *n + new_size); /* always elsewhere: stale pointers are caught */
    if (!n) die("no memory", "");
    n->size = new_size;
    memset(n->data, 0xa5, new_size);
    if (b) memcpy(n->data, b->data, old_size < new_size ? old_size : new_size);
    free(b);
    heap->bytes += new_size;
    heap->blocks++;
    if (heap->bytes > heap->peak) heap->peak = heap->bytes;
    return n->data;
}

onx_allocator test_heap_allocator(test_heap *heap) {
    return (onx_allocator){heap, heap_resize};
}

onx_context *test_context(test_heap *heap, const onx_context_options *options) {
    onx_context_options o = options ? *options : ONX_INIT(onx_context_options);
    o.allocator = test_heap_allocator(heap);
    onx_context *ctx = NULL;
    if (onx_context_new(&o, &ctx)) die("no context", "");
    return ctx;
}

/* ── Operating system ── */

test_os_state test_os;

static const char *const os_names[TEST_OS_COUNT] = {
    "open", "create", "lock", "set_mode", "real_path", "close", "stat",
    "read", "write",  "sync", "rename",   "unlink",    "map",   "unmap"};

const char *test_os_name(test_os_call call) {
    return os_names[call];
}

/* Count the call; 0, or the error it is to return. */
static int enter(test_os_call call, const char *name) {
    if (test_os.before) test_os.before(call, name);
    size_t n = ++test_os.calls;
    bool fails =
        test_os.fail_at && (n == test_os.fail_at || (test_os.persistent && n > test_os.fail_at));
    test_os.done[call] += !fails;
    if (!fails) return 0;
    if (!test_os.failed++) test_os.first_failed = call;
    return -test_os.error;
}

static int opened(int fd) {
    test_os.open_files += fd >= 0;
    return fd;
}

static int fake_open_dir(const char *path) {
    int error = enter(TEST_OS_OPEN, path);
    return error ? error : opened(onx_os_host.open_dir(path));
}
static int fake_open_read(const char *path) {
    int error = enter(TEST_OS_OPEN, path);
    return error ? error : opened(onx_os_host.open_read(path));
}
static int fake_open_beneath(int dir, const char *path) {
    int error = enter(TEST_OS_OPEN, path);
    return error ? error : opened(onx_os_host.open_beneath(dir, path));
}
static int fake_open_write(const char *path) {
    int error = enter(TEST_OS_CREATE, path);
    return error ? error : opened(onx_os_host.open_write(path));
}
static int fake_create_exclusive(int dir, const char *name) {
    int error = enter(TEST_OS_CREATE, name);
    return error ? error : opened(onx_os_host.create_exclusive(dir, name));
}
static int fake_lock(int fd) {
    int error = enter(TEST_OS_LOCK, "");
    return error ? error : onx_os_host.lock(fd);
}
static int fake_set_mode(int fd, uint32_t mode) {
    int error = enter(TEST_OS_MODE, "");
    return error ? error : onx_os_host.set_mode(fd, mode);
}
static int fake_real_path(const char *path, char *out) {
    int error = enter(TEST_OS_REAL_PATH, path);
    return error ? error : onx_os_host.real_path(path, out);
}
/* Closing may report an error, but the file is closed. */
static int fake_close(int fd) {
    int error = enter(TEST_OS_CLOSE, ""), real = onx_os_host.close(fd);
    test_os.open_files--;
    return error ? error : real;
}
static int fake_stat(int fd, onx_file_info *info) {
    int error = enter(TEST_OS_STAT, "");
    return error ? error : onx_os_host.stat(fd, info);
}
static int fake_stat_path(const char *path, onx_file_info *info) {
    int error = enter(TEST_OS_STAT, path);
    return error ? error : onx_os_host.stat_path(path, info);
}
static size_t moved(size_t size) {
    return test_os.short_counts && size > 1 ? 1 : size;
}
static int64_t fake_read(int fd, void *data, size_t size) {
    int error = enter(TEST_OS_READ, "");
    return error ? error : onx_os_host.read(fd, data, moved(size));
}
static int64_t fake_read_at(int fd, void *data, size_t size, uint64_t offset) {
    int error = enter(TEST_OS_READ, "");
    return error ? error : onx_os_host.read_at(fd, data, moved(size), offset);
}
static int64_t fake_write(int fd, const void *data, size_t size) {
    int error = enter(TEST_OS_WRITE, "");
    return error ? error : onx_os_host.write(fd, data, moved(size));
}
static int fake_sync(int fd) {
    int error = enter(TEST_OS_SYNC, "");
    return error ? error : onx_os_host.sync(fd);
}
static int fake_rename(int dir, const char *from, const char *to) {
    int error = enter(TEST_OS_RENAME, to);
    return error ? error : onx_os_host.rename(dir, from, to);
}
static int fake_unlink(int dir, const char *name) {
    int error = enter(TEST_OS_UNLINK, name);
    return error ? error : onx_os_host.unlink(dir, name);
}
static int fake_map(int fd, uint64_t size, void **address) {
    int error = enter(TEST_OS_MAP, "");
    if (!error) error = onx_os_host.map(fd, size, address);
    test_os.mappings += !error;
    return error;
}
static int fake_unmap(void *address, uint64_t size) {
    int error = enter(TEST_OS_UNMAP, ""), real = onx_os_host.unmap(address, size);
    test_os.mappings--;
    return error ? error : real;
}
static int fake_touch(const void *address, size_t size, bool write) {
    return onx_os_host.touch(address, size, write);
}
static int fake_drop(const void *address, uint64_t size) {
    return onx_os_host.drop(address, size);
}

const onx_os test_os_table = {
    .open_dir = fake_open_dir,
    .open_read = fake_open_read,
    .open_beneath = fake_open_beneath,
    .open_write = fake_open_write,
    .create_exclusive = fake_create_exclusive,
    .lock = fake_lock,
    .set_mode = fake_set_mode,
    .real_path = fake_real_path,
    .close = fake_close,
    .stat = fake_stat,
    .stat_path = fake_stat_path,
    .read = fake_read,
    .read_at = fake_read_at,
    .write = fake_write,
    .sync = fake_sync,
    .rename = fake_rename,
    .unlink = fake_unlink,
    .map = fake_map,
    .unmap = fake_unmap,
    .drop = fake_drop,
    .touch = fake_touch,
};

/* ── Random numbers (splitmix64) ── */

uint64_t test_random_next(test_random *r) {
    uint64_t z = r->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

size_t test_random_below(test_random *r, size_t n) {
    return (size_t)(test_random_next(r) % n);
}

/* ── Bytes ── */

void test_put(test_bytes *b, const void *data, size_t size) {
    if (b->size + size > b->cap || !b->data) {
        b->cap = (b->size + size) * 2 + 64;
        b->data = realloc(b->data, b->cap);
        if (!b->data) die("no memory", "");
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

void test_put_byte(test_bytes *b, unsigned byte) {
    char c = (char)byte;
    test_put(b, &c, 1);
}

void test_put_long_varint(test_bytes *b, uint64_t v, unsigned extra) {
    for (; v >= 0x80; v >>= 7) test_put_byte(b, (unsigned)(v & 0x7f) | 0x80);
    test_put_byte(b, (unsigned)v | (extra ? 0x80 : 0));
    for (; extra; extra--) test_put_byte(b, extra > 1 ? 0x80 : 0);
}

void test_put_varint(test_bytes *b, uint64_t v) {
    test_put_long_varint(b, v, 0);
}

void test_put_tag(test_bytes *b, uint32_t number, unsigned type) {
    test_put_varint(b, (uint64_t)number << 3 | type);
}

void test_put_int(test_bytes *b, uint32_t number, uint64_t v) {
    test_put_tag(b, number, TEST_VARINT);
    test_put_varint(b, v);
}

void test_put_bytes(test_bytes *b, uint32_t number, const void *data, size_t size) {
    test_put_tag(b, number, TEST_LEN);
    test_put_varint(b, size);
    test_put(b, data, size);
}

void test_put_str(test_bytes *b, uint32_t number, const char *z) {
    test_put_bytes(b, number, z, strlen(z));
}

void test_put_message(test_bytes *b, uint32_t number, test_bytes *message) {
    test_put_bytes(b, number, message->data, message->size);
    test_bytes_free(message);
}

void test_bytes_free(test_bytes *b) {
    free(b->data);
    *b = (test_bytes){NULL, 0, 0};
}

/* ── Models ── */

onx_model *test_parse(onx_context *ctx, const char *text) {
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    onx_status status = onx_model_load_memory(ctx, text, strlen(text), &options, &model, &diag);
    if (status != ONX_OK && status != ONX_NO_MEMORY)
        fprintf(stderr, "%s: %s\n%s\n", diag.place, diag.message, text);
    return model;
}

onx_arg test_floats(size_t n, const float *data) {
    return (onx_arg){.dtype = ONX_DTYPE_F32,
                     .rank = 1,
                     .dims = {(int64_t)n},
                     .data = (void *)(uintptr_t)data,
                     .bytes = n * sizeof *data};
}

/* ── Files ── */

const char *test_data(void) {
    return getenv("ONX_DATA");
}

bool test_has_zoo(void) {
    const char *data = test_data();
    return data && access(test_path(data, "resnet18/model.slim.onnx"), R_OK) == 0;
}

void test_folder_new(char out[static 256]) {
    const char *base = getenv("TMPDIR");
    if (!base)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* syncing is free there */
    snprintf(out, 256, "%s/onx-test-XXXXXX", base);
    if (!mkdtemp(out)) die("cannot make a folder", out);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)at;
    if (type == FTW_DP || type == FTW_D) {
        chmod(path, 0700);
        return rmdir(path);
    }
    return unlink(path);
}

void test_folder_remove(const char *folder) {
    if (nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS)) die("cannot remove", folder);
}

size_t test_folder_count(const char *folder) {
    DIR *dir = opendir(folder);
    size_t n = 0;
    if (!dir) die("cannot list", folder);
    for (struct dirent *e; (e = readdir(dir));)
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(dir);
    return n;
}

char *test_path(const char *folder, const char *name) {
    static _Thread_local char paths[8][1024];
    static _Thread_local unsigned next;
    char *path = paths[next++ % ONX_COUNT(paths)];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

bool test_file_exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

void test_file_write(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || (size && fwrite(data, 1, size, file) != size) || fclose(file))
        die("cannot write", path);
}

test_bytes test_file_read(const char *path) {
    test_bytes out = {NULL, 0, 0};
    FILE *file = fopen(path, "rb");
    char part[1 << 16];
    if (!file) return out;
    test_put(&out, "", 0);
    for (size_t n; (n = fread(part, 1, sizeof part, file));) test_put(&out, part, n);
    fclose(file);
    return out;
}

bool test_file_is(const char *path, const void *data, size_t size) {
    test_bytes found = test_file_read(path);
    bool same = found.data && found.size == size && !memcmp(found.data, data, size);
    test_bytes_free(&found);
    return same;
}

/* nftw has no argument for its callback. */
static test_files *found_files;
static const char *wanted_ending;

static int find_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)at;
    if (type != FTW_F || !onx_str_ends(onx_str_of(path), onx_str_of(wanted_ending))) return 0;
    test_files *f = found_files;
    f->paths = realloc(f->paths, (f->count + 1) * sizeof *f->paths);
    if (!f->paths || !(f->paths[f->count++] = strdup(path))) die("no memory", "");
    return 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

test_files test_files_find(const char *folder, const char *ending) {
    test_files files = {NULL, 0};
    found_files = &files;
    wanted_ending = ending;
    if (nftw(folder, find_entry, 16, FTW_PHYS)) die("cannot list", folder);
    if (files.count) qsort(files.paths, files.count, sizeof *files.paths, by_name);
    return files;
}

void test_files_free(test_files *files) {
    for (size_t i = 0; i < files->count; i++) free(files->paths[i]);
    free(files->paths);
    *files = (test_files){NULL, 0};
}
