/* SPDX-License-Identifier: Apache-2.0 */
/* copies.h: copies of a run's state in memory that outlives its processes, so that a run which loses a rank goes on
 * from a recent step.
 *
 * The ranks of a host map one memory file, whose descriptor their launcher keeps. The file has two slots. A copy goes
 * into the slot that does not hold the newest whole copy. Each rank writes the elements that it owns, then marks its
 * part with the step. A copy is whole when all ranks of all hosts have marked the same step. No rank waits for another.
 * Between two copies lies an exchange, to which each rank contributes after it has written its part of the first copy.
 * So the first copy is whole before any rank begins the second. Between hosts each rank also sends its part, so that
 * every host's file holds the whole copy (copies_hosts.c).
 *
 * A copy holds what a checkpoint holds (tutti_saving_of). Threads: one at a time for each group. */
#ifndef TUTTI_COPIES_H
#define TUTTI_COPIES_H

#include "../step/step.h"
#include "checkpoint.h"

typedef struct tutti_copies tutti_copies;

/* Collective. Maps the file config->copies for the plan; content that the plan cannot use is dropped, and so are copies
 * that are not whole. NULL in *out: the run takes no copies, because config->copies is no descriptor, workers visit a
 * centre, or the device's memory is not the host's. */
tutti_status tutti_copies_open(tutti_group *group, const tutti_train_config *config, tutti_copies **out,
                               tutti_failure *err);
/* Collective, before the newest whole copy is read: sends that copy to the hosts whose files lack it. */
tutti_status tutti_copies_complete(tutti_group *group, const tutti_copies *c, tutti_failure *err);
void tutti_copies_close(tutti_copies *c); /* NULL is accepted */
/* Returns the step of the newest whole copy; -1 = there is none, or c is NULL. */
int64_t tutti_copies_newest(const tutti_copies *c);
/* Fills the weights and states that `into` names from the newest whole copy, and its step, loss, scale, earlier_updates
 * and skips. Vectors that `into` names and the copy lacks stay as they are. */
void tutti_copies_read(const tutti_copies *c, tutti_checkpoint *into);
/* Reads those vectors of the copy of which each rank has its own. */
void tutti_copies_read_own(const tutti_copies *c, const tutti_checkpoint *into);
/* True if all ranks copy after this step; the same on all ranks. */
bool tutti_copies_is_due(const tutti_copies *c, const tutti_stepping *s);
/* Rank 0: true if it is time for a copy by its clock (elastic.copy_every: 0). */
bool tutti_copies_is_wished(const tutti_copies *c, const tutti_stepping *s);
/* Collective. Waits for the exchanges in flight, writes this rank's part of a copy of the state after the steps done,
 * and sends it to other hosts. All of this counts as the cost of the copy. */
tutti_status tutti_copies_take(tutti_copies *c, tutti_stepping *s, tutti_failure *err);
/* Bytes of one copy, and of the whole file. */
int64_t tutti_copies_bytes(const tutti_copies *c);
int64_t tutti_copies_file_bytes(const tutti_copies *c);

#endif
