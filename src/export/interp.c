/* interp.c: a TorchScript program from its archive to what forward gives. */
#include "export/interp_internal.h"

#include "export/told.h"

#include <stdlib.h>

static onx_map *map_of(onx_interp *in, size_t i) {
    onx_map *maps[] = {&in->values, &in->paths, &in->enums,   &in->fresh,
                       &in->stacks, &in->set,   &in->guesses, &in->builtins};
    return i < ONX_COUNT(maps) ? maps[i] : NULL;
}

static onx_status read_code(void *user, onx_str path, onx_str *text, bool *found, onx_diag *diag) {
    onx_archive *archive = user;
    *found = onx_archive_has(archive, path);
    return *found ? onx_archive_read(archive, path, text, diag) : ONX_OK;
}

/* ─ Opening ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status read_pickles(onx_interp *in, onx_diag *diag) {
    ONX_TRY(onx_pickle_read(in->archive, ONX_LIT("data.pkl"), &in->data, diag));
    if (onx_archive_has(in->archive, ONX_LIT("constants.pkl")))
        ONX_TRY(onx_pickle_read(in->archive, ONX_LIT("constants.pkl"), &in->constants, diag));
    if (onx_archive_has(in->archive, ONX_LIT("traced_inputs.pkl")))
        ONX_TRY(onx_pickle_read(in->archive, ONX_LIT("traced_inputs.pkl"), &in->samples, diag));
    return ONX_OK;
}

/* What there is in the place of a method that there is not. */
static onx_status fail_method(onx_interp *in, const onx_script_class *cls, onx_str method,
                              onx_diag *diag) {
    onx_buf names;
    onx_fail(diag, ONX_UNSUPPORTED, "the archive holds no module with a method '%.*s'",
             ONX_FMT(method));
    onx_buf_init(&names, in->x->ctx);
    for (size_t i = 0; cls && i < cls->method_count; i++)
        if (cls->methods[i].arg_count && cls->methods[i].name.data[0] != '_')
            onx_buf_printf(&names, " %.*s", ONX_FMT(cls->methods[i].name));
    if (names.size && !names.failed)
        onx_diag_hint(diag, "choose one with --method NAME:%.*s",
                      ONX_FMT(((onx_str){names.data, names.size})));
    onx_buf_fini(&names);
    return ONX_UNSUPPORTED;
}

static onx_status find_forward(onx_interp *in, onx_diag *diag) {
    const onx_pk *root = in->data.root;
    onx_script_symbol found = {0};
    onx_str name = onx_str_of(in->x->method ? in->x->method : "forward");
    if (root->kind == ONX_PK_OBJECT) ONX_TRY(onx_script_find(in->script, root->type, &found, diag));
    in->forward = found.cls ? onx_script_method(found.cls, name) : NULL;
    if (in->forward && in->forward->arg_count) return ONX_OK;
    return fail_method(in, found.cls, name, diag);
}

static onx_status open_archive(onx_interp *in, onx_diag *diag) {
    ONX_TRY(onx_script_new(in->x->ctx, read_code, in->archive, &in->script, diag));
    ONX_TRY(read_pickles(in, diag));
    return find_forward(in, diag);
}

onx_interp *onx_interp_open(onx_export *x, onx_archive *archive) {
    if (!onx_x_ok(x)) return NULL;
    onx_interp *in = onx_x_alloc(x, sizeof *in);
    if (!in) return NULL;
    *in = (onx_interp){.x = x, .archive = archive, .version = onx_archive_version(archive)};
    if (!in->version) in->version = UINT64_MAX;
    for (size_t i = 0; map_of(in, i); i++) onx_map_init(map_of(in, i), x->ctx);
    onx_status status = open_archive(in, &x->diag);
    if (status) x->status = status;
    if (!status && onx_interp_add_builtins(in) && onx_interp_name(in, in->data.root))
        in->root = onx_py_load(in, in->data.root, ONX_LIT(""));
    onx_interp_find_inputs(in);
    if (onx_x_ok(x)) return in;
    onx_interp_close(in);
    return NULL;
}

void onx_interp_close(onx_interp *in) {
    if (!in) return;
    for (size_t i = 0; map_of(in, i); i++) onx_map_fini(map_of(in, i));
    onx_pickle_fini(&in->samples);
    onx_pickle_fini(&in->constants);
    onx_pickle_fini(&in->data);
    onx_script_free(in->script);
}

/* ─ Outputs ──────────────────────────────────────────────────────────────────────────────────── */

static void add_output(onx_interp *in, onx_str name, const onx_xv *v);

static void add_items(onx_interp *in, onx_str name, const onx_xv *v, size_t n,
                      const onx_xv *items) {
    const onx_py_object *object = v->kind == ONX_X_OBJECT ? v->object : NULL;
    for (size_t i = 0; i < n && onx_x_ok(in->x); i++) {
        onx_str number = name.size ? onx_interp_part(in, name, ".", i)
                                   : onx_interp_part(in, ONX_LIT("output"), "_", i);
        if (object)
            add_output(in, onx_interp_join(in, name, object->cls->attrs[i].name), &items[i]);
        else
            add_output(in, number, &items[i]);
    }
}

static void add_entries(onx_interp *in, onx_str name, const onx_xdict *dict) {
    for (size_t i = 0; i < dict->keys.n && onx_x_ok(in->x); i++) {
        const onx_xv *key = &dict->keys.v[i];
        int64_t number;
        onx_str text = key->kind == ONX_X_STR ? key->str : onx_interp_part(in, ONX_LIT(""), "", i);
        if (onx_xv_known_int(key, &number) && number >= 0)
            text = onx_interp_part(in, ONX_LIT(""), "", (size_t)number);
        add_output(in, onx_interp_join(in, name, text), &dict->values.v[i]);
    }
}

static void add_leaf(onx_interp *in, onx_str name, const onx_xv *v) {
    if (v->kind == ONX_X_NONE) return;
    if (onx_py_maybe_of(v)) {
        onx_x_fail(in->x, ONX_UNSUPPORTED, "forward gives None or a value, which depends on data");
        onx_x_hint(in->x, "give a tensor either way, and a bool that tells");
        return;
    }
    if (v->kind != ONX_X_TENSOR && !onx_xv_is_number(v) && v->kind != ONX_X_UNKNOWN) {
        onx_x_note(in->x, "output '%.*s' is %s, which a model cannot give: it is left out",
                   ONX_FMT(name), onx_py_kind(v));
        return;
    }
    if (v->kind == ONX_X_TENSOR && v->tensor->quant)
        onx_x_note(in->x, "output '%.*s' is a quantized tensor: the model gives its integers",
                   ONX_FMT(name));
    if (!onx_arena_grow(&in->x->arena, &in->outputs, &in->output_cap, in->output_count,
                        sizeof *in->outputs))
        onx_x_nomem(in->x);
    else
        in->outputs[in->output_count++] =
            (onx_interp_result){name.size ? name : ONX_LIT("output"), *v};
}

static void add_output(onx_interp *in, onx_str name, const onx_xv *v) {
    size_t n = 0;
    if (!onx_py_enter(in) || !onx_py_spend(in, 16)) return;
    const onx_xv *items = onx_py_items(v, &n);
    if (onx_py_is_stack(in, v)) {
        onx_x_fail(in->x, ONX_UNSUPPORTED, "forward gives a list whose length depends on data");
        onx_x_hint(in->x, "give a tensor: torch.stack(list)");
    } else if (items)
        add_items(in, name, v, n, items);
    else if (v->kind == ONX_X_DICT)
        add_entries(in, name, v->dict);
    else
        add_leaf(in, name, v);
    onx_py_leave(in);
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

/* ─ What changed ─────────────────────────────────────────────────────────────────────────────── */

static void add_write(onx_interp *in, onx_str name, const onx_xv *v) {
    if (onx_arena_grow(&in->x->arena, &in->writes, &in->write_cap, in->write_count,
                       sizeof *in->writes))
        in->writes[in->write_count++] = (onx_interp_result){name, *v};
    else
        onx_x_nomem(in->x);
}

static void find_set(onx_interp *in) {
    for (size_t i = 0; i < in->set.cap && onx_x_ok(in->x); i++) {
        const onx_map_entry *entry = &in->set.entries[i];
        const onx_py_object *object = entry->value;
        if (!object) continue;
        const onx_script_attr *attr = onx_script_attribute(object->cls, entry->name);
        add_write(in, onx_interp_join(in, object->path, attr->name),
                  &object->attrs[attr - object->cls->attrs]);
    }
}

static void find_writes(onx_interp *in, const onx_xv *inputs) {
    for (size_t i = 0; i < in->values.cap; i++) {
        const onx_xv *v = in->values.entries[i].value ? in->values.entries[i].value : NULL;
        const onx_pk *pk = in->values.entries[i].owner;
        if (!v || !pk || pk->kind != ONX_PK_TENSOR || v->kind != ONX_X_TENSOR) continue;
        if (v->tensor->storage->version && v->tensor->storage->buffer)
            add_write(in, onx_str_of(v->tensor->storage->buffer), v);
    }
    for (size_t i = 0; i < in->input_count && onx_x_ok(in->x); i++)
        if (inputs[i].kind == ONX_X_TENSOR && inputs[i].tensor->storage->version)
            add_write(in, in->inputs[i].name, &inputs[i]);
    find_set(in);
}

static int by_name(const void *a, const void *b) {
    onx_str x = ((const onx_interp_result *)a)->name, y = ((const onx_interp_result *)b)->name;
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* In an order that is always the same; only tensors can be given. */
static void tell_writes(onx_interp *in) {
    size_t n = in->write_count;
    if (n) qsort(in->writes, n, sizeof *in->writes, by_name);
    in->write_count = 0;
    for (size_t i = 0; i < n && onx_x_ok(in->x); i++) {
        onx_x_note(in->x, "forward changes '%.*s', which no run of the model keeps for the next",
                   ONX_FMT(in->writes[i].name));
        if (in->writes[i].value.kind == ONX_X_TENSOR) in->writes[in->write_count++] = in->writes[i];
    }
}

/* The hooks of the root are run by whoever calls it; those of others the code calls itself. */
static onx_xv run_hooks(onx_interp *in, const onx_str *names, size_t n, onx_xv args,
                        const onx_xv *result) {
    onx_xv v = result ? *result : args;
    for (size_t i = 0; i < n && onx_x_ok(in->x); i++) {
        onx_xarg list[] = {{.v = result ? args : v}, {.v = v}};
        onx_xv given = onx_py_call_method(in, &in->root, names[i], result ? 2 : 1, list);
        if (given.kind != ONX_X_NONE) v = given;
    }
    return v;
}

static onx_xv run_root(onx_interp *in, onx_xv args) {
    const onx_py_object *root = in->root.object;
    const onx_script_class *cls = root->cls;
    bool hooked = onx_str_is(in->forward->name, "forward");
    if (hooked) args = run_hooks(in, cls->pre_hooks, cls->pre_hook_count, args, NULL);
    onx_xarg *list = onx_x_array(in->x, in->forward->arg_count + 1, sizeof *list);
    size_t n = 0;
    const onx_xv *items = onx_py_items(&args, &n);
    if (!items) items = &args, n = 1;
    if (!list || n > in->forward->arg_count) return onx_py_none();
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!onx_py_is_other(&items[i], onx_py_unset))
            list[count++] = (onx_xarg){.name = in->forward->args[i + 1].name, .v = items[i]};
    onx_xv result = onx_py_call_method(in, &in->root, in->forward->name, count, list);
    return hooked ? run_hooks(in, cls->hooks, cls->hook_count, args, &result) : result;
}

bool onx_interp_run(onx_interp *in, const onx_xv *values) {
    if (!in || !onx_x_ok(in->x)) return false;
    onx_interp_find_traced(in, values);
    onx_xv args = onx_interp_arguments(in, values);
    onx_xv result = onx_x_ok(in->x) ? run_root(in, args) : onx_py_none();
    if (onx_x_ok(in->x)) add_output(in, ONX_LIT(""), &result);
    if (onx_x_ok(in->x)) find_writes(in, values);
    if (onx_x_ok(in->x)) tell_writes(in);
    if (in->x->survey) in->x->status = ONX_OK; /* what is missing is told; what followed is noise */
    return onx_x_check_missing(in->x) == ONX_OK;
}

size_t onx_interp_output_count(const onx_interp *in) {
    return in ? in->output_count : 0;
}
const onx_interp_result *onx_interp_output(const onx_interp *in, size_t i) {
    return &in->outputs[i];
}
size_t onx_interp_write_count(const onx_interp *in) {
    return in ? in->write_count : 0;
}
const onx_interp_result *onx_interp_write(const onx_interp *in, size_t i) {
    return &in->writes[i];
}
