/* SPDX-License-Identifier: Apache-2.0 */
/* played_job.h: trains a job's text on so many ranks that are threads of the test. A run that passes over a checkpoint,
 * unless one is torn, fails it: begun anew, it would end as it should. */
#ifndef TUTTI_PLAYED_JOB_H
#define TUTTI_PLAYED_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "collective/group/group_impl.h"
#include "collective/wired_ranks.h"
#include "data/dataset_impl.h"
#include "device/device_row.h"
#include "job/job_fields.h"
#include "job/session.h"

/* PLAYED_DEADLINE_S: a rank that computes is silent for the time of its longest piece of work, which takes ten times as
 * long with the checks of a sanitizer. */
enum { PLAYED_MAX_RANKS = 8, PLAYED_DEADLINE_S = TESTING_SANITIZED ? 200 : 20 };

typedef struct {
    const char *text;
    int nranks;
    bool wired;                                   /* over tcp, as ranks of as many hosts */
    const tutti_emitter *method;                  /* instead of the job's; NULL: that */
    const tutti_device *device[PLAYED_MAX_RANKS]; /* a rank's; NULL: the job's */
    bool fast;                                    /* by the job's kernels: one rank alone; else those of reference */
    const char *dir;
    bool fresh, torn;            /* torn: it is to pass over a checkpoint */
    const char *record, *replay; /* files; NULL = none */
    tutti_handicap handicap[PLAYED_MAX_RANKS];
    int stop_rank; /* asks for an end (as by SIGTERM) at stop_step */
    int64_t stop_step;
    int64_t dies[PLAYED_MAX_RANKS];       /* when it is asked the so many-th time whether to end, 0 = it does not */
    atomic_int nended;                    /* ranks that have not died */
    tutti_status fails[PLAYED_MAX_RANKS]; /* that its training samples cannot be read; TUTTI_OK: they can */
    void (*on_open)(void *arg, const tutti_session *s); /* before it trains */
    void *on_open_arg;
    void (*on_event)(void *arg, const tutti_train_event *event);
    void *on_event_arg;
    atomic_int npassed_over; /* checkpoints that were not whole */
    /* results */
    atomic_llong from; /* the step where it went on */
    tutti_train_result result[PLAYED_MAX_RANKS];
    tutti_failure err[PLAYED_MAX_RANKS];
} played_job;

typedef struct {
    played_job *job;
    const tutti_job *resolved;
    const tutti_session_data *data;
    tutti_group *group;
    pthread_t thread;
    int64_t asked;
} played_rank;

/* As the others see a process that is killed: its sockets close, and it does nothing any more until all is over. */
static void played_die(const played_rank *r)
{
    int nliving = 0;
    for (int i = 0; i < r->job->nranks; i++) {
        const tutti_peer *p = &r->group->peers[i];
        nliving += !r->job->dies[i];
        if (p->mesh >= 0) shutdown(p->mesh, SHUT_RDWR);
        if (p->control >= 0) shutdown(p->control, SHUT_RDWR);
    }
    while (atomic_load(&r->job->nended) < nliving) tutti_clock_sleep_s(1e-3);
    while (tutti_group_poll(r->group, NULL) == TUTTI_OK)
        tutti_clock_sleep_s(1e-3); /* or it would visit, as one whose turns are passed on */
}

static int played_stop(void *arg)
{
    played_rank *r = arg;
    const int rank = tutti_group_rank(r->group);
    const bool mine = r->job->stop_step && rank == r->job->stop_rank;
    r->asked++;
    if (r->asked == r->job->dies[rank]) played_die(r);
    return mine && r->asked == r->job->stop_step ? 15 : 0;
}

/* ---- a set of which nothing can be read ---- */

static void *played_reader_open(const tutti_dataset *d)
{
    return d->own;
}

static void played_reader_close(void *reader)
{
    (void)reader;
}

static tutti_status played_read(const tutti_dataset *d, void *reader, tutti_pass pass, int64_t index, int64_t stored,
                                float *sample, tutti_failure *err)
{
    (void)reader, (void)pass, (void)index, (void)stored, (void)sample;
    return tutti_fail(err, *(const tutti_status *)d->own, "the disk makes a noise");
}

static int32_t played_label(const tutti_dataset *d, int64_t stored)
{
    (void)d, (void)stored;
    return 0;
}

/* The plan again, by the test's own method. */
static tutti_status played_replan(const tutti_emitter *method, tutti_session *s, tutti_failure *err)
{
    tutti_plan_config config = s->parts.plan->config;
    tutti_plan *plan = NULL;
    config.method = method;
    const tutti_status st = tutti_plan_build(s->parts.graph, &config, &plan, err);
    if (st) return st;
    tutti_plan_destroy(s->parts.plan);
    s->config.plan = s->parts.plan = plan;
    return TUTTI_OK;
}

static void played_event(void *arg, const tutti_train_event *event)
{
    played_job *j = ((played_rank *)arg)->job;
    if (event->kind == TUTTI_TRAIN_NOTE && strstr(event->text, "passed over a checkpoint"))
        atomic_fetch_add(&j->npassed_over, 1);
    if (event->kind == TUTTI_TRAIN_BEGIN) atomic_store(&j->from, event->step);
    if (j->on_event) j->on_event(j->on_event_arg, event);
}

static void *played_rank_run(void *arg)
{
    played_rank *r = arg;
    played_job *j = r->job;
    const int rank = tutti_group_rank(r->group);
    tutti_session s = {0};
    tutti_status st = tutti_session_open(r->resolved, r->data, r->group, NULL, &s, &j->err[rank]);
    if (!st && j->method) st = played_replan(j->method, &s, &j->err[rank]);
    const tutti_dataset_row row = {.reader_open = played_reader_open,
                                   .reader_close = played_reader_close,
                                   .read = played_read,
                                   .label = played_label};
    tutti_dataset unreadable = *r->data->train;
    unreadable.row = &row;
    unreadable.own = &j->fails[rank];
    if (j->fails[rank]) s.config.train = &unreadable;
    if (j->device[rank]) s.config.device = j->device[rank];
    s.config.dir = j->dir;
    s.config.fresh = j->fresh;
    s.config.handicap = j->handicap[rank];
    s.config.record = j->record;
    s.config.replay = j->replay;
    s.config.stop_asked = played_stop;
    s.config.stop_arg = r;
    s.config.on_event = played_event;
    s.config.on_event_arg = r;
    if (!st) st = tutti_session_settle(r->resolved, r->group, j->fresh ? NULL : j->dir, &s, &j->err[rank]);
    if (!st && j->on_open) j->on_open(j->on_open_arg, &s);
    if (!st) st = tutti_train(r->group, &s.config, &j->result[rank], &j->err[rank]);
    j->err[rank].status = st;
    atomic_fetch_add(&j->nended, 1);
    tutti_session_release(&s);
    tutti_group_leave(r->group);
    return NULL;
}

static void play_job(played_job *j)
{
    played_rank ranks[PLAYED_MAX_RANKS];
    tutti_group *groups[PLAYED_MAX_RANKS];
    tutti_failure err = {0};
    tutti_job *job = NULL;
    tutti_session_data data = {0};
    char count[32];
    snprintf(count, sizeof count, "ranks=%d", j->nranks);
    const char *const overrides[] = {count, "kernels=reference"};
    tutti_status st = tutti_job_parse("test", j->text, strlen(j->text), overrides, j->fast ? 1 : 2, &job, &err);
    if (!st) st = tutti_session_data_open(job, NULL, NULL, &data, &err);
    if (!st) st = (j->wired ? wired_create : tutti_group_create_threads)(j->nranks, PLAYED_DEADLINE_S, groups, &err);
    if (st) fail_msg("%s", err.text);
    for (int r = 0; r < j->nranks; r++) {
        ranks[r] = (played_rank){.job = j, .resolved = job, .data = &data, .group = groups[r]};
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, played_rank_run, &ranks[r]), 0);
    }
    for (int r = 0; r < j->nranks; r++) pthread_join(ranks[r].thread, NULL);
    if (j->torn != (j->npassed_over > 0)) fail_msg("%s%d checkpoints are not whole", j->text, j->npassed_over);
    tutti_session_data_release(&data);
    tutti_job_destroy(job);
}

#endif
