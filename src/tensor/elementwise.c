/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.c: sums and copies vectors of f32 by the loops for this processor. */
#include "elementwise.h"

#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "elementwise_impl.h"

TUTTI_ISA_TABLE(tutti_elementwise_row, tutti_elementwise);

static const tutti_elementwise_row *row_here(void)
{
    return tutti_elementwise_rows[tutti_isa_here()];
}

bool tutti_folds_left_to_right(const uint8_t *folds, int nin)
{
    if (folds[0] != 0) return false;
    for (int k = 1; k < nin; k++)
        if (folds[k] != 1) return false;
    return true;
}

int tutti_folds_depth(const uint8_t *folds, int nin)
{
    int depth = 0, most = 0;
    for (int k = 0; k < nin; k++) {
        if (++depth > most) most = depth;
        depth -= folds ? folds[k] : k > 0;
    }
    return most;
}

void tutti_elementwise_reduce(const tutti_elementwise_call *c)
{
    tutti_elementwise_call call = *c;
    if (c->n <= 0) return;
    if (c->folds && tutti_folds_left_to_right(c->folds, c->nin)) call.folds = NULL;
    if (!call.folds) {
        row_here()->reduce(&call);
        return;
    }
    float fixed[TUTTI_ELEMENTWISE_STACK * TUTTI_ELEMENTWISE_BLOCK];
    const int depth = tutti_folds_depth(c->folds, c->nin);
    call.stack = depth <= TUTTI_ELEMENTWISE_STACK
                     ? fixed
                     : tutti_alloc((size_t)depth * TUTTI_ELEMENTWISE_BLOCK * sizeof *call.stack);
    row_here()->reduce(&call);
    if (call.stack != fixed) free(call.stack);
}

void tutti_elementwise_copy(float *const *outputs, int nout, const float *input, int64_t n, bool stream)
{
    const tutti_elementwise_call call = {
        .outputs = outputs, .nout = nout, .inputs = &input, .nin = 1, .n = n, .stream = stream};
    if (n > 0) row_here()->reduce(&call);
}

void tutti_elementwise_add(float *y, const float *x, int64_t n)
{
    const float *inputs[2] = {y, x};
    tutti_elementwise_reduce(&(tutti_elementwise_call){.outputs = &y, .nout = 1, .inputs = inputs, .nin = 2, .n = n});
}

/* Looks for infinities and NaNs, which have all exponent bits set. The loop tests blocks of a fixed size, because the
 * compiler turns such loops into vector code for every instruction set. */
bool tutti_elementwise_is_finite(const float *x, int64_t n)
{
    enum { BLOCK = 16 };
    const uint32_t exponent = 0x7f800000, one = 0x00800000;
    uint32_t seen[BLOCK] = {0};
    int64_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        uint32_t bits[BLOCK];
        memcpy(bits, x + i, sizeof bits);
        for (int k = 0; k < BLOCK; k++) seen[k] |= (bits[k] & exponent) + one;
    }
    for (; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        seen[0] |= (bits & exponent) + one;
    }
    for (int k = 1; k < BLOCK; k++) seen[0] |= seen[k];
    return !(seen[0] >> 31);
}
