/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.h: from the name of an algorithm to a schedule that can run, in one call: compiled, lowered and proved.
 * Threads: owner; the schedules are frozen once they are made. */
#ifndef TUTTI_PREPARE_H
#define TUTTI_PREPARE_H

#include "tutti/compile.h"

/* Who proves a lowered schedule and hashes it: in a group one rank for all, so that it costs the others nothing. */
typedef struct {
    const int32_t *members; /* of the group, one for each of the schedule's ranks; NULL: all */
    int32_t nmembers;
} tutti_proved_among;
typedef struct {
    tutti_status (*prove)(void *who, const tutti_schedule *lowered, tutti_proved_among among, uint64_t *hash,
                          tutti_failure *err);
    void *who;
} tutti_prover;

/* For which wire a schedule between n ranks on these hosts is lowered; numbers: n of them, hosts as the schedule
 * numbers them. */
tutti_wire_class tutti_lower_wire(const int32_t *host_of, int32_t n, int32_t *numbers);

typedef struct {
    tutti_schedule *compiled, *lowered; /* lowered: what runs; it generates its parts from the compiled one's */
    uint64_t hash;                      /* of what runs; 0 where nobody proved it */
} tutti_prepared;

/* host_of: the host of each rank of the request; NULL = one host for all. by: NULL = it is not proved here. What was
 * made is given back with tutti_prepared_release; after a failure there is nothing to give back. */
tutti_status tutti_schedule_prepare(const char *algorithm, const tutti_compile_request *request, const int32_t *host_of,
                                    const tutti_prover *by, tutti_prepared *out, tutti_failure *err);
void tutti_prepared_release(tutti_prepared *p);

#endif
