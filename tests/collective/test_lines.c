/* SPDX-License-Identifier: Apache-2.0 */
/* test_lines.c: times of all sizes from one simulation are those of a simulation of each; what one part says of a row
 * that rotates is what all its parts say; large rank counts are known at once, or refused. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/compile/algorithms.h"
#include "collective/simulate/events/flows.h"
#include "collective/simulate/simulate_impl.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

static tutti_topology topology_of(const char *text)
{
    tutti_topology t;
    tutti_failure err = {0};
    if (tutti_topology_parse(text, &t, &err)) fail_msg("%s", err.text);
    return t;
}

/* As it would run there; NULL: the row does not serve this. */
static tutti_schedule *schedule_on(const tutti_topology *t, const char *algorithm, tutti_collective c, int32_t nranks,
                                   tutti_schedule **compiled)
{
    const tutti_compile_request q = {
        .collective = c, .nranks = nranks, .in_place = c != TUTTI_ALL_TO_ALL, .topology = t};
    int32_t *host_of = calloc((size_t)nranks, sizeof *host_of);
    tutti_schedule *low = NULL;
    bool maps = t->kind == TUTTI_TOPOLOGY_HOST;
    *compiled = NULL;
    if (tutti_schedule_compile(algorithm, &q, compiled, NULL)) {
        free(host_of);
        return NULL;
    }
    tutti_topology_hosts(t, nranks, host_of);
    for (int32_t r = 0; r < nranks; r++) maps |= host_of[r] != r;
    tutti_failure err = {0};
    if (maps && tutti_schedule_lower_hosts(*compiled, host_of, &low, &err)) fail_msg("%s: %s", algorithm, err.text);
    free(host_of);
    return maps ? low : *compiled;
}

static void drop(tutti_schedule *s, tutti_schedule *compiled)
{
    if (s != compiled) tutti_schedule_destroy(s);
    tutti_schedule_destroy(compiled);
}

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static void expect_equal(const char *what, const tutti_simulation *line, const tutti_simulation *slow, double tolerance)
{
    const double a[] = {line->seconds, line->latency_s, line->transfer_s, line->local_s, line->lower_s, line->busy_s},
                 b[] = {slow->seconds, slow->latency_s, slow->transfer_s, slow->local_s, slow->lower_s, slow->busy_s};
    for (int i = 0; i < 6; i++)
        if (!is_near(a[i], b[i], tolerance)) fail_msg("%s: figure %d: %.15g, not %.15g", what, i, a[i], b[i]);
    assert_int_equal(line->nrounds, slow->nrounds);
    assert_true(line->nmessages == slow->nmessages);
    assert_true(is_near((double)line->bytes_most, (double)slow->bytes_most, tolerance));
    assert_true(is_near((double)line->bytes_sent, (double)slow->bytes_sent, tolerance));
}

static void compare(const char *what, const tutti_schedule *s, const tutti_topology *t)
{
    tutti_time_line line;
    tutti_simulation fast, slow;
    tutti_failure err = {0};
    if (tutti_simulate_line(s, t, &line, &err)) fail_msg("%s: %s", what, err.text);
    static const int times[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        const int64_t n = (int64_t)line.below.elements * times[i];
        tutti_time_line_at(&line, n, &fast);
        assert_int_equal(tutti_simulate_schedule(s, t, n, &slow, &err), TUTTI_OK);
        expect_equal(what, &fast, &slow, 1e-9);
        if (strcmp(fast.bottleneck_name, slow.bottleneck_name))
            fail_msg("%s: %s, not %s", what, fast.bottleneck_name, slow.bottleneck_name);
    }
    const int64_t n =
        20000 * (int64_t)tutti_schedule_head(s)->nranks + 7; /* each slice is an element too much or too little */
    tutti_time_line_at(&line, n, &fast);
    assert_int_equal(tutti_simulate_schedule(s, t, n, &slow, &err), TUTTI_OK);
    if (t->kind != TUTTI_TOPOLOGY_HOST) assert_true(is_near(fast.seconds, slow.seconds, 2e-3));
}

static void lines_are_what_simulations_say(void **state)
{
    (void)state;
    static const char *const topologies[] = {"star",
                                             "cluster,hosts=4,ranks=2",
                                             "cluster,hosts=2,ranks=4,nics=2,place=round-robin",
                                             "fat-tree,pods=1,leaves=2,hosts=4",
                                             "fat-tree,pods=1,leaves=2,hosts=4,routing=ecmp,paths=3",
                                             "dgx1v",
                                             "host,cores=3,cache=1MiB"};
    static const int32_t ranks[] = {2, 3, 6, 8};
    int nserved = 0;
    for (size_t i = 0; i < sizeof topologies / sizeof *topologies; i++)
        for (int a = 0; a < tutti_algorithm_count(); a++)
            for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
                for (int p = 0; p < 4; p++) {
                    const tutti_topology t = topology_of(topologies[i]);
                    const char *name = tutti_algorithm_at(a)->name;
                    char what[200];
                    tutti_schedule *compiled, *s = schedule_on(&t, name, (tutti_collective)c, ranks[p], &compiled);
                    if (!s) continue;
                    snprintf(what, sizeof what, "%s, %s of %d ranks on %s", name,
                             tutti_collective_name((tutti_collective)c), ranks[p], topologies[i]);
                    compare(what, s, &t);
                    drop(s, compiled);
                    nserved++;
                }
    assert_true(nserved > 400);
}

/* What buckets save is no line: it is known at some sizes, and near it between them. */
static void lines_know_what_shaped_links_save(void **state)
{
    (void)state;
    static const char *const topologies[] = {"star,burst=128KiB", "cluster,hosts=4,ranks=2,burst=64KiB"};
    static const char *const rows[] = {"ring", "binomial", "double-tree", "direct", "split-rail"};
    for (int i = 0; i < 2; i++)
        for (int a = 0; a < 5; a++) {
            const tutti_topology t = topology_of(topologies[i]);
            tutti_schedule *compiled, *s = schedule_on(&t, rows[a], TUTTI_ALLREDUCE, 8, &compiled);
            tutti_time_line line;
            tutti_simulation fast, slow;
            assert_int_equal(tutti_simulate_line(s, &t, &line, NULL), TUTTI_OK);
            for (int64_t n = TUTTI_LINE_SMALLEST; n <= 1 << 24; n *= 2)
                for (int between = 0; between < 2; between++) {
                    const int64_t m = n + (between ? n / 2 : 0);
                    tutti_time_line_at(&line, m, &fast);
                    assert_int_equal(tutti_simulate_schedule(s, &t, m, &slow, NULL), TUTTI_OK);
                    if (!is_near(fast.seconds, slow.seconds, between ? 0.07 : 1e-6))
                        fail_msg("%s of %lld on %s: %.9g, not %.9g", rows[a], (long long)m, topologies[i], fast.seconds,
                                 slow.seconds);
                }
            drop(s, compiled);
        }
}

/* ---- rows that rotate ---- */

static int order_flows(const void *a, const void *b)
{
    const tutti_flow *x = a, *y = b;
    if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
    if (x->dst != y->dst) return x->dst < y->dst ? -1 : 1;
    if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* What ranks q * k .. q * (k + 1) - 1 move, as if they were the first q. */
static int64_t flows_of(const tutti_traffic *all, int32_t q, int32_t k, tutti_flow *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < all->nflows; i++) {
        tutti_flow f = all->flows[i];
        if (f.src / q != k) continue;
        f.dst = all->by_bits ? f.dst ^ q * k : (f.dst - q * k + all->nranks) % all->nranks;
        f.src -= q * k;
        f.dst = f.dst * q + f.src; /* both in one number */
        out[n++] = f;
    }
    qsort(out, (size_t)n, sizeof *out, order_flows);
    return n;
}

static bool expect_rotation(const char *what, const tutti_schedule *s, const tutti_topology *t)
{
    const int32_t q = tutti_traffic_alike(s), p = tutti_schedule_head(s)->nranks;
    tutti_traffic all, some;
    if (q == p) return false; /* groups of all */
    tutti_traffic_collect(s, t, 5040 * p, p, &all);
    tutti_traffic_collect(s, t, 5040 * p, q, &some);
    tutti_flow *first = calloc((size_t)all.nflows + 1, sizeof *first),
               *other = calloc((size_t)all.nflows + 1, sizeof *other);
    const int64_t n = flows_of(&all, q, 0, first);
    assert_true(some.nflows * (p / q) == all.nflows && some.nmessages == all.nmessages);
    for (int32_t k = 1; k < p / q; k++) {
        if (flows_of(&all, q, k, other) != n || memcmp(first, other, sizeof *first * (size_t)n))
            fail_msg("%s: ranks from %d on do not what the first do", what, q * k);
        for (int32_t i = 0; i < all.nstages * q; i++) {
            const tutti_work *a = &all.work[(i / q) * p + i % q], *b = &all.work[(i / q) * p + q * k + i % q];
            assert_true(is_near(a->core_s, b->core_s, 1e-12) && a->sent == b->sent && a->received == b->received);
        }
    }
    free(first), free(other);
    tutti_traffic_release(&all), tutti_traffic_release(&some);
    return true;
}

static void every_part_of_a_row_that_rotates_says_what_the_first_does(void **state)
{
    (void)state;
    static const char *const topologies[] = {"star", "cluster,hosts=3,ranks=2", "cluster,hosts=2,ranks=4"};
    static const int32_t ranks[][8] = {{2, 3, 4, 5, 6, 8, 12}, {4, 6}, {8}};
    int nlooked = 0;
    for (int i = 0; i < 3; i++)
        for (int a = 0; a < tutti_algorithm_count(); a++)
            for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
                for (const int32_t *p = ranks[i]; *p; p++) {
                    const tutti_topology t = topology_of(topologies[i]);
                    const tutti_algorithm *row = tutti_algorithm_at(a);
                    tutti_schedule *compiled, *s = NULL;
                    char what[200];
                    if (row->rotates) s = schedule_on(&t, row->name, (tutti_collective)c, *p, &compiled);
                    if (!s) continue;
                    snprintf(what, sizeof what, "%s, %s of %d ranks on %s", row->name,
                             tutti_collective_name((tutti_collective)c), *p, topologies[i]);
                    if (!tutti_collective_has_root((tutti_collective)c)) nlooked += expect_rotation(what, s, &t);
                    drop(s, compiled);
                }
    assert_true(nlooked > 80);
}

static void what_does_not_rotate_is_looked_at_whole(void **state)
{
    (void)state;
    const tutti_topology star = topology_of("star");
    static const char *const rows[] = {"binary-blocks", "bruck", "hierarchical", "swing"};
    for (int i = 0; i < 4; i++) {
        tutti_schedule *compiled, *s = schedule_on(&star, rows[i], TUTTI_ALLREDUCE, 8, &compiled);
        assert_int_equal(tutti_traffic_alike(s), 8);
        drop(s, compiled);
    }
    static const struct {
        const char *row;
        tutti_collective collective;
        int32_t p;
    } others[] = {{"direct", TUTTI_GATHER, 8},
                  {"halving-doubling", TUTTI_REDUCE_SCATTER, 8},
                  {"halving-doubling", TUTTI_ALLREDUCE, 12}};
    for (int i = 0; i < 3; i++) {
        tutti_schedule *compiled, *s = schedule_on(&star, others[i].row, others[i].collective, others[i].p, &compiled);
        assert_int_equal(tutti_traffic_alike(s), others[i].p);
        drop(s, compiled);
    }
}

/* ---- many ranks ---- */

static void a_ring_is_its_closed_form(void **state)
{
    (void)state;
    static const int32_t ranks[] = {64, 1024, 4096};
    const tutti_topology star = topology_of("star,bw=10Gb,lat=5us");
    for (int i = 0; i < 3; i++) {
        tutti_schedule *compiled, *s = schedule_on(&star, "ring", TUTTI_ALLREDUCE, ranks[i], &compiled);
        tutti_time_line line;
        tutti_closed_form form;
        tutti_simulation sim;
        assert_int_equal(tutti_simulate_line(s, &star, &line, NULL), TUTTI_OK);
        for (int64_t n = 1 << 16; n <= 1 << 28; n <<= 4) {
            tutti_time_line_at(&line, n, &sim);
            assert_true(tutti_simulate_closed_form("ring", TUTTI_ALLREDUCE, ranks[i], n, &star, &form));
            assert_true(is_near(sim.seconds, form.seconds, 1e-9));
        }
        drop(s, compiled);
    }
}

/* As many flows as could never be solved one by one: each of 4,096 ranks to all others. */
static void all_to_all_others_is_known_of_one(void **state)
{
    (void)state;
    const tutti_topology star = topology_of("star,bw=10Gb,lat=5us,soft=0ns"),
                         tree = topology_of("fat-tree,pods=1,leaves=64,hosts=64");
    tutti_schedule *compiled, *s = schedule_on(&star, "direct", TUTTI_ALL_GATHER, 4096, &compiled);
    tutti_time_line line;
    tutti_simulation sim;
    tutti_failure err = {0};
    assert_int_equal(tutti_simulate_line(s, &star, &line, NULL), TUTTI_OK);
    tutti_time_line_at(&line, 1 << 24, &sim);
    assert_true(is_near(sim.transfer_s, 4. * (1 << 24) / 1.25e9 * 4095 / 4096, 1e-9));
    assert_int_equal(tutti_simulate_line(s, &tree, &line, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "fewer messages"));
    drop(s, compiled);
}

static void stages_that_move_the_same_are_one(void **state)
{
    (void)state;
    const tutti_topology star = topology_of("star");
    tutti_schedule *compiled, *s = schedule_on(&star, "ring", TUTTI_ALLREDUCE, 12, &compiled);
    for (int whole = 0; whole < 2; whole++) {
        tutti_traffic traffic;
        tutti_fabric net;
        tutti_stages stages;
        double load[24] = {0};
        tutti_traffic_collect(s, &star, whole ? 1200 : 1207, 12, &traffic);
        assert_true(tutti_topology_graph(&star, 12, &net));
        assert_int_equal(tutti_stages_solve(&traffic, &star, &net, load, &stages, NULL), TUTTI_OK);
        assert_int_equal(traffic.nstages, 22);
        if (whole) assert_true(stages.nkinds == 1 && stages.kinds[0].times == 22 && load[0] == 22 * 400);
        if (!whole) assert_true(stages.nkinds > 1);
        tutti_stages_release(&stages);
        tutti_fabric_release(&net);
        tutti_traffic_release(&traffic);
    }
    drop(s, compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_simulations_say),
        cmocka_unit_test(lines_know_what_shaped_links_save),
        cmocka_unit_test(every_part_of_a_row_that_rotates_says_what_the_first_does),
        cmocka_unit_test(what_does_not_rotate_is_looked_at_whole),
        cmocka_unit_test(a_ring_is_its_closed_form),
        cmocka_unit_test(all_to_all_others_is_known_of_one),
        cmocka_unit_test(stages_that_move_the_same_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
