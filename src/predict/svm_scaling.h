/* SPDX-License-Identifier: Apache-2.0 */
/* svm_scaling.h: predicts how long a training of an SVM takes on more ranks, from its trace on one.
 *
 * Rounds, working sets and pairs do not depend on the number of ranks (the model has the same bits), so only times
 * change:
 *   choosing, updating, eliminating  are divided by the number of ranks
 *   alike, other, outside of rounds  stay, so they bound the speed-up
 *   moving  what it is on one rank (rows are laid side by side), and an allreduce of three pairs (f64, index) for each
 *           event, one all-gather of candidates in each round, one of rows in each round that needed rows, at their
 *           mean length; each takes the simulated time of the algorithm that the chooser picks
 * On a star and other networks, each rank has the cores of the rank that was traced. On a host, ranks and their threads
 * take turns where there are more of them than cores. Not modelled: active samples that are spread unevenly over the
 * ranks, and waiting for the slowest; merging the ranks' candidates; caches, which hold more of a smaller share; noise.
 * Threads: any (pure functions). */
#ifndef TUTTI_SVM_SCALING_H
#define TUTTI_SVM_SCALING_H

#include "../svm/svm_trace.h"
#include "tutti/topology.h"

/* Figures of a trace for a whole training: all subproblems together. */
typedef struct {
    int nranks, nthreads, block;
    int64_t problems, samples; /* problems: number of subproblems; samples: number of samples of the largest
                                * subproblem */
    int64_t events, rounds;
    int64_t gathers;                  /* number of all-gathers of rows that the training needs on several ranks */
    double pairs, row_bytes;          /* number of pairs that were optimised, and bytes of rows of samples; whole
                                       * numbers kept as double */
    double spent_s[TUTTI_SVM_NWORKS]; /* seconds of each kind of work; TUTTI_SVM_OTHER includes the time outside of
                                       * rounds */
    double seconds;                   /* sum of spent_s, from the beginning to the last event */
} tutti_svm_load;
void tutti_svm_load_of(const tutti_svm_trace *trace, tutti_svm_load *out);

typedef struct {
    int nranks;
    double spent_s[TUTTI_SVM_NWORKS], seconds; /* as in tutti_svm_load, but predicted for this rank count */
    double speedup, efficiency;                /* speedup over the trace; efficiency is speedup / nranks */
    double extremes_s, offers_s, rows_s;       /* seconds of one allreduce of pairs (extremes), one all-gather of
                                                * candidates (offers), one all-gather of rows */
    int64_t offers_bytes, gather_bytes;        /* bytes of an all-gather of candidates (offers), and of one of rows, for
                                                * all ranks together */
} tutti_svm_scaling;
/* Predicts the training on nranks ranks. Returns TUTTI_ERR_USAGE if the trace is not of one rank, or if the topology
 * has no room. Cost: three choices of an algorithm. */
tutti_status tutti_svm_scale(const tutti_svm_load *one, const tutti_topology *t, int nranks, tutti_svm_scaling *out,
                             tutti_failure *err);
/* Returns the seconds that no number of ranks can beat: the work that is not divided among ranks. */
double tutti_svm_scaling_least_s(const tutti_svm_load *one);

#endif
