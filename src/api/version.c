/* version.c: which optional libraries were built in. */
#include "base/base.h"

#ifdef ONX_HAVE_ZLIB
#include <zlib.h>
#endif

const char *onx_version_feature(size_t index) {
    static const char *const features[] = {
#ifdef ONX_HAVE_ZLIB
        "zlib " ZLIB_VERSION,
#endif
        NULL,
    };
    return index < ONX_COUNT(features) ? features[index] : NULL;
}
