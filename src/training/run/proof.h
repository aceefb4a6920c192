/* SPDX-License-Identifier: Apache-2.0 */
/* proof.h: proves the plan before the first step, once for all ranks, and makes all ranks agree where to start.
 * Threads: one at a time for each group. */
#ifndef TUTTI_PROOF_H
#define TUTTI_PROOF_H

#include "keep/keep.h"

#define TUTTI_PROOF_FILE "plan.proof"
/* Collective; calls tutti_start_agree at the end. Rank 0 proves the plan, unless a proof is kept, and reports it,
 * before it touches the folder; each rank compares its own plan with the proved one. TUTTI_ERR_USAGE on all ranks: the
 * plan is wrong; rank 0 has the message. TUTTI_ERR_RENDEZVOUS: a rank has another plan. The caller releases *start in
 * any case. */
tutti_status tutti_train_begin(tutti_group *group, const tutti_train_config *config, tutti_start *start,
                               tutti_failure *err);

#endif
