/* SPDX-License-Identifier: Apache-2.0 */
/* tune_trial.h: times passes of kernels for tuning. Threads: owner. */
#ifndef TUTTI_TUNE_TRIAL_H
#define TUTTI_TUNE_TRIAL_H

#include "../choose/candidate.h"

enum { TUTTI_TRIAL_BUFFERS = 4 * TUTTI_MAX_OP_INPUTS + 2 * TUTTI_MAX_OP_PARAMS + 5 };

/* Memory that kernels of one shape share, whichever orders they want; it grows with the largest. */
typedef struct {
    void *at[TUTTI_TRIAL_BUFFERS], *pages[TUTTI_TRIAL_BUFFERS]; /* in them */
    size_t nbytes[TUTTI_TRIAL_BUFFERS], mapped[TUTTI_TRIAL_BUFFERS];
} tutti_trial_memory; /* zero-initialise */
void tutti_trial_memory_release(tutti_trial_memory *m);

/* A candidate that fits a pass, and a kernel of it. */
enum { TUTTI_TRIAL_CONTENDERS = 16 };
typedef struct {
    const tutti_kernel_candidate *of;
    tutti_kernel kernel;
} tutti_trial_contender;
/* Those that fit a pass of what is asked as it stands and can be made, but for plain loops; returns how many. The
 * caller destroys their kernels. */
int tutti_trial_contenders(const tutti_kernel_request *r, tutti_kernel_pass pass,
                           tutti_trial_contender out[TUTTI_TRIAL_CONTENDERS]);

/* What is measured: a pass of each of n kernels, which compute the same. */
typedef struct {
    tutti_kernel *const *kernels;
    int n;
    tutti_kernel_pass pass;
    int nthreads, rounds;
} tutti_trial;

/* Seconds of each, n of them: the shortest of `rounds` rounds, in which they take turns, so that what
 * else the machine does meets all of them. A round runs each as often as fills half a millisecond. Of one thread the
 * time that it computes counts, so that others on its core do not. Numbers are small and of both signs. */
void tutti_trial_measure(const tutti_trial *t, tutti_trial_memory *memory, double *seconds);

#endif
