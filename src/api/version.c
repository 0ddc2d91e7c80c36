/* version.c: which optional libraries were built in. */
#include "base/base.h"

#ifdef ONX_HAVE_ZLIB
#include <zlib.h>
#endif

const char *onx_version_feature(size_t index) {
    static const char *const features[] = {
#ifdef ONX_HAVE_ZLIB
        "zlib " ZLIB_VERSION " (zip, png)",
#endif
#ifdef ONX_HAVE_JPEG
        ONX_HAVE_JPEG " (jpeg), when it is there",
#endif
#ifdef ONX_HAVE_TIFF
        ONX_HAVE_TIFF " (tiff), when it is there",
#endif
#ifdef ONX_HAVE_WEBP
        ONX_HAVE_WEBP " (webp), when it is there",
#endif
#ifdef ONX_HAVE_JP2
        ONX_HAVE_JP2 " (jpeg2000), when it is there",
#endif
        NULL,
    };
    return index < ONX_COUNT(features) ? features[index] : NULL;
}
