/* SPDX-License-Identifier: Apache-2.0 */
/* test_visits_threads.c: the board of visits, between threads as ranks that die at chosen points while they take
 * shares, wait, visit and meet. */
#include "testing.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "collective/group/group_impl.h"
#include "collective/thread_ranks.h"
#include "training/run/visit/board/visits.h"

enum { RANKS = 4, STEPS = 60, STOP = 2 /* steps between two stops */, BOUND = 1 };

typedef enum { NEVER, WITH_A_SHARE, INSIDE, OUTSIDE, PLAYED, AT_THE_STOP, NPOINTS } point;

typedef struct {
    tutti_admission admission;
    bool paced;
    bool ahead; /* rank 0 takes three shares at once, at the beginning of each stretch before the others take any */
    atomic_int filled;
    point dies[RANKS];
    int at[RANKS]; /* after how many shares */
    atomic_int nended, inside, times[RANKS * STEPS];
    int64_t nvisits; /* by who is let in alone */
    int64_t unplayed[RANKS];
} world;

static bool dies_at(tutti_group *g, world *w, point here, int nplayed)
{
    const int me = tutti_group_rank(g);
    int nliving = 0;
    if (w->dies[me] != here || nplayed < w->at[me]) return false;
    for (int r = 0; r < g->nranks; r++) {
        nliving += !w->dies[r];
        if (g->peers[r].mesh >= 0) shutdown(g->peers[r].mesh, SHUT_RDWR);
        if (g->peers[r].control >= 0) shutdown(g->peers[r].control, SHUT_RDWR);
    }
    for (int i = 0; i < 30000 && atomic_load(&w->nended) < nliving; i++) tutti_clock_sleep_s(1e-3);
    return true;
}

/* *alive: it has not died on the way. */
static const char *play_share(tutti_group *g, world *w, tutti_visits *v, int nplayed, bool *alive)
{
    tutti_failure err = {0};
    *alive = false;
    if (dies_at(g, w, WITH_A_SHARE, nplayed)) return NULL;
    EXPECT(!w->paced || tutti_visits_pace(v, &err) == TUTTI_OK);
    EXPECT(tutti_visits_enter(v, &err) == TUTTI_OK);
    if (dies_at(g, w, INSIDE, nplayed)) return NULL;
    EXPECT(atomic_fetch_add(&w->inside, 1) == 0);
    w->nvisits++;
    atomic_fetch_sub(&w->inside, 1);
    tutti_visits_leave(v);
    if (dies_at(g, w, OUTSIDE, nplayed)) return NULL;
    tutti_visits_end(v, 1);
    *alive = !dies_at(g, w, PLAYED, nplayed);
    return NULL;
}

/* Shares that are dealt and not played, in this order. */
typedef struct {
    int64_t share[3];
    int n;
} dealt_ahead;

static void fill(tutti_visits *v, dealt_ahead *d, int most)
{
    while (d->n < most && (d->n == 0 || d->share[d->n - 1] >= 0)) d->share[d->n++] = tutti_visits_deal(v);
}

static bool may_begin(tutti_visits *v, int64_t share)
{
    bool may = false;
    return share >= 0 && !tutti_visits_begin(v, share, &may, NULL) && may;
}

static const char *play_stretch(tutti_group *g, world *w, tutti_visits *v, dealt_ahead *d, int *nplayed, bool *alive)
{
    const int most = w->ahead && tutti_group_rank(g) == 0 ? 3 : 1;
    for (fill(v, d, most); may_begin(v, d->share[0]); fill(v, d, most)) {
        const int64_t share = d->share[0];
        const char *wrong = play_share(g, w, v, (*nplayed)++, alive);
        if (wrong || !*alive) return wrong;
        atomic_fetch_add(&w->times[share], 1);
        memmove(d->share, d->share + 1, sizeof *d->share * (size_t)--d->n);
    }
    return NULL;
}

static const char *play(tutti_group *g, world *w, tutti_visits *v)
{
    tutti_failure err = {0};
    const int me = tutti_group_rank(g);
    int64_t step = 0;
    dealt_ahead dealt = {0};
    int nplayed = 0;
    bool ends = false, alive = true;
    while (step < STEPS) {
        EXPECT(tutti_visits_open(v, step + STOP, &err) == TUTTI_OK);
        if (me == 0) fill(v, &dealt, w->ahead ? 3 : 1);
        if (me == 0) atomic_store(&w->filled, (int)step + 1);
        while (w->ahead && atomic_load(&w->filled) <= step && !tutti_group_poll(g, &err)) tutti_clock_sleep_s(1e-4);
        const char *wrong = play_stretch(g, w, v, &dealt, &nplayed, &alive);
        if (wrong || !alive || dies_at(g, w, AT_THE_STOP, nplayed)) return wrong;
        EXPECT(tutti_visits_come(v, &err) == TUTTI_OK);
        EXPECT(tutti_visits_meet(v, &step, &ends, &err) == TUTTI_OK && !ends && step % STOP == 0);
        double loss;
        EXPECT(tutti_visits_played(v, &loss) + tutti_visits_unplayed(v) == RANKS * step);
    }
    w->unplayed[me] = tutti_visits_unplayed(v);
    atomic_fetch_add(&w->nended, 1);
    return NULL;
}

static const char *body(tutti_group *g, void *arg)
{
    world *w = arg;
    tutti_failure err = {0};
    tutti_visits *v = NULL;
    const tutti_plan plan = {.config = {.rank = tutti_group_rank(g), .nranks = RANKS, .staleness = BOUND},
                             .nbuckets = 1,
                             .is_paced = w->paced,
                             .admission = w->admission};
    EXPECT(tutti_visits_create(g, &plan, &(tutti_visits_config){.end_step = STEPS}, &v, &err) == TUTTI_OK);
    EXPECT(tutti_group_bear(g, &err) == TUTTI_OK);
    const char *wrong = play(g, w, v);
    tutti_visits_destroy(v);
    return wrong;
}

/* Every share once, or by nobody if somebody had it when he died; a share of its own column at most, and what was left
 * there. */
static void expect_shares(const world *w, int ndead)
{
    int played = 0;
    for (int i = 0; i < RANKS * STEPS; i++) {
        assert_in_range(atomic_load(&w->times[i]), 0, 1);
        played += atomic_load(&w->times[i]);
    }
    for (int r = 0; r < RANKS; r++)
        if (!w->dies[r]) assert_true(w->unplayed[r] == w->unplayed[0]);
    /* who dies when it has said that it played counts it, and we do not */
    assert_in_range(w->unplayed[0], RANKS * STEPS - played - ndead, RANKS * STEPS - played);
    assert_in_range(RANKS * STEPS - played, 0, 4 * ndead);
}

static void run(tutti_admission admission, bool paced, bool ahead, int ndead, point dies, int at)
{
    world *w = calloc(1, sizeof *w);
    w->ahead = ahead;
    w->admission = admission;
    w->paced = paced;
    for (int i = 0; i < ndead; i++) {
        const int rank = 1 + (at + i) % (RANKS - 1);
        w->dies[rank] = 1 + (dies - 1 + i) % (NPOINTS - 1);
        w->at[rank] = at;
    }
    run_ranks(RANKS, 20, body, w);
    expect_shares(w, ndead);
    free(w);
}

static void in_rank_order(void **state)
{
    (void)state;
    for (int dies = WITH_A_SHARE; dies < NPOINTS; dies++)
        for (int at = 0; at < 40; at += 13) run(TUTTI_ADMIT_IN_RANK_ORDER, false, false, 1 + at % 3, dies, at);
}

static void by_arrival(void **state)
{
    (void)state;
    for (int dies = WITH_A_SHARE; dies < NPOINTS; dies++)
        for (int at = 0; at < 3; at++) run(TUTTI_ADMIT_BY_ARRIVAL, false, false, 1 + at, dies, at);
}

static void with_a_bound(void **state)
{
    (void)state;
    for (int dies = WITH_A_SHARE; dies < NPOINTS; dies++)
        for (int at = 0; at < 40; at += 13) run(TUTTI_ADMIT_BY_ARRIVAL, true, false, 1 + at % 3, dies, at);
}

/* Two are left, and one of them has nothing to do any more when its turn comes. */
static void who_rests_is_waited_for_by_nobody(void **state)
{
    (void)state;
    run(TUTTI_ADMIT_IN_RANK_ORDER, false, true, 2, WITH_A_SHARE, 1);
    run(TUTTI_ADMIT_BY_ARRIVAL, true, true, 2, WITH_A_SHARE, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_rank_order),
        cmocka_unit_test(by_arrival),
        cmocka_unit_test(with_a_bound),
        cmocka_unit_test(who_rests_is_waited_for_by_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
