/* step_pool.c: pooling whose output size is rounded up (ceil_mode): since 10 (LpPool: 18), and
 * since 22 without windows that lie in the padding alone. */
#include "pass/convert/steps.h"

typedef struct window { /* along one axis */
    int64_t size, begin, end, kernel, stride;
} window;

static bool read_at(const onx_node *node, const char *name, size_t index, int64_t otherwise,
                    int64_t *out) {
    size_t n = 0;
    const int64_t *values = onx_op_ints(node, name, &n);
    *out = values && index < n ? values[index] : otherwise;
    return (!values || index < n) && *out >= 0 && *out < INT32_MAX;
}

/* Spatial axis `i` of `n`; false: something is not known. */
static bool read_window(const onx_convert *c, const onx_node *node, size_t i, size_t n,
                        window *out) {
    int64_t kernel, dilation;
    if (!onx_convert_dim(c, node, 0, i + 2, &out->size) || out->size >= INT32_MAX) return false;
    if (!read_at(node, "kernel_shape", i, 1, &kernel) ||
        !read_at(node, "pads", i, 0, &out->begin) || !read_at(node, "pads", i + n, 0, &out->end) ||
        !read_at(node, "strides", i, 1, &out->stride) ||
        !read_at(node, "dilations", i, 1, &dilation))
        return false;
    out->kernel = (kernel - 1) * dilation + 1;
    return out->stride > 0 && kernel > 0 && out->size + out->begin + out->end >= out->kernel;
}

typedef struct counts { /* of windows: rounded up, and without those in the padding */
    int64_t up, kept;
} counts;

static counts count(const window *w) {
    int64_t room = w->size + w->begin + w->end - w->kernel;
    int64_t up = (room + w->stride - 1) / w->stride + 1;
    bool is_outside = (up - 1) * w->stride >= w->size + w->begin;
    return (counts){up, up - is_outside};
}

/* Does it round up, by numbers that are written on the node? */
static bool rounds_up(const onx_convert *c, const onx_node *node) {
    onx_str pad = onx_convert_string(c, node, "auto_pad");
    return onx_convert_int(c, node, "ceil_mode") && (!pad.size || onx_str_is(pad, "NOTSET"));
}

static onx_status outside(onx_convert *c, onx_node *node) {
    size_t rank;
    window w;
    ONX_TRY(onx_convert_plain(c, node, "ceil_mode"));
    if (!rounds_up(c, node) || !onx_convert_rank(c, node, 0, &rank)) return ONX_OK;
    for (size_t i = 0; i + 2 < rank; i++) {
        if (!read_window(c, node, i, rank - 2, &w) || count(&w).up == count(&w).kept) continue;
        return onx_convert_refuse(c,
                                  "along axis %zu the last window lies in the padding, and is %s",
                                  i + 2, c->at.up ? "left out there" : "not left out there");
    }
    return ONX_OK;
}

/* Rounded down, with more padding at the end where a window reaches past it. Averages that count
 * the padding do not count what lies beyond it. */
static onx_status ceil_down(onx_convert *c, onx_node *node) {
    size_t rank;
    window w;
    ONX_TRY(onx_convert_plain(c, node, "ceil_mode"));
    if (!rounds_up(c, node) || !onx_convert_rank(c, node, 0, &rank) || rank < 3) return ONX_OK;
    int64_t *pads = onx_arena_array(&c->arena, 2 * rank, sizeof *pads);
    bool more = false, padded = false;
    if (!pads) return onx_fail_nomem(&c->diag);
    for (size_t i = 0; i + 2 < rank; i++) {
        if (!read_window(c, node, i, rank - 2, &w)) return ONX_OK;
        int64_t past = (count(&w).kept - 1) * w.stride + w.kernel - w.size - w.begin - w.end;
        pads[i] = w.begin;
        pads[rank - 2 + i] = w.end + (past > 0 ? past : 0);
        more |= past > 0;
        padded |= w.begin || w.end;
    }
    if (more && onx_convert_int(c, node, "count_include_pad")) {
        if (padded) return ONX_OK;
        ONX_TRY(onx_convert_drop_attr(c, node, "count_include_pad"));
    }
    if (more && onx_node_set_ints(node, "pads", 2 * (rank - 2), pads))
        return onx_fail_nomem(&c->diag);
    return onx_convert_drop_attr(c, node, "ceil_mode");
}

const onx_convert_step onx_step_outside = {outside, outside, NULL};
const onx_convert_step onx_step_ceil = {NULL, ceil_down, NULL};
