/* gemm_bench.c: how much of the processor's peak cpu/gemm.h reaches, on one thread. Compiled once
 * per instruction set by bench/gemm, against the static library.
 *
 * The peak is measured, as multiply-adds on registers alone, before and after each product. Prints
 * a line for each: batch x m x k x n, GFLOP/s and share of the peak, as medians. */
#define _POSIX_C_SOURCE 200809L
#include "cpu/gemm.h"
#include "cpu/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Processor time, so that others on the machine count less. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Multiply-adds with nothing else to do: as many chains as hide their latency. */
enum { CHAINS = 12, STEPS = 20000 };
static __attribute__((noinline)) float chains(float start) {
    vf x[CHAINS], a = vf_set(0.999f), b = vf_set(0.001f);
    UNROLL for (int i = 0; i < CHAINS; i++) x[i] = vf_set(start + (float)i);
    for (int s = 0; s < STEPS; s++)
        UNROLL for (int i = 0; i < CHAINS; i++) x[i] = vf_fma(x[i], a, b);
    UNROLL for (int i = 1; i < CHAINS; i++) x[0] += x[i];
    return vf_sum(x[0]);
}
static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Sorted, so that [n / 2] is the median: the fastest round may be one that the clock, on a shared
 * machine, did not count in full. */
enum { ROUNDS = 101 };

static double measure_peak(void) { /* in GFLOP/s */
    double times[ROUNDS];
    volatile float start = 0; /* so that the call stays between the clocks */
    for (int i = 0; i < ROUNDS; i++) {
        double from = now();
        start = chains(start) * 0x1p-20f;
        times[i] = now() - from;
    }
    qsort(times, ROUNDS, sizeof *times, by_size);
    return 2.0 * VF * CHAINS * STEPS / times[ROUNDS / 2] / 1e9;
}

static float *make(size_t count) {
    float *p = aligned_alloc(64, (count * sizeof *p + 63) / 64 * 64 + 64);
    if (!p) exit(1);
    for (size_t i = 0; i < count; i++) p[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
    return p;
}

/* PACK: packing of B counts; FRESH: every product has another B, from memory, as in a model. */
typedef enum b_kind { PACKED, FRESH, HALVES, PACK, IN_PLACE } b_kind;
static const char *const how[] = {"packed", "fresh", "halves", "pack", "in place"};
typedef struct shape {
    size_t batch, m, k, n;
    b_kind b;
} shape;

typedef struct operands {
    float *a, *b, *c, *packed, *a_packed, *scratch;
    size_t floats, copies, turn; /* of B, packed: how large, how many there are, which is next */
} operands;

static void product(const onx_gemm *gemm, const shape *s, operands *o, onx_gemm_tiling tiling) {
    for (size_t i = 0; i < s->batch; i++) {
        const float *b = o->b + i * s->k * s->n;
        if (s->b == PACK)
            gemm->pack_b(s->k, s->n, b, s->n, 1, 0, onx_gemm_panels(gemm, s->n), o->packed);
        onx_gemm_args args = {.m = s->m,
                              .n = s->n,
                              .k = s->k,
                              .a = o->a + i * s->m * s->k,
                              .a_row = s->k,
                              .a_col = 1,
                              .b = s->b == IN_PLACE ? b : o->packed + o->turn * o->floats,
                              .ldb = s->b == IN_PLACE ? s->n : 0,
                              .b_type = s->b == HALVES ? ONX_GEMM_F16 : ONX_GEMM_F32,
                              .c = o->c + i * s->m * s->n,
                              .ldc = s->n,
                              .alpha = 1};
        o->turn = (o->turn + 1) % o->copies;
        if (onx_gemm_shares_a(gemm, &tiling, &args)) {
            gemm->pack_a(&args, 0, s->m, o->a_packed);
            args.a = o->a_packed;
            args.a_packed = true;
        }
        for (size_t t = 0; t < tiling.n_across * tiling.n_down; t++)
            gemm->run(&args, onx_gemm_tile_at(gemm, &tiling, s->m, s->n, t), o->scratch);
    }
}

static operands make_operands(const onx_gemm *gemm, const shape *s) {
    enum { FRESH_FLOATS = 48 << 20 }; /* more than the last cache holds */
    size_t panels = onx_gemm_panels(gemm, s->n);
    operands o = {.a = make(s->batch * s->m * s->k),
                  .b = make(s->batch * s->k * s->n),
                  .c = make(s->batch * s->m * s->n),
                  .a_packed = make(s->m * s->k),
                  .scratch = make((s->m + gemm->nr) * ONX_GEMM_DEPTH)};
    if (!onx_gemm_packed_size(gemm, s->k, s->n, &o.floats)) exit(1);
    o.copies = s->b == FRESH ? FRESH_FLOATS / o.floats + 1 : 1;
    o.packed = make(o.floats * o.copies);
    for (size_t i = 0; i < o.copies; i++)
        if (s->b == HALVES)
            gemm->pack_half(ONX_GEMM_F16, true, s->k, s->n, o.b, s->n, 1, 0, panels, o.packed);
        else
            gemm->pack_b(s->k, s->n, o.b, s->n, 1, 0, panels, o.packed + i * o.floats);
    return o;
}

static void measure(const onx_gemm *gemm, const shape *s) {
    operands o = make_operands(gemm, s);
    onx_gemm_tiling tiling = onx_gemm_tile(gemm, s->m, s->n, s->k, s->batch);
    double flops = 2.0 * (double)s->batch * (double)s->m * (double)s->k * (double)s->n;
    double times[ROUNDS], before = measure_peak(), took = 0;
    int n = 0;
    while (n < ROUNDS && (n < 5 || took < 1)) { /* at most a second */
        double start = now();
        product(gemm, s, &o, tiling);
        took += times[n++] = now() - start;
    }
    double after = measure_peak(), peak = before > after ? before : after;
    qsort(times, (size_t)n, sizeof *times, by_size);
    double middle = times[n / 2], rate = flops / middle / 1e9;
    double bytes = (double)s->batch * (double)s->k * (double)s->n * (s->b == HALVES ? 2 : 4);
    printf("%3zu x %4zu x %4zu x %5zu %-8s %6.1f GFLOP/s %5.1f%% of %5.1f (fastest %.1f%%), B at"
           " %.1f GB/s\n",
           s->batch, s->m, s->k, s->n, how[s->b], rate, 100 * rate / peak, peak,
           100 * flops / times[0] / 1e9 / peak, bytes / middle / 1e9);
    free(o.a), free(o.b), free(o.c), free(o.packed), free(o.a_packed), free(o.scratch);
}

int main(void) {
    static const shape shapes[] = {
        {1, 1024, 1024, 1024, PACKED}, {1, 2048, 2048, 2048, PACKED}, {1, 128, 768, 768, PACKED},
        {1, 128, 768, 3072, PACKED},   {1, 128, 3072, 768, PACKED},   {1, 128, 768, 768, FRESH},
        {1, 128, 768, 3072, FRESH},    {1, 128, 3072, 768, FRESH},    {1, 128, 768, 3072, HALVES},
        {1, 197, 768, 768, PACKED},    {1, 64, 768, 50257, PACKED},   {12, 128, 64, 128, PACK},
        {12, 128, 128, 64, PACK},      {1, 64, 576, 3136, PACK},      {1, 16, 768, 3072, FRESH},
        {1, 8, 1024, 1024, PACKED},    {1, 4, 4096, 4096, FRESH},     {1, 1, 768, 3072, FRESH},
        {1, 1, 4096, 4096, FRESH},     {1, 1, 4096, 4096, HALVES},    {12, 1, 64, 128, IN_PLACE},
        {12, 1, 128, 64, IN_PLACE},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        measure(&ONX_TIER(onx_gemm), &shapes[i]);
    return 0;
}
