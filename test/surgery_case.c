/* surgery_case.c: see surgery_case.h. */
#include "surgery_case.h"

#include "case_file.h"

#include "support.h"

#include <stdlib.h>

enum { WORDS = 32, MODELS = 4 };

/* ── What is done ────────────────────────────────────────────────────────────────────────────── */

typedef struct words {
    char text[1024];
    char *v[WORDS];
    size_t n;
} words;

static void split(const char *text, const char *between, words *out) {
    out->n = 0;
    (void)snprintf(out->text, sizeof out->text, "%s", text);
    for (char *p = strtok(out->text, between); p && out->n < WORDS; p = strtok(NULL, between))
        out->v[out->n++] = p;
}

/* What stands behind "key=" or "key:"; NULL: another word. */
static char *after(char *word, const char *key) {
    size_t n = strlen(key);
    return strncmp(word, key, n) == 0 ? word + n : NULL;
}

static char *cut(char *text, char at) {
    char *p = strrchr(text, at);
    if (!p) return NULL;
    *p = '\0';
    return p + 1;
}

typedef struct bit {
    const char *name;
    unsigned value;
} bit;

static unsigned bits_of(const char *text, const bit *bits) {
    words names;
    unsigned all = 0;
    split(text, ", ", &names);
    for (size_t i = 0; i < names.n; i++)
        for (const bit *b = bits; b->name; b++)
            if (strcmp(b->name, names.v[i]) == 0) all |= b->value;
    return all;
}

static onx_status extract(const words *w, onx_model **models, onx_model **out, onx_diag *diag) {
    onx_extract_options o = ONX_INIT(onx_extract_options);
    static words ins, outs;
    for (size_t i = 0; i < w->n; i++) {
        char *list = after(w->v[i], "inputs=");
        if (list) split(list, ",", &ins), o.n_inputs = ins.n, o.inputs = (const char **)ins.v;
        list = after(w->v[i], "outputs=");
        if (list) split(list, ",", &outs), o.n_outputs = outs.n, o.outputs = (const char **)outs.v;
    }
    return onx_model_extract(models[0], &o, out, diag);
}

static onx_status merge(const words *w, size_t n, onx_model **models, onx_model **out,
                        onx_diag *diag) {
    onx_merge_options o = ONX_INIT(onx_merge_options);
    static words ins, outs, prefixes;
    onx_join joins[WORDS];
    for (size_t i = 1; i < w->n; i++) {
        char *list, *word = w->v[i], *to;
        o.by_name |= strcmp(word, "by-name") == 0;
        o.share_inputs |= strcmp(word, "share-inputs") == 0;
        o.first_meta |= strcmp(word, "first-meta") == 0;
        o.convert |= strcmp(word, "convert") == 0;
        if ((list = after(word, "inputs="))) {
            split(list, ",", &ins), o.n_inputs = ins.n, o.inputs = (const char **)ins.v;
        } else if ((list = after(word, "outputs="))) {
            split(list, ",", &outs), o.n_outputs = outs.n, o.outputs = (const char **)outs.v;
        } else if ((list = after(word, "prefixes="))) {
            split(list, ",", &prefixes), o.prefixes = (const char **)prefixes.v;
        } else if ((list = after(word, "name="))) {
            o.name = list;
        } else if ((to = cut(word, '='))) {
            char *in = cut(to, ':'), *output = cut(word, ':');
            joins[o.n_joins++] = (onx_join){(size_t)atoi(word), output, (size_t)atoi(to), in};
        }
    }
    o.joins = joins;
    return onx_model_merge(n, (const onx_model *const *)models, &o, out, diag);
}

static onx_status rename_all(const words *w, onx_model **models, onx_diag *diag) {
    static const bit bits[] = {{"INPUTS", ONX_NAMES_INPUTS},
                               {"OUTPUTS", ONX_NAMES_OUTPUTS},
                               {"INITIALIZERS", ONX_NAMES_INITIALIZERS},
                               {"VALUES", ONX_NAMES_VALUES},
                               {"NODES", ONX_NAMES_NODES},
                               {"FUNCTIONS", ONX_NAMES_FUNCTIONS},
                               {"DIMS", ONX_NAMES_DIMS},
                               {"GRAPHS", ONX_NAMES_GRAPHS},
                               {"ALL", ONX_NAMES_ALL},
                               {NULL, 0}};
    onx_rename_options o = ONX_INIT(onx_rename_options);
    onx_name_pair pairs[WORDS];
    for (size_t i = 1; i < w->n; i++) {
        char *rest = after(w->v[i], "what=");
        if (rest)
            o.what = bits_of(rest, bits);
        else if ((rest = after(w->v[i], "prefix=")))
            o.prefix = rest;
        else if ((rest = cut(w->v[i], '=')))
            pairs[o.n_pairs++] = (onx_name_pair){w->v[i], rest};
    }
    o.pairs = pairs;
    return onx_model_rename(models[0], &o, diag);
}

static onx_status strip(const char *text, onx_model **models, onx_diag *diag) {
    static const bit bits[] = {{"DOCS", ONX_STRIP_DOCS},         {"METADATA", ONX_STRIP_METADATA},
                               {"NAMES", ONX_STRIP_NAMES},       {"TYPES", ONX_STRIP_TYPES},
                               {"UNUSED", ONX_STRIP_UNUSED},     {"PRODUCER", ONX_STRIP_PRODUCER},
                               {"ALL", ONX_STRIP_ALL},           {"INPUTS", ONX_STRIP_INPUTS},
                               {"TRAINING", ONX_STRIP_TRAINING}, {NULL, 0}};
    onx_stripped counts = ONX_INIT(onx_stripped);
    return onx_model_strip(models[0], bits_of(text, bits), &counts, diag);
}

static onx_status constants(const words *w, onx_model **models, onx_diag *diag) {
    static const char *const names[] = {"INITIALIZERS", "NODES", "INPUTS", "FIXED"};
    size_t i = 0, count;
    while (i < 4 && strcmp(names[i], w->v[1]) != 0) i++;
    return onx_model_move_constants(models[0], (onx_constants)i, &count, diag);
}

static void count_warning(void *user, const onx_diag *diag) {
    (void)diag;
    ++*(size_t *)user;
}

static onx_status dims(const words *w, onx_model **models, onx_diag *diag) {
    onx_dims_options o = ONX_INIT(onx_dims_options);
    onx_size sizes[WORDS];
    onx_dim_change changes[WORDS];
    size_t warnings = 0, wanted = 0;
    for (size_t i = 1; i < w->n; i++) {
        char *text = after(w->v[i], "set:"), *to;
        bool fix = (text == NULL) && after(w->v[i], "fix:");
        if (text && (to = cut(text, '='))) {
            sizes[o.n_sizes++] = (onx_size){text, atoi(to)};
            continue;
        }
        text = after(w->v[i], "warns=");
        if (text) {
            wanted = (size_t)atoi(text);
            continue;
        }
        text = after(w->v[i], fix ? "fix:" : "free:");
        to = text ? cut(text, '=') : NULL;
        char *axis = to ? cut(text, ':') : NULL;
        if (!axis) continue;
        changes[o.n_changes++] =
            (onx_dim_change){text, (size_t)atoi(axis), fix ? NULL : to, fix ? atoi(to) : 0};
    }
    o.sizes = sizes;
    o.changes = changes;
    o.report = count_warning;
    o.user = &warnings;
    onx_status status = onx_model_set_dims(models[0], &o, diag);
    if (!status && warnings != wanted) fprintf(stderr, "    %zu warnings\n", warnings), abort();
    return status;
}

onx_status surgery_do(const char *what, size_t n, onx_model **models, onx_model **out,
                      onx_diag *diag) {
    words w;
    split(what, " ", &w);
    const char *verb = w.n ? w.v[0] : "";
    if (strcmp(verb, "extract") == 0) return extract(&w, models, out, diag);
    if (strcmp(verb, "merge") == 0) return merge(&w, n, models, out, diag);
    if (strcmp(verb, "rename") == 0) return rename_all(&w, models, diag);
    if (strcmp(verb, "strip") == 0) return strip(what, models, diag);
    if (strcmp(verb, "constants") == 0) return constants(&w, models, diag);
    if (strcmp(verb, "dims") == 0) return dims(&w, models, diag);
    return ONX_UNSUPPORTED;
}

/* ── Cases ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct surgery_case {
    const char *name, *what;
    size_t n;
    const char *before[MODELS], *after;
} surgery_case;

static bool fail(const surgery_case *c, const char *what, const onx_diag *diag) {
    fprintf(stderr, "case '%s': %s: %s: %s %s\n", c->name, what, onx_status_name(diag->status),
            diag->place, diag->message);
    return false;
}

static bool same_text(const surgery_case *c, onx_model *got, onx_model *want) {
    onx_diag diag = ONX_INIT(onx_diag);
    char *a = case_text(got, &diag), *b = case_text(want, &diag);
    if (!a || !b) return free(a), free(b), fail(c, "text", &diag);
    bool same = strcmp(a, b) == 0;
    if (!same) fprintf(stderr, "case '%s': wanted\n%s\ngot\n%s\n", c->name, b, a);
    free(a);
    free(b);
    return same;
}

static void free_models(size_t n, onx_model **models) {
    for (size_t i = 0; i < n; i++) onx_model_free(models[i]);
}

/* Does the failure say what it should? And is the model as it was? */
static bool check_failure(const surgery_case *c, onx_status status, onx_model *model,
                          const onx_diag *diag) {
    const char *want = strchr(c->after, ':') + 2, *name = onx_status_name(status);
    size_t n = strcspn(want, " \n");
    onx_model *before = NULL;
    onx_diag other = ONX_INIT(onx_diag);
    char words_of[512];
    (void)snprintf(words_of, sizeof words_of, "%.*s", (int)strcspn(want, "\n"), want);
    bool ok = strlen(name) == n && strncmp(name, want, n) == 0 &&
              strstr(diag->message, words_of + n + (words_of[n] == ' ')) != NULL;
    if (!ok) return fail(c, "another failure", diag);
    if (case_parse(NULL, c->before[0], &before, &other)) return fail(c, "before", &other);
    ok = onx_model_equal(before, model, &other) || fail(c, "changed by a failure", &other);
    onx_model_free(before);
    return ok && !onx_model_verify(model, &other);
}

static bool compare(const surgery_case *c) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *models[MODELS] = {NULL}, *out = NULL, *want = NULL;
    bool ok = true, fails = strncmp(c->after, "error:", 6) == 0;
    for (size_t i = 0; ok && i < c->n; i++)
        ok = !case_parse(NULL, c->before[i], &models[i], &diag) || fail(c, "before", &diag);
    onx_status status = ok ? surgery_do(c->what, c->n, models, &out, &diag) : ONX_OK;
    if (ok && fails && !status) ok = fail(c, "no failure", &diag);
    if (ok && fails) ok = check_failure(c, status, models[0], &diag);
    if (ok && !fails) ok = !status || fail(c, c->what, &diag);
    if (ok && !fails) {
        onx_model *got = out ? out : models[0];
        const char *after = strncmp(c->after, "unchanged", 9) == 0 ? c->before[0] : c->after;
        ok = !onx_model_verify(got, &diag) || fail(c, "links", &diag);
        ok = ok && test_links(got);
        ok = ok && (!case_parse(NULL, after, &want, &diag) || fail(c, "after", &diag));
        ok = ok && same_text(c, got, want);
    }
    onx_model_free(out);
    onx_model_free(want);
    free_models(c->n, models);
    return ok;
}

/* One allocation fails: so does the whole, for that reason; nothing is lost, and a model that was
 * to be changed is as it was. */
static bool survives(const surgery_case *c, size_t at, bool *more) {
    test_heap heap = {0};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *models[MODELS] = {NULL}, *out = NULL, *before = NULL;
    bool ok = true, fails = strncmp(c->after, "error:", 6) == 0;
    for (size_t i = 0; i < c->n; i++)
        if (case_parse(ctx, c->before[i], &models[i], &diag)) return fail(c, "before", &diag);
    if (case_parse(NULL, c->before[0], &before, &diag)) return fail(c, "before", &diag);
    heap.fail_at = heap.calls + at;
    heap.fail_count = 1;
    onx_status status = surgery_do(c->what, c->n, models, &out, &diag);
    *more = heap.failed > 0;
    heap.fail_at = 0;
    if (status && status != ONX_NO_MEMORY && !fails) ok = fail(c, "without memory", &diag);
    if (status) ok = ok && (onx_model_equal(before, models[0], &diag) || fail(c, "lost", &diag));
    for (size_t i = 0; i < c->n; i++)
        ok = ok && (!onx_model_verify(models[i], &diag) || fail(c, "links", &diag));
    onx_model_free(out);
    onx_model_free(before);
    free_models(c->n, models);
    onx_context_free(ctx);
    if (heap.bytes) fprintf(stderr, "case '%s': %zu bytes lost at %zu\n", c->name, heap.bytes, at);
    return ok && heap.bytes == 0;
}

static bool run_case(const surgery_case *c) {
    bool ok = compare(c), more = true;
    for (size_t i = 1; ok && more; i++) ok = survives(c, i, &more);
    return ok;
}

static void read_case(char *p, surgery_case *c) {
    *c = (surgery_case){.name = case_line(&p), .what = "", .n = 1, .after = ""};
    while (*p && *p != '<') {
        char *value = after(case_line(&p), "do: ");
        if (value) c->what = value;
    }
    char *rest = case_cut(p, "\n-----\n");
    if (rest) c->after = rest;
    c->before[0] = p;
    while (c->n < MODELS && (p = case_cut(p, "\n+++++\n"))) c->before[c->n++] = p;
}

size_t surgery_case_file(const char *file, size_t *count) {
    char path[256];
    case_file cases;
    size_t failed = 0;
    (void)snprintf(path, sizeof path, "surgery/%s", file);
    if (!case_file_open(&cases, path)) failed++;
    for (char *text; (text = case_file_next(&cases)); ++*count) {
        surgery_case c;
        read_case(text, &c);
        failed += !run_case(&c);
    }
    case_file_close(&cases);
    return failed;
}
