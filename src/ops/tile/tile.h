/* tile.h: programs of elementwise operations: chains of nodes that run tile by tile in the
 * processor's cache instead of tensor by tensor.
 *
 * A program is a list of instructions {op, a, b, c}, each of which makes one value from up to three
 * operands; the last one's value is the result. An operand is a number:
 *
 *     0 … 63      input of the program
 *     64 … 127    constant
 *     128 …       value of an instruction before this one
 *
 * Everything inside is float; comparisons make 0 and 1. Inputs may be float or bool (and, in
 * kernels of one node, float16 or bfloat16); the result is bool when the last instruction is a
 * comparison. Inputs broadcast to the shape of the result.
 *
 * A node carries its program as attributes: `code` (op, a, b, c of each instruction) and `consts`.
 * The node onx.internal::Tile is nothing but its program. A kernel with an epilogue (MatMul, Conv)
 * runs one on its own output: that is input 0, and what else the program reads are further inputs
 * of the node (tile_ref.h, tile_simd.h).
 *
 * To make one:
 *
 *     onx_tile_program p = {.n_in = 2};
 *     const onx_tile_form *form = onx_tile_form_of(op, node);  NULL: not elementwise
 *     onx_tile_add(&p, form, op, node, n, operands, &value);   once per node
 *     onx_tile_put(&p, tile_node);
 */
#ifndef ONX_TILE_H
#define ONX_TILE_H

#include "ops/op.h"
#include "ops/tile/tile_ops.def"

enum {
    ONX_TILE_INPUTS = 8, /* at most */
    ONX_TILE_CONSTS = 24,
    ONX_TILE_CODE = 48,
    ONX_TILE_CONST = 64, /* operand numbers: the first constant, the first value */
    ONX_TILE_VALUE = 128,
    ONX_TILE_ABSENT = 255, /* for onx_tile_add: an optional input that is not there */
};

typedef enum onx_tile_op {
#define ONX_TILE_ENUM(name, arity, is_bool, expression) ONX_TILE_##name,
    ONX_TILE_OPS(ONX_TILE_ENUM)
#undef ONX_TILE_ENUM
        ONX_TILE_OP_COUNT
} onx_tile_op;

typedef struct onx_tile_ins {
    uint8_t op; /* onx_tile_op */
    uint8_t args[3];
} onx_tile_ins;

typedef struct onx_tile_program {
    size_t n_in, n_code, n_consts;
    onx_tile_ins code[ONX_TILE_CODE];
    float consts[ONX_TILE_CONSTS];
} onx_tile_program;

size_t onx_tile_arity(onx_tile_op op);
bool onx_tile_gives_bool(onx_tile_op op);
onx_dtype onx_tile_dtype(const onx_tile_program *program); /* of the result: F32 or BOOL */

/* How nodes of an operator become instructions (the table is in tile.c). */
typedef struct onx_tile_form {
    const char *name;
    int16_t first, last;  /* closed range of since-versions; last 0: no end */
    uint8_t op;           /* onx_tile_op */
    uint8_t scalars;      /* bit i: input i must have one element (the bounds of Clip), or the node
                             is not what the program says */
    bool mean;            /* divide by the number of inputs in the end */
    const char *types;    /* of inputs: f float, b bool, x either; after it ? optional, * repeats */
    const char *attrs[2]; /* further operands: the values of these attributes … */
    float absent[2];      /* … or, for absent inputs and attributes without a default, these */
    bool (*when)(const onx_op *op, const onx_node *node); /* NULL: always */
} onx_tile_form;
/* NULL: a node of this operator, with these attributes, has no place in a program. */
const onx_tile_form *onx_tile_form_of(const onx_op *op, const onx_node *node);
/* The same, also for binary operators of the first opsets whose attribute `axis` says how the
 * shapes meet. */
const onx_tile_form *onx_tile_form_any(const onx_op *op, const onx_node *node);
/* May input `index` of the node have this type? (F32, BOOL, or both.) */
bool onx_tile_form_takes(const onx_tile_form *form, size_t index, onx_dtype dtype);
onx_dtype onx_tile_form_gives(const onx_tile_form *form);

/* Operand 1 or 2 of a node that has no such input. */
float onx_tile_extra(const onx_tile_form *form, const onx_op *op, const onx_node *node,
                     size_t index);

/* The next instruction, or constant: its operand number, or ONX_TILE_ABSENT when there is no room
 * left. */
uint8_t onx_tile_emit(onx_tile_program *program, onx_tile_op op, uint8_t a, uint8_t b, uint8_t c);
uint8_t onx_tile_const(onx_tile_program *program, float value);
/* The instructions for a node whose n inputs are the operands. False: there is no room, or the
 * number of inputs is wrong; then the program is as it was. */
bool onx_tile_add(onx_tile_program *program, const onx_tile_form *form, const onx_op *op,
                  const onx_node *node, size_t n, const uint8_t *operands, uint8_t *value);
/* The program as attributes of a node, and back: INVALID unless every instruction is known and
 * reads only what is there. `n_in` is the number of inputs that the program may read. */
onx_status onx_tile_put(const onx_tile_program *program, onx_node *node) ONX_MUST_CHECK;
onx_status onx_tile_get(const onx_node *node, size_t n_in, onx_tile_program *out, onx_diag *diag)
    ONX_MUST_CHECK;

#endif
