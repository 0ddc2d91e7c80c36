/* table.c: the C source of a table of operators, for programs that run one model and link no more
 * than it needs. The table stands in for ops/registry.c and cpu/kernels.c, by their names. */
#include "base/out.h"
#include "rt/session.h"

#include "ops/families.def"

/* The families with vector kernels, and those with kernels for further instruction sets. */
#define NOTHING(name)
#define NAME(name) #name,
static const char *const with_simd[] = {ONX_FAMILIES(NOTHING, NAME) NULL},
                         *const with_amx[] = {ONX_FAMILIES_amx(NAME) NULL},
                         *const with_bf16[] = {ONX_FAMILIES_bf16(NAME) NULL},
                         *const with_vnni[] = {ONX_FAMILIES_vnni(NAME) NULL};

typedef struct tier {
    const char *name;
    const char *const *families;
} tier;

static bool is_among(const char *const *names, const char *name) {
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

static bool has(const onx_family *family, const onx_op *op) {
    for (const onx_op *row = family->ops; row->name; row++)
        if (row == op) return true;
    return false;
}

/* By the program. Programs are nested at most as deep as build.c allows. */
static bool runs(const onx_program *program, const onx_family *family) {
    for (size_t s = 0; s < program->n_steps; s++) {
        const onx_step *step = &program->steps[s];
        if (has(family, step->op)) return true;
        for (uint32_t c = 0; c < step->n_children; c++)
            if (runs(step->children[c], family)) return true;
    }
    return false;
}

/* By the program, or by the model it was made of. */
static bool uses(const onx_session *session, const onx_family *family) {
    const onx_msg *msg = NULL;
    if (runs(session->variants->program, family)) return true;
    for (size_t i = 0; i < session->n_expanded; i++)
        if (has(family, session->expanded[i])) return true;
    for (onx_walk w = onx_walk_begin(session->source->graph); (msg = onx_walk_next(&w));)
        if (msg->desc == &onx_desc_node && has(family, onx_op_of((const onx_node *)msg)))
            return true;
    return false;
}

static const onx_family *next_used(const onx_session *session, const onx_family *family) {
    while (family->name && !uses(session, family)) family++;
    return family->name ? family : NULL;
}

#define EACH_USED(family, session)                                                                 \
    for (const onx_family *family = next_used(session, onx_op_table); family;                      \
         family = next_used(session, family + 1))

static void put_tier(onx_buf *out, const onx_session *session, const char *guard,
                     const tier *tiers) {
    onx_buf_printf(out, "#%s\n", guard);
    for (const tier *t = tiers; t->name; t++) EACH_USED(family, session)
    if (is_among(t->families, family->name))
        onx_buf_printf(out, "TIER(%s, %s)\n", family->name, t->name);
}

static void put_tiers(onx_buf *out, const onx_session *session) {
    static const tier x86[] = {{"amx", with_amx},     {"bf16", with_bf16}, {"vnni", with_vnni},
                               {"avx512", with_simd}, {"avx2", with_simd}, {"base", with_simd},
                               {NULL, NULL}},
                      arm[] = {{"neon", with_simd}, {NULL, NULL}},
                      other[] = {{"base", with_simd}, {NULL, NULL}};
    put_tier(out, session, "if defined(__x86_64__)", x86);
    put_tier(out, session, "elif defined(__aarch64__)", arm);
    put_tier(out, session, "else", other);
    onx_buf_puts(out, "#endif\n");
    EACH_USED(family, session) onx_buf_printf(out, "TIER(%s, ref)\n", family->name);
}

/* Derivatives are the one thing of onx.internal that the source of a program has. */
static void put_gradient(onx_buf *out, const onx_session *session) {
    bool derives = onx_model_opset(session->source, "onx.internal") != 0;
    onx_buf_printf(out,
                   "%sextern const void *const onx_session_gradient;\n"
                   "const void *const onx_session_gradient = %s;\n",
                   derives ? "extern const char onx_gradient_expand;\n" : "",
                   derives ? "&onx_gradient_expand" : "NULL");
}

static void put_table(onx_buf *out, const onx_session *session) {
    onx_buf_puts(out,
                 "/* Operators for one model. Link it before libonx.a. */\n"
                 "#include <stddef.h>\n\n"
                 "struct onx_table_row {\n    const char *name;\n    const void *rows;\n};\n\n");
    EACH_USED(family, session) onx_buf_printf(out, "extern const char onx_ops_%s;\n", family->name);
    onx_buf_puts(out,
                 "#define TIER(family, tier) extern const char onx_kernels_##family##_##tier;\n");
    put_tiers(out, session);
    onx_buf_puts(out, "#undef TIER\n\nextern const struct onx_table_row onx_op_table[], "
                      "onx_cpu_table[];\nconst struct onx_table_row onx_op_table[] = {\n");
    EACH_USED(family, session)
    onx_buf_printf(out, "    {\"%s\", &onx_ops_%s},\n", family->name, family->name);
    onx_buf_puts(out, "    {NULL, NULL},\n};\nconst struct onx_table_row onx_cpu_table[] = {\n"
                      "#define TIER(family, tier) {#tier, &onx_kernels_##family##_##tier},\n");
    put_tiers(out, session);
    onx_buf_puts(out, "    {NULL, NULL},\n};\n");
    put_gradient(out, session);
}

onx_status onx_session_table(const onx_session *session, const onx_writer *writer, onx_diag *diag) {
    onx_buf out;
    if (!session || !writer || !writer->write)
        return onx_fail(diag, ONX_USAGE, "a session and a writer are needed");
    onx_buf_init(&out, session->ctx);
    put_table(&out, session);
    onx_status status = out.failed ? onx_fail_nomem(diag) : ONX_OK;
    if (status == ONX_OK && writer->write(writer->user, out.data, out.size) != 0)
        status = onx_fail(diag, ONX_IO, "the table could not be written");
    onx_buf_fini(&out);
    return status;
}
