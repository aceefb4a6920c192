/* SPDX-License-Identifier: Apache-2.0 */
/* account.h: what the trainer does with its time. All of a rank's time is one row of stretches; whoever ends one says what it
 * was, which charges its cost part (metrics/cost.h). Threads: owner. */
#ifndef TUTTI_ACCOUNT_H
#define TUTTI_ACCOUNT_H

#include "../../metrics/cost.h"

typedef enum {
    TUTTI_DID_SET_UP,
    TUTTI_DID_LOAD,    /* waited for a batch */
    TUTTI_DID_FORWARD, /* index = layer */
    TUTTI_DID_BACKWARD_PARAMS,
    TUTTI_DID_BACKWARD_DATA,
    TUTTI_DID_FOLD,         /* index = bucket */
    TUTTI_DID_EXCHANGE,     /* started exchanges, or moved what travels */
    TUTTI_DID_WAIT_SUMS,    /* waited for the reduce-scatter; index = bucket */
    TUTTI_DID_UPDATE,       /* index = bucket */
    TUTTI_DID_WAIT_WEIGHTS, /* waited for the all-gather; index = bucket, -1 = all */
    TUTTI_DID_EVALUATE,
    TUTTI_DID_SAVE,
    TUTTI_DID_OTHER,
    TUTTI_NDID
} tutti_did_kind;

typedef struct {
    tutti_cost cost;
} tutti_account;

void tutti_account_begin(tutti_account *a, int64_t now_ns);
/* The stretch since the last call was this. */
void tutti_did(tutti_account *a, tutti_did_kind what, int index);

#endif
