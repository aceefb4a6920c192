/* SPDX-License-Identifier: Apache-2.0 */
/* prove.h: one proof of a schedule for all ranks that run it. Threads: owner. */
#ifndef TUTTI_PROVE_H
#define TUTTI_PROVE_H

#include "../group/group.h"
#include "tutti/schedule.h"

/* Collective. Rank 0 proves (tutti_schedule_check) and hashes the schedule that it has; each rank compares its own part, which is what
 * it will run, with what was proved: another part ends the epoch for all, TUTTI_ERR_RENDEZVOUS with both hashes. *hash: of the whole
 * schedule. Cost: rank 0 the proof, the others one part. */
tutti_status tutti_group_prove(tutti_group *group, const tutti_schedule *schedule, uint64_t *hash, tutti_failure *err);

#endif
