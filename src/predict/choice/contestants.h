/* SPDX-License-Identifier: Apache-2.0 */
/* contestants.h: the algorithms that are worth a plan, from one simulation of each. Threads: shared (pure). */
#ifndef TUTTI_CHOICE_CONTESTANTS_H
#define TUTTI_CHOICE_CONTESTANTS_H

#include "choice.h"

/* An algorithm, and who updates. */
typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    bool replicated;
    double score_s; /* about what a step takes; the fixed rule's is 0 */
} tutti_contestant;

enum { TUTTI_MOST_CONTESTANTS = 8 };
typedef struct {
    tutti_contestant list[TUTTI_MOST_CONTESTANTS];
    int n;
    int nsimulated;
} tutti_contestants;

/* base: a plan by the fixed rule that knows its costs, whose items say when gradients are ready. The rule itself comes
 * first. */
void tutti_contestants_forget(tutti_choice_memory *m);
void tutti_contestants_find(const tutti_choice_question *q, const tutti_plan *base, tutti_choice_memory *memory,
                            tutti_contestants *out);

#endif
