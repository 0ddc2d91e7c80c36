/* log.c: what a session decides, told to who wants to hear it. */
#include "rt/session.h"

#include <stdarg.h>
#include <stdio.h>

void onx_session_log(const onx_session *s, onx_log_level level, const char *fmt, ...) {
    char message[400];
    va_list args;
    if (!s->log) return;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    s->log(s->log_user, level, message);
}

/* Steps of a program that run plain kernels: a line for each, and how many there are. Programs are
 * nested at most as deep as build.c allows. */
static size_t log_plain(const onx_session *s, const onx_program *program, size_t *steps) {
    size_t n = 0;
    *steps += program->n_steps;
    for (size_t i = 0; i < program->n_steps; i++) {
        const onx_step *step = &program->steps[i];
        bool plain = strcmp(step->tier, "ref") == 0;
        n += plain;
        if (plain && step->node)
            onx_session_log(s, ONX_LOG_DEBUG, "%s '%.*s' runs the plain kernel %s", step->op->name,
                            ONX_FMT(step->node->name),
                            step->kernel->name ? step->kernel->name : "");
        for (uint32_t c = 0; c < step->n_children; c++) n += log_plain(s, step->children[c], steps);
    }
    return n;
}

void onx_session_log_variant(const onx_session *s, const onx_variant *v, size_t nodes) {
    size_t steps = 0;
    if (!s->log) return;
    size_t plain = log_plain(s, v->program, &steps);
    onx_session_log(s, ONX_LOG_INFO,
                    "a program was built: %zu nodes, %zu steps, %zu of them with plain kernels; "
                    "keeps %zu value%s by name",
                    nodes, steps, plain, v->n_names, v->n_names == 1 ? "" : "s");
    onx_session_log(s, ONX_LOG_INFO, "memory in use: %zu bytes", onx_context_memory_used(s->ctx));
}
