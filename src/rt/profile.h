/* profile.h: what each step of a run took. */
#ifndef ONX_PROFILE_H
#define ONX_PROFILE_H

#include "rt/engine.h"

onx_context *onx_profile_context(const onx_profile *profile);
/* The event has its times; the rest is filled in. */
onx_status onx_profile_add(onx_profile *profile, const onx_frame *frame, uint32_t step,
                           onx_profile_event *event) ONX_MUST_CHECK;
/* "float[1,3]", "sequence": cut to fit. */
void onx_operand_text(const onx_operand *operand, char *text, size_t size);
/* "float[1,3] float[3] -> float[1,3]", cut to fit; without the outputs if not `outputs`. */
void onx_call_shapes(const onx_call *call, bool outputs, char *text, size_t size);

#endif
