/* SPDX-License-Identifier: Apache-2.0 */
/* predict.h: how long a step of a job takes on a machine that need not be there: kernel times measured here x schedules
 * x topology.
 *
 * Times of kernels, updates and loading are measured on this machine for the share of one rank (on a host with as many
 * threads busy as ranks will be, up to its cores), or read from a file of such measurements. Exchanges are simulated on
 * the schedules of the job's own plan. Both meet on two lanes, compute and exchange, over several steps:
 *   star  exchanges run beside compute; what compute does not hide is exposed.
 *         What layers that ranks share hand on is always exposed: it is what is computed with next.
 *   host  moving bytes is work of the rank's own core: nothing is hidden, and ranks beyond the cores share them in
 *         time.
 * Not modelled: noise but what a layer trace says of it, stragglers but those that options name, evaluation,
 * checkpoints. Threads: owner. */
#ifndef TUTTI_PREDICT_H
#define TUTTI_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"
#include "tutti/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_job tutti_job; /* tutti/job.h */

/* A bucket's exchanges are also timed at so many sizes: 4 KiB, 64 KiB, 1 MiB, 16 MiB. */
enum { TUTTI_PREDICTED_SIZES = 4 };

/* Bytes that a rank holds while it trains, by the plan; of rank 0, which has most. Batches that are loaded ahead, the
 * program and its libraries are not in it. */
typedef struct {
    int64_t weights, gradients;
    int64_t states;      /* of the rule, and centres */
    int64_t activations; /* by life time; what else lives within a step */
    int64_t exchange;    /* scratch of the exchanges */
    int64_t all;
} tutti_rank_memory;

typedef struct {
    int nranks;
    int ranks_per_core; /* star: 1 */
    double step_s;      /* expected */
    double lower_s;     /* compute, or the exchanges' own lower bounds, whichever is longer; host: their sum */
    double upper_s;     /* nothing overlaps */
    double compute_s;   /* kernels, updates, sums of slots, and loading where no core is free; all ranks of the core */
    double exchange_s;  /* all exchanges of a step, one after the other */
    double exposed_s;   /* of these, what compute does not hide */
    double samples_per_s;
    double speedup;    /* samples_per_s / that of 1 rank that nothing slows down */
    double efficiency; /* speedup / nranks */
    int64_t
        exchanged_bytes; /* of the packed vector, as it travels: the mean of what is summed and of what comes back */
    int nexchanges;
    double visits;   /* of a worker in a step, where they visit a centre; else 0 */
    int groups;      /* where groups of ranks share layers: how many; else 0 */
    double travel_s; /* of exchange_s, what those layers hand on, which is waited for at once */
    /* By what most of the bytes of a step travel, with all parameters; "visits" where workers visit a centre; "" on one
     * rank. */
    char algorithm[96];
    double by_size_s[TUTTI_PREDICTED_SIZES]; /* all exchanges of a bucket of that size; 0 on one rank, and of visits */
    int fan_in; /* ranks that send to one of another host at a time, the most, of buckets and of what split layers hand
                 * on */
    int64_t bytes_per_rank; /* that the busiest rank sends in a step; host: reads and writes while it exchanges */
    /* What is busy longest in a step: "compute", or the link (host: core or memory) that has most to do; "centre" of
     * visits */
    char bottleneck[32];
    bool assumes_updates, assumes_loading; /* the layer trace says nothing of them: 2 ns an element, and none */
    /* By what computing takes longer than the mean of the layer trace, since ranks wait for the slowest of them: a
     * quantile of its steps (docs/prediction.md). 1: workers take steps of their own; 0: no trace, or it does not say
     * how its steps differ. */
    double spread;
    char choice
        [240]; /* what of `exchange` was auto became this: "ring, 6 buckets of up to 16.1 MiB, sharded"; "" = nothing
                * was */
    double choice_s;   /* that the choice took */
    char refused[256]; /* why there is no prediction at this count, and all else is 0; "" = there is one */
    tutti_rank_memory memory;
} tutti_prediction;

/* Keeps choices and times of exchanges from one prediction to the next. It changes no answer. Threads: owner. */
typedef struct tutti_predict_memory tutti_predict_memory;

typedef struct {
    const char *read_profile; /* file of measured times, or NULL: measure now */
    const char *save_profile; /* file to write them to, or NULL */
    const char *read_trace;   /* or a six-column layer trace of a one-rank run of the job; implies weak */
    const char *device;       /* or the name or file of a processor that need not be there (docs/devices.md) */
    bool weak;                /* the job's batch is that of each rank, not of all together */
    /* By what the computing of each rank takes longer (1: nothing), as many as the largest rank count; NULL: of nobody.
     * Workers that take steps of their own have a factor each; else all wait for the slowest, and its factor is that of
     * the step. */
    const double *slowness;
    int most_fan_in; /* a count by whose algorithm more ranks send to one at a time is refused; 0: none is */
    void (*at)(void *at_arg, int nranks, int i, int n); /* told before count i of n is predicted; NULL: nobody */
    void *at_arg;
    /* By what a machine computes faster than what was measured, in all: kernels, updates, loading; 0: as fast. */
    double speed;
    /* A rank has so many times the samples that kernel times are of, each of which takes as long; 0: as many. Samples a
     * second are still those of the job's batch. */
    double share;
    /* Where it is not NULL: kernel times that earlier calls have measured, or NULL, and what this one measures besides;
     * the text is the caller's (free()). So several predictions are of the same times. */
    char **measured;
    tutti_predict_memory
        *memory; /* of earlier calls, so that this one need not find it out again; NULL: nothing is kept */
} tutti_predict_options;

tutti_predict_memory *tutti_predict_memory_create(void);
void tutti_predict_memory_destroy(tutti_predict_memory *memory);

/* ranks[i] -> out[i], each by the plan that `tutti train` would make on t: its hosts decide the algorithm and who
 * visits how. A count that the job's algorithm or its groups of ranks do not serve is refused in out[i], unless none is
 * served. TUTTI_ERR_USAGE: the job does not go with a rank count, or t has no room for it; TUTTI_ERR_DATA: the profile
 * is not of this job. */
tutti_status tutti_predict_job(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                               const int *ranks, int n, tutti_prediction *out, tutti_failure *err);

/* What one layer with parameters means for scaling, alone (after Das et al. 2016, arXiv 1602.06709). */
typedef struct {
    char name[64];
    double forward_s, backward_s; /* of a rank's samples */
    int64_t
        bytes; /* exchanged for it (of a split layer: what a rank receives), padding of the kernel's order included */
    double flop_per_byte; /* forward and backward; conv without bias: 1.5 * height * width of its output * samples */
    double window_s;      /* what can hide its exchange: the backward pass behind it, the next forward before it */
    double exchange_s, exposed_s; /* exposed: beyond the window. host: all of it */
    int hybrid_groups;            /* dense: groups with the least traffic; ranks = data parallel. Else 0 */
} tutti_layer_prediction;
/* The rows at one rank count, model order: *nrows of them, the caller frees *rows. */
tutti_status tutti_predict_layers(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                                  int nranks, tutti_layer_prediction **rows, int *nrows, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
