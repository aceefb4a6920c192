/* SPDX-License-Identifier: Apache-2.0 */
/* comm_queue.c: moves requests through a queue, one after the other, piece by piece.
 *
 * The executor calls `tutti_call_queue_turn` when an invocation is complete, inside the call that drives the group. So
 * a request of many pieces makes progress while its owner waits for another request, without a thread of the
 * library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_impl.h"

/* --- pieces of a request --- */

static int64_t left_of(const tutti_call_block *b, const tutti_request *q)
{
    const int64_t left = b->n - q->at;
    return left < 0 ? 0 : left < q->piece ? left : q->piece;
}

static void copy_piece(const tutti_request *q, bool in)
{
    const tutti_call_queue *l = q->queue;
    const tutti_device *device = l->comm->device;
    const size_t apart = (size_t)l->piece * q->bytes;
    const bool past = in ? tutti_way_at((tutti_way)l->key.way)->past_caches : q->large;
    for (int32_t k = 0; k < (in ? q->nin : q->nout); k++) {
        const tutti_call_block *b = in ? &q->in[k] : &q->out[k];
        char *user = b->at + (size_t)q->at * q->bytes, *stage = (in ? l->stage_in : l->stage_out) + (size_t)k * apart;
        const size_t nbytes = (size_t)left_of(b, q) * q->bytes;
        if (nbytes) device->copy(device, in ? &stage : &user, 1, in ? user : stage, nbytes, past);
    }
}

/* Prepares the next piece of the first request. */
static void load(const tutti_call_queue *l)
{
    tutti_request *q = l->head;
    const tutti_path path = tutti_way_at((tutti_way)l->key.way)->path;
    /* marks the invocation with facts that the queue's key leaves out */
    tutti_exchange_call(l->x, (uint64_t)q->one_in.n + q->notice.counts);
    if (path == TUTTI_PATH_STAGED) copy_piece(q, true);
    if (path != TUTTI_PATH_SHOWN && path != TUTTI_PATH_REACHED) return;
    const size_t skip = (size_t)q->at * q->bytes;
    const int64_t n = path == TUTTI_PATH_REACHED ? q->one_in.n : left_of(&q->one_in, q);
    tutti_exchange_aim(l->x, q->one_in.at + skip, q->one_out.at + skip, n, q->large);
}

bool tutti_call_queue_turn(void *arg)
{
    tutti_call_queue *l = arg;
    tutti_request *q = l->head;
    if (!q) return false; /* the request has failed and was removed */
    if (tutti_way_at((tutti_way)l->key.way)->path == TUTTI_PATH_STAGED) copy_piece(q, false);
    q->at += q->piece;
    if (q->at >= q->length) {
        l->head = q->next;
        if (!l->head) l->tail = NULL;
        atomic_store(&q->done, true); /* after this store the owner may reuse or free the request */
    }
    if (!l->head) return false;
    load(l);
    return true;
}

/* Appends a request; returns true if it is the first of the queue. */
static bool queue(void *arg)
{
    tutti_request *q = arg;
    tutti_call_queue *l = q->queue;
    q->next = NULL;
    if (l->tail)
        l->tail->next = q;
    else
        l->head = q;
    l->tail = q;
    if (l->head != q) return false;
    load(l);
    return true;
}

void tutti_call_queue_push(tutti_request *q)
{
    tutti_exchange_start_if(q->queue->x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE, queue, q);
}

static bool drop(void *arg)
{
    tutti_call_queue *l = arg;
    l->head = l->tail = NULL;
    return false;
}

void tutti_call_queue_drop(tutti_call_queue *l)
{
    tutti_exchange_start_if(l->x, 0, drop, l);
}
