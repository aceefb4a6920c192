/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_impl.h: the table of loops behind elementwise.h, with a row for each instruction set, made of
 * elementwise_vector.c. */
#ifndef TUTTI_ELEMENTWISE_IMPL_H
#define TUTTI_ELEMENTWISE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "elementwise.h"
#include "isa.h"

enum { TUTTI_ELEMENTWISE_STACK = 32 }; /* largest number of waiting sums for which an expression needs no heap memory */
/* Returns the largest number of values that wait on the stack while an expression is computed, the newest value
 * included. folds NULL means left to right. */
int tutti_folds_depth(const uint8_t *folds, int nin);
/* true if `folds`, which is not NULL, adds from left to right */
bool tutti_folds_left_to_right(const uint8_t *folds, int nin);

/* Largest number of floats that a row computes at once. Each entry of the stack has this number of floats. */
enum { TUTTI_ELEMENTWISE_BLOCK = 64 };

typedef struct {
    void (*reduce)(const tutti_elementwise_call *call);
} tutti_elementwise_row;
TUTTI_ISA_DECLARE(tutti_elementwise_row, tutti_elementwise);

#endif
