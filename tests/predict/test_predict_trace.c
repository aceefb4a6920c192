/* SPDX-License-Identifier: Apache-2.0 */
/* test_predict_trace.c: predictions from a layer trace of one rank: weak scaling from made-up times, what goes together
 * and what does not, and the table of layers against the formulas of Das et al. 2016. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "job/resolve.h"
#include "metrics/trace.h"
#include "predict/parsed.h"
#include "predict/profile/profile.h"

#define JOB                                                                                                            \
    "model: convnet-bn\nbatch: 8\nsteps: 10\nkernels: reference\noptimiser: {lr: 0.1}\n"                               \
    "exchange: {algorithm: rule, bucket_bytes: 1B, order: ready, update: sharded, update_when: late}\n"                \
    "parallel: {layers: []}\n"
static const char job_text[] = JOB;

/* 1 ms forward and 2 ms backward a layer; the first `nlayers` of the model, or all; notes: other lines. The path is the
 * caller's. */
static char *trace_file_noted(int nlayers, double update_s_per_element, double load_s_per_sample, const char *notes)
{
    tutti_job *job = parse_job(job_text, NULL);
    tutti_resolved r = {0};
    tutti_failure err = {0};
    tutti_layer_cost layers[32];
    tutti_strbuf text = {0};
    if (tutti_job_resolve(job, &(tutti_job_seat){.nranks = 1}, &r, &err)) fail_msg("%s", err.text);
    const tutti_model *m = r.graph->model;
    assert_in_range(m->nlayers, 1, 32);
    for (int l = 0; l < m->nlayers; l++) layers[l] = (tutti_layer_cost){m->layers[l].name, 1000, 2000, 0, 0};
    tutti_layer_trace_print(layers, nlayers < m->nlayers ? nlayers : m->nlayers, &text);
    tutti_layer_trace_print_rates(update_s_per_element, load_s_per_sample, &text);
    tutti_strbuf_puts(&text, notes);
    char *path = strdup("/tmp/tutti-layers-XXXXXX");
    close(mkstemp(path));
    assert_int_equal(tutti_file_write_atomic(path, text.text, text.length, &err), TUTTI_OK);
    tutti_strbuf_release(&text);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return path;
}

static char *trace_file(int nlayers)
{
    return trace_file_noted(nlayers, (double)NAN, (double)NAN, "");
}

/* The file at `path` is removed. */
static tutti_prediction predicted_from(char *path, const char *text, const char *topology, int nranks,
                                       tutti_predict_options options)
{
    tutti_job *job = parse_job(text, NULL);
    tutti_topology t = parse_topology(topology);
    tutti_prediction out = {0};
    tutti_failure err = {0};
    options.read_trace = path;
    if (tutti_predict_job(job, &t, &options, &nranks, 1, &out, &err)) fail_msg("%s", err.text);
    tutti_job_destroy(job);
    unlink(path);
    free(path);
    return out;
}

static tutti_prediction predicted_of(double update_s_per_element, double load_s_per_sample, const char *topology,
                                     int nranks)
{
    return predicted_from(trace_file_noted(99, update_s_per_element, load_s_per_sample, ""), job_text, topology, nranks,
                          (tutti_predict_options){0});
}

/* To the last bit: nothing is measured here, whatever else the machine does. */
static void a_prediction_is_a_function_of_its_files(void **state)
{
    (void)state;
    const double none = (double)NAN;
    const tutti_prediction once = predicted_of(none, none, "star", 2);
    for (int i = 0; i < 3; i++) {
        const tutti_prediction again = predicted_of(none, none, "star", 2);
        assert_memory_equal(&once.step_s, &again.step_s, sizeof once.step_s);
        assert_memory_equal(&once.compute_s, &again.compute_s, sizeof once.compute_s);
    }
    assert_true(once.assumes_updates && once.assumes_loading);
    const tutti_prediction assumed = predicted_of(TUTTI_ASSUMED_UPDATE_S, 0, "star", 2);
    assert_true(assumed.step_s == once.step_s && !assumed.assumes_updates && !assumed.assumes_loading);
}

static void what_the_trace_says_of_updates_and_loading_counts(void **state)
{
    (void)state;
    const double none = predicted_of(0, 0, "host,cores=4", 1).step_s;
    const double slow = predicted_of(1e-6, 0, "host,cores=4", 1).step_s,
                 slower = predicted_of(2e-6, 0, "host,cores=4", 1).step_s;
    assert_true(slow > none && fabs((slower - none) - 2 * (slow - none)) < 1e-9);
    assert_true(predicted_of(0, 1e-3, "host,cores=4", 1).step_s == none); /* a core is free for it */
    assert_true(fabs(predicted_of(0, 1e-3, "host,cores=1", 1).step_s - none - 8e-3) < 1e-9);
}

/* With a line of its spread, or as on a machine that computes so many times as long. */
static tutti_prediction predicted_by(const char *spread, const double *slowness, const char *text, const char *topology,
                                     int nranks)
{
    return predicted_from(trace_file_noted(99, 1e-8, 1e-3, spread), text, topology, nranks,
                          (tutti_predict_options){.slowness = slowness});
}

static void close_to(double have, double want)
{
    if (!(fabs(have - want) <= 1e-12 * want)) fail_msg("%.17g instead of %.17g", have, want);
}

/* As if all of one rank took longer: the median alone, what 71 % of the steps stay below on two ranks. */
static void ranks_that_wait_take_a_quantile_of_the_steps(void **state)
{
    (void)state;
    static const char *const topologies[] = {"star,bw=1Gb,lat=50us", "host,cores=2"};
    const char *const spread = "# step_spread 0.5 0.75 1 1.25 1.5\n"; /* F(x) = x - 0.5 */
    const double alone[] = {1, 1}, two[] = {0.5 + sqrt(0.5), 1}, slow[] = {3, 1}, slowest[] = {3 * 1.25, 1};
    for (int i = 0; i < 2; i++) {
        const tutti_prediction one = predicted_by(spread, NULL, job_text, topologies[i], 1),
                               both = predicted_by(spread, NULL, job_text, topologies[i], 2);
        assert_true(one.spread == 1 && one.step_s == predicted_by("", alone, job_text, topologies[i], 1).step_s);
        close_to(both.spread, two[0]);
        close_to(both.step_s, predicted_by("", two, job_text, topologies[i], 2).step_s);
        close_to(both.compute_s, predicted_by("", two, job_text, topologies[i], 2).compute_s);
        assert_true(both.step_s > 1.15 * predicted_by("", NULL, job_text, topologies[i], 2).step_s);
        close_to(both.speedup, both.samples_per_s / one.samples_per_s);
        const tutti_prediction held = predicted_by("# step_spread 1.25 1.25\n", slow, job_text, topologies[i], 2);
        close_to(held.step_s, predicted_by("", slowest, job_text, topologies[i], 2).step_s);
        assert_true(held.spread == 1.25); /* without what slows rank 0 down */
    }
    assert_true(predicted_by("", NULL, job_text, topologies[0], 2).spread == 0);
}

/* One core: the sum of two turns strays by its root from the mean, and waits for nobody. Four steps to a wait: half as
 * far. */
static void turns_and_periods_are_sums_of_steps(void **state)
{
    (void)state;
    const char *const spread = "# step_spread 1.5 1.5\n", *const local = JOB "method: {name: local-sgd, period: 4}\n";
    close_to(predicted_by(spread, NULL, job_text, "host,cores=1", 2).spread, 1 + 0.5 / sqrt(2));
    close_to(predicted_by(spread, NULL, local, "star", 2).spread, 1.25);
    close_to(predicted_by(spread, NULL, local, "star", 1).spread, 1.25);
}

static void workers_that_take_steps_of_their_own_take_the_mean(void **state)
{
    (void)state;
    const char *const spread = "# step_spread 1.5 1.5\n";
    static const char *const methods[] = {JOB "method: {name: async-sgd}\n", JOB "method: {name: async-easgd}\n",
                                          JOB "method: {name: easgd}\n"};
    for (int i = 0; i < 3; i++) {
        const tutti_prediction with = predicted_by(spread, NULL, methods[i], "star", 2),
                               without = predicted_by("", NULL, methods[i], "star", 2);
        assert_true(with.step_s == without.step_s && with.speedup == without.speedup);
        assert_true(with.spread == 1 && without.spread == 0);
    }
}

static void predict(const char *override, const char *topology, const int *ranks, int n, tutti_prediction *out)
{
    char *path = trace_file(99);
    tutti_job *job = parse_job(job_text, override);
    tutti_topology t = parse_topology(topology);
    const tutti_predict_options options = {.read_trace = path};
    tutti_failure err = {0};
    if (tutti_predict_job(job, &t, &options, ranks, n, out, &err)) fail_msg("%s", err.text);
    tutti_job_destroy(job);
    unlink(path);
    free(path);
}

static void every_rank_takes_the_times_of_the_trace(void **state)
{
    (void)state;
    const int ranks[] = {1, 2, 8};
    tutti_prediction p[3];
    predict(NULL, "star,bw=100TB,lat=1ns,soft=0ns,add=100TB", ranks, 3, p);
    const double whole = p[0].step_s / 1e-3; /* 3 ms a layer, less what has no backward kernel; updates come on top */
    assert_true(whole > 3 * 8 && whole < 3 * 14 + 5);
    assert_true(p[0].speedup == 1 && p[0].efficiency == 1);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(p[i].samples_per_s * p[i].step_s - 8 * ranks[i]) < 1e-9); /* weak: 8 samples a rank */
        assert_true(fabs(p[i].efficiency - 1) < 0.05); /* updates are shared: a little above 1 */
    }
}

static void a_slow_wire_between_two_hosts_is_exposed(void **state)
{
    (void)state;
    const int ranks[] = {1, 2};
    tutti_prediction fast[2], slow[2];
    predict(NULL, "star,bw=1Gb,lat=50us", ranks, 2, fast);
    predict(NULL, "star,bw=1Mb,lat=1ms", ranks, 2, slow);
    assert_true(slow[1].exposed_s > fast[1].exposed_s && slow[1].speedup < fast[1].speedup);
    assert_true(fast[1].speedup > 1.5 && fast[1].speedup < 2.1 && slow[1].speedup < 1);
    assert_true(fast[0].exposed_s < 1e-9); /* a difference of two sums of measured times */
}

/* What idles while kernels run a shaped link makes up for, as far as its bucket goes; but it never carries more than
 * its rate. */
static void a_shaped_link_makes_up_for_what_computing_leaves_idle(void **state)
{
    (void)state;
    const int ranks[] = {2};
    tutti_prediction wire, half, full;
    predict(NULL, "star,bw=200Mb,lat=50us", ranks, 1, &wire);
    predict(NULL, "star,bw=200Mb,lat=50us,burst=64KiB", ranks, 1, &half);
    predict(NULL, "star,bw=200Mb,lat=50us,burst=1GiB", ranks, 1, &full);
    const double bucket_s = 65536 / 25e6, updates_s = 1e-3; /* those are timed anew in each */
    assert_true(half.step_s < wire.step_s && wire.step_s - half.step_s < bucket_s + updates_s);
    assert_true(full.step_s < wire.step_s - bucket_s / 2);
    assert_true(full.step_s > (double)full.exchanged_bytes / 25e6);
}

/* Gathers of the layers next to the input first: the next forward pass hides the others. */
static void priority_hides_gathers_behind_the_next_forward_pass(void **state)
{
    (void)state;
    const int ranks[] = {2};
    tutti_prediction ready, priority;
    predict("exchange.order=ready", "star,bw=20Mb,lat=50us", ranks, 1, &ready);
    predict("exchange.order=priority", "star,bw=20Mb,lat=50us", ranks, 1, &priority);
    assert_true(ready.exposed_s > 0.01 && priority.exposed_s < ready.exposed_s - 0.005);
}

/* Gathers travel during the backward pass, not all behind it. */
static void early_updates_hide_gathers_behind_the_backward_pass(void **state)
{
    (void)state;
    const int ranks[] = {2};
    tutti_prediction late, early;
    predict("exchange.update_when=late", "star,bw=200Mb,lat=50us", ranks, 1, &late);
    predict("exchange.update_when=early", "star,bw=200Mb,lat=50us", ranks, 1, &early);
    assert_true(late.exposed_s > 0 && early.exposed_s < 0.9 * late.exposed_s);
    assert_true(early.step_s >= early.lower_s);
}

/* The loop that is timed is the plan's, the merging that is exact is the model's of merge.h: they agree to a few per
 * cent. */
static void auto_is_as_fast_as_layer_by_layer_and_one_message_in_the_predicted_loop(void **state)
{
    (void)state;
    static const char *const topologies[] = {"star,bw=100Mb,lat=50us", "star,bw=100Mb,lat=5ms", "star,bw=10Gb,lat=20us",
                                             "star,bw=10Mb,lat=100us"};
    const int ranks[] = {4};
    for (size_t i = 0; i < sizeof topologies / sizeof *topologies; i++) {
        tutti_prediction each, one, merged;
        predict("exchange.buckets=layer", topologies[i], ranks, 1, &each);
        predict("exchange.buckets=one", topologies[i], ranks, 1, &one);
        predict("exchange.buckets=soonest", topologies[i], ranks, 1, &merged);
        assert_true(merged.step_s <= 1.03 * each.step_s && merged.step_s <= 1.03 * one.step_s);
        if (i == 1) assert_true(merged.step_s < 0.95 * each.step_s && merged.nexchanges < each.nexchanges);
    }
}

static void refuse(const char *override, const tutti_predict_options *options, tutti_status want, const char *words)
{
    tutti_job *job = parse_job(job_text, override);
    tutti_topology t = parse_topology("star,bw=1Gb");
    const int ranks[] = {2};
    tutti_prediction p;
    tutti_failure err = {0};
    assert_int_equal(tutti_predict_job(job, &t, options, ranks, 1, &p, &err), want);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
    tutti_job_destroy(job);
}

static void a_trace_of_another_job_is_refused(void **state)
{
    (void)state;
    char *path = trace_file(99), *part = trace_file(3);
    const tutti_predict_options whole = {.read_trace = path}, torn = {.read_trace = part},
                                both = {.read_trace = path, .read_profile = path},
                                none = {.read_trace = "/nowhere/layers.txt"};
    refuse("model=lenet", &whole, TUTTI_ERR_DATA, "lenet");
    refuse(NULL, &torn, TUTTI_ERR_DATA, "3 layers");
    refuse(NULL, &both, TUTTI_ERR_USAGE, "not several");
    refuse(NULL, &none, tutti_layer_trace_read("/nowhere/layers.txt", &(tutti_layer_trace){0}, NULL), "/nowhere");
    tutti_job *job = NULL;
    const char *const canonical[] = {"reduction=canonical", "slots=4"};
    tutti_topology t = parse_topology("star,bw=1Gb");
    const int ranks[] = {2};
    tutti_prediction p;
    tutti_failure err = {0};
    assert_int_equal(tutti_job_parse("job", job_text, sizeof job_text - 1, canonical, 2, &job, &err), TUTTI_OK);
    assert_int_equal(tutti_predict_job(job, &t, &whole, ranks, 1, &p, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "canonical"));
    tutti_job_destroy(job);
    unlink(path), unlink(part);
    free(path), free(part);
}

/* ---- layers ---- */

static const tutti_layer_prediction *row_of(const tutti_layer_prediction *rows, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void layers_are_those_of_das_2016(void **state)
{
    (void)state;
    char *path = trace_file(99);
    tutti_job *job = parse_job(job_text, NULL);
    const tutti_predict_options options = {.read_trace = path};
    tutti_topology star = parse_topology("star,bw=1Gb,lat=50us"), host = parse_topology("host,cores=2");
    tutti_layer_prediction *rows, *here;
    int n, nhere;
    tutti_failure err = {0};
    if (tutti_predict_layers(job, &star, &options, 4, &rows, &n, &err)) fail_msg("%s", err.text);
    const tutti_layer_prediction *conv1 = row_of(rows, n, "conv1"), *conv2 = row_of(rows, n, "conv2"),
                                 *fc1 = row_of(rows, n, "fc1");
    assert_true(fabs(conv1->flop_per_byte - 1.5 * 28 * 28 * 8) < 1e-6); /* 1.5 * ow * oh * samples of a node, no bias */
    assert_true(fabs(conv2->flop_per_byte - 1.5 * 14 * 14 * 8) < 1e-6);
    assert_int_equal(conv2->bytes, 32 * 16 * 3 * 3 * 4);
    assert_true(conv1->window_s == 0); /* the layer next to the input: nothing can hide its exchange */
    assert_true(conv1->exposed_s == conv1->exchange_s && conv1->exchange_s > 0);
    assert_true(fc1->window_s > conv2->window_s && conv2->window_s > 0);
    assert_true(fabs(conv2->forward_s - 1e-3) < 1e-12 && fabs(conv2->backward_s - 2e-3) < 1e-12);
    assert_int_equal(conv1->hybrid_groups, 0);
    assert_int_equal(fc1->hybrid_groups, tutti_layer_hybrid_groups(4, 32, 64));

    if (tutti_predict_layers(job, &host, &options, 4, &here, &nhere, &err)) fail_msg("%s", err.text);
    assert_int_equal(nhere, n);
    for (int i = 0; i < n; i++) assert_true(here[i].exposed_s == here[i].exchange_s); /* own cores move the bytes */
    free(rows);
    free(here);
    tutti_job_destroy(job);
    unlink(path);
    free(path);
}

/* G* = sqrt(2 N batch / outputs), rounded to a divisor of N: 2.8 for 4,096 outputs, 64 nodes and 256 samples. */
static void hybrid_groups_have_the_least_traffic(void **state)
{
    (void)state;
    assert_int_equal(tutti_layer_hybrid_groups(64, 256, 4096), 2); /* 2 and 4 cost alike: the smaller */
    assert_int_equal(tutti_layer_hybrid_groups(64, 512, 4096), 4); /* G* = 4 */
    assert_int_equal(tutti_layer_hybrid_groups(64, 256, 1000000), 1);
    assert_int_equal(tutti_layer_hybrid_groups(64, 1 << 20, 10), 64); /* few weights, many samples: data parallel */
    assert_int_equal(tutti_layer_hybrid_groups(1, 256, 4096), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prediction_is_a_function_of_its_files),
        cmocka_unit_test(what_the_trace_says_of_updates_and_loading_counts),
        cmocka_unit_test(ranks_that_wait_take_a_quantile_of_the_steps),
        cmocka_unit_test(turns_and_periods_are_sums_of_steps),
        cmocka_unit_test(workers_that_take_steps_of_their_own_take_the_mean),
        cmocka_unit_test(every_rank_takes_the_times_of_the_trace),
        cmocka_unit_test(a_slow_wire_between_two_hosts_is_exposed),
        cmocka_unit_test(a_shaped_link_makes_up_for_what_computing_leaves_idle),
        cmocka_unit_test(priority_hides_gathers_behind_the_next_forward_pass),
        cmocka_unit_test(early_updates_hide_gathers_behind_the_backward_pass),
        cmocka_unit_test(auto_is_as_fast_as_layer_by_layer_and_one_message_in_the_predicted_loop),
        cmocka_unit_test(a_trace_of_another_job_is_refused),
        cmocka_unit_test(layers_are_those_of_das_2016),
        cmocka_unit_test(hybrid_groups_have_the_least_traffic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
