/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_framework.c: any bytes as the file of a framework: refused with words, or read with figures that a step can be
 * made of. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predict/framework.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_framework f;
    tutti_failure err = {0};
    char *text = calloc(n + 1, 1);
    if (!text) abort();
    memcpy(text, bytes, n);
    if (tutti_framework_parse("fuzz", text, &f, &err)) {
        if (!err.text[0]) abort();
    } else {
        tutti_framework_sets sets;
        tutti_prediction p = {.step_s = 2, .compute_s = 1, .lower_s = 1, .upper_s = 3, .samples_per_s = 1};
        tutti_framework_apply(&f, 1e6, &p);
        if (!(p.step_s >= 2)) abort();
        if (tutti_framework_overrides(&f, sets) > TUTTI_FRAMEWORK_MAX_SETS) abort();
        tutti_framework_release(&f);
    }
    free(text);
    return 0;
}
