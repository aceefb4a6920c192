/* SPDX-License-Identifier: Apache-2.0 */
/* costs.h: measured or predicted times of exchanges and backward kernels. A plan merges gradients by them (merge.h).
 *
 * Costs can be written as text. Rank 0 sends the text to all ranks, so that all merge alike. Checkpoints hold the text,
 * so that a resumed run has the same buckets. Threads: any, once made. */
#ifndef TUTTI_COSTS_H
#define TUTTI_COSTS_H

#include "../../base/text/options.h"
#include "merge.h"

typedef struct {
    int64_t ranks, threads; /* the ranks, and threads per rank, that the costs are for */
    double overlap;         /* fraction of an exchange that can run beside the backward pass (merge.h) */
    /* measured points: bytes of a bucket, and the seconds that all exchanges of such a bucket take together */
    tutti_reals exchange_bytes, exchange_s;
    /* for each layer: seconds of its two backward kernels and of its sums of gradients; empty if overlap is 0 */
    tutti_reals params_s, data_s, sum_s;
    tutti_arena arena;
} tutti_plan_costs;

/* Returns the costs as YAML; the caller frees the text. Parsing it gives the same costs. */
char *tutti_plan_costs_print(const tutti_plan_costs *c);
/* Parses `text`. name: the file's name, for error messages. Returns TUTTI_ERR_DATA if no measurement can have written
 * the text. */
tutti_status tutti_plan_costs_parse(const char *name, const char *text, tutti_plan_costs *out, tutti_failure *err);
void tutti_plan_costs_release(tutti_plan_costs *c);
/* Returns the points in the form that merge.h needs: whole nanoseconds that never decrease. */
tutti_exchange_cost tutti_plan_costs_exchange(const tutti_plan_costs *c);

#endif
