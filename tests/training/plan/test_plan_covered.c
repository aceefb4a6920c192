/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_covered.c: the hash by which a proof is kept and taken over covers what the proof reads, on all ranks
 * alike. */
#include "testing.h"

#include "method_world.h"

static const int32_t hosts[] = {0, 0, 1, 1};

static const struct {
    const char *method;
    tutti_plan_config config;
} plans[] = {
    {"sync-sgd", {.nranks = 3, .nstates = 1, .period = 1}},
    {"sync-sgd", {.nranks = 4, .slots = 8, .nstates = 2, .period = 1, .host_of = hosts}},
    {"local-sgd", {.nranks = 3, .period = 3, .nstates = 1}},
    {"async-easgd", {.nranks = 4, .period = 2, .host_of = hosts}},
};
enum { NPLANS = sizeof plans / sizeof *plans, NCHANGES = 20 };

static void make_plan(world *w, int i, int rank)
{
    tutti_plan_config config = plans[i].config;
    config.rank = rank;
    make(w, plans[i].method, config);
}

/* Each rank finds the hashes that rank 0 finds: of all, and of its own loops. */
static void ranks_find_the_same_hashes(void **state)
{
    (void)state;
    for (int i = 0; i < NPLANS; i++) {
        world zero;
        make_plan(&zero, i, 0);
        for (int r = 0; r < plans[i].config.nranks; r++) {
            world w;
            make_plan(&w, i, r);
            assert_true(tutti_plan_covered(w.plan) == tutti_plan_covered(zero.plan));
            for (int q = 0; q < plans[i].config.nranks; q++)
                assert_true(tutti_plan_covered_loops(w.plan, q) == tutti_plan_covered_loops(zero.plan, q));
            destroy(&w);
        }
        destroy(&zero);
    }
}

static uint64_t both(const tutti_plan *p)
{
    return tutti_plan_covered(p) * 31 + tutti_plan_covered_loops(p, p->config.rank);
}

/* One of the things that the proof reads; false: the plan has none of them. */
static bool change(tutti_plan *p, int what)
{
    static const int32_t others[] = {0, 0, 0, 1}; /* the plan keeps the pointer */
    tutti_action *a = p->loops[TUTTI_EACH_STEP].actions;
    const int last = p->loops[TUTTI_EACH_STEP].nactions - 1;
    tutti_graph *g = (tutti_graph *)p->graph;
    if (!p->nexchanges && what >= 14) return false;
    switch (what) {
    case 0: a[last].when ^= 1; return true;
    case 1: a[last].first++; return true;
    case 2: a[0].dst++; return true;
    case 3: a[last].steps = (tutti_action_steps)(1 - (int)a[last].steps); return true;
    case 4: p->loops[TUTTI_EACH_STEP].nactions--; return true;
    case 5:
        p->memories[p->nmemories - 1].holds = (tutti_memory_content)(1 - (int)p->memories[p->nmemories - 1].holds);
        return true;
    case 6: p->memories[0].is_common = !p->memories[0].is_common; return true;
    case 7: p->buckets[1].count -= 16; return true;
    case 8: p->value_offset[1] += 64; return true;
    case 9: p->config.period++; return true;
    case 10: g->nodes[2].reads[0].index++; return true;
    case 11: p->param_offset[0] += 16; return true;
    case 12: g->params[0].is_frozen = true; return true;
    case 13: p->config.only_finite = !p->config.only_finite; return true;
    case 14: p->exchanges[0].first += 16; return true;
    case 15: p->exchanges[0].in.copy++; return true;
    case 16: p->exchanges[0].out.memory++; return true;
    case 17: p->schedules[0].hash ^= 1; return true;
    case 18: p->exchanges[0].turn++; return true;
    default: p->config.host_of = p->config.host_of ? NULL : others; return true;
    }
}

static void whatever_the_proof_reads_changes_the_hash(void **state)
{
    (void)state;
    int nchanged = 0;
    for (int i = 0; i < NPLANS; i++)
        for (int what = 0; what < NCHANGES; what++) {
            world w;
            make_plan(&w, i, 0);
            const uint64_t before = both(w.plan);
            const bool changed = change(w.plan, what);
            if (changed && both(w.plan) == before) fail_msg("plan %d: change %d is not covered", i, what);
            nchanged += changed;

            destroy(&w);
        }
    assert_true(nchanged > 3 * NCHANGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_find_the_same_hashes),
        cmocka_unit_test(whatever_the_proof_reads_changes_the_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
