/* SPDX-License-Identifier: Apache-2.0 */
/* step.c: plays the actions of a loop. The plan has decided everything; here pointers are filled in and calls are made.
 *
 * Arithmetic is launched on the device, in the order of the actions; whoever else is to see what came of it, a peer or this host, waits for it
 * first (tutti_step_sync).
 *
 * Invariants (proved by tutti_plan_check from the same actions): whoever reads or writes a memory does so when nobody else may write it,
 * and a wait stands before whatever needs the end of an exchange. */
#include <math.h>

#include "step_impl.h"

/* What a rank adds to @stop where it was asked to end, and rank 0 where its clock asks for a checkpoint: once a slot, of which there are at most
 * 2^20. */
static const float ENDS = 0x1p22F, SAVES = 1;

/* ---- an update ---- */

static void apply(tutti_trainer *t, tutti_step_common *play, const tutti_action *a)
{
    const tutti_plan_config *c = &t->plan->config;
    if (c->only_finite || c->norms != TUTTI_NO_NORMS || t->plan->memories[a->to].is_common) tutti_step_sync(t);
    if (c->only_finite && tutti_step_count_bad(t, a->verdict) > 0) play->skips = true;
    if (play->clip == 0) play->clip = a->norm >= 0 ? tutti_step_clip(t, play, a) : 1;
    const bool is_common = t->plan->memories[a->to].is_common;
    const int64_t begun = is_common ? tutti_visits_change_begin(t->visits, a->bucket) : 0;
    if (!play->skips) {
        const tutti_event last = tutti_step_update(t, &play->update, play->clip, a);
        if (last.number) t->launched = last;
    }
    if (is_common) tutti_step_sync(t);
    if (is_common) tutti_visits_change_end(t->visits, a->bucket, begun);
    tutti_did(&t->account, is_common ? TUTTI_DID_CENTRE : TUTTI_DID_UPDATE, a->bucket);
}

/* ---- the centre ---- */

static void move_param(tutti_trainer *t, const tutti_step_common *play, const tutti_action *a, int p)
{
    const tutti_plan *plan = t->plan;
    int64_t first = a->first, end = a->first + a->count;
    if (!tutti_step_cut(plan, p, &first, &end)) return;
    const bool counts = plan->graph->params[p].desc.kind != TUTTI_PARAM_STATISTIC;
    tutti_centre_work w = {.rule = t->config->centre,
                           .alpha = tutti_centre_alpha(&t->config->centre, play->update.lr),
                           .nworkers = plan->config.nranks,
                           .centre = tutti_shared_vector(&t->shared, a->to, 0) + first,
                           .from = tutti_shared_vector(&t->shared, a->from, 0) + first,
                           .n = end - first};
    tutti_work_kind work = counts ? TUTTI_WORK_ELASTIC : TUTTI_WORK_MEAN;
    if (a->kind == TUTTI_DO_MEET) { /* running statistics: each worker brings its part of their mean */
        work = TUTTI_WORK_MEET;
        w.other = tutti_shared_vector(&t->shared, a->centre, 0) + first;
        if (!counts) w.alpha = 1 / (float)plan->config.nranks;
    } else if (a->kind == TUTTI_DO_OUTER && counts) {
        work = TUTTI_WORK_OUTER;
        w.other = tutti_shared_of_role(&t->shared, TUTTI_ROLE_CENTRE, 1) + first;
    } else if (a->kind == TUTTI_DO_OUTER) {
        w.nworkers = 1;
    }
    tutti_step_launch(t, work, &w);
}

/* Workers that skip a step are not pulled in it, so the centre stays too: what one end gives the other gets. */
static void move_centre(tutti_trainer *t, const tutti_step_common *play, const tutti_action *a)
{
    const tutti_bucket *bucket = &t->plan->buckets[a->bucket];
    const bool stays = play->skips && a->kind == TUTTI_DO_ELASTIC;
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams && !stays; i++)
        move_param(t, play, a, t->plan->order[i]);
    tutti_did(&t->account, TUTTI_DID_CENTRE, a->bucket);
}

static void meet_centre(tutti_trainer *t, const tutti_step_common *play, const tutti_action *a)
{
    const int64_t begun = tutti_visits_change_begin(t->visits, a->bucket);
    move_centre(t, play, a);
    tutti_step_sync(t);
    tutti_visits_change_end(t->visits, a->bucket, begun);
}

static void copy(tutti_trainer *t, const tutti_action *a)
{
    const tutti_centre_work w = {.centre = tutti_shared_vector(&t->shared, a->from, 0) + a->first,
                                 .other = tutti_shared_vector(&t->shared, a->to, 0) + a->first,
                                 .n = a->count};
    tutti_step_launch(t, TUTTI_WORK_READ, &w);
    tutti_step_sync(t); /* the centre may go on */
    tutti_did(&t->account, TUTTI_DID_CENTRE, a->bucket);
}

/* One of the two is f32. */
static void convert(tutti_trainer *t, const tutti_action *a)
{
    const tutti_dtype from = t->plan->memories[a->from].type, to = t->plan->memories[a->to].type;
    const char *in = t->shared.memory[a->from] + (size_t)a->first * tutti_dtype_bytes(from);
    char *out = t->shared.memory[a->to] + (size_t)a->first * tutti_dtype_bytes(to);
    t->device->convert(t->device, from, in, to, out, a->count);
    tutti_did(&t->account, TUTTI_DID_CONVERT, a->bucket);
}

/* The rule's states lie with the centre and have seen all visits, or they are the rank's own. */
static int64_t count_updates(const tutti_trainer *t)
{
    const int state = tutti_plan_find_memory(t->plan, TUTTI_ROLE_STATE, 0);
    const bool is_common = state >= 0 && t->plan->memories[state].is_common;
    return t->earlier_updates +
           (is_common ? t->first_step * t->nranks + tutti_visits_count(t->visits) : t->local_steps);
}

/* Whoever is let in knows how often the states that lie there were updated before. */
static tutti_status wait_to_visit(tutti_trainer *t, tutti_step_common *play, tutti_action_kind kind, tutti_failure *err)
{
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    const tutti_status st =
        kind == TUTTI_DO_PACE ? tutti_visits_pace(t->visits, err) : tutti_visits_enter(t->visits, err);
    tutti_did(&t->account, TUTTI_DID_VISIT, 0);
    if (!st && kind == TUTTI_DO_ENTER) play->update.nupdates = count_updates(t) + 1;
    return st;
}

/* ---- actions ---- */

static tutti_status wait_for(tutti_trainer *t, int x, tutti_failure *err)
{
    if (!t->shared.in_flight[x]) return TUTTI_OK;
    const tutti_status st = tutti_shared_wait(&t->shared, x, tutti_lost_flag(t, x), err);
    tutti_did(&t->account, TUTTI_DID_WAIT, x);
    if (st) return st;
    tutti_travelled(&t->account, x, t->shared.exchange[x]);
    tutti_beside_ended(t, x);
    return TUTTI_OK;
}

tutti_status tutti_step_wait_all(tutti_trainer *t, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    for (int x = 0; x < t->plan->nexchanges && !st; x++) st = wait_for(t, x, err);
    return st;
}

static void start(tutti_trainer *t, const tutti_step_common *play, const tutti_action *a)
{
    const atomic_bool *gone = tutti_lost_flag(t, a->exchange);
    if (gone && atomic_load(gone)) return; /* it never ends */
    if (t->nranks > 1) tutti_step_sync(t); /* alone nobody else looks: the queue keeps the order */
    tutti_beside_starts(t, a->exchange, &play->update);
    tutti_shared_start(&t->shared, a->exchange, a->when);
    tutti_did(&t->account, TUTTI_DID_EXCHANGE, 0);
}

static tutti_status play_action(tutti_trainer *t, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    switch (a->kind) {
    case TUTTI_DO_KERNEL: tutti_step_run_node(t, play, a); break;
    case TUTTI_DO_FOLD: tutti_step_fold(t, a); break;
    case TUTTI_DO_START: start(t, play, a); break;
    case TUTTI_DO_TELL:
        if (t->nranks > 1) tutti_step_sync(t);
        tutti_exchange_tell(t->shared.exchange[a->exchange], a->when);
        tutti_did(&t->account, TUTTI_DID_EXCHANGE, 0);
        break;
    case TUTTI_DO_WAIT: return wait_for(t, a->exchange, err);
    case TUTTI_DO_LOOK: tutti_step_look(t, play, a); break;
    case TUTTI_DO_APPLY: apply(t, play, a); break;
    case TUTTI_DO_ELASTIC:
    case TUTTI_DO_OUTER: move_centre(t, play, a); break;
    case TUTTI_DO_PACE:
    case TUTTI_DO_ENTER: return wait_to_visit(t, play, a->kind, err);
    case TUTTI_DO_LEAVE: tutti_visits_leave(t->visits); break;
    case TUTTI_DO_MEET: meet_centre(t, play, a); break;
    case TUTTI_DO_COPY: copy(t, a); break;
    case TUTTI_DO_CONVERT: convert(t, a); break;
    case TUTTI_NACTIONS: break;
    }
    return TUTTI_OK;
}

static float look_at(const tutti_trainer *t, const float *at)
{
    float value;
    t->device->look(t->device, &value, at, sizeof value);
    return value;
}

static double sum_losses(const tutti_trainer *t, const float *losses)
{
    double sum = 0;
    for (int i = 0; i < tutti_graph_losses(t->plan->graph); i++) sum += (double)look_at(t, losses + i);
    return sum;
}

/* Sum over the share's samples, once its forward passes are done. */
double tutti_step_own_loss(const tutti_trainer *t)
{
    tutti_step_sync(t);
    return sum_losses(t, tutti_step_gradient(t, 0, t->loss));
}

static bool makes_loss(const tutti_plan *p, const tutti_action *a)
{
    return a->kind == TUTTI_DO_FOLD ||
           (a->kind == TUTTI_DO_KERNEL && p->graph->nodes[a->node].kind == TUTTI_NODE_FORWARD);
}

/* Before which action a worker of another host asks for its next share (visitor.h); -1: it does not, it sees the board. */
static int asks_before(const tutti_trainer *t, bool ends_period)
{
    const tutti_loop *l = &t->plan->loops[TUTTI_EACH_STEP];
    int known = -1;
    if (!t->visits || !tutti_plan_is_far(t->plan, t->rank)) return -1;
    for (int i = 0; i < l->nactions; i++) {
        if (!tutti_action_is_due(&l->actions[i], ends_period)) continue;
        if (l->actions[i].kind == TUTTI_DO_START) return i;
        if (makes_loss(t->plan, &l->actions[i])) known = i + 1;
    }
    return known;
}

static tutti_status play_loop(tutti_trainer *t, tutti_loop_driver driver, tutti_step_common *play, tutti_failure *err)
{
    const tutti_loop *l = &t->plan->loops[driver];
    const int asks = driver == TUTTI_EACH_STEP ? asks_before(t, play->ends_period) : -1;
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < l->nactions && !st; i++) {
        if (i == asks) tutti_visits_ask_ahead(t->visits, tutti_step_own_loss(t));
        if (tutti_action_is_due(&l->actions[i], play->ends_period)) st = play_action(t, play, &l->actions[i], err);
    }
    return st;
}

tutti_status tutti_step_load(tutti_trainer *t, const tutti_batch **out, tutti_failure *err)
{
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    const tutti_status st = tutti_loader_next(t->loader, out, err);
    tutti_did(&t->account, TUTTI_DID_LOAD, 0);
    if (st || !*out) return st;
    tutti_loaded(&t->account, *out);
    tutti_replaced_add(&t->replaced, (*out)->nreplaced, (*out)->why);
    return TUTTI_OK;
}

static char *activations(const tutti_trainer *t)
{
    return t->shared.memory[tutti_plan_find_memory(t->plan, TUTTI_ROLE_ACTIVATIONS, 0)];
}

tutti_status tutti_step_play_served(tutti_trainer *t, const tutti_update_step *update, const tutti_action *actions,
                                    int nactions, tutti_failure *err)
{
    tutti_step_common play = {.update = *update};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < nactions && !st; i++) st = play_action(t, &play, &actions[i], err);
    tutti_step_sync(t);
    return st;
}

tutti_status tutti_step_play_share(tutti_trainer *t, const tutti_batch *batch, tutti_failure *err)
{
    const tutti_train_config *c = t->config;
    const tutti_plan *p = t->plan;
    tutti_step_common play = {.batch = batch,
                              .update = {.lr = tutti_rate_at(&c->rate, batch->step, c->steps_per_epoch, c->nsteps),
                                         .unscale = 1 / t->scale.scale,
                                         .nupdates = count_updates(t) + 1},
                              .ends_period = (t->local_steps + 1) % p->config.period == 0,
                              .arena = activations(t)};
    const int64_t computed_ns = t->account.cost.ns[TUTTI_COST_COMPUTE];
    tutti_step_sync(t); /* what was launched reads the batch before */
    tutti_staging_show(&t->staging, batch->samples, batch->labels, t->plan->my_nsamples, &play.samples, &play.labels);
    const tutti_status st = play_loop(t, TUTTI_EACH_STEP, &play, err);
    if (st) return st;
    tutti_step_hold_up(t, batch->step, computed_ns);
    t->local_steps++;
    const double loss = tutti_step_own_loss(t);
    tutti_visits_end(t->visits, loss);
    if (!isfinite(loss) && !t->config->outlives_nan && !t->config->pretended) tutti_visits_ask_to_end(t->visits);
    return TUTTI_OK;
}

tutti_status tutti_step_play(tutti_trainer *t, tutti_failure *err)
{
    const tutti_train_config *c = t->config;
    if (!t->my_signal && c->stop_asked) t->my_signal = c->stop_asked(c->stop_arg);
    tutti_batch batch;
    const float *samples;
    const int32_t *labels;
    tutti_status st = tutti_ahead_take(t, &batch, &samples, &labels, err);
    if (st) return st;
    tutti_step_common play = {.batch = &batch,
                              .samples = samples,
                              .labels = labels,
                              .update = {.lr = tutti_rate_at(&c->rate, t->step, c->steps_per_epoch, c->nsteps),
                                         .unscale = 1 / t->scale.scale,
                                         .nupdates = t->earlier_updates + t->step + 1 - t->scale.skipped},
                              .stop = t->my_signal                ? ENDS
                                      : tutti_saving_is_wished(t) ? SAVES
                                                                  : 0,
                              .ends_period = (t->step + 1) % t->plan->config.period == 0,
                              .arena = activations(t)};
    const int64_t computed_ns = t->account.cost.ns[TUTTI_COST_COMPUTE];
    st = play_loop(t, TUTTI_EACH_STEP, &play, err);
    if (!st) tutti_step_hold_up(t, t->step, computed_ns);
    if (!st && play.ends_period) st = play_loop(t, TUTTI_EACH_PERIOD, &play, err);
    if (st) return st;
    tutti_ahead_load(t);
    t->step++;
    t->skipped_in_a_row = play.skips ? t->skipped_in_a_row + 1 : 0;
    t->skipped_at_least = play.skips && t->scale.scale <= 1;
    tutti_loss_scale_step(&c->loss_scale, play.skips, &t->scale);
    return TUTTI_OK;
}

tutti_status tutti_step_play_between(tutti_trainer *t, tutti_loop_driver driver, tutti_failure *err)
{
    return play_loop(t, driver, &(tutti_step_common){.ends_period = (t->step + 1) % t->plan->config.period == 0}, err);
}

/* The step's last action has waited for the sums over all samples of the batch. */
tutti_status tutti_step_settle(tutti_trainer *t, tutti_failure *err)
{
    tutti_step_sync(t);
    if (!t->device->shares_host) tutti_did(&t->account, TUTTI_DID_DEVICE, 0);
    t->last_loss = sum_losses(t, tutti_step_value(t, t->loss)) / (double)t->plan->config.batch;
    const float stop = look_at(t, tutti_step_value(t, t->stop));
    t->asked_to_stop = stop > ENDS / 2;
    t->asked_to_save = stop > 0;
    return t->device->check(t->device, err);
}
