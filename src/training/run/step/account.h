/* SPDX-License-Identifier: Apache-2.0 */
/* account.h: accounts the trainer's time: costs and spans. All of a rank's time is one row of stretches; whoever ends
 * one says what it was (tutti_did), which charges its cost part (metrics/metrics.h) and, while steps are traced,
 * records a span. What goes on beside, in exchanges and in the loader, is recorded when it is known (tutti_travelled,
 * tutti_loaded). Cost of tutti_did: a look at the clock; traced: and a span. Threads: owner. */
#ifndef TUTTI_ACCOUNT_H
#define TUTTI_ACCOUNT_H

#include "../../../collective/exchange/executor.h"
#include "../../../data/dataset.h"
#include "../../../metrics/metrics.h"
#include "../../../metrics/trace.h"

typedef enum {
    TUTTI_DID_SET_UP,
    TUTTI_DID_LOAD,    /* waited for a batch */
    TUTTI_DID_FORWARD, /* index = layer */
    TUTTI_DID_BACKWARD_PARAMS,
    TUTTI_DID_BACKWARD_DATA,
    TUTTI_DID_SUM,  /* of gradients of one value; index = layer */
    TUTTI_DID_MOVE, /* what ranks that share a layer hand each other, to where others touch it or back; index = layer */
    TUTTI_DID_FOLD, /* index = bucket; their number: of the control numbers */
    TUTTI_DID_CONVERT,  /* gradients to what they travel in, or back; index = bucket */
    TUTTI_DID_EXCHANGE, /* started exchanges, or moved what travels */
    TUTTI_DID_WAIT,     /* waited for an exchange; index = of the plan's */
    TUTTI_DID_UPDATE,   /* of weights, or a look at gradients before it; index = bucket */
    TUTTI_DID_CENTRE,   /* of the centre; index = bucket */
    TUTTI_DID_VISIT,    /* waited to come to the centre, or for workers that are behind */
    TUTTI_DID_DEVICE,   /* waited for a device that computes by itself to end the step */
    TUTTI_DID_HELD_UP,  /* by its handicap */
    TUTTI_DID_EVALUATE,
    TUTTI_DID_SAVE,
    TUTTI_DID_OTHER,
    TUTTI_NDID,
    /* beside */
    TUTTI_BESIDE_EXCHANGE = TUTTI_NDID, /* an exchange in flight; index = of the plan's */
    TUTTI_BESIDE_UPDATE,                /* the wire's thread changed weights; index = bucket */
    TUTTI_BESIDE_LOADER,                /* the loader made a batch */
    TUTTI_BESIDE_STEP,                  /* a whole step */
    TUTTI_NDOINGS
} tutti_doing;

typedef struct {
    tutti_cost cost;
    tutti_spans *spans;         /* NULL: nothing is traced now */
    const int32_t *first_label; /* a doing: label of its index 0 */
    int64_t step;               /* that is traced */
} tutti_account;

void tutti_account_begin(tutti_account *a, int64_t now_ns);
/* The stretch since the last call was this; index 0 where there is none. */
void tutti_did(tutti_account *a, tutti_doing what, int index);
/* An exchange was waited for: it was in flight since it was last told something. */
void tutti_travelled(tutti_account *a, int exchange, const tutti_exchange *x);
/* The wire's thread has changed weights. */
void tutti_updated(tutti_account *a, int bucket, int64_t began_ns, int64_t ended_ns);
void tutti_loaded(tutti_account *a, const tutti_batch *batch);

#endif
