/* providers.c: who runs the nodes of a session: the caller's list, read; kernels that programs
 * added; devices.
 *
 * A provider that is known but not in this build is passed over when another one follows in the
 * list: "cuda, cpu" is the GPU where there is one. The CPU is always the last, whatever the list
 * says: it runs what the others cannot. */
#include "rt/custom_row.h"
#include "rt/session.h"

#include "ops/signature.h"

static const struct {
    const char *name, *alias;
    bool built;
} known[] = {
    {"cpu", "CPUExecutionProvider", true},
    {"cuda", "CUDAExecutionProvider", false},
};

static size_t find(onx_str name) {
    size_t i = 0;
    while (i < ONX_COUNT(known) && !onx_str_is(name, known[i].name) &&
           !onx_str_is(name, known[i].alias))
        i++;
    return i;
}

static onx_status read_list(const onx_session *s, const char *text, onx_diag *diag) {
    onx_str rest = onx_str_of(text), name;
    bool chosen = false;
    while (onx_signature_cut(&rest, ',', &name)) {
        size_t i = find(name);
        if (i == ONX_COUNT(known)) {
            onx_fail(diag, ONX_USAGE, "there is no provider '%.*s'", ONX_FMT(name));
            onx_diag_hint(diag, "cpu and cuda are known, in order of preference: \"cuda, cpu\"");
            return ONX_USAGE;
        }
        chosen |= known[i].built;
        if (!known[i].built && rest.data && !chosen)
            onx_session_log(s, ONX_LOG_WARNING,
                            "the provider %s is not in this build: the next one is used",
                            known[i].name);
    }
    if (chosen) return ONX_OK;
    onx_fail(diag, ONX_UNSUPPORTED, "the provider '%.100s' is not in this build", text);
    onx_diag_hint(diag, "use cpu, or let it follow: \"cuda, cpu\"");
    return ONX_UNSUPPORTED;
}

/* Kernels that were added to the context are asked first. */
static onx_status add_custom_rows(onx_session *s, onx_diag *diag) {
    onx_cpu *cpu = &s->cpu;
    const onx_kernel *rows = NULL;
    ONX_TRY(onx_custom_rows(s->ctx, &s->arena, &rows, diag));
    if (!rows) return ONX_OK;
    memmove(&cpu->tables[1], &cpu->tables[0], sizeof cpu->tables - sizeof cpu->tables[0]);
    memmove(&cpu->tiers[1], &cpu->tiers[0], sizeof cpu->tiers - sizeof cpu->tiers[0]);
    cpu->tables[0] = rows;
    cpu->tiers[0] = "custom";
    return ONX_OK;
}

onx_status onx_session_choose(onx_session *s, const onx_session_options *options,
                              const onx_provider *const *providers, size_t n, onx_diag *diag) {
    if (options->providers && *options->providers) ONX_TRY(read_list(s, options->providers, diag));
    if (n + 1 > ONX_DEVICES) return onx_fail(diag, ONX_USAGE, "there are too many providers");
    ONX_TRY(onx_cpu_init(&s->cpu, options->cpu, diag));
    s->cpu.provider.fast = options->numerics == ONX_NUMERICS_FAST;
    for (size_t i = 0; i < n; i++) s->engine.providers[i] = providers[i];
    s->engine.providers[n] = &s->cpu.provider;
    s->engine.n_providers = n + 1;
    s->engine.host = n;
    onx_session_log(s, ONX_LOG_INFO, "runs on the cpu, %s, %zu thread%s", s->cpu.isa,
                    s->engine.threads, s->engine.threads == 1 ? "" : "s");
    return add_custom_rows(s, diag);
}
