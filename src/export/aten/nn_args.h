/* nn_args.h: what the lowerings of network layers share: lists of numbers, attributes that need not
 * be said, inputs without a batch. */
#ifndef ONX_NN_ARGS_H
#define ONX_NN_ARGS_H

#include "export/aten/lowering.h"

enum { ONX_NN_AXES = 3 }; /* at most, along which windows slide and images are resized */

/* The value of an argument; NULL of None. */
onx_value *onx_nn_tensor(onx_export *x, const onx_xv *v);
/* A result that PyTorch has and inference does not use: dtype[0]. */
void onx_nn_give_nothing(onx_export *x, onx_dtype dtype, onx_xv *out);

/* n known numbers; false, and x failed, where they are not. `what` is the name of the argument. A
 * list of one number stands for n. */
bool onx_nn_ints(onx_export *x, const onx_xv *v, const char *what, size_t n, int64_t *out);
bool onx_nn_is_empty(const onx_xv *v); /* None, or a list of nothing */
/* The number of dimensions in the name of the operator: 2 of max_pool2d. */
size_t onx_nn_axes(const onx_export *x);

/* Append `name` unless all of it is what is meant without: where the next one goes. */
onx_xattr *onx_nn_attr(onx_xattr *at, const char *name, size_t n, const int64_t *v, int64_t usual);

/* An input of `axes` + 1 dimensions gets a batch of one, and the result loses it again. */
onx_value *onx_nn_batch(onx_export *x, onx_value *value, size_t axes, bool *added);
onx_value *onx_nn_unbatch(onx_export *x, onx_value *value, bool added);

/* A vector of n equal numbers. */
onx_value *onx_nn_filled(onx_export *x, onx_dtype dtype, int64_t n, double v);
/* Floats as a constant of type `dtype`. */
onx_value *onx_nn_floats(onx_export *x, onx_dtype dtype, size_t rank, const int64_t *dims,
                         const double *v);
/* value * number, value + number, in the type of the value; nothing where that changes nothing. */
onx_value *onx_nn_times(onx_export *x, onx_value *value, double number);
onx_value *onx_nn_plus(onx_export *x, onx_value *value, double number);
/* Is it 0 everywhere, as far as can be told? */
bool onx_nn_is_zero(onx_export *x, const onx_value *value);

#endif
