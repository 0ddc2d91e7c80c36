/* steps.h: the steps there are, for the table (steps.c); each file says what its own do. */
#ifndef ONX_STEPS_H
#define ONX_STEPS_H

#include "pass/convert/step.h"

extern const onx_convert_step onx_step_acosh, onx_step_allowzero, onx_step_asinh, onx_step_atanh,
    onx_step_axes, onx_step_bit_and, onx_step_bit_not, onx_step_bit_or, onx_step_bit_xor,
    onx_step_broadcast, onx_step_cast_names, onx_step_ceil, onx_step_classes, onx_step_clip,
    onx_step_clip_integer, onx_step_col2im, onx_step_compare, onx_step_concat, onx_step_cosh,
    onx_step_cumsum, onx_step_depth, onx_step_dequant_16_bit, onx_step_dequant_result, onx_step_dft,
    onx_step_dft_axis, onx_step_dropout_test, onx_step_einsum, onx_step_equal, onx_step_erf,
    onx_step_expand, onx_step_extreme, onx_step_eye, onx_step_fill, onx_step_flatten,
    onx_step_forms, onx_step_gather_elements, onx_step_gather_nd, onx_step_gemm_broadcast,
    onx_step_gemm_c, onx_step_get_element, onx_step_grid, onx_step_grid_mode, onx_step_groups,
    onx_step_gru, onx_step_has_element, onx_step_is_test, onx_step_isinf, onx_step_isnan,
    onx_step_k, onx_step_label_tensors, onx_step_largest, onx_step_last_index, onx_step_layout,
    onx_step_mask, onx_step_matmul_integer, onx_step_missing, onx_step_mod, onx_step_mod_integer,
    onx_step_num_outputs, onx_step_one_hot, onx_step_outside, onx_step_p, onx_step_pad_axes,
    onx_step_paddings, onx_step_pads, onx_step_part, onx_step_places, onx_step_pow, onx_step_prelu,
    onx_step_quant_axis, onx_step_quant_output, onx_step_quant_saturate, onx_step_quantize,
    onx_step_range, onx_step_ratio, onx_step_reduce, onx_step_reduction, onx_step_resize_axes,
    onx_step_resize_first, onx_step_roi_align, onx_step_round, onx_step_round_mode,
    onx_step_saturate, onx_step_scales, onx_step_scan, onx_step_scatter, onx_step_scatter_nd,
    onx_step_selu, onx_step_sequence, onx_step_shape, onx_step_shapes, onx_step_shift,
    onx_step_sign, onx_step_signs, onx_step_sinh, onx_step_slice, onx_step_slice_signs,
    onx_step_softmax, onx_step_spatial, onx_step_split, onx_step_split_input, onx_step_stft,
    onx_step_sum, onx_step_symmetric, onx_step_tile, onx_step_training, onx_step_trees,
    onx_step_trilu, onx_step_upsample, onx_step_upsample_hw, onx_step_where, onx_step_wrap;

#endif
