/* detect.c: boxes found in images: NonMaxSuppression, RoiAlign: meaning. */
#include "ops/op.h"

#define NON_MAX_SUPPRESSION                                                                        \
    "(boxes:float, scores:float, max_output_boxes_per_class?:int64, iou_threshold?:float, "        \
    "score_threshold?:float) -> (selected_indices:int64) {center_point_box:int=0}"
#define ROI_ATTRS                                                                                  \
    "mode:string=\"avg\", output_height:int=1, output_width:int=1, sampling_ratio:int=0, "         \
    "spatial_scale:float=1.0"
#define ROI_ALIGN10 "(X:T1, rois:T1, batch_indices:T2) -> (Y:T1) {" ROI_ATTRS "} "
#define ROI_ALIGN16                                                                                \
    "(X:T1, rois:T1, batch_indices:T2) -> (Y:T1) {" ROI_ATTRS                                      \
    ", coordinate_transformation_mode:string=\"half_pixel\"} "

extern onx_op_rows onx_ops_detect;
onx_op_rows onx_ops_detect = {
    {"NonMaxSuppression", 10, NON_MAX_SUPPRESSION, .infer = NULL},
    {"NonMaxSuppression", 11, NON_MAX_SUPPRESSION, .infer = NULL},
    {"RoiAlign", 10, ROI_ALIGN10 "[T1:f0, T2:int64]", .infer = NULL},
    {"RoiAlign", 16, ROI_ALIGN16 "[T1:f0, T2:int64]", .infer = NULL},
    {"RoiAlign", 22, ROI_ALIGN16 "[T1:f, T2:int64]", .infer = NULL},
    {0},
};
