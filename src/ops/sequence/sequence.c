/* sequence.c: sequences and optionals: meaning. What is known of a sequence is what is true of all
 * its items; their number is not known. */
#include "ops/control/control.h"
#include "ops/sequence/map_body.h"

/* Output 0 is a sequence or an optional of `elem`. */
static onx_status infer_list(onx_infer *in, onx_type_kind kind, const onx_fact *elem) {
    onx_fact *copy = onx_arena_alloc(onx_infer_arena(in), sizeof *copy);
    if (!copy) return ONX_NO_MEMORY;
    *copy = *elem;
    *onx_infer_out(in, 0) = (onx_fact){.kind = kind, .elem = copy};
    return ONX_OK;
}

static onx_status infer_empty(onx_infer *in) {
    int64_t dtype = onx_infer_int(in, "dtype");
    if (!onx_op_has(onx_infer_node(in), "dtype")) dtype = ONX_DTYPE_F32;
    if (dtype <= ONX_DTYPE_NONE || dtype >= ONX_DTYPE_COUNT)
        return onx_infer_fail(in, "dtype %lld is not an element type", (long long)dtype);
    return infer_list(in, ONX_TYPE_SEQUENCE,
                      &(onx_fact){.kind = ONX_TYPE_TENSOR, .dtype = (onx_dtype)dtype});
}

/* Items lose their values: a sequence is not folded. */
static onx_fact plain(const onx_fact *fact) {
    onx_fact copy = *fact;
    copy.constant = NULL;
    copy.elems = NULL;
    copy.n_elems = 0;
    return copy;
}

static onx_status infer_construct(onx_infer *in) {
    onx_fact elem = plain(onx_infer_in(in, 0));
    for (size_t i = 1; i < onx_infer_n_in(in); i++)
        ONX_TRY(onx_infer_union(in, &elem, onx_infer_in(in, i), NULL));
    return infer_list(in, ONX_TYPE_SEQUENCE, &elem);
}

static onx_status infer_insert(onx_infer *in) {
    const onx_fact *list = onx_infer_in(in, 0);
    if (list->kind != ONX_TYPE_SEQUENCE || !list->elem) return ONX_OK;
    onx_fact elem = plain(onx_infer_in(in, 1));
    if (elem.dtype && list->elem->dtype && elem.dtype != list->elem->dtype)
        return onx_infer_fail(in, "a %s cannot go into a sequence of %s",
                              onx_dtype_name(elem.dtype), onx_dtype_name(list->elem->dtype));
    ONX_TRY(onx_infer_union(in, &elem, list->elem, NULL));
    return infer_list(in, ONX_TYPE_SEQUENCE, &elem);
}

static onx_status infer_same(onx_infer *in) {
    *onx_infer_out(in, 0) = *onx_infer_in(in, 0);
    return ONX_OK;
}

/* The element of input 0, which is a sequence, an optional, or (OptionalGetElement 18) itself. */
static onx_status infer_elem(onx_infer *in) {
    const onx_fact *list = onx_infer_in(in, 0);
    bool holds = list->kind == ONX_TYPE_OPTIONAL ||
                 (list->kind == ONX_TYPE_SEQUENCE && onx_infer_n_in(in) > 1);
    if (!holds) return onx_infer_n_in(in) > 1 ? ONX_OK : infer_same(in);
    if (list->elem) *onx_infer_out(in, 0) = *list->elem;
    return ONX_OK;
}

static onx_status infer_length(onx_infer *in) {
    return onx_infer_tensor(in, 0, ONX_DTYPE_I64, 0, NULL);
}

static onx_status infer_has(onx_infer *in) {
    return onx_infer_tensor(in, 0, ONX_DTYPE_BOOL, 0, NULL);
}

/* The size of the parts along the axis; NULL: not known, or not the same for all. */
static const onx_sym *part_size(onx_infer *in, const onx_sym *whole) {
    onx_syms *syms = onx_infer_syms(in);
    size_t n;
    const int64_t *parts;
    int64_t size;
    if (!onx_infer_has_in(in, 1)) return onx_sym_int(syms, 1);
    if (!onx_infer_ints(in, 1, &n, &parts) || n == 0) return NULL;
    for (size_t i = 1; i < n; i++)
        if (parts[i] != parts[0]) return NULL;
    bool scalar = onx_infer_in(in, 1)->ranked && onx_infer_in(in, 1)->rank == 0;
    if (scalar && (!onx_sym_is_int(whole, &size) || parts[0] <= 0 || size % parts[0] != 0))
        return NULL;
    return onx_sym_int(syms, parts[0]);
}

/* Sizes that are listed add up to the whole; a size for all parts is positive. */
static onx_status check_parts(onx_infer *in, const onx_sym *whole) {
    size_t n;
    const int64_t *parts;
    int64_t sum = 0, size;
    ONX_TRY(onx_infer_check_rank(in, 1, 0, 1));
    if (!onx_infer_in(in, 1)->ranked || !onx_infer_ints(in, 1, &n, &parts)) return ONX_OK;
    bool scalar = onx_infer_in(in, 1)->rank == 0;
    for (size_t i = 0; i < n; i++)
        if (parts[i] < scalar || !onx_add_i64(sum, parts[i], &sum))
            return onx_infer_fail(in, "split has the size %lld, which is out of range",
                                  (long long)parts[i]);
    if (scalar || !onx_sym_is_int(whole, &size) || size == sum) return ONX_OK;
    return onx_infer_fail(in, "the sizes in split add up to %lld, but the dimension is %lld",
                          (long long)sum, (long long)size);
}

static onx_status infer_split(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    onx_fact elem = {.kind = x->kind, .dtype = x->dtype};
    size_t axis, rank = x->rank;
    if (!x->ranked) return infer_list(in, ONX_TYPE_SEQUENCE, &elem);
    if (!onx_axis(onx_infer_int(in, "axis"), rank, &axis))
        return onx_infer_fail(in, "axis %lld is out of range for rank %zu",
                              (long long)onx_infer_int(in, "axis"), rank);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    ONX_TRY(check_parts(in, x->dims[axis]));
    memcpy(dims, x->dims, rank * sizeof *dims);
    dims[axis] = part_size(in, x->dims[axis]);
    elem.ranked = true;
    elem.rank = rank;
    elem.dims = dims;
    if (!onx_infer_has_in(in, 1) && onx_infer_int(in, "keepdims") == 0) {
        memmove(dims + axis, dims + axis + 1, (rank - axis - 1) * sizeof *dims);
        elem.rank--;
    }
    return infer_list(in, ONX_TYPE_SEQUENCE, &elem);
}

static onx_status infer_concat(onx_infer *in) {
    const onx_fact *list = onx_infer_in(in, 0), *elem = list->elem;
    bool stack = onx_infer_int(in, "new_axis") != 0;
    size_t axis;
    if (list->kind != ONX_TYPE_SEQUENCE || !elem || elem->kind != ONX_TYPE_TENSOR) return ONX_OK;
    if (!elem->ranked) return onx_infer_unranked(in, 0, elem->dtype);
    size_t rank = elem->rank + stack;
    if (!onx_axis(onx_infer_int(in, "axis"), rank, &axis))
        return onx_infer_fail(in, "axis %lld is out of range for rank %zu",
                              (long long)onx_infer_int(in, "axis"), rank);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0, from = 0; i < rank; i++) {
        dims[i] = i == axis ? NULL : elem->dims[from];
        from += i != axis || !stack;
    }
    return onx_infer_tensor(in, 0, elem->dtype, rank, dims);
}

/* Kinds and element types of a type attribute; sizes are left out. */
static onx_status fact_of_type(onx_infer *in, const onx_type *type, onx_fact *out) {
    for (;;) {
        *out = (onx_fact){.kind = onx_type_kind_of(type), .dtype = onx_type_dtype(type)};
        if (!(type = onx_type_elem(type))) return ONX_OK;
        onx_fact *elem = onx_arena_alloc(onx_infer_arena(in), sizeof *elem);
        if (!elem) return ONX_NO_MEMORY;
        out->elem = elem;
        out = elem;
    }
}

static onx_status infer_optional(onx_infer *in) {
    onx_fact elem = {0};
    const onx_attr *type = onx_node_attr(onx_infer_node(in), "type");
    if (onx_infer_has_in(in, 0))
        elem = plain(onx_infer_in(in, 0));
    else if (type && onx_attr_type_value(type))
        ONX_TRY(fact_of_type(in, onx_attr_type_value(type), &elem));
    else
        return onx_infer_fail(in, "Optional needs an input, or the attribute type");
    return infer_list(in, ONX_TYPE_OPTIONAL, &elem);
}

/* What the body gives for one item of each sequence, and the other inputs as they are. */
static onx_status map_items(onx_infer *in, const onx_body *body, onx_fact *outs) {
    size_t n = onx_infer_n_in(in);
    const onx_fact **ins = onx_arena_array(onx_infer_arena(in), n + 1, sizeof *ins);
    if (!ins) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const onx_fact *fact = onx_infer_in(in, i);
        bool is_list = fact->kind == ONX_TYPE_SEQUENCE;
        if (i == 0 && fact->kind && !is_list)
            return onx_infer_fail(in, "input 0 must be a sequence");
        if (is_list) fact = fact->elem;
        ins[i] = fact && fact->kind ? fact : NULL;
    }
    return onx_infer_graph(in, body->graph, n, ins, body->n_out, outs);
}

static onx_status infer_map(onx_infer *in) {
    onx_body body;
    if (!onx_body_find(onx_infer_node(in), "body", &body))
        return onx_infer_fail(in, "attribute 'body' is missing");
    if (body.n_in != onx_infer_n_in(in) || body.n_out != onx_infer_n_out(in))
        return onx_infer_fail(in,
                              "the body has %zu inputs and %zu outputs; the node has %zu and %zu",
                              body.n_in, body.n_out, onx_infer_n_in(in), onx_infer_n_out(in));
    onx_fact *outs = onx_arena_array(onx_infer_arena(in), body.n_out + 1, sizeof *outs);
    if (!outs) return ONX_NO_MEMORY;
    ONX_TRY(map_items(in, &body, outs));
    for (size_t i = 0; i < body.n_out; i++) {
        outs[i] = plain(&outs[i]);
        *onx_infer_out(in, i) = (onx_fact){.kind = ONX_TYPE_SEQUENCE, .elem = &outs[i]};
    }
    return ONX_OK;
}

#define INSERT "(input_sequence:S, tensor:T, position?:I) -> (output_sequence:S)"
#define SPLIT "(input:T, split?:I) -> (output_sequence:S) {keepdims:int=1, axis:int=0} "
#define MAP "(input_sequence:S, additional_inputs?**:V) -> (out_sequence**:S) {body:graph} "

extern onx_op_rows onx_ops_sequence;
onx_op_rows onx_ops_sequence = {
    {"SequenceEmpty", 11, "() -> (output:S) {dtype?:int} [S:seq(all1)]", .infer = infer_empty},
    {"SequenceConstruct", 11, "(inputs*:T) -> (output_sequence:S) [T:all1, S:seq(all1)]",
     .infer = infer_construct},
    {"SequenceInsert", 11, INSERT " [T:all1, S:seq(all1), I:int32|int64]", .infer = infer_insert},
    {"SequenceErase", 11,
     "(input_sequence:S, position?:I) -> (output_sequence:S) [S:seq(all1), I:int32|int64]",
     .infer = infer_same},
    {"SequenceAt", 11,
     "(input_sequence:S, position:I) -> (tensor:T) [S:seq(all1), T:all1, I:int32|int64]",
     .infer = infer_elem},
    {"SequenceLength", 11, "(input_sequence:S) -> (length:I) [S:seq(all1), I:int64]",
     .infer = infer_length},
    {"SplitToSequence", 11, SPLIT "[T:all1, I:int32|int64, S:seq(all1)]", .infer = infer_split},
    {"SplitToSequence", 24, SPLIT "[T:all13, I:int32|int64, S:seq(all13)]", .infer = infer_split},
    {"ConcatFromSequence", 11,
     "(input_sequence:S) -> (concat_result:T) {new_axis:int=0, axis:int} [S:seq(all1), T:all1]",
     .infer = infer_concat},
    {"SequenceMap", 17, MAP "[S:seq(all1), V:all1|seq(all1)]", .infer = infer_map,
     .body = onx_map_body},
    {"Optional", 15,
     "(input?:V) -> (output:O) {type?:type_proto} "
     "[V:all1|seq(all1), O:optional(seq(all1))|optional(all1)]",
     .infer = infer_optional},
    {"Optional", 28,
     "(input?:V) -> (output:O) {type?:type_proto} "
     "[V:all28|seq(all28), O:optional(all28)|optional(seq(all28))]",
     .infer = infer_optional},
    {"OptionalGetElement", 15,
     "(input:O) -> (output:V) [O:optional(seq(all1))|optional(all1), V:all1|seq(all1)]",
     .infer = infer_elem},
    {"OptionalGetElement", 18,
     "(input:O) -> (output:V) "
     "[O:optional(seq(all1))|optional(all1)|all1|seq(all1), V:all1|seq(all1)]",
     .infer = infer_elem},
    {"OptionalGetElement", 28,
     "(input:O) -> (output:V) "
     "[O:optional(all28)|optional(seq(all28))|all28|seq(all28), V:all28|seq(all28)]",
     .infer = infer_elem},
    {"OptionalHasElement", 15,
     "(input:O) -> (output:B) [O:optional(seq(all1))|optional(all1), B:bool]", .infer = infer_has},
    {"OptionalHasElement", 18,
     "(input?:O) -> (output:B) [O:optional(seq(all1))|optional(all1)|all1|seq(all1), B:bool]",
     .infer = infer_has},
    {"OptionalHasElement", 28,
     "(input?:O) -> (output:B) [O:optional(all28)|optional(seq(all28))|all28|seq(all28), B:bool]",
     .infer = infer_has},
    {0},
};
