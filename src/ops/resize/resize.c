/* resize.c: images of another size: Resize, Upsample, GridSample, AffineGrid, CenterCropPad:
 * meaning. */
#include "ops/op.h"

#define RESIZE_ATTRS                                                                               \
    "mode:string=\"nearest\", coordinate_transformation_mode:string=\"half_pixel\", "              \
    "cubic_coeff_a:float=-0.75, exclude_outside:int=0, extrapolation_value:float=0.0, "            \
    "nearest_mode:string=\"round_prefer_floor\""
#define RESIZE10 "(X:T, scales:float) -> (Y:T) {mode:string=\"nearest\"} "
#define RESIZE11 "(X:T1, roi:T2, scales:float, sizes?:int64) -> (Y:T1) {" RESIZE_ATTRS "} "
#define RESIZE13 "(X:T1, roi?:T2, scales?:float, sizes?:int64) -> (Y:T1) {" RESIZE_ATTRS "} "
#define RESIZE18                                                                                   \
    "(X:T1, roi?:T2, scales?:float, sizes?:int64) -> (Y:T1) {" RESIZE_ATTRS                        \
    ", antialias:int=0, axes?:ints, keep_aspect_ratio_policy:string=\"stretch\"} "
#define UPSAMPLE1 "(X:T) -> (Y:T) {height_scale:float, mode:string=\"nearest\", width_scale:float} "
#define UPSAMPLE7 "(X:T) -> (Y:T) {mode:string=\"nearest\", scales:floats} "
#define UPSAMPLE9 "(X:T, scales:float) -> (Y:T) {mode:string=\"nearest\"} "
#define GRID_SAMPLE(mode)                                                                          \
    "(X:T1, grid:T2) -> (Y:T1) {align_corners:int=0, mode:string=\"" mode                          \
    "\", padding_mode:string=\"zeros\"} "
#define AFFINE_GRID "(theta:T1, size:T2) -> (grid:T1) {align_corners:int=0} "
#define CENTER_CROP_PAD "(input_data:T, shape:Tind) -> (output_data:T) {axes?:ints} "

extern onx_op_rows onx_ops_resize;
onx_op_rows onx_ops_resize = {
    {"Resize", 10, RESIZE10 "[T:all1]", .infer = NULL},
    {"Resize", 11, RESIZE11 "[T1:all1, T2:f0]", .infer = NULL},
    {"Resize", 13, RESIZE13 "[T1:all13, T2:f0]", .infer = NULL},
    {"Resize", 18, RESIZE18 "[T1:all13, T2:f0]", .infer = NULL},
    {"Resize", 19, RESIZE18 "[T1:all13, T2:f0]", .infer = NULL},
    {"Upsample", 1, UPSAMPLE1 "[T:f0|bool|int32|int64]", .infer = NULL},
    {"Upsample", 7, UPSAMPLE7 "[T:all1]", .infer = NULL},
    {"Upsample", 9, UPSAMPLE9 "[T:all1]", .infer = NULL},
    {"Upsample", 10, UPSAMPLE9 "[T:all1]", .deprecated = true},
    {"GridSample", 16, GRID_SAMPLE("bilinear") "[T1:all1, T2:f0]", .infer = NULL},
    {"GridSample", 20, GRID_SAMPLE("linear") "[T1:all1, T2:f0]", .infer = NULL},
    {"GridSample", 22, GRID_SAMPLE("linear") "[T1:all13, T2:f]", .infer = NULL},
    {"AffineGrid", 20, AFFINE_GRID "[T1:f, T2:int64]", .infer = NULL},
    {"CenterCropPad", 18, CENTER_CROP_PAD "[T:all13, Tind:int32|int64]", .infer = NULL},
    {0},
};
