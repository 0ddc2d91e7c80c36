/* if_loop.h: branches and loops that only the model can decide: If and Loop.
 *
 * A reader says how its code runs; the code becomes the graphs of a node. What the two sides of a
 * branch give is joined, and so is what they wrote to tensors that were there before; what a loop
 * changes is carried through it.
 *
 *     both sides                     after the branch
 *     the same value                 that value; nothing is made
 *     tensors, numbers of one kind   an output of the node; sizes that differ are new names
 *     lists, tuples, dicts           joined element by element, if there are as many
 *     UNKNOWN and anything           what the other side has: nobody will look (uninitialized)
 *     all else                       a failure that says what differs (E7)
 *
 * Before a loop, the values it carries are made general: numbers are computed by the model, sizes
 * that change from one turn to the next get a new name. For that the body is run until nothing is
 * found any more that it changes: more than once, so it must give the same each time. Lists must
 * keep their length; what else the reader has that can change it must put back itself. */
#ifndef ONX_IF_LOOP_H
#define ONX_IF_LOOP_H

#include "export/export.h"

/* Run one side, `then` or else, in the current graph, and give its n values. False: x failed, or
 * it gives up: then nothing is made, and onx_x_if and onx_x_loop say false, too. */
typedef bool onx_xside_fn(onx_export *x, void *user, bool then, onx_xv *out);
/* `cond` is one bool of the model; out[0 … n) are the joined values. */
bool onx_x_if(onx_export *x, onx_value *cond, size_t n, onx_xside_fn *side, void *user,
              onx_xv *out);

typedef struct onx_xloop onx_xloop;
struct onx_xloop {
    const onx_xv *trips; /* an INT; NULL: as long as the condition holds */
    const onx_xv *go;    /* does it begin? a BOOL; NULL: yes */
    size_t n;
    onx_xv *carried; /* before the loop, then after it */
    size_t n_stacked;
    onx_xv *stacked; /* tensors of each turn, along a new first axis */
    /* One turn: `carried` and `stacked` are to be given their new values, and so is `go`, which
     * is true before. */
    bool (*body)(onx_export *x, void *user, onx_xv turn, onx_xv *carried, onx_xv *stacked,
                 onx_xv *go);
    void *user;
};
bool onx_x_loop(onx_export *x, onx_xloop *loop);

#endif
