/* step_quant.c: QuantizeLinear and DequantizeLinear: along an axis, to a type that is asked for,
 * and as arithmetic where they do not know the type, or are not there yet. */
#include "pass/convert/steps.h"

/* ─ As arithmetic ────────────────────────────────────────────────────────────────────────────── */

/* Is it missing, or one for all elements? */
static bool is_single(const onx_convert *c, const onx_node *node, size_t index) {
    const onx_fact *fact = onx_convert_in(c, node, index);
    int64_t size;
    return !onx_convert_has(node, index) || (fact->ranked && fact->rank == 0) ||
           (fact->rank == 1 && onx_convert_dim(c, node, index, 0, &size) && size == 1);
}

/* "shape", which lets a list broadcast along the axis; `*whole` when there is none. */
static onx_status put_shape(onx_convert *c, const onx_node *node, onx_buf *text, bool *whole) {
    size_t rank, axis;
    *whole = is_single(c, node, 1);
    if (*whole) return ONX_OK;
    if (onx_convert_int(c, node, "block_size"))
        return onx_convert_refuse(c, "there are no blocks there");
    if (!onx_convert_rank(c, node, 0, &rank) || !onx_convert_in(c, node, 1)->ranked ||
        !onx_axis(onx_convert_int(c, node, "axis"), rank, &axis))
        return onx_convert_refuse(c, "along which axis there are scales is not known");
    onx_buf_printf(text, "shape = Constant <value: tensor = int64[%zu] {", rank);
    for (size_t i = 0; i < rank; i++)
        onx_buf_printf(text, "%s%d", i ? ", " : "", i == axis ? -1 : 1);
    onx_buf_puts(text, "}> ()\n");
    return ONX_OK;
}

/* `to` is `from` of that type, and along the axis. */
static void put_along(onx_buf *text, const char *to, const char *from, onx_dtype dtype,
                      bool whole) {
    onx_buf_printf(text, "%s%s = Cast <to: int = %d> (%s)\n", to, whole ? "" : "_cast", (int)dtype,
                   from);
    if (!whole) onx_buf_printf(text, "%s = Reshape (%s_cast, shape)\n", to, to);
}

static onx_status write_dequantize(onx_convert *c, const onx_node *node, onx_buf *text) {
    onx_dtype dtype = onx_convert_in(c, node, 1)->dtype;
    bool whole, zero = onx_convert_has(node, 2);
    if (!onx_convert_is_float(dtype))
        return onx_convert_refuse(c, "the type of the scale is not known");
    ONX_TRY(put_shape(c, node, text, &whole));
    put_along(text, "scale", "x_scale", dtype, whole);
    onx_buf_printf(text, "number = Cast <to: int = %d> (x)\n", (int)dtype);
    if (zero) put_along(text, "zero", "x_zero_point", dtype, whole);
    onx_buf_puts(text, zero ? "moved = Sub (number, zero)\n"
                              "y = Mul (moved, scale)\n"
                            : "y = Mul (number, scale)\n");
    return ONX_OK;
}

static const struct {
    onx_dtype dtype;
    const char *least, *most;
} ranges[] = {{ONX_DTYPE_U8, "0.0", "255.0"},
              {ONX_DTYPE_I8, "-128.0", "127.0"},
              {ONX_DTYPE_U16, "0.0", "65535.0"},
              {ONX_DTYPE_I16, "-32768.0", "32767.0"}};

/* Limits are attributes before 11, and inputs since. */
static void put_limits(onx_buf *text, const char *from, int64_t version, const char *least,
                       const char *most) {
    if (version < 11)
        onx_buf_printf(text, "kept = Clip <min: float = %s, max: float = %s> (%s)\n", least, most,
                       from);
    else
        onx_buf_printf(text,
                       "low = Constant <value: tensor = float {%s}> ()\n"
                       "high = Constant <value: tensor = float {%s}> ()\n"
                       "kept = Clip (%s, low, high)\n",
                       least, most, from);
}

static onx_status write_quantize(onx_convert *c, const onx_node *node, onx_buf *text) {
    onx_dtype dtype = onx_facts_of(c->facts, onx_node_output(node, 0))->dtype;
    bool whole, zero = onx_convert_has(node, 2);
    size_t r = 0;
    while (r < ONX_COUNT(ranges) && ranges[r].dtype != dtype) r++;
    if (r == ONX_COUNT(ranges)) return onx_convert_refuse(c, "the type of the result is not known");
    ONX_TRY(put_shape(c, node, text, &whole));
    put_along(text, "scale", "y_scale", ONX_DTYPE_F32, whole);
    onx_buf_puts(text, "number = Cast <to: int = 1> (x)\n"
                       "exact = Div (number, scale)\n");
    onx_convert_put_round(text, "rounded", "exact", ONX_DTYPE_F32);
    if (zero) put_along(text, "zero", "y_zero_point", ONX_DTYPE_F32, whole);
    if (zero) onx_buf_puts(text, "moved = Add (rounded, zero)\n");
    put_limits(text, zero ? "moved" : "rounded", c->at.version, ranges[r].least, ranges[r].most);
    onx_buf_printf(text, "y = Cast <to: int = %d> (kept)\n", (int)dtype);
    return ONX_OK;
}

static onx_status arithmetic(onx_convert *c, onx_node *node) {
    onx_buf text = onx_convert_text(c);
    onx_status status = onx_str_is(node->op_type, "QuantizeLinear")
                            ? write_quantize(c, node, &text)
                            : write_dequantize(c, node, &text);
    if (!status) return onx_convert_expand_buf(c, node, &text);
    onx_buf_fini(&text);
    return status;
}

static bool is_16_bit(onx_dtype dtype) {
    return dtype == ONX_DTYPE_I16 || dtype == ONX_DTYPE_U16;
}

static onx_status matmul_integer_down(onx_convert *c, onx_node *node) {
    static const char *const names[] = {"A", "B", "a_zero_point", "b_zero_point"};
    if (!is_single(c, node, 2) || !is_single(c, node, 3))
        return onx_convert_refuse(c, "there is more than one zero point");
    onx_buf text = onx_convert_text(c);
    for (size_t i = 0; i < 2; i++) {
        bool zero = onx_convert_has(node, i + 2);
        onx_buf_printf(&text, "%s%zu = Cast <to: int = 6> (%s)\n", zero ? "wide" : "in", i,
                       names[i]);
        if (zero)
            onx_buf_printf(&text,
                           "zero%zu = Cast <to: int = 6> (%s)\n"
                           "in%zu = Sub (wide%zu, zero%zu)\n",
                           i, names[i + 2], i, i, i);
    }
    onx_buf_puts(&text, "Y = MatMul (in0, in1)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Attributes ───────────────────────────────────────────────────────────────────────────────── */

/* One scale for all elements needs no axis. */
static onx_status axis_down(onx_convert *c, onx_node *node) {
    const onx_fact *scale = onx_convert_in(c, node, 1);
    int64_t size;
    bool one =
        scale->ranked && (scale->rank == 0 || (onx_convert_dim(c, node, 1, 0, &size) && size == 1));
    return one ? onx_convert_drop_attr(c, node, "axis") : arithmetic(c, node);
}

/* Only the 8-bit floats saturate or not. */
static onx_status saturate_down(onx_convert *c, onx_node *node) {
    return onx_convert_drop_attr(c, node, "saturate");
}

/* The zero point tells the type of the result. */
static onx_status add_zero_point(onx_convert *c, onx_node *node, onx_dtype dtype) {
    const onx_fact *scale = onx_convert_in(c, node, 1);
    int64_t n = 1;
    size_t bytes;
    onx_value *zero;
    bool known = scale->ranked && scale->rank <= 1 &&
                 (scale->rank == 0 || onx_convert_dim(c, node, 1, 0, &n));
    if (!known || n < 0 || n > 1 << 20 || !onx_dtype_bytes(dtype, (uint64_t)n, &bytes))
        return onx_convert_refuse(c,
                                  "'output_dtype' needs a zero point there, of a shape not known");
    void *zeros = onx_arena_alloc(&c->arena, bytes + 1);
    if (!zeros) return onx_fail_nomem(&c->diag);
    ONX_TRY(onx_convert_tensor(c, "zero_point", dtype, scale->rank, &n, zeros, bytes, &zero));
    return onx_convert_set_input(c, node, 2, zero);
}

static onx_status output_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "output_dtype"));
    if (is_16_bit(onx_facts_of(c->facts, onx_node_output(node, 0))->dtype))
        return arithmetic(c, node);
    int64_t dtype = onx_convert_int(c, node, "output_dtype");
    if (dtype && dtype != ONX_DTYPE_U8 && !onx_convert_has(node, 2)) {
        if (onx_convert_int(c, node, "block_size"))
            return onx_convert_refuse(c, "there are no blocks there");
        ONX_TRY(add_zero_point(c, node, (onx_dtype)dtype));
    }
    return onx_convert_drop_attr(c, node, "output_dtype");
}

/* The result is of the type of the scale, unless another one is asked for, since 23. */
static onx_status result_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "output_dtype"));
    int64_t dtype = onx_convert_int(c, node, "output_dtype");
    if (dtype && dtype != (int64_t)onx_convert_in(c, node, 1)->dtype)
        return onx_convert_refuse(c, "the result is of the type of the scale there");
    return onx_convert_drop_attr(c, node, "output_dtype");
}

static onx_status dequant_down(onx_convert *c, onx_node *node) {
    return is_16_bit(onx_convert_in(c, node, 0)->dtype) ? arithmetic(c, node) : ONX_OK;
}

const onx_convert_step onx_step_quantize = {NULL, arithmetic, NULL};
const onx_convert_step onx_step_matmul_integer = {NULL, matmul_integer_down, NULL};
const onx_convert_step onx_step_dequant_16_bit = {NULL, dequant_down, NULL};
const onx_convert_step onx_step_quant_axis = {NULL, axis_down, NULL};
const onx_convert_step onx_step_quant_saturate = {NULL, saturate_down, NULL};
const onx_convert_step onx_step_quant_output = {NULL, output_down, NULL};
const onx_convert_step onx_step_dequant_result = {NULL, result_down, NULL};
