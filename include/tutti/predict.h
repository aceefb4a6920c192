/* SPDX-License-Identifier: Apache-2.0 */
/* predict.h: predicts how long a step of a job takes on a machine that may not exist: kernel times x schedules x
 * topology.
 *
 * The call measures kernels, updates and loading on this machine for the share of one rank, or reads a file of such
 * measurements. For a host it measures with as many busy threads as there will be ranks, up to its cores. It simulates
 * the exchanges on the schedules of the job's own plan. A timeline of several steps then has two lanes, compute and
 * exchange:
 *   star  exchanges run beside compute; the part that compute does not hide is exposed.
 *         Activations that split layers hand on are always exposed: the next kernel needs them.
 *   host  the rank's own core moves the bytes, so nothing is hidden. If there are more ranks than cores, ranks take
 *         turns on a core.
 * The model leaves out evaluation, checkpoints, noise except what a layer trace says of it, and slow ranks except those
 * that options name. Threads: one at a time. */
#ifndef TUTTI_PREDICT_H
#define TUTTI_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"
#include "tutti/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_job tutti_job; /* declared in tutti/job.h */

/* Number of sizes at which a bucket's exchanges are timed as well: 4 KiB, 64 KiB, 1 MiB, 16 MiB. */
enum { TUTTI_PREDICTED_SIZES = 4 };

/* Bytes that rank 0 holds while it trains, by the plan; no rank holds more. They leave out batches that are loaded
 * ahead, the program and its libraries. */
typedef struct {
    int64_t weights, gradients;
    int64_t states;      /* bytes of the update rule's states, and of centres */
    int64_t activations; /* bytes of activations (two that are never alive together share memory), and of other memory
                          * that lives within a step */
    int64_t exchange;    /* bytes of scratch of the exchanges */
    int64_t all;
} tutti_rank_memory;

typedef struct {
    int nranks;
    int ranks_per_core; /* ranks that share a core; on a star always 1 */
    double step_s;      /* expected time of a step */
    double lower_s;     /* lower bound of a step: between hosts the longer of compute and of the exchanges' bounds; on
                         * one host their sum */
    double upper_s;     /* seconds of a step if nothing overlaps: an upper bound */
    double compute_s;   /* seconds of kernels, updates and sums of slots (canonical sums), and of loading where no core
                         * is free for it; for all ranks that share a core together */
    double exchange_s;  /* seconds of all exchanges of a step, one after the other */
    double exposed_s;   /* the part of exchange_s that compute does not hide */
    double samples_per_s;
    double speedup;          /* samples_per_s / samples_per_s of 1 rank that loses no time */
    double efficiency;       /* speedup / number of ranks */
    int64_t exchanged_bytes; /* bytes of the packed parameters as they travel: the mean of two vectors, the one that is
                              * summed and the one that comes back */
    int nexchanges;
    double visits;   /* visits of a worker in a step, where workers visit a centre; else 0 */
    int groups;      /* number of groups, where groups of ranks share layers; else 0 */
    double travel_s; /* the part of exchange_s in which split layers pass on activations; ranks wait for these at
                      * once */
    /* The algorithm that moves most of the bytes of a step, with all parameters; "visits" where workers visit a centre;
     * "" on one rank. */
    char algorithm[96];
    double by_size_s[TUTTI_PREDICTED_SIZES]; /* time of all exchanges of a bucket of that size; 0 on one rank and for
                                              * visits */
    int fan_in; /* the largest number of ranks that send to one rank of another host at the same time, while buckets or
                 * split layers are exchanged */
    int64_t bytes_per_rank; /* bytes that the busiest rank sends in a step; host: bytes that it reads and writes while
                             * it exchanges */
    /* The resource that is busy longest in a step: "compute", the busiest link (host: core or memory), or "centre" for
     * visits. */
    char bottleneck[32];
    bool assumes_updates, assumes_loading; /* true if the layer trace has no times of updates or of loading: an update
                                            * is then assumed to take 2 ns for each element, loading no time */
    /* Factor by which computing takes longer than the mean of the layer trace, because ranks wait for the slowest: a
     * quantile of the step times in the trace (docs/prediction.md). 1: workers take steps of their own; 0: no trace, or
     * it does not say how its steps differ. */
    double spread;
    char choice
        [240]; /* the value of each `exchange` key that was auto, such as "ring, 6 buckets of up to 16.1 MiB, sharded";
                * "": no key was auto */
    double choice_s;   /* seconds that it took to choose these values */
    char refused[256]; /* the reason why this rank count has no prediction, and then all other fields are 0; "": there
                        * is one */
    tutti_rank_memory memory;
} tutti_prediction;

/* Memory of choices and times of exchanges, used from one prediction to the next; it changes no result. Threads:
 * owner. */
typedef struct tutti_predict_memory tutti_predict_memory;

typedef struct {
    const char *read_profile; /* file of measured times; NULL: measure now */
    const char *save_profile; /* file to write the times to; NULL: none */
    const char *read_trace;   /* instead of a profile: a six-column layer trace of a one-rank run of the job; implies
                               * `weak` */
    const char *device;       /* instead of a profile and a trace: the name or file of a processor model
                               * (docs/devices.md) */
    bool weak;                /* true: each rank has a batch of the job's size (weak scaling); false: all ranks share
                               * one batch */
    /* Factors by which the computing of each rank takes longer (1: not longer), one for each rank of the largest count;
     * NULL: no rank is slower. Workers that take steps of their own use their own factor. Otherwise all ranks wait for
     * the slowest, and its factor is that of the step. */
    const double *slowness;
    int most_fan_in; /* refuse a count whose algorithm lets more ranks than this send to one rank at a time; 0: refuse
                      * none */
    void (*at)(void *at_arg, int nranks, int i, int n); /* called before count i of n is predicted; NULL: not called */
    void *at_arg;
    /* Factor by which the machine computes faster than the measured one (kernels, updates, loading); 0 means 1. */
    double speed;
    /* A rank has `share` times the samples that the kernel times are for, and each sample takes as long; 0 means 1.
     * samples_per_s still counts the samples of the job's batch. */
    double share;
    /* If it is not NULL, *measured holds kernel times of earlier calls, or NULL; this call adds the times that it
     * measures. The text is the caller's (free()). Several predictions then use the same times. */
    char **measured;
    tutti_predict_memory
        *memory; /* memory of choices and times that earlier calls found, so that this call need not find them again;
                  * NULL: nothing is kept */
} tutti_predict_options;

tutti_predict_memory *tutti_predict_memory_create(void);
void tutti_predict_memory_destroy(tutti_predict_memory *memory);

/* Predicts ranks[i] into out[i] for i < n. Each count uses the plan that `tutti train` would make on t, whose hosts
 * decide the algorithm and how workers visit. If the job's algorithm or its groups of ranks do not serve a count,
 * out[i].refused says so; if they serve no count, the call fails. TUTTI_ERR_USAGE: the job does not fit a rank count,
 * or t has no room for it; TUTTI_ERR_DATA: the profile is of another job. */
tutti_status tutti_predict_job(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                               const int *ranks, int n, tutti_prediction *out, tutti_failure *err);

/* Figures of one layer that has parameters; they say how it scales to many ranks (after Das et al. 2016, arXiv
 * 1602.06709). */
typedef struct {
    char name[64];
    double forward_s, backward_s; /* seconds of the layer's forward pass and of its backward pass, for a rank's
                                   * samples */
    int64_t bytes; /* bytes that are exchanged for the layer, padding of the kernel's memory layout included; for a
                    * split layer, bytes that a rank receives */
    double flop_per_byte; /* FLOP of the forward and backward passes for each byte of `bytes`; conv without bias: 1.5 *
                           * samples * height * width of its output */
    double window_s;      /* time that can hide the layer's exchange: the backward pass after it and the next forward
                           * pass before it */
    double exchange_s, exposed_s; /* exchange_s: seconds of the exchange; exposed_s: the part that the window does not
                                   * hide, on a host all of it */
    int hybrid_groups;            /* dense layer: the number of groups of ranks with which the layer causes the least
                                   * traffic; `ranks` means data parallel. Other layers: 0 */
} tutti_layer_prediction;
/* Predicts the layers at one rank count. *rows gets *nrows rows in the order of the model; the caller frees *rows. */
tutti_status tutti_predict_layers(const tutti_job *job, const tutti_topology *t, const tutti_predict_options *options,
                                  int nranks, tutti_layer_prediction **rows, int *nrows, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
