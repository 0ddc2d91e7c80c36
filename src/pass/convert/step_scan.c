/* step_scan.c: Scan has a batch before 9, and none since.
 *
 *     up      Scan over the batch, with a Scan of the same body over the sequence in it
 *     down    a batch of one: dimensions are added before, and taken away after */
#include "pass/convert/steps.h"

static void put_list(onx_buf *text, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++) onx_buf_printf(text, "%s%s%zu", i ? ", " : "", word, i);
}

static void put_ints(onx_buf *text, const char *name, const onx_attr *attr) {
    onx_buf_printf(text, ", %s: ints = [", name);
    for (size_t i = 0; i < attr->ints.n; i++)
        onx_buf_printf(text, "%s%lld", i ? ", " : "", (long long)attr->ints.v[i]);
    onx_buf_puts(text, "]");
}

/* The numbers of states and sequences must make sense before they are written down. */
static onx_status count_inputs(onx_convert *c, const onx_node *node, size_t n, size_t *sequences) {
    ONX_TRY(onx_convert_plain(c, node, "num_scan_inputs"));
    int64_t count = onx_convert_int(c, node, "num_scan_inputs");
    if (count < 0 || (uint64_t)count > n)
        return onx_convert_refuse(c, "'num_scan_inputs' is more than there are inputs");
    *sequences = (size_t)count;
    return ONX_OK;
}

static onx_status scan_up(onx_convert *c, onx_node *node) {
    const onx_attr *directions = onx_node_attr(node, "directions");
    size_t n = node->input.n ? node->input.n - 1 : 0, sequences = 0;
    if (onx_convert_has(node, 0))
        return onx_convert_refuse(c, "sequences of different lengths ('sequence_lens')");
    ONX_TRY(onx_convert_plain(c, node, "directions"));
    ONX_TRY(count_inputs(c, node, n, &sequences));
    onx_buf text = onx_convert_text(c);
    put_list(&text, node->output.n, "final_state_and_scan_outputs");
    onx_buf_printf(&text, " = Scan <num_scan_inputs: int = %zu, body: graph = batch (", n);
    put_list(&text, n, "in");
    onx_buf_puts(&text, ") => (");
    put_list(&text, node->output.n, "out");
    onx_buf_puts(&text, ") {\n");
    put_list(&text, node->output.n, "out");
    onx_buf_printf(&text, " = Scan <num_scan_inputs: int = %zu, body: graph = @body", sequences);
    if (directions && onx_attr_type_of(directions) == ONX_ATTR_INTS)
        put_ints(&text, "scan_input_directions", directions);
    onx_buf_puts(&text, "> (");
    put_list(&text, n, "in");
    onx_buf_puts(&text, ")\n}> (");
    put_list(&text, n, "initial_state_and_scan_inputs");
    onx_buf_puts(&text, ")\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* Axes and directions that the older version has no word for. */
static onx_status check_lists(onx_convert *c, const onx_node *node) {
    static const char *const names[] = {"scan_input_axes", "scan_output_axes",
                                        "scan_output_directions"};
    for (size_t i = 0; i < ONX_COUNT(names); i++) {
        size_t n = 0;
        ONX_TRY(onx_convert_plain(c, node, names[i]));
        const int64_t *values = onx_op_ints(node, names[i], &n);
        for (size_t j = 0; values && j < n; j++)
            if (values[j] != 0) return onx_convert_refuse(c, "there is no '%s' there", names[i]);
    }
    return onx_convert_plain(c, node, "scan_input_directions");
}

static onx_status scan_down(onx_convert *c, onx_node *node) {
    const onx_attr *directions = onx_node_attr(node, "scan_input_directions");
    size_t n = node->input.n, sequences = 0;
    ONX_TRY(check_lists(c, node));
    ONX_TRY(count_inputs(c, node, n, &sequences));
    onx_buf text = onx_convert_text(c);
    for (size_t i = 0; i < n; i++)
        onx_buf_printf(&text,
                       "in%zu = Unsqueeze <axes: ints = [0]> (initial_state_and_scan_inputs%zu)\n",
                       i, i);
    put_list(&text, node->output.n, "out");
    onx_buf_printf(&text, " = Scan <num_scan_inputs: int = %zu, body: graph = @body", sequences);
    if (directions && onx_attr_type_of(directions) == ONX_ATTR_INTS)
        put_ints(&text, "directions", directions);
    onx_buf_puts(&text, "> (\"\", ");
    put_list(&text, n, "in");
    onx_buf_puts(&text, ")\n");
    for (size_t i = 0; i < node->output.n; i++)
        onx_buf_printf(
            &text, "final_state_and_scan_outputs%zu = Squeeze <axes: ints = [0]> (out%zu)\n", i, i);
    return onx_convert_expand_buf(c, node, &text);
}

const onx_convert_step onx_step_scan = {scan_up, scan_down, NULL};
