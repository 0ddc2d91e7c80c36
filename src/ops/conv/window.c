/* window.c: see window.h. */
#include "ops/conv/window.h"

/* One list of a node: `fill` everywhere when it is not there. Sets or checks window->axes, of which
 * the list has `times` as many elements. */
static onx_status read_list(const onx_node *node, const char *name, int32_t least, size_t times,
                            int32_t *const lists[], onx_window *window, onx_diag *diag) {
    size_t n;
    const int64_t *values = onx_op_ints(node, name, &n);
    for (size_t t = 0; t < times; t++)
        for (size_t i = 0; i < ONX_RANK_MAX; i++) lists[t][i] = least;
    if (!values || n == 0) return ONX_OK;
    size_t axes = n / times;
    if (n % times || axes > ONX_RANK_MAX - 2 || (window->axes && window->axes != axes))
        return onx_fail(diag, ONX_INVALID,
                        "attribute %s has %zu elements, which does not fit the other attributes or "
                        "any input",
                        name, n);
    for (size_t i = 0; i < n; i++) {
        if (values[i] < least || values[i] > INT32_MAX)
            return onx_fail(diag, ONX_INVALID, "attribute %s has the element %lld, which is not %s",
                            name, (long long)values[i],
                            values[i] < least ? least ? "positive" : "0 or more" : "below 2^31");
        lists[i / axes][i % axes] = (int32_t)values[i];
    }
    window->axes = axes;
    return ONX_OK;
}

static onx_status read_auto_pad(const onx_op *op, const onx_node *node, onx_auto_pad *out,
                                onx_diag *diag) {
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    onx_str text = onx_op_string(op, node, "auto_pad");
    if (!text.size && !onx_op_has(node, "auto_pad")) return *out = ONX_AUTO_PAD_NOTSET, ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        if (onx_str_is(text, names[i])) return *out = (onx_auto_pad)i, ONX_OK;
    return onx_fail(diag, ONX_INVALID,
                    "attribute auto_pad is '%.*s'; it must be NOTSET, SAME_UPPER, SAME_LOWER or "
                    "VALID",
                    ONX_FMT(text));
}

onx_status onx_window_read(const onx_op *op, const onx_node *node, onx_window *out,
                           onx_diag *diag) {
    onx_window w = {.ceil = onx_op_int(op, node, "ceil_mode") != 0};
    ONX_TRY(read_auto_pad(op, node, &w.auto_pad, diag));
    ONX_TRY(read_list(node, "kernel_shape", 1, 1, (int32_t *[]){w.kernel}, &w, diag));
    w.sized = w.axes > 0;
    ONX_TRY(read_list(node, "strides", 1, 1, (int32_t *[]){w.stride}, &w, diag));
    ONX_TRY(read_list(node, "dilations", 1, 1, (int32_t *[]){w.dilation}, &w, diag));
    ONX_TRY(read_list(node, "pads", 0, 2, (int32_t *[]){w.before, w.after}, &w, diag));
    if (w.auto_pad != ONX_AUTO_PAD_NOTSET) {
        memset(w.before, 0, sizeof w.before);
        memset(w.after, 0, sizeof w.after);
    }
    *out = w;
    return ONX_OK;
}

onx_status onx_window_fit(onx_window *window, size_t rank, onx_diag *diag) {
    if (rank < 3 || rank > ONX_RANK_MAX)
        return onx_fail(diag, ONX_INVALID,
                        "the input has %zu dimensions; it needs batch, channels and from 1 to %d "
                        "more",
                        rank, ONX_RANK_MAX - 2);
    if (window->axes && window->axes != rank - 2)
        return onx_fail(diag, ONX_INVALID,
                        "the attributes are for %zu spatial dimensions; the input has %zu",
                        window->axes, rank - 2);
    window->axes = rank - 2;
    return ONX_OK;
}

onx_status onx_window_size(onx_window *window, size_t axis, int64_t size, onx_diag *diag) {
    if (size < 1 || size > INT32_MAX)
        return onx_fail(diag, ONX_INVALID, "the kernel is %lld along spatial dimension %zu",
                        (long long)size, axis);
    if (window->sized && window->kernel[axis] != size)
        return onx_fail(diag, ONX_INVALID,
                        "kernel_shape says %d along spatial dimension %zu, the weights %lld",
                        (int)window->kernel[axis], axis, (long long)size);
    window->kernel[axis] = (int32_t)size;
    return ONX_OK;
}

static int64_t floor_div(int64_t a, int64_t b) { /* b > 0 */
    return a / b - (a % b < 0);
}
static int64_t ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b > 0);
}

static onx_span same_span(const onx_window *w, size_t axis, int64_t in, int64_t reach) {
    int64_t stride = w->stride[axis], out = ceil_div(in, stride);
    int64_t total = out ? (out - 1) * stride - in + reach : 0;
    if (total < 0) total = 0;
    int64_t less = total / 2, more = total - less;
    bool upper = w->auto_pad == ONX_AUTO_PAD_SAME_UPPER;
    return (onx_span){out, upper ? less : more, upper ? more : less};
}

onx_status onx_window_span(const onx_window *w, size_t axis, int64_t in, onx_span *out,
                           onx_diag *diag) {
    int64_t stride = w->stride[axis], before = w->before[axis], after = w->after[axis], padded;
    int64_t reach = (int64_t)(w->kernel[axis] - 1) * w->dilation[axis] + 1;
    if (w->auto_pad == ONX_AUTO_PAD_SAME_UPPER || w->auto_pad == ONX_AUTO_PAD_SAME_LOWER) {
        *out = same_span(w, axis, in, reach);
        return ONX_OK;
    }
    if (!onx_add_i64(in, before + after, &padded))
        return onx_fail(diag, ONX_INVALID, "spatial dimension %zu with its padding is too large",
                        axis);
    int64_t n = floor_div(padded - reach, stride) + 1;
    if (w->ceil) { /* no window begins in the padding after the input */
        int64_t most = ceil_div(in + before, stride);
        n = ceil_div(padded - reach, stride) + 1;
        if (n > most) n = most;
    }
    if (n < 0)
        return onx_fail(diag, ONX_INVALID,
                        "the window spans %lld along spatial dimension %zu, more than the %lld of "
                        "the input with its padding",
                        (long long)reach, axis, (long long)padded);
    *out = (onx_span){n, before, after};
    return ONX_OK;
}

const onx_sym *onx_window_out(const onx_window *w, size_t axis, onx_syms *syms, const onx_sym *in,
                              const onx_sym *kernel) {
    const onx_sym *stride = onx_sym_int(syms, w->stride[axis]), *one = onx_sym_int(syms, 1);
    if (w->auto_pad == ONX_AUTO_PAD_SAME_UPPER || w->auto_pad == ONX_AUTO_PAD_SAME_LOWER)
        return onx_sym_ceildiv(syms, in, stride);
    const onx_sym *before = onx_sym_add(syms, in, onx_sym_int(syms, w->before[axis]));
    const onx_sym *padded = onx_sym_add(syms, before, onx_sym_int(syms, w->after[axis]));
    const onx_sym *reach = onx_sym_sub(syms, kernel, one); /* of the window, less 1 */
    reach = onx_sym_mul(syms, reach, onx_sym_int(syms, w->dilation[axis]));
    const onx_sym *room = onx_sym_sub(syms, onx_sym_sub(syms, padded, reach), one);
    if (!w->ceil) return onx_sym_add(syms, onx_sym_floordiv(syms, room, stride), one);
    return onx_sym_min(syms, onx_sym_add(syms, onx_sym_ceildiv(syms, room, stride), one),
                       onx_sym_ceildiv(syms, before, stride));
}
