/* out.h: text going out: a small buffer before a writer. The first failure sticks and is reported
 * at the end, so printers need no error handling of their own. */
#ifndef ONX_OUT_H
#define ONX_OUT_H

#include "base/io.h"

typedef struct onx_out {
    const onx_writer *writer;
    onx_diag *diag;
    onx_status status; /* not ONX_OK: everything that follows is dropped */
    size_t size;
    char data[4096];
} onx_out;

void onx_out_init(onx_out *out, const onx_writer *writer, onx_diag *diag);
void onx_out_put(onx_out *out, const void *data, size_t size);
void onx_out_putc(onx_out *out, char c);
void onx_out_puts(onx_out *out, const char *z);
void onx_out_spaces(onx_out *out, size_t count);
/* Write what is left in the buffer; the status of everything so far. */
onx_status onx_out_flush(onx_out *out) ONX_MUST_CHECK;

#endif
