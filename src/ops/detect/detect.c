/* detect.c: boxes found in images: NonMaxSuppression, RoiAlign: meaning. */
#include "ops/op.h"

/* As many boxes as are chosen: [n, (batch, class, box)]. */
static onx_status infer_suppression(onx_infer *in) {
    onx_syms *syms = onx_infer_syms(in);
    onx_extent batch = {"batch size", NULL}, boxes = {"number of boxes", NULL};
    onx_extent four = {"number of elements of a box", onx_sym_int(syms, 4)};
    const onx_sym *dims[] = {NULL, onx_sym_int(syms, 3)};
    ONX_TRY(onx_infer_unify(in, 0, 3, (onx_extent *[]){&batch, &boxes, &four}));
    ONX_TRY(onx_infer_unify(in, 1, 3, (onx_extent *[]){&batch, NULL, &boxes}));
    onx_infer_lost(in, 0, 0, "it is as many boxes as are chosen by their scores and overlap");
    return onx_infer_tensor(in, 0, ONX_DTYPE_I64, 2, dims);
}

static onx_status infer_roi_align(onx_infer *in) {
    onx_syms *syms = onx_infer_syms(in);
    onx_extent channels = {"number of channels", NULL}, rois = {"number of rois", NULL};
    onx_extent four = {"number of elements of a roi", onx_sym_int(syms, 4)};
    ONX_TRY(onx_infer_choice(in, "mode", "avg max"));
    if (onx_infer_op(in)->since >= 16)
        ONX_TRY(
            onx_infer_choice(in, "coordinate_transformation_mode", "half_pixel output_half_pixel"));
    ONX_TRY(onx_infer_unify(in, 0, 4, (onx_extent *[]){NULL, &channels, NULL, NULL}));
    ONX_TRY(onx_infer_unify(in, 1, 2, (onx_extent *[]){&rois, &four}));
    ONX_TRY(onx_infer_unify(in, 2, 1, (onx_extent *[]){&rois}));
    const onx_sym *dims[] = {rois.size, channels.size,
                             onx_sym_int(syms, onx_infer_int(in, "output_height")),
                             onx_sym_int(syms, onx_infer_int(in, "output_width"))};
    return onx_infer_tensor(in, 0, onx_infer_in(in, 0)->dtype, 4, dims);
}

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
    {"NonMaxSuppression", 10, NON_MAX_SUPPRESSION, .infer = infer_suppression},
    {"NonMaxSuppression", 11, NON_MAX_SUPPRESSION, .infer = infer_suppression},
    {"RoiAlign", 10, ROI_ALIGN10 "[T1:f0, T2:int64]", .infer = infer_roi_align},
    {"RoiAlign", 16, ROI_ALIGN16 "[T1:f0, T2:int64]", .infer = infer_roi_align},
    {"RoiAlign", 22, ROI_ALIGN16 "[T1:f, T2:int64]", .infer = infer_roi_align},
    {0},
};
