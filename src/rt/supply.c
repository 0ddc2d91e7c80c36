/* supply.c: initializers that the caller gives: in place of those of the model, also of such whose
 * data are missing; for values that the model leaves open; and for inputs, which then are none. */
#include "rt/session.h"

#include "ir/edit.h"

static onx_status not_there(const onx_tensor *with, onx_diag *diag) {
    return onx_fail(diag, ONX_NOT_FOUND,
                    "the model has no initializer '%.*s', nor an input or a value without a "
                    "definition of that name",
                    ONX_FMT(with->name));
}

static onx_status supply(onx_model *model, const onx_tensor *with, onx_diag *diag) {
    onx_value *value = onx_value_find(model->graph, with->name);
    if (!value || value->def) return not_there(with, diag);
    bool input = value->input && !value->init;
    onx_tensor *copy = NULL;
    ONX_TRY(onx_tensor_check(with, diag));
    ONX_TRY(onx_msg_copy(model->msg.doc, with, &copy, diag));
    ONX_TRY(onx_value_set_init(value, copy, diag));
    return input ? onx_graph_remove_input(model->graph, value, diag) : ONX_OK;
}

onx_status onx_session_supply(onx_model *model, size_t n, const onx_tensor *const *initializers,
                              onx_diag *diag) {
    for (size_t i = 0; i < n; i++) ONX_TRY(supply(model, initializers[i], diag));
    return ONX_OK;
}
