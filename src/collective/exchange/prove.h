/* SPDX-License-Identifier: Apache-2.0 */
/* prove.h: one proof of a schedule for all ranks that run it. Threads: owner. */
#ifndef TUTTI_PROVE_H
#define TUTTI_PROVE_H

#include "../group/group.h"
#include "../lower/prepare.h"

/* Collective. Rank 0 proves (tutti_schedule_check) and hashes the schedule that it has; each rank compares its own part, which is what
 * it will run, with what was proved: another part ends the epoch for all, TUTTI_ERR_RENDEZVOUS with both hashes. *hash: of the whole
 * schedule. Cost: rank 0 the proof, the others one part. */
tutti_status tutti_group_prove(tutti_group *group, const tutti_schedule *schedule, uint64_t *hash, tutti_failure *err);
tutti_prover tutti_group_prover(tutti_group *group); /* that does so */
/* The same of a schedule over some ranks of the group (executor.h), still collective over all and proved by rank 0, a member or not;
 * who is none compares nothing. The proof does not depend on who the members are: one is enough for all exchanges of one schedule,
 * and each of them compares parts again when it is created. TUTTI_ERR_USAGE, on all: some rank has no list of members. */
tutti_status tutti_group_prove_among(tutti_group *group, const tutti_schedule *schedule, const int32_t *members,
                                     int32_t nmembers, uint64_t *hash, tutti_failure *err);

#endif
