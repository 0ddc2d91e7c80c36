/* custom_schema.c: an operator of one's own, known to onx like those of ONNX.
 *
 * "my.ops::Repeat" puts its input `times` times below itself. onx is told its signature and how
 * sizes follow from sizes; then its schema can be asked for, and models with it are understood. */
#include <onx.h>

#include <stdio.h>
#include <stdlib.h>

/* float[N,3] repeated twice is float[2*N,3]. */
static onx_status infer_repeat(onx_infer *in, void *user) {
    char rows[64], columns[64], type[256];
    (void)user;
    if (onx_infer_rank(in, 0) < 0) return ONX_OK; /* nothing can be said */
    if (onx_infer_rank(in, 0) != 2) return onx_infer_fail(in, "Repeat needs a matrix");
    onx_infer_dim_text(in, 0, 0, rows, sizeof rows);
    onx_infer_dim_text(in, 0, 1, columns, sizeof columns);
    snprintf(type, sizeof type, "float[%lld*(%s), %s]", (long long)onx_infer_int(in, "times"), rows,
             columns);
    return onx_infer_set_type(in, 0, type);
}

static int fail(const onx_diag *diag) {
    char text[1024];
    onx_diag_format(diag, text, sizeof text);
    fprintf(stderr, "custom_schema: %s\n", text);
    return EXIT_FAILURE;
}

int main(void) {
    onx_op_def repeat = ONX_INIT(onx_op_def);
    repeat.domain = "my.ops";
    repeat.name = "Repeat";
    repeat.since = 1;
    repeat.signature = "(X:T) -> (Y:T) {times:int=2} [T:float|double]";
    repeat.infer = infer_repeat;

    onx_diag diag = ONX_INIT(onx_diag);
    onx_context *ctx = NULL;
    const onx_schema *schema = NULL;
    if (onx_context_new(NULL, &ctx) != ONX_OK) return EXIT_FAILURE;
    if (onx_context_add_ops(ctx, 1, &repeat, &diag) != ONX_OK ||
        onx_schema_find(ctx, "my.ops", "Repeat", 0, &schema, &diag) != ONX_OK)
        return fail(&diag);
    for (size_t i = 0; i < schema->n_attrs; i++)
        printf("%s::%s has %s = %s\n", schema->domain, schema->name, schema->attrs[i].name,
               schema->attrs[i].value);
    onx_schema_free(schema);
    onx_context_free(ctx);
    return EXIT_SUCCESS;
}
