/* tile.c: fused elementwise programs of the domain onx.internal: which nodes have a place in one,
 * making them, and reading them back. A program read from attributes is checked whole: what comes
 * out of onx_tile_get refers to nothing that is not there. */
#include "ops/tile/tile.h"

#include <math.h>

static const struct {
    uint8_t arity;
    bool is_bool;
} ops[] = {
#define ROW(name, arity, is_bool, expression) {arity, is_bool},
    ONX_TILE_OPS(ROW)
#undef ROW
};

size_t onx_tile_arity(onx_tile_op op) {
    return ops[op].arity;
}
bool onx_tile_gives_bool(onx_tile_op op) {
    return ops[op].is_bool;
}
onx_dtype onx_tile_dtype(const onx_tile_program *program) {
    return ops[program->code[program->n_code - 1].op].is_bool ? ONX_DTYPE_BOOL : ONX_DTYPE_F32;
}

/* ─ Forms ────────────────────────────────────────────────────────────────────────────────────── */

static bool to_float(const onx_op *op, const onx_node *node) {
    return onx_op_int(op, node, "to") == ONX_DTYPE_F32;
}
static bool to_bool(const onx_op *op, const onx_node *node) {
    return onx_op_int(op, node, "to") == ONX_DTYPE_BOOL;
}
static bool by_tanh(const onx_op *op, const onx_node *node) {
    return onx_str_is(onx_op_string(op, node, "approximate"), "tanh");
}
static bool by_erf(const onx_op *op, const onx_node *node) {
    return onx_str_is(onx_op_string(op, node, "approximate"), "none");
}

static bool of_both_signs(const onx_op *op, const onx_node *node) {
    return onx_op_int(op, node, "detect_negative") && onx_op_int(op, node, "detect_positive");
}

#define FORM(name_, first_, last_, code_, types_)                                                  \
    { .name = name_, .first = first_, .last = last_, .op = ONX_TILE_##code_, .types = types_ }
#define FORM_WITH(name_, first_, last_, code_, types_, ...)                                        \
    {                                                                                              \
        .name = name_, .first = first_, .last = last_, .op = ONX_TILE_##code_, .types = types_,    \
        __VA_ARGS__                                                                                \
    }
static const onx_tile_form forms[] = {
    FORM("Abs", 1, 0, ABS, "f"),
    FORM("Acos", 7, 0, ACOS, "f"),
    FORM("Acosh", 9, 0, ACOSH, "f"),
    FORM("Add", 1, 0, ADD, "ff"),
    FORM("And", 1, 0, AND, "bb"),
    FORM("Asin", 7, 0, ASIN, "f"),
    FORM("Asinh", 9, 0, ASINH, "f"),
    FORM("Atan", 7, 0, ATAN, "f"),
    FORM("Atanh", 9, 0, ATANH, "f"),
    FORM_WITH("Cast", 6, 0, IDENTITY, "x", .when = to_float),
    FORM_WITH("Cast", 6, 0, BOOL, "x", .when = to_bool),
    FORM("Ceil", 1, 0, CEIL, "f"),
    FORM_WITH("Celu", 12, 0, CELU, "f", .attrs = {"alpha"}),
    FORM_WITH("Clip", 1, 1, CLIP, "f", .attrs = {"min", "max"}, .absent = {-INFINITY, INFINITY}),
    FORM_WITH("Clip", 6, 6, CLIP, "f", .attrs = {"min", "max"}),
    FORM_WITH("Clip", 11, 0, CLIP, "ff?f?", .absent = {-INFINITY, INFINITY}, .scalars = 6),
    FORM("Cos", 7, 0, COS, "f"),
    FORM("Cosh", 9, 0, COSH, "f"),
    FORM("Div", 1, 0, DIV, "ff"),
    FORM_WITH("Elu", 1, 0, ELU, "f", .attrs = {"alpha"}),
    FORM("Equal", 1, 0, EQUAL, "xx"),
    FORM("Erf", 9, 0, ERF, "f"),
    FORM("Exp", 1, 0, EXP, "f"),
    FORM("Floor", 1, 0, FLOOR, "f"),
    FORM_WITH("Gelu", 20, 0, GELU, "f", .when = by_erf),
    FORM_WITH("Gelu", 20, 0, GELU_TANH, "f", .when = by_tanh),
    FORM("Greater", 1, 0, GREATER, "ff"),
    FORM("GreaterOrEqual", 12, 0, GREATER_EQUAL, "ff"),
    FORM_WITH("HardSigmoid", 1, 0, HARD_SIGMOID, "f", .attrs = {"alpha", "beta"}),
    FORM("HardSwish", 14, 0, HARD_SWISH, "f"),
    FORM("Identity", 1, 0, IDENTITY, "f"),
    FORM_WITH("IsInf", 10, 0, IS_INF, "f", .when = of_both_signs),
    FORM("IsNaN", 9, 0, IS_NAN, "f"),
    FORM_WITH("LeakyRelu", 1, 0, LEAKY_RELU, "f", .attrs = {"alpha"}),
    FORM("Less", 1, 0, LESS, "ff"),
    FORM("LessOrEqual", 12, 0, LESS_EQUAL, "ff"),
    FORM("Log", 1, 0, LOG, "f"),
    FORM("Max", 1, 0, MAX, "f*"),
    FORM_WITH("Mean", 1, 0, ADD, "f*", .mean = true),
    FORM("Min", 1, 0, MIN, "f*"),
    FORM("Mish", 18, 0, MISH, "f"),
    FORM("Mul", 1, 0, MUL, "ff"),
    FORM("Neg", 1, 0, NEG, "f"),
    FORM("Not", 1, 0, NOT, "b"),
    FORM("Or", 1, 0, OR, "bb"),
    FORM("PRelu", 7, 0, LEAKY_RELU, "ff"),
    FORM("Pow", 1, 0, POW, "ff"),
    FORM("Reciprocal", 1, 0, RECIPROCAL, "f"),
    FORM("Relu", 1, 0, RELU, "f"),
    FORM("Round", 11, 0, ROUND, "f"),
    FORM_WITH("Selu", 1, 0, SELU, "f", .attrs = {"alpha", "gamma"}),
    FORM_WITH("Shrink", 9, 0, SHRINK, "f", .attrs = {"bias", "lambd"}),
    FORM("Sigmoid", 1, 0, SIGMOID, "f"),
    FORM("Sign", 9, 0, SIGN, "f"),
    FORM("Sin", 7, 0, SIN, "f"),
    FORM("Sinh", 9, 0, SINH, "f"),
    FORM("Softplus", 1, 0, SOFTPLUS, "f"),
    FORM("Softsign", 1, 0, SOFTSIGN, "f"),
    FORM("Sqrt", 1, 0, SQRT, "f"),
    FORM("Sub", 1, 0, SUB, "ff"),
    FORM("Sum", 1, 0, ADD, "f*"),
    FORM_WITH("SwiGLU", 28, 0, SWIGLU, "ff", .attrs = {NULL, "alpha"}),
    FORM_WITH("Swish", 24, 0, SWISH, "f", .attrs = {"alpha"}),
    FORM("Tan", 7, 0, TAN, "f"),
    FORM("Tanh", 1, 0, TANH, "f"),
    FORM_WITH("ThresholdedRelu", 10, 0, THRESHOLDED_RELU, "f", .attrs = {"alpha"}),
    FORM("Where", 9, 0, WHERE, "bff"),
    FORM("Xor", 1, 0, XOR, "bb"),
};

const onx_tile_form *onx_tile_form_any(const onx_op *op, const onx_node *node) {
    if (op->domain) return NULL;
    for (size_t i = 0; i < ONX_COUNT(forms); i++) {
        const onx_tile_form *f = &forms[i];
        if (strcmp(f->name, op->name) != 0 || op->since < f->first) continue;
        if (f->last && op->since > f->last) continue;
        if (!f->when || f->when(op, node)) return f;
    }
    return NULL;
}

const onx_tile_form *onx_tile_form_of(const onx_op *op, const onx_node *node) {
    return onx_op_has(node, "axis") ? NULL : onx_tile_form_any(op, node);
}

/* The letter of input `index`; NUL: there is no such input. */
static char type_of(const onx_tile_form *form, size_t index, bool *optional) {
    *optional = false;
    for (const char *t = form->types; *t; index--) {
        char letter = *t++;
        if (*t == '*' || index == 0) {
            *optional = *t == '?';
            return letter;
        }
        if (*t == '?') t++;
    }
    return 0;
}
bool onx_tile_form_takes(const onx_tile_form *form, size_t index, onx_dtype dtype) {
    bool optional;
    char letter = type_of(form, index, &optional);
    return (dtype == ONX_DTYPE_F32 && (letter == 'f' || letter == 'x')) ||
           (dtype == ONX_DTYPE_BOOL && (letter == 'b' || letter == 'x'));
}
onx_dtype onx_tile_form_gives(const onx_tile_form *form) {
    return ops[form->op].is_bool ? ONX_DTYPE_BOOL : ONX_DTYPE_F32;
}

/* ─ Making a program ─────────────────────────────────────────────────────────────────────────── */

uint8_t onx_tile_emit(onx_tile_program *program, onx_tile_op op, uint8_t a, uint8_t b, uint8_t c) {
    if (program->n_code == ONX_TILE_CODE || a == ONX_TILE_ABSENT || b == ONX_TILE_ABSENT ||
        c == ONX_TILE_ABSENT)
        return ONX_TILE_ABSENT;
    program->code[program->n_code] = (onx_tile_ins){(uint8_t)op, {a, b, c}};
    return (uint8_t)(ONX_TILE_VALUE + program->n_code++);
}

uint8_t onx_tile_const(onx_tile_program *program, float value) {
    size_t i = 0;
    while (i < program->n_consts && memcmp(&program->consts[i], &value, sizeof value) != 0) i++;
    if (i == ONX_TILE_CONSTS) return ONX_TILE_ABSENT;
    if (i == program->n_consts) program->consts[program->n_consts++] = value;
    return (uint8_t)(ONX_TILE_CONST + i);
}

float onx_tile_extra(const onx_tile_form *form, const onx_op *op, const onx_node *node,
                     size_t index) {
    const char *attr = form->attrs[index - 1];
    float absent = form->absent[index - 1];
    return attr && (absent == 0 || onx_op_has(node, attr)) ? onx_op_float(op, node, attr) : absent;
}

/* Operand `index` of the instruction of a form. */
static uint8_t operand_of(onx_tile_program *program, const onx_tile_form *form, const onx_op *op,
                          const onx_node *node, size_t n, const uint8_t *operands, size_t index) {
    if (index < n && operands[index] != ONX_TILE_ABSENT) return operands[index];
    if (index == 0) return ONX_TILE_ABSENT;
    return onx_tile_const(program, onx_tile_extra(form, op, node, index));
}

/* Are the inputs that are there those that the form wants? */
static bool inputs_fit(const onx_tile_form *form, size_t n, const uint8_t *operands) {
    bool optional, repeats = strchr(form->types, '*') != NULL;
    for (size_t i = 0; i < n; i++)
        if (!type_of(form, i, &optional) || (operands[i] == ONX_TILE_ABSENT && !optional))
            return false;
    return n > 0 && (repeats || !type_of(form, n, &optional) || optional);
}

static uint8_t add(onx_tile_program *program, const onx_tile_form *form, const onx_op *op,
                   const onx_node *node, size_t n, const uint8_t *operands) {
    if (strchr(form->types, '*')) {
        uint8_t sum =
            n == 1 ? onx_tile_emit(program, ONX_TILE_IDENTITY, operands[0], 0, 0) : operands[0];
        for (size_t i = 1; i < n; i++) sum = onx_tile_emit(program, form->op, sum, operands[i], 0);
        if (!form->mean) return sum;
        return onx_tile_emit(program, ONX_TILE_DIV, sum, onx_tile_const(program, (float)n), 0);
    }
    uint8_t args[3] = {0};
    for (size_t i = 0; i < ops[form->op].arity; i++)
        args[i] = operand_of(program, form, op, node, n, operands, i);
    return onx_tile_emit(program, form->op, args[0], args[1], args[2]);
}

bool onx_tile_add(onx_tile_program *program, const onx_tile_form *form, const onx_op *op,
                  const onx_node *node, size_t n, const uint8_t *operands, uint8_t *value) {
    if (!inputs_fit(form, n, operands)) return false;
    size_t n_code = program->n_code, n_consts = program->n_consts;
    uint8_t result = add(program, form, op, node, n, operands);
    if (result == ONX_TILE_ABSENT) {
        program->n_code = n_code;
        program->n_consts = n_consts;
        return false;
    }
    *value = result;
    return true;
}

/* ─ As attributes ────────────────────────────────────────────────────────────────────────────── */

onx_status onx_tile_put(const onx_tile_program *program, onx_node *node) {
    int64_t code[ONX_TILE_CODE * 4];
    for (size_t i = 0; i < program->n_code; i++) {
        const onx_tile_ins *ins = &program->code[i];
        code[4 * i] = ins->op;
        for (size_t k = 0; k < 3; k++) code[4 * i + 1 + k] = ins->args[k];
    }
    ONX_TRY(onx_node_set_ints(node, "code", program->n_code * 4, code));
    return onx_node_set_floats(node, "consts", program->n_consts, program->consts);
}

/* Is there an operand of this number for instruction `at`? */
static bool operand_is(const onx_tile_program *program, size_t at, int64_t number) {
    if (number < 0) return false;
    if (number < ONX_TILE_CONST) return number < (int64_t)program->n_in;
    if (number < ONX_TILE_VALUE) return number - ONX_TILE_CONST < (int64_t)program->n_consts;
    return number - ONX_TILE_VALUE < (int64_t)at;
}

static onx_status get_code(onx_tile_program *program, const int64_t *code, onx_diag *diag) {
    for (size_t i = 0; i < program->n_code; i++, code += 4) {
        if (code[0] < 0 || code[0] >= ONX_TILE_OP_COUNT)
            return onx_fail(diag, ONX_INVALID, "instruction %zu of a tile program is unknown", i);
        onx_tile_ins *ins = &program->code[i];
        *ins = (onx_tile_ins){.op = (uint8_t)code[0]};
        for (size_t k = 0; k < ops[ins->op].arity; k++) {
            if (!operand_is(program, i, code[1 + k]))
                return onx_fail(diag, ONX_INVALID,
                                "instruction %zu of a tile program reads what is not there", i);
            ins->args[k] = (uint8_t)code[1 + k];
        }
    }
    return ONX_OK;
}

onx_status onx_tile_get(const onx_node *node, size_t n_in, onx_tile_program *out, onx_diag *diag) {
    size_t n_code = 0, n_consts = 0;
    const int64_t *code = onx_op_ints(node, "code", &n_code);
    const float *consts = onx_op_floats(node, "consts", &n_consts);
    onx_tile_program program = {.n_in = n_in, .n_code = n_code / 4, .n_consts = n_consts};
    if (n_in > ONX_TILE_INPUTS || n_consts > ONX_TILE_CONSTS || n_code == 0 || n_code % 4 != 0 ||
        n_code > ONX_TILE_CODE * 4)
        return onx_fail(diag, ONX_INVALID,
                        "a tile program has %zu inputs, %zu constants and %zu numbers of code",
                        n_in, n_consts, n_code);
    if (n_consts) memcpy(program.consts, consts, n_consts * sizeof *consts);
    ONX_TRY(get_code(&program, code, diag));
    *out = program;
    return ONX_OK;
}

static onx_status infer_tile(onx_infer *in) {
    onx_tile_program program;
    onx_diag diag = {.size = sizeof diag};
    if (onx_tile_get(onx_infer_node(in), onx_infer_n_in(in), &program, &diag) != ONX_OK)
        return onx_infer_fail(in, "%s", diag.message);
    ONX_TRY(onx_infer_broadcast(in));
    onx_infer_out(in, 0)->dtype = onx_tile_dtype(&program);
    return ONX_OK;
}

extern onx_op_rows onx_ops_tile;
onx_op_rows onx_ops_tile = {
    {"Tile", 1, "(X**:T) -> (Y:U) {code:ints, consts?:floats} [T:float|bool, U:float|bool]",
     .infer = infer_tile, .domain = "onx.internal"},
    {0},
};
