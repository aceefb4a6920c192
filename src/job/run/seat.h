/* SPDX-License-Identifier: Apache-2.0 */
/* seat.h: the seats of ranks, groups of a partition (src/partition/, docs/partition.md): bound before they join,
 * checked and described once they have. Threads: owner. */
#ifndef TUTTI_JOB_SEAT_H
#define TUTTI_JOB_SEAT_H

#include "../../collective/launch/join.h"
#include "../../partition/partition.h"
#include "../job_fields.h"
#include "../session.h"

typedef struct {
    bool is_bound; /* else the job has no partition, and nothing below counts */
    tutti_core_set given;
    tutti_partition partition; /* of this host */
    tutti_binding binding;
    int group; /* this rank's */
    int32_t
        *memory_of; /* a number a rank: those of one host with the same one are near the same memory; NULL before they
                    * have told */
    tutti_strbuf words; /* how all of them were bound, a line */
    tutti_strbuf list;  /* ... and a line a rank */
} tutti_seat;

/* Whether the job has a partition. */
bool tutti_seat_is_partitioned(const tutti_job *job);
/* The groups of this host's cores that nlocal ranks are to sit on; given: the cores that are shared out.
 * TUTTI_ERR_USAGE: they do not fit. */
tutti_status tutti_seat_cut(const tutti_job *job, int nlocal, tutti_core_set *given, tutti_partition *out,
                            tutti_failure *err);
/* As a rank, before it joins: binds this process, as its launcher may have done. TUTTI_ERR_USAGE: it does not fit, or
 * the launcher has not said how many ranks this host has. */
tutti_status tutti_seat_take(const tutti_job *job, const tutti_group_config *config, tutti_seat *out,
                             tutti_failure *err);
/* Collective, where the job has a partition: ranks of a host have shared out the same cores, or TUTTI_ERR_USAGE on all
 * of them, in words on rank 0; fills in memory_of, words and list. */
tutti_status tutti_seat_tell(tutti_group *group, const tutti_job *job, tutti_seat *seat, tutti_failure *err);
/* Collective, likewise: what ranks near one memory need of it is there. */
tutti_status tutti_seat_check_memory(tutti_group *group, const tutti_job *job, const tutti_seat *seat,
                                     const tutti_session *s, const tutti_session_data *data, tutti_failure *err);
void tutti_seat_release(tutti_seat *seat);

/* Of the job's ranks on this host, a line a group; nothing where it has no partition. TUTTI_ERR_USAGE: they do not fit.
 * plan and data, or NULL: what they need is said too, and refused where it is not there. */
tutti_status tutti_seat_show(const tutti_job *job, const tutti_plan *plan, const tutti_session_data *data,
                             const char *before, tutti_strbuf *out, tutti_failure *err);

#endif
