/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_impl.h: the table of loops behind elementwise.h, with a row for each instruction set, made of
 * elementwise_vector.c. */
#ifndef TUTTI_ELEMENTWISE_IMPL_H
#define TUTTI_ELEMENTWISE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "elementwise.h"
#include "isa.h"

enum { TUTTI_ELEMENTWISE_STACK = 32 }; /* the most pending sums for which an expression needs no heap memory */
/* Returns the most values that an expression keeps waiting, its newest one included. folds NULL: left to right. */
int tutti_folds_depth(const uint8_t *folds, int nin);
bool tutti_folds_left_to_right(const uint8_t *folds, int nin); /* true if `folds` sums left to right; not NULL */

/* The most floats that a row computes at once; the stack is that wide. */
enum { TUTTI_ELEMENTWISE_BLOCK = 64 };

typedef struct {
    void (*reduce)(const tutti_elementwise_call *call);
} tutti_elementwise_row;
TUTTI_ISA_DECLARE(tutti_elementwise_row, tutti_elementwise);

#endif
