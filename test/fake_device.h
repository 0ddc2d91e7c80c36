/* fake_device.h: a second device with memory of its own, to keep the engine honest: addresses of
 * its memory cannot be used by the host. It runs the plain kernels. */
#ifndef ONX_TEST_FAKE_DEVICE_H
#define ONX_TEST_FAKE_DEVICE_H

#include "cpu/cpu.h"

typedef struct fake_device {
    onx_provider provider;
    onx_cpu cpu;  /* whose plain rows it runs */
    size_t every; /* it claims every so many-th node it is asked for */
    size_t asked, claimed, launched, copied, faults;
    size_t bytes; /* of its memory in use */
} fake_device;

void fake_device_init(fake_device *device, size_t every);

#endif
