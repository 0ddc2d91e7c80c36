/* vision.c: torchvision's operators on boxes: those that overlap, and pools over regions. */
#include "export/aten/nn_args.h"

/* (dets[N, 4], scores[N], iou_threshold): the boxes that stay, the best first. */
static void lower_nms(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t axes[] = {0, 1}, most = INT64_MAX;
    onx_value *boxes = onx_x_unsqueeze(x, onx_x_as(x, &a[0], ONX_DTYPE_F32), 0);
    onx_value *scores = onx_x_as(x, &a[1], ONX_DTYPE_F32);
    onx_value *threshold = onx_x_as(x, &a[2], ONX_DTYPE_F32);
    if (!boxes || !scores || !threshold) return;
    scores = onx_emit(x, "Unsqueeze", scores, onx_x_ints(x, 2, axes));
    onx_value *found = onx_emit(x, "NonMaxSuppression", boxes, scores, onx_x_ints(x, 1, &most),
                                onx_x_unsqueeze(x, threshold, 0));
    onx_x_give(x, out, onx_x_pick(x, found, 1, 2)); /* of batch, class, box */
}

/* rois[K, 5] as the numbers of their images, int64[K], and boxes [K, 4]. */
static bool split_rois(onx_export *x, const onx_xv *rois, onx_value **image, onx_value **boxes) {
    onx_value *v = onx_nn_tensor(x, rois);
    if (!v) return false;
    *image = onx_x_cast(x, onx_x_pick(x, v, 1, 0), ONX_DTYPE_I64);
    *boxes = onx_x_slice(x, v, 1, onx_xv_int(x, 1), onx_xv_int(x, 5), 1);
    return onx_x_ok(x);
}

/* (input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned) */
static void lower_roi_align(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *image, *boxes;
    int64_t ratio = onx_xv_whole(x, &a[5], 0);
    if (!split_rois(x, &a[1], &image, &boxes)) return;
    onx_xattr attrs[] = {ONX_AS("coordinate_transformation_mode",
                                onx_xv_true(&a[6]) ? "half_pixel" : "output_half_pixel"),
                         ONX_AI("output_height", onx_xv_whole(x, &a[3], 1)),
                         ONX_AI("output_width", onx_xv_whole(x, &a[4], 1)),
                         ONX_AI("sampling_ratio", ratio < 0 ? 0 : ratio),
                         ONX_AF("spatial_scale", onx_xv_real(x, &a[2], 1)),
                         {.name = NULL}};
    onx_x_give(x, out,
               onx_emit_wide_with(x, "RoiAlign", attrs, onx_nn_tensor(x, &a[0]), boxes, image));
}

/* (input, rois, spatial_scale, pooled_height, pooled_width) */
static void lower_roi_pool(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t shape[] = {onx_xv_whole(x, &a[3], 1), onx_xv_whole(x, &a[4], 1)};
    onx_xattr attrs[] = {ONX_AL("pooled_shape", 2, shape),
                         ONX_AF("spatial_scale", onx_xv_real(x, &a[2], 1)),
                         {.name = NULL}};
    onx_x_give(x, &out[0],
               onx_emit_wide_with(x, "MaxRoiPool", attrs, onx_nn_tensor(x, &a[0]),
                                  onx_nn_tensor(x, &a[1])));
    onx_nn_give_nothing(x, ONX_DTYPE_I32, &out[1]);
}

#define ROIS "(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width"

const onx_aten onx_aten_vision[] = {
    {"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold)", lower_nms, NULL},
    {"torchvision::roi_align" ROIS ", int sampling_ratio, bool aligned)", lower_roi_align, NULL},
    {"torchvision::roi_pool" ROIS ") -> (Tensor, Tensor)", lower_roi_pool, NULL},
    {.schema = NULL},
};
