/* SPDX-License-Identifier: Apache-2.0 */
/* contestants.h: the algorithms that are worth a plan, from one simulation of each. Threads: any (pure functions). */
#ifndef TUTTI_CHOICE_CONTESTANTS_H
#define TUTTI_CHOICE_CONTESTANTS_H

#include "choice.h"

/* An algorithm, and which ranks update. */
typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    bool replicated;
    double score_s; /* estimated seconds of a step; 0 for the fixed rule */
} tutti_contestant;

enum { TUTTI_MOST_CONTESTANTS = 8 };
typedef struct {
    tutti_contestant list[TUTTI_MOST_CONTESTANTS];
    int n;
    int nsimulated;
} tutti_contestants;

/* tutti_contestants_forget empties the simulations in m. tutti_contestants_find lists the contestants, the fixed rule
 * first. base: a plan by the fixed rule with costs, whose items say when gradients are ready. */
void tutti_contestants_forget(tutti_choice_memory *m);
void tutti_contestants_find(const tutti_choice_question *q, const tutti_plan *base, tutti_choice_memory *memory,
                            tutti_contestants *out);

#endif
