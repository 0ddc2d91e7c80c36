/* tile_idiom.c: what models write as several operations, as the one instruction that it is:
 *
 *     SILU         x * sigmoid(x)
 *     GELU         0.5 * x * (1 + erf(x / sqrt(2)))
 *     GELU_TANH    0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3)))
 *
 * in any order of the factors and terms. */
#include "rt/lower/lower.h"

static bool is_const(const onx_tile_program *p, uint8_t operand, double value) {
    if (operand < ONX_TILE_CONST || operand >= ONX_TILE_VALUE) return false;
    double difference = (double)p->consts[operand - ONX_TILE_CONST] - value;
    return difference <= 1e-6 * value && difference >= -1e-6 * value;
}

/* The instruction that computes the operand, if it is one with that op; else NULL. */
static const onx_tile_ins *ins_of(const onx_tile_program *p, uint8_t operand, onx_tile_op op) {
    if (operand < ONX_TILE_VALUE) return NULL;
    const onx_tile_ins *ins = &p->code[operand - ONX_TILE_VALUE];
    return ins->op == op ? ins : NULL;
}

/* `operand` is op(value, other), in either order. */
static bool split(const onx_tile_program *p, uint8_t operand, onx_tile_op op, double value,
                  uint8_t *other) {
    const onx_tile_ins *ins = ins_of(p, operand, op);
    for (int i = 0; ins && i < 2; i++)
        if (is_const(p, ins->args[i], value)) {
            *other = ins->args[1 - i];
            return true;
        }
    return false;
}

static bool is_cube(const onx_tile_program *p, uint8_t operand, uint8_t x) {
    const onx_tile_ins *pow = ins_of(p, operand, ONX_TILE_POW);
    if (pow) return pow->args[0] == x && is_const(p, pow->args[1], 3);
    const onx_tile_ins *mul = ins_of(p, operand, ONX_TILE_MUL);
    for (int i = 0; mul && i < 2; i++) {
        const onx_tile_ins *square = ins_of(p, mul->args[i], ONX_TILE_MUL);
        if (mul->args[1 - i] == x && square && square->args[0] == x && square->args[1] == x)
            return true;
    }
    return false;
}

/* x of 1 + erf(x / sqrt(2)). */
static bool match_erf(const onx_tile_program *p, uint8_t operand, uint8_t *x) {
    uint8_t inner;
    if (!split(p, operand, ONX_TILE_ADD, 1, &inner)) return false;
    const onx_tile_ins *erf = ins_of(p, inner, ONX_TILE_ERF);
    const onx_tile_ins *div = erf ? ins_of(p, erf->args[0], ONX_TILE_DIV) : NULL;
    if (div) *x = div->args[0];
    return erf && (div ? is_const(p, div->args[1], 1.4142135623730951)
                       : split(p, erf->args[0], ONX_TILE_MUL, 0.70710678118654752, x));
}

/* x of 1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3)). */
static bool match_tanh(const onx_tile_program *p, uint8_t operand, uint8_t *x) {
    uint8_t inner, sum, cube;
    if (!split(p, operand, ONX_TILE_ADD, 1, &inner)) return false;
    const onx_tile_ins *tanh = ins_of(p, inner, ONX_TILE_TANH);
    if (!tanh || !split(p, tanh->args[0], ONX_TILE_MUL, 0.79788456080286536, &sum)) return false;
    const onx_tile_ins *add = ins_of(p, sum, ONX_TILE_ADD);
    for (int i = 0; add && i < 2; i++) {
        *x = add->args[i];
        if (split(p, add->args[1 - i], ONX_TILE_MUL, 0.044715, &cube) && is_cube(p, cube, *x))
            return true;
    }
    return false;
}

/* Is the product `ins` of the factors 0.5, x and `gate`, each once? */
static bool is_product(const onx_tile_program *p, const onx_tile_ins *ins, uint8_t x,
                       uint8_t gate) {
    uint8_t factors[4] = {ins->args[0], ins->args[1]};
    int n = 2, halves = 0, xs = 0, gates = 0;
    for (int i = 0; i < n; i++) {
        const onx_tile_ins *mul = ins_of(p, factors[i], ONX_TILE_MUL);
        if (factors[i] == x) {
            xs++;
        } else if (factors[i] == gate) {
            gates++;
        } else if (is_const(p, factors[i], 0.5)) {
            halves++;
        } else if (mul && n == 2) {
            factors[n++] = mul->args[0];
            factors[n++] = mul->args[1];
        } else {
            return false;
        }
    }
    return n == 4 && halves == 1 && xs == 1 && gates == 1;
}

typedef bool gate_match(const onx_tile_program *p, uint8_t operand, uint8_t *x);

static void find_gelu(onx_tile_program *p, onx_tile_ins *ins, gate_match *match, onx_tile_op op) {
    size_t at = (size_t)(ins - p->code);
    for (size_t i = 0; i < at && ins->op == ONX_TILE_MUL; i++) {
        uint8_t x, gate = (uint8_t)(ONX_TILE_VALUE + i);
        if (match(p, gate, &x) && is_product(p, ins, x, gate))
            *ins = (onx_tile_ins){(uint8_t)op, {x}};
    }
}

static void find_silu(const onx_tile_program *p, onx_tile_ins *ins) {
    for (int i = 0; i < 2 && ins->op == ONX_TILE_MUL; i++) {
        const onx_tile_ins *gate = ins_of(p, ins->args[i], ONX_TILE_SIGMOID);
        if (gate && gate->args[0] == ins->args[1 - i])
            *ins = (onx_tile_ins){ONX_TILE_SILU, {gate->args[0]}};
    }
}

/* Take out the instructions and constants that the result does not need. */
static void compact(onx_tile_program *p) {
    bool needed[ONX_TILE_VALUE + ONX_TILE_CODE] = {false};
    uint8_t to[ONX_TILE_VALUE + ONX_TILE_CODE];
    size_t n_code = 0, n_consts = 0;
    needed[ONX_TILE_VALUE + p->n_code - 1] = true;
    for (size_t i = p->n_code; i > 0; i--) {
        const onx_tile_ins *ins = &p->code[i - 1];
        size_t arity = onx_tile_arity((onx_tile_op)ins->op);
        for (size_t k = 0; k < arity && needed[ONX_TILE_VALUE + i - 1]; k++)
            needed[ins->args[k]] = true;
    }
    for (size_t i = 0; i < ONX_TILE_CONST; i++) to[i] = (uint8_t)i;
    for (size_t i = 0; i < p->n_consts; i++) {
        to[ONX_TILE_CONST + i] = (uint8_t)(ONX_TILE_CONST + n_consts);
        if (needed[ONX_TILE_CONST + i]) p->consts[n_consts++] = p->consts[i];
    }
    for (size_t i = 0; i < p->n_code; i++) {
        onx_tile_ins ins = p->code[i];
        size_t arity = onx_tile_arity((onx_tile_op)ins.op);
        for (size_t k = 0; k < arity; k++) ins.args[k] = to[ins.args[k]];
        to[ONX_TILE_VALUE + i] = (uint8_t)(ONX_TILE_VALUE + n_code);
        if (needed[ONX_TILE_VALUE + i]) p->code[n_code++] = ins;
    }
    p->n_code = n_code;
    p->n_consts = n_consts;
}

void onx_tile_shorten(onx_tile_program *program) {
    for (size_t i = 0; i < program->n_code; i++) {
        find_silu(program, &program->code[i]);
        find_gelu(program, &program->code[i], match_erf, ONX_TILE_GELU);
        find_gelu(program, &program->code[i], match_tanh, ONX_TILE_GELU_TANH);
    }
    if (program->n_code) compact(program);
}
