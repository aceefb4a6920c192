/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.h: the memories and exchanges of a plan on one rank. Threads: one at a time for each group. */
#ifndef TUTTI_EXCHANGES_H
#define TUTTI_EXCHANGES_H

#include <stdatomic.h>

#include "../../../collective/exchange/executor.h"
#include "../../../device/device_row.h"
#include "../../plan/plan.h"

typedef struct {
    tutti_group *group;
    const tutti_device *device;
    const tutti_plan *plan;
    int enrolled;          /* the first `enrolled` memories have regions that the device knows */
    tutti_place *place;    /* per memory: where it lies on every rank; empty for a private memory */
    char **memory;         /* per memory: its address on this rank */
    tutti_region *numbers; /* the region of all memories of the role numbers */
    tutti_region *seats;   /* the region that all seats share; NULL = there are no seats */
    /* per exchange of the plan: this rank's exchange; NULL: it is between other ranks, or for checkpoints of a run that
     * writes none */
    tutti_exchange **exchange;
    bool *in_flight; /* per exchange: started and not waited for */
} tutti_shared;

/* saves: the run writes checkpoints. The caller destroys *out in any case. */
tutti_status tutti_shared_create(tutti_group *group, const tutti_device *device, const tutti_plan *plan, bool saves,
                                 tutti_shared *out, tutti_failure *err);
void tutti_shared_destroy(tutti_shared *s);
float *tutti_shared_vector(const tutti_shared *s, int memory, int copy); /* returns a copy's address (f32) */
int64_t *tutti_shared_numbers(const tutti_shared *s, int memory);        /* returns the memory's address (i64) */
/* returns the memory that tutti_plan_find_memory finds */
float *tutti_shared_of_role(const tutti_shared *s, tutti_memory_role role, int n);
void tutti_shared_start(tutti_shared *s, int exchange, unsigned when);
/* Waits until the exchange has ended. done: as in tutti_exchange_wait_for, or NULL. */
tutti_status tutti_shared_wait(tutti_shared *s, int exchange, const atomic_bool *done, tutti_failure *err);
void tutti_shared_time(tutti_shared *s, bool on); /* turns timing on or off: see tutti_exchange_time */
double tutti_shared_exchange_seconds(const tutti_shared *s, int exchange);
/* Returns the bytes that exchanges of steps have read from or written to memory of other ranks so far. */
int64_t tutti_shared_crossed_bytes(const tutti_shared *s);
double tutti_shared_seconds(const tutti_shared *s); /* returns this rank's time in the exchanges of steps so far */

#endif
