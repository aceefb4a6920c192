/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: a profile: seconds that each node of a step graph takes.
 *
 * All layers are run in order, forward and backward, on values of their own, several times; the lower quartile of each
 * node counts. With several graphs, as many threads do this at once, so that shared caches, memory and sibling
 * hyperthreads are in the figures. Threads: one at a time. */
#ifndef TUTTI_PROFILE_H
#define TUTTI_PROFILE_H

#include "../../metrics/trace.h"
#include "../../training/graph/graph.h"
#include "../../training/plan/plan.h"
#include "../exchange_times.h"
#include "tutti/predict.h"

typedef struct {
    const char *name;
    double forward_s, params_s, data_s;
    double sum_s; /* seconds of adding up the gradients of the layer's output, if several layers read it */
} tutti_layer_time;

typedef struct {
    int64_t samples_per_call;
    tutti_precision precision;
    int nbusy; /* number of threads that ran at once */
    int parts; /* number of ranks that share a split layer; 0 or 1 if there is none */
    int nlayers;
    tutti_layer_time *layers;
    double update_s_per_element; /* seconds of updating one element, by a rule with one state in f32 */
    double load_s_per_sample;
    tutti_arena arena;
} tutti_profile;

enum { TUTTI_MAX_BUSY = 64 };
/* Returns the memory that timing a graph's nodes needs, except small amounts: the memory of a training step with one
 * state for each parameter. */
int64_t tutti_profile_bytes(const tutti_graph *g);
/* Measures a profile. graphs: nbusy graphs, alike but for their kernels; 1 <= nbusy <= TUTTI_MAX_BUSY. Takes about half
 * a second, or four steps of a large network. TUTTI_ERR_FAILED if the machine lacks nbusy times tutti_profile_bytes. */
tutti_status tutti_profile_measure(tutti_graph *const *graphs, int nbusy, tutti_profile *out, tutti_failure *err);
void tutti_profile_release(tutti_profile *p);
/* Copies a profile; the caller releases *out. */
void tutti_profile_copy(const tutti_profile *p, tutti_profile *out);
/* Multiplies all times of the profile by a factor, as for a slower machine. */
void tutti_profile_stretch(tutti_profile *p, double factor);
/* Multiplies all times by a factor, as for a call with more samples; times of updates stay. */
void tutti_profile_resize(tutti_profile *p, double factor);

/* Print a profile as one JSON object on a line; and find the profile for (samples_per_call, precision, nbusy, parts).
 * If there is none: TUTTI_ERR_DATA, with words about the profiles of the file. The layers must be the model's. */
void tutti_profile_print(const tutti_profile *p, tutti_strbuf *out);
tutti_status tutti_profile_find(const char *name, const char *text, const tutti_graph *graph, int nbusy,
                                tutti_profile *out, tutti_failure *err);

/* Makes a profile of the trace of a one-rank run of this model with the graph's batch. What a trace does not say is
 * assumed (profile_trace.c). TUTTI_ERR_DATA if its layers are not the model's. */
#define TUTTI_ASSUMED_UPDATE_S 2e-9 /* for an element: 20 bytes at the 10 GB/s that topologies assume for a core */
tutti_status tutti_profile_of_trace(const char *name, const tutti_layer_trace *trace, const tutti_graph *graph,
                                    tutti_profile *out, tutti_failure *err);

/* The costs of a plan's exchanges on a machine that need not be there, in the form by which a plan merges its buckets.
 *
 * Times of exchanges are simulated on the plan's own schedules at sizes from 4 KiB to the whole vector; times of layers
 * are the profile's. overlap is 0 on a host, where the ranks' own cores move the bytes. Between hosts it is the
 * fraction of a bucket's exchanges that a rank reports as ready before the update rule is applied. It is 1 if the plan
 * exchanges first what the next step needs first (config.by_need), because other exchanges can hide behind the next
 * forward pass. Threads: any (pure functions). */

/* Predicts tutti_plan_costs for times->plan, from the times that are kept. */
tutti_status tutti_predict_costs_by(tutti_exchange_times *times, const tutti_profile *profile, tutti_plan_costs *out,
                                    tutti_failure *err);
tutti_status tutti_predict_costs(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                 tutti_plan_costs *out, tutti_failure *err);
/* Returns how often the exchange is started in a step, on average: 1, or 1 / period; 0 if only tests and checkpoints
 * use it. */
double tutti_predict_share(const tutti_plan *plan, int exchange);
/* Seconds of all exchanges of a bucket of n elements in a step, and the part of these that is ready before the update
 * rule is applied. Both are times of the rank with the largest part in the bucket. */
typedef struct {
    double all_s, early_s;
} tutti_bucket_time;
tutti_status tutti_predict_bucket(tutti_exchange_times *times, int64_t n, tutti_bucket_time *out, tutti_failure *err);

/* Times and bytes of a rank's exchanges for the split layer `layer` in a step (-1: for all split layers together).
 * travel_s: seconds of exchanges of activations, for which the rank waits at once; params_s: seconds of exchanges of
 * the layer's parameters; received_bytes: bytes that the rank receives. The caller passes the seconds of each of the
 * plan's exchanges. */
typedef struct {
    double travel_s, params_s;
    int64_t received_bytes;
} tutti_split_time;
tutti_split_time tutti_predict_split(const tutti_plan *plan, int rank, int layer, const double *seconds);

/* Figures of each layer with parameters for scaling, after Das et al. 2016 (arXiv 1602.06709): how much it
 * computes for each byte it exchanges, how long the rest of the backward pass and the next forward pass can hide its
 * exchange, and into how many groups hybrid parallelism would split a dense layer. Each layer is looked at alone, as if
 * nothing else travelled. Threads: any (pure functions). */

/* Fills in the table. out has an entry for each layer of the model; the first *nrows are filled in, in model order. */
tutti_status tutti_layer_table(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                               tutti_layer_prediction *out, int *nrows, tutti_failure *err);

/* Returns the number of groups that gives a dense layer the least traffic, if a group of nranks / G ranks splits the
 * layer and groups split the batch. G divides nranks and has the smallest
 *     2 batch / G (activations and errors, inside a group of several)  +  noutputs G / nranks (gradients, between
 *     groups).
 * nranks means data parallel, 1 model parallel; of equal numbers the smaller one. */
int tutti_layer_hybrid_groups(int nranks, int64_t batch, int64_t noutputs);

/* The bytes that the plan's rank holds while it trains: its memories and the scratch of its exchanges. Threads: any
 * (pure). */

/* Returns the memory of the plan's rank. Cost: compiling a part of each schedule. */
tutti_rank_memory tutti_rank_memory_of(const tutti_plan *plan);
/* Sets memory for parameters of which only the bytes in f32 are known: weights, gradients and the states of the rule;
 * activations and exchanges are 0. Returns false if there is no such rule; then no state is counted. */
bool tutti_rank_memory_of_layers(const char *rule, int64_t bytes, tutti_rank_memory *out);

#endif
