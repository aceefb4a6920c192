/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_pass.h: runs one pass of batch normalisation over memory on several threads: the sums of each channel, then
 * a result for each element.
 *
 * A *panel* is a block of channels. A panel lies in *runs*: one run for each sample, or, with channels last, one run in
 * all. In a run the channels repeat in the pattern that lane_impl.h describes. So one loop serves row-major planes,
 * blocks of 8, 16 or 32 channels, and any number of channels last. A *span* is a piece of a run. A panel's sums are
 * made in chunks, whose number follows from the shape alone, and are added in the chunks' order. So the bits do not
 * depend on the number of threads. Threads share panels or, if there are few panels, chunks. */
#ifndef TUTTI_LANE_NORM_PASS_H
#define TUTTI_LANE_NORM_PASS_H

#include "../choose/memory_order.h"
#include "lane_impl.h"

typedef struct {
    const tutti_lane_row *row;
    tutti_blocks at;
    int64_t padded, n; /* padded: number of channels with padding; n: elements of a channel */
    /* nruns: runs of a panel; run: elements of a run; run_step: elements from one run to the next */
    int64_t nruns, run, run_step;
    int64_t period, entries;      /* period: units of a row; entries: elements of a row */
    int64_t span, spans, nchunks; /* span: elements of a span; spans: spans of a run; nchunks: chunks of a panel */
    int32_t *channel;             /* for each lane of a row: its channel, counted within the panel; owned */
    size_t stream_bytes;          /* results of at least this number of bytes bypass the caches */
    int nthreads;
    bool by_panels; /* true if threads share the panels, false if they share the chunks of each panel */
} tutti_norm_walk;

/* Fills in *out but leaves `channel` NULL. Returns false if the value's order is none of memory_order.h. */
bool tutti_norm_walk_of(const tutti_value *v, int nthreads, tutti_norm_walk *out);
void tutti_norm_walk_lanes(tutti_norm_walk *w, tutti_dtype type); /* Fills in w->channel, each lane's channel. */
/* Returns the number of units of all panels together; the mask has one entry of bits for each. */
int64_t tutti_norm_walk_units(const tutti_norm_walk *w);
size_t tutti_norm_walk_scratch(const tutti_norm_walk *w);

typedef struct tutti_norm_pass tutti_norm_pass;
struct tutti_norm_pass {
    const tutti_norm_walk *walk;
    tutti_norm_call call;
    void *scratch;
    /* by kind (TUTTI_NORM_SCALE ..): one value for each channel, padding included; tutti_norm_pass_begin allocates */
    float *channels[TUTTI_NORM_SUM];
    void *owner;
    /* Called before the sums of a panel: fills in the values of its channels. `lanes` is for sums that the callback
     * makes itself. */
    void (*before)(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l);
    tutti_norm_loop *sums;                                    /* the loop that makes sums; NULL if the pass has none */
    void (*between)(const tutti_norm_pass *p, int64_t panel); /* called after the sums and before `map` */
    tutti_norm_loop *map; /* the loop that writes results; NULL if the pass writes none */
};

void tutti_norm_pass_begin(tutti_norm_pass *p);
void tutti_norm_pass_run(tutti_norm_pass *p);
/* Returns the sums of channel ch of a panel, where 0 is its first. */
void tutti_norm_pass_sums(const tutti_norm_pass *p, int64_t panel, int64_t ch, double *sum, double *product);
/* Writes the sums of the first span of a panel, divided by its positions, into `mean`. The function overwrites the
 * panel's sums. */
void tutti_norm_pass_first_mean(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l, float *mean);

#endif
