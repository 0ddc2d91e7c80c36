/* diff_distance.c: see diff.h. Errors are measured against the largest magnitude of a value, as it
 * is rounding that makes them; what is no real number must be equal. */
#define _POSIX_C_SOURCE 200809L
#include "compare.h"
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 };

static double tolerance_of(const diff_tolerance *t, onx_dtype dtype) {
    if (t->rtol >= 0) return t->rtol;
    return onx_dtype_bits(dtype) > 16 ? 1e-4 : 1e-2;
}

static double magnitude(const values *v) {
    double block[BLOCK], most = 0;
    for (uint64_t at = 0; at < v->count; at += BLOCK) {
        size_t n = v->count - at < BLOCK ? (size_t)(v->count - at) : BLOCK;
        values_read(v, at, n, ONX_DTYPE_F64, block);
        for (size_t i = 0; i < n; i++)
            if (isfinite(block[i]) && fabs(block[i]) > most) most = fabs(block[i]);
    }
    return most;
}

static void note_first(const values v[2], uint64_t index, diff_distance *out) {
    out->different = true;
    snprintf(out->first.s, sizeof out->first.s, "at %.80s: %.60s and %.60s",
             values_place(v, index).s, values_text(&v[0], index).s, values_text(&v[1], index).s);
}

static void measure_reals(const diff_tolerance *t, const values v[2], diff_distance *out) {
    double a[BLOCK], b[BLOCK];
    out->scale = magnitude(&v[1]);
    double most = t->atol + tolerance_of(t, v->dtype) * out->scale;
    for (uint64_t at = 0; at < v->count; at += BLOCK) {
        size_t n = v->count - at < BLOCK ? (size_t)(v->count - at) : BLOCK;
        values_read(&v[0], at, n, ONX_DTYPE_F64, a);
        values_read(&v[1], at, n, ONX_DTYPE_F64, b);
        for (size_t i = 0; i < n; i++) {
            double error = compare_distance(a[i], b[i]);
            if (error > out->error) out->error = error;
            if (error > most && !out->different) note_first(v, at + i, out);
        }
    }
}

static bool same_shape(const onx_tensor *a, const onx_tensor *b) {
    size_t rank = onx_tensor_rank(a);
    return onx_tensor_dtype(a) == onx_tensor_dtype(b) && rank == onx_tensor_rank(b) &&
           (!rank || !memcmp(onx_tensor_dims(a), onx_tensor_dims(b), rank * sizeof(int64_t)));
}

/* Integers, strings, sequences, and what does not even have the same type: as compare.c says. */
static bool measure_exactly(const onx_data *a, const onx_data *b, diff_distance *out) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file) return false;
    compare_how how = {.names = {"a", "b"}, .out = file, .quiet = true};
    bool different = compare_data(&how, a, b) != CLI_OK;
    if (fclose(file) || !text) {
        free(text);
        return false;
    }
    for (char *c = text; (c = strchr(c, '\n')); c++) *c = c[1] ? ';' : '\0';
    if (different) out->error = (double)INFINITY;
    out->different = different;
    snprintf(out->first.s, sizeof out->first.s, "%s", text);
    free(text);
    return true;
}

bool diff_measure(const diff_tolerance *t, const onx_data *a, const onx_data *b,
                  diff_distance *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    values v[2];
    *out = (diff_distance){.different = false};
    bool tensors = onx_data_kind_of(a) == ONX_DATA_TENSOR && onx_data_kind_of(b) == ONX_DATA_TENSOR;
    if (!tensors || !same_shape(onx_data_tensor(a), onx_data_tensor(b)) ||
        values_kind_of(onx_tensor_dtype(onx_data_tensor(a))) != VALUES_REAL)
        return measure_exactly(a, b, out);
    if (values_open(&v[0], onx_data_tensor(a), &diag)) return false;
    bool fine = values_open(&v[1], onx_data_tensor(b), &diag) == ONX_OK;
    if (fine) {
        measure_reals(t, v, out);
        values_close(&v[1]);
    }
    values_close(&v[0]);
    return fine;
}
