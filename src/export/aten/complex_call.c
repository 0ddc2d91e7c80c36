/* complex_call.c: calls with complex tensors, whose values are pairs of real numbers.
 *
 * An operator that knows nothing of that would take the pair for a dimension. So there are four
 * kinds: those whose lowerings look for complex numbers themselves; linear ones, which are applied
 * to the real and the imaginary parts; products, which are linear in each factor; and functions of
 * one number (complex.c). All others are declined. */
#include "export/aten.h"
#include "export/aten/lowering.h"

static const char aware[] =
    /* arithmetic, parts */
    " add sub subtract rsub mul multiply div divide true_divide pow angle conj _conj conj_physical"
    " _conj_physical real imag view_as_real view_as_complex view_as_real_copy view_as_complex_copy"
    " complex polar isreal positive norm linalg_vector_norm linalg_norm frobenius_norm sum mean"
    /* views and copies */
    " view reshape ravel _unsafe_view view_copy _reshape_copy _reshape_alias view_as reshape_as"
    " flatten unflatten unsqueeze unsqueeze_copy squeeze squeeze_copy permute permute_copy"
    " transpose transpose_copy swapaxes swapdims t t_copy mT numpy_T movedim moveaxis expand"
    " expand_copy broadcast_to expand_as slice slice_copy narrow narrow_copy select select_copy"
    " alias alias_copy detach detach_copy data lift lift_fresh lift_fresh_copy requires_grad_ clone"
    " contiguous resolve_conj resolve_neg cpu cuda adjoint mH matrix_H as_strided as_strided_copy"
    " copy copy_ fill fill_ zero zero_ to _to_copy type_as where index"
    /* lists */
    " _cat cat chunk column_stack concat concatenate hstack row_stack split split_copy "
    "split_with_sizes"
    " split_with_sizes_copy stack tensor_split unbind unbind_copy unsafe_chunk unsafe_split"
    " unsafe_split_with_sizes vstack hsplit vsplit dsplit"
    /* transforms */
    " _fft_c2c _fft_c2r _fft_r2c fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2"
    " fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_irfft fft_irfft2 fft_irfftn istft"
    " stft"
    /* questions, and tensors like it */
    " size sym_size numel sym_numel len dim ndimension stride sym_stride storage_offset"
    " sym_storage_offset is_same_size result_type is_floating_point is_complex is_signed"
    " element_size is_contiguous is_leaf is_pinned is_conj is_neg is_inference is_distributed"
    " _is_zerotensor empty_like full_like new_empty new_empty_strided new_full new_ones new_zeros"
    " ones_like zeros_like ";

static const char linear[] =
    " atleast_1d atleast_2d atleast_3d dstack lerp block_diag cumsum flip fliplr flipud roll rot90 "
    "repeat tile repeat_interleave trace tril triu diag"
    " diag_embed diagflat diagonal diagonal_copy linalg_diagonal unfold unfold_copy gather "
    "index_select take take_along_dim masked_select sum_to_size diff"
    " constant_pad_nd pad reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d"
    " index_put _unsafe_index_put scatter scatter_add index_add index_copy select_scatter"
    " slice_scatter diagonal_scatter masked_scatter ";

static const char products[] =
    " matmul mm bmm mv dot inner outer ger einsum kron tensordot linear linalg_matmul chain_matmul"
    " linalg_multi_dot prelu conv1d conv2d conv3d _convolution convolution cross linalg_cross ";

static const char matrices[] =
    " linalg_inv inverse matrix_exp linalg_matrix_exp matrix_power linalg_matrix_power ";

static bool is_word(const char *list, onx_str name) {
    char word[64];
    if (name.size + 3 > sizeof word) return false;
    word[0] = ' ';
    memcpy(word + 1, name.data, name.size);
    memcpy(word + 1 + name.size, " ", 2);
    return strstr(list, word) != NULL;
}

static bool has_complex(const onx_xv *v) {
    if (!onx_xv_is_list(v)) return v->kind == ONX_X_TENSOR && onx_xv_is_complex(v);
    for (size_t i = 0; i < v->list->n; i++)
        if (v->list->v[i].kind == ONX_X_TENSOR && onx_xv_is_complex(&v->list->v[i])) return true;
    return false;
}

bool onx_complex_in(size_t n, const onx_xv *a) {
    for (size_t i = 0; i < n; i++)
        if (has_complex(&a[i])) return true;
    return false;
}

/* ─ Parts ────────────────────────────────────────────────────────────────────────────────────── */

static onx_xv part_of(onx_export *x, const onx_xv *v, bool im) {
    onx_value *pairs = onx_xv_value(x, v);
    return onx_xv_tensor(x, im ? onx_complex_im(x, pairs) : onx_complex_re(x, pairs));
}

/* The arguments with parts in the place of complex tensors: of the first, or of all. */
static onx_xv *parted(onx_export *x, size_t n, const onx_xv *a, bool all, bool im) {
    onx_xv *args = onx_x_array(x, n + 1, sizeof *args);
    bool more = true;
    for (size_t i = 0; args && i < n && onx_x_ok(x); i++) {
        args[i] = a[i];
        if (!more || !has_complex(&a[i])) continue;
        if (onx_xv_is_list(&a[i])) {
            args[i] = onx_xv_list(x, a[i].kind, a[i].list->n, a[i].list->v);
            for (size_t k = 0; onx_x_ok(x) && more && k < a[i].list->n; k++)
                if (has_complex(&a[i].list->v[k])) {
                    args[i].list->v[k] = part_of(x, &a[i].list->v[k], im);
                    more = all;
                }
        } else {
            args[i] = part_of(x, &a[i], im);
            more = all;
        }
    }
    return onx_x_ok(x) ? args : NULL;
}

static onx_xv call_part(onx_export *x, const onx_xschema *s, const onx_xv *a, bool all, bool im) {
    onx_xv none = {.kind = ONX_X_NONE}, out[ONX_X_OUTS] = {none};
    onx_xv *args = parted(x, s->n_params, a, all, im);
    if (args && onx_complex_in(s->n_params, args))
        onx_complex_lower(x, s, args, out);
    else if (args)
        s->row->lower(x, args, out);
    return onx_x_ok(x) ? out[0] : none;
}

/* f(re) + i·f(im) */
static void give_parts(onx_export *x, const onx_xschema *s, const onx_xv *a, bool all,
                       onx_xv *out) {
    onx_xv re = call_part(x, s, a, all, false), im = call_part(x, s, a, all, true);
    if (!onx_x_ok(x)) return;
    onx_xv i = {.kind = ONX_X_COMPLEX, .im = 1};
    if (!onx_xv_is_complex(&re) && !onx_xv_is_complex(&im)) {
        *out = onx_xv_complex(x, onx_complex_pair(x, onx_xv_value(x, &re), onx_xv_value(x, &im)));
        return;
    }
    im = onx_xv_complex(x, onx_complex_binary(x, "Mul", &im, &i));
    if (onx_x_ok(x)) *out = onx_xv_complex(x, onx_complex_binary(x, "Add", &re, &im));
}

/* ─ Calls ────────────────────────────────────────────────────────────────────────────────────── */

/* Both parts are equal, or one of them is not. */
static void give_equal(onx_export *x, const onx_xv *a, bool differ, onx_xv *out) {
    onx_dtype part = onx_complex_part(onx_x_promote(x, 2, a));
    onx_value *is =
        onx_emit(x, "Equal", onx_complex_pairs(x, &a[0], part), onx_complex_pairs(x, &a[1], part));
    is = onx_emit(x, "And", onx_complex_re(x, is), onx_complex_im(x, is));
    onx_x_give(x, out, differ ? onx_emit(x, "Not", is) : is);
}

/* What is put into a complex tensor must be complex, too, or 0: else it is not linear. */
static bool puts_real(onx_export *x, const onx_xschema *s, const onx_xv *a) {
    static const char values[] = " value values src source ";
    for (size_t i = 1; i < s->n_params; i++)
        if (is_word(values, s->params[i].name) && !onx_xv_is(&a[i], ONX_X_NONE) &&
            !onx_xv_is_complex(&a[i]) && !onx_xv_is_one(x, &a[i], 0))
            return true;
    return false;
}

static void give_linear(onx_export *x, const onx_xschema *s, const onx_xv *a, onx_xv *out) {
    give_parts(x, s, a, true, out);
    if (!s->row->unview || out->kind != ONX_X_TENSOR) return;
    out->tensor->fresh = true;
    out->tensor->layout = &onx_xlayout_unknown;
    onx_x_note(x, "%.*s of complex numbers is a copy: writing to it changes nothing else",
               ONX_FMT(onx_x_op(x)));
}

/* What is added is no factor. */
static void give_product(onx_export *x, const onx_xschema *s, onx_xv *a, onx_xv *out) {
    onx_xv bias = {.kind = ONX_X_NONE}, none = bias;
    for (size_t i = 0; i < s->n_params; i++)
        if (onx_str_is(s->params[i].name, "bias")) bias = a[i], a[i] = none;
    give_parts(x, s, a, false, out);
    onx_xv both[] = {*out, bias};
    if (bias.kind == ONX_X_NONE || !onx_x_ok(x)) return;
    if (onx_str_is(onx_x_op(x), "linear"))
        *out = onx_aten_do(x, "add", 2, both);
    else
        onx_x_fail(x, ONX_UNSUPPORTED, "of complex numbers, with a bias");
}

/* (self, mask, value) */
static void give_filled(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv args[] = {a[1], a[2], a[0]};
    *out = onx_aten_do(x, "where", 3, args);
}

/* A complex matrix is a real one of twice the size, [[re, -im], [im, re]], and so are its inverse,
 * its powers and its exponential. */
static void give_matrix(onx_export *x, const onx_xschema *s, const onx_xv *a, onx_xv *out) {
    onx_value *pairs = onx_xv_value(x, &a[0]), *re = onx_complex_re(x, pairs);
    onx_value *im = onx_complex_im(x, pairs), *minus = onx_emit(x, "Neg", im);
    onx_xv args[2] = {a[0]}, results[ONX_X_OUTS] = {{.kind = ONX_X_NONE}};
    size_t rank = onx_x_rank(x, re);
    if (rank == SIZE_MAX || rank < 2 || s->n_params > ONX_COUNT(args)) return;
    if (s->n_params == 2) args[1] = a[1];
    onx_value *rows[] = {onx_x_concat(x, 2, (onx_value *[]){re, minus}, -1),
                         onx_x_concat(x, 2, (onx_value *[]){im, re}, -1)};
    if (onx_x_ok(x)) args[0] = onx_xv_tensor(x, onx_x_concat(x, 2, rows, -2));
    if (onx_x_ok(x)) s->row->lower(x, args, results);
    if (!onx_x_ok(x)) return;
    onx_xv n = onx_x_size_of(x, re, rank - 1), zero = onx_xv_int(x, 0);
    onx_value *left = onx_x_slice(x, onx_xv_value(x, &results[0]), -1, zero, n, 1);
    onx_value *y[] = {onx_x_slice(x, left, -2, zero, n, 1),
                      onx_x_slice(x, left, -2, n, onx_xv_int(x, INT64_MAX), 1)};
    *out = onx_xv_complex(x, onx_complex_pair(x, y[0], y[1]));
}

void onx_complex_lower(onx_export *x, const onx_xschema *s, onx_xv *a, onx_xv *out) {
    onx_str op = onx_x_op(x);
    bool prim = op.size > 6 && memcmp(op.data, "prim::", 6) == 0;
    if (prim || is_word(aware, op))
        s->row->lower(x, a, out);
    else if (is_word(linear, op) && !puts_real(x, s, a))
        give_linear(x, s, a, out);
    else if (is_word(products, op))
        give_product(x, s, a, out);
    else if (is_word(matrices, op))
        give_matrix(x, s, a, out);
    else if (onx_complex_has(op))
        onx_complex_unary(x, op, a, out);
    else if (onx_str_is(op, "masked_fill"))
        give_filled(x, a, out);
    else if (onx_str_is(op, "eq") || onx_str_is(op, "ne"))
        give_equal(x, a, onx_str_is(op, "ne"), out);
    else {
        onx_x_fail(x, ONX_UNSUPPORTED, "of complex numbers");
        onx_x_hint(x, "write it in Python with the real and imaginary parts (torch.view_as_real)");
    }
}
