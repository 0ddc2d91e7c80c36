/* zoo.c: see zoo.h. Filled models are kept in $BUILD/zoo, others pass through $BUILD/zoo_once. */
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The model with its large tensors, made by the example that fills them in. */
static bool filled(const char *data, const char *kept, const char *name, char *path, size_t size) {
    const char *build = getenv("BUILD");
    char command[2048];
    struct stat info;
    if (!build) return false;
    (void)snprintf(path, size, "%s/%s", build, kept);
    (void)mkdir(path, 0777);
    (void)snprintf(path, size, "%s/%s/%s.onnx", build, kept, name);
    if (stat(path, &info) == 0) return true;
    (void)snprintf(command, sizeof command,
                   "'%s/examples/fill_slim' '%s/%s/model.slim.onnx' '%s' >/dev/null", build, data,
                   name, path);
    return system(command) == 0;
}

static size_t load_args(onx_context *ctx, const char *folder, const char *what, onx_data **data,
                        onx_arg *args) {
    size_t n = 0;
    for (; n < ZOO_ARGS; n++) {
        char path[1100];
        (void)snprintf(path, sizeof path, "%s/%s_%zu.pb", folder, what, n);
        if (onx_data_load(ctx, path, ONX_DATA_TENSOR, &data[n], NULL) != ONX_OK) break;
        if (onx_arg_from_data(data[n], &args[n], NULL) != ONX_OK) {
            onx_data_free(data[n]);
            break;
        }
    }
    return n;
}

static bool load(onx_context *ctx, const char *kept, const char *name, zoo_model *out) {
    const char *data = getenv("ONX_DATA");
    char path[1024], folder[1024];
    onx_diag diag = ONX_INIT(onx_diag);
    memset(out, 0, sizeof *out);
    if (!data || !filled(data, kept, name, path, sizeof path)) return false;
    if (onx_model_load(ctx, path, NULL, &out->model, &diag) != ONX_OK) {
        fprintf(stderr, "%s: %s\n", path, diag.message);
        return false;
    }
    (void)snprintf(folder, sizeof folder, "%s/%s", data, name);
    out->n_in = load_args(ctx, folder, "input", out->in_data, out->in);
    out->n_out = load_args(ctx, folder, "output", out->out_data, out->out);
    return out->n_in > 0 && out->n_out > 0;
}

bool zoo_load(onx_context *ctx, const char *name, zoo_model *out) {
    return load(ctx, "zoo", name, out);
}

/* The file is mapped: it lives on without its name. */
bool zoo_load_once(onx_context *ctx, const char *name, zoo_model *out) {
    char path[1024];
    bool fine = load(ctx, "zoo_once", name, out);
    (void)snprintf(path, sizeof path, "%s/zoo_once/%s.onnx", getenv("BUILD"), name);
    (void)remove(path);
    return fine;
}

void zoo_free(zoo_model *zoo) {
    for (size_t i = 0; i < zoo->n_in; i++) {
        onx_arg_clear(&zoo->in[i]);
        onx_data_free(zoo->in_data[i]);
    }
    for (size_t i = 0; i < zoo->n_out; i++) {
        onx_arg_clear(&zoo->out[i]);
        onx_data_free(zoo->out_data[i]);
    }
    onx_model_free(zoo->model);
}

double zoo_distance(const zoo_model *zoo, size_t index, const onx_arg *got) {
    const onx_arg *want = &zoo->out[index];
    size_t bits = onx_dtype_bits(want->dtype), have = bits ? got->bytes * 8 / bits : 0;
    size_t n = bits ? want->bytes * 8 / bits : 0;
    double largest = 0, worst = 0;
    if (got->dtype != want->dtype || bits < 8 || !n || have < n) return HUGE_VAL;
    size_t stride = (have + n - 1) / n;
    if ((have + stride - 1) / stride != n) return HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        double a, b;
        onx_dtype_convert(got->dtype, (const char *)got->data + i * stride * (bits / 8),
                          ONX_DTYPE_F64, &a, 1, true);
        onx_dtype_convert(got->dtype, (const char *)want->data + i * (bits / 8), ONX_DTYPE_F64, &b,
                          1, true);
        double d = fabs(a - b);
        if (isnan(d)) return HUGE_VAL;
        worst = d > worst ? d : worst;
        largest = fabs(b) > largest ? fabs(b) : largest;
    }
    return largest > 0 ? worst / largest : worst;
}
