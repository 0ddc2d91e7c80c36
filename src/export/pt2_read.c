/* pt2_read.c: the program of a torch.export archive: which record it is, its version, signature and
 * ranges. Graphs and arguments: pt2_args.c; weights: pt2_weights.c. */
#include "export/pt2.h"

enum {
    DEPTH = 256, /* of the JSON text */
    FACTOR = 24, /* memory for it, in times its size: what a text of real nodes needs is 8 */
    MAJOR = 8,
};

static onx_status malformed(onx_diag *diag, const char *what) {
    return onx_fail(diag, ONX_MALFORMED, "%s is not as torch.export writes it", what);
}

onx_status onx_pt2_parse(onx_pt2 *program, onx_str text, const onx_json **out, onx_diag *diag) {
    size_t room;
    if (!onx_mul_size(text.size, FACTOR, &room) || !onx_add_size(room, 1 << 20, &room) ||
        !onx_add_size(room, program->arena.total, &program->arena.cap))
        return onx_fail_nomem(diag);
    return onx_json_tree(&program->arena, text, DEPTH, out, diag);
}

/* ─ Signature ────────────────────────────────────────────────────────────────────────────────── */

typedef struct spec_row {
    const char *key, *target;
} spec_row;
#define ROW(name, key, target) {key, target},
static const spec_row inputs[] = {ONX_PT2_INPUT_MAP(ROW){NULL, NULL}};
static const spec_row outputs[] = {ONX_PT2_OUTPUT_MAP(ROW){NULL, NULL}};
#undef ROW

static onx_status read_spec(onx_pt2 *program, const spec_row *rows, const onx_json *json,
                            onx_pt2_spec *out, onx_diag *diag) {
    const onx_json *key = onx_json_is(json, ONX_JSON_OBJECT) ? json->first : NULL;
    int i = 0;
    if (!key) return malformed(diag, "the signature");
    while (rows[i].key && !onx_str_is(key->text, rows[i].key)) i++;
    if (!rows[i].key)
        return onx_fail(diag, ONX_UNSUPPORTED, "a program with a '%.*s' is not known",
                        ONX_FMT(key->text));
    out->kind = i;
    if (rows[i].target) out->target = onx_json_str(onx_json_get(key->first, rows[i].target));
    if (rows == inputs && i == ONX_PT2_IN_VALUE)
        return onx_pt2_read_arg(program, onx_json_get(key->first, "value"), &out->value, diag);
    return ONX_OK;
}

static onx_status read_specs(onx_pt2 *program, const spec_row *rows, const onx_json *json, size_t n,
                             const onx_pt2_spec **out, onx_diag *diag) {
    onx_pt2_spec *specs = onx_arena_array(&program->arena, n + 1, sizeof *specs);
    if (!specs) return onx_fail_nomem(diag);
    if (onx_json_count(json) != n) return malformed(diag, "the signature");
    *out = specs;
    ONX_JSON_EACH(item, json) ONX_TRY(read_spec(program, rows, item, specs++, diag));
    return ONX_OK;
}

/* Of schema 1: names of the graph to paths, {"inputs_to_parameters": {"arg0_1": "fc.weight"}}. */
static const struct old_map {
    const char *key;
    int kind;
} old_inputs[] = {{"inputs_to_parameters", ONX_PT2_IN_PARAMETER},
                  {"inputs_to_buffers", ONX_PT2_IN_BUFFER},
                  {"inputs_to_lifted_tensor_constants", ONX_PT2_IN_CONSTANT},
                  {NULL, ONX_PT2_IN_USER}},
  old_outputs[] = {{"buffers_to_mutate", ONX_PT2_OUT_BUFFER_MUTATION},
                   {"user_inputs_to_mutate", ONX_PT2_OUT_INPUT_MUTATION},
                   {NULL, ONX_PT2_OUT_USER}};

static onx_status read_old(onx_pt2 *program, const struct old_map *maps, const onx_json *signature,
                           size_t n, const onx_pt2_arg *args, const onx_pt2_spec **out,
                           onx_diag *diag) {
    onx_map paths; /* (row, name) to the key's node */
    onx_map_init(&paths, program->arena.ctx);
    onx_pt2_spec *specs = onx_arena_array(&program->arena, n + 1, sizeof *specs);
    bool ok = specs != NULL;
    for (const struct old_map *map = maps; map->key; map++)
        ONX_JSON_EACH(key, onx_json_get(signature, map->key))
    ok = ok && onx_map_put(&paths, map, key->text, (void *)(uintptr_t)key);
    for (size_t i = 0; ok && i < n; i++) {
        const struct old_map *map = maps;
        const onx_json *key = NULL;
        for (; map->key && args[i].kind == ONX_PT2_NAME; map++)
            if ((key = onx_map_get(&paths, map, args[i].str))) break;
        specs[i].kind = key ? map->kind : ONX_PT2_IN_USER;
        if (key) specs[i].target = onx_json_str(key->first);
    }
    onx_map_fini(&paths);
    *out = specs;
    return ok ? ONX_OK : onx_fail_nomem(diag);
}

static onx_status read_signature(onx_pt2 *program, const onx_json *json, onx_diag *diag) {
    const onx_pt2_graph *graph = program->graph;
    const onx_json *in = onx_json_get(json, "input_specs"),
                   *out = onx_json_get(json, "output_specs");
    program->n_in = graph->n_in, program->n_out = graph->n_out;
    if (!in && !out) {
        ONX_TRY(read_old(program, old_inputs, json, graph->n_in, graph->in, &program->in, diag));
        return read_old(program, old_outputs, json, graph->n_out, graph->out, &program->out, diag);
    }
    ONX_TRY(read_specs(program, inputs, in, graph->n_in, &program->in, diag));
    return read_specs(program, outputs, out, graph->n_out, &program->out, diag);
}

/* ─ The program ──────────────────────────────────────────────────────────────────────────────── */

static onx_status read_version(onx_pt2 *program, const onx_json *json, onx_diag *diag) {
    const onx_json *version = onx_json_get(json, "schema_version");
    bool ok = onx_json_i64(version, &program->major) || /* schema 1 */
              (onx_json_i64(onx_json_get(version, "major"), &program->major) &&
               onx_json_i64(onx_json_get(version, "minor"), &program->minor));
    if (!ok) return malformed(diag, "the version of the program");
    if (program->major == MAJOR || program->major == 1) return ONX_OK;
    onx_fail(diag, ONX_UNSUPPORTED,
             "the program is of schema version %lld.%lld of torch.export; known are 1 and %d",
             (long long)program->major, (long long)program->minor, MAJOR);
    onx_diag_hint(diag, "save it again with torch.export.save of torch 2.5 or later");
    return ONX_UNSUPPORTED;
}

static onx_status read_ranges(onx_pt2 *program, const onx_json *json, onx_diag *diag) {
    onx_pt2_range *range =
        onx_arena_array(&program->arena, onx_json_count(json) + 1, sizeof *range);
    if (!range) return onx_fail_nomem(diag);
    program->ranges = range, program->n_ranges = onx_json_count(json);
    ONX_JSON_EACH(key, json) {
        *range = (onx_pt2_range){key->text, INT64_MIN, INT64_MAX};
        (void)onx_json_i64(onx_json_get(key->first, "min_val"), &range->min);
        (void)onx_json_i64(onx_json_get(key->first, "max_val"), &range->max);
        range++;
    }
    return ONX_OK;
}

static onx_status read_program(onx_pt2 *program, onx_str text, onx_diag *diag) {
    const onx_json *json, *module;
    ONX_TRY(onx_pt2_parse(program, text, &json, diag));
    ONX_TRY(read_version(program, json, diag));
    module = onx_json_get(json, "graph_module");
    program->torch = onx_json_str(onx_json_get(json, "torch_version"));
    program->fields = onx_json_get(module, "treespec_namedtuple_fields");
    ONX_JSON_EACH(entry, onx_json_get(module, "module_call_graph"))
    if (!onx_json_str(onx_json_get(entry, "fqn")).size)
        program->call = onx_json_get(entry, "signature");
    ONX_TRY(onx_pt2_read_graph(program, onx_json_get(module, "graph"), &program->graph, diag));
    ONX_TRY(read_signature(program, onx_json_get(module, "signature"), diag));
    return read_ranges(program, onx_json_get(json, "range_constraints"), diag);
}

static void init(onx_pt2 *program, onx_context *ctx, onx_archive *archive) {
    *program = (onx_pt2){.archive = archive};
    onx_arena_init(&program->arena, ctx);
    onx_map_init(&program->tensors, ctx);
    onx_map_init(&program->numbers, ctx);
    onx_map_init(&program->weights, ctx);
}

void onx_pt2_fini(onx_pt2 *program) {
    onx_pt2_close_files(program);
    onx_map_fini(&program->weights);
    onx_map_fini(&program->numbers);
    onx_map_fini(&program->tensors);
    onx_arena_fini(&program->arena);
}

/* The end of reading: `program` goes out, or goes. */
static onx_status end(onx_pt2 *program, onx_status status, onx_pt2 *out, onx_diag *diag) {
    if (status && program->arena.capped)
        status =
            onx_fail(diag, ONX_LIMIT, "the JSON text takes more than %d times its size", FACTOR);
    program->arena.cap = 0;
    if (status)
        onx_pt2_fini(program);
    else
        *out = *program;
    return status;
}

onx_status onx_pt2_read_text(onx_context *ctx, onx_str text, onx_pt2 *out, onx_diag *diag) {
    onx_pt2 program;
    init(&program, onx_context_or_default(ctx), NULL);
    return end(&program, read_program(&program, text, diag), out, diag);
}

/* The name of the program to take: the only one, or "model", as torch.export.save calls it. */
static onx_status find_model(onx_archive *archive, onx_str *out, onx_diag *diag) {
    const onx_str folder = ONX_LIT("models/"), tail = ONX_LIT(".json");
    onx_str found = {NULL, 0}, name;
    size_t n = 0;
    for (size_t i = 0; i < onx_archive_record_count(archive); i++) {
        name = onx_archive_record_name(archive, i);
        if (name.size <= folder.size + tail.size || !onx_str_ends(name, tail) ||
            memcmp(name.data, folder.data, folder.size) != 0)
            continue;
        name = (onx_str){name.data + folder.size, name.size - folder.size - tail.size};
        if (!n++ || onx_str_is(name, "model")) found = name;
    }
    *out = found;
    if (n == 0) return onx_fail(diag, ONX_NOT_FOUND, "the archive has no program (models/*.json)");
    if (n == 1 || onx_str_is(found, "model")) return ONX_OK;
    onx_fail(diag, ONX_UNSUPPORTED, "the archive has %zu programs, and none is called 'model'", n);
    onx_diag_hint(diag, "save each with torch.export.save to a file of its own");
    return ONX_UNSUPPORTED;
}

static onx_status read_archive(onx_pt2 *program, onx_diag *diag) {
    bool flat = onx_archive_kind_of(program->archive) == ONX_ARCHIVE_PT2_FLAT;
    onx_str model = {NULL, 0}, record = ONX_LIT("serialized_exported_program.json"), text;
    if (!flat) {
        ONX_TRY(find_model(program->archive, &model, diag));
        record = (onx_str){model.data - 7, model.size + 12}; /* models/NAME.json */
    }
    ONX_TRY(onx_archive_read(program->archive, record, &text, diag));
    onx_status status = read_program(program, text, diag);
    if (status && diag && !diag->place[0]) onx_diag_place(diag, "record '%.*s'", ONX_FMT(record));
    return status ? status : onx_pt2_read_weights(program, model, diag);
}

onx_status onx_pt2_read(onx_archive *archive, onx_pt2 *out, onx_diag *diag) {
    onx_pt2 program;
    init(&program, onx_archive_doc(archive)->ctx, archive);
    return end(&program, read_archive(&program, diag), out, diag);
}
