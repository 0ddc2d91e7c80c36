/* map_body.h: see map_body.c. */
#ifndef ONX_MAP_BODY_H
#define ONX_MAP_BODY_H

#include "ops/op.h"

onx_body_fn onx_map_body;

#endif
