/* support.h: what the tests of files, faults and hostile input share.
 *
 *   test_heap      an allocator that counts, checks the sizes given back, and fails when told to
 *   test_os        an operating system whose calls are counted and fail when told to
 *   test_bytes     a writer of protobuf bytes, right or wrong
 *   test_rewrite   another valid encoding of the same message, at random
 *   test_canon     the oracle for it: one spelling for every encoding, written without the codec
 *   test_links     are the links of a model what its names say?
 *   files          temporary folders, whole files, the files of the test data
 *
 * Nothing here is fast or handles failure of its own: a test that cannot go on ends the program. */
#ifndef ONX_TEST_SUPPORT_H
#define ONX_TEST_SUPPORT_H

#include "ir/ir.h"

#include <stdio.h>

/* ── Memory ── */

typedef struct test_heap {
    size_t bytes, peak, blocks; /* now, at most, now */
    size_t calls;               /* that ask for memory */
    size_t fail_at;             /* the call to fail, from 1; 0: none */
    size_t fail_count;          /* how many from there on; 0: all */
    size_t failed;              /* calls that were made to fail */
} test_heap;

onx_allocator test_heap_allocator(test_heap *heap);
/* A context on `heap`, with other options as given (NULL: defaults). */
onx_context *test_context(test_heap *heap, const onx_context_options *options);

/* ── Operating system ── */

typedef enum test_os_call {
    TEST_OS_OPEN, /* of files and folders, for reading */
    TEST_OS_CREATE,
    TEST_OS_LOCK,
    TEST_OS_MODE,
    TEST_OS_REAL_PATH,
    TEST_OS_CLOSE,
    TEST_OS_STAT,
    TEST_OS_READ,
    TEST_OS_WRITE,
    TEST_OS_SYNC,
    TEST_OS_RENAME,
    TEST_OS_UNLINK,
    TEST_OS_MAP,
    TEST_OS_UNMAP,
    TEST_OS_COUNT
} test_os_call;

typedef struct test_os_state {
    size_t calls;      /* so far */
    size_t fail_at;    /* from 1; 0: none */
    bool persistent;   /* go on failing */
    int error;         /* an errno */
    bool short_counts; /* reads and writes move one byte at a time */
    size_t failed;
    test_os_call first_failed;
    size_t done[TEST_OS_COUNT]; /* calls of each kind that were not made to fail */
    int open_files;             /* opened less closed */
    int mappings;
    void (*before)(test_os_call call, const char *name); /* NULL: nothing */
} test_os_state;

extern test_os_state test_os;      /* of all tables made from it */
extern const onx_os test_os_table; /* put it into onx_context.os */
const char *test_os_name(test_os_call call);

/* ── Random numbers: the same on every run ── */

typedef struct test_random {
    uint64_t state;
} test_random;

uint64_t test_random_next(test_random *r);
size_t test_random_below(test_random *r, size_t n); /* n > 0 */

/* ── Bytes ── */

typedef struct test_bytes {
    char *data;
    size_t size, cap;
} test_bytes;

enum { TEST_VARINT, TEST_I64, TEST_LEN, TEST_SGROUP, TEST_EGROUP, TEST_I32 };

void test_put(test_bytes *b, const void *data, size_t size);
void test_put_byte(test_bytes *b, unsigned byte);
void test_put_varint(test_bytes *b, uint64_t v);
void test_put_long_varint(test_bytes *b, uint64_t v,
                          unsigned extra); /* longer than it needs to be */
void test_put_tag(test_bytes *b, uint32_t number, unsigned type);
void test_put_int(test_bytes *b, uint32_t number, uint64_t v);
void test_put_bytes(test_bytes *b, uint32_t number, const void *data, size_t size);
void test_put_str(test_bytes *b, uint32_t number, const char *z);
void test_put_message(test_bytes *b, uint32_t number, test_bytes *message); /* and frees it */
void test_bytes_free(test_bytes *b);

/* ── Encodings ── */

/* What test_rewrite may do. */
enum {
    TEST_SHUFFLE = 1,  /* order of fields, keeping that of each number and oneof */
    TEST_REPEAT = 2,   /* singular fields twice, messages in two parts */
    TEST_PACKING = 4,  /* lists packed, unpacked, and in parts */
    TEST_LONG = 8,     /* varints longer than they need to be */
    TEST_UNKNOWN = 16, /* fields nobody knows, of every wire type, at every level */
};
void test_rewrite(const onx_desc *desc, onx_str in, unsigned what, test_random *r, test_bytes *out);
/* Known fields by number, values spelled one way, then unknown fields as they came. */
void test_canon(const onx_desc *desc, onx_str in, test_bytes *out);

/* ── Models ── */

/* A model of ONNX text; NULL when that is wrong, with a line on stderr, or memory ends. */
onx_model *test_parse(onx_context *ctx, const char *text);
/* A list of floats, as an argument of a run. */
onx_arg test_floats(size_t n, const float *data);

/* Walks every name and every link of the model; false, and a line on stderr, where they do not
 * agree. */
bool test_links(const onx_model *model);
/* Does every name mean one thing: no undefined names, none defined twice or shadowed? */
bool test_is_plain(const onx_model *model);
/* Which definition every use of a name leads to, as text: equal for models that mean the same. */
void test_links_print(const onx_model *model, test_bytes *out);

/* ── Files ── */

const char *test_data(void);                           /* $ONX_DATA, or NULL */
bool test_has_zoo(void);                               /* in $ONX_DATA */
void test_folder_new(char out[static 256]);            /* a new, empty folder */
void test_folder_remove(const char *folder);           /* with all that is in it */
size_t test_folder_count(const char *folder);          /* entries */
char *test_path(const char *folder, const char *name); /* folder/name; in a buffer used in turn */
bool test_file_exists(const char *path);
void test_file_write(const char *path, const void *data, size_t size);
test_bytes test_file_read(const char *path); /* data NULL if it cannot be read */
bool test_file_is(const char *path, const void *data, size_t size);

typedef struct test_files {
    char **paths; /* sorted */
    size_t count;
} test_files;
test_files test_files_find(const char *folder, const char *ending);
void test_files_free(test_files *files);

/* ── Models to work on ── */

/* A model with something of everything: nested graphs, functions, training, quantization notes,
 * sparse tensors, every storage form, attributes of every type. */
onx_model *test_model_rich(onx_context *ctx);
/* The same as bytes. */
test_bytes test_model_rich_bytes(void);

#endif
