/* SPDX-License-Identifier: Apache-2.0 */
/* proof.h: proves the plan before the first step, once for all ranks, which agree where to start. Threads: owner of the
 * group. */
#ifndef TUTTI_PROOF_H
#define TUTTI_PROOF_H

#include "keep/keep.h"

#define TUTTI_PROOF_FILE "plan.proof"
/* Collective; then tutti_start_agree. Rank 0 proves and says so, before it touches the folder; each rank compares its
 * own plan with what was proved. TUTTI_ERR_USAGE on all: it is wrong, in words on rank 0. TUTTI_ERR_RENDEZVOUS: a rank
 * has another one. *start is the caller's to release in any case. */
tutti_status tutti_train_begin(tutti_group *group, const tutti_train_config *config, tutti_start *start,
                               tutti_failure *err);

#endif
