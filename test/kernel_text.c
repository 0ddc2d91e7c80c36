/* kernel_text.c: see kernel_text.h. */
#include "kernel_text.h"

#include "kernel_case.h"

#include <stdio.h>
#include <stdlib.h>

static void show_number(const onx_operand *value, int64_t at, onx_buf *out) {
    onx_dtype dtype = (onx_dtype)value->dtype;
    const char *from = (const char *)value->data + (size_t)at * (onx_dtype_bits(dtype) / 8);
    if ((ONX_T_INTS | ONX_T(BOOL)) >> dtype & 1) {
        int64_t whole = 0;
        (void)onx_dtype_convert(dtype, from, ONX_DTYPE_I64, &whole, 1, true);
        onx_buf_printf(out, "%lld", (long long)whole);
    } else {
        double pair[2] = {0};
        bool complex = dtype == ONX_DTYPE_C64 || dtype == ONX_DTYPE_C128;
        (void)onx_dtype_convert(dtype, from, complex ? ONX_DTYPE_C128 : ONX_DTYPE_F64, pair, 1,
                                true);
        onx_buf_printf(out, pair[0] != pair[0] ? "nan" : "%.6g", pair[0]);
        if (complex) onx_buf_printf(out, "%+.6gi", pair[1]);
    }
}

static void show(const onx_operand *value, onx_buf *out) {
    onx_buf_puts(out, "[");
    for (size_t i = 0; i < value->rank; i++)
        onx_buf_printf(out, i ? ",%lld" : "%lld", (long long)value->dims[i]);
    onx_buf_puts(out, "]");
    for (int64_t i = 0; i < value->count; i++) {
        bool text = value->dtype == ONX_DTYPE_STRING;
        onx_buf_puts(out, text && i ? "|" : " ");
        if (text)
            onx_buf_put(out, value->object->strings[i].data, value->object->strings[i].size);
        else
            show_number(value, i, out);
    }
}

/* What came out, or "!" and the sentence. */
static void show_all(const kernel_result *r, onx_buf *out) {
    if (r->status != ONX_OK) onx_buf_printf(out, "!%s", r->diag.message);
    for (size_t i = 0; i < r->n_out && r->status == ONX_OK; i++) {
        if (i) onx_buf_puts(out, "; ");
        show(&r->out[i], out);
    }
    onx_buf_putc(out, 0);
}

static bool holds(const kernel_line *line) {
    char model[4096];
    kernel_case c;
    onx_buf got;
    (void)snprintf(model, sizeof model,
                   "<ir_version: 10, opset_import: [\"\" : %d]>\ng () => ()\n<%s>\n{\n%s\n}\n",
                   line->opset, line->inputs, line->node);
    if (!kernel_case_text(model, &c)) {
        fprintf(stderr, "    cannot be read: %s\n", model);
        return false;
    }
    onx_buf_init(&got, onx_context_or_default(NULL));
    kernel_result r = kernel_run("ref", line->opset, line->node, c.n_in, c.in, 0);
    show_all(&r, &got);
    bool refused = line->want[0] == '!';
    bool same = refused ? got.data[0] == '!' && strstr(got.data, line->want + 1)
                        : strcmp(got.data, line->want) == 0;
    if (!same)
        fprintf(stderr, "    %s\n    gives  %s\n    not    %s\n", line->node, got.data, line->want);
    if (r.status == ONX_OK) kernel_free(&r);
    onx_buf_fini(&got);
    kernel_case_free(&c);
    return same;
}

size_t kernel_lines_fail(const kernel_line *lines, size_t n) {
    size_t failed = 0;
    for (size_t i = 0; i < n; i++) failed += !holds(&lines[i]);
    return failed;
}
