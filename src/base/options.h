/* options.h: options structs come from callers that may know fewer fields than we do. */
#ifndef ONX_OPTIONS_H
#define ONX_OPTIONS_H

#include "base/base.h"

/* Copy `from` (NULL: defaults, all zeros) to `to`, as far as the caller's struct goes. */
static inline onx_status onx_options_copy(void *to, size_t size, const void *from, onx_diag *diag) {
    size_t given = size;
    memset(to, 0, size);
    memcpy(to, &size, sizeof size);
    if (!from) return ONX_OK;
    memcpy(&given, from, sizeof given);
    if (given < sizeof given)
        return onx_fail(diag, ONX_USAGE, "the size of an options struct is not set: use ONX_INIT");
    memcpy(to, from, given < size ? given : size);
    return ONX_OK;
}
#define ONX_OPTIONS(to, from, diag) onx_options_copy(to, sizeof *(to), from, diag)

#endif
