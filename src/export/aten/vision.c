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

/* (input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio) */
static onx_value *roi_align(onx_export *x, const onx_xv *a, bool aligned) {
    onx_value *image, *boxes;
    int64_t ratio = onx_xv_whole(x, &a[5], 0);
    if (!split_rois(x, &a[1], &image, &boxes)) return NULL;
    onx_xattr attrs[] = {
        ONX_AS("coordinate_transformation_mode", aligned ? "half_pixel" : "output_half_pixel"),
        ONX_AI("output_height", onx_xv_whole(x, &a[3], 1)),
        ONX_AI("output_width", onx_xv_whole(x, &a[4], 1)),
        ONX_AI("sampling_ratio", ratio < 0 ? 0 : ratio),
        ONX_AF("spatial_scale", onx_xv_real(x, &a[2], 1)),
        {.name = NULL}};
    return onx_emit_wide_with(x, "RoiAlign", attrs, onx_nn_tensor(x, &a[0]), boxes, image);
}
/* (…, aligned) */
static void lower_roi_align(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, roi_align(x, a, onx_xv_true(&a[6])));
}

/* Channels as [results, pooled height, pooled width], with the sizes that follow. */
static onx_value *split_channels(onx_export *x, const onx_xv *a, onx_value *v) {
    onx_xv shape[] = {onx_x_size_of(x, v, 0), onx_xv_int(x, -1),     a[3], a[4],
                      onx_x_size_of(x, v, 2), onx_x_size_of(x, v, 3)};
    return onx_x_reshape(x, v, ONX_COUNT(shape), shape);
}

/* Every place of the result has a channel of its own. */
static void lower_ps_roi_align(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *all = roi_align(x, a, true);
    if (!all) return;
    onx_x_give(x, &out[0],
               onx_emit_wide_with(x, "Einsum", ONX_ATTRS(ONX_AS("equation", "kcijij->kcij")),
                                  split_channels(x, a, all)));
    onx_nn_give_nothing(x, ONX_DTYPE_I32, &out[1]);
}

/* [boxes, bins, size]: 1 for what lies in a bin, along one axis of the boxes. */
static onx_value *bins(onx_export *x, const onx_xv *a, onx_value *boxes, int64_t from, onx_xv bin_n,
                       onx_xv size) {
    onx_dtype dtype = onx_x_dtype(x, boxes);
    double scale = onx_xv_real(x, &a[2], 1);
    onx_value *ends[2];
    for (int64_t i = 0; i < 2; i++) { /* rounded as C does */
        ends[i] = onx_nn_times(x, onx_x_pick(x, boxes, 1, from + 2 * i), scale);
        ends[i] = onx_emit(x, "Floor", onx_nn_plus(x, ends[i], 0.5));
    }
    onx_value *length = onx_emit_number(x, "Max", onx_emit(x, "Sub", ends[1], ends[0]), 0.1);
    onx_value *step = onx_emit(x, "Div", length, onx_x_as(x, &bin_n, dtype));
    onx_value *at = onx_x_cast(x, onx_x_count(x, &bin_n), dtype);
    step = onx_x_unsqueeze(x, step, 1);
    onx_value *start = onx_emit(x, "Mul", at, step), *end = onx_emit(x, "Add", start, step);
    onx_value *origin = onx_x_unsqueeze(x, ends[0], 1);
    start = onx_emit(x, "Floor", onx_emit(x, "Add", start, origin));
    end = onx_emit(x, "Ceil", onx_emit(x, "Add", end, origin));
    onx_value *place = onx_x_cast(x, onx_x_count(x, &size), dtype);
    onx_value *in =
        onx_emit(x, "And", onx_emit(x, "GreaterOrEqual", place, onx_x_unsqueeze(x, start, -1)),
                 onx_emit(x, "Less", place, onx_x_unsqueeze(x, end, -1)));
    return onx_x_cast(x, in, dtype);
}

/* Means over bins, each of a channel of its own. */
static void lower_ps_roi_pool(onx_export *x, const onx_xv *a, onx_xv *out) {
    int64_t last = -1;
    onx_value *image, *boxes, *v = onx_nn_tensor(x, &a[0]);
    if (!v || !split_rois(x, &a[1], &image, &boxes)) return;
    onx_value *rows = bins(x, a, boxes, 1, a[3], onx_x_size_of(x, v, 2));
    onx_value *columns = bins(x, a, boxes, 0, a[4], onx_x_size_of(x, v, 3));
    onx_value *pictures = split_channels(x, a, onx_emit(x, "Gather", v, image));
    onx_value *sum =
        onx_emit_with(x, "Einsum", ONX_ATTRS(ONX_AS("equation", "kcijhw,kih,kjw->kcij")), pictures,
                      rows, columns);
    onx_value *area = onx_emit(
        x, "Mul", onx_x_unsqueeze(x, onx_x_reduce(x, "ReduceSum", rows, 1, &last, false), -1),
        onx_x_unsqueeze(x, onx_x_reduce(x, "ReduceSum", columns, 1, &last, false), -2));
    onx_value *mean =
        onx_emit(x, "Div", sum, onx_x_unsqueeze(x, onx_emit_number(x, "Max", area, 1), 1));
    onx_x_give(x, &out[0], mean);
    onx_nn_give_nothing(x, ONX_DTYPE_I32, &out[1]);
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
    {"torchvision::ps_roi_align" ROIS ", int sampling_ratio) -> (Tensor, Tensor)",
     lower_ps_roi_align, NULL},
    {"torchvision::ps_roi_pool" ROIS ") -> (Tensor, Tensor)", lower_ps_roi_pool, NULL},
    {"torchvision::roi_pool" ROIS ") -> (Tensor, Tensor)", lower_roi_pool, NULL},
    {.schema = NULL},
};
