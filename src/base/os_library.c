/* os_library.c: shared libraries, loaded while the program runs. In a file of its own, so that
 * programs that load none do not need the system's loader. */
#include "base/library.h"

#include <dlfcn.h>

void *onx_library_open(const char *path, const char **why) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *why = library ? "" : dlerror();
    if (!*why) *why = "the system does not say why";
    return library;
}

void *onx_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void onx_library_close(void *library) {
    (void)dlclose(library);
}
