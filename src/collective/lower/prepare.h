/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.h: compiles, lowers and proves a schedule in one call, from the name of an algorithm. Threads: one at a time;
 * the schedules are frozen once they are made. */
#ifndef TUTTI_PREPARE_H
#define TUTTI_PREPARE_H

#include "tutti/compile.h"

/* The prover of lowered schedules, which also hashes them: in a group one rank does it for all, so that it costs the
 * others nothing. */
typedef struct {
    const int32_t *members; /* for each of the schedule's ranks: its rank in the group; NULL: all ranks of the group */
    int32_t nmembers;
} tutti_proved_among;
typedef struct {
    tutti_status (*prove)(void *who, const tutti_schedule *lowered, tutti_proved_among among, uint64_t *hash,
                          tutti_failure *err);
    void *who;
} tutti_prover;

/* Returns the wire class for a schedule between n ranks on these hosts; numbers gets n entries, the hosts as the
 * schedule numbers them. */
tutti_wire_class tutti_lower_wire(const int32_t *host_of, int32_t n, int32_t *numbers);

typedef struct {
    tutti_schedule *compiled, *lowered; /* compiled: the two-sided schedule; lowered: the one that runs, which generates
                                         * its parts from `compiled` */
    uint64_t hash;                      /* hash of `lowered`; 0 if it was not proved */
} tutti_prepared;

/* Prepares a schedule. host_of: the host of each rank of the request; NULL = one host for all. by: NULL = no proof
 * here. Give the result back with tutti_prepared_release; after a failure there is nothing to give back. */
tutti_status tutti_schedule_prepare(const char *algorithm, const tutti_compile_request *request, const int32_t *host_of,
                                    const tutti_prover *by, tutti_prepared *out, tutti_failure *err);
void tutti_prepared_release(tutti_prepared *p);

#endif
