/* SPDX-License-Identifier: Apache-2.0 */
/* value_zeros.c: counts the zeros of a value, for the sparsity of activations. The loop counts the elements that are
 * not zero and subtracts, because padding also holds zeros, which do not count. */
#include "../choose/memory_order.h"

enum { SIGNLESS = 0x7fff };

static int64_t count_floats(const float *x, int64_t n)
{
    int64_t others = 0;
    for (int64_t i = 0; i < n; i++) others += x[i] != 0;
    return others;
}

/* Counts elements of bf16 or f16 that are not zero: any bit but the sign is set. */
static int64_t count_halves(const uint16_t *x, int64_t n)
{
    int64_t others = 0;
    for (int64_t i = 0; i < n; i++) others += (x[i] & SIGNLESS) != 0;
    return others;
}

int64_t tutti_value_zeros(const tutti_value *v, const void *memory)
{
    const int64_t n = tutti_value_elements(v);
    return tutti_shape_count(&v->shape) - (v->dtype == TUTTI_F32 ? count_floats(memory, n) : count_halves(memory, n));
}
