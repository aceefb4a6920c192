/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_device.c: any bytes as the file of a device: refused with words, or read with figures that times can be made
 * of. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predict/profile/processor_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* All classes, passes and precisions, of what the cache holds and of more. */
static void time_kernels(const tutti_processor_model *d)
{
    static const char *const by[] = {NULL, "onednn", "winograd"};
    enum { NBYS = sizeof by / sizeof *by };
    for (int i = 0; i < TUTTI_DEVICE_NCLASSES * TUTTI_NPASSES * TUTTI_NPRECISIONS * NBYS; i++) {
        const int precision = i / NBYS % TUTTI_NPRECISIONS, pass = i / NBYS / TUTTI_NPRECISIONS % TUTTI_NPASSES;
        for (double nbytes = 1e3; nbytes <= 1e9; nbytes *= 1e3) {
            const tutti_processor_model_work work = {
                .class = (tutti_processor_model_class)(i / NBYS / TUTTI_NPRECISIONS / TUTTI_NPASSES),
                .is_product = true,
                .flops = 1e9,
                .bytes = nbytes,
                .by = by[i % NBYS]};
            if (d->peak[precision] <= 0) continue; /* no job of it */
            const double seconds =
                tutti_processor_model_seconds(d, (tutti_precision)precision, (tutti_kernel_pass)pass, &work);
            if (!(seconds >= 0 && seconds < INFINITY)) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_processor_model d;
    tutti_failure err = {0};
    char *text = calloc(n + 1, 1);
    if (!text) abort();
    memcpy(text, bytes, n);
    if (tutti_processor_model_parse("fuzz", text, &d, &err)) {
        if (!err.text[0]) abort();
    } else {
        time_kernels(&d);
        tutti_processor_model_release(&d);
    }
    free(text);
    return 0;
}
