/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire_stages_threads.c: a rank that serves several over a wire one after the other, as the root of a tree does,
 * begins the next one's put when the wire has taken that of the one before: else all share its link, and who should be
 * first is served with the last. When the wire has taken a put is the test's to say. Ranks are threads, each with its
 * wire's thread. */
#include "testing.h"

#include <unistd.h>

#include "collective/exchange/executor_impl.h"
#include "collective/group/group_impl.h"
#include "collective/proved.h"
#include "collective/wired_ranks.h"

enum { NRANKS = 4, LENGTH = 4096, LOOKS = 100 };

/* A wire's row that keeps its first put for as long as it is told to. */
typedef struct {
    tutti_wire_row row; /* first: a wire's row leads here */
    const tutti_wire_row *own;
    atomic_int nputs;
    tutti_put *kept;
} stages_gate;

typedef struct {
    const tutti_schedule *lowered;
    tutti_group *group;
    stages_gate gate;
    const char *words;
    pthread_t thread;
} stages_rank;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) return #condition;                                                                           \
    } while (0)

static tutti_put *keep_first(tutti_wire *w, int rank, uint64_t address, const void *from, size_t nbytes, bool direct)
{
    stages_gate *gate = (stages_gate *)w->row;
    tutti_put *own = gate->own->put(w, rank, address, from, nbytes, direct);
    if (atomic_fetch_add(&gate->nputs, 1) > 0) return own;
    tutti_put_release(own);
    gate->kept = tutti_alloc(sizeof *gate->kept);
    gate->kept->flying = true;
    return gate->kept;
}

static void put_gate(tutti_group *g, stages_gate *gate)
{
    tutti_group_lock(g);
    gate->own = g->wire->row;
    gate->row = *g->wire->row;
    gate->row.put = keep_first;
    g->wire->row = &gate->row;
    tutti_group_unlock(g);
}

/* Rank 0 serves rank 2 in one stage and rank 1 in the next. */
static const char *serve(tutti_group *g, tutti_exchange *x, stages_gate *gate)
{
    bool done = false;
    tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    while (atomic_load(&gate->nputs) == 0) {
        EXPECT(!tutti_exchange_test(x, &done, NULL));
        usleep(100);
    }
    for (int i = 0; i < LOOKS; i++) {
        EXPECT(!tutti_exchange_test(x, &done, NULL));
        EXPECT(!done && atomic_load(&gate->nputs) == 1);
        usleep(100);
    }
    tutti_group_lock(g);
    gate->kept->flying = false, gate->kept->over = true;
    tutti_group_unlock(g);
    EXPECT(!tutti_exchange_wait(x, NULL));
    EXPECT(atomic_load(&gate->nputs) == 2);
    return NULL;
}

static const char *take_part(tutti_exchange *x)
{
    tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    EXPECT(!tutti_exchange_wait(x, NULL));
    return NULL;
}

static const char *body(stages_rank *r)
{
    tutti_group *g = r->group;
    const int me = tutti_group_rank(g);
    tutti_region *region;
    tutti_exchange *x;
    EXPECT(!tutti_region_create(g, "vector", LENGTH * sizeof(float), &region, NULL));
    float *own = tutti_region_base(region, me);
    for (int i = 0; i < LENGTH; i++) own[i] = (float)(me + 1);
    const tutti_place place = {region, 0};
    const tutti_exchange_binding binding = {.name = "sum", .n = LENGTH, .in = &place, .nin = 1, .out = place};
    EXPECT(!tutti_exchange_create(g, r->lowered, &binding, &x, NULL));
    if (me == 0) put_gate(g, &r->gate);
    const char *words = me == 0 ? serve(g, x, &r->gate) : take_part(x);
    for (int i = 0; i < LENGTH && !words; i++) words = own[i] == 10.0f ? NULL : "sums";
    if (words) return words;
    EXPECT(!tutti_group_barrier(g, "end", NULL));
    if (me == 0) {
        tutti_group_lock(g);
        g->wire->row = r->gate.own;
        tutti_group_unlock(g);
    }
    tutti_exchange_destroy(x);
    tutti_region_destroy(region);
    return NULL;
}

static void *run_rank(void *arg)
{
    stages_rank *r = arg;
    r->words = body(r);
    tutti_group_leave(r->group);
    return NULL;
}

static void who_is_served_next_waits_until_the_wire_has_taken_what_is_for_the_one_before(void **state)
{
    (void)state;
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = NRANKS, .in_place = true};
    tutti_schedule *s = compiled("binomial", &q), *lowered = NULL;
    tutti_group *groups[NRANKS];
    stages_rank ranks[NRANKS];
    tutti_failure err = {0};
    assert_int_equal(tutti_schedule_lower(s, TUTTI_WIRE_ONE_SIDED, &lowered, &err), TUTTI_OK);
    if (wired_create(NRANKS, 20, groups, &err)) fail_msg("%s", err.text);
    for (int r = 0; r < NRANKS; r++) {
        ranks[r] = (stages_rank){.lowered = lowered, .group = groups[r]};
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]), 0);
    }
    for (int r = 0; r < NRANKS; r++) pthread_join(ranks[r].thread, NULL);
    for (int r = 0; r < NRANKS; r++)
        if (ranks[r].words) fail_msg("rank %d: %s", r, ranks[r].words);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_served_next_waits_until_the_wire_has_taken_what_is_for_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
