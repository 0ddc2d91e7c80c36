/* print.c: the listing of a model for people. */
#include "base/options.h"
#include "text/listing.h"

onx_status onx_model_print(const onx_model *model, const onx_writer *writer,
                           const onx_print_options *options, onx_diag *diag) {
    onx_print_options o;
    if (!model || !writer)
        return onx_fail(diag, ONX_USAGE, "onx_model_print needs a model and a writer");
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    return onx_listing_print(model, writer, &o, diag);
}
