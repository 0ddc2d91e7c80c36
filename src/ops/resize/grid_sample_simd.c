/* grid_sample_simd.c: GridSample of float32, linear and cubic, in up to three dimensions. For some
 * positions of the grid, where the taps lie and what they weigh is computed once, in vectors; then
 * each channel is their weighted sum, in float. Elements of weight 0 do not count, whatever they
 * are. Reflections, and what is too large for float coordinates, are left to the plain kernel. */
#include "ops/resize/grid_sample_simd.h"

enum {
    AXES = 3,
    POINTS = 64,
    TAPS = 64,          /* of all axes, at most */
    SIZE_MOST = 1 << 22 /* of an axis: floats count so far, and have parts of elements */
};

typedef struct plan {
    onx_sample_plan sizes; /* first: it is that of the plain kernel */
    bool other;            /* … which runs */
} plan;

/* The taps of some positions: [tap][position]. */
typedef struct taps {
    size_t n;
    int32_t at[TAPS][POINTS];
    float weight[TAPS][POINTS];
} taps;

onx_status ONX_TIER(onx_grid_sample_init)(onx_call *call) {
    ONX_TRY(onx_grid_sample_init(call));
    const onx_sample_state *s = call->state;
    if (s->mode == ONX_SAMPLE_NEAREST || s->padding == ONX_SAMPLE_REFLECTION)
        return ONX_UNSUPPORTED;
    call->plan_bytes = sizeof(plan);
    return ONX_OK;
}

onx_status ONX_TIER(onx_grid_sample_bind)(onx_call *call) {
    plan *p = call->plan;
    ONX_TRY(onx_grid_sample_bind(call));
    p->other = p->sizes.axes > AXES || p->sizes.pixels > INT32_MAX || !call->in[0]->count;
    for (size_t i = 0; i < p->sizes.axes; i++) p->other |= p->sizes.dims[i] > SIZE_MOST;
    return ONX_OK;
}

/* ── Taps ── */

/* From coordinates of the grid to those of the image, as the plain kernel does it. */
static vf unfold(const onx_sample_state *s, vf g, float n) {
    float low = s->corners ? 0 : -0.5f, high = n - (s->corners ? 1 : 0.5f);
    g = vf_select(g != g, vf_set(-1), g);
    vf x = s->corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    if (s->corners && n == 1) x = vf_zero();
    if (s->padding == ONX_SAMPLE_BORDER)
        x = vf_select(x < low, vf_zero(), vf_select(x > high, vf_set(n - 1), x));
    return vf_min(vf_max(x, vf_set(-4)), vf_set(n + 4)); /* beyond, all taps are outside */
}

static vf cubic(vf t) {
    const float a = -0.75f;
    t = vf_abs(t);
    return vf_select(t <= 1, ((a + 2) * t - (a + 3)) * t * t + 1,
                     ((a * t - 5 * a) * t + 8 * a) * t - 4 * a);
}

/* One axis more: each tap becomes `count`, for the coordinates `grid`. */
static void add_axis(const onx_sample_state *s, const float *grid, int64_t size, taps *t) {
    const bool is_cubic = s->mode == ONX_SAMPLE_CUBIC;
    const size_t count = is_cubic ? 4 : 2;
    const float n = (float)size;
    for (size_t i = 0; i < POINTS; i += VF) {
        vf x = unfold(s, vf_load(grid + i), n), first = vf_round(x), weight[4];
        vi at[4];
        first = vf_select(first > x, first - 1, first);
        for (size_t k = 0; k < count; k++) {
            vf step = vf_set((float)k - (float)is_cubic), to = first + step, part = x - first;
            weight[k] = is_cubic ? cubic(part - step) : k ? part : 1 - part;
            if (s->padding == ONX_SAMPLE_ZEROS)
                weight[k] = vf_select((to >= 0) & (to < n), weight[k], vf_zero());
            at[k] = vf_int(vf_min(vf_max(to, vf_zero()), vf_set(n - 1)));
        }
        for (size_t c = t->n * count; c-- > 0;) {
            vi before;
            memcpy(&before, &t->at[c / count][i], sizeof before);
            before = before * (int32_t)size + at[c % count];
            memcpy(&t->at[c][i], &before, sizeof before);
            vf_store(&t->weight[c][i], vf_load(&t->weight[c / count][i]) * weight[c % count]);
        }
    }
    t->n *= count;
}

static void find_taps(const onx_call *call, const char *grid, size_t n, taps *t) {
    const onx_sample_plan *p = call->plan;
    float along[POINTS] = {0};
    t->n = 1;
    for (size_t i = 0; i < POINTS; i++) {
        t->at[0][i] = 0;
        t->weight[0][i] = 1;
    }
    for (size_t a = 0; a < p->axes; a++) {
        for (size_t i = 0; i < n; i++)
            memcpy(&along[i], grid + (i * p->axes + p->axes - 1 - a) * sizeof *along,
                   sizeof *along);
        add_axis(call->state, along, p->dims[a], t);
    }
}

/* ── Sums ── */

static inline __attribute__((always_inline)) void sum_taps(const taps *t, size_t count,
                                                           const char *plane, size_t n, float *y) {
    for (size_t i = 0; i < n; i += VF) {
        float x[TAPS][VF];
        vf sum = vf_zero();
        for (size_t k = 0; k < count; k++)
            for (size_t l = 0; l < VF; l++)
                memcpy(&x[k][l], plane + (size_t)t->at[k][i + l] * sizeof **x, sizeof **x);
        for (size_t k = 0; k < count; k++) {
            vf w = vf_load(&t->weight[k][i]);
            sum += vf_select(w != 0, vf_load(x[k]) * w, vf_zero());
        }
        vf_store_n(y + i, sum, n - i < VF ? n - i : VF);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_sample_plan *p = call->plan;
    size_t blocks = *(const size_t *)user, image = index / blocks, first = index % blocks * POINTS;
    size_t n = p->points - first < POINTS ? p->points - first : POINTS;
    taps t;
    (void)scratch;
    find_taps(call,
              (const char *)call->in[1]->data +
                  (image * p->points + first) * p->axes * sizeof(float),
              n, &t);
    for (size_t c = image * p->channels; c < (image + 1) * p->channels; c++) {
        const char *plane = (const char *)call->in[0]->data + c * p->pixels * sizeof(float);
        float *y = (float *)call->out[0]->data + c * p->points + first;
        if (t.n == 4)
            sum_taps(&t, 4, plane, n, y);
        else if (t.n == 8)
            sum_taps(&t, 8, plane, n, y);
        else
            sum_taps(&t, t.n, plane, n, y);
    }
    return ONX_OK;
}

onx_status ONX_TIER(onx_grid_sample_run)(onx_call *call) {
    const plan *p = call->plan;
    size_t blocks = (p->sizes.points + POINTS - 1) / POINTS;
    if (p->other || !call->out[0]->count) return onx_grid_sample_run(call);
    return onx_call_parallel(call, (size_t)call->in[0]->dims[0] * blocks, task, &blocks);
}
