/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: which algorithm for this collective, rank count, size and topology: every row of the table of compilers, with
 * each variant of its parameters, is compiled, lowered where the topology maps memory, simulated, and the fastest wins; ties go to the earlier row.
 *
 * Nothing is cached and nothing is random: equal questions have equal answers on all ranks. Threads: shared. */
#ifndef TUTTI_CHOOSE_H
#define TUTTI_CHOOSE_H

#include "simulate.h"

enum { TUTTI_MAX_CANDIDATES = 96 };

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT]; /* with all parameters; what was asked for where it cannot be had */
    bool can;                             /* false: refusal says why */
    tutti_simulation sim;
    tutti_closed_form form; /* seconds 0 where there is none */
    char refusal[200];
} tutti_candidate;

typedef struct {
    tutti_candidate candidates[TUTTI_MAX_CANDIDATES]; /* in table order, what stands initially before the variants */
    int ncandidates;
    int best; /* index; -1: none can */
    tutti_bounds bounds;
} tutti_choice;

/* n elements. Cost: every schedule once; direct has ranks^2 messages. */
void tutti_choose_algorithm(const tutti_compile_request *request, int64_t n, const tutti_topology *t,
                            tutti_choice *out);

#endif
