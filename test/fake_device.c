/* fake_device.c: see fake_device.h. An address on the device is one of the host with its top bits
 * changed: the processor traps when it is used. */
#include "fake_device.h"

#include "rt/engine.h"

#include <stdlib.h>

#define TAG ((uintptr_t)0x5a << 48)

static bool tagged(const void *p) {
    return ((uintptr_t)p & ((uintptr_t)0xff << 48)) == TAG;
}
static void *untag(const void *p) {
    return (void *)((uintptr_t)p & ~((uintptr_t)0xff << 48));
}

static bool claims(void *user, const onx_node *node) {
    fake_device *d = user;
    (void)node;
    bool mine = d->asked++ % d->every == 0;
    d->claimed += mine;
    return mine;
}

static onx_status take(void *user, onx_context *ctx, size_t bytes, void **out) {
    fake_device *d = user;
    void *real = NULL;
    ONX_TRY(onx_device_alloc(&d->cpu.provider, ctx, bytes, &real, NULL));
    d->bytes += bytes;
    *out = (void *)((uintptr_t)real | TAG);
    return ONX_OK;
}

static void give(void *user, onx_context *ctx, void *data, size_t bytes) {
    fake_device *d = user;
    d->bytes -= bytes;
    onx_device_free(&d->cpu.provider, ctx, untag(data), bytes);
}

static onx_status copy(void *user, void *to, const void *from, size_t bytes, bool to_device) {
    fake_device *d = user;
    d->copied += bytes;
    d->faults += tagged(to) != to_device || tagged(from) == to_device;
    memcpy(untag(to), untag(from), bytes);
    return ONX_OK;
}

/* Operands must be on the device, but those that the row wants on the host. */
static onx_operand *bring(fake_device *d, const onx_operand *operand, bool on_host,
                          onx_operand *room) {
    if (!operand) return NULL;
    *room = *operand;
    if (operand->data && operand->bytes) d->faults += tagged(operand->data) == on_host;
    room->data = untag(operand->data);
    return room;
}

static onx_status launch(void *user, const onx_kernel *kernel, onx_call *call) {
    enum { MOST = 64 };
    fake_device *d = user;
    onx_operand room[2 * MOST], *in[MOST], *out[MOST];
    onx_call mine = *call;
    if (call->n_in > MOST || call->n_out > MOST) abort();
    for (size_t i = 0; i < call->n_in; i++)
        in[i] = bring(d, call->in[i], call->kernel->host >> i & 1, &room[i]);
    for (size_t i = 0; i < call->n_out; i++)
        out[i] = bring(d, call->out[i], false, &room[MOST + i]);
    mine.in = in;
    mine.out = out;
    mine.scratch = untag(call->scratch);
    d->launched++;
    return kernel->run(&mine);
}

void fake_device_init(fake_device *d, size_t every) {
    memset(d, 0, sizeof *d);
    d->every = every;
    if (onx_cpu_init(&d->cpu, "ref", NULL) != ONX_OK) abort();
    d->provider = (onx_provider){.name = "fake",
                                 .tables = d->cpu.tables,
                                 .tiers = d->cpu.tiers,
                                 .claims = claims,
                                 .alloc = take,
                                 .free = give,
                                 .copy = copy,
                                 .launch = launch,
                                 .user = d};
}
