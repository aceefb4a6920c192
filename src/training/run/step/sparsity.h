/* SPDX-License-Identifier: Apache-2.0 */
/* sparsity.h: counts zeros of activations. How many elements of each ReLU's output are zero while a test set is run,
 * and of what keeps those zeros (pools and the like): whole numbers, so that sums over ranks are the same however many
 * ranks there are; and which convolutions skip zeros from then on. Threads: owner. */
#ifndef TUTTI_SPARSITY_H
#define TUTTI_SPARSITY_H

#include "../../../collective/group/group.h"
#include "forward.h"
#include "step_work.h"

typedef struct {
    const char *name; /* the ReLU's, the model's; NULL: it keeps the zeros of others */
    int layer;        /* of the graph, whose output it makes */
    int64_t elements; /* of one sample's */
} tutti_relu;

typedef struct tutti_relus {
    tutti_relu *relus; /* in the order of the graph */
    int n;
} tutti_relus;

/* The array is the arena's. */
void tutti_relus_find(const tutti_graph *g, tutti_arena *arena, tutti_relus *out);
/* Behind a layer's forward pass, on its device: launches the count of zeros of its output, added to those of its ReLU,
 * if it is one. The event of that; 0: nothing was launched. */
tutti_event tutti_relus_count(const tutti_relus *relus, int layer, const tutti_kernel_work *pass, int64_t *zeros,
                              const tutti_device *d);
/* The same before anything has been counted, by what shapes alone say: of what a max pool reads most of the gradient is
 * zero. */
void tutti_relus_begin(const tutti_graph *g, tutti_strbuf *words);
/* Tells each convolution of the graph that can skip zeros (sparse_switch.h) in which passes it is to, by these zeros of
 * a test of so many samples: the same on all ranks. *words: what does from now on, for people, where anything has
 * changed; else it stays empty. */
void tutti_relus_decide(const tutti_relus *relus, const int64_t *zeros, int64_t nsamples, const tutti_graph *g,
                        tutti_strbuf *words);
/* Which passes do, as a checkpoint has them: a digit of sixteen a layer, to its last that does; "" = none. Of room - 1
 * layers at most. Reading: false if it is none of ours. */
void tutti_relus_skips(const tutti_graph *g, char *out, size_t room);
bool tutti_relus_set_skips(const tutti_graph *g, const char *text);

/* Sums of all ranks take the place of this rank's, behind a test that each has run its part of. */
tutti_status tutti_relus_sum(const tutti_relus *relus, int64_t *zeros, tutti_group *group, int nranks,
                             tutti_failure *err);

#endif
