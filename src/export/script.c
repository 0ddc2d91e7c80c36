/* script.c: the code of one archive, by qualified name. A file is read and parsed when a name in it
 * is first asked for; one that does not exist is remembered too. */
#include "export/script_debug.h"

/* All trees of one archive: far more than any real one needs (a byte of source takes about 20). */
#define SCRIPT_MEMORY ((size_t)192 << 20)

struct onx_script {
    onx_context *ctx;
    onx_arena arena;
    onx_map files;   /* name without its last part ("__torch__.torch.nn") to an onx_script_module */
    onx_map symbols; /* qualified name to an onx_script_symbol */
    onx_map origins; /* file to its onx_script_debug */
    onx_script_read *read;
    void *user;
};

onx_status onx_script_new(onx_context *ctx, onx_script_read *read, void *user, onx_script **out,
                          onx_diag *diag) {
    onx_script *script = onx_mem_alloc(ctx, sizeof *script);
    if (!script) return onx_fail_nomem(diag);
    *script = (onx_script){.ctx = ctx, .read = read, .user = user};
    onx_arena_init(&script->arena, ctx);
    script->arena.cap = SCRIPT_MEMORY;
    onx_map_init(&script->files, ctx);
    onx_map_init(&script->symbols, ctx);
    onx_map_init(&script->origins, ctx);
    *out = script;
    return ONX_OK;
}

void onx_script_free(onx_script *script) {
    if (!script) return;
    for (size_t i = 0; i < script->origins.cap; i++)
        onx_script_debug_free(script->origins.entries[i].value);
    onx_map_fini(&script->origins);
    onx_map_fini(&script->symbols);
    onx_map_fini(&script->files);
    onx_arena_fini(&script->arena);
    onx_mem_free(script->ctx, script, sizeof *script);
}

/* "__torch__.a.b" is code/__torch__/a/b.py */
static onx_status path_of(onx_arena *arena, onx_str prefix, onx_str *out, onx_diag *diag) {
    static const char front[] = "code/", back[] = ".py";
    size_t size = sizeof front - 1 + prefix.size + sizeof back - 1;
    char *path = onx_arena_alloc(arena, size + 1);
    if (!path) return onx_fail_nomem(diag);
    memcpy(path, front, sizeof front - 1);
    for (size_t i = 0; i < prefix.size; i++)
        path[sizeof front - 1 + i] = prefix.data[i] == '.' ? '/' : prefix.data[i];
    memcpy(path + size - (sizeof back - 1), back, sizeof back - 1);
    *out = (onx_str){path, size};
    return ONX_OK;
}

static onx_status define(onx_script *script, onx_str name, onx_script_symbol symbol,
                         onx_diag *diag) {
    onx_script_symbol *kept = onx_arena_alloc(&script->arena, sizeof *kept);
    if (!kept || !onx_map_put(&script->symbols, NULL, name, kept)) return onx_fail_nomem(diag);
    *kept = symbol;
    return ONX_OK;
}

static onx_status define_all(onx_script *script, onx_str prefix, const onx_script_module *m,
                             onx_diag *diag) {
    for (size_t i = 0; i < m->class_count; i++)
        ONX_TRY(
            define(script, m->classes[i].name, (onx_script_symbol){.cls = &m->classes[i]}, diag));
    for (size_t i = 0; i < m->func_count; i++) {
        onx_str name = m->funcs[i].name, qualified;
        char *text = onx_arena_alloc(&script->arena, prefix.size + 1 + name.size);
        if (!text) return onx_fail_nomem(diag);
        qualified = (onx_str){text, prefix.size + 1 + name.size};
        memcpy(text, prefix.data, prefix.size);
        text[prefix.size] = '.';
        memcpy(text + prefix.size + 1, name.data, name.size);
        ONX_TRY(define(script, qualified, (onx_script_symbol){.func = &m->funcs[i]}, diag));
    }
    return ONX_OK;
}

static onx_status load(onx_script *script, onx_str prefix, onx_diag *diag) {
    onx_str path, text = {0}, kept;
    bool found = false;
    onx_script_module *m = onx_arena_alloc(&script->arena, sizeof *m);
    if (!m || !onx_arena_str(&script->arena, prefix, &kept)) return onx_fail_nomem(diag);
    ONX_TRY(path_of(&script->arena, prefix, &path, diag));
    ONX_TRY(script->read(script->user, path, &text, &found, diag));
    if (found) ONX_TRY(onx_script_parse(&script->arena, path, kept, text, m, diag));
    ONX_TRY(define_all(script, kept, m, diag));
    return onx_map_put(&script->files, NULL, kept, m) ? ONX_OK : onx_fail_nomem(diag);
}

onx_status onx_script_find(onx_script *script, onx_str name, onx_script_symbol *out,
                           onx_diag *diag) {
    *out = (onx_script_symbol){0};
    size_t dot = name.size;
    while (dot > 0 && name.data[dot - 1] != '.') dot--;
    if (dot < 2) return ONX_OK;
    onx_str prefix = {name.data, dot - 1};
    if (!onx_map_get(&script->files, NULL, prefix)) {
        onx_status status = load(script, prefix, diag);
        if (status && script->arena.capped)
            return onx_fail(diag, ONX_LIMIT, "the code of the archive takes more than %zu MiB",
                            SCRIPT_MEMORY >> 20);
        ONX_TRY(status);
    }
    const onx_script_symbol *found = onx_map_get(&script->symbols, NULL, name);
    if (found) *out = *found;
    return ONX_OK;
}

const onx_script_func *onx_script_method(const onx_script_class *cls, onx_str name) {
    for (size_t i = 0; i < cls->method_count; i++)
        if (onx_str_eq(cls->methods[i].name, name)) return &cls->methods[i];
    return NULL;
}

const onx_script_attr *onx_script_attribute(const onx_script_class *cls, onx_str name) {
    for (size_t i = 0; i < cls->attr_count; i++)
        if (onx_str_eq(cls->attrs[i].name, name)) return &cls->attrs[i];
    return NULL;
}

static onx_script_debug *load_debug(onx_script *script, const onx_script_file *file) {
    static const char tail[] = ".debug_pkl";
    onx_str bytes = {0};
    bool found = false;
    size_t size = file->path.size + sizeof tail - 1;
    char *path = onx_arena_alloc(&script->arena, size + 1);
    if (!path) return NULL;
    memcpy(path, file->path.data, file->path.size);
    memcpy(path + file->path.size, tail, sizeof tail - 1);
    onx_status status = script->read(script->user, (onx_str){path, size}, &bytes, &found, NULL);
    return onx_script_debug_new(script->ctx, status ? (onx_str){0} : bytes);
}

onx_str onx_script_origin(onx_script *script, const onx_script_file *file, uint32_t at) {
    onx_script_debug *debug = onx_map_get(&script->origins, file, (onx_str){0});
    if (!debug) {
        debug = load_debug(script, file);
        if (!debug || !onx_map_put(&script->origins, file, (onx_str){0}, debug)) {
            onx_script_debug_free(debug);
            return (onx_str){0};
        }
    }
    return onx_script_debug_find(debug, &script->arena, at);
}
