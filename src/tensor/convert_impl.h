/* SPDX-License-Identifier: Apache-2.0 */
/* convert_impl.h: the rows behind convert.h, one a file. */
#ifndef TUTTI_CONVERT_IMPL_H
#define TUTTI_CONVERT_IMPL_H

#include <stdint.h>

#include "convert_one.h"

/* Index of the two arrays of each row: TUTTI_BF16, TUTTI_F16 from 0. */
enum { TUTTI_CONVERT_BF16, TUTTI_CONVERT_F16, TUTTI_NCONVERT };

typedef struct tutti_convert_row {
    void (*widen[TUTTI_NCONVERT])(const uint16_t *from, float *to, int64_t n);
    void (*narrow[TUTTI_NCONVERT])(const float *from, uint16_t *to, int64_t n);
    void (*add[TUTTI_NCONVERT])(uint16_t *y, const uint16_t *x, int64_t n);
} tutti_convert_row;

extern const tutti_convert_row tutti_convert_avx512, tutti_convert_avx2, tutti_convert_generic;

#endif
