/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c: the timeline of a predicted step: plays the actions of a plan against node times and simulated exchanges.
 *
 * Methods with a period: whole periods are played, each step with the actions that are due in it. The prediction is the
 * mean of the last period's steps.
 *
 * On a network (an exchange lane beside the compute lane): an exchange enters the exchange lane when the rank has
 * reported it as ready and the lane is free. An action that waits for the exchange waits until it has ended. Several
 * steps are played and the last one counts, because the first has nothing to wait for.
 *
 * Updates that need no action of the rank (the loop TUTTI_EACH_END) run on the exchange lane. A part's update begins
 * when its exchange has ended and the following exchange has been started in this step. Then that exchange queues
 * behind the exchanges that were ready before it. With config.by_need, a free lane takes the exchange whose result the
 * next step needs first. On a host, the rank plays the update when it first waits for the exchange behind the update.
 *
 * On one host: the rank's own thread moves the bytes, so exchanges take the compute lane. Ranks that share a core take
 * turns, so compute counts once for each of them (the simulator already shares cores for exchanges).
 *
 * Loading runs on a thread of its own and costs only where ranks leave no core free. Where only some ranks take part in
 * an exchange, each rank is played as if the other members arrived at the same time, and the slowest rank counts. Waits
 * for members that still exchange with other ranks are left out, so such predictions may be too low. */
#include "timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../collective/simulate/events/flows.h"
#include "../profile/profile.h"
#include "action_cost.h"
#include "timeline_async.h"

enum { NPERIODS = 4 };

typedef struct {
    double seconds, lower_s; /* predicted seconds of the exchange, and a lower bound of that prediction */
    double transfer_s;       /* the part of `seconds` in which links are busy */
    double busy_s;           /* seconds in which its busiest link or core is busy */
    const char *busiest;     /* name of the busiest link or core */
    int fan_in;
    int64_t sent;         /* bytes that are sent by the rank that sends most */
    double ends;          /* time at which the exchange ends */
    bool is_ready;        /* true if the exchange has begun; its destination may not be free everywhere yet */
    bool is_told, is_due; /* for updates of the loop TUTTI_EACH_END: is_told: the rank has started the exchange in this
                           * step; is_due: the exchange becomes ready without a further action of the rank */
    double told, due;     /* times: told: when the exchange was started; due: when it becomes ready */
    int first;            /* for updates of the loop TUTTI_EACH_END: index of the exchange after whose end the update
                           * runs that makes this exchange ready */
    double update_s;      /* for the loop TUTTI_EACH_END: seconds of the update between `first` and this exchange */
} exchange_state;

typedef struct {
    const tutti_plan *plan;
    const tutti_loop *loops; /* loops of the rank that is played */
    tutti_action_costs costs;
    bool overlaps;
    double turns; /* number of ranks that take turns on this core */
    exchange_state *exchanges;
    double now, lane;    /* times: now: up to which computing was played; lane: when the exchange lane is free */
    double busy;         /* seconds of computing in this step so far */
    tutti_step_log *log; /* log of what the rank does (its stretches); NULL if not needed */
    tutti_credit credit; /* time that idle links have saved for later exchanges (tutti_credit) */
} player;

static void compute(player *p, double seconds)
{
    p->now += seconds * p->turns;
    p->busy += seconds * p->turns;
}

static tutti_stretch_kind stretch_of(const player *p, const tutti_action *a)
{
    if (a->node < 0) return TUTTI_STRETCH_UPDATE;
    return p->plan->graph->nodes[a->node].kind == TUTTI_NODE_FORWARD ? TUTTI_STRETCH_FORWARD : TUTTI_STRETCH_BACKWARD;
}

static void action_compute(player *p, const tutti_action *a)
{
    const double from = p->now;
    const bool kernel = a->node >= 0;
    compute(p, tutti_action_seconds(&p->costs, a));
    tutti_step_log_add(p->log, stretch_of(p, a), kernel ? p->plan->graph->nodes[a->node].layer : -1, from, p->now);
}

/* Plays an exchange that may begin at `from`, and returns when it ends. If links are shaped, idle time becomes
 * credit. */
static double exchange(player *p, const exchange_state *x, double from)
{
    double *lane = p->overlaps ? &p->lane : &p->now;
    const double begin = fmax(*lane, from);
    const double left_s = tutti_credit_use(&p->credit, begin - *lane, x->transfer_s);
    *lane = begin + x->seconds - (x->transfer_s - left_s);
    tutti_step_log_add(p->log, TUTTI_STRETCH_EXCHANGE, (int)(x - p->exchanges), begin, *lane);
    return *lane;
}

static void tell(player *p, exchange_state *x, unsigned when)
{
    if (when & TUTTI_WHEN_READY) {
        x->ends = exchange(p, x, p->now);
        x->is_ready = !(when & TUTTI_WHEN_FREE);
    } else if (x->is_ready) { /* this rank's last slice is ready only now, so the exchange that has begun ends later */
        if (p->now + x->seconds > x->ends)
            tutti_step_log_add(p->log, TUTTI_STRETCH_EXCHANGE, (int)(x - p->exchanges), p->now, p->now + x->seconds);
        x->ends = fmax(x->ends, p->now + x->seconds);
    }
}

/* ---- the loop TUTTI_EACH_END: updates and exchanges that need no action of the rank ---- */

enum { NOTHING = -1 };

static void parts_read(player *p)
{
    const tutti_loop *l = &p->loops[TUTTI_EACH_END];
    int first = NOTHING;
    double update_s = 0;
    for (int i = 0; i < p->plan->nexchanges; i++) p->exchanges[i].first = NOTHING;
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (tutti_action_awaits(a) && !a->when) first = a->exchange, update_s = 0;
        if (tutti_action_updates(a)) update_s += tutti_action_seconds(&p->costs, a);
        if (!tutti_action_tells(a)) continue;
        p->exchanges[a->exchange].first = first;
        p->exchanges[a->exchange].update_s = update_s;
    }
}

/* Returns the time at which an exchange gets the exchange lane: when it is due. If the plan goes by need
 * (config.by_need), it also waits until the lane is free. */
static double begins(const player *p, const exchange_state *x)
{
    return p->plan->config.by_need ? fmax(p->lane, x->due) : x->due;
}

/* Returns true if the plan has updates that run on the exchange lane. Only then an exchange can become due without an
 * action of the rank. */
static bool has_beside(const player *p)
{
    return p->loops[TUTTI_EACH_END].nactions > 0;
}

static bool comes_before(const player *p, int a, int b)
{
    const exchange_state *x = &p->exchanges[a], *y = &p->exchanges[b];
    const double at = begins(p, x), other = begins(p, y);
    if (at != other) return at < other;
    return p->plan->exchanges[a].turn < p->plan->exchanges[b].turn;
}

/* Returns the due exchange that goes next, or NOTHING. */
static int next_due(const player *p)
{
    int next = NOTHING;
    for (int i = 0; has_beside(p) && i < p->plan->nexchanges; i++)
        if (p->exchanges[i].is_due && (next == NOTHING || comes_before(p, i, next))) next = i;
    return next;
}

static void enter(player *p, exchange_state *x)
{
    x->is_due = false;
    const double from = p->now;
    if (!p->overlaps) compute(p, x->update_s);
    tutti_step_log_add(p->log, TUTTI_STRETCH_UPDATE, -1, from, p->now);
    x->ends = exchange(p, x, x->due);
}

/* Called when the rank has started an exchange: finds out whether this exchange, or the one that follows it, becomes
 * ready. */
static void find_due(player *p, int exchange)
{
    exchange_state *told = &p->exchanges[exchange];
    for (int i = 0; has_beside(p) && i < p->plan->nexchanges; i++) {
        exchange_state *x = &p->exchanges[i];
        if (x->first == NOTHING || (i != exchange && x->first != exchange)) continue;
        if (i == exchange) x->told = p->now;
        x->is_told |= i == exchange;
        told->is_told |= x->first == exchange;
        if (!x->is_told || !p->exchanges[x->first].is_told) continue;
        x->is_told = p->exchanges[x->first].is_told = false;
        x->is_due = true;
        const double free = fmax(p->exchanges[x->first].ends, x->told);
        x->due = free + (p->overlaps ? x->update_s : 0);
        tutti_step_log_add(p->log, TUTTI_STRETCH_BESIDE, i, free, x->due);
    }
}

static void action_play(player *p, const tutti_action *a)
{
    exchange_state *x = a->exchange >= 0 ? &p->exchanges[a->exchange] : NULL;
    if (tutti_action_tells(a)) {
        for (int i; p->overlaps && (i = next_due(p)) >= 0 && begins(p, &p->exchanges[i]) <= p->now;)
            enter(p, &p->exchanges[i]);
        if (x->first == NOTHING) tell(p, x, a->when);
        find_due(p, a->exchange);
    } else if (tutti_action_awaits(a)) {
        while (x->is_due) enter(p, &p->exchanges[next_due(p)]);
        p->now = fmax(p->now, x->ends);
        x->is_ready = false;
    } else {
        action_compute(p, a);
    }
}

/* Predicts the times of a bucket's exchanges at a few other bucket sizes. */
static tutti_status sizes_time(tutti_exchange_times *times, double by_size_s[TUTTI_PREDICTED_SIZES], tutti_failure *err)
{
    enum { FIRST = 4096 / TUTTI_ELEMENT_BYTES, GROWTH = 16 };
    tutti_status st = TUTTI_OK;
    int64_t n = FIRST;
    for (int i = 0; i < TUTTI_PREDICTED_SIZES && !st; i++, n *= GROWTH) {
        tutti_bucket_time time;
        st = tutti_predict_bucket(times, n, &time, err);
        by_size_s[i] = time.all_s;
    }
    return st;
}

static tutti_status exchanges_prepare(const player *p, tutti_exchange_times *times, tutti_arena *names,
                                      tutti_failure *err)
{
    const tutti_plan *plan = p->plan;
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < plan->nexchanges && !st; i++) {
        exchange_state *x = &p->exchanges[i];
        tutti_simulation found;
        if (tutti_predict_share(plan, i) == 0) continue;
        st = tutti_exchange_times_at(times, i, plan->exchanges[i].count, &found, err);
        x->seconds = found.seconds;
        x->lower_s = found.lower_s;
        x->transfer_s = found.transfer_s;
        x->busy_s = found.busy_s;
        x->sent = found.bytes_sent;
        x->fan_in = found.fan_in;
        x->busiest = tutti_arena_strdup(names, found.bottleneck_name);
    }
    return st;
}

/* Finds the link that is busy longest in the exchanges of a rank's step. Links are the same if exchanges give them the
 * same name. */
static double find_busiest(const player *p, int rank, const char **name)
{
    const int n = p->plan->nexchanges;
    int nown = 0, *own = tutti_alloc((size_t)n * sizeof *own);
    double most = 0;
    for (int i = 0; i < n; i++)
        if (p->exchanges[i].busy_s > 0 && tutti_plan_place(&p->plan->exchanges[i], rank) >= 0) own[nown++] = i;
    for (int i = 0; i < nown; i++) {
        double sum = 0;
        for (int j = 0; j < nown; j++)
            if (!strcmp(p->exchanges[own[i]].busiest, p->exchanges[own[j]].busiest))
                sum += p->exchanges[own[j]].busy_s * tutti_predict_share(p->plan, own[j]);
        if (sum > most) most = sum, *name = p->exchanges[own[i]].busiest;
    }
    free(own);
    return most;
}

/* Returns the largest number of ranks that send to one rank at a time, of the exchanges of gradients, weights and split
 * layers in which a rank takes part. */
static int find_fan_in(const player *p, int rank)
{
    const tutti_plan *plan = p->plan;
    int most = 0;
    for (int i = 0; i < plan->nexchanges; i++) {
        const tutti_plan_exchange *x = &plan->exchanges[i];
        const bool counts = (x->bucket >= 0 || x->is_travel) && tutti_predict_share(plan, i) != 0;
        if (counts && p->exchanges[i].fan_in > most && tutti_plan_place(x, rank) >= 0) most = p->exchanges[i].fan_in;
    }
    return most;
}

/* Fills in the algorithm by which most bytes travel, the bytes that a rank sends, and the busiest link. */
static void describe(const player *p, int rank, tutti_prediction *out)
{
    const tutti_plan *plan = p->plan;
    const char *busiest = "compute";
    int64_t most = 0;
    double sent = 0;
    for (int i = 0; i < plan->nexchanges && plan->config.nranks > 1; i++) {
        const tutti_plan_exchange *x = &plan->exchanges[i];
        const double share = tutti_predict_share(plan, i);
        if (share == 0 || tutti_plan_place(x, rank) < 0) continue;
        sent += share * (double)p->exchanges[i].sent;
        if (x->count <= most) continue;
        most = x->count;
        const int schedule = tutti_plan_schedule_of_size(plan, x->schedule, x->count * TUTTI_ELEMENT_BYTES);
        snprintf(out->algorithm, sizeof out->algorithm, "%s",
                 tutti_schedule_head(plan->schedules[schedule].compiled)->algorithm);
    }
    out->bytes_per_rank = (int64_t)sent;
    out->fan_in = find_fan_in(p, rank);
    if (find_busiest(p, rank, &busiest) <= out->compute_s) busiest = "compute";
    snprintf(out->bottleneck, sizeof out->bottleneck, "%s", busiest);
}

/* Prepares the exchanges of a rank; none has begun. */
static void exchanges_begin(player *p, int rank, tutti_prediction *out)
{
    double started = 0;
    for (int i = 0; i < p->plan->nexchanges; i++) {
        exchange_state *x = &p->exchanges[i];
        const bool takes_part = tutti_plan_place(&p->plan->exchanges[i], rank) >= 0;
        const double a_step = takes_part ? tutti_predict_share(p->plan, i) : 0;
        *x = (exchange_state){.seconds = x->seconds,
                              .lower_s = x->lower_s,
                              .transfer_s = x->transfer_s,
                              .busy_s = x->busy_s,
                              .busiest = x->busiest,
                              .fan_in = x->fan_in,
                              .sent = x->sent};
        out->exchange_s += x->seconds * a_step;
        out->lower_s += x->lower_s * a_step;
        started += a_step;
    }
    out->nexchanges = (int)lround(started);
}

static void loop_play(player *p, const tutti_loop *l, bool ends_period)
{
    for (int i = 0; i < l->nactions; i++)
        if (tutti_action_is_due(&l->actions[i], ends_period)) action_play(p, &l->actions[i]);
}

static void steps_play(player *p, double load_s, tutti_prediction *out)
{
    const tutti_plan *plan = p->plan;
    const int64_t period = plan->config.period;
    double begin = 0;
    for (int n = 0; n < NPERIODS; n++) {
        begin = p->now;
        p->busy = 0;
        for (int64_t step = 0; step < period; step++) {
            const double from = p->now;
            compute(p, load_s);
            tutti_step_log_add(p->log, TUTTI_STRETCH_LOAD, -1, from, p->now);
            loop_play(p, &p->loops[TUTTI_EACH_STEP], step + 1 == period);
        }
        loop_play(p, &p->loops[TUTTI_EACH_PERIOD], true);
    }
    out->step_s = (p->now - begin) / (double)period;
    out->compute_s = p->busy / (double)period;
    if (p->log) tutti_step_log_cut(p->log, begin, p->now);
}

/* Adds the exchanges of split layers: a rank exchanges its parts and their activations instead of the whole layer. */
static void add_split(const player *p, int rank, tutti_prediction *out)
{
    const tutti_plan *plan = p->plan;
    double *seconds = tutti_alloc((size_t)plan->nexchanges * sizeof *seconds);
    for (int i = 0; i < plan->nexchanges; i++) seconds[i] = p->exchanges[i].seconds;
    const tutti_split_time time = tutti_predict_split(plan, rank, -1, seconds);
    out->groups = plan->config.nranks / tutti_graph_parts(plan->graph);
    out->travel_s = time.travel_s;
    for (int b = 0; b < plan->nbuckets; b++)
        if (plan->buckets[b].parts > 1) out->exchanged_bytes -= plan->buckets[b].count * (int64_t)sizeof(float);
    out->exchanged_bytes += time.received_bytes;
    free(seconds);
}

static tutti_prediction rank_play(player p, int rank, double load_s)
{
    const tutti_plan *plan = p.plan;
    tutti_prediction out = {.nranks = plan->config.nranks, .ranks_per_core = (int)p.turns};
    tutti_arena work = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    memcpy(loops, plan->loops, sizeof loops);
    if (rank != plan->config.rank) tutti_plan_list_loops(plan, rank, &work, loops);
    p.loops = loops;
    exchanges_begin(&p, rank, &out);
    parts_read(&p);
    steps_play(&p, load_s, &out);
    out.exposed_s = fmax(0, out.step_s - out.compute_s);
    out.lower_s = p.overlaps ? fmax(out.compute_s, out.lower_s) : out.compute_s + out.lower_s;
    out.upper_s = out.compute_s + out.exchange_s;
    out.samples_per_s = (double)plan->config.batch / out.step_s;
    const int64_t there = (int64_t)tutti_dtype_bytes(plan->config.sent);
    const int64_t back = plan->config.replicated ? there : (int64_t)sizeof(float);
    out.exchanged_bytes = plan->total * (there + back) / 2 / plan->config.period;
    if (plan->graph->nsplit) add_split(&p, rank, &out);
    tutti_arena_release(&work);
    return out;
}

/* Plays the slowest rank, whose step is the prediction, once more, with the log. */
static void log_rank(player p, int rank, double load_s, tutti_step_log *log)
{
    p.log = log;
    rank_play(p, rank, load_s);
}

static player player_of(const tutti_exchange_times *times, const tutti_profile *profile, exchange_state *exchanges)
{
    const tutti_topology *t = times->topology;
    const bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    const int nranks = times->plan->config.nranks;
    const double cores = host ? t->figure[TUTTI_FIGURE_CORES] : nranks + 1.0;
    return (player){.plan = times->plan,
                    .costs = {times->plan, profile},
                    .overlaps = !host,
                    .turns = ceil(nranks / cores),
                    .exchanges = exchanges,
                    .credit = tutti_credit_begin(t)};
}

static double load_of(const tutti_exchange_times *times, const tutti_profile *profile)
{
    const tutti_topology *t = times->topology;
    const bool has_free = t->kind != TUTTI_TOPOLOGY_HOST || times->plan->config.nranks < t->figure[TUTTI_FIGURE_CORES];
    return has_free ? 0 : (double)times->plan->my_nsamples * profile->load_s_per_sample;
}

/* Returns, per rank, a hash of the times of the exchanges in which the rank takes part, in the plan's order. The caller
 * frees the array. */
static uint64_t *hash_times(const player *p)
{
    uint64_t *hashes = tutti_alloc(sizeof *hashes * (size_t)p->plan->config.nranks);
    for (int i = 0; i < p->plan->nexchanges; i++) {
        const exchange_state *x = &p->exchanges[i];
        const double times[] = {x->seconds, x->lower_s, x->transfer_s};
        const uint64_t own = tutti_hash(times, sizeof times);
        for (int k = 0; k < p->plan->exchanges[i].nmembers; k++) {
            uint64_t *of = &hashes[tutti_plan_member(&p->plan->exchanges[i], k)];
            *of = (*of ^ own) * 0x9e3779b97f4a7c15u;
        }
    }
    return hashes;
}

/* Plays each rank and returns the one that takes longest. Ranks that share layers all do the same, in exchanges of
 * their own groups. If the exchanges of two such ranks take equally long, only the first rank is played. */
static int slowest_play(const player *p, double load_s, tutti_prediction *out)
{
    const tutti_plan *plan = p->plan;
    const int nranks = tutti_plan_is_between_all(plan) ? 0 : plan->config.nranks;
    uint64_t *times = nranks && plan->graph->nsplit ? hash_times(p) : NULL;
    int slowest = plan->config.rank;
    *out = rank_play(*p, slowest, load_s);
    for (int r = 0; r < nranks; r++) {
        int same = 0;
        while (times && times[same] != times[r]) same++;
        if (times && same < r) continue;
        const tutti_prediction own = rank_play(*p, r, load_s);
        if (own.step_s > out->step_s) *out = own, slowest = r;
    }
    free(times);
    return slowest;
}

tutti_status tutti_timeline_record(const tutti_timeline_question *q, tutti_step_log *log, tutti_prediction *out,
                                   tutti_failure *err)
{
    const tutti_plan *plan = q->plan;
    exchange_state *exchanges = tutti_alloc((size_t)plan->nexchanges * sizeof *exchanges);
    tutti_arena names = {0};
    double by_size_s[TUTTI_PREDICTED_SIZES] = {0};
    tutti_exchange_times times = {.plan = plan, .topology = q->topology};
    const player p = player_of(&times, q->profile, exchanges);
    const double load_s = load_of(&times, q->profile);
    const bool async = tutti_plan_is_async(plan);
    tutti_status st = tutti_topology_fits(q->topology, plan->config.nranks, err);
    if (!st && !async) st = exchanges_prepare(&p, &times, &names, err);
    if (!st && !async && plan->config.nranks > 1) st = sizes_time(&times, by_size_s, err);
    if (!st && async) {
        tutti_timeline_async(&(tutti_async_timeline){p.costs, p.overlaps, p.turns}, load_s, q->topology, q->slowness,
                             out);
    } else if (!st) {
        const int slowest = slowest_play(&p, load_s, out);
        describe(&p, slowest, out);
        memcpy(out->by_size_s, by_size_s, sizeof by_size_s);
        if (log) log_rank(p, slowest, load_s, log);
    }
    tutti_exchange_times_release(&times);
    free(exchanges);
    tutti_arena_release(&names);
    return st;
}

tutti_status tutti_timeline_compare(tutti_exchange_times *times, const tutti_profile *profile, tutti_prediction *out,
                                    tutti_failure *err)
{
    exchange_state *exchanges = tutti_alloc((size_t)times->plan->nexchanges * sizeof *exchanges);
    tutti_arena names = {0};
    const player p = player_of(times, profile, exchanges);
    const tutti_status st = exchanges_prepare(&p, times, &names, err);
    if (!st) out->fan_in = find_fan_in(&p, slowest_play(&p, load_of(times, profile), out));
    free(exchanges);
    tutti_arena_release(&names);
    return st;
}

tutti_status tutti_timeline_predict(const tutti_plan *plan, const tutti_profile *profile, const tutti_topology *t,
                                    const double *slowness, tutti_prediction *out, tutti_failure *err)
{
    return tutti_timeline_record(&(tutti_timeline_question){plan, profile, t, slowness}, NULL, out, err);
}
