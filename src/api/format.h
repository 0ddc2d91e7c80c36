/* format.h: files of every kind in and out, for the functions of onx.h. */
#ifndef ONX_FORMAT_H
#define ONX_FORMAT_H

#include "text/text.h"

/* What the bytes look like, when no name tells. */
onx_format onx_format_sniff(onx_str bytes);

/* Parse `bytes` as a message of `desc`, in any format, into `doc`. Text formats copy, protobuf
 * keeps spans. */
onx_status onx_format_read(onx_doc *doc, onx_format format, const onx_desc *desc, onx_str bytes,
                           onx_msg **out, onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_format_write(const onx_msg *msg, onx_format format, const onx_writer *writer,
                            onx_diag *diag) ONX_MUST_CHECK;

/* Write a message to a file, replacing it whole, together with the files of a chain (NULL: none),
 * which end here in every case. */
onx_status onx_format_save(const onx_msg *msg, onx_format format, const char *path,
                           onx_replace *others, onx_diag *diag) ONX_MUST_CHECK;

/* Collect in memory what `write` writes. */
typedef onx_status onx_write_fn(const void *what, const onx_writer *writer, onx_diag *diag);
onx_status onx_collect(onx_context *ctx, onx_write_fn *write, const void *what, void **out,
                       size_t *size, onx_diag *diag) ONX_MUST_CHECK;

#endif
