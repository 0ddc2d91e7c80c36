/* unique_ref.c: Unique: the different elements of a tensor, or slices of it along an axis.
 *
 * Elements become keys of 64 bits that are ordered as the elements are: all NaN are equal and come
 * last, -0 is 0, complex numbers have two keys. Slices are sorted by their keys (a merge, which
 * keeps equal ones in order); neighbours that are equal are one. Strings are compared byte by byte,
 * which is the order of their characters. */
#include "ops/gather/unique_ref.h"
#include "ops/view/move_ref.h"
#include "rt/object.h"

typedef struct unique_state {
    bool has_axis, sorted;
    int64_t axis;
} unique_state;

onx_status onx_unique_init(onx_call *call) {
    unique_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    *state = (unique_state){onx_op_has(call->node, "axis"), onx_call_int(call, "sorted") != 0,
                            onx_call_int(call, "axis")};
    return ONX_OK;
}

typedef struct job {
    onx_call *call;
    int64_t outer, n, inner; /* the tensor: n slices, [outer][n][inner] */
    int64_t parts;           /* keys of an element */
    const onx_str *strings;  /* or NULL */
    uint64_t *keys;
    int64_t *order, *spare; /* slices, in order; and room to sort them */
    int64_t *group;         /* of each slice: which of the different ones it is */
    int64_t n_groups;
} job;

/* ── Order ───────────────────────────────────────────────────────────────────────────────────── */

static uint64_t key_of_double(uint64_t bits) {
    uint64_t sign = UINT64_C(1) << 63, infinity = UINT64_C(0x7ff) << 52;
    if ((bits & ~sign) > infinity) return UINT64_MAX; /* NaN */
    if (bits == sign) bits = 0;
    return bits & sign ? ~bits : bits | sign;
}

enum { BLOCK = 1024 };

/* Keys in the order of the elements. Complex numbers are twice as many real ones. */
static onx_status make_keys(job *j) {
    const onx_operand *x = j->call->in[0];
    onx_dtype dtype = x->dtype == ONX_DTYPE_C64    ? ONX_DTYPE_F32
                      : x->dtype == ONX_DTYPE_C128 ? ONX_DTYPE_F64
                                                   : (onx_dtype)x->dtype;
    bool whole = (ONX_T_SIGNED | ONX_T_UNSIGNED | ONX_T(BOOL)) >> dtype & 1;
    bool is_unsigned = dtype == ONX_DTYPE_U64;
    onx_dtype wide = !whole ? ONX_DTYPE_F64 : is_unsigned ? ONX_DTYPE_U64 : ONX_DTYPE_I64;
    int64_t n = x->count * j->parts;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        const char *from = (const char *)x->data + (size_t)at * (onx_dtype_bits(dtype) / 8);
        uint64_t *keys = j->keys + at;
        if (at % (BLOCK * 64) == 0) ONX_TRY(onx_call_check(j->call));
        ONX_TRY(onx_dtype_convert(dtype, from, wide, keys, (uint64_t)count, true));
        for (int64_t i = 0; i < count; i++) {
            if (!whole)
                keys[i] = key_of_double(keys[i]);
            else if (!is_unsigned)
                keys[i] ^= UINT64_C(1) << 63;
        }
    }
    return ONX_OK;
}

static int compare_strings(onx_str a, onx_str b) {
    size_t n = a.size < b.size ? a.size : b.size;
    int c = n ? memcmp(a.data, b.data, n) : 0;
    return c ? c : (a.size > b.size) - (a.size < b.size);
}

static int compare(const job *j, int64_t a, int64_t b) {
    int64_t width = j->inner * j->parts;
    for (int64_t o = 0; o < j->outer; o++) {
        int64_t at_a = (o * j->n + a) * width, at_b = (o * j->n + b) * width;
        for (int64_t i = 0; i < width; i++) {
            int c = j->strings ? compare_strings(j->strings[at_a + i], j->strings[at_b + i])
                               : (j->keys[at_a + i] > j->keys[at_b + i]) -
                                     (j->keys[at_a + i] < j->keys[at_b + i]);
            if (c) return c;
        }
    }
    return 0;
}

/* Two sorted runs, from[first, middle) and from[middle, end), into one. */
static onx_status merge(const job *j, const int64_t *from, int64_t *to, int64_t first,
                        int64_t middle, int64_t end) {
    int64_t a = first, b = middle;
    for (int64_t i = first; i < end; i++) {
        if (i % 65536 == 0) ONX_TRY(onx_call_check(j->call));
        bool left = b == end || (a < middle && compare(j, from[a], from[b]) <= 0);
        to[i] = left ? from[a++] : from[b++];
    }
    return ONX_OK;
}

static onx_status sort(job *j) {
    for (int64_t i = 0; i < j->n; i++) j->order[i] = i;
    for (int64_t size = 1; size < j->n; size *= 2) {
        for (int64_t first = 0; first < j->n; first += 2 * size) {
            int64_t middle = j->n - first < size ? j->n : first + size;
            int64_t end = j->n - middle < size ? j->n : middle + size;
            ONX_TRY(merge(j, j->order, j->spare, first, middle, end));
        }
        int64_t *t = j->order;
        j->order = j->spare;
        j->spare = t;
    }
    return ONX_OK;
}

/* ── Groups ──────────────────────────────────────────────────────────────────────────────────── */

/* Numbers the groups by their order, or by where they first occur. Then `order` has the first slice
 * of each, `spare` how many there are. */
static void make_groups(job *j, bool sorted) {
    int64_t *order = j->order, *rank = j->spare, n = 0;
    for (int64_t i = 0, before = 0; i < j->n; i++) {
        int64_t slice = order[i];
        if (i == 0 || compare(j, before, slice) != 0) n++;
        j->group[slice] = n - 1;
        before = slice;
    }
    j->n_groups = n;
    for (int64_t i = 0; i < n; i++) rank[i] = -1;
    int64_t seen = 0;
    for (int64_t i = 0; i < j->n; i++) {
        int64_t g = j->group[i];
        if (rank[g] < 0) rank[g] = sorted ? g : seen, seen++;
        j->group[i] = rank[g];
    }
    for (int64_t i = 0; i < n; i++) j->spare[i] = 0;
    for (int64_t i = 0; i < j->n; i++) {
        int64_t g = j->group[i];
        if (j->spare[g]++ == 0) order[g] = i;
    }
}

/* ── Results ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status give_ints(onx_call *call, size_t index, const int64_t *values, int64_t n) {
    ONX_TRY(onx_call_output(call, index, ONX_DTYPE_I64, 1, &n));
    if (index < call->n_out && call->out[index] && n)
        memcpy(call->out[index]->data, values, (size_t)n * sizeof *values);
    return ONX_OK;
}

static onx_status give_strings(const job *j, size_t rank, const int64_t *dims) {
    onx_object *y = NULL;
    onx_status status = ONX_OK;
    ONX_TRY(onx_object_tensor(j->call->ctx, ONX_DTYPE_STRING, rank, dims, &y, j->call->diag));
    int64_t row = j->n_groups * j->inner;
    for (int64_t i = 0; i < y->count && status == ONX_OK; i++) {
        int64_t slice = j->order[i % row / j->inner];
        onx_str text = j->strings[(i / row * j->n + slice) * j->inner + i % j->inner];
        status = onx_object_set_string(y, i, text, j->call->diag);
    }
    if (status == ONX_OK) return onx_call_object(j->call, 0, y);
    onx_object_release(y);
    return status;
}

static onx_status give_elements(const job *j, size_t rank, const int64_t *dims) {
    onx_call *call = j->call;
    const onx_operand *x = call->in[0];
    size_t bytes = (size_t)j->inner * onx_move_size((onx_dtype)x->dtype);
    ONX_TRY(onx_call_output(call, 0, (onx_dtype)x->dtype, rank, dims));
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    for (int64_t o = 0; o < j->outer; o++)
        for (int64_t g = 0; g < j->n_groups; g++)
            memcpy((char *)call->out[0]->data + (size_t)(o * j->n_groups + g) * bytes,
                   (const char *)x->data + (size_t)(o * j->n + j->order[g]) * bytes, bytes);
    return ONX_OK;
}

static onx_status find_groups(job *j) {
    if (!j->strings) ONX_TRY(make_keys(j));
    ONX_TRY(sort(j));
    make_groups(j, ((const unique_state *)j->call->state)->sorted);
    return ONX_OK;
}

static onx_status give(const job *j, size_t axis) {
    const onx_operand *x = j->call->in[0];
    bool along = ((const unique_state *)j->call->state)->has_axis;
    int64_t dims[ONX_RANK_MAX];
    size_t rank = along ? x->rank : 1;
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    dims[axis] = j->n_groups;
    ONX_TRY(j->strings ? give_strings(j, rank, dims) : give_elements(j, rank, dims));
    ONX_TRY(give_ints(j->call, 1, j->order, j->n_groups));
    ONX_TRY(give_ints(j->call, 2, j->group, j->n));
    return give_ints(j->call, 3, j->spare, j->n_groups);
}

onx_status onx_unique_run(onx_call *call) {
    const unique_state *state = call->state;
    const onx_operand *x = call->in[0];
    bool text = x->dtype == ONX_DTYPE_STRING;
    size_t axis = 0, keys = 0, lists, all;
    if (state->has_axis) ONX_TRY(onx_axis_of(call, state->axis, x->rank, &axis));
    job j = {.call = call, .outer = 1, .n = state->has_axis ? x->dims[axis] : x->count, .inner = 1};
    j.parts = x->dtype == ONX_DTYPE_C64 || x->dtype == ONX_DTYPE_C128 ? 2 : 1;
    if (state->has_axis) j.inner = onx_inner_count(x, axis + 1);
    if (x->count)
        j.outer = x->count / j.n / j.inner;
    else
        j.outer = 0;
    if (text) j.strings = x->object->strings;
    bool fits = (text || onx_mul_size((size_t)x->count, 8 * (size_t)j.parts, &keys)) &&
                onx_mul_size((size_t)j.n, 3 * sizeof(int64_t), &lists) &&
                onx_add_size(keys, lists, &all);
    char *memory = fits ? onx_mem_alloc(call->ctx, all ? all : 1) : NULL;
    if (!memory) return onx_fail_nomem(call->diag);
    j.keys = (uint64_t *)(void *)memory;
    j.order = (int64_t *)(void *)(memory + keys);
    j.spare = j.order + j.n;
    j.group = j.spare + j.n;
    onx_status status = find_groups(&j);
    if (status == ONX_OK) status = give(&j, axis);
    onx_mem_free(call->ctx, memory, all ? all : 1);
    return status;
}
