/* folder.h: values as files of a folder. */
#ifndef CLI_FOLDER_H
#define CLI_FOLDER_H

#include <stddef.h>

/* A value's name as that of a file: what is not plain becomes %XX, so that no two are the same. */
void folder_plain_name(const char *name, char *out, size_t size);

#endif
