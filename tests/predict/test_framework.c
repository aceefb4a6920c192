/* SPDX-License-Identifier: Apache-2.0 */
/* test_framework.c: training systems as data: their steps by hand, exactly; the parts of a gap; what files must say. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/framework.h"
#include "predict/parsed.h"

/* Rates of powers of two, so that sums are exact: 64 bytes are read in 4 s and copied in 2. */
#define MADE_UP(read, copy, exchange)                                                                                  \
    "about: made up\noverlap.read " read " given: x\noverlap.copy " copy " given: x\noverlap.exchange " exchange       \
    " given: x\nexchange ring given: x\nbuckets size given: x\nupdate sharded given: x\nbucket 2MiB given: "           \
    "x\ntransport 0.5 given: x\n"                                                                                      \
    "transport.most 1GB/s given: x\nmessage 0.5s given: x\nread 16 given: x\ncopy 32 given: x\n"

static tutti_framework framework(const char *text)
{
    tutti_framework f;
    tutti_failure err = {0};
    if (tutti_framework_parse("made up", text, &f, &err)) fail_msg("%s", err.text);
    return f;
}

/* Of a job: 10 s of computing, 4 of exchange of which 1 is exposed, 8 samples. */
static tutti_prediction applied(const char *text)
{
    tutti_framework f = framework(text);
    tutti_prediction p = {.nranks = 4,
                          .step_s = 11,
                          .compute_s = 10,
                          .exchange_s = 4,
                          .exposed_s = 1,
                          .lower_s = 10,
                          .upper_s = 14,
                          .samples_per_s = 8.0 / 11};
    tutti_framework_apply(&f, 64, &p);
    tutti_framework_release(&f);
    return p;
}

static void what_does_not_overlap_is_added(void **state)
{
    (void)state;
    const tutti_prediction all = applied(MADE_UP("yes", "yes", "yes")), none = applied(MADE_UP("no", "no", "no")),
                           copied = applied(MADE_UP("yes", "no", "yes")), behind = applied(MADE_UP("yes", "yes", "no"));
    assert_true(all.step_s == 11 && all.exposed_s == 1 && all.upper_s == 20);
    assert_true(none.step_s == 14 + 4 + 2 && none.exposed_s == 4);
    assert_true(copied.step_s == 13 && copied.exposed_s == 1);
    assert_true(behind.step_s == 14);
    assert_true(fabs(none.samples_per_s - 8.0 / 20) < 1e-12);
}

static void samples_that_take_longer_than_a_step_are_what_it_waits_for(void **state)
{
    (void)state;
    tutti_framework f = framework(MADE_UP("yes", "no", "yes"));
    tutti_prediction p = {.nranks = 1, .step_s = 1, .compute_s = 1, .lower_s = 1, .upper_s = 1, .samples_per_s = 2};
    tutti_framework_apply(&f, 64, &p);
    assert_true(p.step_s == 4); /* read in 4, which hides the 3 of the step and its copy */
    assert_true(p.samples_per_s == 0.5);
    tutti_framework_release(&f);
}

static void a_transport_slows_the_network_between_hosts(void **state)
{
    (void)state;
    tutti_framework f = framework(MADE_UP("yes", "yes", "yes"));
    tutti_topology servers = parse_topology("pcie,hosts=2,nic=1GB,lat=1s"), star = parse_topology("star,bw=8GB,lat=2s");
    tutti_framework_slow_down(&f, &servers);
    tutti_framework_slow_down(&f, &star);
    assert_true(servers.figure[TUTTI_FIGURE_NIC] == 0.5e9 && servers.figure[TUTTI_FIGURE_PCIE] == 12e9);
    assert_true(servers.figure[TUTTI_FIGURE_LATENCY] == 1.5);
    assert_true(star.figure[TUTTI_FIGURE_BANDWIDTH] == 1e9); /* no more than its most */
    tutti_framework_sets sets;
    assert_int_equal(tutti_framework_overrides(&f, sets), 6);
    assert_string_equal(sets[0], "exchange.algorithm=ring");
    assert_string_equal(sets[3], "exchange.order=ready");
    assert_string_equal(sets[4], "exchange.update_when=late");
    assert_string_equal(sets[5], "exchange.bucket_bytes=2097152");
    tutti_framework_release(&f);
}

static void the_parts_of_a_gap_sum_to_it(void **state)
{
    (void)state;
    const double steps[TUTTI_NFACTORS + 1] = {0.1, 0.3000000004, 0.29999999951, 1.0 / 3, 0.7};
    int64_t part[TUTTI_NFACTORS], sum = 0;
    const int64_t gap = tutti_framework_gap(steps, part);
    for (int i = 0; i < TUTTI_NFACTORS; i++) sum += part[i];
    assert_int_equal(sum, gap);
    assert_int_equal(gap, 600000000);
    assert_int_equal(part[0], 200000000);
}

static void turning_every_factor_makes_the_other(void **state)
{
    (void)state;
    tutti_framework a = framework(MADE_UP("yes", "no", "yes")), b, turned;
    assert_int_equal(tutti_framework_open("tensorflow", &b, NULL), TUTTI_OK);
    turned = a;
    for (int i = 0; i < TUTTI_NFACTORS; i++) tutti_framework_turn(&turned, &b, (tutti_factor)i);
    tutti_prediction p = {.step_s = 11, .compute_s = 10, .lower_s = 10, .upper_s = 14, .samples_per_s = 1}, q = p;
    tutti_framework_apply(&turned, 1e9, &p);
    tutti_framework_apply(&b, 1e9, &q);
    assert_memory_equal(&p, &q, sizeof p);
    tutti_framework_sets ours, theirs;
    assert_int_equal(tutti_framework_overrides(&turned, ours), tutti_framework_overrides(&b, theirs));
    assert_string_equal(ours[0], theirs[0]);
    assert_true(turned.most_bytes_per_s == b.most_bytes_per_s && turned.message_s == b.message_s);
    tutti_framework_release(&a);
    tutti_framework_release(&b);
}

static void every_framework_that_comes_along_is_read(void **state)
{
    (void)state;
    static const char *const wanted[] = {"caffe-mpi", "cntk", "mxnet", "pytorch-ddp", "tensorflow", "tutti"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        tutti_framework f;
        tutti_failure err = {0};
        assert_string_equal(tutti_framework_shipped_at((int)i), wanted[i]);
        if (tutti_framework_open(wanted[i], &f, &err)) fail_msg("%s", err.text);
        assert_true(strlen(f.about) > 4);
        tutti_framework_release(&f);
    }
    assert_null(tutti_framework_shipped_at(sizeof wanted / sizeof *wanted));
}

/* Held against published steps on 1 GB/s: silent up to there; one that says nothing is never guarded. */
static void what_nothing_published_was_held_against_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *name, *topology, *words;
    } cases[] = {{"tensorflow", "@k80-10gbe", NULL},
                 {"tensorflow", "@v100-ib", "up to 1.25 GB/s, not of 5.74"},
                 {"tensorflow", "star,bw=100Gb", "not of 12.50"},
                 {"caffe-mpi", "@p40-100gbe", NULL},
                 {"caffe-mpi", "star,bw=200Gb", "not of 25.00"},
                 {"mxnet", "@k80-10gbe", "never held"},
                 {"cntk", "star", "never held"},
                 {"mxnet", "host", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_framework f;
        tutti_topology t;
        char said[TUTTI_FRAMEWORK_GUARD];
        assert_int_equal(tutti_framework_open(cases[i].name, &f, NULL), TUTTI_OK);
        assert_int_equal(tutti_topology_parse(cases[i].topology, &t, NULL), TUTTI_OK);
        tutti_framework_guard(&f, &t, said);
        if (cases[i].words ? !strstr(said, cases[i].words) : said[0] != '\0')
            fail_msg("%s on %s: '%s'", cases[i].name, cases[i].topology, said);
        tutti_framework_release(&f);
    }
}

static void bad_files_of_frameworks_are_refused_with_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"about: x\n", "no line 'overlap.read'"},
        {MADE_UP("maybe", "no", "no"), "line 2: overlap.read is 'maybe'; wanted yes or no"},
        {MADE_UP("yes", "no", "no") "speed 3 given: x\n", "no framework has 'speed'"},
        {"buckets some given: x\n", "wanted size, auto, soonest, layer or one"},
        {"bucket -1MiB given: x\n", "wanted a size"},
        {"read fast given: x\n", "read is 'fast'"},
    };
    tutti_framework f;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tutti_failure err = {0};
        assert_int_equal(tutti_framework_parse("f", bad[i].text, &f, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, bad[i].words)) fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].words);
    }
    tutti_failure err = {0};
    assert_int_equal(tutti_framework_open("theano", &f, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "caffe-mpi"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_overlap_is_added),
        cmocka_unit_test(samples_that_take_longer_than_a_step_are_what_it_waits_for),
        cmocka_unit_test(a_transport_slows_the_network_between_hosts),
        cmocka_unit_test(the_parts_of_a_gap_sum_to_it),
        cmocka_unit_test(turning_every_factor_makes_the_other),
        cmocka_unit_test(every_framework_that_comes_along_is_read),
        cmocka_unit_test(what_nothing_published_was_held_against_is_said),
        cmocka_unit_test(bad_files_of_frameworks_are_refused_with_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
