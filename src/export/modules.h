/* modules.h: modules as functions of ONNX. */
#ifndef ONX_MODULES_H
#define ONX_MODULES_H

#include "export/export.h"

/* The module at a path is of a class; for the names of functions. Readers tell it. */
void onx_x_module(onx_export *x, onx_str path, onx_str class_name);
/* Nodes of modules become calls of functions, in `model`, which was made by `x`. */
onx_status onx_export_modules(onx_export *x, onx_model *model, onx_diag *diag) ONX_MUST_CHECK;

#endif
