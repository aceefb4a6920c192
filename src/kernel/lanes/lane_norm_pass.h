/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_pass.h: one pass of batch normalisation over memory: sums of each channel, then one number from another, by
 * a crew.
 *
 * A *panel* is a block of channels. It lies in runs, one a sample (channels last: one in all), and in a run channels
 * repeat like a pattern, which lane_impl.h describes: so row-major planes, blocks of 8, 16 or 32 and any number of
 * channels last are one loop. A panel's sums are made in chunks, whose number follows from the shape alone, and are
 * added in the chunks' order: the same bits whatever the number of threads, which share panels or, where those are few,
 * chunks. */
#ifndef TUTTI_LANE_NORM_PASS_H
#define TUTTI_LANE_NORM_PASS_H

#include "../choose/memory_order.h"
#include "lane_impl.h"

typedef struct {
    const tutti_lane_row *row;
    tutti_blocks at;
    int64_t padded, n;            /* channels with padding; values of a channel */
    int64_t nruns, run, run_step; /* of a panel; numbers of a run */
    int64_t period, entries;      /* units of a row, numbers of a row */
    int64_t span, spans, nchunks; /* numbers of a span; spans of a run; chunks of a panel */
    int32_t *channel;             /* of each lane of a row, in the panel; owned */
    size_t stream_bytes;          /* results as large are written past the caches */
    int nthreads;
    bool by_panels; /* that is how threads share the work */
} tutti_norm_walk;

/* channel is left NULL; false: the value has none of our orders. */
bool tutti_norm_walk_of(const tutti_value *v, int nthreads, tutti_norm_walk *out);
void tutti_norm_walk_lanes(tutti_norm_walk *w, tutti_dtype type); /* makes channel */
int64_t tutti_norm_walk_units(const tutti_norm_walk *w);          /* of all, as bits are counted */
size_t tutti_norm_walk_scratch(const tutti_norm_walk *w);

typedef struct tutti_norm_pass tutti_norm_pass;
struct tutti_norm_pass {
    const tutti_norm_walk *walk;
    tutti_norm_call call;
    void *scratch;
    float *channels
        [TUTTI_NORM_SUM]; /* what there is of each channel, padding included: tutti_norm_pass_begin gives them memory */
    void *owner;
    /* Fills channels of a panel before its sums; lanes: the caller's, for sums of its own. */
    void (*before)(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l);
    tutti_norm_loop *sums;                                    /* NULL = none */
    void (*between)(const tutti_norm_pass *p, int64_t panel); /* and with them, before `map` */
    tutti_norm_loop *map;                                     /* NULL = none */
};

void tutti_norm_pass_begin(tutti_norm_pass *p);
void tutti_norm_pass_run(tutti_norm_pass *p);
/* The sums of a panel's channel ch, 0 its first. */
void tutti_norm_pass_sums(const tutti_norm_pass *p, int64_t panel, int64_t ch, double *sum, double *product);
/* The sums of the first span of a panel, divided by its positions, into `mean`; the panel's sums are gone. */
void tutti_norm_pass_first_mean(const tutti_norm_pass *p, int64_t panel, const tutti_norm_lanes *l, float *mean);

#endif
