/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire_turns_threads.c: over a wire, too, what is needed sooner goes first: a long put of an exchange that gives
 * way is cut into pieces, and a short one that is started behind it does not wait for all of them. Ranks are threads,
 * each with its wire's thread. How many pieces the wire has room for is the test's to say, so that nothing hangs on who
 * runs when. */
#include "testing.h"

#include "collective/exchange/executor_impl.h"
#include "collective/group/group_impl.h"
#include "collective/proved.h"
#include "collective/wired_ranks.h"

enum { LONG = 0, URGENT = 1, LENGTH = 8 << 20, SHORT = 64, NTRIES = 12, ALL = 1 << 30 };

/* A wire's row with a gate before it. */
typedef struct {
    tutti_wire_row row; /* first: a wire's row leads here */
    const tutti_wire_row *own;
    atomic_int npieces; /* that may still pass */
    atomic_int nasked;
} turns_gate;

typedef struct {
    const tutti_schedule *lowered;
    int priority; /* of the long one; the short one has 0 */
    turns_gate gates[2];
} turns_case;

typedef struct {
    turns_case *c;
    tutti_group *group;
    const char *words;
    pthread_t thread;
} turns_rank;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) return #condition;                                                                           \
    } while (0)

static bool has_room(tutti_wire *w, int rank)
{
    turns_gate *gate = (turns_gate *)w->row;
    atomic_fetch_add(&gate->nasked, 1);
    if (atomic_load(&gate->npieces) == 0 || !gate->own->has_room(w, rank)) return false;
    atomic_fetch_sub(&gate->npieces, 1);
    return true;
}

static void put_gate(tutti_group *g, turns_gate *gate)
{
    tutti_group_lock(g);
    gate->own = g->wire->row;
    gate->row = *g->wire->row;
    gate->row.has_room = has_room;
    g->wire->row = &gate->row;
    tutti_group_unlock(g);
}

/* Rank 0 has all that travels. */
static const char *create(tutti_group *g, const turns_case *c, tutti_region *region, tutti_exchange *x[2])
{
    for (int i = 0; i < 2; i++) {
        const int64_t n = i == LONG ? LENGTH : SHORT, counts[2] = {n, 0};
        const tutti_place place = {region, i == LONG ? 0 : LENGTH * sizeof(float)};
        const tutti_exchange_binding binding = {.name = i == LONG ? "long" : "urgent",
                                                .n = n,
                                                .counts = counts,
                                                .in = &place,
                                                .nin = 1,
                                                .out = place,
                                                .priority = i == LONG ? c->priority : 0};
        EXPECT(!tutti_exchange_create(g, c->lowered, &binding, &x[i], NULL));
    }
    return NULL;
}

/* Of the long one, one piece may pass until the short one is there: it is, and of the long one the end is not. */
static const char *give_way(tutti_group *g, turns_case *c, const float *own, tutti_exchange *x[2], int t)
{
    tutti_failure err = {0};
    atomic_store(&c->gates[tutti_group_rank(g)].npieces, 1);
    tutti_exchange_start(x[LONG], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    EXPECT(!tutti_group_barrier(g, "long", &err));
    tutti_exchange_start(x[URGENT], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    EXPECT(!tutti_exchange_wait(x[URGENT], &err));
    tutti_group_lock(g);
    const bool overtaken = own[LENGTH] == (float)t && (tutti_group_rank(g) == 0 || own[LENGTH - 1] != (float)t);
    tutti_group_unlock(g);
    EXPECT(!tutti_group_barrier(g, "seen", &err));
    atomic_store(&c->gates[tutti_group_rank(g)].npieces, ALL);
    EXPECT(!tutti_exchange_wait(x[LONG], &err));
    EXPECT(overtaken);
    return NULL;
}

/* Among equals nobody gives way, so nobody asks for room: with the gate shut the long one travels. */
static const char *go_whole(tutti_exchange *x[2])
{
    tutti_failure err = {0};
    for (int i = 0; i < 2; i++) tutti_exchange_start(x[i], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = 0; i < 2; i++) EXPECT(!tutti_exchange_wait(x[i], &err));
    return NULL;
}

static const char *send_both(tutti_group *g, turns_case *c, tutti_region *region, tutti_exchange *x[2])
{
    tutti_failure err = {0};
    float *own = tutti_region_base(region, tutti_group_rank(g));
    for (int t = 1; t <= NTRIES; t++) {
        if (tutti_group_rank(g) == 0) own[LENGTH - 1] = own[LENGTH] = (float)t;
        EXPECT(!tutti_group_barrier(g, "begin", &err));
        const char *words = c->priority ? give_way(g, c, own, x, t) : go_whole(x);
        if (words) return words;
        EXPECT(own[LENGTH - 1] == (float)t);
        EXPECT(own[LENGTH] == (float)t);
    }
    return NULL;
}

static const char *body(tutti_group *g, turns_case *c)
{
    tutti_region *region;
    tutti_exchange *x[2];
    EXPECT(!tutti_region_create(g, "turns", (LENGTH + SHORT) * sizeof(float), &region, NULL));
    put_gate(g, &c->gates[tutti_group_rank(g)]);
    const char *words = create(g, c, region, x);
    if (!words) words = send_both(g, c, region, x);
    for (int i = 0; i < 2; i++) tutti_exchange_destroy(x[i]);
    tutti_region_destroy(region);
    return words;
}

static void *run_rank(void *arg)
{
    turns_rank *r = arg;
    r->words = body(r->group, r->c);
    tutti_group_leave(r->group);
    return NULL;
}

/* How often rank 0 asked for room. */
static int send_with_priority(int priority)
{
    const tutti_compile_request q = {.collective = TUTTI_ALL_GATHER, .nranks = 2, .in_place = true};
    tutti_schedule *s = compiled("direct", &q), *lowered = NULL;
    tutti_group *groups[2];
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_ONE_SIDED, &lowered, &err), TUTTI_OK);
    turns_case c = {.lowered = lowered, .priority = priority};
    if (wired_create(2, 20, groups, &err)) fail_msg("%s", err.text);
    turns_rank ranks[2];
    for (int r = 0; r < 2; r++) {
        ranks[r] = (turns_rank){.c = &c, .group = groups[r]};
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]), 0);
    }
    for (int r = 0; r < 2; r++) pthread_join(ranks[r].thread, NULL);
    for (int r = 0; r < 2; r++)
        if (ranks[r].words) fail_msg("rank %d: %s", r, ranks[r].words);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
    return atomic_load(&c.gates[0].nasked);
}

static void a_short_put_overtakes_a_long_one_that_gives_way(void **state)
{
    (void)state;
    assert_true(send_with_priority(1) >= NTRIES * LENGTH * (int)sizeof(float) / TUTTI_PIECE);
}

static void among_equals_puts_travel_whole(void **state)
{
    (void)state;
    assert_int_equal(send_with_priority(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_put_overtakes_a_long_one_that_gives_way),
        cmocka_unit_test(among_equals_puts_travel_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
