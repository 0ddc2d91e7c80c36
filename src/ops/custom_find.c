/* custom_find.c: the operators of the tables and, behind them, those of a context. */
#include "ops/custom.h"

static int compare(const char *a, onx_str b) {
    size_t n = strlen(a), least = n < b.size ? n : b.size;
    int order = least ? memcmp(a, b.data, least) : 0;
    return order ? order : (n > b.size) - (n < b.size);
}

int onx_custom_compare(const onx_op *op, onx_str domain, onx_str name) {
    int order = compare(op->domain ? op->domain : "", domain);
    return order ? order : compare(op->name, name);
}

/* How many rows come before those of a later version than `opset`. */
static size_t count_to(const struct onx_custom_ops *ops, onx_str domain, onx_str name,
                       int64_t opset) {
    size_t low = 0, high = ops->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const onx_op *row = &ops->rows[middle]->row;
        int order = onx_custom_compare(row, domain, name);
        if (order < 0 || (order == 0 && row->since <= opset))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const onx_op *onx_op_lookup(const onx_context *ctx, onx_str domain, onx_str name, int64_t opset) {
    const onx_op *op = onx_op_find(domain, name, opset);
    if (op || !ctx || !ctx->custom) return op;
    domain = onx_domain_plain(domain);
    size_t n = count_to(ctx->custom, domain, name, opset);
    if (!n) return NULL;
    op = &ctx->custom->rows[n - 1]->row;
    return onx_custom_compare(op, domain, name) == 0 ? op : NULL;
}

const onx_op *onx_op_custom_at(const onx_context *ctx, size_t index) {
    const struct onx_custom_ops *ops = ctx ? ctx->custom : NULL;
    return ops && index < ops->n ? &ops->rows[index]->row : NULL;
}
