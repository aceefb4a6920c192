/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: the life of a run: bind each rank to its cores (seat.h), join the other ranks, open the data, build and prove
 * the plan, train, release. It runs one rank of a process, or all ranks as its threads. */
#include "run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "run_impl.h"

enum { MOST_SIGNAL = 64, SIGNAL_TERM = 15 };

void tutti_run_stop(tutti_stop_wish *wish, int signal_number)
{
    int nobody = 0;
    const int asked = signal_number >= 1 && signal_number <= MOST_SIGNAL ? signal_number : SIGNAL_TERM;
    (void)__atomic_compare_exchange_n(&wish->signal_number, &nobody, asked, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* ---- options that do not fit the job ---- */

/* Refuses --record and --replay for a job whose ranks take all steps together or visit in no order: there is no order
 * of shares and visits to record or to follow. */
static tutti_status check_order(const tutti_job *job, const tutti_run_options *o, const char *mark, tutti_failure *err)
{
    const tutti_method_row *m = tutti_method_find(job->method.name);
    const char *name = o->record ? "record" : "replay";
    if (!o->record && !o->replay) return TUTTI_OK;
    if (!m->is_async)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s%s: ranks of %s take all steps together; there is no order to keep",
                          mark, name, m->name);
    if (m->is_unordered)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "%s%s: workers of %s change the centre at the same time; there is no order to keep", mark,
                          name, m->name);
    return TUTTI_OK;
}

tutti_status tutti_run_check(const tutti_job *job, const tutti_run_options *o, const char *mark, tutti_failure *err)
{
    tutti_status st = check_order(job, o, mark, err);
    if (!st && o->pretend && o->replay)
        st = tutti_fail(err, TUTTI_ERR_USAGE,
                        "%sreplay reproduces weights, and %spretend computes none: give one of them", mark, mark);
    if (!st && o->ranks_as_threads && tutti_seat_is_partitioned(job))
        st =
            tutti_fail(err, TUTTI_ERR_USAGE, "%s: binds ranks that are processes; it cannot go with %sranks-as-threads",
                       job->said_partition, mark);
    return st;
}

/* ---- one rank ---- */

/* Returns the signal by which the run is to end; 0 = it goes on. The trainer asks at the beginning of each step, and
 * more often. From the second call on there are steps to save, so the caller is told that the run can be stopped. */
static int stop_asked(void *arg)
{
    tutti_rank_run *r = arg;
    if (r->nasked++ == 1) tutti_run_tell(r, TUTTI_RUN_STOPPABLE, "");
    return r->options->stop ? __atomic_load_n(&r->options->stop->signal_number, __ATOMIC_SEQ_CST) : 0;
}

static void tell_report(void *arg, const char *words)
{
    tutti_run_tell(arg, TUTTI_RUN_REPORT, words);
}

/* Reports which ranks the join waits for. The report names no sender, because this process is no rank before it has
 * joined. */
static void tell_waiting(void *arg, const char *words)
{
    tutti_rank_run r = *(const tutti_rank_run *)arg;
    r.rank = -1;
    tutti_run_tell(&r, TUTTI_RUN_REPORT, words);
}

static tutti_status listen_for_reports(tutti_rank_run *r)
{
    tutti_group_on_silence(r->group, tell_report, r);
    return r->options->report_signal ? tutti_group_report_on(r->group, r->options->report_signal, &r->err) : TUTTI_OK;
}

/* True if the run starts over because of --fresh. Only the first group epoch does: later ones continue the run after a
 * loss. */
static bool starts_over(const tutti_rank_run *r)
{
    return r->options->fresh && r->now.epoch <= 1;
}

static tutti_status open_data(tutti_rank_run *r, tutti_session_data *own)
{
    const tutti_run_epochs *e = r->options->epochs;
    if (r->data) return TUTTI_OK;
    if (e && e->samples > 0) return tutti_session_data_open_kept(r->job, r->group, e->samples, &r->kept, &r->err);
    return tutti_session_data_open(r->job, r->group, r->seat.memory_of, own, &r->err);
}

/* Prepares the rank's session. On a failure, a rank that has a message reports it before any rank ends, because a
 * launcher kills the other ranks when the first one ends. */
static tutti_status prepare(tutti_rank_run *r, tutti_session_data *own, tutti_session *s)
{
    char *times = NULL;
    const tutti_session_data *data = r->data ? r->data : own;
    tutti_status st = listen_for_reports(r);
    if (!st) st = tutti_seat_tell(r->group, r->job, &r->seat, &r->err);
    if (!st) st = tutti_job_share_times(r->job, r->group, &times, &r->err);
    if (!st) st = open_data(r, own);
    if (r->kept.train) data = &r->kept;
    if (!st) st = tutti_session_open(r->job, data, r->group, times, s, &r->err);
    free(times);
    if (!st && r->options->pretend) st = tutti_session_pretend(r->options->pretend, s, &r->err);
    st = tutti_group_all_ready(r->group, "preparation", st, &r->err);
    if (!st) st = tutti_seat_check_memory(r->group, r->job, &r->seat, s, own, &r->err);
    if (!st) tutti_run_tell_data(r, data);
    if (!st) return tutti_session_settle(r->job, r->group, starts_over(r) ? NULL : r->options->dir, s, &r->err);
    if (!tutti_run_has_lost(r)) tutti_run_tell_failure(r);
    (void)tutti_group_barrier(r->group, "words of a failure", NULL);
    return st;
}

static void configure(tutti_rank_run *r, tutti_train_config *c)
{
    const tutti_run_options *o = r->options;
    c->dir = o->dir;
    c->fresh = starts_over(r);
    c->copies = o->epochs ? o->epochs->copies : 0;
    c->epoch = r->now.epoch;
    c->lost = r->now.lost;
    c->lost_ns = r->now.lost_ns;
    if (o->handicaps) {
        const tutti_run_handicap *h = &o->handicaps[r->rank];
        c->handicap = (tutti_handicap){h->slowness, h->stall_s, h->stall_step};
    }
    c->record = o->record;
    c->replay = o->replay;
    c->began_ns = r->began_ns;
    c->bound = r->seat.words.text;
    c->on_event = tutti_run_hear;
    c->on_event_arg = r;
    c->stop_asked = stop_asked;
    c->stop_arg = r;
}

/* Runs the rank from the joined group to its end. */
static void play(tutti_rank_run *r)
{
    tutti_session s = {0};
    tutti_session_data own = {0};
    tutti_train_result result;
    tutti_status st = prepare(r, &own, &s);
    if (!st) tutti_run_tell_rule(r);
    r->session = &s;
    configure(r, &s.config);
    if (!st) st = tutti_train(r->group, &s.config, &result, &r->err);
    if (!st) {
        r->result = (tutti_run_result){.step = result.step,
                                       .nsteps = s.config.nsteps,
                                       .loss = result.loss,
                                       .accuracy = result.accuracy,
                                       .seconds = result.seconds,
                                       .weights_hash = result.weights_hash,
                                       .stop_signal = result.stop_signal,
                                       .was_done = result.was_done};
        tutti_run_tell_end(r);
    }
    tutti_session_release(&s);
    tutti_session_data_release(&own);
    (void)tutti_group_failure(r->group, &r->culprit, NULL);
    r->is_borne = r->culprit == r->rank;
    tutti_group_leave(r->group);
    r->err.status = st;
    if (st && !tutti_run_has_lost(r)) tutti_run_tell_failure(r);
}

static void join_and_play(tutti_rank_run *r, const tutti_group_config *config)
{
    r->culprit = -1;
    r->err.status = tutti_group_join(config, &r->group, &r->err);
    if (r->err.status) return;
    tutti_run_tell(r, TUTTI_RUN_JOINED, "");
    play(r);
}

static void run_rank(tutti_rank_run *r, tutti_group_config *config)
{
    char *text = tutti_job_print(r->job);
    r->rank = config->rank;
    r->nranks = config->nranks;
    config->fingerprint = text;
    config->notice = tell_waiting;
    config->notice_arg = r;
    tutti_run_watch_epoch(r, config);
    r->err.status = tutti_seat_take(r->job, config, &r->seat, &r->err);
    if (!r->err.status) do
            join_and_play(r, config);
        while (tutti_run_begin_epoch(r, config));
    if (r->err.status) tutti_run_tell_failure(r);
    free(text);
    tutti_session_data_release(&r->kept);
    tutti_seat_release(&r->seat);
}

/* ---- ranks as threads ---- */

static void *play_as_thread(void *arg)
{
    play(arg);
    return NULL;
}

/* Makes the ranks leave whose threads could not be started: otherwise the other ranks would wait for them. */
static void give_up(tutti_group **groups, int from, int nranks, const char *words)
{
    for (int r = from; r < nranks; r++) {
        tutti_group_abort(groups[r], words);
        tutti_group_leave(groups[r]);
    }
}

/* Starts a thread for each rank; returns how many could be started. */
static int start_threads(tutti_rank_run *ranks, tutti_group **groups, int nranks, pthread_t *threads,
                         tutti_failure *err)
{
    for (int r = 0; r < nranks; r++) {
        ranks[r].group = groups[r];
        ranks[r].rank = r;
        ranks[r].nranks = nranks;
        const int problem = pthread_create(&threads[r], NULL, play_as_thread, &ranks[r]);
        if (!problem) continue;
        tutti_fail(err, TUTTI_ERR_FAILED, "cannot start the thread of rank %d: %s", r, strerror(problem));
        give_up(groups, r, nranks, err->text);
        return r;
    }
    return nranks;
}

/* The failure of the lowest rank is the run's failure. If workers visit a centre, only rank 0's failure is: the run
 * goes on without the others. */
static void take_results(tutti_rank_run *all, const tutti_rank_run *ranks, int nranks)
{
    const bool goes_on = tutti_method_find(all->job->method.name)->is_async;
    all->result = ranks[0].result;
    for (int r = 0; r < nranks && !all->err.status && !all->result.stop_signal; r++)
        if (r == 0 || !goes_on) all->err = ranks[r].err;
}

static void run_threads(tutti_rank_run *all)
{
    const int nranks = (int)all->job->ranks;
    tutti_group **groups = tutti_alloc((size_t)nranks * sizeof *groups);
    tutti_rank_run *ranks = tutti_alloc((size_t)nranks * sizeof *ranks);
    pthread_t *threads = tutti_alloc((size_t)nranks * sizeof *threads);
    tutti_session_data data = {0};
    int n = 0;
    tutti_status st = tutti_session_data_open(all->job, NULL, NULL, &data, &all->err);
    if (!st) st = tutti_group_create_threads(nranks, all->job->exchange.deadline_s, groups, &all->err);
    all->data = &data;
    for (int r = 0; r < nranks; r++) ranks[r] = *all;
    if (!st) n = start_threads(ranks, groups, nranks, threads, &all->err);
    for (int r = 0; r < n; r++) pthread_join(threads[r], NULL);
    if (n == nranks)
        take_results(all, ranks, nranks);
    else
        tutti_run_tell_failure(all);
    tutti_session_data_release(&data);
    free(groups);
    free(ranks);
    free(threads);
}

/* ---- starting a run ---- */

static void take_place(const tutti_run_place *p, tutti_group_config *c)
{
    *c = (tutti_group_config){.rank = p->rank,
                              .nranks = p->nranks,
                              .local_rank = p->local_rank,
                              .local_nranks = p->local_nranks,
                              .master_addr = p->address ? p->address : "127.0.0.1",
                              .master_port = p->port,
                              .master_fd = p->listener > 0 ? p->listener : -1,
                              .cookie = p->cookie,
                              .epoch = p->epoch,
                              .deadline_s = p->deadline_s,
                              .ncores = p->ncores};
}

static tutti_status check_ranks(const tutti_job *job, const tutti_group_config *c, tutti_failure *err)
{
    if (job->ranks == c->nranks) return TUTTI_OK;
    if (c->nranks == 1 && !c->launcher)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "the job has %lld ranks, and this is one process that nobody has started as one of them: start "
            "one for each (docs/launching.md), let them be threads, or load the job with 'ranks=1'",
            (long long)job->ranks);
    return tutti_fail(err, TUTTI_ERR_USAGE, "the job has %lld rank%s, and there are %d: load it with 'ranks=%d'",
                      (long long)job->ranks, job->ranks == 1 ? "" : "s", c->nranks, c->nranks);
}

static void run_process(tutti_rank_run *r)
{
    tutti_group_config c = {0};
    const bool asks = !r->options->place; /* if the caller gives no place in the group, the environment does */
    tutti_status st = TUTTI_OK;
    if (asks)
        st = tutti_group_config_from_env(&c, &r->err);
    else
        take_place(r->options->place, &c);
    if (asks && !st && !c.has_deadline) c.deadline_s = 0;
    if (!(c.deadline_s > 0)) c.deadline_s = r->job->exchange.deadline_s;
    const bool has_config = asks && !st;
    if (!st) st = check_ranks(r->job, &c, &r->err);
    if (st)
        tutti_run_tell_failure(r);
    else
        run_rank(r, &c);
    /* a launcher ends all ranks when one fails, so it must not hear of a failure after which the other ranks go on */
    if (has_config) tutti_group_config_end(&c, r->is_borne ? 0 : (int)r->err.status, "tutti: a rank failed");
}

tutti_status tutti_job_run(const tutti_job *job, const tutti_run_options *options, const tutti_run_events *events,
                           tutti_run_result *result, tutti_failure *err)
{
    static const tutti_run_options nothing = {0};
    tutti_rank_run r = {.job = job,
                        .options = options ? options : &nothing,
                        .events = events,
                        .rank = -1,
                        .began_ns = tutti_clock_ns()};
    if (tutti_run_check(job, r.options, "", &r.err))
        tutti_run_tell_failure(&r);
    else if (r.options->ranks_as_threads)
        run_threads(&r);
    else
        run_process(&r);
    if (r.err.status) return tutti_fail(err, r.err.status, "%s", r.err.text);
    *result = r.result;
    return TUTTI_OK;
}
