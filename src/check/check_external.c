/* check_external.c: tensors whose data lie in other files: what is said about them, and, where the
 * model was loaded without them, whether they are there. */
#include "check/checker.h"
#include "ir/edit.h"
#include "ir/external.h"

#define TELL(rule, t, hint, ...) onx_check_tell(c, ONX_RULE_EXTERNAL_##rule, t, hint, __VA_ARGS__)

static bool check_keys(onx_checker *c, const onx_tensor *t) {
    static const char *const keys[] = {"location", "offset", "length"};
    size_t seen[ONX_COUNT(keys)] = {0};
    uint64_t offset, length;
    ONX_EACH (onx_entry, e, t->external_data)
        for (size_t i = 0; i < ONX_COUNT(keys); i++) seen[i] += onx_str_is(e->key, keys[i]);
    for (size_t i = 0; i < ONX_COUNT(keys); i++) {
        if (seen[i] < 2) continue;
        TELL(KEYS, t, "keep one of them", "tensor '%.*s' gives its %s %zu times", ONX_FMT(t->name),
             keys[i], seen[i]);
        return false;
    }
    if (!seen[0])
        TELL(KEYS, t, "say which file", "tensor '%.*s' is external, but has no location",
             ONX_FMT(t->name));
    else if (!onx_tensor_extent(t, &offset, &length))
        TELL(KEYS, t, "offset and length are numbers of bytes",
             "tensor '%.*s' has an offset or length that is not a number", ONX_FMT(t->name));
    else
        return true;
    return false;
}

/* The size of a file in the model's folder; false: it is not there, or not to be read. */
static bool file_size(onx_checker *c, const char *location, uint64_t *size) {
    const onx_os *os = c->ctx->os;
    onx_file_info info = {.is_regular = false};
    int dir = os->open_dir(c->model->folder);
    int fd = dir < 0 ? dir : os->open_beneath(dir, location);
    bool found = fd >= 0 && !os->stat(fd, &info) && info.is_regular;
    if (fd >= 0) os->close(fd);
    if (dir >= 0) os->close(dir);
    *size = info.size;
    return found;
}

/* The same, asked once for each file. */
static bool known_size(onx_checker *c, onx_str location, uint64_t *size) {
    uint64_t *known = onx_map_get(&c->names, &c->model->folder, location);
    if (!known) {
        known = onx_arena_alloc(&c->arena, sizeof *known);
        if (!known || !onx_map_put(&c->names, &c->model->folder, location, known)) {
            c->no_memory = true;
            return true;
        }
        if (!file_size(c, location.data, known)) *known = UINT64_MAX;
    }
    *size = *known;
    return *known != UINT64_MAX;
}

static void check_file(onx_checker *c, const onx_tensor *t, onx_str location) {
    uint64_t offset, length, size = 0;
    if (!known_size(c, location, &size)) {
        TELL(DATA, t, "put the file into the model's folder",
             "the data of tensor '%.*s' should lie in '%.*s', which is not there", ONX_FMT(t->name),
             ONX_FMT(location));
        return;
    }
    bool inside =
        onx_tensor_extent(t, &offset, &length) && offset <= size && length <= size - offset;
    if (!inside && !c->no_memory)
        TELL(DATA, t, "the file is cut off, or belongs to another model",
             "the data of tensor '%.*s' lie outside '%.*s', which has %llu bytes", ONX_FMT(t->name),
             ONX_FMT(location), (unsigned long long)size);
}

void onx_check_external(onx_checker *c, const onx_tensor *t) {
    uint64_t offset, length;
    size_t needed;
    onx_diag diag = ONX_INIT(onx_diag);
    if (t->raw_data.size || onx_tensor_check(t, &diag)) {
        onx_check_tell(c, ONX_RULE_TENSOR_PAYLOAD, t, "keep the data in one place",
                       "tensor '%.*s': %s", ONX_FMT(t->name),
                       diag.message[0] ? diag.message : "data are external, yet raw_data is set");
        return;
    }
    if (!check_keys(c, t)) return;
    onx_str location = onx_str_of(onx_tensor_location(t));
    if (!onx_external_is_plain(location)) {
        TELL(PLACE, t, "external data lie beneath the model's folder",
             "the location '%.*s' of tensor '%.*s' is not a relative path without '..'",
             ONX_FMT(location), ONX_FMT(t->name));
        return;
    }
    if (onx_tensor_extent(t, &offset, &length) && !onx_tensor_bytes(t, &needed, NULL) &&
        length != needed)
        TELL(DATA, t, NULL, "the data of tensor '%.*s' have %llu bytes, but it needs %zu",
             ONX_FMT(t->name), (unsigned long long)length, needed);
    else if (!t->external.data && c->model->folder)
        check_file(c, t, location);
}
