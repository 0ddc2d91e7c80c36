/* ways.h: every way to run a model: tiers × threads × how it is optimized, planned and placed. */
#ifndef ONX_TEST_WAYS_H
#define ONX_TEST_WAYS_H

#include "fake_device.h"
#include "kernel.h"
#include "rt/session.h"

typedef struct way {
    const char *name;
    onx_level level;
    bool pin_all, dynamic;
    size_t fake; /* the second device takes every so many-th node; 0: there is none */
} way;

static const way ways[] = {
    {"optimized", ONX_LEVEL_ALL, false, false, 0},
    {"basic", ONX_LEVEL_BASIC, false, false, 0},
    {"extended", ONX_LEVEL_EXTENDED, false, false, 0},
    {"plain", ONX_LEVEL_NONE, false, false, 0},
    {"dynamic", ONX_LEVEL_ALL, false, true, 0},
    {"plain, dynamic", ONX_LEVEL_NONE, false, true, 0},
    {"pinned", ONX_LEVEL_ALL, true, false, 0},
    {"second device", ONX_LEVEL_BASIC, false, false, 2},
    {"second device, dynamic", ONX_LEVEL_BASIC, false, true, 2},
};

/* A session to be run that way; `device` is room for the second one. NULL, with a sentence on
 * stderr, when it cannot be made. */
static inline onx_session *way_open(const onx_model *model, const way *how, const char *tier,
                                    size_t threads, fake_device *device) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *session = NULL;
    options.level = how->level;
    options.cpu = tier;
    options.threads = threads;
    options.pin_all = how->pin_all;
    options.dynamic = how->dynamic;
    fake_device_init(device, how->fake ? how->fake : 1);
    const onx_provider *providers[] = {&device->provider};
    if (onx_session_make(model, &options, providers, how->fake ? 1 : 0, &session, &diag) !=
        ONX_OK) {
        char text[1200];
        (void)onx_diag_format(&diag, text, sizeof text);
        fprintf(stderr, "%s, %s, %zu threads: %s\n", how->name, tier, threads, text);
    }
    return session;
}

#endif
