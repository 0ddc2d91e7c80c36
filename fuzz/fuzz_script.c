/* fuzz_script.c: any bytes as TorchScript's source. What parses has places within the text, slots
 * within the function's locals, and trees no higher than promised. */
#include "export/script.h"
#include "fuzz.h"

static void check_expr(const onx_script_func *f, const onx_script_expr *e, size_t height) {
    FUZZ_CHECK(height <= ONX_SCRIPT_DEPTH && e->height <= ONX_SCRIPT_DEPTH + 1 - height);
    FUZZ_CHECK(e->at < f->file->text.size);
    FUZZ_CHECK(e->slot < (int32_t)f->local_count);
    onx_script_type type = onx_script_type_of(e);
    FUZZ_CHECK(type.kind != ONX_PY_CLASS || type.name.size);
    for (size_t i = 0; i < e->n; i++)
        if (e->items[i]) check_expr(f, e->items[i], height + 1);
}

static void check_block(const onx_script_func *f, const onx_script_block *block, size_t depth) {
    FUZZ_CHECK(depth <= ONX_SCRIPT_DEPTH);
    for (size_t i = 0; i < block->n; i++) {
        const onx_script_stmt *s = block->stmts[i];
        for (size_t k = 0; k < s->value_count; k++) check_expr(f, s->values[k], 1);
        for (size_t k = 0; k < s->target_count; k++)
            FUZZ_CHECK(s->targets[k].slot >= 0 && s->targets[k].slot < (int32_t)f->local_count);
        check_block(f, &s->body, depth + 1);
        check_block(f, &s->otherwise, depth + 1);
    }
}

static void check_func(const onx_script_func *f) {
    FUZZ_CHECK(f->arg_count <= f->local_count);
    check_block(f, &f->body, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_script_module module;
    onx_arena arena;
    onx_arena_init(&arena, ctx);
    onx_status status = onx_script_parse(&arena, ONX_LIT("code/__torch__.py"), ONX_LIT("__torch__"),
                                         (onx_str){(const char *)data, size}, &module, &diag);
    if (status) {
        fuzz_refused(status, &diag);
    } else {
        for (size_t i = 0; i < module.func_count; i++) check_func(&module.funcs[i]);
        for (size_t i = 0; i < module.class_count; i++)
            for (size_t k = 0; k < module.classes[i].method_count; k++)
                check_func(&module.classes[i].methods[k]);
    }
    onx_arena_fini(&arena);
    fuzz_context_free(ctx);
    return 0;
}
