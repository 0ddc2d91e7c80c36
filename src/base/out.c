/* out.c: see out.h. */
#include "base/out.h"

void onx_out_init(onx_out *out, const onx_writer *writer, onx_diag *diag) {
    out->writer = writer;
    out->diag = diag;
    out->status = ONX_OK;
    out->size = 0;
}

onx_status onx_out_flush(onx_out *out) {
    if (!out->status && out->size)
        out->status = onx_write_all(out->writer, out->data, out->size, out->diag);
    out->size = 0;
    return out->status;
}

void onx_out_put(onx_out *out, const void *data, size_t size) {
    const char *p = data;
    while (size > 0) {
        if (out->size == sizeof out->data && onx_out_flush(out)) return;
        size_t room = sizeof out->data - out->size;
        size_t n = size < room ? size : room;
        memcpy(out->data + out->size, p, n);
        out->size += n;
        p += n;
        size -= n;
    }
}

void onx_out_putc(onx_out *out, char c) {
    onx_out_put(out, &c, 1);
}

void onx_out_puts(onx_out *out, const char *z) {
    onx_out_put(out, z, strlen(z));
}

void onx_out_spaces(onx_out *out, size_t count) {
    while (count--) onx_out_putc(out, ' ');
}
