/* archive_decline.c: files without a graph that can be read: what they are, and what to do in
 * Python to get one. */
#include "export/pickle.h"
#include "export/safetensors.h"

#include <stdio.h>

static const struct {
    enum { NEITHER, WEIGHTS, GRAPH } holds;
    const char *text;
} kinds[] = {
#define KIND(name, holds, text) [ONX_ARCHIVE_##name] = {holds, text},
    ONX_ARCHIVE_MAP(KIND)
#undef KIND
};

bool onx_archive_has_graph(const onx_archive *archive) {
    return kinds[onx_archive_kind_of(archive)].holds == GRAPH;
}

#define EXPORT "torch.export.save(torch.export.export(m, (x,)), 'm.pt2')"

/* What to do, for each kind; for torch.save, when it holds a state_dict. */
static const char *const hints[ONX_ARCHIVE_COUNT] = {
    [ONX_ARCHIVE_UNKNOWN] = "onx export reads .pt2 (torch.export.save) and .pt (torch.jit.save)",
    [ONX_ARCHIVE_SAVED] =
        "in Python: m = YourModel(); m.load_state_dict(torch.load(file)); m.eval(); "
        "x = sample_input; " EXPORT,
    [ONX_ARCHIVE_SAFETENSORS] = "in Python: m = YourModel(); m.load_state_dict(safetensors.torch."
                                "load_file(file)); m.eval(); x = sample_input; " EXPORT,
    [ONX_ARCHIVE_AOTI] = "in Python, from the same program: torch.export.save(program, 'm.pt2')",
    [ONX_ARCHIVE_LITE] = "save the scripted module itself: m.save('m.pt'), in place of "
                         "m._save_for_lite_interpreter(…)",
    [ONX_ARCHIVE_SCRIPT_OLD] =
        "in Python, with torch 1.4 or later: torch.jit.load(file).save('m.pt')",
    [ONX_ARCHIVE_PACKAGE] =
        "in Python: m = torch.package.PackageImporter(file).load_pickle(package, "
        "resource).eval(); x = sample_input; " EXPORT,
    [ONX_ARCHIVE_SERVE] =
        "unzip it: the .pt file inside can be exported if torch.jit.save wrote it",
    [ONX_ARCHIVE_EXECUTORCH] = "in Python, before to_edge(): torch.export.save(program, 'm.pt2')",
    [ONX_ARCHIVE_TFLITE] = "convert it in Python: python -m tf2onnx.convert --tflite file --output "
                           "m.onnx",
    [ONX_ARCHIVE_HDF5] = "convert it in Python: model = keras.models.load_model(file); "
                         "model.export('m.onnx', format='onnx')",
    [ONX_ARCHIVE_GGUF] = "export the original PyTorch model: " EXPORT,
};

static const char whole_module[] =
    "in Python: m = torch.load(file, weights_only=False).eval(); x = sample_input; " EXPORT;

/* Kinds that are told what another is told. */
static const onx_archive_kind alike[ONX_ARCHIVE_COUNT] = {
    [ONX_ARCHIVE_SAVED_OLD] = ONX_ARCHIVE_SAVED,
    [ONX_ARCHIVE_SAVED_TAR] = ONX_ARCHIVE_SAVED,
    [ONX_ARCHIVE_PYTORCH1] = ONX_ARCHIVE_SAVED,
    [ONX_ARCHIVE_SAFETENSORS_INDEX] = ONX_ARCHIVE_SAFETENSORS,
};

/* What a file of torch.save holds, as far as it can be read. */
typedef struct content {
    size_t tensors;   /* 0: not known */
    char module[100]; /* the class of a whole module that was pickled; "": none */
} content;

static void look_at(const onx_pickle *pickle, content *c) {
    c->tensors = pickle->tensors;
    if (pickle->root->kind == ONX_PK_OBJECT)
        snprintf(c->module, sizeof c->module, "%.*s", ONX_FMT(pickle->root->type));
}

static void look_at_saved(onx_archive *archive, content *c) {
    onx_pickle pickle;
    if (onx_pickle_read(archive, ONX_LIT("data.pkl"), &pickle, NULL)) return;
    look_at(&pickle, c);
    onx_pickle_fini(&pickle);
}

/* Pickles in a row: a magic number, which has too many bits, a version, the system, the object. */
static void look_at_saved_old(onx_archive *archive, content *c) {
    enum { MAGIC_BYTES = 15, VERSION = 0, OBJECT = 2 };
    onx_context *ctx = onx_archive_doc(archive)->ctx;
    onx_str rest = onx_archive_bytes(archive);
    size_t used = MAGIC_BYTES;
    for (int i = VERSION; i <= OBJECT; i++) {
        onx_pickle pickle;
        if (used > rest.size) return;
        rest = (onx_str){rest.data + used, rest.size - used};
        onx_str start = {rest.data, rest.size < ONX_PK_SIZE ? rest.size : ONX_PK_SIZE};
        if (onx_pickle_read_bytes(ctx, start, NULL, ONX_LIT(""), &pickle, &used, NULL)) return;
        if (i == OBJECT) look_at(&pickle, c);
        onx_pickle_fini(&pickle);
    }
}

static void look_at_safetensors(onx_archive *archive, content *c) {
    onx_safetensors *st = NULL;
    onx_context *ctx = onx_archive_doc(archive)->ctx;
    if (onx_safetensors_open_memory(ctx, onx_archive_bytes(archive), &st, NULL)) return;
    c->tensors = st->count;
    onx_safetensors_close(st);
}

static content content_of(onx_archive *archive) {
    content c = {.tensors = 0};
    switch (onx_archive_kind_of(archive)) {
    case ONX_ARCHIVE_SAVED: look_at_saved(archive, &c); break;
    case ONX_ARCHIVE_SAVED_OLD: look_at_saved_old(archive, &c); break;
    case ONX_ARCHIVE_SAFETENSORS: look_at_safetensors(archive, &c); break;
    default: break;
    }
    return c;
}

/* "weights (62 tensors)", "a pickled module of the Python class X" */
static void describe(const content *c, char *out, size_t size) {
    char count[40] = "";
    if (c->tensors) snprintf(count, sizeof count, " (%zu tensors)", c->tensors);
    if (c->module[0])
        snprintf(out, size, "a pickled module of the Python class %s%s", c->module, count);
    else
        snprintf(out, size, "weights%s", count);
}

onx_status onx_archive_decline(onx_archive *archive, onx_diag *diag) {
    onx_archive_kind kind = onx_archive_kind_of(archive);
    onx_archive_kind like = alike[kind] ? alike[kind] : kind;
    content c = content_of(archive);
    char what[200];
    describe(&c, what, sizeof what);
    if (kinds[kind].holds == WEIGHTS)
        onx_fail(diag, ONX_UNSUPPORTED, "this is %s: it holds %s, but no graph", kinds[kind].text,
                 what);
    else
        onx_fail(diag, ONX_UNSUPPORTED, "this is %s", kinds[kind].text);
    const char *hint = c.module[0] ? whole_module : hints[like];
    onx_diag_hint(diag, "%s", hint ? hint : hints[ONX_ARCHIVE_UNKNOWN]);
    return ONX_UNSUPPORTED;
}
