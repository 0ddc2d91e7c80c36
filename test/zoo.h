/* zoo.h: models of the zoo with their recorded inputs and outputs ($ONX_DATA/<name>/). */
#ifndef ONX_TEST_ZOO_H
#define ONX_TEST_ZOO_H

#include "onx.h"

enum { ZOO_ARGS = 8 };

typedef struct zoo_model {
    onx_model *model; /* filled */
    size_t n_in, n_out;
    onx_data *in_data[ZOO_ARGS], *out_data[ZOO_ARGS];
    onx_arg in[ZOO_ARGS], out[ZOO_ARGS]; /* out: recorded, flattened, every stride-th element */
} zoo_model;

/* False, with a sentence on stderr, when it cannot be loaded; also when there is no $ONX_DATA. */
bool zoo_load(onx_context *ctx, const char *name, zoo_model *out);
void zoo_free(zoo_model *zoo);
/* As zoo_load, for those that are not kept once they were loaded: there are gigabytes of them. */
bool zoo_load_once(onx_context *ctx, const char *name, zoo_model *out);
/* The largest difference from the recorded output, relative to its largest magnitude. */
double zoo_distance(const zoo_model *zoo, size_t index, const onx_arg *got);

#endif
