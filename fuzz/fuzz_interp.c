/* fuzz_interp.c: any text as the methods and classes of a TorchScript module, which is then run on
 * types and sizes. What comes out is a model whose links hold, or a failure that says why. */
#include "base/zip.h"
#include "export/interp.h"
#include "fuzz.h"

static void add(onx_zip_writer *zip, const char *name, const void *data, size_t size) {
    onx_str part = {data, size};
    FUZZ_OK(onx_zip_writer_add(zip, onx_str_of(name), &part, 1, NULL), NULL);
}

/* A module M with an attribute k: 3, and another m: itself a module, of class N. */
static void make_archive(onx_buf *bytes, const uint8_t *code, size_t size) {
    static const char head[] = "class M(Module):\n"
                               "  training : bool\n"
                               "  k : int\n"
                               "  m : __torch__.N\n";
    static const char data[] = "\x80\x02"
                               "c__torch__\nM\n)\x81}(X\x08\0\0\0training\x88X\x01\0\0\0kK\x03"
                               "X\x01\0\0\0mc__torch__\nN\n)\x81}bub.";
    onx_buf source;
    onx_buf_init(&source, bytes->ctx);
    onx_buf_puts(&source, head);
    onx_buf_put(&source, code, size);
    onx_writer writer = onx_buf_writer(bytes);
    onx_zip_writer zip;
    onx_zip_writer_init(&zip, bytes->ctx, &writer);
    add(&zip, "m/data.pkl", data, sizeof data - 1);
    add(&zip, "m/constants.pkl", "\x80\x02).", 4);
    add(&zip, "m/version", "3", 1);
    add(&zip, "m/code/__torch__.py", source.data, source.size);
    FUZZ_OK(onx_zip_writer_finish(&zip, NULL), NULL);
    onx_zip_writer_fini(&zip);
    onx_buf_fini(&source);
}

static void run(onx_export *x, onx_archive *archive) {
    enum { MOST = 16 };
    onx_interp *in = onx_interp_open(x, archive);
    const onx_sym *dims[] = {onx_sym_name(x->syms, ONX_LIT("b")), onx_sym_int(x->syms, 4)};
    onx_xv args[MOST];
    onx_interp_expect(in, 3);
    size_t n = onx_interp_input_count(in);
    for (size_t i = 0; i < n && n <= MOST; i++)
        args[i] = onx_x_input(x, "x", i % 2 ? ONX_DTYPE_I64 : ONX_DTYPE_F32, 2, dims);
    if (in && n <= MOST) onx_interp_run(in, args);
    for (size_t i = 0; i < onx_interp_output_count(in) && onx_x_ok(x); i++)
        onx_x_output(x, "y", onx_xv_value(x, &onx_interp_output(in, i)->value));
    onx_interp_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_archive *archive = NULL;
    onx_buf bytes;
    onx_export x;
    onx_buf_init(&bytes, ctx);
    make_archive(&bytes, data, size);
    FUZZ_OK(onx_archive_open_memory(ctx, (onx_str){bytes.data, bytes.size}, &archive, &diag),
            &diag);
    FUZZ_OK(onx_export_begin(&x, ctx, ONX_X_BASE, &diag), &diag);
    run(&x, archive);
    if (x.status)
        fuzz_refused(x.status, &x.diag);
    else
        FUZZ_CHECK(test_links(x.model));
    onx_export_end(&x);
    onx_archive_close(archive);
    onx_buf_fini(&bytes);
    fuzz_context_free(ctx);
    return 0;
}
