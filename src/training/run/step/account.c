/* SPDX-License-Identifier: Apache-2.0 */
/* account.c: charges the time of each of the trainer's activities to a part of the cost table, and records spans. */
#include "account.h"

static const tutti_cost_part part_of[TUTTI_NDID] = {
    [TUTTI_DID_SET_UP] = TUTTI_COST_INIT,           [TUTTI_DID_LOAD] = TUTTI_COST_DATA,
    [TUTTI_DID_FORWARD] = TUTTI_COST_COMPUTE,       [TUTTI_DID_BACKWARD_PARAMS] = TUTTI_COST_COMPUTE,
    [TUTTI_DID_BACKWARD_DATA] = TUTTI_COST_COMPUTE, [TUTTI_DID_SUM] = TUTTI_COST_COMPUTE,
    [TUTTI_DID_MOVE] = TUTTI_COST_EXCHANGE,         [TUTTI_DID_FOLD] = TUTTI_COST_COMPUTE,
    [TUTTI_DID_EXCHANGE] = TUTTI_COST_EXCHANGE,     [TUTTI_DID_WAIT] = TUTTI_COST_EXCHANGE,
    [TUTTI_DID_UPDATE] = TUTTI_COST_UPDATE,         [TUTTI_DID_EVALUATE] = TUTTI_COST_EVALUATION,
    [TUTTI_DID_SAVE] = TUTTI_COST_CHECKPOINT,       [TUTTI_DID_OTHER] = TUTTI_COST_OTHER,
    [TUTTI_DID_CENTRE] = TUTTI_COST_CENTRE,         [TUTTI_DID_VISIT] = TUTTI_COST_EXCHANGE,
    [TUTTI_DID_DEVICE] = TUTTI_COST_COMPUTE,        [TUTTI_DID_CONVERT] = TUTTI_COST_COMPUTE,
    [TUTTI_DID_HELD_UP] = TUTTI_COST_COMPUTE,
};

/* Shorter work on exchanges between kernels (TUTTI_DID_EXCHANGE) is charged but not recorded: it would be half of all
 * spans. */
static const int64_t SHORTEST_DRAWN_NS = 1000;

void tutti_account_begin(tutti_account *a, int64_t now_ns)
{
    *a = (tutti_account){0};
    tutti_cost_begin(&a->cost, now_ns);
}

void tutti_did(tutti_account *a, tutti_doing what, int index)
{
    const int64_t begin = a->cost.charged_ns, end = tutti_cost_charge(&a->cost, part_of[what]);
    if (!a->spans || what == TUTTI_DID_OTHER) return;
    if (what == TUTTI_DID_EXCHANGE && end - begin < SHORTEST_DRAWN_NS) return;
    tutti_spans_add(a->spans, a->first_label[what] + index, a->step, begin, end);
}

void tutti_travelled(tutti_account *a, int exchange, const tutti_exchange *x)
{
    tutti_exchange_stats stats;
    if (!a->spans) return;
    tutti_exchange_stats_read(x, &stats);
    if (stats.told_ns)
        tutti_spans_add(a->spans, a->first_label[TUTTI_BESIDE_EXCHANGE] + exchange, a->step, stats.told_ns,
                        stats.done_ns);
}

void tutti_updated(tutti_account *a, int bucket, int64_t began_ns, int64_t ended_ns)
{
    if (a->spans) tutti_spans_add(a->spans, a->first_label[TUTTI_BESIDE_UPDATE] + bucket, a->step, began_ns, ended_ns);
}

void tutti_loaded(tutti_account *a, const tutti_batch *batch)
{
    if (a->spans)
        tutti_spans_add(a->spans, a->first_label[TUTTI_BESIDE_LOADER], batch->step + 1, batch->began_ns,
                        batch->filled_ns);
}
