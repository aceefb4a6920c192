/* SPDX-License-Identifier: Apache-2.0 */
/* element_loop.h: how a row of actions comes to its loop: an inlined function over tutti_elements, of which
 * TUTTI_ISA_EACH(LOOP) makes one for each instruction set, and the compiler vectors. No multiplication is fused with an
 * addition (rule_loops.h). */
#ifndef TUTTI_ELEMENT_LOOP_H
#define TUTTI_ELEMENT_LOOP_H

#include "../plan.h"

#define TUTTI_ELEMENTS static inline __attribute__((always_inline)) void

/* Loops that several rows have (element_loops.c): to = from / nworkers; a copy, while others may change what is
 * copied. */
extern const tutti_element_loop tutti_loop_mean, tutti_loop_read;

#endif
