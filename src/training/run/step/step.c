/* SPDX-License-Identifier: Apache-2.0 */
/* step.c: plays the actions of a loop. The plan has decided everything; here pointers are filled in and calls are made.
 *
 * Arithmetic is launched on the device, in the order of the actions; whoever else is to see what came of it, a peer or this host, waits for it
 * first (tutti_step_sync).
 *
 * Invariants (proved by tutti_plan_check from the same actions): whoever reads or writes a memory does so when nobody else may write it,
 * and a wait stands before whatever needs the end of an exchange. */
#include <math.h>

#include "evaluate.h"
#include "step_impl.h"

/* What a rank adds to @stop where it was asked to end, and rank 0 where its clock asks for a checkpoint: once a slot, of which there are at most
 * 2^20. */
static const float ENDS = 0x1p22F, SAVES = 1;

/* ---- an update ---- */

static void apply(tutti_stepping *s, tutti_step_common *play, const tutti_action *a)
{
    const tutti_plan_config *c = &s->plan->config;
    if (c->only_finite || c->norms != TUTTI_NO_NORMS || s->plan->memories[a->to].is_common) tutti_step_sync(s);
    if (c->only_finite && tutti_step_count_bad(s, a->verdict) > 0) play->skips = true;
    if (play->clip == 0) play->clip = a->norm >= 0 ? tutti_step_clip(s, play, a) : 1;
    const bool is_common = s->plan->memories[a->to].is_common;
    const int64_t begun = is_common ? tutti_visits_change_begin(s->visits, a->bucket) : 0;
    if (!play->skips) {
        const tutti_event last = tutti_step_update(s, &play->update, play->clip, a);
        if (last.number) s->launched = last;
    }
    if (is_common) tutti_step_sync(s);
    if (is_common) tutti_visits_change_end(s->visits, a->bucket, begun);
    tutti_did(&s->account, is_common ? TUTTI_DID_CENTRE : TUTTI_DID_UPDATE, a->bucket);
}

/* ---- the centre ---- */

static void move_param(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a, int p)
{
    const tutti_plan *plan = s->plan;
    int64_t first = a->first, end = a->first + a->count;
    if (!tutti_step_cut(plan, p, &first, &end)) return;
    const bool counts = plan->graph->params[p].desc.kind != TUTTI_PARAM_STATISTIC;
    tutti_centre_work w = {.rule = s->config->centre,
                           .alpha = tutti_centre_alpha(&s->config->centre, play->update.lr),
                           .nworkers = plan->config.nranks,
                           .centre = tutti_shared_vector(&s->shared, a->to, 0) + first,
                           .from = tutti_shared_vector(&s->shared, a->from, 0) + first,
                           .n = end - first};
    tutti_work_kind work = counts ? TUTTI_WORK_ELASTIC : TUTTI_WORK_MEAN;
    if (a->kind == TUTTI_DO_MEET) { /* running statistics: each worker brings its part of their mean */
        work = TUTTI_WORK_MEET;
        w.other = tutti_shared_vector(&s->shared, a->centre, 0) + first;
        if (!counts) w.alpha = 1 / (float)plan->config.nranks;
    } else if (a->kind == TUTTI_DO_OUTER && counts) {
        work = TUTTI_WORK_OUTER;
        w.other = tutti_shared_of_role(&s->shared, TUTTI_ROLE_CENTRE, 1) + first;
    } else if (a->kind == TUTTI_DO_OUTER) {
        w.nworkers = 1;
    }
    tutti_step_launch(s, work, &w);
}

/* Workers that skip a step are not pulled in it, so the centre stays too: what one end gives the other gets. */
static void move_centre(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    const tutti_bucket *bucket = &s->plan->buckets[a->bucket];
    const bool stays = play->skips && a->kind == TUTTI_DO_ELASTIC;
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams && !stays; i++)
        move_param(s, play, a, s->plan->order[i]);
    tutti_did(&s->account, TUTTI_DID_CENTRE, a->bucket);
}

static void meet_centre(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    const int64_t begun = tutti_visits_change_begin(s->visits, a->bucket);
    move_centre(s, play, a);
    tutti_step_sync(s);
    tutti_visits_change_end(s->visits, a->bucket, begun);
}

static void copy(tutti_stepping *s, const tutti_action *a)
{
    const tutti_centre_work w = {.centre = tutti_shared_vector(&s->shared, a->from, 0) + a->first,
                                 .other = tutti_shared_vector(&s->shared, a->to, 0) + a->first,
                                 .n = a->count};
    tutti_step_launch(s, TUTTI_WORK_READ, &w);
    tutti_step_sync(s); /* the centre may go on */
    tutti_did(&s->account, TUTTI_DID_CENTRE, a->bucket);
}

/* One of the two is f32. */
static void convert(tutti_stepping *s, const tutti_action *a)
{
    const tutti_dtype from = s->plan->memories[a->from].type, to = s->plan->memories[a->to].type;
    const char *in = s->shared.memory[a->from] + (size_t)a->first * tutti_dtype_bytes(from);
    char *out = s->shared.memory[a->to] + (size_t)a->first * tutti_dtype_bytes(to);
    s->device->convert(s->device, from, in, to, out, a->count);
    tutti_did(&s->account, TUTTI_DID_CONVERT, a->bucket);
}

/* The rule's states lie with the centre and have seen all visits, or they are the rank's own. */
static int64_t count_updates(const tutti_stepping *s)
{
    const int state = tutti_plan_find_memory(s->plan, TUTTI_ROLE_STATE, 0);
    const bool is_common = state >= 0 && s->plan->memories[state].is_common;
    return s->earlier_updates +
           (is_common ? s->first_step * s->nranks + tutti_visits_count(s->visits) : s->local_steps);
}

/* Whoever is let in knows how often the states that lie there were updated before. */
static tutti_status wait_to_visit(tutti_stepping *s, tutti_step_common *play, tutti_action_kind kind,
                                  tutti_failure *err)
{
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    const tutti_status st =
        kind == TUTTI_DO_PACE ? tutti_visits_pace(s->visits, err) : tutti_visits_enter(s->visits, err);
    tutti_did(&s->account, TUTTI_DID_VISIT, 0);
    if (!st && kind == TUTTI_DO_ENTER) play->update.nupdates = count_updates(s) + 1;
    return st;
}

/* ---- actions ---- */

static tutti_status wait_for(tutti_stepping *s, int x, tutti_failure *err)
{
    if (!s->shared.in_flight[x]) return TUTTI_OK;
    const tutti_status st = tutti_shared_wait(&s->shared, x, tutti_visits_gone_flag(s->visits, x), err);
    tutti_did(&s->account, TUTTI_DID_WAIT, x);
    if (st) return st;
    tutti_travelled(&s->account, x, s->shared.exchange[x]);
    tutti_beside_ended(s, x);
    return TUTTI_OK;
}

tutti_status tutti_step_wait_all(tutti_stepping *s, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    for (int x = 0; x < s->plan->nexchanges && !st; x++) st = wait_for(s, x, err);
    return st;
}

static void start(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    const atomic_bool *gone = tutti_visits_gone_flag(s->visits, a->exchange);
    if (gone && atomic_load(gone)) return; /* it never ends */
    if (s->nranks > 1) tutti_step_sync(s); /* alone nobody else looks: the queue keeps the order */
    tutti_beside_starts(s, a->exchange, &play->update);
    tutti_shared_start(&s->shared, a->exchange, a->when);
    tutti_did(&s->account, TUTTI_DID_EXCHANGE, 0);
}

static tutti_status play_action(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    switch (a->kind) {
    case TUTTI_DO_KERNEL: tutti_step_run_node(s, play, a); break;
    case TUTTI_DO_FOLD: tutti_step_fold(s, a); break;
    case TUTTI_DO_START: start(s, play, a); break;
    case TUTTI_DO_TELL:
        if (s->nranks > 1) tutti_step_sync(s);
        tutti_exchange_tell(s->shared.exchange[a->exchange], a->when);
        tutti_did(&s->account, TUTTI_DID_EXCHANGE, 0);
        break;
    case TUTTI_DO_WAIT: return wait_for(s, a->exchange, err);
    case TUTTI_DO_LOOK: tutti_step_look(s, play, a); break;
    case TUTTI_DO_APPLY: apply(s, play, a); break;
    case TUTTI_DO_ELASTIC:
    case TUTTI_DO_OUTER: move_centre(s, play, a); break;
    case TUTTI_DO_PACE:
    case TUTTI_DO_ENTER: return wait_to_visit(s, play, a->kind, err);
    case TUTTI_DO_LEAVE: tutti_visits_leave(s->visits); break;
    case TUTTI_DO_MEET: meet_centre(s, play, a); break;
    case TUTTI_DO_COPY: copy(s, a); break;
    case TUTTI_DO_CONVERT: convert(s, a); break;
    case TUTTI_NACTIONS: break;
    }
    return TUTTI_OK;
}

static float look_at(const tutti_stepping *s, const float *at)
{
    float value;
    s->device->look(s->device, &value, at, sizeof value);
    return value;
}

static double sum_losses(const tutti_stepping *s, const float *losses)
{
    double sum = 0;
    for (int i = 0; i < tutti_graph_losses(s->plan->graph); i++) sum += (double)look_at(s, losses + i);
    return sum;
}

/* Sum over the share's samples, once its forward passes are done. */
double tutti_step_own_loss(const tutti_stepping *s)
{
    tutti_step_sync(s);
    return sum_losses(s, tutti_step_gradient(s, 0, s->loss));
}

static bool makes_loss(const tutti_plan *p, const tutti_action *a)
{
    return a->kind == TUTTI_DO_FOLD ||
           (a->kind == TUTTI_DO_KERNEL && p->graph->nodes[a->node].kind == TUTTI_NODE_FORWARD);
}

/* Before which action a worker of another host asks for its next share (visitor.h); -1: it does not, it sees the board. */
static int asks_before(const tutti_stepping *s, bool last)
{
    const tutti_loop *l = &s->plan->loops[TUTTI_EACH_STEP];
    int known = -1;
    if (!s->visits || !tutti_plan_is_far(s->plan, s->rank)) return -1;
    for (int i = 0; i < l->nactions; i++) {
        if (!tutti_action_is_due(&l->actions[i], last)) continue;
        if (l->actions[i].kind == TUTTI_DO_START) return i;
        if (makes_loss(s->plan, &l->actions[i])) known = i + 1;
    }
    return known;
}

static tutti_status play_loop(tutti_stepping *s, tutti_loop_driver driver, tutti_step_common *play, tutti_failure *err)
{
    const tutti_loop *l = &s->plan->loops[driver];
    const int asks = driver == TUTTI_EACH_STEP ? asks_before(s, play->ends_period) : -1;
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < l->nactions && !st; i++) {
        if (i == asks) tutti_visits_ask_ahead(s->visits, tutti_step_own_loss(s));
        if (tutti_action_is_due(&l->actions[i], play->ends_period)) st = play_action(s, play, &l->actions[i], err);
    }
    return st;
}

tutti_status tutti_step_load(tutti_stepping *s, const tutti_batch **out, tutti_failure *err)
{
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    const tutti_status st = tutti_loader_next(s->loader, out, err);
    tutti_did(&s->account, TUTTI_DID_LOAD, 0);
    if (st || !*out) return st;
    tutti_loaded(&s->account, *out);
    tutti_replaced_add(&s->replaced, (*out)->nreplaced, (*out)->why);
    return TUTTI_OK;
}

tutti_update_step tutti_step_numbers(const tutti_stepping *s, int64_t step, int64_t nth)
{
    const tutti_train_config *c = s->config;
    return (tutti_update_step){.lr = tutti_rate_at(&c->rate, step, c->steps_per_epoch, c->nsteps),
                               .unscale = 1 / s->scale.scale,
                               .nupdates = nth};
}

void tutti_step_ask(tutti_stepping *s)
{
    const tutti_train_config *c = s->config;
    if (!s->my_signal && c->stop_asked) s->my_signal = c->stop_asked(c->stop_arg);
}

static bool ends_period(const tutti_stepping *s, int64_t step)
{
    return tutti_ends_period(step, s->plan->config.period);
}

static char *activations(const tutti_stepping *s)
{
    return s->shared.memory[tutti_plan_find_memory(s->plan, TUTTI_ROLE_ACTIVATIONS, 0)];
}

tutti_status tutti_step_play_served(tutti_stepping *s, const tutti_update_step *update, const tutti_action *actions,
                                    int nactions, tutti_failure *err)
{
    tutti_step_common play = {.update = *update};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < nactions && !st; i++) st = play_action(s, &play, &actions[i], err);
    tutti_step_sync(s);
    return st;
}

tutti_status tutti_step_play_share(tutti_stepping *s, const tutti_batch *batch, tutti_failure *err)
{
    tutti_step_common play = {.batch = batch,
                              .update = tutti_step_numbers(s, batch->step, count_updates(s) + 1),
                              .ends_period = ends_period(s, s->local_steps),
                              .arena = activations(s)};
    const int64_t computed_ns = s->account.cost.ns[TUTTI_COST_COMPUTE];
    tutti_step_sync(s); /* what was launched reads the batch before */
    tutti_staging_show(&s->staging, batch->samples, batch->labels, s->plan->my_nsamples, &play.samples, &play.labels);
    const tutti_status st = play_loop(s, TUTTI_EACH_STEP, &play, err);
    if (st) return st;
    tutti_step_hold_up(s, batch->step, computed_ns);
    s->local_steps++;
    const double loss = tutti_step_own_loss(s);
    tutti_visits_end(s->visits, loss);
    if (!isfinite(loss) && !s->config->outlives_nan && !s->config->pretended) tutti_visits_ask_to_end(s->visits);
    return TUTTI_OK;
}

tutti_status tutti_step_play(tutti_stepping *s, bool saves, tutti_failure *err)
{
    tutti_batch batch;
    const float *samples;
    const int32_t *labels;
    tutti_step_ask(s);
    tutti_status st = tutti_ahead_take(s, &batch, &samples, &labels, err);
    if (st) return st;
    tutti_step_common play = {.batch = &batch,
                              .samples = samples,
                              .labels = labels,
                              .update =
                                  tutti_step_numbers(s, s->step, s->earlier_updates + s->step + 1 - s->scale.skipped),
                              .stop = s->my_signal ? ENDS
                                      : saves      ? SAVES
                                                   : 0,
                              .ends_period = ends_period(s, s->step),
                              .arena = activations(s)};
    const int64_t computed_ns = s->account.cost.ns[TUTTI_COST_COMPUTE];
    st = play_loop(s, TUTTI_EACH_STEP, &play, err);
    if (!st) tutti_step_hold_up(s, s->step, computed_ns);
    if (!st && play.ends_period) st = play_loop(s, TUTTI_EACH_PERIOD, &play, err);
    if (st) return st;
    tutti_ahead_load(s);
    s->step++;
    s->skipped_in_a_row = play.skips ? s->skipped_in_a_row + 1 : 0;
    s->skipped_at_least = play.skips && s->scale.scale <= 1;
    tutti_loss_scale_step(&s->config->loss_scale, play.skips, &s->scale);
    return TUTTI_OK;
}

tutti_status tutti_step_play_between(tutti_stepping *s, tutti_loop_driver driver, tutti_failure *err)
{
    return play_loop(s, driver, &(tutti_step_common){.ends_period = ends_period(s, s->step)}, err);
}

/* The step's last action has waited for the sums over all samples of the batch. */
tutti_status tutti_step_settle(tutti_stepping *s, tutti_failure *err)
{
    tutti_step_sync(s);
    if (!s->device->shares_host) tutti_did(&s->account, TUTTI_DID_DEVICE, 0);
    s->last_loss = sum_losses(s, tutti_step_value(s, s->loss)) / (double)s->plan->config.batch;
    const float stop = look_at(s, tutti_step_value(s, s->stop));
    s->asked_to_stop = stop > ENDS / 2;
    s->asked_to_save = stop > 0;
    return s->device->check(s->device, err);
}
