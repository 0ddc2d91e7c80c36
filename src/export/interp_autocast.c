/* interp_autocast.c: `with torch.autocast(…)`: operators that get their floats in the narrow type,
 * and those that get them in float32, as PyTorch's lists have it. Traced programs have the casts
 * written out. */
#include "export/interp_internal.h"

/* Names between spaces. */
static const char narrow[] = " conv1d conv2d conv3d _convolution conv_tbc conv_transpose1d "
                             "conv_transpose2d conv_transpose3d matmul __matmul__ mm bmm addmm "
                             "addbmm baddbmm linear scaled_dot_product_attention ";
static const char wide_everywhere[] =
    " prod cdist nll_loss nll_loss_nd nll_loss2d cross_entropy_loss mse_loss l1_loss "
    "smooth_l1_loss "
    "huber_loss kl_div poisson_nll_loss cosine_embedding_loss hinge_embedding_loss "
    "margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss "
    "multilabel_margin_loss binary_cross_entropy_with_logits ";
static const char wide_on_cpu[] =
    " avg_pool3d max_pool3d adaptive_avg_pool3d binary_cross_entropy grid_sampler polar quantile "
    "nanquantile stft trace view_as_complex inverse reflection_pad1d reflection_pad2d "
    "replication_pad1d replication_pad2d replication_pad3d ctc_loss fft_fft fft_ifft fft_rfft "
    "fft_irfft fft_fft2 fft_rfft2 fft_irfft2 ";
static const char narrow_on_gpu[] =
    " prelu addmv addr mv lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell lstm gru ";
static const char wide_on_gpu[] =
    " acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus "
    "layer_norm group_norm norm cosine_similarity dist pdist renorm logsumexp softmax log_softmax "
    "cumprod cumsum sum ";

/* The type that the operator gets floats in; NONE: as they are. */
static onx_dtype type_for(const onx_autocast *now, onx_str name) {
    if (onx_aten_among(narrow, name) || (now->gpu && onx_aten_among(narrow_on_gpu, name)))
        return now->dtype;
    if (onx_aten_among(wide_everywhere, name)) return ONX_DTYPE_F32;
    return onx_aten_among(now->gpu ? wide_on_gpu : wide_on_cpu, name) ? ONX_DTYPE_F32
                                                                      : ONX_DTYPE_NONE;
}

static onx_xv cast(onx_interp *in, onx_xv v, onx_dtype dtype) {
    bool floats = v.kind == ONX_X_TENSOR && onx_dtype_is_float(v.tensor->dtype) &&
                  v.tensor->dtype != ONX_DTYPE_F64 && v.tensor->dtype != dtype;
    return floats ? onx_xv_tensor(in->x, onx_x_as(in->x, &v, dtype)) : v;
}

void onx_py_autocast(onx_interp *in, onx_str name, size_t n, const onx_xarg **args) {
    onx_dtype dtype = in->autocast.dtype ? type_for(&in->autocast, name) : ONX_DTYPE_NONE;
    onx_xarg *copy = dtype ? onx_x_array(in->x, n + 1, sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < n && onx_x_ok(in->x); i++) {
        copy[i] = (*args)[i];
        copy[i].v = cast(in, copy[i].v, dtype);
    }
    if (copy) *args = copy;
}

/* Is it the object of a `with torch.autocast`? What that says. */
bool onx_py_read_autocast(onx_interp *in, const onx_xv *v, onx_autocast *out) {
    static const char end[] = ".autocast";
    const onx_py_object *object = v->kind == ONX_X_OBJECT ? v->object : NULL;
    onx_str name = object ? object->cls->name : (onx_str){NULL, 0};
    size_t size = sizeof end - 1;
    if (name.size < size || memcmp(name.data + name.size - size, end, size)) return false;
    onx_xv on = onx_py_get(in, v, ONX_LIT("_enabled"));
    onx_xv type = onx_py_get(in, v, ONX_LIT("fast_dtype"));
    onx_xv device = onx_py_get(in, v, ONX_LIT("device"));
    bool enabled = false;
    if (!onx_x_ok(in->x)) return false;
    onx_xv_known_bool(&on, &enabled);
    *out = (onx_autocast){.dtype = enabled ? onx_xv_dtype(in->x, &type) : ONX_DTYPE_NONE,
                          .gpu = device.kind == ONX_X_STR && !onx_str_is(device.str, "cpu")};
    return true;
}
