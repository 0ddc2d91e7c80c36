/* backend_case.h: the backend tests of ONNX, one after the other, run through sessions. */
#ifndef ONX_TEST_BACKEND_CASE_H
#define ONX_TEST_BACKEND_CASE_H

#include "rt/session.h"
#include "support.h"

enum { BACKEND_ARGS = 32 };

typedef struct backend_inputs {
    size_t n;
    onx_data *data[BACKEND_ARGS];
    onx_arg args[BACKEND_ARGS];
} backend_inputs;

/* Random by specification, without a seed. */
bool backend_is_random(const char *folder);

/* FOLDER/test_data_set_0/input_0.pb …, as many as can be read. */
void backend_inputs_load(const char *folder, const onx_session *s, backend_inputs *out);
void backend_inputs_free(backend_inputs *inputs);

/* To the last bit. */
bool backend_same(const onx_arg *a, const onx_arg *b);

#endif
