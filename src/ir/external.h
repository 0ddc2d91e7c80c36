/* external.h: tensor data in files beside the model. */
#ifndef ONX_EXTERNAL_H
#define ONX_EXTERNAL_H

#include "ir/ir.h"

/* Find the data of every external tensor below `root`. `path` is the model's file: data lie in its
 * folder or, where the file is a link, in the folder it leads to; with `folder` they lie there
 * instead. */
onx_status onx_external_load(void *root, const char *path, const char *folder, size_t map_threshold,
                             onx_diag *diag) ONX_MUST_CHECK;

/* The bytes of one file that the file at `path` names, found by the same rules; `doc` keeps it.
 * `location` is followed by a NUL. */
onx_status onx_external_open(onx_doc *doc, const char *path, onx_str location, size_t map_threshold,
                             onx_str *out, onx_diag *diag) ONX_MUST_CHECK;

/* Is `location` a relative path without "..": one that cannot leave a folder, links aside? */
bool onx_external_is_plain(onx_str location);

/* Point a tensor at its place in a data file, in place of any payload it had. */
onx_status onx_external_set(onx_tensor *tensor, const char *location, uint64_t offset,
                            uint64_t length) ONX_MUST_CHECK;

#endif
