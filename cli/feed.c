/* feed.c: see feed.h. */
#define _POSIX_C_SOURCE 200809L
#include "feed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ── From files ──────────────────────────────────────────────────────────────────────────────── */

static const char *input_name(const void *session, size_t index) {
    return index < onx_session_input_count(session) ? onx_session_input_name(session, index) : NULL;
}

onx_data_kind feed_kind(const onx_type *type) {
    static const onx_data_kind kinds[] = {
        [ONX_TYPE_NONE] = ONX_DATA_NONE,         [ONX_TYPE_TENSOR] = ONX_DATA_TENSOR,
        [ONX_TYPE_SEQUENCE] = ONX_DATA_SEQUENCE, [ONX_TYPE_SPARSE_TENSOR] = ONX_DATA_SPARSE_TENSOR,
        [ONX_TYPE_MAP] = ONX_DATA_MAP,           [ONX_TYPE_OPTIONAL] = ONX_DATA_OPTIONAL,
        [ONX_TYPE_OPAQUE] = ONX_DATA_NONE};
    return type ? kinds[onx_type_kind_of(type)] : ONX_DATA_NONE;
}

static onx_status load(const onx_session *session, feed *f, size_t input, const char *path,
                       onx_diag *diag) {
    onx_data_kind kind = feed_kind(onx_session_input_type(session, input));
    onx_status status = onx_data_load(NULL, path, kind, &f->data[input], diag);
    if (!status) status = onx_arg_from_data(f->data[input], &f->args[input], diag);
    f->args[input].name = onx_session_input_name(session, input);
    if (status && !diag->file[0]) snprintf(diag->file, sizeof diag->file, "%s", path);
    return status;
}

/* "NAME=FILE", where names may hold '=' too. */
static int load_named(const runner *r, feed *f, const char *text) {
    onx_diag diag = ONX_INIT(onx_diag);
    const char *name;
    char typed[256];
    for (size_t i = 0; (name = input_name(r->session, i)); i++) {
        size_t size = strlen(name);
        if (strncmp(text, name, size) || text[size] != '=') continue;
        if (f->args[i].name) return cli_usage(r->args->command, "input '%s' is given twice", name);
        if (load(r->session, f, i, text + size + 1, &diag)) return runner_fail(r, &diag);
        return CLI_OK;
    }
    if (!strchr(text, '='))
        return cli_usage(r->args->command, "--input needs NAME=FILE, not '%s'", text);
    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(text, "="), text);
    const char *near = cli_nearest(typed, input_name, r->session);
    return cli_usage(r->args->command, "the model has no input '%s'%s%s%s", typed,
                     near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static bool find_file(const char *folder, size_t number, char *path, size_t size) {
    static const char *const endings[] = {".pb", ".npy"};
    for (size_t i = 0; i < CLI_COUNT(endings); i++) {
        snprintf(path, size, "%s/input_%zu%s", folder, number, endings[i]);
        if (access(path, F_OK) == 0) return true;
    }
    return false;
}

static onx_status fail(onx_diag *diag, onx_status status, const char *file, const char *message) {
    diag->status = status;
    diag->offset = -1;
    snprintf(diag->file, sizeof diag->file, "%.255s", file);
    snprintf(diag->message, sizeof diag->message, "%s", message);
    return status;
}

onx_status feed_folder(const onx_session *session, const char *folder, feed *f, onx_diag *diag) {
    char path[4096];
    size_t number = 0;
    onx_status status = ONX_OK;
    if (access(folder, R_OK | X_OK) != 0) return fail(diag, ONX_IO, folder, strerror(errno));
    for (int optional = 0; optional < 2; optional++)
        for (size_t i = 0; i < f->count && !status; i++) {
            if (onx_session_input_optional(session, i) != (optional == 1)) continue;
            bool found = find_file(folder, number++, path, sizeof path);
            if (found && !f->args[i].name) status = load(session, f, i, path, diag);
        }
    if (!status && find_file(folder, number, path, sizeof path))
        return fail(diag, ONX_USAGE, path, "the model has fewer inputs than there are files");
    return status;
}

/* ── Made up ─────────────────────────────────────────────────────────────────────────────────── */

static uint64_t splitmix64(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* How many different integers a type is given; 0: it is given real numbers from 0 to 1. */
static unsigned choices_of(onx_dtype dtype) {
    static const unsigned char choices[ONX_DTYPE_COUNT] = {
        [ONX_DTYPE_U8] = 10,  [ONX_DTYPE_I8] = 10,    [ONX_DTYPE_U16] = 10, [ONX_DTYPE_I16] = 10,
        [ONX_DTYPE_U32] = 10, [ONX_DTYPE_I32] = 10,   [ONX_DTYPE_U64] = 10, [ONX_DTYPE_I64] = 10,
        [ONX_DTYPE_U4] = 8,   [ONX_DTYPE_I4] = 8,     [ONX_DTYPE_U2] = 2,   [ONX_DTYPE_I2] = 2,
        [ONX_DTYPE_BOOL] = 2, [ONX_DTYPE_STRING] = 10};
    return choices[dtype];
}

static double random_at(onx_dtype dtype, uint64_t seed, uint64_t index) {
    unsigned choices = choices_of(dtype);
    double x = (double)(splitmix64(splitmix64(seed) + index) >> 40) * 0x1p-24;
    return choices ? floor(x * choices) : x;
}

static onx_status make_numbers(onx_arg *arg, uint64_t count, uint64_t seed, onx_tensor **out,
                               onx_diag *diag) {
    enum { BLOCK = 1024 };
    double block[BLOCK];
    size_t bytes;
    char *dense = onx_dtype_bytes(arg->dtype, count, &bytes) ? malloc(bytes + 1) : NULL;
    if (!dense) return ONX_NO_MEMORY;
    for (uint64_t at = 0; at < count; at += BLOCK) {
        size_t n = count - at < BLOCK ? (size_t)(count - at) : BLOCK;
        for (size_t i = 0; i < n; i++) block[i] = random_at(arg->dtype, seed, at + i);
        char *to = dense + at / 8 * onx_dtype_bits(arg->dtype);
        onx_dtype_convert(ONX_DTYPE_F64, block, arg->dtype, to, n, true);
    }
    onx_status status =
        onx_tensor_new(NULL, arg->name, arg->dtype, arg->rank, arg->dims, dense, bytes, out, diag);
    free(dense);
    return status;
}

static onx_status make_strings(onx_arg *arg, uint64_t count, uint64_t seed, onx_tensor **out,
                               onx_diag *diag) {
    static const char *const words[] = {"zero", "one", "two",   "three", "four",
                                        "five", "six", "seven", "eight", "nine"};
    const char **strings =
        count < SIZE_MAX / sizeof *strings ? malloc(((size_t)count + 1) * sizeof *strings) : NULL;
    if (!strings) return ONX_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        strings[i] = words[(size_t)random_at(ONX_DTYPE_STRING, seed, i)];
    onx_status status =
        onx_tensor_new_strings(NULL, arg->name, arg->rank, arg->dims, strings, out, diag);
    free(strings);
    return status;
}

/* The shape of an argument: symbolic dimensions are what --set says, or 1, and those are noted. */
static int make_shape(const runner *r, size_t input, onx_arg *arg, cli_text *note) {
    const onx_type *type = onx_session_input_type(r->session, input);
    bool dense = type && onx_type_kind_of(type) == ONX_TYPE_TENSOR && onx_type_has_shape(type);
    if (!dense || onx_type_rank(type) > ONX_RANK_MAX)
        return cli_usage(r->args->command,
                         "input '%s' has no shape that could be made up: give it "
                         "with --input",
                         arg->name);
    size_t used = 0;
    note->s[0] = '\0';
    arg->dtype = onx_type_dtype(type);
    arg->rank = onx_type_rank(type);
    for (size_t i = 0; i < arg->rank; i++) {
        const char *name = onx_type_dim_param(type, i);
        arg->dims[i] = onx_type_dim(type, i);
        if (arg->dims[i] < 0) arg->dims[i] = runner_size(r, name);
        if (arg->dims[i] >= 0) continue;
        arg->dims[i] = 1;
        if (used < sizeof note->s - 80)
            used += (size_t)snprintf(note->s + used, sizeof note->s - used, "%s%.40s = 1",
                                     used ? ", " : "", *name ? name : "?");
    }
    return CLI_OK;
}

static bool count_of(const onx_arg *arg, uint64_t *count) {
    *count = 1;
    for (size_t i = 0; i < arg->rank; i++) {
        uint64_t dim = (uint64_t)arg->dims[i];
        if (dim && *count > UINT64_MAX / dim) return false;
        *count *= dim;
    }
    return true;
}

static int make(const runner *r, feed *f, size_t input, uint64_t seed, bool elements) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arg *arg = &f->args[input];
    onx_tensor *tensor = NULL;
    uint64_t count;
    cli_text note;
    arg->name = onx_session_input_name(r->session, input);
    int result = make_shape(r, input, arg, &note);
    if (result != CLI_OK || !elements) return result;
    if (!count_of(arg, &count)) return cli_no_memory(r->args->command);
    onx_status status = arg->dtype == ONX_DTYPE_STRING
                            ? make_strings(arg, count, seed, &tensor, &diag)
                            : make_numbers(arg, count, seed, &tensor, &diag);
    if (status == ONX_NO_MEMORY) return cli_no_memory(r->args->command);
    f->data[input] = onx_tensor_data(tensor);
    const char *name = arg->name;
    cli_text shape = cli_dims(arg->dtype, arg->rank, arg->dims);
    if (!status) status = onx_arg_from_data(f->data[input], arg, &diag);
    arg->name = name;
    if (status) return runner_fail(r, &diag);
    cli_note(r->args->command, "input %s is random: %s%s%s%s", name, shape.s, *note.s ? " (" : "",
             note.s, *note.s ? "; see --set)" : "");
    return CLI_OK;
}

/* ── All of them ─────────────────────────────────────────────────────────────────────────────── */

static int missing(const runner *r, const feed *f) {
    const cli_command *command = r->args->command;
    cli_note(command, "%s: the model needs inputs:", r->args->files[0]);
    for (size_t i = 0; i < f->count; i++) {
        char *type = cli_type(onx_session_input_type(r->session, i));
        if (!f->args[i].name && !onx_session_input_optional(r->session, i)) {
            fputs("  ", stderr);
            cli_puts(stderr, onx_session_input_name(r->session, i));
            fputs(": ", stderr);
            cli_puts(stderr, type ? type : "");
            fputc('\n', stderr);
        }
        free(type);
    }
    return cli_usage(command, "give them with --input NAME=FILE or --inputs DIR, or let them be "
                              "--random");
}

static int complete(const runner *r, feed *f, feed_rest rest) {
    uint64_t seed = 1;
    int status = cli_get_number(r->args, RUNNER_SEED, &seed) ? CLI_OK : CLI_USAGE;
    for (size_t i = 0; i < f->count && status == CLI_OK; i++) {
        if (f->args[i].name || onx_session_input_optional(r->session, i)) continue;
        status = rest == FEED_NONE ? missing(r, f)
                                   : make(r, f, i, (seed << 16) + i, rest == FEED_RANDOM);
    }
    return status;
}

void feed_compact(feed *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (!f->args[i].name) continue;
        f->args[n] = f->args[i];
        f->data[n++] = f->data[i];
    }
    f->count = n;
}

bool feed_new(const onx_session *session, feed *out) {
    size_t count = onx_session_input_count(session);
    *out = (feed){.count = count};
    out->args = calloc(count + 1, sizeof *out->args);
    out->data = calloc(count + 1, sizeof *out->data);
    if (out->args && out->data) return true;
    out->count = 0;
    return false;
}

int feed_open(const runner *r, feed_rest rest, feed *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    const char *text, *folder = r->args->values[RUNNER_INPUTS];
    size_t at = 0;
    int status = CLI_OK;
    if (!feed_new(r->session, out)) return cli_no_memory(r->args->command);
    while (status == CLI_OK && (text = cli_next_value(r->args, RUNNER_INPUT, &at)))
        status = load_named(r, out, text);
    if (status == CLI_OK && folder && feed_folder(r->session, folder, out, &diag))
        status = runner_fail(r, &diag);
    if (status == CLI_OK) status = complete(r, out, rest);
    if (status == CLI_OK) feed_compact(out);
    return status;
}

void feed_close(feed *f) {
    for (size_t i = 0; i < f->count; i++) {
        onx_arg_clear(&f->args[i]);
        onx_data_free(f->data[i]);
    }
    free(f->args);
    free(f->data);
}
