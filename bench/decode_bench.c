/* decode_bench.c: a decoder run token by token, its past longer at every run, so that every run is
 * bound anew: what binding takes of it, and how memory grows.
 *
 *     decode_bench [D_MODEL [LAYERS [STEPS]]] */
#include "decoder.h"
#include "rt/session.h"

#include <stdio.h>
#include <stdlib.h>

enum { CACHES_MAX = 64, VOCAB = 512 };

int main(int argc, char **argv) {
    size_t width = argc > 1 ? (size_t)atoi(argv[1]) : 256;
    size_t layers = argc > 2 ? (size_t)atoi(argv[2]) : 4;
    size_t steps = argc > 3 ? (size_t)atoi(argv[3]) : 1000;
    decoder d = {width, 4, layers, VOCAB, steps};
    size_t caches = 2 * layers;
    onx_model *model = decoder_step_model(&d);
    onx_session *session = NULL;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.threads = 1;
    if (!model || caches > CACHES_MAX || onx_session_new(model, &options, &session, NULL) != ONX_OK)
        return 1;
    onx_arg in[2 + CACHES_MAX] = {{0}}, out[2 + CACHES_MAX] = {{0}};
    static float logits[VOCAB];
    int64_t token = 1, next = 0, position = 0;
    in[0] =
        (onx_arg){.dtype = ONX_DTYPE_I64, .rank = 2, .dims = {1, 1}, .data = &token, .bytes = 8};
    in[1] =
        (onx_arg){.dtype = ONX_DTYPE_I64, .rank = 1, .dims = {1}, .data = &position, .bytes = 8};
    out[0] = (onx_arg){.data = logits, .bytes = sizeof logits};
    out[1] = (onx_arg){.data = &next, .bytes = sizeof next};
    size_t room = width * steps * sizeof(float);
    for (size_t i = 0; i < caches; i++) {
        in[2 + i] = (onx_arg){.dtype = ONX_DTYPE_F32, .rank = 4, .data = malloc(room)};
        in[2 + i].dims[0] = 1, in[2 + i].dims[1] = 4, in[2 + i].dims[3] = (int64_t)width / 4;
        out[2 + i] = (onx_arg){.data = malloc(room), .bytes = room};
        if (!in[2 + i].data || !out[2 + i].data) return 1;
    }
    size_t before = onx_context_memory_used(NULL), half = 0;
    int64_t start = onx_clock_ns();
    for (; position < (int64_t)steps; position++) {
        if (position == (int64_t)steps / 2) half = onx_context_memory_used(NULL) - before;
        if (onx_session_run(session, 2 + caches, in, 2 + caches, out, NULL, NULL) != ONX_OK)
            return 1;
        for (size_t i = 2; i < 2 + caches; i++) {
            void *data = in[i].data;
            in[i].data = out[i].data;
            in[i].bytes = room;
            in[i].dims[2] = position + 1;
            out[i].data = data;
            out[i].bytes = room;
        }
        token = next;
    }
    double total = (double)(onx_clock_ns() - start) / 1e6;
    const onx_frame *frame = session->variants->idle->frame;
    double bind = (double)frame->bind_ns / 1e6;
    printf("%zu wide, %zu layers, %zu steps of %zu program steps: %.1f ms, of which binding %zu "
           "times %.1f ms: %.1f%%; %.0f ns a step\n",
           width, layers, steps, frame->program->n_steps, total, frame->binds, bind,
           100 * bind / total, bind * 1e6 / (double)(frame->binds * frame->program->n_steps));
    printf("memory of the session: %zu kB half way, %zu kB at the end\n", half / 1000,
           (onx_context_memory_used(NULL) - before) / 1000);
    onx_session_free(session);
    onx_model_free(model);
    return 0;
}
