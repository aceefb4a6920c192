/* SPDX-License-Identifier: Apache-2.0 */
/* cost.h: where the time of a run went, in the eight cost parts that You, Buluc and Demmel print (SC 2017, arXiv 1708.02983), so
 * that a run can be held beside the paper's tables, and three more that the paper leaves out.
 *
 * Every stretch between two looks at the clock is charged to one part: the parts sum to the wall time, nothing is counted
 * twice, and what nobody named is `other`. A charge is one look at the clock. Threads: owner. */
#ifndef TUTTI_COST_H
#define TUTTI_COST_H

#include <stdint.h>

#include "../base/text/strbuf.h"

typedef enum {
    TUTTI_COST_DATA,         /* compute waits for a batch */
    TUTTI_COST_INIT,         /* everything before the first step */
    TUTTI_COST_EXCHANGE,     /* gradients and weights between ranks: waiting, reducing, copying */
    TUTTI_COST_BATCH_COPY,   /* batch, host to device */
    TUTTI_COST_WEIGHTS_COPY, /* weights, host to device and back */
    TUTTI_COST_COMPUTE,      /* forward and backward */
    TUTTI_COST_UPDATE,       /* of weights, on the workers */
    TUTTI_COST_CENTRE,       /* of weights, at the centre */
    TUTTI_COST_EVALUATION,
    TUTTI_COST_CHECKPOINT,
    TUTTI_COST_OTHER,
    TUTTI_NCOSTS
} tutti_cost_part;
const char *tutti_cost_key(tutti_cost_part part);   /* in metrics.jsonl: "data_io" */
const char *tutti_cost_words(tutti_cost_part part); /* "data I/O" */

typedef struct {
    int64_t ns[TUTTI_NCOSTS];
    int64_t charged_ns; /* the clock (tutti_clock_ns) up to which everything is charged */
} tutti_cost;

/* Charging starts at this time. */
void tutti_cost_begin(tutti_cost *c, int64_t now_ns);
/* What has passed since the last charge goes to this part; returns now. */
int64_t tutti_cost_charge(tutti_cost *c, tutti_cost_part part);

/* A table for people: seconds and shares, and their sum. Copies to a device and a centre that took no time are not there. */
void tutti_cost_table(const double seconds[TUTTI_NCOSTS], int nranks, tutti_strbuf *out);

#endif
