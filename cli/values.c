/* values.c: elements of tensors as text; see values.h. */
#include "values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1024 }; /* elements converted at a time; a multiple of 8 */

values_kind values_kind_of(onx_dtype dtype) {
    switch (dtype) {
    case ONX_DTYPE_STRING: return VALUES_STRING;
    case ONX_DTYPE_BOOL: return VALUES_BOOL;
    case ONX_DTYPE_C64:
    case ONX_DTYPE_C128: return VALUES_COMPLEX;
    case ONX_DTYPE_I8:
    case ONX_DTYPE_I16:
    case ONX_DTYPE_I32:
    case ONX_DTYPE_I64:
    case ONX_DTYPE_I4:
    case ONX_DTYPE_I2: return VALUES_INT;
    case ONX_DTYPE_U8:
    case ONX_DTYPE_U16:
    case ONX_DTYPE_U32:
    case ONX_DTYPE_U64:
    case ONX_DTYPE_U4:
    case ONX_DTYPE_U2: return VALUES_UINT;
    default: return VALUES_REAL;
    }
}

static onx_status fail_memory(onx_diag *diag) {
    *diag = ONX_INIT(onx_diag);
    diag->status = ONX_NO_MEMORY;
    diag->offset = -1;
    return ONX_NO_MEMORY;
}

onx_status values_open(values *v, const onx_tensor *tensor, onx_diag *diag) {
    *v = (values){.tensor = tensor, .dtype = onx_tensor_dtype(tensor)};
    onx_status status = onx_tensor_check(tensor, diag);
    if (!status) status = onx_tensor_count(tensor, &v->count, diag);
    if (status || v->dtype == ONX_DTYPE_STRING) return status;
    onx_dtype_bytes(v->dtype, v->count, &v->bytes);
    v->dense = onx_tensor_view(tensor).data;
    if (v->dense) return ONX_OK;
    if (!(v->owned = malloc(v->bytes + 1))) return fail_memory(diag);
    status = onx_tensor_read(tensor, v->owned, v->bytes, diag);
    v->dense = v->owned;
    if (status) values_close(v);
    return status;
}

void values_close(values *v) {
    free(v->owned);
    v->owned = NULL;
}

void values_read(const values *v, uint64_t at, size_t n, onx_dtype as, void *out) {
    onx_dtype_convert(v->dtype, v->dense + at / 8 * onx_dtype_bits(v->dtype), as, out, n, true);
}

/* Element `index` alone: packed ones begin at a byte every 8 elements. */
static void read_one(const values *v, uint64_t index, onx_dtype as, void *out) {
    char block[8 * 16];
    size_t size = onx_dtype_bits(as) / 8, n = (size_t)(index % 8);
    values_read(v, index - n, n + 1, as, block);
    memcpy(out, block + n * size, size);
}

/* ── One element ─────────────────────────────────────────────────────────────────────────────── */

/* The fewest digits that read back as the same element of the type. */
static void put_real(onx_dtype dtype, double x, char *out, size_t size) {
    double back = 0;
    char code[8];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, x);
        double near = strtod(out, NULL);
        onx_dtype_convert(ONX_DTYPE_F64, &near, dtype, code, 1, true);
        onx_dtype_convert(dtype, code, ONX_DTYPE_F64, &back, 1, true);
        if (back == x || isnan(x)) break;
    }
    if (strchr(out, 'e') && fabs(x) >= 1 && fabs(x) < 1e16) snprintf(out, size, "%.0f", x);
    if (isfinite(x) && !strpbrk(out, ".e")) strncat(out, ".", size - strlen(out) - 1);
}

static void put_string(onx_str s, char *out, size_t size) {
    size_t n = s.size < 60 ? s.size : 60, used = 1;
    while (n < s.size && n > 0 && (s.data[n] & 0xc0) == 0x80) n--; /* not inside a character */
    out[0] = '"';
    for (size_t i = 0; i < n && used + 8 < size; i++) out[used++] = s.data[i] ? s.data[i] : '?';
    snprintf(out + used, size - used, "%s", n < s.size ? "…\"" : "\"");
}

cli_text values_text(const values *v, uint64_t index) {
    cli_text t;
    const size_t size = sizeof t.s;
    int64_t i;
    uint64_t u;
    double d[2];
    char re[64], im[64];
    onx_str s = {NULL, 0};
    switch (values_kind_of(v->dtype)) {
    case VALUES_STRING:
        onx_tensor_string_at(v->tensor, index, &s, NULL);
        put_string(s, t.s, size);
        break;
    case VALUES_UINT:
        read_one(v, index, ONX_DTYPE_U64, &u);
        snprintf(t.s, size, "%" PRIu64, u);
        break;
    case VALUES_BOOL:
        read_one(v, index, ONX_DTYPE_U64, &u);
        snprintf(t.s, size, "%s", u ? "true" : "false");
        break;
    case VALUES_REAL:
        read_one(v, index, ONX_DTYPE_F64, d);
        put_real(v->dtype, d[0], t.s, size);
        break;
    case VALUES_COMPLEX: {
        onx_dtype part = v->dtype == ONX_DTYPE_C64 ? ONX_DTYPE_F32 : ONX_DTYPE_F64;
        read_one(v, index, ONX_DTYPE_C128, d);
        put_real(part, d[0], re, sizeof re);
        put_real(part, d[1], im, sizeof im);
        snprintf(t.s, size, "%s%s%sj", re, signbit(d[1]) ? "" : "+", im);
        break;
    }
    default:
        read_one(v, index, ONX_DTYPE_I64, &i);
        snprintf(t.s, size, "%" PRId64, i);
        break;
    }
    return t;
}

cli_text values_place(const values *v, uint64_t index) {
    cli_text t;
    size_t rank = onx_tensor_rank(v->tensor), used = 1;
    uint64_t inside = v->count; /* elements below one step of the dimension */
    snprintf(t.s, sizeof t.s, "[");
    for (size_t i = 0; i < rank && used < sizeof t.s - 32; i++) {
        inside /= (uint64_t)onx_tensor_dim(v->tensor, i);
        used += (size_t)snprintf(t.s + used, sizeof t.s - used, i ? ",%" PRIu64 : "%" PRIu64,
                                 index / inside);
        index %= inside;
    }
    snprintf(t.s + used, sizeof t.s - used, "]");
    return t;
}

/* ── Statistics ──────────────────────────────────────────────────────────────────────────────── */

typedef struct stats {
    uint64_t numbers, nans, infinities, nonzero;
    uint64_t least, most; /* where they are */
    double min, max, sum;
} stats;

/* Integers of 64 bits are compared as such: a double has not room for all of them. */
static bool is_less(const values *v, uint64_t a, uint64_t b, double x, double y) {
    uint64_t i, j;
    values_kind kind = values_kind_of(v->dtype);
    if (onx_dtype_bits(v->dtype) < 64 || x != y || kind == VALUES_REAL) return x < y;
    onx_dtype as = kind == VALUES_INT ? ONX_DTYPE_I64 : ONX_DTYPE_U64;
    read_one(v, a, as, &i);
    read_one(v, b, as, &j);
    return kind == VALUES_INT ? (int64_t)i < (int64_t)j : i < j;
}

static void see(const values *v, stats *s, uint64_t index, double x) {
    s->nonzero += x != 0;
    if (isnan(x)) {
        s->nans++;
        return;
    }
    if (isinf(x)) s->infinities++;
    bool first = s->numbers++ == 0;
    if (first || is_less(v, index, s->least, x, s->min)) s->min = x, s->least = index;
    if (first || is_less(v, s->most, index, s->max, x)) s->max = x, s->most = index;
    s->sum += x;
}

static stats stats_of(const values *v) {
    stats s = {.numbers = 0};
    double block[BLOCK];
    for (uint64_t at = 0; at < v->count; at += BLOCK) {
        size_t n = v->count - at < BLOCK ? (size_t)(v->count - at) : BLOCK;
        values_read(v, at, n, ONX_DTYPE_F64, block);
        for (size_t i = 0; i < n; i++) see(v, &s, at + i, block[i]);
    }
    return s;
}

void values_print_stats(const values *v, FILE *out) {
    values_kind kind = values_kind_of(v->dtype);
    if (kind == VALUES_STRING || kind == VALUES_COMPLEX) {
        fprintf(out, "%s element%s\n", cli_count(v->count).s, cli_plural(v->count));
        return;
    }
    stats s = stats_of(v);
    fprintf(out, "%s element%s", cli_count(v->count).s, cli_plural(v->count));
    if (kind == VALUES_BOOL)
        fprintf(out, ", %s true", cli_count(s.nonzero).s);
    else if (s.numbers)
        fprintf(out, ", min %s, max %s, mean %.6g", values_text(v, s.least).s,
                values_text(v, s.most).s, s.sum / (double)s.numbers);
    if (s.nans) fprintf(out, ", %s NaN", cli_count(s.nans).s);
    if (s.infinities) fprintf(out, ", %s infinite", cli_count(s.infinities).s);
    fputc('\n', out);
}

/* ── Arrays ──────────────────────────────────────────────────────────────────────────────────── */

enum { EDGE = 3, LINE = 96 };

typedef struct array {
    const values *v;
    FILE *out; /* NULL: only measure */
    bool summarise;
    size_t most;                        /* elements, about, when it is */
    size_t rank, indent, column, width; /* width: of the widest element shown */
    uint64_t shown;
    uint64_t *at; /* the way to the element, in things shown */
} array;

static uint64_t dim(const array *a, size_t level) {
    return (uint64_t)onx_tensor_dim(a->v->tensor, level);
}

static bool has_gap(const array *a, size_t level) {
    return a->summarise && dim(a, level) > 2 * EDGE;
}

/* Things shown of a level: all, or both ends and the gap between them. */
static uint64_t things(const array *a, size_t level) {
    return has_gap(a, level) ? 2 * EDGE + 1 : dim(a, level);
}

static uint64_t index_of(const array *a) {
    uint64_t index = 0;
    for (size_t i = 0; i < a->rank; i++) {
        bool behind_gap = has_gap(a, i) && a->at[i] > EDGE;
        index = index * dim(a, i) + a->at[i] + (behind_gap ? dim(a, i) - (2 * EDGE + 1) : 0);
    }
    return index;
}

static void put(array *a, const char *text) {
    if (!a->out) return;
    cli_puts(a->out, text);
    a->column += strlen(text);
}

static void new_line(array *a, size_t level) {
    if (!a->out) return;
    fprintf(a->out, "\n%*s", (int)(a->indent + level), "");
    a->column = a->indent + level;
}

static void put_separator(array *a, size_t level) {
    if (level + 1 == a->rank) {
        put(a, ",");
        if (a->column + 1 + a->width > LINE)
            new_line(a, a->rank);
        else
            put(a, " ");
        return;
    }
    put(a, ",");
    new_line(a, level + 1);
}

static void put_element(array *a) {
    cli_text text = values_text(a->v, index_of(a));
    size_t n = strlen(text.s);
    a->shown++;
    if (n > a->width) a->width = n;
    for (; a->out && values_kind_of(a->v->dtype) != VALUES_STRING && n < a->width; n++) put(a, " ");
    put(a, text.s);
}

/* Down into the first thing of a level, along to the next, up at the end. */
static void walk(array *a) {
    size_t level = 0;
    if (a->rank == 0 || a->v->count == 0) {
        if (a->v->count)
            put_element(a);
        else
            put(a, "[]");
        return;
    }
    a->at[0] = 0;
    put(a, "[");
    for (;;) {
        bool enough = a->summarise && a->shown > a->most;
        if (a->at[level] >= things(a, level) || enough) {
            put(a, enough && a->at[level] < things(a, level) ? ", …]" : "]");
            if (level == 0) return;
            a->at[--level]++;
            continue;
        }
        if (a->at[level] > 0) put_separator(a, level);
        if (has_gap(a, level) && a->at[level] == EDGE)
            put(a, "…"), a->at[level]++;
        else if (level + 1 == a->rank)
            put_element(a), a->at[level]++;
        else
            put(a, "["), a->at[++level] = 0;
    }
}

void values_print(const values *v, size_t most, size_t indent, FILE *out) {
    array a = {.v = v,
               .summarise = v->count > most,
               .most = most,
               .rank = onx_tensor_rank(v->tensor),
               .indent = indent};
    a.at = calloc(a.rank + 1, sizeof *a.at);
    if (!a.at) return;
    walk(&a);
    a.out = out;
    a.shown = 0;
    a.column = indent;
    fprintf(out, "%*s", (int)indent, "");
    walk(&a);
    fputc('\n', out);
    free(a.at);
}

/* ── Parts ───────────────────────────────────────────────────────────────────────────────────── */

static bool enter(parts *p, const onx_data *data) {
    if (p->depth == PARTS_DEPTH) return false;
    onx_data_kind kind = onx_data_kind_of(data);
    bool holds = kind == ONX_DATA_SEQUENCE || kind == ONX_DATA_MAP || kind == ONX_DATA_OPTIONAL;
    p->stack[p->depth].data = data;
    p->stack[p->depth].last = NULL;
    p->stack[p->depth].at = 0;
    p->stack[p->depth].count = holds ? onx_data_count(data) : 0;
    p->depth++;
    return true;
}

const onx_data *parts_next(parts *p) {
    if (p->depth == 0) return p->root && enter(p, p->root) ? p->root : NULL;
    while (p->depth > 0 && p->stack[p->depth - 1].at == p->stack[p->depth - 1].count) p->depth--;
    if (p->depth == 0) return NULL;
    size_t top = p->depth - 1;
    const onx_data *last = p->stack[top].last;
    const onx_data *next = last ? onx_data_next(last) : onx_data_at(p->stack[top].data, 0);
    p->stack[top].last = next;
    p->stack[top].at++;
    return next && enter(p, next) ? next : NULL;
}

void parts_skip_rest(parts *p) {
    if (p->depth < 2) return;
    p->depth--;
    p->stack[p->depth - 1].at = p->stack[p->depth - 1].count;
}

const onx_data *parts_container(const parts *p, size_t *index) {
    if (p->depth < 2) return NULL;
    *index = p->stack[p->depth - 2].at - 1;
    return p->stack[p->depth - 2].data;
}
