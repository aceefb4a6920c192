/* SPDX-License-Identifier: Apache-2.0 */
/* async.c: plays steps of a plan whose ranks take them on their own: from one stop to the next, where something is due that all take part
 * in. Shares that a rank was dealt ahead of the stop wait until all have met there. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "../../../base/text/strbuf.h"
#include "../train_impl.h"

/* Who waits at rank 0 for a worker's turn knows whom for, so the worker itself gives up after it. */
static const double LONGER = 1.25;

tutti_status tutti_async_create(tutti_trainer *t, tutti_failure *err)
{
    if (!tutti_plan_is_async(t->plan)) return TUTTI_OK;
    const tutti_visits_config config = {t->step, t->config->nsteps, t->config->record != NULL,
                                        t->step < t->config->nsteps ? t->config->replay : NULL};
    t->first_step = t->step;
    const tutti_status st = tutti_visits_create(t->group, t->plan, &config, &t->visits, err);
    return st ? st : tutti_serve_create(t, err);
}

/* The loss of the shares that have been played since this was asked the last time. */
static void take_loss(tutti_trainer *t)
{
    double loss;
    const int64_t played = tutti_visits_played(t->visits, &loss), new = played - t->told_shares;
    if (new) t->last_loss = (loss - t->told_loss) / (double)(new * t->plan->my_nsamples);
    t->told_shares = played;
    t->told_loss = loss;
}

/* Rank 0, on its way: the latest step of which a line is due, if all shares before it have been played. */
static tutti_status report_on_the_way(tutti_trainer *t, int64_t stop, tutti_failure *err)
{
    if (t->rank != 0) return TUTTI_OK;
    double loss;
    const tutti_status lost = tutti_lost_tell(t, err);
    if (lost) return lost;
    const int64_t every = t->config->log_every, step = t->step;
    const int64_t done = t->first_step + tutti_visits_played(t->visits, &loss) / t->nranks;
    const int64_t due = done / every * every;
    if (due <= t->logged_step || due <= step || due >= stop) return TUTTI_OK;
    t->step = due;
    take_loss(t);
    tutti_clock_tick(t);
    const tutti_status st = tutti_report_step(t, err);
    t->step = step;
    return st;
}

/* batch: NULL: there is none left. Who finds the centre free each time waits nowhere, and would play on in a group that is over. */
static tutti_status begin(tutti_trainer *t, const tutti_batch *batch, bool *may, tutti_failure *err)
{
    const int64_t share = batch ? batch->step * t->nranks + batch->first / t->plan->my_nsamples : -1;
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    tutti_status st = tutti_group_failure(t->group, NULL, err);
    if (!st) st = tutti_visits_begin(t->visits, share, may, err);
    tutti_did(&t->account, TUTTI_DID_VISIT, 0);
    return st;
}

static tutti_status play_shares(tutti_trainer *t, int64_t stop, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    bool may = false;
    while (!st) {
        if (!t->held) st = tutti_step_load(t, &t->held, err);
        const tutti_batch *batch = t->held;
        if (batch && !t->my_signal && t->config->stop_asked) t->my_signal = t->config->stop_asked(t->config->stop_arg);
        if (batch && t->my_signal) tutti_visits_ask_to_end(t->visits);
        if (!st) st = begin(t, batch, &may, err);
        if (st || !may) return st;
        st = tutti_step_play_share(t, batch, err);
        t->held = NULL;
        if (!st && !t->asked_to_save && tutti_saving_is_wished(t)) {
            t->asked_to_save = true;
            tutti_visits_ask_to_save(t->visits);
        }
        if (!st) st = report_on_the_way(t, stop, err);
    }
    return st;
}

tutti_status tutti_async_play(tutti_trainer *t, int64_t stop, tutti_failure *err)
{
    const int64_t most = t->step + INT32_MAX / t->nranks;
    const bool is_far = tutti_plan_is_far(t->plan, t->rank);
    const double deadline = tutti_group_deadline(t->group);
    tutti_status st = tutti_visits_open(t->visits, stop < most ? stop : most, err);
    if (!st) tutti_serve_open(t);
    if (is_far) tutti_group_set_deadline(t->group, LONGER * deadline + 1);
    if (!st) st = play_shares(t, stop, err);
    if (is_far) tutti_group_set_deadline(t->group, deadline);
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    if (!st) st = tutti_visits_come(t->visits, err);
    if (!st) st = tutti_serve_rest(t, err); /* what is tested then changes no more */
    if (!st) st = tutti_visits_meet(t->visits, &t->step, &t->asked_to_stop, err);
    tutti_did(&t->account, TUTTI_DID_VISIT, 0);
    t->asked_to_save = !st && tutti_visits_saves(t->visits);
    if (!st) take_loss(t);
    return st ? st : tutti_lost_tell(t, err);
}

/* ---- what it says in the end ---- */

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

/* Visits that rank 0 has made for others. */
static void add_served(const tutti_trainer *t, int worker, tutti_staleness *sum)
{
    tutti_staleness of_worker;
    const tutti_visits *stand_in = tutti_visits_stand_in(t->visits, worker);
    if (!stand_in) return;
    tutti_visits_staleness(stand_in, &of_worker);
    of_worker.nserved = of_worker.nvisits;
    add_up(sum, &of_worker);
}

/* What this rank has put into the memory of another host for visits. */
static int64_t moved_bytes(const tutti_trainer *t)
{
    int64_t sum = 0;
    for (int r = 1; r < t->nranks; r++) {
        const int ways[2] = {tutti_plan_push_of(t->plan, r), tutti_plan_pull_of(t->plan, r)};
        for (int i = 0; i < 2; i++) {
            tutti_exchange_stats stats = {0};
            if (ways[i] >= 0 && t->shared.exchange[ways[i]])
                tutti_exchange_stats_read(t->shared.exchange[ways[i]], &stats);
            sum += stats.invocations * stats.bytes_written;
        }
    }
    return sum;
}

static void print(const tutti_trainer *t, const tutti_staleness *s, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "%" PRId64 " visits to the centre, %s; between two of a worker others came %.2f times, %" PRId64
                        " at most:",
                        s->nvisits, tutti_admission_words(t->plan->admission),
                        s->nvisits ? (double)s->sum / (double)s->nvisits : 0, s->most);
    for (int i = 0; i < TUTTI_STALENESS_BINS; i++)
        if (s->bin[i])
            tutti_strbuf_printf(out, " %d%s x %" PRId64, i, i == TUTTI_STALENESS_BINS - 1 ? " or more" : "", s->bin[i]);
    if (t->plan->admission == TUTTI_ADMIT_EVERYBODY)
        tutti_strbuf_printf(out, "; at least %" PRId64 " changes of buckets were lost", s->nlost);
    if (s->nserved)
        tutti_strbuf_printf(out, "; %" PRId64 " were of other hosts' workers and moved %.3f MB", s->nserved,
                            (double)s->moved_bytes / 1e6);
}

tutti_status tutti_async_report(tutti_trainer *t, tutti_failure *err)
{
    tutti_staleness mine, sum = {0}, *all;
    if (!t->visits || t->step == t->first_step) return TUTTI_OK;
    all = tutti_alloc(sizeof *all * (size_t)t->nranks);
    tutti_visits_staleness(t->visits, &mine);
    mine.moved_bytes = moved_bytes(t);
    for (int r = 0; r < t->nranks; r++) add_served(t, r, &mine);
    tutti_status st = tutti_group_all_gather(t->group, "visits", &mine, all, sizeof mine, err);
    if (!st) st = tutti_lost_tell(t, err);
    for (int r = 0; r < t->nranks && !st; r++) add_up(&sum, &all[r]);
    tutti_strbuf text = {0};
    if (!st && sum.nvisits) {
        print(t, &sum, &text);
        st = tutti_report_visits(t, &sum, text.text, err);
    }
    tutti_strbuf_release(&text);
    free(all);
    return st || t->rank != 0 || !t->config->record ? st : tutti_visits_write(t->visits, t->config->record, err);
}
