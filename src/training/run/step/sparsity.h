/* SPDX-License-Identifier: Apache-2.0 */
/* sparsity.h: counts zeros of activations while a test set is run: the zero elements in each ReLU's output, and in the
 * outputs of layers that keep those zeros (pools and the like). Counts are whole numbers, so that sums over ranks do
 * not depend on the number of ranks. It also decides which convolutions skip zeros from then on. Threads: one at a
 * time. */
#ifndef TUTTI_SPARSITY_H
#define TUTTI_SPARSITY_H

#include "../../../collective/group/group.h"
#include "forward.h"
#include "step_work.h"

typedef struct {
    const char *name; /* the ReLU's name in the model; NULL: the layer is no ReLU but keeps the zeros of others */
    int layer;        /* the graph's layer with that output */
    int64_t elements; /* elements of one sample's output */
} tutti_relu;

typedef struct tutti_relus {
    tutti_relu *relus; /* the ReLUs, in the order of the graph */
    int n;
} tutti_relus;

/* Finds the ReLUs of a graph. The array is in `arena`. */
void tutti_relus_find(const tutti_graph *g, tutti_arena *arena, tutti_relus *out);
/* Call it after a layer's forward pass, on its device. If the layer is one of the ReLUs, launches a kernel that counts
 * the zeros of its output and adds them to the ReLU's number. Returns the event of this kernel; event 0 = nothing was
 * launched. */
tutti_event tutti_relus_count(const tutti_relus *relus, int layer, const tutti_kernel_work *pass, int64_t *zeros,
                              const tutti_device *d);
/* Decides which convolutions skip zeros before anything has been counted, from the graph alone: most of the gradient
 * behind a max pool is zero. */
void tutti_relus_begin(const tutti_graph *g, tutti_strbuf *words);
/* Tells each convolution of the graph that can skip zeros (sparse_switch.h) in which passes to skip them, from the
 * zeros of a test of `nsamples` samples. The result is the same on all ranks. *words: which convolutions skip from now
 * on, for people, if anything has changed; else it stays empty. */
void tutti_relus_decide(const tutti_relus *relus, const int64_t *zeros, int64_t nsamples, const tutti_graph *g,
                        tutti_strbuf *words);
/* tutti_relus_skips writes in which passes layers skip zeros, as a checkpoint stores it: one hexadecimal digit for each
 * layer, up to the last layer that skips; "" = none. At most room - 1 layers. The next function reads such a text;
 * false: the text is not valid. */
void tutti_relus_skips(const tutti_graph *g, char *out, size_t room);
bool tutti_relus_set_skips(const tutti_graph *g, const char *text);

/* Collective, after a test in which each rank has run its part: replaces this rank's zeros by the sums over all
 * ranks. */
tutti_status tutti_relus_sum(const tutti_relus *relus, int64_t *zeros, tutti_group *group, int nranks,
                             tutti_failure *err);

#endif
