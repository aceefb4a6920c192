/* SPDX-License-Identifier: Apache-2.0 */
/* run_impl.h: what the files of a run share: run.c (its life on one rank and on threads), run_tell.c (what it
 * tells). */
#ifndef TUTTI_RUN_IMPL_H
#define TUTTI_RUN_IMPL_H

#include "run.h"
#include "seat.h"

/* One rank of a run. */
typedef struct {
    const tutti_job *job;
    const tutti_run_options *options;
    const tutti_run_events *events; /* NULL: nobody listens */
    const tutti_session_data *data; /* shared by threads; NULL: this rank opens its own */
    tutti_seat seat;
    int rank, nranks; /* rank -1: it is none */
    tutti_group *group;
    const tutti_session *session; /* what is played, once it is known */
    int64_t began_ns, nasked;     /* nasked: how often it was asked whether it is to end */
    bool is_borne;                /* it has failed, and the others go on */
    bool is_told;                 /* its failure */
    tutti_run_result result;
    tutti_failure err;
} tutti_rank_run;

void tutti_run_tell(const tutti_rank_run *r, tutti_run_event_kind kind, const char *text);
/* Tells the words of a failure, where there are any, once. */
void tutti_run_tell_failure(tutti_rank_run *r);
/* As rank 0: what the data set found, and the memory that the ranks of a host share. */
void tutti_run_tell_data(const tutti_rank_run *r, const tutti_session_data *data);
/* As rank 0: the method's paper has another rule than the job. */
void tutti_run_tell_rule(const tutti_rank_run *r);
void tutti_run_tell_end(const tutti_rank_run *r);
/* tutti_train_config.on_event; arg: the tutti_rank_run. */
void tutti_run_hear(void *arg, const tutti_train_event *e);

#endif
