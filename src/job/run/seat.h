/* SPDX-License-Identifier: Apache-2.0 */
/* seat.h: the seats of ranks. A rank's seat is a group of the partition (src/partition/, docs/partition.md). A rank is
 * bound to its seat before it joins, and the seat is checked and described once the rank has joined. Threads: one at a
 * time. */
#ifndef TUTTI_JOB_SEAT_H
#define TUTTI_JOB_SEAT_H

#include "../../collective/launch/join.h"
#include "../../partition/partition.h"
#include "../job_fields.h"
#include "../session.h"

typedef struct {
    bool is_bound; /* false: the job has no partition, and the members below have no meaning */
    tutti_core_set given;
    tutti_partition partition; /* the partition of this host */
    tutti_binding binding;
    int group; /* number of this rank's group of the partition */
    /* a number for each rank: ranks of one host with the same number are near the same memory; NULL before
     * tutti_seat_tell */
    int32_t *memory_of;
    tutti_strbuf words; /* how all ranks were bound, in one line */
    tutti_strbuf list;  /* the same as `words`, with one line for each rank */
} tutti_seat;

/* True if the job has a partition. */
bool tutti_seat_is_partitioned(const tutti_job *job);
/* Cuts this host's cores into groups for nlocal ranks; given: the cores that are shared out. TUTTI_ERR_USAGE: ranks and
 * cores do not fit. */
tutti_status tutti_seat_cut(const tutti_job *job, int nlocal, tutti_core_set *given, tutti_partition *out,
                            tutti_failure *err);
/* As a rank, before it joins: binds this process (its launcher may have done so already). TUTTI_ERR_USAGE: ranks and
 * cores do not fit, or the launcher has not said how many ranks this host has. */
tutti_status tutti_seat_take(const tutti_job *job, const tutti_group_config *config, tutti_seat *out,
                             tutti_failure *err);
/* Collective, if the job has a partition: checks that the ranks of a host have shared out the same cores; if not,
 * TUTTI_ERR_USAGE on all, with the message on rank 0. Fills in memory_of, words and list. */
tutti_status tutti_seat_tell(tutti_group *group, const tutti_job *job, tutti_seat *seat, tutti_failure *err);
/* Collective, if the job has a partition: checks that each memory has what the ranks near it need. */
tutti_status tutti_seat_check_memory(tutti_group *group, const tutti_job *job, const tutti_seat *seat,
                                     const tutti_session *s, const tutti_session_data *data, tutti_failure *err);
void tutti_seat_release(tutti_seat *seat);

/* Appends a line for each group of the job's ranks on this host; nothing if the job has no partition. TUTTI_ERR_USAGE:
 * ranks and cores do not fit. With plan and data (may be NULL) it also says how much memory the ranks need, and fails
 * if there is less. */
tutti_status tutti_seat_show(const tutti_job *job, const tutti_plan *plan, const tutti_session_data *data,
                             const char *before, tutti_strbuf *out, tutti_failure *err);

#endif
