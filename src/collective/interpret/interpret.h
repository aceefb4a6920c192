/* SPDX-License-Identifier: Apache-2.0 */
/* interpret.h: the interpreter: runs a schedule on real memory under chosen or all interleavings, and so judges the
 * checker.
 *
 * It shares neither code nor method with the checker: numbers instead of symbols, elements instead of slices, tries
 * instead of clocks. Each element of each slice is read and written by an action of its own, between which any other
 * rank may act. Ranks start their next invocation independently; callers overwrite inputs and scribble over outputs as
 * early as they may. A verdict `wrong` is a fact (the seed gives the interleaving). A verdict `right` is only as good
 * as the number of tries, unless `complete` says that all interleavings were tried.
 *
 * Threads: one at a time. */
#ifndef TUTTI_INTERPRET_H
#define TUTTI_INTERPRET_H

#include "../schedule/part_source.h"

typedef struct {
    bool wrong;
    bool complete;  /* true if all interleavings were tried */
    int64_t ntries; /* number of interleavings (random) or of different states (all) */
    uint64_t seed;  /* seed of the wrong interleaving */
    char text[300]; /* message about what went wrong */
} tutti_verdict;

/* Tries `ntries` random interleavings over n elements, numbered from `seed`. Stops at the first wrong one. */
void tutti_interpret(const tutti_part_source *source, int64_t n, uint64_t seed, int64_t ntries, tutti_verdict *out);

/* Tries all interleavings whose order can matter, in units of one slice read or written, up to `max_states` different
 * states. For few ranks and few elements. It does not serve puts (one-sided); tutti_interpret does. */
void tutti_interpret_all(const tutti_part_source *source, int64_t n, int64_t max_states, tutti_verdict *out);

/* Does the work of tutti_interpret on a frozen schedule. */
void tutti_schedule_interpret(const tutti_schedule *s, int64_t n, uint64_t seed, int64_t ntries, tutti_verdict *out);

#endif
