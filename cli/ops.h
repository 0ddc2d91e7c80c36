/* ops.h: what the files of `onx ops` share. */
#ifndef CLI_OPS_H
#define CLI_OPS_H

#include "cli.h"

/* A schema, for people. */
void ops_show(const onx_schema *schema);
/* Schemas as JSON, as doc/cli.md describes it: of all operators, or of one. */
int ops_json_all(void);
void ops_json(const onx_schema *schema);
/* What a model needs. */
int ops_model(const onx_model *model, bool json);

#endif
