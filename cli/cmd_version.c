/* cmd_version.c: onx version: what this program is, and what it was built with. */
#include "cli.h"

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

static int run(const cli_args *args) {
    const char *feature;
    (void)args;
    printf("onx %s\n", onx_version());
    printf("  ONNX      IR version %d, opset %d\n", ONX_IR_VERSION, ONX_OPSET_VERSION);
    for (size_t i = 0; (feature = onx_version_feature(i)); i++) printf("  with      %s\n", feature);
#ifdef __clang__
    printf("  compiler  %s\n", __VERSION__);
#else
    printf("  compiler  gcc %s\n", __VERSION__);
#endif
    return CLI_OK;
}

const cli_command cli_version = {
    "version",
    "",
    "version, ONNX versions known, optional libraries, compiler",
    "Shows the version of onx, the newest versions of ONNX it knows, the optional libraries it was "
    "built\n"
    "with, and the compiler.",
    options,
    0,
    0,
    run,
};
