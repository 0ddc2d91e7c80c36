/* interp_upgrade.c: operators that meant something else when an archive was written: calls of them
 * become calls of what they mean now. Files say how old the oldest of their operators is. */
#include "export/interp_internal.h"

typedef void upgrade_fn(onx_interp *in, size_t n, onx_xarg *args, size_t *count);

static bool is_whole(onx_interp *in, const onx_xv *v) {
    (void)in;
    if (v->kind == ONX_X_TENSOR) return !onx_dtype_is_float(v->tensor->dtype);
    return v->kind == ONX_X_INT || v->kind == ONX_X_BOOL;
}

static void add_named(onx_xarg *args, size_t *count, onx_str name, onx_xv v) {
    args[(*count)++] = (onx_xarg){.name = name, .v = v};
}

/* Integers were divided to integers. */
static void upgrade_div(onx_interp *in, size_t n, onx_xarg *args, size_t *count) {
    if (n == 2 && is_whole(in, &args[0].v) && is_whole(in, &args[1].v))
        add_named(args, count, ONX_LIT("rounding_mode"), onx_xv_str(ONX_LIT("trunc")));
}

static size_t find_named(size_t n, const onx_xarg *args, const char *name) {
    size_t i = 0;
    while (i < n && !(args[i].name.data && onx_str_is(args[i].name, name))) i++;
    return i;
}

/* Whatever it was filled with, it was float. */
static void upgrade_full(onx_interp *in, size_t n, onx_xarg *args, size_t *count) {
    enum { FLOAT = 6 };
    size_t at = find_named(n, args, "dtype");
    if (n < 2 || !is_whole(in, &args[1].v)) return;
    if (at == n)
        add_named(args, count, ONX_LIT("dtype"), onx_xv_int(in->x, FLOAT));
    else if (args[at].v.kind == ONX_X_NONE)
        args[at].v = onx_xv_int(in->x, FLOAT);
}

/* linspace, logspace: a hundred steps. */
static void upgrade_steps(onx_interp *in, size_t n, onx_xarg *args, size_t *count) {
    size_t at = find_named(n, args, "steps");
    if (n > 2 && !args[2].name.data) at = 2;
    if (at == n)
        add_named(args, count, ONX_LIT("steps"), onx_xv_int(in->x, 100));
    else if (args[at].v.kind == ONX_X_NONE)
        args[at].v = onx_xv_int(in->x, 100);
}

void onx_py_upgrade(onx_interp *in, onx_str name, size_t *n, const onx_xarg **args) {
    static const struct {
        const char *name;
        uint64_t since; /* the first version of files that need nothing */
        upgrade_fn *upgrade;
    } rows[] = {
        {"div", 4, upgrade_div},        {"div_", 4, upgrade_div},       {"full", 5, upgrade_full},
        {"linspace", 8, upgrade_steps}, {"logspace", 9, upgrade_steps},
    };
    for (size_t i = 0; i < ONX_COUNT(rows); i++) {
        if (in->version >= rows[i].since || !onx_str_is(name, rows[i].name)) continue;
        onx_xarg *copy = onx_x_array(in->x, *n + 1, sizeof *copy);
        if (!copy) return;
        memcpy(copy, *args, *n * sizeof *copy);
        *args = copy;
        rows[i].upgrade(in, *n, copy, n);
    }
}
