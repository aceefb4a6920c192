/* SPDX-License-Identifier: Apache-2.0 */
/* run_impl.h: shared by the files of a run: run.c (its life on one rank and on threads), run_tell.c (what it
 * reports). */
#ifndef TUTTI_RUN_IMPL_H
#define TUTTI_RUN_IMPL_H

#include "run.h"
#include "seat.h"

/* One rank of a run. */
typedef struct {
    const tutti_job *job;
    const tutti_run_options *options;
    const tutti_run_events *events; /* NULL = no listener */
    const tutti_session_data *data; /* shared by the threads; NULL: this rank opens its own */
    tutti_seat seat;
    int rank, nranks; /* rank -1 = this process is no rank yet */
    tutti_group *group;
    const tutti_session *session; /* the session that is run, once it is known */
    int64_t began_ns, nasked;     /* nasked: how often the rank was asked whether to end in this epoch */
    tutti_run_place now;          /* if lost ranks are replaced: this rank's place in the current epoch */
    tutti_session_data kept;      /* the data sets, if they are kept from epoch to epoch */
    int culprit;                  /* the rank that the group blames for its failure; -1 = none */
    bool is_borne;                /* this rank has failed, and the other ranks go on */
    bool is_told;                 /* the failure of this rank was reported */
    tutti_run_result result;
    tutti_failure err;
} tutti_rank_run;

void tutti_run_tell(const tutti_rank_run *r, tutti_run_event_kind kind, const char *text);
/* Reports the message of a failure once, if it has one. */
void tutti_run_tell_failure(tutti_rank_run *r);
/* As rank 0: reports what was found in the data set, and the memory that the ranks of a host share. */
void tutti_run_tell_data(const tutti_rank_run *r, const tutti_session_data *data);
/* As rank 0: reports that the method's paper uses another rule than the job. */
void tutti_run_tell_rule(const tutti_rank_run *r);
void tutti_run_tell_end(const tutti_rank_run *r);
/* run_epochs.c: true if the rank has failed because another rank was lost, and lost ranks are replaced. */
bool tutti_run_has_lost(const tutti_rank_run *r);
/* Waits for the next epoch of the group and puts it into config. False: no further epoch follows, and r keeps its
 * failure. */
bool tutti_run_begin_epoch(tutti_rank_run *r, tutti_group_config *config);
/* Prepares config for a run whose lost ranks are replaced. */
void tutti_run_watch_epoch(tutti_rank_run *r, tutti_group_config *config);
/* The function for tutti_train_config.on_event; arg: the tutti_rank_run. */
void tutti_run_hear(void *arg, const tutti_train_event *e);

#endif
