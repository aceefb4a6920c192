/* SPDX-License-Identifier: Apache-2.0 */
/* test_group_cores.c: who meets whom on a core, who goes, who stays. One thread plays all ranks and moves between two
 * cores. */
#include "testing.h"

#include <sched.h>

#include "base/clock.h"
#include "collective/group/group_impl.h"
#include "collective/thread_ranks.h"

enum { TRIES = 20, OFTEN = 16 };
static const int64_t LATER_NS = 1000000000;

typedef struct {
    cpu_set_t all;
    int core[2]; /* the first two that we may use */
} cores;

/* False: there are no two. */
static bool find_cores(cores *c)
{
    int n = 0;
    assert_int_equal(sched_getaffinity(0, sizeof c->all, &c->all), 0);
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET((size_t)i, &c->all)) c->core[n++] = i;
    return n == 2;
}

static void may_use(int a, int b)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)a, &set), CPU_SET((size_t)b, &set);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

static void begin(int nranks, tutti_group *groups[], cores *c)
{
    tutti_failure err = {0};
    if (!find_cores(c)) skip();
    assert_int_equal(tutti_group_create_threads(nranks, 20, groups, &err), TUTTI_OK);
    may_use(c->core[0], c->core[0]);
}

static void end(int nranks, tutti_group *groups[], const cores *c)
{
    for (int r = 0; r < nranks; r++) tutti_group_leave(groups[r]);
    assert_int_equal(sched_setaffinity(0, sizeof c->all, &c->all), 0);
}

static void ranks_that_wait_in_turn_on_one_core_see_each_other(void **state)
{
    (void)state;
    tutti_group *g[5];
    cores c;
    begin(5, g, &c);
    tutti_group_mark_core(g[3]);
    assert_int_equal(g[3]->beside, 0);
    tutti_group_mark_core(g[3]);
    assert_int_equal(g[3]->beside, 0);
    tutti_group_mark_core(g[1]);
    assert_int_equal(g[1]->beside, 1 + 3);
    tutti_group_mark_core(g[4]);
    assert_int_equal(g[4]->beside, 1 + 1);
    tutti_group_mark_core(g[3]);
    assert_int_equal(g[3]->beside, 1 + 4);
    end(5, g, &c);
}

static void a_rank_that_waits_elsewhere_takes_its_mark_along(void **state)
{
    (void)state;
    for (int first = 0; first < 3; first++) {
        tutti_group *g[3];
        cores c;
        begin(3, g, &c);
        const int second = (first + 1) % 3;
        tutti_group_mark_core(g[first]);
        may_use(c.core[1], c.core[1]);
        tutti_group_mark_core(g[first]);
        may_use(c.core[0], c.core[0]);
        tutti_group_mark_core(g[second]);
        assert_int_equal(g[second]->beside, 0);
        may_use(c.core[1], c.core[1]);
        tutti_group_mark_core(g[second]);
        assert_int_equal(g[second]->beside, 1 + first);
        end(3, g, &c);
    }
}

/* The higher meets the lower n times on core 0, `apart_ns` apart from `now_ns` on, and may go to core 1 each time.
 * Whether it went the last time, and only then. The scheduler may move the thread, too: *disturbed. */
static bool meet(tutti_group *low, tutti_group *high, const cores *c, int n, int64_t now_ns, int64_t apart_ns,
                 bool *disturbed)
{
    bool went = false;
    *disturbed = false;
    for (int i = 0; i < n && !went; i++) {
        cpu_set_t may, want;
        may_use(c->core[0], c->core[0]);
        tutti_group_mark_core(low);
        tutti_group_mark_core(high);
        may_use(c->core[0], c->core[1]);
        assert_int_equal(high->beside, 1 + low->rank);
        assert_int_equal(sched_getaffinity(0, sizeof want, &want), 0);
        went = tutti_group_make_way(high, now_ns + i * apart_ns, false);
        assert_int_equal(sched_getaffinity(0, sizeof may, &may), 0);
        assert_true(CPU_EQUAL(&may, &want));
        if (went) assert_int_equal(i, n - 1);
    }
    *disturbed = went && high->core != c->core[1];
    return went;
}

static void of_two_the_higher_rank_goes_and_keeps_the_cores_that_it_may_use(void **state)
{
    (void)state;
    static const int pairs[][2] = {{0, 1}, {0, 3}, {2, 3}};
    for (int i = 0; i < 3; i++) {
        tutti_group *g[4];
        cores c;
        bool disturbed = true;
        begin(4, g, &c);
        tutti_group *low = g[pairs[i][0]], *high = g[pairs[i][1]];
        for (int t = 1; t <= TRIES && disturbed; t++)
            assert_true(meet(low, high, &c, OFTEN, t * LATER_NS, 10, &disturbed));
        assert_false(disturbed);
        assert_int_equal(high->beside, 0);
        may_use(c.core[0], c.core[0]);
        low->beside = 1 + (uint32_t)high->rank; /* it saw the other's mark before that went */
        tutti_group_mark_core(low);
        assert_int_equal(low->beside, 0);
        end(4, g, &c);
    }
}

static void of_two_the_lower_rank_stays(void **state)
{
    (void)state;
    for (int high = 1; high < 4; high++) {
        tutti_group *g[4];
        cores c;
        begin(4, g, &c);
        tutti_group_mark_core(g[high]);
        tutti_group_mark_core(g[0]);
        assert_int_equal(g[0]->beside, 1 + high);
        may_use(c.core[0], c.core[1]);
        for (int i = 0; i < 2 * OFTEN; i++) {
            g[0]->beside = 1 + (uint32_t)high;
            assert_false(tutti_group_make_way(g[0], LATER_NS + i, false));
        }
        end(4, g, &c);
    }
}

static void a_rank_without_another_core_stays_and_goes_on_seeing_the_other(void **state)
{
    (void)state;
    tutti_group *g[2];
    cores c;
    begin(2, g, &c);
    tutti_group_mark_core(g[0]);
    for (int i = 0; i < 3 * OFTEN; i++) {
        tutti_group_mark_core(g[1]);
        assert_int_equal(g[1]->beside, 1 + 0);
        assert_false(tutti_group_make_way(g[1], LATER_NS + i, false));
        assert_int_equal(g[1]->core, c.core[0]);
        assert_int_equal(g[1]->beside, 0); /* the other has not waited meanwhile */
        tutti_group_mark_core(g[0]);
        assert_int_equal(g[0]->beside, 1 + 1);
    }
    end(2, g, &c);
}

static void ranks_that_meet_seldom_do_not_part(void **state)
{
    (void)state;
    static const int64_t apart_ns[] = {70000, 400000, 2000000}; /* 16 of them are more than a millisecond */
    for (int i = 0; i < 3; i++) {
        tutti_group *g[2];
        cores c;
        bool disturbed;
        begin(2, g, &c);
        assert_false(meet(g[0], g[1], &c, 3 * OFTEN, LATER_NS, apart_ns[i], &disturbed));
        end(2, g, &c);
    }
}

/* A turn that took longer than any of a short exchange: a stranger had it. */
static void a_rank_that_waited_for_a_slice_goes_when_it_meets_again(void **state)
{
    (void)state;
    static const int64_t turn_ns[] = {600000, 3500000, 100000000};
    for (int i = 0; i < 6; i++) {
        const bool is_short = i % 2 == 0;
        tutti_group *g[2];
        cores c;
        begin(2, g, &c);
        g[1]->beside = 1 + 0;
        assert_false(tutti_group_make_way(g[1], tutti_clock_ns() - turn_ns[i / 2], is_short));
        may_use(c.core[0], c.core[1]);
        g[1]->beside = 1 + 0;
        assert_int_equal(tutti_group_make_way(g[1], tutti_clock_ns(), is_short), is_short);
        end(2, g, &c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_wait_in_turn_on_one_core_see_each_other),
        cmocka_unit_test(a_rank_that_waits_elsewhere_takes_its_mark_along),
        cmocka_unit_test(of_two_the_higher_rank_goes_and_keeps_the_cores_that_it_may_use),
        cmocka_unit_test(of_two_the_lower_rank_stays),
        cmocka_unit_test(a_rank_without_another_core_stays_and_goes_on_seeing_the_other),
        cmocka_unit_test(ranks_that_meet_seldom_do_not_part),
        cmocka_unit_test(a_rank_that_waited_for_a_slice_goes_when_it_meets_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
