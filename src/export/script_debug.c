/* script_debug.c: the pickle beside a file of source:
 *
 *     ("FORMAT_WITH_STRING_TABLE", (string, …),
 *      ((byte of the source, (([string of each line], file, first line), start, end), tag), …))
 *
 * where strings are numbers of the table's, and start and end bytes of the lines put together. Of a
 * trace the lines are the stack, innermost first: "/home/me/model.py(12): forward". */
#include "export/script_debug.h"
#include "export/pickle.h"

#include "base/number.h"

#include <stdio.h>

struct onx_script_debug {
    onx_context *ctx;
    onx_pickle pickle;
    const onx_pk *strings, *ranges; /* NULL: not known */
    const onx_pk *last;             /* the range that was asked for before, */
    onx_str origin;                 /* and what it was */
};

static const onx_pk *item(const onx_pk *tuple, size_t i) {
    bool is_list = tuple && (tuple->kind == ONX_PK_TUPLE || tuple->kind == ONX_PK_LIST);
    return is_list && i < tuple->items.n ? tuple->items.v[i] : NULL;
}

static int64_t number(const onx_pk *tuple, size_t i) {
    const onx_pk *v = item(tuple, i);
    return v && v->kind == ONX_PK_INT ? v->i : -1;
}

static onx_str string(const onx_script_debug *debug, int64_t i) {
    const onx_pk *v = i < 0 ? NULL : item(debug->strings, (size_t)i);
    return v && v->kind == ONX_PK_STR ? v->s : (onx_str){0};
}

onx_script_debug *onx_script_debug_new(onx_context *ctx, onx_str bytes) {
    onx_script_debug *debug = onx_mem_alloc(ctx, sizeof *debug);
    size_t used;
    if (!debug) return NULL;
    *debug = (onx_script_debug){.ctx = ctx};
    if (!bytes.size ||
        onx_pickle_read_bytes(ctx, bytes, NULL, (onx_str){0}, &debug->pickle, &used, NULL))
        return debug;
    debug->strings = item(debug->pickle.root, 1);
    debug->ranges = item(debug->pickle.root, 2);
    return debug;
}

void onx_script_debug_free(onx_script_debug *debug) {
    if (!debug) return;
    if (debug->pickle.root) onx_pickle_fini(&debug->pickle);
    onx_mem_free(debug->ctx, debug, sizeof *debug);
}

/* The last range that begins at or before the byte. */
static const onx_pk *range_at(const onx_script_debug *debug, uint32_t at) {
    if (!debug->ranges || debug->ranges->kind != ONX_PK_TUPLE) return NULL;
    size_t lo = 0, hi = debug->ranges->items.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (number(debug->ranges->items.v[mid], 0) <= (int64_t)at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? debug->ranges->items.v[lo - 1] : NULL;
}

/* "/home/me/model.py(12): forward", outside PyTorch: its path and line. */
static bool is_frame(onx_str line, onx_str *path, uint64_t *n) {
    const char *open = line.size ? memchr(line.data, '(', line.size) : NULL;
    const char *close = open ? memchr(open, ')', line.size - (size_t)(open - line.data)) : NULL;
    const char *end = line.data + line.size;
    if (!close || end - close < 3 || memcmp(close, "): ", 3) != 0 ||
        !onx_parse_digits((onx_str){open + 1, (size_t)(close - open - 1)}, 10, n))
        return false;
    *path = (onx_str){line.data, (size_t)(open - line.data)};
    static const char torch[] = "/site-packages/torch/";
    for (size_t i = 0; i + sizeof torch - 1 <= path->size; i++)
        if (memcmp(path->data + i, torch, sizeof torch - 1) == 0) return false;
    return true;
}

/* Lines of source before the byte `start` of them. */
static uint64_t lines_before(const onx_script_debug *debug, const onx_pk *lines, int64_t start) {
    uint64_t n = 0;
    const onx_pk *line;
    for (size_t i = 0; start > 0 && (line = item(lines, i)) != NULL; i++) {
        onx_str text = string(debug, number(lines, i));
        for (size_t k = 0; k < text.size && start-- > 0; k++) n += text.data[k] == '\n';
    }
    return n;
}

static onx_str print(onx_arena *arena, onx_str path, uint64_t line) {
    char text[512];
    onx_str out = {0};
    int n = snprintf(text, sizeof text, "%.*s:%llu", ONX_FMT(path), (unsigned long long)line);
    (void)!onx_arena_str(arena, (onx_str){text, (size_t)n}, &out);
    return out;
}

static onx_str origin_of(const onx_script_debug *debug, onx_arena *arena, const onx_pk *range) {
    const onx_pk *place = item(range, 1), *source = item(place, 0), *lines = item(source, 0);
    onx_str path = string(debug, number(source, 1)), frame;
    uint64_t line;
    if (!path.size) return path;
    for (size_t i = 0; item(lines, i); i++)
        if (is_frame(string(debug, number(lines, i)), &frame, &line))
            return print(arena, frame, line);
    line = (uint64_t)number(source, 2) + lines_before(debug, lines, number(place, 1));
    return print(arena, path, line);
}

onx_str onx_script_debug_find(onx_script_debug *debug, onx_arena *arena, uint32_t at) {
    const onx_pk *range = range_at(debug, at);
    if (range == debug->last) return debug->origin;
    debug->last = range;
    debug->origin = range ? origin_of(debug, arena, range) : (onx_str){0};
    return debug->origin;
}
