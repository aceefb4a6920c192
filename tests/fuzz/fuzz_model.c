/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_model.c: any bytes as a model file: read or refused with words, never more. What is accepted has shapes, a size
 * and a cost at any batch, or says why not, and keeps its parameters where layers are merged. */
#include <stdint.h>
#include <stdlib.h>

#include "training/model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tutti_model *m = NULL;
    tutti_failure err = {0};
    if (tutti_model_parse("fuzz.yaml", (const char *)bytes, n, &m, &err) != TUTTI_OK) {
        if (!err.text[0] || m) abort();
        return 0;
    }
    if (tutti_model_nparams(m) < 0 || !(tutti_model_flops(m, 1) >= 0)) abort();
    tutti_shape *shapes = calloc((size_t)m->nlayers, sizeof *shapes);
    tutti_failure big = {0};
    if (tutti_model_infer(m, 1 << 30, shapes, &big) != TUTTI_OK && !big.text[0]) abort();
    free(shapes);
    tutti_model *fused = tutti_model_fuse(m);
    if (fused->nlayers > m->nlayers || tutti_model_nparams(fused) != tutti_model_nparams(m)) abort();
    tutti_model_destroy(fused);
    tutti_model_destroy(m);
    return 0;
}
