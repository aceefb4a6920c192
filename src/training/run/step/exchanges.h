/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.h: the memories and exchanges of a plan on one rank. Threads: owner of the group. */
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
    int enrolled;              /* of the memories, whose regions the device knows */
    tutti_place *place;        /* a memory: where it lies on every rank; of a private one nothing */
    char **memory;             /* a memory: this rank's */
    tutti_region *numbers;     /* that all memories of numbers share */
    tutti_region *seats;       /* the same of seats; NULL: there are none */
    tutti_exchange **exchange; /* of the plan; NULL: between others, or for checkpoints where there are none */
    bool *in_flight;           /* an exchange: started and not waited for */
} tutti_shared;

/* saves: checkpoints are written. The caller destroys it in any case. */
tutti_status tutti_shared_create(tutti_group *group, const tutti_device *device, const tutti_plan *plan, bool saves,
                                 tutti_shared *out, tutti_failure *err);
void tutti_shared_destroy(tutti_shared *s);
float *tutti_shared_vector(const tutti_shared *s, int memory, int copy);           /* of f32 */
int64_t *tutti_shared_numbers(const tutti_shared *s, int memory);                  /* of i64 */
float *tutti_shared_of_role(const tutti_shared *s, tutti_memory_role role, int n); /* tutti_plan_find_memory's */
void tutti_shared_start(tutti_shared *s, int exchange, unsigned when);
/* done: as in tutti_exchange_wait_for, or NULL. */
tutti_status tutti_shared_wait(tutti_shared *s, int exchange, const atomic_bool *done, tutti_failure *err);
void tutti_shared_time(tutti_shared *s, bool on); /* see tutti_exchange_time */
double tutti_shared_exchange_seconds(const tutti_shared *s, int exchange);
/* Read from or written to memory of other ranks in the same. */
int64_t tutti_shared_crossed_bytes(const tutti_shared *s);
double tutti_shared_seconds(const tutti_shared *s); /* in the exchanges of steps so far, this rank */

#endif
