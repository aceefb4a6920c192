/* SPDX-License-Identifier: Apache-2.0 */
/* tune_trial.h: times passes of kernels for tuning. Threads: one at a time. */
#ifndef TUTTI_TUNE_TRIAL_H
#define TUTTI_TUNE_TRIAL_H

#include "../choose/candidate.h"

enum { TUTTI_TRIAL_BUFFERS = 4 * TUTTI_MAX_OP_INPUTS + 2 * TUTTI_MAX_OP_PARAMS + 5 };

/* Memory that kernels of one shape share, whatever their memory orders. Each buffer is as large as the largest need so
 * far. */
typedef struct {
    /* pages: the memory of each buffer; at: where the buffer begins in it */
    void *at[TUTTI_TRIAL_BUFFERS], *pages[TUTTI_TRIAL_BUFFERS];
    size_t nbytes[TUTTI_TRIAL_BUFFERS], mapped[TUTTI_TRIAL_BUFFERS];
} tutti_trial_memory; /* begin with all bytes zero */
void tutti_trial_memory_release(tutti_trial_memory *m);

/* A candidate that fits a pass, and a kernel of it. */
enum { TUTTI_TRIAL_CONTENDERS = 16 };
typedef struct {
    const tutti_kernel_candidate *of;
    tutti_kernel kernel;
} tutti_trial_contender;
/* Makes kernels of all candidates, except plain loops, that fit a pass of the request as it stands. Returns their
 * number. The caller destroys the kernels. */
int tutti_trial_contenders(const tutti_kernel_request *r, tutti_kernel_pass pass,
                           tutti_trial_contender out[TUTTI_TRIAL_CONTENDERS]);

/* One measurement: one pass, computed by n kernels that all give the same result. */
typedef struct {
    tutti_kernel *const *kernels;
    int n;
    tutti_kernel_pass pass;
    int nthreads, rounds;
} tutti_trial;

/* Writes the seconds of each of the n kernels: the shortest of `rounds` rounds, in which they take turns, so that
 * disturbances meet all of them. A round runs each kernel for half a millisecond. For one thread, processor time is
 * measured, so that other programs on its core do not matter. All elements are small numbers of both signs. */
void tutti_trial_measure(const tutti_trial *t, tutti_trial_memory *memory, double *seconds);

#endif
