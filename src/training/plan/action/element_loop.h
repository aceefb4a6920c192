/* SPDX-License-Identifier: Apache-2.0 */
/* element_loop.h: defines the loop of an action's row: an inlined function over tutti_elements. TUTTI_ISA_EACH(LOOP)
 * makes a function of it for each instruction set, and the compiler vectorises it. No multiplication is fused with an
 * addition (rule_loops.h). */
#ifndef TUTTI_ELEMENT_LOOP_H
#define TUTTI_ELEMENT_LOOP_H

#include "../plan.h"

#define TUTTI_ELEMENTS static inline __attribute__((always_inline)) void

/* Loops that several rows share (element_loops.c): tutti_loop_mean: to = from / nworkers; tutti_loop_read: a copy,
 * while others may change what is copied. */
extern const tutti_element_loop tutti_loop_mean, tutti_loop_read;

#endif
