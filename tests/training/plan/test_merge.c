/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge.c: the grouping found is judged by all 2^(n-1) groupings, by the two that need no thought (each alone, all
 * in one), and by the walk of the MG-WFBP paper. Judges share only the cost function with what they judge. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "training/plan/merge.h"

enum { MOST = 12, CASES = 400 };

typedef struct {
    tutti_merge_item items[MOST];
    int n;
    tutti_exchange_cost cost;
} instance;

static int64_t draw(uint64_t key, uint64_t at, int64_t below)
{
    return (int64_t)(tutti_random(7, TUTTI_STREAM_TEST, key, at).word[0] % (uint64_t)below);
}

/* Sizes over five decades as in real networks, some gradients ready at once, costs with and without a knee. */
static instance make(uint64_t key, double overlap)
{
    instance x = {.n = 1 + (int)draw(key, 0, MOST), .cost = {.npoints = 1 + (int)draw(key, 1, 3), .overlap = overlap}};
    int64_t ready = 0;
    for (int i = 0; i < x.n; i++) {
        const uint64_t at = 10 + 3 * (uint64_t)i;
        ready += draw(key, at, 3) ? draw(key, at + 1, 100000) : 0;
        int64_t bytes = 64;
        for (int64_t decades = draw(key, at + 2, 6); decades > 0; decades--) bytes *= 10;
        x.items[i] = (tutti_merge_item){ready, bytes};
    }
    x.cost.bytes[0] = 64;
    x.cost.ns[0] = draw(key, 2, 50000);
    for (int k = 1; k < x.cost.npoints; k++) {
        x.cost.bytes[k] = x.cost.bytes[k - 1] + 1000 + draw(key, 3 + (uint64_t)k, 100000);
        x.cost.ns[k] = x.cost.ns[k - 1] + draw(key, 6 + (uint64_t)k, 50000);
    }
    return x;
}

/* Written apart from merge.c: forward over items, bit i of mask = item i begins a group. */
static int64_t end_of(const instance *x, unsigned mask)
{
    int64_t lane = 0, own = 0, bytes = 0;
    for (int i = 0; i < x->n; i++) {
        bytes += x->items[i].bytes;
        if (i + 1 < x->n && !(mask >> (i + 1) & 1)) continue;
        const int64_t t = tutti_exchange_cost_ns(&x->cost, bytes), beside = llround(x->cost.overlap * (double)t);
        lane = (lane > x->items[i].ready_ns ? lane : x->items[i].ready_ns) + beside;
        own += t - beside;
        bytes = 0;
    }
    return lane + own;
}

static const double overlaps[] = {0, 0.3, 0.5, 0.9, 1};
enum { NOVERLAPS = sizeof overlaps / sizeof *overlaps };

static void no_grouping_ends_sooner_than_the_one_found(void **state)
{
    (void)state;
    for (int o = 0; o < NOVERLAPS; o++)
        for (uint64_t key = 0; key < CASES; key++) {
            const instance x = make(key, overlaps[o]);
            bool starts[MOST];
            const int64_t end = tutti_merge_best(x.items, x.n, &x.cost, starts);
            int64_t least = INT64_MAX;
            for (unsigned mask = 1; mask < 1u << x.n; mask += 2)
                if (end_of(&x, mask) < least) least = end_of(&x, mask);
            if (end != least)
                fail_msg("case %d, overlap %g: %lld, the best of all is %lld", (int)key, overlaps[o], (long long)end,
                         (long long)least);
            assert_true(starts[0]);
            assert_int_equal(tutti_merge_play(x.items, x.n, &x.cost, starts, NULL, NULL), end);
        }
}

static void it_is_never_slower_than_layer_by_layer_or_one_message(void **state)
{
    (void)state;
    enum { LAYERS = 160 };
    for (uint64_t key = 0; key < 20; key++) {
        const instance x = make(key, overlaps[key % NOVERLAPS]);
        tutti_merge_item items[LAYERS];
        bool each[LAYERS], one[LAYERS] = {true}, best[LAYERS];
        int64_t ready = 0;
        for (int i = 0; i < LAYERS; i++) {
            ready += draw(key, 100 + (uint64_t)i, 60000);
            items[i] = (tutti_merge_item){ready, 64 << draw(key, 300 + (uint64_t)i, 15)};
            each[i] = true;
        }
        const int64_t end = tutti_merge_best(items, LAYERS, &x.cost, best);
        assert_true(end <= tutti_merge_play(items, LAYERS, &x.cost, each, NULL, NULL));
        assert_true(end <= tutti_merge_play(items, LAYERS, &x.cost, one, NULL, NULL));
    }
}

/* The walk of MG-WFBP (Shi et al. 2019), from the last layer towards the input: close the group where the next gradient
 * comes after its end, else merge where the group could not have begun, or would have begun less than alpha before. */
static int64_t walk(const tutti_merge_item *items, int n, const tutti_exchange_cost *cost, int64_t alpha_ns)
{
    bool starts[64] = {true};
    int64_t lane = 0, bytes = items[0].bytes;
    for (int i = 1; i < n; i++) {
        const int64_t begin = lane > items[i - 1].ready_ns ? lane : items[i - 1].ready_ns;
        const int64_t end = begin + tutti_exchange_cost_ns(cost, bytes), ready = items[i].ready_ns;
        const bool merges = ready < end && (begin > ready || ready - begin < alpha_ns);
        starts[i] = !merges;
        if (!merges) lane = end, bytes = 0;
        bytes += items[i].bytes;
    }
    return tutti_merge_play(items, n, cost, starts, NULL, NULL);
}

static void it_is_never_slower_than_the_walk_of_the_paper_and_sometimes_faster(void **state)
{
    (void)state;
    int faster = 0;
    for (uint64_t key = 0; key < 200; key++) {
        tutti_merge_item items[40];
        bool starts[40];
        int64_t ready = 0;
        for (int i = 0; i < 40; i++) {
            ready += draw(key, 100 + (uint64_t)i, 400000);
            items[i] = (tutti_merge_item){ready, 256 << draw(key, 200 + (uint64_t)i, 13)};
        }
        /* alpha 0.52 ms, beta 0.86 ns a byte: 8 hosts on 10 Gbit/s Ethernet in the paper's own fit */
        const tutti_exchange_cost cost = {2, {0, 1000000}, {520000, 520000 + 860000}, 1};
        const int64_t best = tutti_merge_best(items, 40, &cost, starts), walked = walk(items, 40, &cost, 520000);
        assert_true(best <= walked);
        faster += best < walked;
    }
    assert_true(faster > 0);
}

static void what_takes_long_to_start_is_merged_and_what_can_hide_is_not(void **state)
{
    (void)state;
    const tutti_merge_item items[4] = {{1000, 100}, {2000, 100}, {3000, 100}, {4000, 100}};
    bool starts[4];
    const tutti_exchange_cost free_start = {2, {0, 100}, {0, 900}, 1}, dear_start = {2, {0, 100}, {50000, 50900}, 1};
    assert_int_equal(tutti_merge_best(items, 4, &free_start, starts), 4900);
    assert_true(starts[0] && starts[3]); /* the last gradient must travel alone: 900 ns behind it */
    assert_int_equal(tutti_merge_best(items, 4, &dear_start, starts), 4000 + 50000 + 3600);
    assert_true(starts[0] && !starts[1] && !starts[2] && !starts[3]);
}

/* Mapped memory: nothing is hidden, so groups are as large as caches like and no larger, whatever the ready times. */
static void without_overlap_only_the_sum_of_costs_counts(void **state)
{
    (void)state;
    tutti_merge_item items[8];
    bool starts[8];
    tutti_merge_group groups[8];
    int ngroups;
    const tutti_exchange_cost knee = {3, {0, 400, 800}, {100, 140, 1000}, 0}; /* cheap up to 400 bytes */
    for (int i = 0; i < 8; i++) items[i] = (tutti_merge_item){1000000 * i, 100};
    assert_int_equal(tutti_merge_best(items, 8, &knee, starts), 7000000 + 2 * 140);
    tutti_merge_play(items, 8, &knee, starts, groups, &ngroups);
    assert_int_equal(ngroups, 2);
    assert_int_equal(groups[0].nitems, 4);
    assert_int_equal(groups[1].begin_ns, 7000000);
    assert_int_equal(groups[1].own_ns, 140);
}

static void the_cost_function_is_linear_between_its_points_and_goes_on_behind_them(void **state)
{
    (void)state;
    const tutti_exchange_cost c = {3, {100, 200, 400}, {1000, 1100, 1700}, 1}, one = {1, {100}, {1000}, 1};
    const int64_t bytes[] = {0, 100, 150, 200, 300, 400, 1400}, ns[] = {1000, 1000, 1050, 1100, 1400, 1700, 4700};
    for (int i = 0; i < 7; i++) assert_int_equal(tutti_exchange_cost_ns(&c, bytes[i]), ns[i]);
    assert_int_equal(tutti_exchange_cost_ns(&one, 300), 3000);
}

/* 400 parameters (ResNet-50 has 267), a cost with a knee, half of it hidden: the worst kind of instance, kept short. */
static void many_parameters_take_no_time_worth_naming(void **state)
{
    (void)state;
    enum { LAYERS = 400 };
    static tutti_merge_item items[LAYERS];
    static bool starts[LAYERS];
    const tutti_exchange_cost cost = {3, {0, 1 << 20, 1 << 24}, {3000, 41000, 1400000}, 0.5};
    int64_t ready = 0;
    for (int i = 0; i < LAYERS; i++) {
        ready += draw(1, (uint64_t)i, 2000000);
        items[i] = (tutti_merge_item){ready, 64 << draw(2, (uint64_t)i, 17)};
    }
    const double begin = tutti_clock_s();
    tutti_merge_best(items, LAYERS, &cost, starts);
    assert_true(tutti_clock_s() - begin < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_grouping_ends_sooner_than_the_one_found),
        cmocka_unit_test(it_is_never_slower_than_layer_by_layer_or_one_message),
        cmocka_unit_test(it_is_never_slower_than_the_walk_of_the_paper_and_sometimes_faster),
        cmocka_unit_test(what_takes_long_to_start_is_merged_and_what_can_hide_is_not),
        cmocka_unit_test(without_overlap_only_the_sum_of_costs_counts),
        cmocka_unit_test(the_cost_function_is_linear_between_its_points_and_goes_on_behind_them),
        cmocka_unit_test(many_parameters_take_no_time_worth_naming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
