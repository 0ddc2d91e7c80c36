/* export_model.c: onx_model_export: from a file of PyTorch to a model. */
#include "base/options.h"
#include "export/exporting.h"
#include "export/pt2_walk.h"
#include "export/told.h"
#include "ir/ir.h"

enum { OPSET = 18, OPSET_MIN = 7, OPSET_MAX = 28 };

static onx_status check_options(const onx_export_options *o, onx_diag *diag) {
    if (o->opset < OPSET_MIN || o->opset > OPSET_MAX)
        return onx_fail(diag, ONX_USAGE, "opset %lld: it can be from %d to %d", (long long)o->opset,
                        OPSET_MIN, OPSET_MAX);
    return onx_export_check_asked(o, diag);
}

static onx_status set_names(onx_exporting *e) {
    const onx_export_options *o = &e->options;
    onx_xaxis *axes = onx_x_array(&e->x, o->n_axes + 1, sizeof *axes);
    if (!axes) return e->x.status;
    for (size_t i = 0; i < o->n_axes; i++)
        axes[i] = (onx_xaxis){o->axes[i].name, o->axes[i].axis, o->axes[i].size};
    e->names = (onx_xnames){.n_inputs = o->n_input_names,
                            .n_outputs = o->n_output_names,
                            .n_axes = o->n_axes,
                            .inputs = o->input_names,
                            .outputs = o->output_names,
                            .axes = axes,
                            .mutations = o->mutations};
    return ONX_OK;
}

static onx_status export_pt2(onx_exporting *e) {
    onx_pt2 program;
    onx_status status = onx_pt2_read(e->archive, &program, &e->x.diag);
    if (status) return status;
    status = onx_pt2_export(&e->x, &program, &e->names);
    onx_pt2_fini(&program);
    return status;
}

static onx_status read_program(onx_exporting *e) {
    ONX_TRY(set_names(e));
    if (!onx_archive_has_graph(e->archive)) return onx_archive_decline(e->archive, &e->x.diag);
    bool script = onx_archive_kind_of(e->archive) == ONX_ARCHIVE_SCRIPT;
    ONX_TRY(script ? onx_export_script(e) : export_pt2(e));
    for (size_t i = 0; !script && i < e->options.n_inputs; i++)
        if (e->options.inputs[i].name) {
            onx_x_note(&e->x, "the types of inputs are those of the archive, not those given");
            break;
        }
    return onx_export_check_given(e);
}

static void report_notes(const onx_exporting *e, onx_export_note kind, const onx_xnote *note) {
    for (; note && e->options.report; note = note->next) {
        onx_buf text;
        onx_buf_init(&text, e->x.ctx);
        onx_buf_put(&text, note->text.data, note->text.size);
        if (note->args.size) onx_buf_printf(&text, "(%.*s)", ONX_FMT(note->args));
        if (note->path.size) onx_buf_printf(&text, ", in '%.*s'", ONX_FMT(note->path));
        if (note->where.size) onx_buf_printf(&text, ", %.*s", ONX_FMT(note->where));
        onx_buf_putc(&text, '\0');
        if (!text.failed) e->options.report(e->options.user, kind, text.data, note->count);
        onx_buf_fini(&text);
    }
}

/* The user's functions, of the opset that the model is built with. */
static onx_status take_lowerings(onx_exporting *e, onx_diag *diag) {
    onx_opset_target target = {NULL, onx_model_opset(e->x.model, "")};
    onx_convert_options how = ONX_INIT(onx_convert_options);
    how.n_targets = 1;
    how.targets = &target;
    e->x.lower = e->options.lower;
    e->x.user = e->options.user;
    if (!e->options.lowerings) return ONX_OK;
    onx_status status = onx_model_convert(e->options.lowerings, &how, &e->x.lowerings, diag);
    if (status) onx_diag_place(diag, "the lowerings");
    return status;
}

static onx_status export_archive(onx_exporting *e, onx_model **out, onx_diag *diag) {
    onx_context *ctx = onx_archive_doc(e->archive)->ctx;
    onx_status status = onx_export_begin(&e->x, ctx, e->options.opset, diag);
    e->x.training = e->options.training;
    e->x.method = e->options.method;
    e->x.functions = e->options.functions;
    e->x.no_params = e->options.no_params;
    if (!status) status = take_lowerings(e, diag);
    if (!status) {
        onx_export_tell(e, ONX_EXPORT_READ, "reading the program");
        status = read_program(e);
        if (status && diag) *diag = e->x.diag;
        report_notes(e, ONX_EXPORT_OPERATOR, e->x.lowered);
        report_notes(e, ONX_EXPORT_DIMENSION, e->x.fixed);
        report_notes(e, ONX_EXPORT_ASSUMPTION, e->x.notes);
        report_notes(e, ONX_EXPORT_MISSING, e->x.missing);
    }
    if (!status) status = onx_export_finish(e, out, diag);
    onx_export_end(&e->x);
    return status;
}

static onx_status begin(onx_exporting *e, const onx_export_options *options, onx_model **out,
                        onx_diag *diag) {
    ONX_TRY(ONX_OPTIONS(&e->options, options, diag));
    if (!out) return onx_fail(diag, ONX_USAGE, "there is no place for the model");
    if (!e->options.opset) e->options.opset = OPSET;
    return check_options(&e->options, diag);
}

onx_status onx_model_export(onx_context *ctx, const char *path, const onx_export_options *options,
                            onx_model **out, onx_diag *diag) {
    onx_exporting e = {.archive = NULL};
    ONX_TRY(begin(&e, options, out, diag));
    ONX_TRY(onx_archive_open(onx_context_or_default(ctx), path, &e.archive, diag));
    onx_status status = export_archive(&e, out, diag);
    if (status) onx_diag_file(diag, path);
    onx_archive_close(e.archive);
    return status;
}

onx_status onx_model_export_memory(onx_context *ctx, const void *data, size_t bytes,
                                   const onx_export_options *options, onx_model **out,
                                   onx_diag *diag) {
    onx_exporting e = {.archive = NULL};
    ONX_TRY(begin(&e, options, out, diag));
    ONX_TRY(onx_archive_open_memory(onx_context_or_default(ctx), (onx_str){data, bytes}, &e.archive,
                                    diag));
    onx_status status = export_archive(&e, out, diag);
    onx_archive_close(e.archive);
    return status;
}
