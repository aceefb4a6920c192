/* SPDX-License-Identifier: Apache-2.0 */
/* Closed forms and bounds: the figures of the papers, and no algorithm beats a bound. */
#include "testing.h"

#include <math.h>

#include "collective/compile/algorithms.h"
#include "collective/simulate/simulate.h"
#include "tutti/compile.h"

static tutti_topology star(const char *text)
{
    tutti_topology t = {0};
    assert_int_equal(tutti_topology_parse(text, &t, NULL), TUTTI_OK);
    return t;
}

static int64_t steps_of(const char *algorithm, int32_t p)
{
    tutti_topology t = star("star");
    tutti_closed_form form;
    assert_true(tutti_simulate_closed_form(algorithm, TUTTI_ALLREDUCE, p, 1024, &t, &form));
    return form.nsteps;
}

static void a_ring_of_1024_takes_2046_steps_and_a_hierarchy_186(void **state)
{
    (void)state;
    assert_int_equal(steps_of("ring", 1024), 2046);
    assert_int_equal(steps_of("hierarchical,group=16", 1024), 186);
    assert_int_equal(steps_of("hierarchical,group=32", 1024), 186);
    assert_int_equal(steps_of("hierarchical", 1024), 176);          /* groups of 21, the last of 16 */
    assert_int_equal(steps_of("hierarchical,group=1", 1024), 2046); /* groups of one: the ring */
    assert_int_equal(steps_of("split-rail,group=32", 1024), 124);
    assert_int_equal(steps_of("halving-doubling", 1024), 20);
    assert_int_equal(steps_of("binary-blocks", 1023), 20);
    assert_int_equal(steps_of("bruck", 1023), 20);
    assert_int_equal(steps_of("direct", 1024), 2);
    assert_int_equal(steps_of("one-shot", 1024), 1);
    assert_int_equal(steps_of("two-shot", 1024), 2);
}

static void seconds_are_alpha_beta_and_gamma(void **state)
{
    (void)state;
    tutti_topology t = star("star,bw=1GB,lat=10us,soft=2us,add=4GB");
    tutti_closed_form form;
    assert_true(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, 4, 1000000, &t, &form));
    assert_true(fabs(form.seconds - (6 * 12e-6 + 1.5 * 4e6 / 1e9 + 0.75 * 4e6 / 4e9)) < 1e-15);
    assert_true(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, 1, 1000000, &t, &form));
    assert_true(form.seconds == 0);
}

static void what_an_algorithm_cannot_do_has_no_closed_form(void **state)
{
    (void)state;
    tutti_topology t = star("star"), host = star("host");
    tutti_closed_form form;
    assert_false(tutti_simulate_closed_form("halving-doubling", TUTTI_ALLREDUCE, 6, 8, &t, &form));
    assert_false(tutti_simulate_closed_form("one-shot", TUTTI_ALL_GATHER, 4, 8, &t, &form));
    assert_false(tutti_simulate_closed_form("split-rail,group=4", TUTTI_ALLREDUCE, 10, 8, &t, &form));
    assert_false(tutti_simulate_closed_form("tree", TUTTI_ALLREDUCE, 4, 8, &t, &form));
    assert_false(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, 4, 8, &host, &form));
}

static void no_closed_form_is_below_a_bound(void **state)
{
    (void)state;
    static const char *const texts[] = {"star", "star,bw=100Gb,lat=1us,add=1GB", "star,bw=100Mb,lat=50us,soft=20us"};
    int compared = 0;
    for (int x = 0; x < 3; x++)
        for (int a = 0; a < tutti_algorithm_count(); a++)
            for (int32_t p = 2; p <= 1024; p = p < 20 ? p + 1 : p * 2)
                for (int64_t n = 1; n < 100000000; n *= 31)
                    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
                        tutti_topology t = star(texts[x]);
                        tutti_closed_form form;
                        tutti_bounds bounds;
                        if (!tutti_simulate_closed_form(tutti_algorithm_at(a)->name, (tutti_collective)c, p, n, &t,
                                                        &form))
                            continue;
                        tutti_simulate_bounds((tutti_collective)c, p, n, &t, &bounds);
                        assert_true(bounds.best_s <= form.seconds * (1 + 1e-12));
                        compared++;
                    }
    assert_true(compared > 2000);
}

/* Stages with messages, and over all stages the most that one rank moves and adds, in bytes. */
typedef struct {
    int64_t nsteps, bytes, added;
} counts;

typedef struct {
    int64_t sent, received, added, messages;
} work;

static int64_t elements_of(const tutti_slice *s, int64_t n)
{
    assert_int_equal(n % s->of, 0);
    return n / s->of * s->count;
}

static void count_part(const tutti_part *part, int64_t n, work *stages, int32_t nstages)
{
    for (int32_t i = 0; i < part->nsteps; i++) {
        const tutti_step *s = &part->steps[i];
        assert_in_range(s->stage, 0, nstages - 1);
        work *w = &stages[s->stage];
        w->messages += s->kind == TUTTI_STEP_SEND;
        if (s->kind == TUTTI_STEP_SEND) w->sent += elements_of(&part->slices[s->first_in], n);
        if (s->kind == TUTTI_STEP_RECV) w->received += elements_of(&part->slices[s->first_out], n);
        if (s->kind == TUTTI_STEP_REDUCE) w->added += (s->nins - 1) * elements_of(&part->slices[s->first_in], n);
        if (s->kind == TUTTI_STEP_COPY) w->added += elements_of(&part->slices[s->first_in], n);
    }
}

static counts count_schedule(const tutti_schedule *s, int64_t n)
{
    enum { MOST_STAGES = 300 };
    work most[MOST_STAGES] = {{0}};
    counts out = {0};
    for (int32_t r = 0; r < tutti_schedule_head(s)->nranks; r++) {
        tutti_part part;
        work stages[MOST_STAGES] = {{0}};
        tutti_schedule_part(s, r, &part);
        count_part(&part, n, stages, MOST_STAGES);
        tutti_part_release(&part);
        for (int i = 0; i < MOST_STAGES; i++) {
            int64_t moved = stages[i].sent > stages[i].received ? stages[i].sent : stages[i].received;
            most[i].messages += stages[i].messages;
            if (moved > most[i].sent) most[i].sent = moved;
            if (stages[i].added > most[i].added) most[i].added = stages[i].added;
        }
    }
    for (int i = 0; i < MOST_STAGES; i++) {
        out.nsteps += most[i].messages > 0;
        out.bytes += most[i].sent * TUTTI_ELEMENT_BYTES;
        out.added += most[i].added * TUTTI_ELEMENT_BYTES;
    }
    return out;
}

/* The fewest elements of which every slice of the schedule is a whole number. */
static int64_t fewest_elements(const tutti_schedule *s)
{
    int64_t n = 1;
    for (int32_t r = 0; r < tutti_schedule_head(s)->nranks; r++) {
        tutti_part part;
        tutti_schedule_part(s, r, &part);
        for (int32_t i = 0; i < part.nslices; i++) {
            int64_t x = n, y = part.slices[i].of;
            while (y) {
                int64_t rest = x % y;
                x = y, y = rest;
            }
            n = n / x * part.slices[i].of;
        }
        tutti_part_release(&part);
    }
    return n;
}

static bool must_equal_its_form(const char *text, tutti_collective c, int32_t p)
{
    const tutti_compile_request q = {.collective = c, .nranks = p, .in_place = true};
    tutti_topology t = star("star");
    tutti_closed_form form;
    tutti_schedule *s = NULL;
    if (tutti_schedule_compile(text, &q, &s, NULL)) return false;
    int64_t n = fewest_elements(s);
    bool has_form = tutti_simulate_closed_form(text, c, p, n, &t, &form);
    counts got = has_form ? count_schedule(s, n) : (counts){0};
    if (has_form && (form.nsteps != got.nsteps || llround(form.bytes_per_link) != got.bytes ||
                     llround(form.bytes_added) != got.added))
        fail_msg("%s %s of %d ranks: closed form %lld steps, %.17g and %.17g bytes; schedule %lld, %lld, %lld", text,
                 tutti_collective_name(c), p, (long long)form.nsteps, form.bytes_per_link, form.bytes_added,
                 (long long)got.nsteps, (long long)got.bytes, (long long)got.added);
    tutti_schedule_destroy(s);
    return has_form;
}

static void closed_forms_are_the_counts_of_compiled_schedules(void **state)
{
    (void)state;
    static const char *const more[] = {"hierarchical,group=1", "hierarchical,group=3",  "hierarchical,group=8",
                                       "split-rail,group=1",   "split-rail,group=4",    "torus,rows=2",
                                       "torus,columns=3",      "torus,rows=1",          "k-nomial,radix=2",
                                       "k-nomial,radix=3",     "k-nomial,radix=64",     "double-tree,chunks=1",
                                       "double-tree,chunks=2", "double-tree,chunks=16", "dissemination,radix=5",
                                       "ps,servers=2",         "ps,servers=3",          "ps,servers=12"};
    int compared = 0;
    for (int32_t p = 2; p <= 33; p++)
        for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
            for (int a = 0; a < tutti_algorithm_count(); a++)
                compared += must_equal_its_form(tutti_algorithm_at(a)->name, (tutti_collective)c, p);
            for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
                compared += must_equal_its_form(more[i], (tutti_collective)c, p);
        }
    assert_true(compared > 500);
}

static void large_rings_come_close_to_the_bandwidth_bound(void **state)
{
    (void)state;
    tutti_topology t = star("star,add=1000GB");
    tutti_closed_form form;
    tutti_bounds bounds;
    assert_true(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, 8, 25000000, &t, &form));
    tutti_simulate_bounds(TUTTI_ALLREDUCE, 8, 25000000, &t, &bounds);
    assert_string_equal(bounds.best, "bandwidth");
    assert_true(form.seconds < 1.01 * bounds.best_s);
}

static void more_ranks_than_cores_wait_for_their_turn(void **state)
{
    (void)state;
    tutti_topology t = star("host,cores=2,lat=1us,switch=5us");
    assert_true(fabs(tutti_simulate_host_latency(&t, 2) - 1e-6) < 1e-15);
    assert_true(fabs(tutti_simulate_host_latency(&t, 8) - 21e-6) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_of_1024_takes_2046_steps_and_a_hierarchy_186),
        cmocka_unit_test(seconds_are_alpha_beta_and_gamma),
        cmocka_unit_test(what_an_algorithm_cannot_do_has_no_closed_form),
        cmocka_unit_test(no_closed_form_is_below_a_bound),
        cmocka_unit_test(closed_forms_are_the_counts_of_compiled_schedules),
        cmocka_unit_test(large_rings_come_close_to_the_bandwidth_bound),
        cmocka_unit_test(more_ranks_than_cores_wait_for_their_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
