/* SPDX-License-Identifier: Apache-2.0 */
/* train_seat.h: ranks of `tutti train` on the groups of a partition (src/partition/, docs/partition.md): bound before they join, checked
 * and described once they have. Threads: owner. */
#ifndef TUTTI_CLI_TRAIN_SEAT_H
#define TUTTI_CLI_TRAIN_SEAT_H

#include "../../collective/launch/join.h"
#include "../../job/job_fields.h"
#include "../../job/session.h"
#include "../../partition/partition.h"

typedef struct {
    bool is_bound; /* else the job has no partition, and nothing below counts */
    tutti_core_set given;
    tutti_partition partition; /* of this host */
    tutti_binding binding;
    int group; /* this rank's */
    int32_t *
        memory_of; /* a number a rank: those of one host with the same one are near the same memory; NULL before they have told */
    tutti_strbuf words; /* how all of them were bound, a line */
    tutti_strbuf list;  /* ... and a line a rank */
} tutti_train_seat;

/* As the launcher: starts the job's ranks, each bound to its group; returns the exit code. says: on stdout that the groups have set how
 * many, where they have: the ranks are told a number, and cannot know. */
int tutti_train_launch(const tutti_job *job, bool says, char **argv);
/* As a rank, before it joins: binds this process, as its launcher may have done. TUTTI_ERR_USAGE: it does not fit, or the launcher has not
 * said how many ranks this host has. */
tutti_status tutti_train_take_seat(const tutti_job *job, const tutti_group_config *config, tutti_train_seat *out,
                                   tutti_failure *err);
/* Collective, where the job has a partition: ranks of a host have shared out the same cores, or TUTTI_ERR_USAGE on all of them, in words on
 * rank 0; fills in memory_of, words and list. */
tutti_status tutti_train_tell_seat(tutti_group *group, const tutti_job *job, tutti_train_seat *seat,
                                   tutti_failure *err);
/* Collective, likewise: what ranks near one memory need of it is there. */
tutti_status tutti_train_check_domains(tutti_group *group, const tutti_job *job, const tutti_train_seat *seat,
                                       const tutti_session *s, const tutti_session_data *data, tutti_failure *err);
void tutti_train_seat_release(tutti_train_seat *seat);

/* Of the job's ranks on this host, a line a group; nothing where it has no partition. TUTTI_ERR_USAGE: they do not fit. plan and data,
 * or NULL: what they need is said too, and refused where it is not there. */
tutti_status tutti_train_show_seats(const tutti_job *job, const tutti_plan *plan, const tutti_session_data *data,
                                    const char *before, tutti_strbuf *out, tutti_failure *err);

#endif
