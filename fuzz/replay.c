/* replay.c: runs a fuzz target without libFuzzer: on empty input and on the files it is given. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        return EXIT_FAILURE;
    }
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(size ? size : 1); /* no slack: reading past the end is caught */
    int failed = !data || fread(data, 1, size, file) != size;
    fclose(file);
    if (failed)
        perror(path);
    else
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    int status = EXIT_SUCCESS;
    uint8_t nothing = 0;
    LLVMFuzzerTestOneInput(&nothing, 0);
    for (int i = 1; i < argc; i++)
        if (replay(argv[i]) != EXIT_SUCCESS) status = EXIT_FAILURE;
    printf("%d inputs replayed\n", argc);
    return status;
}
