/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: the life of a run on one rank: agree where to start, make memory and exchanges, play steps, test and save when due, end in good order.
 *
 * A step has no barrier at its end. Tests and checkpoints are the only places where all weights are waited for. A signal on one
 * rank travels as a control number of the next step, so all ranks end after the same step. */
#include "train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../base/hash.h"
#include "../../base/host/memory.h"
#include "../../metrics/metrics_read.h"
#include "keep/checkpoint_impl.h"
#include "step/sparsity.h"
#include "step/step_work.h"
#include "tell/tracing.h"

static const double LOOK_S = 1; /* at the folder, at least so often */

/* ---- clocks ---- */

static void clock_resume(tutti_trainer *t)
{
    t->resumed_at = tutti_clock_s();
}

void tutti_clock_tick(tutti_trainer *t)
{
    const double now = tutti_clock_s();
    t->seconds += now - t->resumed_at;
    t->resumed_at = now;
}

/* ---- test ---- */

static bool eval_due(const tutti_trainer *t, int64_t step)
{
    const tutti_train_config *c = t->config;
    return t->evaluator && ((step == c->nsteps && !t->asked_to_stop) || tutti_evaluator_is_due(c, step));
}

/* Each rank tests its blocks; sums travel over the control plane. *own: the signal that this rank was stopped by. */
static tutti_status test_once(tutti_trainer *t, tutti_eval_result *sum, int *own, tutti_failure *err)
{
    tutti_eval_result mine, *all = tutti_alloc(sizeof *all * (size_t)t->nranks);
    *sum = (tutti_eval_result){0};
    tutti_step_sync(t);
    tutti_group_long_phase_begin(t->group, "tests", "samples");
    tutti_status st = tutti_evaluator_run(t->evaluator, tutti_saving_answer(t), t->plan->param_offset,
                                          tutti_group_place(t->group), tutti_group_nliving(t->group), &mine, err);
    tutti_group_long_phase_end(t->group);
    if (!st) st = tutti_group_all_gather(t->group, "evaluation", &mine, all, sizeof mine, err);
    for (int r = 0; r < t->nranks && !st; r++) {
        sum->nsamples += all[r].nsamples;
        sum->correct += all[r].correct;
        sum->loss += all[r].loss;
        sum->stopped |= all[r].stopped;
        tutti_replaced_add(&sum->replaced, all[r].replaced.n, all[r].replaced.first);
    }
    free(all);
    int64_t *zeros;
    const tutti_relus *relus = tutti_evaluator_relus(t->evaluator, &zeros);
    if (!st) st = tutti_relus_sum(relus, zeros, t->group, t->nranks, err);
    *own = st ? 0 : mine.stopped;
    return st;
}

/* Blocks of a rank that has been lost meanwhile are tested by nobody: once more, then, by those that are left. */
static tutti_status evaluate(tutti_trainer *t, bool report, tutti_failure *err)
{
    const double began = tutti_clock_s();
    tutti_eval_result sum;
    tutti_status st;
    int nliving, own;
    do {
        nliving = tutti_group_nliving(t->group);
        st = test_once(t, &sum, &own, err);
    } while (!st && !sum.stopped && tutti_group_nliving(t->group) < nliving);
    t->eval_seconds += tutti_clock_s() - began;
    tutti_did(&t->account, TUTTI_DID_EVALUATE, 0);
    if (st) return st;
    if (sum.stopped) { /* half a test says nothing */
        t->my_signal = t->my_signal ? t->my_signal : own;
        t->asked_to_stop = true;
        return TUTTI_OK;
    }
    sum.loss /= (double)sum.nsamples;
    t->last_accuracy = (double)sum.correct / (double)sum.nsamples;
    st = report ? tutti_report_eval(t, &sum, err) : TUTTI_OK;
    if (!st) st = tutti_diverge_after_test(t, sum.loss, err);
    if (report && !st) st = tutti_report_sparsity(t, sum.nsamples, err);
    return st ? st : tutti_report_skips(t, sum.nsamples, err);
}

/* ---- set-up ---- */

static int find_param(const tutti_graph *g, const char *name)
{
    for (int p = 0; p < g->nparams; p++)
        if (!strcmp(g->params[p].name, name)) return p;
    return -1;
}

/* What is written beside metrics.jsonl belongs to the run that it tells of. */
static tutti_status remove_earlier(const char *dir, tutti_failure *err)
{
    tutti_status st = tutti_tensorboard_remove(dir, err);
    return st ? st : tutti_tracing_remove(dir, err);
}

static tutti_status open_metrics(tutti_trainer *t, bool resumed, tutti_failure *err)
{
    const char *dir = t->config->dir;
    if (t->rank != 0 || !dir) return TUTTI_OK;
    char *path = tutti_checkpoint_path("%s/metrics.jsonl", dir);
    const bool was_done = t->step >= t->config->nsteps && resumed && tutti_run_lines_end_at(path, t->step);
    const int64_t last_step = resumed ? t->step : -1;
    tutti_status st = resumed ? TUTTI_OK : remove_earlier(dir, err);
    if (!st && !was_done) st = tutti_metrics_open(path, last_step, &t->metrics, err);
    if (!st && !was_done && resumed) st = tutti_report_resume(t, err);
    if (!st && !was_done && t->config->bound) st = tutti_report_bound(t, err);
    if (!st && !was_done && t->config->tensorboard) st = tutti_tensorboard_open(dir, last_step, &t->tensorboard, err);
    free(path);
    return st;
}

/* All that is known before it is asked for, of all ranks of this host, which ask at the same time: before the first of them does. */
static tutti_status check_memory(const tutti_trainer *t, tutti_failure *err)
{
    const tutti_plan *p = t->plan;
    const int host = tutti_group_host_of(t->group, t->rank);
    const bool is_far = tutti_plan_is_far(p, t->rank);
    int64_t here = 0, nbytes = 0, saving = 0;
    char what[120];
    for (int r = 0; r < t->nranks; r++) here += tutti_group_host_of(t->group, r) == host;
    for (int m = 0; m < p->nmemories; m++) {
        const tutti_plan_memory *one = &p->memories[m];
        const bool at_zero = one->role == TUTTI_ROLE_SEAT || (one->is_common && (!is_far || m != p->answer));
        if (t->device->shares_host) nbytes += (at_zero ? !is_far : here) * tutti_plan_memory_bytes(one);
    }
    snprintf(what, sizeof what,
             "weights, gradients, states of the rule, activations and saving of %" PRId64 " rank%s on this host", here,
             here == 1 ? "" : "s");
    if (t->config->dir && tutti_group_host_of(t->group, 0) == host) /* a copy */
        saving = tutti_plan_memory_bytes(&p->memories[tutti_plan_find_memory(p, TUTTI_ROLE_WEIGHTS, 0)]);
    return tutti_memory_check(nbytes + saving, what, "use a smaller model or batch, or fewer ranks a host", err);
}

static tutti_status make_loader(tutti_trainer *t, tutti_failure *err)
{
    const tutti_loader_config config = {.data = t->config->train,
                                        .seed = t->config->seed,
                                        .batch = t->plan->config.batch,
                                        .first = t->plan->my_first_sample,
                                        .n = t->plan->my_nsamples,
                                        .first_step = t->step,
                                        .end_step = t->config->nsteps,
                                        .nthreads = t->config->data_threads,
                                        .deal = t->visits ? tutti_visits_deal : NULL,
                                        .deal_arg = t->visits};
    return tutti_ahead_begin(t, &config, err);
}

static tutti_status fill(tutti_trainer *t, tutti_start *start, tutti_failure *err)
{
    tutti_checkpoint c = tutti_saving_of(t);
    return tutti_fill_weights(t, start, &c, err);
}

static tutti_status set_up(tutti_trainer *t, tutti_start *start, tutti_failure *err)
{
    const tutti_train_config *c = t->config;
    const tutti_plan *p = t->plan;
    char hash[17], words[96];
    tutti_hash_text(tutti_plan_hash(p), hash);
    snprintf(words, sizeof words, "hash %s, %d buckets, %d threads a rank", hash, p->nbuckets, p->config.nthreads);
    tutti_status st = check_memory(t, err);
    if (!st) st = tutti_step_prepare(t->device, c->update.rule, err);
    if (!st) st = tutti_group_agree(t->group, "plan", words, err);
    t->groups = tutti_groups_make(c);
    if (!st) st = tutti_shared_create(t->group, t->device, p, c->dir != NULL, &t->shared, err);
    if (!st) st = tutti_staging_make(t->device, p->my_nsamples, &p->graph->model->input, &t->staging, err);
    if (!st && t->device->bring) st = tutti_staging_make_ahead(&t->staging, err);
    if (!st) st = tutti_beside_create(t, err);
    if (!st) st = fill(t, start, err);
    if (!st) st = tutti_async_create(t, err);
    if (!st && t->step < c->nsteps) st = make_loader(t, err);
    if (!st && c->test) st = tutti_evaluator_create(p->graph, c->test, t->device, &t->evaluator, err);
    if (!st && c->test) tutti_evaluator_watch(t->evaluator, c->stop_asked, c->stop_arg, tutti_group_headway(t->group));
    if (!st) st = open_metrics(t, start->path != NULL, err);
    if (!st) t->tracing = tutti_tracing_create(t);
    return st ? st : tutti_lost_begin(t, err);
}

static void tear_down(tutti_trainer *t)
{
    tutti_serve_destroy(t);
    tutti_tracing_destroy(t->tracing);
    tutti_tensorboard_close(t->tensorboard);
    tutti_metrics_close(t->metrics);
    tutti_evaluator_destroy(t->evaluator);
    tutti_ahead_end(t);
    tutti_visits_destroy(t->visits);
    tutti_shared_destroy(&t->shared);
    tutti_beside_destroy(t);
    tutti_staging_release(&t->staging);
    free(t->groups);
    free(t->lost);
}

/* ---- the loop ---- */

static tutti_status after_step(tutti_trainer *t, tutti_failure *err)
{
    const bool tests = eval_due(t, t->step);
    if (!tests && !tutti_saving_is_due(t, t->step)) return TUTTI_OK;
    tutti_status st = tutti_step_play_between(t, TUTTI_EACH_TEST, err);
    tutti_clock_tick(t);
    if (!st && tests) st = evaluate(t, true, err);
    if (!st && tutti_saving_is_due(t, t->step))
        st = tutti_saving_save(t, err); /* a test that was stopped makes it due */
    clock_resume(t);
    return st;
}

/* Gathering and writing a trace is no training. */
static tutti_status end_traced_step(tutti_trainer *t, tutti_failure *err)
{
    tutti_clock_tick(t);
    tutti_status st = tutti_tracing_step_end(t->tracing, t, err);
    clock_resume(t);
    return st;
}

/* The next step behind which all are needed. */
static int64_t next_stop(const tutti_trainer *t)
{
    int64_t step = t->step + 1;
    while (step < t->config->nsteps && !eval_due(t, step) && !tutti_saving_is_due(t, step)) step++;
    return step;
}

static tutti_status play(tutti_trainer *t, tutti_failure *err)
{
    if (t->visits) return tutti_async_play(t, next_stop(t), err);
    const tutti_status st = tutti_step_play(t, err);
    return st ? st : tutti_step_settle(t, err);
}

static tutti_status run_steps(tutti_trainer *t, tutti_failure *err)
{
    clock_resume(t);
    t->saved_s = t->resumed_at;
    tutti_status st = t->config->nsteps || t->start->path ? TUTTI_OK : after_step(t, err); /* of no steps at all */
    while (t->step < t->config->nsteps && !t->asked_to_stop && !st) {
        tutti_tracing_step_begin(t->tracing, t);
        st = play(t, err);
        tutti_clock_tick(t);
        if (!st && (t->step % t->config->log_every == 0 || t->resumed_at - t->looked_s > LOOK_S))
            st = tutti_saving_check_folder(t, err);
        if (!st) st = tutti_report_step(t, err);
        if (!st) st = tutti_diverge_after_step(t, err);
        if (!st) st = after_step(t, err);
        if (!st) st = end_traced_step(t, err);
    }
    if (st == TUTTI_ERR_FAILED && !tutti_start_holds(t->start, t->config->dir))
        st = tutti_saving_check_folder(t, err); /* the words were about some file of it */
    return st ? st : tutti_step_wait_all(t, err);
}

/* What each rank tells at its end: which signal it was is known only where it arrived. */
typedef struct {
    int64_t signal, cost_ns[TUTTI_NCOSTS];
    tutti_replaced replaced;
} last_words;

/* Rank 0: while its thread is at the centre for a worker of another host, that one waits for what comes of it. Returns the seconds. */
static double charge_served(const tutti_trainer *t, int rank, int64_t ns[TUTTI_NCOSTS])
{
    static const tutti_cost_part parts[] = {TUTTI_COST_CENTRE, TUTTI_COST_UPDATE};
    double seconds = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !tutti_group_is_gone(t->group, rank); i++) {
        const int64_t spent = tutti_serve_spent(t, rank, parts[i]);
        ns[parts[i]] += spent;
        ns[TUTTI_COST_EXCHANGE] -= spent;
        seconds += 1e-9 * (double)spent;
    }
    return seconds;
}

/* cost: mean seconds of all ranks that are left; *served: what of it rank 0 did for others, the sum. */
static tutti_status exchange_last_words(tutti_trainer *t, tutti_train_result *result, double cost[TUTTI_NCOSTS],
                                        double *served, tutti_failure *err)
{
    last_words mine = {.signal = t->my_signal, .replaced = t->replaced},
               *all = tutti_alloc(sizeof *all * (size_t)t->nranks);
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    memcpy(mine.cost_ns, t->account.cost.ns, sizeof mine.cost_ns);
    tutti_status st = tutti_group_all_gather(t->group, "end of the run", &mine, all, sizeof mine, err);
    for (int r = 0; r < t->nranks && !st; r++) {
        if (!result->stop_signal && t->asked_to_stop) result->stop_signal = (int)all[r].signal;
        tutti_replaced_add(&result->replaced, all[r].replaced.n, all[r].replaced.first);
        *served += charge_served(t, r, all[r].cost_ns);
        for (int p = 0; p < TUTTI_NCOSTS; p++)
            cost[p] += 1e-9 * (double)all[r].cost_ns[p] / tutti_group_nliving(t->group);
    }
    free(all);
    return st;
}

static uint64_t hash_weights(const tutti_trainer *t)
{
    tutti_checkpoint there = tutti_saving_of(t);
    there.nstates = there.nown = 0;
    tutti_checkpoint c = tutti_lent_borrow(t, &there);
    const uint64_t hash = tutti_weights_hash(&c);
    tutti_lent_give_back(t, &there, &c, false);
    return hash;
}

static tutti_status finish(tutti_trainer *t, tutti_train_result *r, tutti_failure *err)
{
    double cost[TUTTI_NCOSTS] = {0}, served = 0;
    tutti_status st = tutti_step_play_between(t, TUTTI_EACH_TEST, err);
    if (!st && r->was_done && t->evaluator) st = evaluate(t, false, err);
    /* Afterwards all are here: nobody leaves before rank 0 has saved. */
    if (!st) st = exchange_last_words(t, r, cost, &served, err);
    if (!st) st = tutti_async_report(t, err);
    if (!st) tutti_lost_sum_up(t);
    if (!st && !r->was_done) st = tutti_report_cost(t, cost, served, err);
    if (st) return st;
    r->step = t->step;
    r->loss = t->last_loss;
    r->accuracy = t->last_accuracy;
    r->seconds = t->seconds;
    r->weights_hash = hash_weights(t);
    return tutti_report_end(t, r, err);
}

static tutti_status train(tutti_trainer *t, tutti_start *start, tutti_train_result *r, tutti_failure *err)
{
    tutti_status st = set_up(t, start, err);
    if (st) return st;
    r->was_done = t->step >= t->config->nsteps && (t->config->nsteps || start->path);
    st = tutti_report_begin(t, r->was_done, err);
    if (!st && t->config->pretended && !r->was_done) st = tutti_report_pretended(t, err);
    if (!st && !start->path) st = tutti_report_first_skips(t, err);
    tutti_did(&t->account, TUTTI_DID_SET_UP, 0);
    if (!st) st = run_steps(t, err);
    return st ? st : finish(t, r, err);
}

tutti_status tutti_train(tutti_group *group, const tutti_train_config *config, tutti_train_result *out,
                         tutti_failure *err)
{
    const tutti_graph *g = config->plan->graph;
    tutti_start start;
    tutti_trainer t = {.group = group,
                       .device = config->device,
                       .config = config,
                       .plan = config->plan,
                       .start = &start,
                       .rank = tutti_group_rank(group),
                       .nranks = tutti_group_nranks(group),
                       .loss = find_param(g, "@loss"),
                       .correct = find_param(g, "@correct"),
                       .stop = find_param(g, "@stop"),
                       .scale = tutti_loss_scale_begin(&config->loss_scale),
                       .last_loss = (double)NAN,
                       .last_accuracy = (double)NAN};
    tutti_train_result result = {0};
    tutti_failure own = {0};
    tutti_account_begin(&t.account, config->began_ns ? config->began_ns : tutti_clock_ns());
    tutti_status st = tutti_train_begin(group, config, &start, &own);
    if (!st) {
        st = train(&t, &start, &result, &own);
        /* A failure of this rank alone ends the others too, with its words; a lost peer is known to all already. Who may resign does
         * nothing any more when the others hear of it. */
        const bool alone = st && st != TUTTI_ERR_PEER && !(t.has_diverged && !config->outlives_nan),
                   resigns = alone && tutti_lost_resigns(&t, st);
        if (alone && !resigns) tutti_group_abort(group, own.text);
        tear_down(&t);
        if (resigns) tutti_group_resign(group, own.text);
    }
    tutti_start_release(&start);
    if (!st) *out = result;
    return st ? tutti_fail(err, st, "%s", own.text) : TUTTI_OK;
}
