/* SPDX-License-Identifier: Apache-2.0 */
/* convert_impl.h: tables of loops behind convert.h, with a row for each instruction set, made of convert_vector.c. */
#ifndef TUTTI_CONVERT_IMPL_H
#define TUTTI_CONVERT_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "convert_one.h"
#include "isa.h"

/* Indices in a row's arrays of loops: the loops for bf16 and those for f16. */
enum { TUTTI_CONVERT_BF16, TUTTI_CONVERT_F16, TUTTI_NCONVERT };

/* Sums of 16-bit vectors in f32. The fields mean the same as in tutti_elementwise_call; `stack` has TUTTI_SUM_BLOCK
 * floats for each waiting sum. */
enum { TUTTI_SUM_BLOCK = 64 };
typedef struct {
    float *const *outputs;
    int nout;
    const uint16_t *const *inputs;
    int nin;
    const uint8_t *folds; /* order of the additions, in postfix form (tutti/schedule.h); NULL means left to right */
    float *stack;
    int64_t n;
    bool stream;
} tutti_halves_call;

typedef struct {
    void (*widen[TUTTI_NCONVERT])(const uint16_t *from, float *to, int64_t n);
    void (*narrow[TUTTI_NCONVERT])(const float *from, uint16_t *to, int64_t n);
    void (*add[TUTTI_NCONVERT])(uint16_t *y, const uint16_t *x, int64_t n);
    void (*sum[TUTTI_NCONVERT])(const tutti_halves_call *call);
} tutti_convert_row;

TUTTI_ISA_DECLARE(tutti_convert_row, tutti_convert);

#endif
