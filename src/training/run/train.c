/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: tutti_train: the life of a run on one rank: makes memory and exchanges, plays steps, tests and saves when
 * due, and ends in an orderly way.
 *
 * A step has no barrier at its end. Only tests and checkpoints wait for all weights. A signal on one rank is sent as a
 * control number of the next step, so all ranks end after the same step. */
#include "train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../base/hash.h"
#include "../../base/host/memory.h"
#include "proof.h"
#include "step/evaluate.h"
#include "step/step.h"
#include "tell/tell.h"
#include "tell/tracing.h"
#include "visit/visit.h"

static const double LOOK_S = 1; /* after this many seconds the run checks again that its folder is still in place */

typedef struct {
    tutti_group *group;
    const tutti_train_config *config;
    tutti_stepping stepping;
    tutti_async async;
    tutti_keeping keeping;
    tutti_telling telling;
    tutti_busy busy;
    tutti_evaluator *evaluator; /* NULL = nothing is tested */
    double last_accuracy;
} tutti_trainer;

/* ---- test ---- */

static bool eval_due(const tutti_trainer *t, int64_t step)
{
    const tutti_train_config *c = t->config;
    return t->evaluator && ((step == c->nsteps && !t->stepping.asked_to_stop) || tutti_evaluator_is_due(c, step));
}

/* Tests once: each rank tests its blocks, and sums are exchanged over the control plane. *own becomes the signal with
 * which this rank was asked to stop. */
static tutti_status test_once(tutti_evaluator *e, const tutti_stepping *s, tutti_eval_result *sum, int *own,
                              tutti_failure *err)
{
    const tutti_packed_weights w = {s->plan->graph, tutti_step_answer(s), s->plan->param_offset};
    tutti_eval_result mine, *all = tutti_alloc(sizeof *all * (size_t)s->nranks);
    *sum = (tutti_eval_result){0};
    tutti_step_sync(s);
    tutti_group_long_phase_begin(s->group, "tests", "samples");
    tutti_status st =
        tutti_evaluator_run(e, &w, tutti_group_place(s->group), tutti_group_nliving(s->group), &mine, err);
    tutti_group_long_phase_end(s->group);
    if (!st) st = tutti_group_all_gather(s->group, "evaluation", &mine, all, sizeof mine, err);
    for (int r = 0; r < s->nranks && !st; r++) {
        sum->nsamples += all[r].nsamples;
        sum->correct += all[r].correct;
        sum->loss += all[r].loss;
        sum->stopped |= all[r].stopped;
        tutti_replaced_add(&sum->replaced, all[r].replaced.n, all[r].replaced.first);
    }
    free(all);
    int64_t *zeros;
    const tutti_relus *relus = tutti_evaluator_relus(e, &zeros);
    if (!st) st = tutti_relus_sum(relus, zeros, s->group, s->nranks, err);
    *own = st ? 0 : mine.stopped;
    return st;
}

/* Tests the model and reports it. If a rank was lost meanwhile, its blocks were not tested, so the remaining ranks test
 * once more. */
static tutti_status evaluate(tutti_trainer *t, bool report, tutti_failure *err)
{
    const double began = tutti_clock_s();
    tutti_stepping *s = &t->stepping;
    tutti_telling *telling = &t->telling;
    tutti_eval_result sum;
    tutti_status st;
    int nliving, own;
    do {
        nliving = tutti_group_nliving(t->group);
        st = test_once(t->evaluator, s, &sum, &own, err);
    } while (!st && !sum.stopped && tutti_group_nliving(t->group) < nliving);
    telling->eval_seconds += tutti_clock_s() - began;
    tutti_did(&s->account, TUTTI_DID_EVALUATE, 0);
    if (st) return st;
    if (sum.stopped) { /* results of a test that was stopped early are not used */
        s->my_signal = s->my_signal ? s->my_signal : own;
        s->asked_to_stop = true;
        return TUTTI_OK;
    }
    sum.loss /= (double)sum.nsamples;
    t->last_accuracy = (double)sum.correct / (double)sum.nsamples;
    st = report ? tutti_report_eval(telling, &sum, err) : TUTTI_OK;
    if (!st) st = tutti_diverge_after_test(telling, sum.loss, err);
    if (report && !st) st = tutti_report_sparsity(telling, t->evaluator, sum.nsamples, err);
    return st ? st : tutti_report_skips(telling, t->evaluator, sum.nsamples, err);
}

/* Saves a checkpoint, unless weights are not finite. */
static tutti_status save(tutti_trainer *t, tutti_failure *err)
{
    tutti_stepping *s = &t->stepping;
    tutti_saving saving;
    bool is_bad = false;
    tutti_status st = tutti_step_play_between(s, TUTTI_EACH_SAVE, err);
    /* the checkpoint before must have ended, because there is memory for one copy of the vectors */
    if (!st) st = tutti_report_written(&t->telling, true, err);
    tutti_saving_begin(s, &saving);
    if (!st) st = tutti_diverge_before_saving(&t->telling, &saving.lent, &is_bad, err);
    if (!st && !is_bad) st = tutti_saving_write(&t->keeping, s, &saving, err);
    if (!st && !is_bad && !saving.is_beside) tutti_report_saved(&t->telling, s->step);
    tutti_saving_end(s, &saving);
    /* in a run with visits any rank may change the vectors that are written or copied: all wait */
    if (!st && s->visits) st = tutti_group_barrier(t->group, "checkpoint", err);
    s->asked_to_save = false;
    t->keeping.saved_s = tutti_clock_s();
    tutti_did(&s->account, TUTTI_DID_SAVE, 0);
    return st;
}

/* ---- set-up ---- */

/* Checks the known needs of all ranks of this host before the first of them allocates, because they allocate at the
 * same time. */
static tutti_status check_memory(const tutti_stepping *s, tutti_failure *err)
{
    const tutti_plan *p = s->plan;
    const int host = tutti_group_host_of(s->group, s->rank);
    const bool is_far = tutti_plan_is_far(p, s->rank);
    int64_t here = 0, nbytes = 0, saving = 0;
    char what[120];
    for (int r = 0; r < s->nranks; r++) here += tutti_group_host_of(s->group, r) == host;
    for (int m = 0; m < p->nmemories; m++) {
        const tutti_plan_memory *one = &p->memories[m];
        const bool at_zero = one->role == TUTTI_ROLE_SEAT || (one->is_common && (!is_far || m != p->answer));
        if (s->device->shares_host) nbytes += (at_zero ? !is_far : here) * tutti_plan_memory_bytes(one);
    }
    snprintf(what, sizeof what,
             "weights, gradients, states of the rule, activations and saving of %" PRId64 " rank%s on this host", here,
             here == 1 ? "" : "s");
    if (s->config->dir && tutti_group_host_of(s->group, 0) == host) saving = tutti_saving_bytes(p);
    return tutti_memory_check(nbytes + saving, what, "use a smaller model or batch, or fewer ranks a host", err);
}

static tutti_status make_evaluator(tutti_trainer *t, tutti_failure *err)
{
    const tutti_train_config *c = t->config;
    if (!c->test) return TUTTI_OK;
    const tutti_status st = tutti_evaluator_create(c->plan->graph, c->test, c->device, &t->evaluator, err);
    if (!st) tutti_evaluator_watch(t->evaluator, c->stop_asked, c->stop_arg, tutti_group_headway(t->group));
    return st;
}

static tutti_status set_up(tutti_trainer *t, tutti_failure *err)
{
    const tutti_plan *p = t->config->plan;
    tutti_stepping *s = &t->stepping;
    tutti_start *start = &t->keeping.start;
    char hash[17], words[96];
    tutti_hash_text(tutti_plan_hash(p), hash);
    snprintf(words, sizeof words, "hash %s, %d buckets, %d threads a rank", hash, p->nbuckets, p->config.nthreads);
    tutti_status st = check_memory(s, err);
    if (!st) st = tutti_group_agree(t->group, "plan", words, err);
    if (!st) st = tutti_stepping_make(s, err);
    if (!st) st = tutti_fill_weights(start, s, err);
    if (!st) st = tutti_async_create(&t->async, s, err);
    if (!st && s->step < t->config->nsteps) st = tutti_stepping_load(s, err);
    if (!st) st = make_evaluator(t, err);
    if (!st) st = tutti_telling_open(&t->telling, s, t->keeping.writing, tutti_start_resumes(start), err);
    return st ? st : tutti_lost_begin(&t->async, &t->telling, err);
}

static void tear_down(tutti_trainer *t)
{
    tutti_writing_destroy(t->keeping.writing);
    tutti_serve_destroy(t->async.serve);
    tutti_telling_close(&t->telling);
    tutti_evaluator_destroy(t->evaluator);
    tutti_stepping_release(&t->stepping);
    free(t->async.lost);
}

/* ---- the loop over steps ---- */

static tutti_status after_step(tutti_trainer *t, tutti_failure *err)
{
    tutti_stepping *s = &t->stepping;
    const bool tests = eval_due(t, s->step);
    if (!tests && !tutti_saving_is_due(s, s->step)) return TUTTI_OK;
    tutti_status st = tutti_step_play_between(s, TUTTI_EACH_TEST, err);
    tutti_telling_tick(&t->telling);
    if (!st && tests) st = evaluate(t, true, err);
    /* if a test was stopped by a signal, a checkpoint is due now */
    if (!st && tutti_saving_is_due(s, s->step)) st = save(t, err);
    tutti_telling_resume(&t->telling);
    return st;
}

/* Measures and reports distances from the centre; this does not count as training time. */
static tutti_status tell_distance(tutti_trainer *t, tutti_failure *err)
{
    if (!tutti_report_is_due(&t->telling) || !tutti_distance_is_told(&t->stepping)) return TUTTI_OK;
    tutti_telling_tick(&t->telling);
    const tutti_status st = tutti_distance_tell(&t->telling, &t->stepping, err);
    tutti_telling_resume(&t->telling);
    return st;
}

/* Ends a step for the trace. Gathering and writing a trace does not count as training time. */
static tutti_status end_traced_step(tutti_telling *t, tutti_stepping *s, tutti_failure *err)
{
    tutti_telling_tick(t);
    tutti_status st = tutti_tracing_step_end(t, s, err);
    tutti_telling_resume(t);
    return st;
}

/* Returns the next step after which all ranks must meet. */
static int64_t next_stop(const tutti_trainer *t)
{
    int64_t step = t->stepping.step + 1;
    while (step < t->config->nsteps && !eval_due(t, step) && !tutti_saving_is_due(&t->stepping, step)) step++;
    return step;
}

static tutti_status play(tutti_trainer *t, tutti_failure *err)
{
    tutti_stepping *s = &t->stepping;
    if (s->visits) return tutti_async_play(&t->async, s, &t->keeping, &t->telling, next_stop(t), err);
    const unsigned wishes = (tutti_saving_is_wished(&t->keeping, s) ? TUTTI_WISH_SAVE : 0) |
                            (tutti_copies_is_wished(t->keeping.start.copies, s) ? TUTTI_WISH_COPY : 0);
    const tutti_status st = tutti_step_play(s, wishes, err);
    return st ? st : tutti_step_settle(s, err);
}

/* Copies this rank's part of the state into memory that outlives it, when that is due. */
static tutti_status copy(tutti_trainer *t, tutti_failure *err)
{
    tutti_stepping *s = &t->stepping;
    tutti_copies *c = t->keeping.start.copies;
    if (!tutti_copies_is_due(c, s)) return TUTTI_OK;
    const tutti_status st = tutti_copies_take(c, s, err);
    tutti_did(&s->account, TUTTI_DID_SAVE, 0);
    return st;
}

static tutti_status run_steps(tutti_trainer *t, tutti_failure *err)
{
    const tutti_train_config *c = t->config;
    tutti_stepping *s = &t->stepping;
    tutti_keeping *k = &t->keeping;
    tutti_telling *telling = &t->telling;
    tutti_telling_resume(telling);
    k->saved_s = telling->resumed_at;
    /* a new run of 0 steps still tests and saves, as after a step */
    tutti_status st = c->nsteps || tutti_start_resumes(&k->start) ? TUTTI_OK : after_step(t, err);
    while (s->step < c->nsteps && !s->asked_to_stop && !st) {
        tutti_tracing_step_begin(telling->tracing, s);
        st = play(t, err);
        tutti_telling_tick(telling);
        if (!st && (s->step % c->log_every == 0 || telling->resumed_at - k->looked_s > LOOK_S))
            st = tutti_saving_check_folder(k, s, err);
        if (!st) st = tutti_report_written(telling, false, err);
        if (!st) st = tutti_report_restart(telling, &k->start, err);
        if (!st) st = tutti_report_step(telling, err);
        if (!st) st = tell_distance(t, err);
        if (!st) st = tutti_diverge_after_step(telling, err);
        if (!st) st = after_step(t, err);
        if (!st) st = copy(t, err);
        if (!st) st = tutti_busy_look(&t->busy, telling, err);
        if (!st) st = end_traced_step(telling, s, err);
    }
    if (st == TUTTI_ERR_FAILED && !tutti_start_holds(&k->start, c->dir))
        st = tutti_saving_check_folder(k, s, err); /* the failure was about some file in the folder, so the folder is
                                                    * checked */
    return st ? st : tutti_step_wait_all(s, err);
}

/* Message of each rank at its end: only the rank that got a signal knows which it was. */
typedef struct {
    int64_t signal, cost_ns[TUTTI_NCOSTS];
    tutti_replaced replaced;
} last_words;

/* Rank 0: while its thread serves a worker of another host at the centre, the worker waits for the result, as if for an
 * exchange. Moves this time in the worker's costs from exchanges to centre and updates. Returns the seconds. */
static double charge_served(const tutti_trainer *t, int rank, int64_t ns[TUTTI_NCOSTS])
{
    static const tutti_cost_part parts[] = {TUTTI_COST_CENTRE, TUTTI_COST_UPDATE};
    double seconds = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !tutti_group_is_gone(t->group, rank); i++) {
        const int64_t spent = tutti_serve_spent(t->async.serve, rank, parts[i]);
        ns[parts[i]] += spent;
        ns[TUTTI_COST_EXCHANGE] -= spent;
        seconds += 1e-9 * (double)spent;
    }
    return seconds;
}

/* Exchanges the ranks' results at the end. cost: mean seconds over all remaining ranks; more: the rank that computed
 * longest, and the sum of the seconds that rank 0 spent for workers of other hosts. */
static tutti_status exchange_last_words(tutti_trainer *t, tutti_train_result *result, double cost[TUTTI_NCOSTS],
                                        tutti_cost_more *more, tutti_failure *err)
{
    tutti_stepping *s = &t->stepping;
    last_words mine = {.signal = s->my_signal, .replaced = s->replaced},
               *all = tutti_alloc(sizeof *all * (size_t)s->nranks);
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    memcpy(mine.cost_ns, s->account.cost.ns, sizeof mine.cost_ns);
    tutti_status st = tutti_group_all_gather(t->group, "end of the run", &mine, all, sizeof mine, err);
    for (int r = 0; r < s->nranks && !st; r++) {
        if (!result->stop_signal && s->asked_to_stop) result->stop_signal = (int)all[r].signal;
        tutti_replaced_add(&result->replaced, all[r].replaced.n, all[r].replaced.first);
        more->served += charge_served(t, r, all[r].cost_ns);
        const double computed = 1e-9 * (double)all[r].cost_ns[TUTTI_COST_COMPUTE];
        if (computed > more->slowest_s) more->slowest = r, more->slowest_s = computed;
        for (int p = 0; p < TUTTI_NCOSTS; p++)
            cost[p] += 1e-9 * (double)all[r].cost_ns[p] / tutti_group_nliving(t->group);
    }
    free(all);
    return st;
}

static uint64_t hash_weights(const tutti_stepping *s)
{
    tutti_checkpoint there = tutti_saving_of(s);
    there.nstates = there.nown = 0;
    tutti_checkpoint c = tutti_lent_borrow(s, &there);
    const uint64_t hash = tutti_weights_hash(&c);
    tutti_lent_give_back(s, &there, &c, false);
    return hash;
}

static tutti_status finish(tutti_trainer *t, tutti_train_result *r, tutti_failure *err)
{
    double cost[TUTTI_NCOSTS] = {0};
    tutti_cost_more more = {0};
    tutti_stepping *s = &t->stepping;
    tutti_telling *telling = &t->telling;
    tutti_status st = tutti_step_play_between(s, TUTTI_EACH_TEST, err);
    if (!st && r->was_done && t->evaluator) st = evaluate(t, false, err);
    /* This call waits for all ranks, so no rank leaves before rank 0 has saved. */
    if (!st) st = exchange_last_words(t, r, cost, &more, err);
    if (!st) st = tutti_async_report(&t->async, s, telling, err);
    if (!st) tutti_lost_sum_up(&t->async, telling);
    if (!st && !r->was_done) st = tutti_report_cost(telling, cost, &more, err);
    if (st) return st;
    r->step = s->step;
    r->loss = s->last_loss;
    r->accuracy = t->last_accuracy;
    r->seconds = telling->seconds;
    r->weights_hash = hash_weights(s);
    return tutti_report_end(telling, r, t->async.nlost, err);
}

static tutti_status train(tutti_trainer *t, tutti_train_result *r, tutti_failure *err)
{
    const bool resumed = tutti_start_resumes(&t->keeping.start);
    tutti_status st = set_up(t, err);
    if (st) return st;
    r->was_done = t->stepping.step >= t->config->nsteps && (t->config->nsteps || resumed);
    st = tutti_report_begin(&t->telling, t->keeping.start.copies, r->was_done, !resumed, err);
    tutti_did(&t->stepping.account, TUTTI_DID_SET_UP, 0);
    if (!st) st = run_steps(t, err);
    return st ? st : finish(t, r, err);
}

tutti_status tutti_train(tutti_group *group, const tutti_train_config *config, tutti_train_result *out,
                         tutti_failure *err)
{
    tutti_trainer t = {.group = group,
                       .config = config,
                       .stepping = tutti_stepping_begin(group, config),
                       .last_accuracy = (double)NAN};
    tutti_train_result result = {0};
    tutti_failure own = {0};
    tutti_status st = tutti_train_begin(group, config, &t.keeping.start, &own);
    if (!st) {
        t.keeping.writing = tutti_writing_create(&t.stepping);
        st = train(&t, &result, &own);
        /* If only this rank has failed, it ends the other ranks too, with its message; all ranks know already about a
         * lost peer. If the others can go on without this rank, it resigns instead, after its memory is released. */
        const bool alone = st && st != TUTTI_ERR_PEER && !(t.telling.has_diverged && !config->outlives_nan),
                   resigns = alone && tutti_lost_resigns(group, st);
        if (alone && !resigns) tutti_group_abort(group, own.text);
        tear_down(&t);
        if (resigns) tutti_group_resign(group, own.text);
    }
    tutti_start_release(&t.keeping.start);
    if (!st) *out = result;
    return st ? tutti_fail(err, st, "%s", own.text) : TUTTI_OK;
}
