/* affine_grid.h: see affine_grid.c. */
#ifndef ONX_AFFINE_GRID_H
#define ONX_AFFINE_GRID_H

extern const char onx_affine_grid[];

#endif
