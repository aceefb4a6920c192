/* SPDX-License-Identifier: Apache-2.0 */
/* async.c: plays steps of asynchronous methods, from one stop (where all ranks meet) to the next. If a rank was dealt
 * shares beyond the stop, it plays them only after all ranks have met. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../../base/text/strbuf.h"
#include "visit.h"

/* The deadline of a worker of another host is longer by this factor. So rank 0, which knows the rank that holds up the
 * worker's turn, gives up first and names that rank. */
static const double LONGER = 1.25;

tutti_status tutti_async_create(tutti_async *a, tutti_stepping *s, tutti_failure *err)
{
    if (!tutti_plan_is_async(s->plan)) return TUTTI_OK;
    const tutti_visits_config config = {s->step, s->config->nsteps, s->config->record != NULL,
                                        s->step < s->config->nsteps ? s->config->replay : NULL};
    s->first_step = s->step;
    const tutti_status st = tutti_visits_create(s->group, s->plan, &config, &s->visits, err);
    return st ? st : tutti_serve_create(s, &a->serve, err);
}

/* Takes the loss of the shares that have been played since the last call. */
static void take_loss(tutti_async *a, tutti_stepping *s)
{
    double loss;
    const int64_t played = tutti_visits_played(s->visits, &loss), new = played - a->told_shares;
    if (new) s->last_loss = (loss - a->told_loss) / (double)(new * s->plan->my_nsamples);
    a->told_shares = played;
    a->told_loss = loss;
}

/* Reports between two stops, on rank 0: a restart, once a step has been done; and the latest step for which a line is
 * due, once all shares before it have been played. */
static tutti_status report_on_the_way(tutti_async *a, tutti_stepping *s, const tutti_keeping *k, tutti_telling *t,
                                      int64_t stop, tutti_failure *err)
{
    if (s->rank != 0) return TUTTI_OK;
    double loss;
    tutti_status st = tutti_lost_tell(a, s, t, err);
    const int64_t every = s->config->log_every, step = s->step;
    const int64_t done = s->first_step + tutti_visits_played(s->visits, &loss) / s->nranks;
    const int64_t due = done / every * every;
    if (!st && done > s->first_step) st = tutti_report_restart(t, &k->start, err);
    if (st || due <= t->logged_step || due <= step || due >= stop) return st;
    s->step = due;
    take_loss(a, s);
    tutti_telling_tick(t);
    st = tutti_report_step(t, err);
    s->step = step;
    return st;
}

/* Asks whether the share of `batch` may begin; NULL: no batch is left. Also checks whether the group has ended: a rank
 * that always finds the centre free never waits, and would notice it nowhere else. */
static tutti_status begin(tutti_stepping *s, const tutti_batch *batch, bool *may, tutti_failure *err)
{
    const int64_t share = batch ? batch->step * s->nranks + batch->first / s->plan->my_nsamples : -1;
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    tutti_status st = tutti_group_failure(s->group, NULL, err);
    if (!st) st = tutti_visits_begin(s->visits, share, may, err);
    tutti_did(&s->account, TUTTI_DID_VISIT, 0);
    return st;
}

static tutti_status play_shares(tutti_async *a, tutti_stepping *s, const tutti_keeping *k, tutti_telling *t,
                                int64_t stop, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    bool may = false;
    while (!st) {
        if (!a->held) st = tutti_step_load(s, &a->held, err);
        const tutti_batch *batch = a->held;
        if (batch) tutti_step_ask(s);
        if (batch && s->my_signal) tutti_visits_ask_to_end(s->visits);
        if (!st) st = begin(s, batch, &may, err);
        if (st || !may) return st;
        st = tutti_step_play_share(s, batch, err);
        a->held = NULL;
        if (!st && !s->asked_to_save && tutti_saving_is_wished(k, s)) {
            s->asked_to_save = true;
            tutti_visits_ask_to_save(s->visits);
        }
        if (!st) st = tutti_report_written(t, false, err);
        if (!st) st = report_on_the_way(a, s, k, t, stop, err);
    }
    return st;
}

tutti_status tutti_async_play(tutti_async *a, tutti_stepping *s, const tutti_keeping *k, tutti_telling *t, int64_t stop,
                              tutti_failure *err)
{
    const int64_t most = s->step + INT32_MAX / s->nranks;
    const bool is_far = tutti_plan_is_far(s->plan, s->rank);
    const double deadline = tutti_group_deadline(s->group);
    tutti_status st = tutti_visits_open(s->visits, stop < most ? stop : most, err);
    if (!st) tutti_serve_open(a->serve);
    if (is_far) tutti_group_set_deadline(s->group, LONGER * deadline + 1);
    if (!st) st = play_shares(a, s, k, t, stop, err);
    if (is_far) tutti_group_set_deadline(s->group, deadline);
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    if (!st) st = tutti_visits_come(s->visits, err);
    /* after this call, the weights to be tested do not change any more */
    if (!st) st = tutti_serve_rest(a->serve, s->group, err);
    if (!st) st = tutti_visits_meet(s->visits, &s->step, &s->asked_to_stop, err);
    tutti_did(&s->account, TUTTI_DID_VISIT, 0);
    s->asked_to_save = !st && tutti_visits_saves(s->visits);
    if (!st) take_loss(a, s);
    return st ? st : tutti_lost_tell(a, s, t, err);
}

/* ---- the report at the end ---- */

static void add_up(tutti_staleness *sum, const tutti_staleness *one)
{
    sum->nvisits += one->nvisits;
    sum->sum += one->sum;
    sum->nlost += one->nlost;
    sum->nserved += one->nserved;
    sum->moved_bytes += one->moved_bytes;
    if (one->most > sum->most) sum->most = one->most;
    for (int i = 0; i < TUTTI_STALENESS_BINS; i++) sum->bin[i] += one->bin[i];
}

/* Adds the visits that rank 0 has made for workers of other hosts. */
static void add_served(const tutti_stepping *s, int worker, tutti_staleness *sum)
{
    tutti_staleness of_worker;
    const tutti_visits *stand_in = tutti_visits_stand_in(s->visits, worker);
    if (!stand_in) return;
    tutti_visits_staleness(stand_in, &of_worker);
    of_worker.nserved = of_worker.nvisits;
    add_up(sum, &of_worker);
}

/* Returns the bytes that this rank has written to memory of another host for visits. */
static int64_t moved_bytes(const tutti_stepping *s)
{
    int64_t sum = 0;
    for (int r = 1; r < s->nranks; r++) {
        const int ways[2] = {tutti_plan_push_of(s->plan, r), tutti_plan_pull_of(s->plan, r)};
        for (int i = 0; i < 2; i++) {
            tutti_exchange_stats stats = {0};
            if (ways[i] >= 0 && s->shared.exchange[ways[i]])
                tutti_exchange_stats_read(s->shared.exchange[ways[i]], &stats);
            sum += stats.invocations * stats.bytes_written;
        }
    }
    return sum;
}

static void print(const tutti_plan *plan, const tutti_staleness *s, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "%" PRId64 " visits to the centre, %s; between two of a worker others came %.2f times, %" PRId64
                        " at most:",
                        s->nvisits, tutti_admission_words(plan->admission),
                        s->nvisits ? (double)s->sum / (double)s->nvisits : 0, s->most);
    for (int i = 0; i < TUTTI_STALENESS_BINS; i++)
        if (s->bin[i])
            tutti_strbuf_printf(out, " %d%s x %" PRId64, i, i == TUTTI_STALENESS_BINS - 1 ? " or more" : "", s->bin[i]);
    if (plan->admission == TUTTI_ADMIT_EVERYBODY)
        tutti_strbuf_printf(out, "; at least %" PRId64 " changes of buckets were lost", s->nlost);
    if (s->nserved)
        tutti_strbuf_printf(out, "; %" PRId64 " were of other hosts' workers and moved %.3f MB", s->nserved,
                            (double)s->moved_bytes / 1e6);
}

tutti_status tutti_async_report(tutti_async *a, tutti_stepping *s, tutti_telling *t, tutti_failure *err)
{
    tutti_staleness mine, sum = {0}, *all;
    if (!s->visits || s->step == s->first_step) return TUTTI_OK;
    all = tutti_alloc(sizeof *all * (size_t)s->nranks);
    tutti_visits_staleness(s->visits, &mine);
    mine.moved_bytes = moved_bytes(s);
    for (int r = 0; r < s->nranks; r++) add_served(s, r, &mine);
    tutti_status st = tutti_group_all_gather(s->group, "visits", &mine, all, sizeof mine, err);
    if (!st) st = tutti_lost_tell(a, s, t, err);
    for (int r = 0; r < s->nranks && !st; r++) add_up(&sum, &all[r]);
    tutti_strbuf text = {0};
    if (!st && sum.nvisits) {
        print(s->plan, &sum, &text);
        st = tutti_report_visits(t, &sum, text.text, err);
    }
    tutti_strbuf_release(&text);
    free(all);
    return st || s->rank != 0 || !s->config->record ? st : tutti_visits_write(s->visits, s->config->record, err);
}
