/* SPDX-License-Identifier: Apache-2.0 */
/* account.c: the cost part of everything that the trainer does. */
#include "account.h"

static const tutti_cost_part part_of[TUTTI_NDID] = {
    [TUTTI_DID_SET_UP] = TUTTI_COST_INIT,           [TUTTI_DID_LOAD] = TUTTI_COST_DATA,
    [TUTTI_DID_FORWARD] = TUTTI_COST_COMPUTE,       [TUTTI_DID_BACKWARD_PARAMS] = TUTTI_COST_COMPUTE,
    [TUTTI_DID_BACKWARD_DATA] = TUTTI_COST_COMPUTE, [TUTTI_DID_FOLD] = TUTTI_COST_COMPUTE,
    [TUTTI_DID_EXCHANGE] = TUTTI_COST_EXCHANGE,     [TUTTI_DID_WAIT_SUMS] = TUTTI_COST_EXCHANGE,
    [TUTTI_DID_UPDATE] = TUTTI_COST_UPDATE,         [TUTTI_DID_WAIT_WEIGHTS] = TUTTI_COST_EXCHANGE,
    [TUTTI_DID_EVALUATE] = TUTTI_COST_EVALUATION,   [TUTTI_DID_SAVE] = TUTTI_COST_CHECKPOINT,
    [TUTTI_DID_OTHER] = TUTTI_COST_OTHER,
};

void tutti_account_begin(tutti_account *a, int64_t now_ns)
{
    tutti_cost_begin(&a->cost, now_ns);
}

void tutti_did(tutti_account *a, tutti_did_kind what, int index)
{
    (void)index;
    tutti_cost_charge(&a->cost, part_of[what]);
}
