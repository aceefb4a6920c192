/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: seconds that the nodes of a step graph take on this machine.
 *
 * All layers are run in order, forward and backward, on values of their own, several times; the lower quartile of each node counts.
 * With several graphs, as many threads do this at once, so that shared caches, memory and sibling hyperthreads are in the
 * figures. Threads: owner. */
#ifndef TUTTI_PROFILE_H
#define TUTTI_PROFILE_H

#include "../../metrics/layer_trace.h"
#include "../../training/graph/graph.h"

typedef struct {
    const char *name;
    double forward_s, params_s, data_s;
    double sum_s; /* of the gradients that the readers of its output leave */
} tutti_layer_time;

typedef struct {
    int64_t samples_per_call;
    tutti_precision precision;
    int nbusy; /* threads that ran at once */
    int parts; /* ranks that share a split layer; 0 or 1: there is none */
    int nlayers;
    tutti_layer_time *layers;
    double update_s_per_element; /* a rule with one state, f32 */
    double load_s_per_sample;
    tutti_arena arena;
} tutti_profile;

enum { TUTTI_MAX_BUSY = 64 };
/* Memory that a graph's nodes are timed in, but for small things: that of a training step, with one state a parameter. */
int64_t tutti_profile_bytes(const tutti_graph *g);
/* TUTTI_ERR_FAILED: less than nbusy times that is left. graphs: alike but for their kernels; 1 <= nbusy <= TUTTI_MAX_BUSY. Takes about half a second, or four steps of a
 * network whose step alone takes as long. */
tutti_status tutti_profile_measure(tutti_graph *const *graphs, int nbusy, tutti_profile *out, tutti_failure *err);
void tutti_profile_release(tutti_profile *p);
/* All its times, as on a machine that takes so many times as long. */
void tutti_profile_stretch(tutti_profile *p, double factor);
/* Without those of updates: as if a call had so many times the samples. */
void tutti_profile_resize(tutti_profile *p, double factor);

/* One JSON object and line a profile. find: the one for (samples_per_call, precision, nbusy, parts), else TUTTI_ERR_DATA saying which are
 * there; layers must be the model's. */
void tutti_profile_print(const tutti_profile *p, tutti_strbuf *out);
tutti_status tutti_profile_find(const char *name, const char *text, const tutti_graph *graph, int nbusy,
                                tutti_profile *out, tutti_failure *err);

/* The trace of a one-rank run of this model, its batch the graph's: see profile_trace.c for what a trace does not say. A function of
 * the trace: what it does not say is assumed. TUTTI_ERR_DATA where its layers are not the model's. */
#define TUTTI_ASSUMED_UPDATE_S 2e-9 /* an element: 20 bytes at the 10 GB/s that topologies assume of a core */
tutti_status tutti_profile_of_trace(const char *name, const tutti_layer_trace *trace, const tutti_graph *graph,
                                    tutti_profile *out, tutti_failure *err);

#endif
