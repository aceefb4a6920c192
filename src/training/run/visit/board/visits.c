/* SPDX-License-Identifier: Apache-2.0 */
/* visits.c: deals shares of batches to asynchronous workers and counts their visits. The board lies in the memory of
 * rank 0, and all ranks of its host map it; ranks of other hosts ask rank 0 (visitor.h).
 *
 * Each line of the board is written by one rank, or by atomic operations alone. A stop is a step at which all ranks
 * meet. The next stop and the number of shares begun are halves of one word, and both count shares from the last stop
 * on. So a rank that begins a share and a rank that moves the stop agree which of them was first. The record lies on
 * the board too; a run that follows a record has lists of its own shares and turns (visits_order.h). A ticket lock that
 * survives the death of its holder admits visits (visits_turns.h): tickets are in order of arrival; in rank order a
 * rank knows its tickets (visits_enter.c). */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../base/arena.h"
#include "visits_impl.h"

/* ---- following a record ---- */

/* Returns the indices at which a rank occurs in a list of ranks. */
static int64_t *places_of(int rank, const int32_t *ranks, int64_t n)
{
    int64_t *out = tutti_alloc(sizeof *out * ((size_t)n + 1)), found = 0;
    for (int64_t i = 0; i < n; i++)
        if (ranks[i] == rank) out[found++] = i;
    out[found] = INT64_MAX;
    return out;
}

static void find_places(tutti_visits *v)
{
    v->own_shares = places_of(v->rank, v->order.shares, v->order.nshares);
    v->own_visits = places_of(v->rank, v->order.visits, v->order.nvisits);
}

static tutti_status follow(tutti_visits *v, const char *path, tutti_failure *err)
{
    tutti_visits_order *o = &v->order;
    tutti_status st = tutti_visits_order_read(path, o, err);
    if (st) return st;
    if (o->lost >= 0)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s: is of a run that lost rank %d on its way, and what a worker leaves undone cannot be done "
            "again; record another run",
            path, (int)o->lost);
    if (o->nranks != v->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: is of a run of %d ranks; here are %d", path, o->nranks, v->nranks);
    uint64_t hash = 0;
    st = tutti_plan_hash_on_one_host(v->plan, &hash, err);
    if (st) return st;
    if (o->plan_hash != hash)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: is of a run with another plan (method, batch, model or kernels)",
                          path);
    if (o->first_share != v->begin || o->nshares < v->end - v->begin)
        return tutti_fail(
            err, TUTTI_ERR_USAGE, "%s: is of steps %lld to %lld; here %lld to %lld are played (--fresh begins at 0)",
            path, (long long)(o->first_share / v->nranks), (long long)((o->first_share + o->nshares) / v->nranks),
            (long long)(v->begin / v->nranks), (long long)(v->end / v->nranks));
    st = tutti_visits_order_check(path, o, v->plan, err);
    if (st) return st;
    find_places(v);
    v->follows = path;
    return TUTTI_OK;
}

/* ---- ranks of other hosts ---- */

static tutti_visits *make_stand_in(const tutti_visits *v, int rank)
{
    tutti_visits *s = tutti_alloc(sizeof *s);
    *s = *v;
    s->of = v;
    s->rank = rank;
    s->turns.rank = rank;
    if (v->follows) find_places(s);
    return s;
}

/* Connects ranks of other hosts. Collective. A worker that asks must have been dealt its first shares before any rank
 * plays. */
static tutti_status connect_others(tutti_visits *v, tutti_failure *err)
{
    const size_t n = (size_t)v->nranks * TUTTI_SHARES_AHEAD;
    if (!tutti_plan_has_far(v->plan)) return TUTTI_OK;
    tutti_status st = tutti_asks_create(v->group, v->plan, &v->asks, err);
    if (st) return st;
    int64_t *first = tutti_alloc(sizeof *first * n);
    if (v->rank == 0) v->stand_ins = tutti_alloc(sizeof *v->stand_ins * (size_t)v->nranks);
    for (int r = 1; r < v->nranks && v->rank == 0; r++) {
        if (!tutti_plan_is_far(v->plan, r)) continue;
        v->stand_ins[r] = make_stand_in(v, r);
        for (int i = 0; i < TUTTI_SHARES_AHEAD; i++)
            first[r * TUTTI_SHARES_AHEAD + i] = tutti_visits_deal(v->stand_ins[r]);
    }
    st = tutti_group_broadcast(v->group, "first shares", 0, first, sizeof *first * n, err);
    if (!st && tutti_plan_is_far(v->plan, v->rank))
        v->visitor = tutti_visitor_create(v->asks, v->rank, &first[v->rank * TUTTI_SHARES_AHEAD]);
    free(first);
    return st;
}

tutti_visits *tutti_visits_stand_in(const tutti_visits *v, int worker)
{
    return v->stand_ins ? v->stand_ins[worker] : NULL;
}

const tutti_asks *tutti_visits_asks(const tutti_visits *v)
{
    return v->asks;
}

/* ---- create and destroy ---- */

bool tutti_visits_is_out(const tutti_visits *v, int rank)
{
    return tutti_plan_is_far(v->plan, rank) ? atomic_load(&v->board->ranks[rank].retired)
                                            : tutti_group_is_gone(v->group, rank);
}

const atomic_bool *tutti_visits_gone_flag(const tutti_visits *v, int exchange)
{
    if (!v || v->rank != 0 || v->plan->exchanges[exchange].nmembers != 2) return NULL;
    const tutti_plan_exchange *x = &v->plan->exchanges[exchange];
    const int worker = tutti_plan_member(x, 0) == 0 ? tutti_plan_member(x, 1) : tutti_plan_member(x, 0);
    return tutti_group_gone_flag(v->group, worker);
}

void tutti_visits_retire(tutti_visits *v)
{
    atomic_store(&v->board->ranks[v->rank].retired, true);
}

static bool is_gone(const void *arg, int rank)
{
    return tutti_visits_is_out(arg, rank);
}

/* Sets the pointers to the parts of the board that lie behind its first `lines` bytes. */
static void find_lines(tutti_visits *v, size_t lines, size_t turns, size_t changes, size_t nshares)
{
    char *at = (char *)v->board + lines;
    v->turns = (tutti_turns){(void *)at, v->rank, v->nranks, is_gone, v};
    v->changes = (_Atomic int64_t *)(void *)(at + turns);
    if (nshares) v->shares = (_Atomic int32_t *)(void *)(at + turns + changes), v->visits = v->shares + nshares;
}

tutti_status tutti_visits_create(tutti_group *group, const tutti_plan *plan, const tutti_visits_config *config,
                                 tutti_visits **out, tutti_failure *err)
{
    const int nranks = plan->config.nranks, rank = plan->config.rank;
    const size_t lines = sizeof(tutti_visits_board) + sizeof(tutti_visits_line) * (size_t)nranks;
    const size_t turns = tutti_turns_bytes(nranks), changes = sizeof(int64_t) * (size_t)plan->nbuckets;
    const size_t nshares = config->records ? (size_t)((config->end_step - config->first_step) * nranks) : 0;
    tutti_visits *v = tutti_alloc(sizeof *v);
    *v = (tutti_visits){.group = group,
                        .plan = plan,
                        .rank = rank,
                        .nranks = nranks,
                        .begin = config->first_step * nranks,
                        .end = config->end_step * nranks,
                        .stretch = config->first_step * nranks,
                        .left_at = -1};
    *out = v; /* *out is set in any case, so that the caller can destroy it */
    /* a rank of another host does not read the record: rank 0 follows it for that rank, and the file may be missing
     * here */
    const bool is_far = tutti_plan_is_far(plan, rank);
    tutti_status st = config->replay && !is_far ? follow(v, config->replay, err) : TUTTI_OK;
    const size_t nbytes = lines + turns + changes + 2 * sizeof(int32_t) * nshares;
    if (!st) st = tutti_region_create(group, "visits", rank == 0 ? nbytes : 0, &v->region, err);
    if (st) return st;
    v->board = tutti_region_base(v->region, 0);
    if (v->board) find_lines(v, lines, turns, changes, nshares);
    if (rank == 0) atomic_store(&v->board->next, v->begin);
    st = connect_others(v, err);
    return st ? st : tutti_group_barrier(group, "visits", err);
}

void tutti_visits_destroy(tutti_visits *v)
{
    if (!v) return;
    for (int r = 0; v->stand_ins && !v->of && r < v->nranks; r++) tutti_visits_destroy(v->stand_ins[r]);
    if (!v->of) {
        free(v->stand_ins);
        tutti_visitor_destroy(v->visitor);
        tutti_asks_destroy(v->asks);
        if (v->region) tutti_region_destroy(v->region);
        tutti_visits_order_release(&v->order);
    }
    free(v->own_shares), free(v->own_visits);
    free(v);
}

/* ---- shares ---- */

int64_t tutti_visits_deal(void *arg)
{
    tutti_visits *v = arg;
    int64_t share;
    if (v->visitor) return tutti_visitor_deal(v->visitor);
    if (v->follows)
        share = v->own_shares[v->followed] == INT64_MAX ? v->end : v->begin + v->own_shares[v->followed++];
    else if (tutti_plan_deals_in_order(v->plan))
        share = tutti_turns_deal(&v->turns, v->begin, v->end);
    else
        share = atomic_fetch_add(&v->board->next, 1);
    if (share < 0 || share >= v->end) return -1;
    if (v->shares) atomic_store(&v->shares[share - v->begin], v->rank);
    return share;
}

static uint64_t opened(int64_t stop, int64_t begun)
{
    return (uint64_t)stop << 32 | (uint64_t)begun;
}

static int64_t stop_of(uint64_t open)
{
    return (int64_t)(open >> 32);
}

static int64_t begun_of(uint64_t open)
{
    return (int64_t)(open & UINT32_MAX);
}

/* Notes a step at which all workers stop for a test or checkpoint. If the run follows a record, the record must stop at
 * the same step: otherwise a rank could wait for a rank that waits at the stop. */
static tutti_status note_stop(tutti_visits *v, int64_t stop, tutti_failure *err)
{
    tutti_visits_order *o = &v->order;
    if (v->follows && (v->nstops >= o->nstops || o->stops[v->nstops] != stop))
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "%s: is of a run whose tests and checkpoints were due at other steps: here one is due at step %lld, there "
            "at %lld; give the same epochs, eval_every_epochs and checkpoint keys",
            v->follows, (long long)stop, v->nstops < o->nstops ? (long long)o->stops[v->nstops] : 0LL);
    if (!v->follows) {
        o->stops = tutti_grow(o->stops, v->nstops, &v->stops_room, sizeof *o->stops);
        o->stops[v->nstops] = stop;
    }
    v->nstops++;
    return TUTTI_OK;
}

/* Opens the next stop. A rank that asked to end before this call wrote the new stop has moved only the old stop, so
 * this call repeats its request. */
tutti_status tutti_visits_open(tutti_visits *v, int64_t stop, tutti_failure *err)
{
    const tutti_status st = note_stop(v, stop, err);
    if (st) return st;
    if (v->rank == 0) atomic_store(&v->board->open, opened(stop * v->nranks - v->stretch, 0));
    if (v->rank == 0 && atomic_load(&v->board->ends)) tutti_visits_ask_to_end(v);
    if (v->board) tutti_turns_rest(&v->turns, false);
    for (int r = 0; v->stand_ins && r < v->nranks; r++)
        if (v->stand_ins[r]) tutti_turns_rest(&v->stand_ins[r]->turns, false);
    return tutti_group_barrier(v->group, "workers, before they go on their own", err);
}

tutti_status tutti_visits_begin(tutti_visits *v, int64_t share, bool *may, tutti_failure *err)
{
    if (v->visitor) return tutti_visitor_begin(v->visitor, share, may, err);
    const int64_t at = share - (v->of ? v->of->stretch : v->stretch);
    uint64_t open = atomic_load(&v->board->open), next;
    do {
        *may = share >= 0 && at < stop_of(open);
        if (!*may) {
            if (v->of) tutti_turns_rest(&v->turns, true); /* the worker of this stand-in takes no more turns */
            return TUTTI_OK;
        }
        v->current = share;
        next = opened(stop_of(open), begun_of(open) > at ? begun_of(open) : at + 1);
    } while (!atomic_compare_exchange_weak(&v->board->open, &open, next));
    return TUTTI_OK;
}

void tutti_visits_ask_ahead(const tutti_visits *v, double loss)
{
    if (v->visitor) tutti_visitor_ask_ahead(v->visitor, loss);
}

void tutti_visits_end(tutti_visits *v, double loss)
{
    uint64_t bits;
    if (v->visitor) {
        tutti_visitor_end(v->visitor, loss);
        return;
    }
    if (!isfinite(loss) && !atomic_load(&v->board->ranks[v->rank].bad))
        atomic_store(&v->board->ranks[v->rank].bad, v->current + 1);
    v->loss += loss;
    v->played++;
    memcpy(&bits, &v->loss, sizeof bits);
    atomic_store(&v->board->ranks[v->rank].loss, bits);
    atomic_store(&v->board->ranks[v->rank].played, v->played);
}

tutti_status tutti_visits_come(tutti_visits *v, tutti_failure *err)
{
    if (v->board) tutti_turns_rest(&v->turns, true);
    return tutti_group_barrier(v->group, "workers that play their last shares before all meet", err);
}

/* Returns 1 + the first share whose loss was not finite; 0 = none. */
static int64_t first_bad(const tutti_visits *v, int64_t *rank)
{
    int64_t first = 0;
    for (int r = 0; r < v->nranks; r++) {
        const int64_t bad = atomic_load(&v->board->ranks[r].bad);
        if (!bad || (first && first < bad)) continue;
        first = bad;
        *rank = r;
    }
    return first;
}

bool tutti_visits_bad(const tutti_visits *v, int64_t *step, int *rank)
{
    *step = (v->told_bad - 1) / v->nranks;
    *rank = v->told_bad_rank;
    return v->told_bad > 0;
}

/* Agrees on the stop. When all ranks are at the stop, only a rank that asks to end can still move it; all ranks use the
 * stop that rank 0 sees. */
tutti_status tutti_visits_meet(tutti_visits *v, int64_t *stop, bool *ends, tutti_failure *err)
{
    struct {
        int64_t nshares, ends, saves, bad, bad_rank, played;
        double loss;
    } seen = {0};
    if (v->rank == 0) seen.nshares = stop_of(atomic_load(&v->board->open));
    if (v->rank == 0) seen.ends = atomic_load(&v->board->ends);
    if (v->rank == 0) seen.bad = first_bad(v, &seen.bad_rank);
    if (v->rank == 0) seen.saves = atomic_exchange(&v->board->saves, false);
    if (v->rank == 0) seen.played = tutti_visits_played(v, &seen.loss);
    const tutti_status st = tutti_group_broadcast(v->group, "workers, where they met", 0, &seen, sizeof seen, err);
    v->stretch += seen.nshares;
    *stop = v->stretch / v->nranks;
    *ends = seen.ends;
    v->told_saves = seen.saves;
    v->told_bad = seen.bad;
    v->told_bad_rank = (int)seen.bad_rank;
    v->told_played = seen.played;
    v->told_loss = seen.loss;
    return st;
}

/* Moves the stop to the next step that no rank has begun. */
static void bring_stop_forward(tutti_visits *v)
{
    uint64_t open = atomic_load(&v->board->open), next;
    do {
        const int64_t begun = (begun_of(open) + v->nranks - 1) / v->nranks * v->nranks;
        next = opened(begun < stop_of(open) ? begun : stop_of(open), begun_of(open));
    } while (!atomic_compare_exchange_weak(&v->board->open, &open, next));
}

void tutti_visits_ask_to_end(tutti_visits *v)
{
    if (v->visitor) {
        tutti_visitor_want_end(v->visitor);
        return;
    }
    atomic_store(&v->board->ends, true);
    bring_stop_forward(v);
}

void tutti_visits_ask_to_save(tutti_visits *v)
{
    atomic_store(&v->board->saves, true);
    bring_stop_forward(v);
}

bool tutti_visits_saves(const tutti_visits *v)
{
    return v->told_saves;
}

int64_t tutti_visits_played(const tutti_visits *v, double *loss)
{
    int64_t n = 0;
    *loss = v->told_loss;
    if (v->visitor) return v->told_played;
    *loss = 0;
    for (int r = 0; r < v->nranks; r++) {
        double own;
        n += atomic_load(&v->board->ranks[r].played);
        const uint64_t bits = atomic_load(&v->board->ranks[r].loss);
        memcpy(&own, &bits, sizeof own);
        *loss += own;
    }
    return n;
}

int64_t tutti_visits_played_by(const tutti_visits *v, int rank)
{
    return atomic_load(&v->board->ranks[rank].played);
}

int64_t tutti_visits_unplayed(const tutti_visits *v)
{
    double loss;
    return v->stretch - v->begin - tutti_visits_played(v, &loss);
}

tutti_status tutti_visits_write(const tutti_visits *v, const char *path, tutti_failure *err)
{
    uint64_t hash = 0;
    tutti_status st = tutti_plan_hash_on_one_host(v->plan, &hash, err);
    if (st) return st;
    tutti_visits_order o = {.nranks = v->nranks,
                            .plan_hash = hash,
                            .first_share = v->begin,
                            .nshares = v->stretch - v->begin,
                            .nvisits = atomic_load(&v->board->count),
                            .nstops = v->nstops,
                            .stops = v->order.stops,
                            .lost = -1};
    for (int r = 0; r < v->nranks && o.lost < 0; r++)
        if (tutti_group_is_gone(v->group, r)) o.lost = r;
    o.shares = tutti_alloc(sizeof *o.shares * (size_t)(o.nshares + 1));
    o.visits = tutti_alloc(sizeof *o.visits * (size_t)(o.nvisits + 1));
    for (int64_t i = 0; i < o.nshares; i++) o.shares[i] = atomic_load(&v->shares[i]);
    for (int64_t i = 0; i < o.nvisits; i++) o.visits[i] = atomic_load(&v->visits[i]);
    st = tutti_visits_order_write(path, &o, err);
    free(o.shares), free(o.visits);
    return st;
}

int64_t tutti_visits_count(const tutti_visits *v)
{
    return v->board ? atomic_load(&v->board->count) : 0;
}

void tutti_visits_staleness(const tutti_visits *v, tutti_staleness *out)
{
    *out = v->staleness;
}
