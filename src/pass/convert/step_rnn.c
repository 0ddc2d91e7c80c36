/* step_rnn.c: RNN, GRU and LSTM with the batch first, since 14; Scan over a batch, before 9. */
#include "pass/convert/steps.h"

/* ─ The batch first ──────────────────────────────────────────────────────────────────────────── */

/* X, initial_h and initial_c change their first two dimensions; Y has the batch third. */
static onx_status layout_down(onx_convert *c, onx_node *node) {
    static const bool turns[] = {[0] = true, [5] = true, [6] = true, [7] = false};
    const onx_signature *names;
    ONX_TRY(onx_convert_plain(c, node, "layout"));
    if (!onx_convert_int(c, node, "layout")) return ONX_OK;
    ONX_TRY(onx_convert_signature(c, c->at.before, &names));
    onx_buf text = onx_convert_text(c);
    for (size_t i = 0; i < node->input.n && i < names->n_inputs; i++)
        if (i < ONX_COUNT(turns) && turns[i] && onx_convert_has(node, i))
            onx_buf_printf(&text, "turned%zu = Transpose <perm: ints = [1, 0, 2]> (%.*s)\n", i,
                           ONX_FMT(names->inputs[i].name));
    for (size_t i = 0; i < node->output.n; i++) onx_buf_printf(&text, "%sout%zu", i ? ", " : "", i);
    onx_buf_printf(&text, " = %s", c->at.before->name);
    onx_convert_put_attrs(&text, node, names, "layout");
    onx_buf_puts(&text, " (");
    for (size_t i = 0; i < node->input.n && i < names->n_inputs; i++) {
        bool turned = i < ONX_COUNT(turns) && turns[i] && onx_convert_has(node, i);
        onx_buf_puts(&text, i ? ", " : "");
        if (turned)
            onx_buf_printf(&text, "turned%zu", i);
        else
            onx_buf_put(&text, names->inputs[i].name.data, names->inputs[i].name.size);
    }
    onx_buf_puts(&text, ")\n");
    for (size_t i = 0; i < node->output.n && i < names->n_outputs; i++)
        onx_buf_printf(&text, "%.*s = Transpose <perm: ints = %s> (out%zu)\n",
                       ONX_FMT(names->outputs[i].name), i ? "[1, 0, 2]" : "[2, 0, 1, 3]", i);
    return onx_convert_expand_buf(c, node, &text);
}

const onx_convert_step onx_step_layout = {NULL, layout_down, NULL};
