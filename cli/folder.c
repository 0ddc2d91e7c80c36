/* folder.c: see folder.h. */
#include "folder.h"

#include <stdio.h>
#include <string.h>

void folder_plain_name(const char *name, char *out, size_t size) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t used = 0;
    for (; *name && used + 4 < size; name++)
        used += (size_t)snprintf(out + used, size - used, strchr(plain, *name) ? "%c" : "%%%02X",
                                 (unsigned char)*name);
    out[used] = '\0';
}
