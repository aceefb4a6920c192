/* SPDX-License-Identifier: Apache-2.0 */
/* svm_solve.c: the SVM solver: rounds until the gap over all samples is below eps.
 *
 * A solve also ends at LIBSVM's limit of iterations, or when rounds no longer lower the objective because steps are
 * smaller than doubles resolve. The gap of the result shows these cases. */
#include <assert.h>

#include "../../base/clock.h"
#include "../checkpoint/svm_checkpoint.h"

/* A round ends when the gap within the working set is this part of the whole gap. Measured by kernel values on a9a (-c
 * 10 -g 0.1, the default rule): with 0.3, and three quarters of the set kept from round to round, 2.6 10^9 values and
 * 160,000 pairs moved. With half of the set kept: 2.7 10^9, and twice as many in the set's matrix, which every rank
 * computes. 0.15 takes a third more pairs, 0.5 twice the rounds. Sets of 512, 1024, 2048 members take 3.2, 2.7, 2.5
 * 10^9 values. */
static const double UNTIL = 0.3;
enum {
    MOST_STALLED = 8,
    ITERATIONS = 100 /* a round has at most this many iterations for each slot of the set */
};

/* --- preparing a problem --- */

/* Exchanges how many samples of each class each rank has, and numbers the own samples. */
static tutti_status number_samples(tutti_svm_solver *s, tutti_failure *err)
{
    tutti_svm_context *e = s->e;
    const tutti_svm_problem *p = s->problem;
    int64_t mine[2] = {0, 0}, before[2] = {0, 0}, all[2] = {0, 0};
    int64_t *of = TUTTI_ARENA_NEW(&s->arena, int64_t, 2 * e->nranks);
    for (int64_t i = 0; i < p->n; i++) mine[p->y[i] < 0]++;
    const tutti_status st = tutti_svm_context_share(e, mine, of, err);
    if (st) return st;
    s->samples_of = TUTTI_ARENA_NEW(&s->arena, int64_t, e->nranks);
    for (int r = 0; r < e->nranks; r++) {
        for (int c = 0; c < 2; c++) {
            before[c] += r < e->rank ? of[2 * r + c] : 0;
            all[c] += of[2 * r + c];
        }
        s->samples_of[r] = of[2 * r] + of[2 * r + 1];
    }
    if (all[0] == 0 || all[1] == 0)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "there are %lld samples of the one class and %lld of the other: two classes are needed",
                          (long long)all[0], (long long)all[1]);
    s->positives = all[0], s->total = all[0] + all[1];
    int64_t next[2] = {before[0], s->positives + before[1]};
    s->state.number = TUTTI_ARENA_NEW(&s->arena, int64_t, p->n);
    for (int64_t i = 0; i < p->n; i++) s->state.number[i] = next[p->y[i] < 0]++;
    return TUTTI_OK;
}

static void make_samples(tutti_svm_solver *s, const double *alpha)
{
    tutti_svm_state *state = &s->state;
    const tutti_svm_problem *p = s->problem;
    const int64_t n = p->n;
    state->n = n;
    state->sample = TUTTI_ARENA_NEW(&s->arena, int32_t, n);
    state->alpha = TUTTI_ARENA_NEW(&s->arena, double, n);
    state->gamma = TUTTI_ARENA_NEW(&s->arena, double, n);
    state->sides = TUTTI_ARENA_NEW(&s->arena, uint8_t, n);
    state->position = TUTTI_ARENA_NEW(&s->arena, int64_t, n);
    s->target = TUTTI_ARENA_NEW(&s->arena, int32_t, n);
    s->keys = TUTTI_ARENA_NEW(&s->arena, tutti_svm_key, n);
    s->from = TUTTI_ARENA_NEW(&s->arena, int64_t, n);
    s->spare = TUTTI_ARENA_NEW(&s->arena, double, n);
    for (int64_t i = 0; i < n; i++) {
        state->sample[i] = (int32_t)i, state->position[i] = i, s->target[i] = p->row[i];
        state->alpha[i] = alpha[i];
        state->sides[i] = tutti_svm_sides(p->y[i], alpha[i], p->y[i] > 0 ? p->cost_positive : p->cost_negative);
    }
}

/* Makes room for a working set of at most as many members as the problem can use: a problem of few samples, such as one
 * of many pairs of classes, must not pay for a set of full size. */
static void make_set(tutti_svm_solver *s)
{
    enum { LINE = 64 };
    tutti_svm_state *state = &s->state;
    tutti_arena *a = &s->arena;
    const int64_t q = s->e->block < s->total ? s->e->block : (s->total + 1) / 2 * 2;
    /* rows are whole cache lines, and not a power of two apart, which would map a column to one set of the cache */
    s->stride = (q + 15) / 16 * 16 + 16;
    s->matrix = tutti_arena_alloc(a, (size_t)(q * s->stride) * s->e->value_bytes + LINE);
    state->member = TUTTI_ARENA_NEW(a, int64_t, q);
    state->member_alpha = TUTTI_ARENA_NEW(a, double, q), state->member_gamma = TUTTI_ARENA_NEW(a, double, q);
    s->pick = TUTTI_ARENA_NEW(a, tutti_svm_pick, q);
    s->at = TUTTI_ARENA_NEW(a, int32_t, q), s->owned = TUTTI_ARENA_NEW(a, int32_t, q);
    s->y = TUTTI_ARENA_NEW(a, double, q), s->cost = TUTTI_ARENA_NEW(a, double, q);
    s->diagonal = TUTTI_ARENA_NEW(a, double, q);
    s->gradient = TUTTI_ARENA_NEW(a, double, q), s->before = TUTTI_ARENA_NEW(a, double, q);
    s->weight = TUTTI_ARENA_NEW(a, double, q), s->scratch = TUTTI_ARENA_NEW(a, double, q);
    s->changed = TUTTI_ARENA_NEW(a, int32_t, q), s->slots = TUTTI_ARENA_NEW(a, int32_t, q);
    s->mine = TUTTI_ARENA_NEW(a, int32_t, q), s->kept = TUTTI_ARENA_NEW(a, int32_t, 2 * q);
    if (s->e->nranks > 1) s->merged = TUTTI_ARENA_NEW(a, tutti_svm_key, 2 * q * s->e->nranks);
}

/* Makes all samples active, and computes their gradients at alpha. */
static tutti_status begin(tutti_svm_solver *s, const double *alpha, tutti_failure *err)
{
    tutti_svm_state *state = &s->state;
    tutti_svm_account_open(&s->e->account);
    const tutti_status st = number_samples(s, err);
    if (st) return st;
    make_samples(s, alpha);
    make_set(s);
    tutti_svm_cache_open(s);
    s->limit = s->total > 100000 ? 100 * s->total : 10000000; /* LIBSVM's limit of iterations */
    state->delta = tutti_svm_first_elimination(&s->e->config->elimination, s->total);
    state->active = s->total;
    tutti_svm_charge(&s->e->account, TUTTI_SVM_OTHER);
    return tutti_svm_reactivate(s, err);
}

/* --- rounds --- */

static void tell(tutti_svm_solver *s, bool over)
{
    const tutti_svm_config *config = s->e->config;
    const tutti_svm_state *state = &s->state;
    if (!config->on_event) return;
    tutti_svm_event event = {.pair = s->problem->pair,
                             .npairs = s->problem->npairs,
                             .round = state->round,
                             .iterations = state->iterations,
                             .gap = s->b_low - s->b_up,
                             .samples = s->total,
                             .active = state->active,
                             .eliminated = state->eliminated,
                             .reconstructed = state->reconstructed,
                             .kernel_rows = state->kernel_rows,
                             .cached_rows = state->cached_rows,
                             .seconds = tutti_clock_s() - s->e->began,
                             .block = s->e->block,
                             .over = over,
                             .stop = s->wish >= TUTTI_SVM_WISH_STOP ? s->wish - 1 : 0};
    tutti_svm_account_tell(&s->e->account, &event);
    config->on_event(config->arg, &event);
    tutti_svm_charge(&s->e->account, TUTTI_SVM_OTHER);
}

static int to_keep(const tutti_svm_solver *s)
{
    const int newest = s->e->block - tutti_svm_set_renewal(s->e->block);
    return s->state.nmembers < newest ? s->state.nmembers : newest;
}

static bool is_member(const tutti_svm_state *state, int64_t number)
{
    int i = 0;
    while (i < state->nmembers && state->member[i] != number) i++;
    return i < state->nmembers;
}

static tutti_status run_round(tutti_svm_solver *s, tutti_failure *err)
{
    tutti_svm_state *state = &s->state;
    const int keep = to_keep(s);
    const double eps = s->e->config->eps, part = UNTIL * (s->b_low - s->b_up);
    tutti_svm_set_shrink(s, keep);
    tutti_status st = tutti_svm_select(s, s->e->block - keep, err);
    if (!st) st = tutti_svm_set_admit(s, keep, err);
    if (st) return st;
    /* the worst violators are members, so each round lowers the objective */
    assert(is_member(state, s->worst_up) && is_member(state, s->worst_low));
    /* a set of all samples need not be more precise for the sake of later rounds */
    const double until = state->nmembers == state->active ? eps : part > eps / 2 ? part : eps / 2;
    state->round++;
    const int64_t left = s->limit - state->iterations, most = (int64_t)s->e->block * ITERATIONS;
    return tutti_svm_set_optimise(s, until, left < most ? left : most, err);
}

/* True if dropped samples become active again now. With the rule `single` they do so once, before the end, and nothing
 * is dropped afterwards. */
static bool comes_back(tutti_svm_solver *s, double gap)
{
    const tutti_svm_config *config = s->e->config;
    if (config->elimination.kind != TUTTI_SVM_SINGLE || s->state.delta == INT64_MAX || gap >= 10 * config->eps)
        return false;
    s->state.delta = INT64_MAX;
    return s->state.active < s->total;
}

/* Saves a checkpoint, and ends the solve if a rank wishes to stop. */
static tutti_status grant_wish(tutti_svm_solver *s, tutti_failure *err)
{
    const tutti_status st = tutti_svm_checkpoint_save(s, err);
    if (st || s->wish < TUTTI_SVM_WISH_STOP) return st;
    tell(s, false);
    return tutti_fail(err, TUTTI_ERR_FAILED, "training was stopped in round %lld", (long long)s->state.round);
}

static tutti_status run_rounds(tutti_svm_solver *s, tutti_failure *err)
{
    tutti_svm_state *state = &s->state;
    const tutti_svm_config *config = s->e->config;
    for (;;) {
        tutti_status st = tutti_svm_find_extremes(s, tutti_svm_checkpoint_wish(s->e), err);
        if (!st && s->wish) st = grant_wish(s, err);
        if (st) return st;
        const double gap = s->b_low - s->b_up;
        const bool stalled = state->stalled >= MOST_STALLED;
        const bool over = gap < config->eps || state->iterations >= s->limit || stalled;
        const bool whole = state->active == s->total;
        tell(s, over && whole);
        if (over && whole) return TUTTI_OK;
        if (comes_back(s, gap) || over) {
            if (stalled) state->delta = INT64_MAX, state->stalled = 0;
            st = tutti_svm_reactivate(s, err);
        } else {
            if (state->since >= state->delta) st = tutti_svm_eliminate(s, err);
            if (!st) st = run_round(s, err);
        }
        if (st) return st;
    }
}

tutti_status tutti_svm_solve(tutti_svm_context *context, const tutti_svm_problem *problem, double *alpha,
                             tutti_svm_pair_result *result, tutti_failure *err)
{
    tutti_svm_solver s = {.e = context, .problem = problem};
    tutti_status st = begin(&s, alpha, err);
    if (!st) st = tutti_svm_checkpoint_resume(&s, err);
    if (!st) st = run_rounds(&s, err);
    if (!st) st = tutti_svm_finish(&s, alpha, result, err);
    tutti_svm_cache_destroy(s.cache);
    tutti_svm_store_release(&s.store);
    tutti_arena_release(&s.arena);
    return st;
}
