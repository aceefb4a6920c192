/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_schedule.c: schedules of a step equal sums done by hand, keep their order on random networks, and merging
 * is as good as the best of all groupings. */
#include "testing.h"

#include "base/rng.h"
#include "predict/play/step_schedule.h"

/* A message of n bytes takes alpha + n ns. */
static tutti_exchange_cost straight(int64_t alpha_ns)
{
    return (tutti_exchange_cost){2, {0, 1000}, {alpha_ns, alpha_ns + 1000}, 1};
}

static tutti_step_times play(const char *name, const tutti_step_work *w, const tutti_exchange_cost *cost)
{
    tutti_step_times out;
    const tutti_step_schedule *s = tutti_step_schedule_find(name);
    assert_non_null(s);
    tutti_step_schedule_play(s, w, cost, &out);
    return out;
}

/* Forward 16, backward 20, update 7; gradients of 40 bytes ready 8 behind the beginning of the backward pass, of 20 at
 * 18, of 10 at 20. */
static const tutti_step_layer four[] = {{1, 2, 10}, {3, 4, 20}, {5, 6, 0}, {7, 8, 40}};

static void each_schedule_is_its_formula(void **state)
{
    (void)state;
    const tutti_step_work w = {four, 4, .read_ns = 3, .copy_ns = 4, .update_ns = 7};
    const tutti_exchange_cost cost = straight(5);
    static const struct {
        const char *name;
        int64_t step_ns, exchange_ns;
        int nmessages;
    } cases[] = {
        {"bsp", 7 + 43 + 45 + 25 + 15, 85, 3},
        {"bsp-one", 7 + 43 + 75, 75, 1},
        {"io", 43 + 85, 85, 3},
        {"wfbp", 43 + (8 + 45 + 25 + 15 - 20), 85, 3},
        {"mg-wfbp", 43 + (8 + 45 + 35 - 20), 80, 2}, /* the last two together */
        /* 40 bytes until 53, then 10 until 68, then 20 until 93: forward 68 + (1 + 1), 93 + (2 + 3), + 5, + (4 + 7) */
        {"priority", 93 + 5 + 5 + 11, 85, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tutti_step_times t = play(cases[i].name, &w, &cost);
        assert_int_equal(t.step_ns, cases[i].step_ns);
        assert_int_equal(t.exchange_ns, cases[i].exchange_ns);
        assert_int_equal(t.nmessages, cases[i].nmessages);
        assert_int_equal(t.compute_ns, 43);
        assert_int_equal(t.io_ns, 7);
        assert_int_equal(t.upper_ns, 7 + 43 + t.exchange_ns);
        assert_int_equal(t.lower_ns, t.exchange_ns);
        const bool beside = tutti_step_schedule_find(cases[i].name)->reads_beside;
        assert_int_equal(t.exposed_ns, t.step_ns - (beside ? 43 : 50));
    }
}

static void reading_that_is_longer_than_all_else_is_the_step(void **state)
{
    (void)state;
    const tutti_step_work w = {four, 4, .read_ns = 200, .copy_ns = 4, .update_ns = 7};
    const tutti_exchange_cost cost = straight(5);
    assert_int_equal(play("bsp", &w, &cost).step_ns, 204 + 43 + 85);
    for (int i = 2; i < tutti_step_schedule_count(); i++) {
        const tutti_step_times t = play(tutti_step_schedule_at(i)->name, &w, &cost);
        assert_int_equal(t.step_ns, 204);
        assert_int_equal(t.exposed_ns, 0);
    }
}

static void alone_or_with_nothing_to_send_a_step_is_its_computing(void **state)
{
    (void)state;
    const tutti_step_layer none[] = {{1, 2, 0}, {3, 4, 0}};
    const tutti_step_work w = {four, 4, .update_ns = 7}, silent = {none, 2, .update_ns = 7};
    const tutti_exchange_cost cost = straight(5);
    for (int i = 0; i < tutti_step_schedule_count(); i++) {
        const char *name = tutti_step_schedule_at(i)->name;
        assert_int_equal(play(name, &w, NULL).step_ns, 43);
        assert_int_equal(play(name, &silent, &cost).step_ns, 17);
        assert_int_equal(play(name, &silent, &cost).nmessages, 0);
    }
}

/* A host: nothing hides, so that only the number of messages matters. */
static void where_own_cores_move_the_bytes_nothing_is_hidden(void **state)
{
    (void)state;
    const tutti_step_work w = {four, 4, .update_ns = 7};
    tutti_exchange_cost cost = straight(5);
    cost.overlap = 0;
    assert_int_equal(play("wfbp", &w, &cost).step_ns, 43 + 85);
    assert_int_equal(play("priority", &w, &cost).step_ns, 43 + 85);
    assert_int_equal(play("mg-wfbp", &w, &cost).step_ns, 43 + 75);
}

/* --- random networks --- */

enum { MOST = 12 };

typedef struct {
    uint64_t seed, n;
} drawer;

static int64_t draw(drawer *d, int64_t below)
{
    return (int64_t)tutti_random_below(tutti_random(d->seed, TUTTI_STREAM_TEST, d->n++, 0), (uint64_t)below);
}

/* The recurrence, written down again, where every layer has bytes. Bit i of `cuts`: a message begins with the i-th
 * gradient that comes. */
static int64_t play_cuts(const tutti_step_work *w, int64_t alpha_ns, unsigned cuts)
{
    int64_t lane = 0, ready = 0, bytes = 0, compute = w->update_ns;
    for (int l = w->nlayers - 1; l >= 0; l--) {
        const bool is_last = l == 0 || cuts >> (w->nlayers - l) & 1;
        compute += w->layers[l].forward_ns + w->layers[l].backward_ns;
        ready += w->layers[l].backward_ns;
        bytes += w->layers[l].bytes;
        if (!is_last) continue;
        lane = (lane > ready ? lane : ready) + alpha_ns + bytes;
        bytes = 0;
    }
    return compute + (lane > ready ? lane - ready : 0);
}

static void merging_is_as_good_as_the_best_of_all_groupings(void **state)
{
    (void)state;
    drawer rng = {7, 0};
    for (int trial = 0; trial < 300; trial++) {
        tutti_step_layer layers[MOST];
        const int n = 1 + (int)draw(&rng, MOST);
        const int64_t alpha_ns = draw(&rng, 60);
        for (int l = 0; l < n; l++) {
            layers[l] = (tutti_step_layer){.bytes = 1 + draw(&rng, 50)};
            layers[l].forward_ns = draw(&rng, 30), layers[l].backward_ns = draw(&rng, 40);
        }
        const tutti_step_work w = {layers, n, .update_ns = draw(&rng, 9)};
        const tutti_exchange_cost cost = straight(alpha_ns);
        int64_t best = INT64_MAX;
        for (unsigned cuts = 0; cuts < 1u << n; cuts += 2) {
            const int64_t t = play_cuts(&w, alpha_ns, cuts);
            if (t < best) best = t;
        }
        assert_int_equal(play("mg-wfbp", &w, &cost).step_ns, best);
        assert_int_equal(play("wfbp", &w, &cost).step_ns, play_cuts(&w, alpha_ns, ~0u));
    }
}

static void schedules_keep_their_order_on_random_networks(void **state)
{
    (void)state;
    drawer rng = {11, 0};
    for (int trial = 0; trial < 2000; trial++) {
        tutti_step_layer layers[40];
        const int n = 1 + (int)draw(&rng, 40);
        for (int l = 0; l < n; l++) {
            layers[l].forward_ns = draw(&rng, 300), layers[l].backward_ns = draw(&rng, 400);
            layers[l].bytes = draw(&rng, 3) ? draw(&rng, 500) : 0;
        }
        const int64_t read_ns = draw(&rng, 2000), copy_ns = draw(&rng, 1000), update_ns = draw(&rng, 100);
        const tutti_step_work w = {layers, n, read_ns, copy_ns, update_ns};
        const tutti_exchange_cost cost = straight(draw(&rng, 200));
        const tutti_step_times bsp = play("bsp", &w, &cost), one = play("bsp-one", &w, &cost),
                               io = play("io", &w, &cost), wfbp = play("wfbp", &w, &cost),
                               merged = play("mg-wfbp", &w, &cost), need = play("priority", &w, &cost);
        assert_true(io.step_ns <= bsp.step_ns && wfbp.step_ns <= io.step_ns && need.step_ns <= wfbp.step_ns);
        assert_true(merged.step_ns <= wfbp.step_ns && merged.step_ns <= one.step_ns);
        assert_true(need.lower_ns <= need.step_ns && merged.lower_ns <= merged.step_ns);
        assert_true(wfbp.exposed_ns >= 0 && wfbp.step_ns <= wfbp.upper_ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_schedule_is_its_formula),
        cmocka_unit_test(reading_that_is_longer_than_all_else_is_the_step),
        cmocka_unit_test(alone_or_with_nothing_to_send_a_step_is_its_computing),
        cmocka_unit_test(where_own_cores_move_the_bytes_nothing_is_hidden),
        cmocka_unit_test(merging_is_as_good_as_the_best_of_all_groupings),
        cmocka_unit_test(schedules_keep_their_order_on_random_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
