/* custom_load.c: operators from shared libraries, which are closed with the context. */
#include "base/library.h"
#include "ops/custom.h"

typedef onx_status register_fn(onx_context *ctx, onx_diag *diag);

struct onx_library {
    void *handle;
    struct onx_library *next;
};

static void unload(struct onx_custom_ops *ops) {
    while (ops->libraries) {
        struct onx_library *library = ops->libraries;
        ops->libraries = library->next;
        onx_library_close(library->handle);
        onx_mem_free(ops->ctx, library, sizeof *library);
    }
}

static onx_status check_version(void *handle, onx_diag *diag) {
    const uint32_t *version = onx_library_symbol(handle, "onx_ops_version");
    if (!version) {
        onx_fail(diag, ONX_UNSUPPORTED, "it is not a library of operators");
        onx_diag_hint(diag, "such a library has the line ONX_OPS_LIBRARY: see onx.h");
        return ONX_UNSUPPORTED;
    }
    if (*version == ONX_OPS_VERSION) return ONX_OK;
    onx_fail(diag, ONX_UNSUPPORTED, "it was made for version %u of the interface; this is %u",
             (unsigned)*version, (unsigned)ONX_OPS_VERSION);
    onx_diag_hint(diag, "compile it with the onx.h of this version");
    return ONX_UNSUPPORTED;
}

/* What the library adds, or, when it fails, as it was: rows that it left behind would point into a
 * library that is gone. */
static onx_status call_register(struct onx_custom_ops *ops, register_fn *function, onx_diag *diag) {
    size_t n = ops->n, bytes = n * sizeof(onx_custom_op *);
    onx_custom_op **rows = onx_mem_alloc(ops->ctx, bytes);
    if (!rows) return onx_fail_nomem(diag);
    if (n) memcpy(rows, ops->rows, bytes);
    onx_diag own = ONX_INIT(onx_diag);
    onx_status status = function(ops->ctx, &own);
    if (status == ONX_OK) {
        onx_mem_free(ops->ctx, rows, bytes);
        return ONX_OK;
    }
    onx_mem_free(ops->ctx, ops->rows, ops->n * sizeof(onx_custom_op *));
    ops->rows = rows;
    ops->n = n;
    return onx_fail(diag, status, "%s",
                    own.message[0] ? own.message : "its onx_register_ops failed");
}

static onx_status take_ops(struct onx_custom_ops *ops, void *handle, onx_diag *diag) {
    register_fn *function = NULL;
    ONX_TRY(check_version(handle, diag));
    void *symbol = onx_library_symbol(handle, "onx_register_ops");
    if (!symbol) return onx_fail(diag, ONX_UNSUPPORTED, "it has no function onx_register_ops");
    memcpy(&function, &symbol, sizeof function); /* as POSIX says it can be done */
    return call_register(ops, function, diag);
}

onx_status onx_context_load_ops(onx_context *ctx, const char *path, onx_diag *diag) {
    const char *why;
    if (!ctx || !path)
        return onx_fail(diag, ONX_USAGE, "a context of your own and the path of a library");
    struct onx_custom_ops *ops = onx_custom_ops_of(ctx);
    struct onx_library *library = ops ? onx_mem_alloc(ctx, sizeof *library) : NULL;
    if (!library) return onx_fail_nomem(diag);
    *library = (struct onx_library){.handle = onx_library_open(path, &why)};
    onx_status status = ONX_OK;
    if (!library->handle)
        status = onx_fail(diag, ONX_IO, "the library cannot be loaded: %.300s", why);
    else
        status = take_ops(ops, library->handle, diag);
    if (status == ONX_OK) {
        ops->unload = unload;
        library->next = ops->libraries;
        ops->libraries = library;
        return ONX_OK;
    }
    onx_diag_file(diag, path);
    if (library->handle) onx_library_close(library->handle);
    onx_mem_free(ctx, library, sizeof *library);
    return status;
}
