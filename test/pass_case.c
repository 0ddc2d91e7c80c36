/* pass_case.c: see pass_case.h. */
#include "pass_case.h"

#include "case_file.h"

#include "rt/lower/lower.h"
#include "support.h"

#include <stdlib.h>

typedef struct pass_case {
    const char *name, *run, *pins, *without;
    size_t block, limit;
    const char *before, *after;
} pass_case;

/* Is `word` one of the words of `list`? */
static bool has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; *p; p += strcspn(p, " "), p += strspn(p, " "))
        if (strcspn(p, " ") == n && memcmp(p, word, n) == 0) return true;
    return false;
}

static bool is_pinned(void *user, const onx_value *value) {
    return has_word(((const pass_case *)user)->pins, onx_value_name(value));
}

static bool has_kernel(void *user, const char *op) {
    return !has_word(((const pass_case *)user)->without, op);
}

static onx_status evaluate(void *user, const onx_node *node, size_t n_in,
                           const onx_tensor *const *in, size_t n_out, onx_tensor **out) {
    (void)user;
    onx_cpu cpu;
    if (onx_cpu_init(&cpu, "ref", NULL)) return ONX_UNSUPPORTED;
    onx_context *ctx = node->msg.doc->ctx;
    return onx_lower_eval(ctx, &cpu.provider, node, n_in, in, n_out, out);
}

/* The text with the names of instructions, as in "code: ints = [ADD, 0, 1, 0]", as numbers. */
static char *number_code(const char *text) {
    static const char *const names[] = {
#define NAME(name, arity, is_bool, expression) #name,
        ONX_TILE_OPS(NAME)
#undef NAME
    };
    char *out = malloc(strlen(text) + 1), *to = out;
    if (!out) abort();
    for (const char *code = strstr(text, "code: ints = ["); *text;) {
        const char *end = code ? strchr(code, ']') : NULL;
        size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), op = 0;
        while (op < ONX_COUNT(names) && (strlen(names[op]) != n || memcmp(names[op], text, n) != 0))
            op++;
        if (code && text > code && text < end && op < ONX_COUNT(names)) {
            to += sprintf(to, "%zu", op);
            text += n;
        } else {
            *to++ = *text++;
        }
        if (end && text > end) code = strstr(text, "code: ints = [");
    }
    *to = '\0';
    return out;
}

static onx_status parse(onx_context *ctx, const char *text, onx_model **out, onx_diag *diag) {
    char *numbered = number_code(text);
    onx_status status = case_parse(ctx, numbered, out, diag);
    free(numbered);
    return status;
}

static onx_status rewrite(const pass_case *c, pass_case_runner *run, onx_model *model,
                          onx_diag *diag) {
    onx_pass_ctx ctx = {.model = model,
                        .diag = diag,
                        .user = (void *)(uintptr_t)c,
                        .eval = evaluate,
                        .pinned = is_pinned,
                        .has_kernel = has_kernel,
                        .fold_bytes = c->limit,
                        .block = c->block};
    onx_status status = onx_facts_new(model, NULL, &ctx.facts, diag);
    for (const char *p = c->run; *p && !status; p += strcspn(p, " "), p += strspn(p, " ")) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        status = run(&ctx, name);
    }
    onx_facts_free(ctx.facts);
    return status;
}

static bool fail(const pass_case *c, const char *what, const onx_diag *diag) {
    fprintf(stderr, "case '%s': %s: %s %s\n", c->name, what, diag->place, diag->message);
    return false;
}

/* The texts of what comes out and what should. */
static bool compare(const pass_case *c, pass_case_runner *run) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL, *wanted = NULL;
    bool unchanged = strncmp(c->after, "unchanged", 9) == 0;
    if (parse(NULL, c->before, &model, &diag)) return fail(c, "before", &diag);
    bool ok =
        !parse(NULL, unchanged ? c->before : c->after, &wanted, &diag) || fail(c, "after", &diag);
    ok = ok && (!rewrite(c, run, model, &diag) || fail(c, "rewriting", &diag));
    ok = ok && (!onx_model_verify(model, &diag) || fail(c, "links", &diag)) && test_links(model);
    char *got = ok ? case_text(model, &diag) : NULL, *want = ok ? case_text(wanted, &diag) : NULL;
    if (ok && (!got || !want || strcmp(got, want) != 0)) {
        fprintf(stderr, "case '%s': wanted\n%s\ngot\n%s\n", c->name, want ? want : diag.message,
                got ? got : diag.message);
        ok = false;
    }
    free(got);
    free(want);
    onx_model_free(model);
    onx_model_free(wanted);
    return ok;
}

/* One allocation fails: the rewrite fails for lack of memory, or does without; nothing is lost. */
static bool survives(const pass_case *c, pass_case_runner *run, size_t fail_at, bool *more) {
    test_heap heap = {0};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *model = NULL;
    if (parse(ctx, c->before, &model, &diag)) return fail(c, "before", &diag);
    heap.fail_at = heap.calls + fail_at;
    heap.fail_count = 1;
    onx_status status = rewrite(c, run, model, &diag);
    *more = heap.failed > 0;
    onx_model_free(model);
    onx_context_free(ctx);
    if (status && status != ONX_NO_MEMORY) return fail(c, "without memory", &diag);
    if (heap.bytes == 0) return true;
    fprintf(stderr, "case '%s': %zu bytes lost when allocation %zu fails\n", c->name, heap.bytes,
            fail_at);
    return false;
}

static bool run_case(const pass_case *c, pass_case_runner *run) {
    bool ok = compare(c, run), more = true;
    for (size_t i = 1; ok && more; i++) ok = survives(c, run, i, &more);
    return ok;
}

static const char *option(const char *line, const char *key) {
    size_t n = strlen(key);
    if (strncmp(line, key, n) != 0 || line[n] != ':') return NULL;
    return line + n + 1 + strspn(line + n + 1, " ");
}

static void read_case(char *p, pass_case *c) {
    *c = (pass_case){.run = "all", .pins = "", .without = "", .before = "", .after = ""};
    c->name = case_line(&p);
    while (*p && *p != '<') {
        const char *line = case_line(&p), *value;
        if ((value = option(line, "run"))) c->run = value;
        if ((value = option(line, "pins"))) c->pins = value;
        if ((value = option(line, "without"))) c->without = value;
        if ((value = option(line, "block"))) c->block = (size_t)atoi(value);
        if ((value = option(line, "limit"))) c->limit = (size_t)atoi(value);
    }
    char *after = case_cut(p, "\n-----\n");
    c->before = p;
    if (after) c->after = after;
}

size_t pass_case_file(const char *file, pass_case_runner *run, size_t *count) {
    char path[256];
    case_file cases;
    size_t failed = 0;
    (void)snprintf(path, sizeof path, "pass/%s", file);
    if (!case_file_open(&cases, path)) failed++;
    for (char *text; (text = case_file_next(&cases)); ++*count) {
        pass_case c;
        read_case(text, &c);
        failed += !run_case(&c, run);
    }
    case_file_close(&cases);
    return failed;
}
