/* SPDX-License-Identifier: Apache-2.0 */
/* step.c: plays the actions of a loop: one training step of a rank. The plan has decided everything; this code fills in
 * pointers and makes the calls.
 *
 * Arithmetic is launched on the device, in the order of the actions. Before a peer or this host reads a result, the
 * step waits for it (tutti_step_sync).
 *
 * Invariants (proved by tutti_plan_check from the same actions): a memory is read or written only while no other rank
 * may write it, and a wait stands before every action that needs the end of an exchange. */
#include <math.h>

#include "evaluate.h"
#include "step_impl.h"

/* Values that a rank adds to @stop, once for each of its slots (at most 2^20). ENDS: the rank was asked to end. SAVES,
 * COPIES: rank 0's clock asks for a checkpoint or a copy. All COPIES together sum to less than 1. */
static const float ENDS = 0x1p22F, SAVES = 1, COPIES = 0x1p-21F;

/* ---- kernels, and looks at their results ---- */

static tutti_status play_kernel(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    (void)err;
    tutti_step_run_node(s, play, a);
    return TUTTI_OK;
}

static tutti_status play_fold(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    (void)play, (void)err;
    tutti_step_fold(s, a);
    return TUTTI_OK;
}

static tutti_status play_look(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    (void)err;
    tutti_step_look(s, play, a);
    return TUTTI_OK;
}

/* ---- an update ---- */

static tutti_status play_apply(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    const tutti_plan_config *c = &s->plan->config;
    (void)err;
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
    return TUTTI_OK;
}

/* ---- actions whose row has a loop over elements ---- */

/* Runs the loop on elements [first, end) of the packed vector. */
static void move_elements(tutti_stepping *s, const tutti_elements *like, const tutti_action *a, int64_t first,
                          int64_t end)
{
    tutti_elements e = *like;
    e.to = tutti_shared_vector(&s->shared, a->to, 0) + first;
    e.from = tutti_shared_vector(&s->shared, a->from, 0) + first;
    e.other = tutti_shared_vector(&s->shared, a->other, 0) + first;
    e.n = end - first;
    tutti_step_launch(s, TUTTI_WORK_ELEMENTS, &e);
}

static void move_param(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a, int p)
{
    const tutti_plan *plan = s->plan;
    const tutti_action_row *row = tutti_action_row_of(a->kind);
    const bool learned = plan->graph->params[p].desc.kind != TUTTI_PARAM_STATISTIC;
    const tutti_elements e = {.loop = learned ? row->loop : row->statistics,
                              .rule = s->config->centre,
                              .alpha = learned ? tutti_centre_alpha(&s->config->centre, play->update.lr)
                                               : 1 / (float)plan->config.nranks,
                              .nworkers = plan->config.nranks};
    int64_t first = a->first, end = a->first + a->count;
    if (tutti_step_cut(plan, p, &first, &end)) move_elements(s, &e, a, first, end);
}

static void move_all(tutti_stepping *s, const tutti_step_common *play, const tutti_action *a)
{
    const tutti_action_row *row = tutti_action_row_of(a->kind);
    const tutti_bucket *bucket = &s->plan->buckets[a->bucket];
    for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams && row->statistics; i++)
        move_param(s, play, a, s->plan->order[i]);
    if (!row->statistics) move_elements(s, &(tutti_elements){.loop = row->loop}, a, a->first, a->first + a->count);
}

/* Plays an action on elements. For a common memory it waits for the device at the end, because other ranks may touch
 * the memory afterwards. */
static tutti_status play_elements(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    const tutti_plan_memory *memories = s->plan->memories;
    const bool changes = memories[a->to].is_common;
    const int64_t begun = changes ? tutti_visits_change_begin(s->visits, a->bucket) : 0;
    (void)err;
    if (!play->skips || !tutti_action_row_of(a->kind)->stays) move_all(s, play, a);
    if (changes || memories[a->from].is_common) tutti_step_sync(s);
    if (changes) tutti_visits_change_end(s->visits, a->bucket, begun);
    tutti_did(&s->account, TUTTI_DID_CENTRE, a->bucket);
    return TUTTI_OK;
}

/* Plays a conversion of elements. One of the memories `from` and `to` is f32. */
static tutti_status play_convert(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    const tutti_dtype from = s->plan->memories[a->from].type, to = s->plan->memories[a->to].type;
    const char *in = s->shared.memory[a->from] + (size_t)a->first * tutti_dtype_bytes(from);
    char *out = s->shared.memory[a->to] + (size_t)a->first * tutti_dtype_bytes(to);
    (void)play, (void)err;
    s->device->convert(s->device, from, in, to, out, a->count);
    tutti_did(&s->account, TUTTI_DID_CONVERT, a->bucket);
    return TUTTI_OK;
}

/* ---- visits to the centre ---- */

/* Returns how many updates the rule's states have seen: those of all visits if the states lie with the centre, else
 * those of this rank. */
static int64_t count_updates(const tutti_stepping *s)
{
    const int state = tutti_plan_find_memory(s->plan, TUTTI_ROLE_STATE, 0);
    const bool is_common = state >= 0 && s->plan->memories[state].is_common;
    return s->earlier_updates +
           (is_common ? s->first_step * s->nranks + tutti_visits_count(s->visits) : s->local_steps);
}

static tutti_status play_pace(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    (void)play, (void)a;
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    const tutti_status st = tutti_visits_pace(s->visits, err);
    tutti_did(&s->account, TUTTI_DID_VISIT, 0);
    return st;
}

/* Begins a visit: waits until the worker is let in, and then learns how many updates the centre's states have seen. */
static tutti_status play_enter(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    (void)a;
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    const tutti_status st = tutti_visits_enter(s->visits, err);
    tutti_did(&s->account, TUTTI_DID_VISIT, 0);
    if (!st) play->update.nupdates = count_updates(s) + 1;
    return st;
}

static tutti_status play_leave(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    (void)play, (void)a, (void)err;
    tutti_visits_leave(s->visits);
    return TUTTI_OK;
}

/* ---- exchanges ---- */

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

static tutti_status play_wait(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    (void)play;
    return wait_for(s, a->exchange, err);
}

static tutti_status play_start(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    const atomic_bool *gone = tutti_visits_gone_flag(s->visits, a->exchange);
    (void)err;
    if (gone && atomic_load(gone)) return TUTTI_OK; /* the peer is gone, so the exchange would never end */
    if (s->nranks > 1)
        tutti_step_sync(s); /* not for a single rank: no other rank reads the data, and the device's queue keeps the
                             * order */
    tutti_beside_starts(s, a->exchange, &play->update);
    tutti_shared_start(&s->shared, a->exchange, a->when);
    tutti_did(&s->account, TUTTI_DID_EXCHANGE, 0);
    return TUTTI_OK;
}

static tutti_status play_tell(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    (void)play, (void)err;
    if (s->nranks > 1) tutti_step_sync(s);
    tutti_exchange_tell(s->shared.exchange[a->exchange], a->when);
    tutti_did(&s->account, TUTTI_DID_EXCHANGE, 0);
    return TUTTI_OK;
}

/* ---- actions ---- */

/* The functions that play actions, by kind; NULL: the action's row has a loop over elements. */
static tutti_status (*const players[TUTTI_NACTIONS])(tutti_stepping *s, tutti_step_common *play, const tutti_action *a,
                                                     tutti_failure *err) = {
    [TUTTI_DO_KERNEL] = play_kernel, [TUTTI_DO_FOLD] = play_fold,       [TUTTI_DO_START] = play_start,
    [TUTTI_DO_TELL] = play_tell,     [TUTTI_DO_WAIT] = play_wait,       [TUTTI_DO_PACE] = play_pace,
    [TUTTI_DO_ENTER] = play_enter,   [TUTTI_DO_LEAVE] = play_leave,     [TUTTI_DO_LOOK] = play_look,
    [TUTTI_DO_APPLY] = play_apply,   [TUTTI_DO_CONVERT] = play_convert,
};

static tutti_status play_action(tutti_stepping *s, tutti_step_common *play, const tutti_action *a, tutti_failure *err)
{
    return (players[a->kind] ? players[a->kind] : play_elements)(s, play, a, err);
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

/* Returns the sum of the losses of this rank's samples; their forward passes must be done. */
double tutti_step_own_loss(const tutti_stepping *s)
{
    tutti_step_sync(s);
    return sum_losses(s, tutti_step_gradient(s, 0, s->loss));
}

static bool makes_loss(const tutti_plan *p, const tutti_action *a)
{
    return a->kind == TUTTI_DO_FOLD || (a->node >= 0 && p->graph->nodes[a->node].kind == TUTTI_NODE_FORWARD);
}

/* Returns the action before which a worker of another host asks rank 0 for its next share (visitor.h). -1: the rank
 * does not ask, because it can read the board of visits itself. */
static int asks_before(const tutti_stepping *s, bool last)
{
    const tutti_loop *l = &s->plan->loops[TUTTI_EACH_STEP];
    int known = -1;
    if (!s->visits || !tutti_plan_is_far(s->plan, s->rank)) return -1;
    for (int i = 0; i < l->nactions; i++) {
        if (!tutti_action_is_due(&l->actions[i], last)) continue;
        if (tutti_action_starts(&l->actions[i])) return i;
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
    tutti_step_sync(s); /* launched work still reads the previous batch */
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

tutti_status tutti_step_play(tutti_stepping *s, unsigned wishes, tutti_failure *err)
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
                                                   : (wishes & TUTTI_WISH_SAVE ? SAVES : 0) +
                                                         (wishes & TUTTI_WISH_COPY ? COPIES : 0),
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

/* Reads the step's results. This needs no wait: the step's last action has waited for the sums over all samples of the
 * batch. */
tutti_status tutti_step_settle(tutti_stepping *s, tutti_failure *err)
{
    tutti_step_sync(s);
    if (!s->device->shares_host) tutti_did(&s->account, TUTTI_DID_DEVICE, 0);
    s->last_loss = sum_losses(s, tutti_step_value(s, s->loss)) / (double)s->plan->config.batch;
    const float stop = look_at(s, tutti_step_value(s, s->stop));
    s->asked_to_stop = stop > ENDS / 2;
    s->asked_to_save = stop >= SAVES;
    s->asked_to_copy = stop > floorf(stop);
    return s->device->check(s->device, err);
}
