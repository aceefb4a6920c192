/* SPDX-License-Identifier: Apache-2.0 */
/* account.h: accounts the trainer's time: costs and spans. A rank's time is a sequence of stretches without gaps. The
 * code that ends a stretch says what was done in it (tutti_did): this charges a cost part (metrics/metrics.h) and,
 * while steps are traced, records a span. Work at the same time, in exchanges and in the loader, is recorded when its
 * end is known (tutti_travelled, tutti_loaded). tutti_did costs one read of the clock, and a span when traced. Threads:
 * owner. */
#ifndef TUTTI_ACCOUNT_H
#define TUTTI_ACCOUNT_H

#include "../../../collective/exchange/executor.h"
#include "../../../data/dataset.h"
#include "../../../metrics/metrics.h"
#include "../../../metrics/trace.h"

typedef enum {
    TUTTI_DID_SET_UP,
    TUTTI_DID_LOAD,    /* waited for a batch */
    TUTTI_DID_FORWARD, /* ran a forward kernel; index = layer, also for the next two */
    TUTTI_DID_BACKWARD_PARAMS,
    TUTTI_DID_BACKWARD_DATA,
    TUTTI_DID_SUM, /* added up the gradients of a layer's output; index = layer */
    /* copied the data that ranks of a shared layer send each other to the memory that is exchanged, or back; index =
     * layer */
    TUTTI_DID_MOVE,
    TUTTI_DID_FOLD,     /* added slots' gradients; index = bucket; index nbuckets = the control numbers */
    TUTTI_DID_CONVERT,  /* converted gradients to the type in which they are sent, or back; index = bucket */
    TUTTI_DID_EXCHANGE, /* started exchanges or moved their bytes, between kernels */
    TUTTI_DID_WAIT,     /* waited for an exchange; index = its number in plan->exchanges */
    TUTTI_DID_UPDATE,   /* updated weights, or checked gradients before the update; index = bucket */
    TUTTI_DID_CENTRE,   /* changed the centre; index = bucket */
    TUTTI_DID_VISIT,    /* waited to be admitted to the centre, or for workers that are behind */
    TUTTI_DID_DEVICE,   /* waited for a device to end the step that it computes by itself */
    TUTTI_DID_HELD_UP,  /* was held up by its handicap */
    TUTTI_DID_EVALUATE,
    TUTTI_DID_SAVE,
    TUTTI_DID_OTHER,
    TUTTI_NDID,
    /* work that goes on at the same time as the steps */
    TUTTI_BESIDE_EXCHANGE = TUTTI_NDID, /* an exchange in flight; index = its number in plan->exchanges */
    TUTTI_BESIDE_UPDATE,                /* the wire's thread changed weights; index = bucket */
    TUTTI_BESIDE_LOADER,                /* the loader made a batch */
    TUTTI_BESIDE_STEP,                  /* a whole step */
    TUTTI_NDOINGS
} tutti_doing;

typedef struct {
    tutti_cost cost;
    tutti_spans *spans;         /* where spans are recorded; NULL = nothing is traced now */
    const int32_t *first_label; /* per kind of activity (tutti_doing): its span label for index 0 */
    int64_t step;               /* the step that is traced */
} tutti_account;

void tutti_account_begin(tutti_account *a, int64_t now_ns);
/* Charges the time since the last call to an activity. index: 0 for kinds of activity without an index. */
void tutti_did(tutti_account *a, tutti_doing what, int index);
/* Records the span of an exchange that was waited for. It begins at the last start of the exchange or the last message
 * to it (tutti_exchange_tell). */
void tutti_travelled(tutti_account *a, int exchange, const tutti_exchange *x);
/* Records that the wire's thread has changed weights. */
void tutti_updated(tutti_account *a, int bucket, int64_t began_ns, int64_t ended_ns);
void tutti_loaded(tutti_account *a, const tutti_batch *batch);

#endif
