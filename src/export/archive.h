/* archive.h: the files that PyTorch users have, told apart by content, and their records.
 *
 *     onx_archive *archive;
 *     ONX_TRY(onx_archive_open(ctx, path, &archive, diag));
 *     if (!onx_archive_has_graph(archive)) status = onx_archive_decline(archive, diag);
 *     else if (onx_archive_kind_of(archive) == ONX_ARCHIVE_SCRIPT) …
 *     status = onx_archive_read(archive, ONX_LIT("constants.pkl"), &bytes, diag);
 *     …
 *     onx_archive_close(archive);
 *
 * Names of records are without the folder that all share ("traced/data.pkl" is "data.pkl"); they
 * are keys, and never touch the file system. What a zip archive may look like: base/zip.h.
 * A record that is read stays until the archive is closed: a stored one lies in the mapped file, a
 * deflated one is inflated once. Its checksum is verified the first time. What a document shares
 * (onx_doc_share from onx_archive_doc) outlives the archive. */
#ifndef ONX_ARCHIVE_H
#define ONX_ARCHIVE_H

#include "wire/wire.h"

/* X(NAME, what it holds, what it is) */
#define ONX_ARCHIVE_MAP(X)                                                                         \
    X(UNKNOWN, NEITHER, "none of the files that onx export knows")                                 \
    X(SCRIPT, GRAPH, "a TorchScript archive (torch.jit.save)")                                     \
    X(PT2, GRAPH, "a torch.export archive")                                                        \
    X(PT2_FLAT, GRAPH, "a torch.export archive of torch 2.1 to 2.7")                               \
    X(SAVED, WEIGHTS, "a file of torch.save")                                                      \
    X(SAVED_OLD, WEIGHTS, "a file of torch.save before torch 1.6")                                 \
    X(SAVED_TAR, WEIGHTS, "a file of torch.save before torch 0.1.10")                              \
    X(SAFETENSORS, WEIGHTS, "a safetensors file")                                                  \
    X(SAFETENSORS_INDEX, WEIGHTS, "the index of safetensors files")                                \
    X(AOTI, NEITHER, "an AOTInductor package: machine code")                                       \
    X(LITE, NEITHER, "a lite-interpreter file without its source code")                            \
    X(SCRIPT_OLD, NEITHER, "a TorchScript archive before torch 1.2")                               \
    X(PYTORCH1, NEITHER, "a container of PyTorch before 1.0")                                      \
    X(PACKAGE, NEITHER, "a torch.package: Python source code")                                     \
    X(SERVE, NEITHER, "a TorchServe archive")                                                      \
    X(ZIP, NEITHER, "a zip archive, but none of PyTorch")                                          \
    X(PICKLE, NEITHER, "a pickle of Python, but none of PyTorch")                                  \
    X(EXECUTORCH, NEITHER, "an ExecuTorch program")                                                \
    X(TFLITE, NEITHER, "a TensorFlow Lite model")                                                  \
    X(HDF5, NEITHER, "an HDF5 file, as Keras writes them")                                         \
    X(GGUF, WEIGHTS, "a GGUF file")

typedef enum onx_archive_kind {
#define ONX_ARCHIVE_ENUM(name, holds, text) ONX_ARCHIVE_##name,
    ONX_ARCHIVE_MAP(ONX_ARCHIVE_ENUM)
#undef ONX_ARCHIVE_ENUM
        ONX_ARCHIVE_COUNT
} onx_archive_kind;

typedef struct onx_archive onx_archive;

/* Any file opens, as ONX_ARCHIVE_UNKNOWN at worst; a zip archive that is damaged does not. */
onx_status onx_archive_open(onx_context *ctx, const char *path, onx_archive **out, onx_diag *diag)
    ONX_MUST_CHECK;
/* The same for bytes, which must stay as long as the archive and what shares them. */
onx_status onx_archive_open_memory(onx_context *ctx, onx_str bytes, onx_archive **out,
                                   onx_diag *diag) ONX_MUST_CHECK;
/* The same for a file that the one at `path` names: beside it, never elsewhere (ir/external.h).
 * `name` is followed by a NUL. */
onx_status onx_archive_open_beside(onx_context *ctx, const char *path, onx_str name,
                                   onx_archive **out, onx_diag *diag) ONX_MUST_CHECK;
/* A record that is itself an archive: the .pt files in .pt2 ones. May outlive `outer`. */
onx_status onx_archive_open_record(onx_archive *outer, onx_str name, onx_archive **out,
                                   onx_diag *diag) ONX_MUST_CHECK;
void onx_archive_close(onx_archive *archive); /* may be NULL */

onx_archive_kind onx_archive_kind_of(const onx_archive *archive);
bool onx_archive_has_graph(const onx_archive *archive);
/* The failure for a file without a graph that can be read: says what it is, how many tensors it
 * holds where that can be found out, and the Python lines that make a usable file. */
onx_status onx_archive_decline(onx_archive *archive, onx_diag *diag) ONX_MUST_CHECK;

/* The document that owns the archive's bytes: for onx_doc_share, and its context. */
onx_doc *onx_archive_doc(const onx_archive *archive);
/* The whole file, for the kinds that are not zip archives. */
onx_str onx_archive_bytes(const onx_archive *archive);
/* Are the numbers of raw tensors big-endian? (Pickles and the rest never are.) */
bool onx_archive_is_big_endian(const onx_archive *archive);
/* The number in `version` or `.data/version`, for the operators of TorchScript; 0: none. */
uint64_t onx_archive_version(const onx_archive *archive);

/* Records, in the order of the directory. Other kinds than zip archives have none. */
size_t onx_archive_record_count(const onx_archive *archive);
onx_str onx_archive_record_name(const onx_archive *archive, size_t i);
bool onx_archive_has(const onx_archive *archive, onx_str name);
/* The bytes of a record when read; UINT64_MAX: there is none of that name. */
uint64_t onx_archive_record_size(const onx_archive *archive, onx_str name);
/* Its content; NOT_FOUND names what is missing. */
onx_status onx_archive_read(onx_archive *archive, onx_str name, onx_str *out, onx_diag *diag)
    ONX_MUST_CHECK;

/* For torch_tensor.c: storages by record; and whether so many more bytes may be copied out of the
 * archive, which is counted. */
onx_map *onx_archive_storages(onx_archive *archive);
bool onx_archive_spend(onx_archive *archive, size_t bytes) ONX_MUST_CHECK;

#endif
