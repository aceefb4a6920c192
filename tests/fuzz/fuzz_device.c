/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_device.c: any bytes as the file of a device: refused with words, or read with figures that times can be made of. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predict/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_device d;
    tutti_failure err = {0};
    char *text = calloc(n + 1, 1);
    if (!text) abort();
    memcpy(text, bytes, n);
    if (tutti_device_parse("fuzz", text, &d, &err)) {
        if (!err.text[0]) abort();
    } else {
        const tutti_device_work work = {
            .class = TUTTI_DEVICE_CONV1X1, .is_product = true, .flops = 1e9, .bytes = 1e6, .by = "onednn"};
        const double seconds = tutti_device_seconds(&d, TUTTI_PRECISION_F32, TUTTI_PASS_DATA, &work);
        if (isnan(seconds) || seconds < 0) abort();
        tutti_device_release(&d);
    }
    free(text);
    return 0;
}
