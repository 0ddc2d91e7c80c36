/* torch_files.h: the archives of tests: small ones made here, and those of the test data. */
#ifndef ONX_TEST_TORCH_FILES_H
#define ONX_TEST_TORCH_FILES_H

#include "base/zip.h"
#include "export/archive.h"
#include "support.h"

/* The folder of PyTorch's files: $ONX_TORCH, or torch in the test data. NULL: neither is there. */
static inline const char *torch_folder(void) {
    static char path[4096];
    const char *own = getenv("ONX_TORCH");
    if (!own && !test_data()) return NULL;
    snprintf(path, sizeof path, "%s%s", own ? own : test_data(), own ? "" : "/torch");
    return test_file_exists(path) ? path : NULL;
}

typedef struct torch_record {
    const char *name;
    onx_str content;
} torch_record;

/* A zip archive of records, as one NULL name ends them. The buffer is the caller's to end. */
static inline onx_str torch_zip(onx_context *ctx, const torch_record *records, onx_buf *buf) {
    onx_buf_init(buf, ctx);
    onx_writer writer = onx_buf_writer(buf);
    onx_zip_writer zip;
    onx_status status = ONX_OK;
    onx_zip_writer_init(&zip, ctx, &writer);
    for (; !status && records->name; records++)
        status = onx_zip_writer_add(&zip, onx_str_of(records->name), &records->content, 1, NULL);
    if (!status) status = onx_zip_writer_finish(&zip, NULL);
    onx_zip_writer_fini(&zip);
    if (status || buf->failed) abort();
    return (onx_str){buf->data, buf->size};
}

#endif
