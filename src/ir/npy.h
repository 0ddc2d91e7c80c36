/* npy.h: NumPy's files: .npy, one array; .npz, a zip archive of named ones.
 *
 * What ml_dtypes adds to NumPy's types, numpy.save writes so that it cannot be loaded, or not known
 * for what it was. Here such types are written as a record of one field, whose name is the type's:
 *
 *     [('bfloat16', '<u2')]        numpy.load gives an array a; a.view(a.dtype.names[0]) has its
 *                                  type, once ml_dtypes is imported
 *
 * Types of less than 8 bits take a byte each. Such records are read with the names of ml_dtypes
 * (float8_e4m3fn), of ONNX (float8e4m3fn), and of older onnx packages (e4m3fn). Also read is what
 * numpy.save writes for bfloat16 ('<V2') and float8_e5m2 ('<f1'); '<V1', which it writes for all
 * the others, may be any of them and is refused.
 *
 * Strings have the width of the longest: '<U', or '|S' when one is not UTF-8. NUL at the end of a
 * string is padding, so that a string which ends with one cannot be written.
 *
 * Read are the versions 1.0, 2.0 and 3.0, either byte order, either order of dimensions. Written is
 * what numpy.save would write, byte for byte, where it has the type. Pickled objects are refused:
 * reading them runs code. */
#ifndef ONX_NPY_H
#define ONX_NPY_H

#include "ir/ir.h"

/* The tensor is a new message in `doc`; its data stay in `bytes` where they lie as ONNX has them.
 * `bytes` must live as long as the document. */
onx_status onx_npy_read(onx_doc *doc, onx_str bytes, onx_tensor **out, onx_diag *diag)
    ONX_MUST_CHECK;
onx_status onx_npy_write(const onx_tensor *tensor, const onx_writer *writer, onx_diag *diag)
    ONX_MUST_CHECK;
/* A sequence of tensors, named as the entries of the archive are, without ".npy". */
onx_status onx_npz_read(onx_doc *doc, onx_str bytes, onx_sequence **out, onx_diag *diag)
    ONX_MUST_CHECK;
/* Tensors without a name are called arr_0, arr_1 and so on, by their place, as numpy.savez does. */
onx_status onx_npz_write(const onx_sequence *sequence, const onx_writer *writer, onx_diag *diag)
    ONX_MUST_CHECK;

/* For the files behind this header. */

typedef struct onx_npy_type {
    onx_dtype dtype;
    const char *code; /* "<f4": byte order, kind, bytes */
    const char *name; /* of the record's field; NULL: the code says it all */
    const char *old;  /* another name for it */
} onx_npy_type;
extern const onx_npy_type onx_npy_types[]; /* ends with a NULL code */

/* A tensor as a file: header and data. `data` is the tensor's own, or `owned`. */
typedef struct onx_npy_image {
    onx_buf header;
    onx_str data;
    onx_blob *owned;
} onx_npy_image;
onx_status onx_npy_image_init(onx_npy_image *image, const onx_tensor *tensor, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_npy_image_fini(onx_npy_image *image);

#endif
