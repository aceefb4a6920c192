/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_impl.h: the loops behind reduce.h: a table with a row for each instruction set, made of reduce_vector.c; and
 * the loops over pairs (reduce_pairs.c). */
#ifndef TUTTI_REDUCE_IMPL_H
#define TUTTI_REDUCE_IMPL_H

#include "isa.h"
#include "tutti/types.h"

/* The types in which two elements are combined into one. 16-bit elements are combined in f32. argmin and argmax have no
 * entry here, because they compare elements in the elements' own type. */
typedef enum { TUTTI_IN_F32, TUTTI_IN_F64, TUTTI_IN_I32, TUTTI_IN_I64, TUTTI_NACCUMULATORS } tutti_accumulator;
enum { TUTTI_NFOLDS = TUTTI_PROD + 1 };

/* A loop that computes to[i] = older[i] op newer[i]; `to` may be `older`, else it does not overlap anything. */
typedef void (*tutti_combine)(void *to, const void *older, const void *newer, int64_t n);

typedef struct {
    tutti_combine combine[TUTTI_NACCUMULATORS][TUTTI_NFOLDS]; /* loops by type and operation, TUTTI_SUM .. TUTTI_PROD */
    void (*divide[TUTTI_NACCUMULATORS])(void *x, int64_t n, int32_t by);
} tutti_reduce_row;

TUTTI_ISA_DECLARE(tutti_reduce_row, tutti_reduce);

/* Loops by type: [type][0] is argmin, [type][1] argmax; NULL for u8. */
extern const tutti_combine tutti_reduce_pairs[TUTTI_NDTYPES][2];

#endif
