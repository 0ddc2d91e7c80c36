/* work.h: how much arithmetic a step is. */
#ifndef ONX_WORK_H
#define ONX_WORK_H

#include "rt/kernel.h"

/* Floating-point (or integer) operations of a call that is bound, by the definition of its
 * operator; 0 where they do not matter beside the bytes. */
double onx_call_work(const onx_call *call);

#endif
