/* SPDX-License-Identifier: Apache-2.0 */
/* costs.h: costs of exchanges and backward kernels, as measured or predicted, by which a plan merges gradients
 * (merge.h).
 *
 * A value in text: it travels from rank 0 to all ranks, so that all merge alike, and lies in checkpoints, so that a
 * resumed run has the buckets it had. Threads: frozen once made. */
#ifndef TUTTI_COSTS_H
#define TUTTI_COSTS_H

#include "../../base/text/options.h"
#include "merge.h"

typedef struct {
    int64_t ranks, threads;                 /* that they are of; threads a rank */
    double overlap;                         /* see merge.h */
    tutti_reals exchange_bytes, exchange_s; /* points of t(n): all exchanges of a bucket of so many bytes, s */
    tutti_reals params_s, data_s,
        sum_s; /* a layer: its two backward kernels, sums of gradients; none if overlap is 0 */
    tutti_arena arena;
} tutti_plan_costs;

/* YAML; the text is the caller's (free()). Parsing it gives the same costs. */
char *tutti_plan_costs_print(const tutti_plan_costs *c);
/* name: of the file, for failures. TUTTI_ERR_DATA for what no measurement can have written. */
tutti_status tutti_plan_costs_parse(const char *name, const char *text, tutti_plan_costs *out, tutti_failure *err);
void tutti_plan_costs_release(tutti_plan_costs *c);
/* The points as merge.h wants them: whole nanoseconds that never fall. */
tutti_exchange_cost tutti_plan_costs_exchange(const tutti_plan_costs *c);

#endif
