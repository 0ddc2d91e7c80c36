/* library.h: shared libraries of the operating system (os_library.c). */
#ifndef ONX_LIBRARY_H
#define ONX_LIBRARY_H

#include "base/base.h"

/* All that it needs is resolved at once. NULL: `why` says why not, until the next call. A path
 * without a slash is looked for as the system looks for libraries. */
void *onx_library_open(const char *path, const char **why) ONX_MUST_CHECK;
void *onx_library_symbol(void *library, const char *name) ONX_MUST_CHECK; /* NULL: none */
void onx_library_close(void *library);

#endif
