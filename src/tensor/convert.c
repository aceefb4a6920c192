/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: converts vectors between f32, bf16 and f16 by the loops for this processor. */
#include "convert.h"

#include "convert_impl.h"
#include "elementwise.h"

TUTTI_ISA_TABLE(tutti_convert_row, tutti_convert);

static int index_of(tutti_dtype type)
{
    return type == TUTTI_BF16 ? TUTTI_CONVERT_BF16 : TUTTI_CONVERT_F16;
}

void tutti_convert_to_f32(tutti_dtype type, const void *from, float *to, int64_t n)
{
    if (type == TUTTI_F32)
        memcpy(to, from, (size_t)n * sizeof(float));
    else
        tutti_convert_rows[tutti_isa_here()]->widen[index_of(type)](from, to, n);
}

void tutti_convert_from_f32(tutti_dtype type, const float *from, void *to, int64_t n)
{
    if (type == TUTTI_F32)
        memcpy(to, from, (size_t)n * sizeof(float));
    else
        tutti_convert_rows[tutti_isa_here()]->narrow[index_of(type)](from, to, n);
}

void tutti_convert_add(tutti_dtype type, void *y, const void *x, int64_t n)
{
    if (type == TUTTI_F32)
        tutti_elementwise_add(y, x, n);
    else
        tutti_convert_rows[tutti_isa_here()]->add[index_of(type)](y, x, n);
}
