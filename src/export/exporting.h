/* exporting.h: one export with the options of onx.h; for the files between the two. */
#ifndef ONX_EXPORTING_H
#define ONX_EXPORTING_H

#include "export/archive.h"
#include "export/names.h"

typedef struct onx_exporting {
    onx_export x;
    onx_export_options options;
    onx_archive *archive;
    onx_xnames names; /* the options, as readers want them */
} onx_exporting;

/* The stages of an export, for who listens to its progress. */
typedef enum onx_export_stage {
    ONX_EXPORT_READ,
    ONX_EXPORT_CLEAN,
    ONX_EXPORT_CONVERT,
    ONX_EXPORT_INFER,
    ONX_EXPORT_STAGES
} onx_export_stage;
static inline void onx_export_tell(const onx_exporting *e, onx_export_stage stage,
                                   const char *what) {
    if (e->options.progress)
        e->options.progress(e->options.user, (size_t)stage, ONX_EXPORT_STAGES, what);
}

/* export_asked.c: do names and dynamic axes make sense; did they come out as asked for? */
onx_status onx_export_check_asked(const onx_export_options *options, onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_export_check_given(onx_exporting *e) ONX_MUST_CHECK;
/* export_script.c: TorchScript: inputs of the given types, or those it was traced with. */
onx_status onx_export_script(onx_exporting *e) ONX_MUST_CHECK;
/* finish.c: what was built as the model that was asked for. */
onx_status onx_export_finish(onx_exporting *e, onx_model **out, onx_diag *diag) ONX_MUST_CHECK;

#endif
