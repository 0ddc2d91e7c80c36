/* scan_ref.h: Scan, for the rows in control_ref.c. */
#ifndef ONX_SCAN_REF_H
#define ONX_SCAN_REF_H

#include "ops/control/repeat_ref.h"

onx_status onx_scan_init(onx_call *call);
onx_status onx_scan_run(onx_call *call);
onx_status onx_scan8_init(onx_call *call); /* with a batch axis */
onx_status onx_scan8_run(onx_call *call);

#endif
