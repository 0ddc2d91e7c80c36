/* pt2_export.c: a program of torch.export from its beginning to its end. */
#include "export/pt2_walk.h"
#include "export/told.h"

/* What may be given for a size, where that is not everything: PyTorch itself excludes 0 and 1. */
static void tell_ranges(onx_pt2_walk *w) {
    for (size_t i = 0; i < w->program->n_ranges; i++) {
        const onx_pt2_range *range = &w->program->ranges[i];
        const onx_sym *sym = onx_map_get(&w->symbols, NULL, range->symbol);
        onx_buf name;
        if (!sym || (range->min <= 2 && range->max == INT64_MAX)) continue;
        onx_buf_init(&name, w->x->ctx);
        onx_sym_print(sym, &name);
        onx_str text = {name.data, name.size};
        if (range->max == INT64_MAX)
            onx_x_note(w->x, "%.*s is at least %lld: so it was exported", ONX_FMT(text),
                       (long long)range->min);
        else
            onx_x_note(w->x, "%.*s is from %lld to %lld: so it was exported", ONX_FMT(text),
                       (long long)(range->min < 0 ? 0 : range->min), (long long)range->max);
        onx_buf_fini(&name);
    }
}

onx_status onx_pt2_export(onx_export *x, onx_pt2 *program, const onx_xnames *names) {
    onx_pt2_walk w = {.x = x, .program = program, .names = names};
    onx_map_init(&w.values, x->ctx);
    onx_map_init(&w.symbols, x->ctx);
    bool ok = onx_pt2_symbols(&w) && onx_pt2_inputs(&w) && onx_pt2_run(&w, program->graph);
    x->path = x->where = ONX_LIT("");
    if (ok) tell_ranges(&w);
    ok = ok && onx_x_check_missing(x) == ONX_OK && onx_pt2_outputs(&w);
    onx_map_fini(&w.symbols);
    onx_map_fini(&w.values);
    return ok ? x->status : x->status ? x->status : ONX_UNSUPPORTED;
}
