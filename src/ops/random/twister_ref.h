/* twister_ref.h: random numbers as NumPy's RandomState draws them: MT19937, doubles of 53 bits, and
 * normal variates by the polar method.
 *
 * Where a node has a seed, a run draws what np.random.RandomState(seed) draws, from the start: each
 * run the same, in one order, whatever the number of threads. Without a seed the numbers differ
 * from session to session, from node to node, and from run to run. */
#ifndef ONX_TWISTER_H
#define ONX_TWISTER_H

#include "rt/kernel.h"

typedef struct onx_twister {
    uint32_t key[624];
    size_t at; /* the next word of the key; 624: all are used */
    bool has_normal;
    double normal; /* the second one of a pair */
} onx_twister;

double onx_twister_uniform(onx_twister *twister); /* in [0, 1) */
double onx_twister_normal(onx_twister *twister);

/* Where the numbers of a node come from. Runs may begin at the same time. */
typedef struct onx_seed {
    bool given;
    uint32_t words[3]; /* the seed; else two from the system, and one that tells nodes apart */
    atomic_uint runs;  /* that have begun, without a seed */
} onx_seed;

/* init: from the attribute `seed`, a float or an integer; one that is no number is none. */
void onx_seed_init(onx_seed *seed, const onx_call *call);
void onx_twister_start(onx_twister *twister, onx_seed *seed);

#endif
