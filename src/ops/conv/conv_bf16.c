/* conv_bf16.c: see conv_bf16.h; and the row of the tier bf16. */
#undef ONX_ISA
#define ONX_ISA avx512 /* whose columns these are */
#include "ops/conv/conv_bf16.h"

size_t onx_conv_weights_bytes_bf16(size_t oc, size_t k) {
    return onx_bf16_ceil(oc, ONX_BF16_ROWS) * onx_bf16_block_size(k) * sizeof(uint16_t);
}

/* Rows begin at a multiple of a block. */
void onx_conv_pack_bf16(const float *w, size_t oc, size_t k, size_t row, size_t end, void *to) {
    onx_bf16_source from = {.data = w, .rows = oc, .cols = k, .row = k, .col = 1};
    size_t block = row / ONX_BF16_ROWS;
    onx_bf16_pack_a(&from, block, onx_bf16_ceil(end, ONX_BF16_ROWS) - block,
                    (uint16_t *)to + block * onx_bf16_block_size(k));
}

size_t onx_conv_panel_bytes_bf16(size_t k) {
    return onx_bf16_panel_size(k) * sizeof(uint16_t);
}

void onx_conv_put_bf16(const float *columns, size_t first, size_t depth, void *panel) {
    onx_bf16_source from = {.data = columns, .rows = depth, .cols = ONX_COLUMNS};
    from.row = ONX_COLUMNS;
    from.col = 1;
    onx_bf16_pack_b(&from, 0, 1, (uint16_t *)panel + first * ONX_BF16_COLS);
}

void onx_conv_multiply_bf16(const void *weights, const void *panel, size_t k, size_t row,
                            size_t end, float *sums, onx_bf16_kernel *kernel) {
    onx_bf16_block b = {.depth = k, .b = panel, .ldc = ONX_BF16_COLS};
    b.a_next = onx_bf16_block_size(k);
    for (; row < end; row += ONX_BF16_PART) {
        b.rows = end - row < ONX_BF16_PART ? end - row : ONX_BF16_PART;
        b.a = (const uint16_t *)weights + row / ONX_BF16_ROWS * b.a_next;
        b.c = sums + row * ONX_BF16_COLS;
        kernel(&b);
    }
}

static void nothing(void) {}
static void multiply(const void *weights, const void *panel, size_t k, size_t row, size_t end,
                     float *sums) {
    onx_conv_multiply_bf16(weights, panel, k, row, end, sums, onx_bf16_kernel_bf16);
}
static const onx_conv_columns_other products = ONX_CONV_OTHER_BF16(nothing, multiply, nothing);

static onx_status init(onx_call *call) {
    return onx_conv_columns_init_other_avx512(call, &products);
}

extern onx_kernel_rows onx_kernels_conv_bf16;
onx_kernel_rows onx_kernels_conv_bf16 = {ONX_CONV_ROW_BF16(init), {0}};
