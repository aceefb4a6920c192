/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions of a small job from made-up kernel times: compute adds up, fast networks hide, slow ones show, cores are
 * shared. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "job/resolve.h"
#include "predict/parsed.h"
#include "predict/play/timeline.h"
#include "predict/profile/profile.h"
#include "training/method/method.h"
#include "training/some_ranks.h"

EMITTER(halves);
EMITTER(folded);

static const char job_text[] = "model: mlp\nbatch: 8\nsteps: 10\nkernels: reference\noptimiser: {lr: 0.1}\n"
                               "exchange: {bucket_bytes: 1B}\n";

/* Profiles in which each phase of each layer takes 1 ms, for 1, 2 and 4 ranks; the path is the caller's. */
static char *profile_file_of(double update_s_per_element)
{
    tutti_job *job = parse_job(job_text, NULL);
    tutti_resolved r = {0};
    tutti_failure err = {0};
    tutti_strbuf text = {0};
    if (tutti_job_resolve(job, &(tutti_job_seat){.nranks = 1}, &r, &err)) fail_msg("%s", err.text);
    tutti_layer_time layers[16];
    assert_in_range(r.graph->model->nlayers, 1, 16);
    for (int l = 0; l < r.graph->model->nlayers; l++)
        layers[l] = (tutti_layer_time){
            .name = r.graph->model->layers[l].name, .forward_s = 1e-3, .params_s = 1e-3, .data_s = 1e-3};
    for (int64_t samples = 8; samples >= 2; samples /= 2)
        for (int busy = 1; busy <= 2; busy++) {
            tutti_profile p = {.samples_per_call = samples,
                               .nbusy = busy,
                               .nlayers = r.graph->model->nlayers,
                               .layers = layers,
                               .update_s_per_element = update_s_per_element};
            tutti_profile_print(&p, &text);
        }
    char *path = strdup("/tmp/tutti-profile-XXXXXX");
    close(mkstemp(path));
    assert_int_equal(tutti_file_write_atomic(path, text.text, text.length, &err), TUTTI_OK);
    tutti_strbuf_release(&text);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return path;
}

static char *profile_file(void)
{
    return profile_file_of(0);
}

static tutti_prediction predicted(const char *topology, int nranks)
{
    char *path = profile_file();
    tutti_job *job = parse_job(job_text, NULL);
    tutti_topology t = parse_topology(topology);
    const tutti_predict_options options = {.read_profile = path};
    tutti_prediction p = {0};
    tutti_failure err = {0};
    if (tutti_predict_job(job, &t, &options, &nranks, 1, &p, &err)) fail_msg("%s", err.text);
    assert_true(p.lower_s <= p.step_s * (1 + 1e-9) && p.step_s <= p.upper_s * (1 + 1e-9));
    assert_true(p.efficiency > 0 && p.efficiency < 1 + 1e-9);
    tutti_job_destroy(job);
    unlink(path);
    free(path);
    return p;
}

static void one_rank_takes_the_sum_of_its_kernels(void **state)
{
    (void)state;
    tutti_prediction p = predicted("host,cores=2", 1);
    double phases = p.step_s / 1e-3;
    assert_true(phases > 5 && fabs(phases - round(phases)) < 1e-6); /* whole milliseconds: no exchange, no update */
    assert_true(p.exposed_s < 1e-12 && fabs(p.efficiency - 1) < 1e-9);
    assert_true(fabs(p.samples_per_s * p.step_s - 8) < 1e-9);
}

static void a_fast_network_is_hidden_and_a_slow_one_shows(void **state)
{
    (void)state;
    tutti_prediction fast = predicted("star,bw=100TB,lat=1ns,soft=0ns,add=100TB", 4),
                     slow = predicted("star,bw=1Mb,lat=1ms", 4);
    assert_true(fast.exposed_s < 1e-3 * fast.step_s);
    assert_true(slow.exposed_s > 0.5 * slow.step_s);
    assert_true(slow.step_s >= slow.exchange_s * 0.99 && slow.step_s < slow.upper_s);
    assert_true(fabs(fast.compute_s - slow.compute_s) < 1e-12);
    assert_true(fast.exchanged_bytes > 0 && fast.nexchanges >= 4);
}

static void part_of_a_medium_network_is_hidden(void **state)
{
    (void)state;
    tutti_prediction p = predicted("star,bw=1Gb,lat=50us", 2);
    assert_true(p.exposed_s > 0 && p.exposed_s < p.exchange_s);
}

static void ranks_beyond_the_cores_take_turns(void **state)
{
    (void)state;
    tutti_prediction two = predicted("host,cores=2,lat=1us", 2), four = predicted("host,cores=2,lat=1us", 4);
    assert_int_equal(two.ranks_per_core, 1);
    assert_int_equal(four.ranks_per_core, 2);
    assert_true(fabs(four.compute_s - 2 * two.compute_s) < 1e-9); /* equal kernel times, twice as many on a core */
    assert_true(four.exchange_s > two.exchange_s);
    assert_true(fabs(two.step_s - two.compute_s - two.exchange_s) < 1e-9); /* nothing is hidden on a host */
}

static void canonical_sums_run_every_slot(void **state)
{
    (void)state;
    char *path = profile_file();
    const char *const overrides[] = {"reduction=canonical", "slots=4"};
    tutti_job *job = NULL;
    tutti_topology t = parse_topology("host,cores=2");
    const tutti_predict_options options = {.read_profile = path};
    int ranks[] = {1, 2};
    tutti_prediction p[2];
    tutti_failure err = {0};
    assert_int_equal(tutti_job_parse("job", job_text, sizeof job_text - 1, overrides, 2, &job, &err), TUTTI_OK);
    if (tutti_predict_job(job, &t, &options, ranks, 2, p, &err)) fail_msg("%s", err.text);
    assert_true(fabs(p[0].compute_s - 2 * p[1].compute_s) < 0.1 * p[0].compute_s); /* 4 slots against 2 */
    tutti_job_destroy(job);
    unlink(path);
    free(path);
}

static double compute_by_rule(const char *rule, double update_s_per_element)
{
    char *path = profile_file_of(update_s_per_element);
    const char *const overrides[] = {rule};
    tutti_job *job = NULL;
    tutti_topology t = parse_topology("host,cores=2");
    const tutti_predict_options options = {.read_profile = path};
    const int ranks = 1;
    tutti_prediction p = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_job_parse("job", job_text, sizeof job_text - 1, overrides, 1, &job, &err), TUTTI_OK);
    if (tutti_predict_job(job, &t, &options, &ranks, 1, &p, &err)) fail_msg("%s", err.text);
    tutti_job_destroy(job);
    unlink(path);
    free(path);
    return p.compute_s;
}

static double compute_by_method(const char *method, double update_s_per_element)
{
    char name[64];
    snprintf(name, sizeof name, "method.name=%s", method);
    return compute_by_rule(name, update_s_per_element);
}

/* A profile's update is that of momentum: 20 bytes an element. */
static void an_update_takes_what_its_rule_moves(void **state)
{
    (void)state;
    const double kernels = compute_by_rule("optimiser.rule=sgd", 0);
    const double twenty = compute_by_rule("optimiser.rule=nesterov", 1e-8) - kernels;
    assert_true(twenty > 1e-3);
    assert_true(fabs(compute_by_rule("optimiser.rule=sgd", 1e-8) - kernels - twenty * 12 / 20) < 1e-9);
    assert_true(fabs(compute_by_rule("optimiser.rule=momentum", 1e-8) - kernels - twenty) < 1e-9);
}

/* Of two methods with the same vectors: 20 bytes an element are `twenty`. */
static void a_centre_takes_what_its_rules_move(void **state)
{
    (void)state;
    const double kernels = compute_by_rule("optimiser.rule=sgd", 0);
    const double four = (compute_by_rule("optimiser.rule=momentum", 1e-8) - kernels) / 5;
    const double local = compute_by_method("local-sgd", 1e-8), elastic = compute_by_method("sync-easgd2", 1e-8);
    assert_true(four > 1e-4);
    assert_true(fabs(elastic - local - four * (1 + 3)) < 1e-9); /* the pull reads one more, the centre moves three */
    assert_true(fabs(compute_by_method("diloco", 1e-8) - local - four * 6) < 1e-9);
}

static tutti_prediction predicted_with(const char *method, int period, const char *topology, const double *slowness)
{
    char *path = profile_file(), name[48], steps[48];
    const char *const overrides[] = {name, steps, "exchange.bucket_bytes=1MiB"};
    tutti_job *job = NULL;
    tutti_topology t = parse_topology(topology);
    const tutti_predict_options options = {.read_profile = path, .slowness = slowness};
    const int ranks = 4;
    tutti_prediction p = {0};
    tutti_failure err = {0};
    snprintf(name, sizeof name, "method.name=%s", method);
    snprintf(steps, sizeof steps, "method.period=%d", period);
    assert_int_equal(tutti_job_parse("job", job_text, sizeof job_text - 1, overrides, 3, &job, &err), TUTTI_OK);
    if (tutti_predict_job(job, &t, &options, &ranks, 1, &p, &err)) fail_msg("%s", err.text);
    tutti_job_destroy(job);
    unlink(path);
    free(path);
    return p;
}

static tutti_prediction predicted_by(const char *method, int period, const char *topology)
{
    return predicted_with(method, period, topology, NULL);
}

/* What is left at a period of so many steps are the control numbers of each step. */
static void exchanges_of_a_period_count_by_their_share(void **state)
{
    (void)state;
    static const char *const methods[] = {"sync-easgd1", "sync-easgd2", "sync-easgd3", "diloco", "local-sgd"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const double each = predicted_by(methods[i], 1, "star,bw=1Gb,lat=5us").exchange_s,
                     fourth = predicted_by(methods[i], 4, "star,bw=1Gb,lat=5us").exchange_s,
                     rare = predicted_by(methods[i], 1000, "star,bw=1Gb,lat=5us").exchange_s;
        if (!(rare > 0 && fabs((each - rare) * (0.25 - 1e-3) - (fourth - rare) * (1 - 1e-3)) < 1e-6 * each))
            fail_msg("%s: %g, %g, %g", methods[i], each, fourth, rare);
    }
}

static void what_easgd3_overlaps_is_hidden_and_a_tree_costs_more_than_slices(void **state)
{
    (void)state;
    const char *star = "star,bw=1Gb,lat=5us";
    for (int period = 1; period <= 2; period++) {
        const tutti_prediction tree = predicted_by("sync-easgd1", period, star),
                               slices = predicted_by("sync-easgd2", period, star),
                               beside = predicted_by("sync-easgd3", period, star);
        assert_true(tree.exposed_s > 1.2 * slices.exposed_s);
        assert_true(slices.exposed_s > 0.9 * slices.exchange_s); /* but for control numbers */
        assert_true(beside.exposed_s < 0.5 * slices.exposed_s);
        assert_true(fabs(beside.exchange_s - slices.exchange_s) < 1e-12);
    }
}

static const char AT_ONCE[] = "star,bw=100TB,lat=1ns,soft=0ns,add=100TB";

/* Kernels of whole milliseconds and updates of none: what is slow is three times as long, and what travels is not. */
static void ranks_that_wait_for_each_other_are_as_slow_as_the_slowest(void **state)
{
    (void)state;
    static const char *const methods[] = {"sync-sgd", "sync-easgd2", "local-sgd"};
    const double one_is_slow[] = {1, 3, 1.5, 1};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const char *star = "star,bw=1Gb,lat=5us";
        const tutti_prediction plain = predicted_by(methods[i], 1, star),
                               slow = predicted_with(methods[i], 1, star, one_is_slow);
        assert_true(plain.compute_s > 1e-3 && fabs(slow.compute_s - 3 * plain.compute_s) < 1e-9);
        assert_true(slow.exchange_s == plain.exchange_s && slow.nexchanges == plain.nexchanges);
        assert_true(slow.lower_s <= slow.step_s * (1 + 1e-9) && slow.step_s <= slow.upper_s * (1 + 1e-9));
        assert_true(fabs(slow.speedup * slow.step_s - plain.speedup * plain.step_s) < 1e-9); /* against the same rank */
    }
}

/* Of four workers one takes ten times as long: all wait for it, in their turns or before they are too far ahead, or
 * three and a tenth go on. */
static void a_slow_worker_holds_up_whom_its_method_lets_wait(void **state)
{
    (void)state;
    const double last_is_slow[] = {1, 1, 1, 10};
    const struct {
        const char *method;
        double longer;
    } rows[] = {
        {"easgd", 10}, {"bounded-sgd", 10}, {"async-easgd", 4 / 3.1}, {"async-sgd", 4 / 3.1}, {"hogwild-sgd", 4 / 3.1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tutti_prediction plain = predicted_by(rows[i].method, 1, AT_ONCE),
                               slow = predicted_with(rows[i].method, 1, AT_ONCE, last_is_slow);
        if (!(fabs(slow.step_s / plain.step_s / rows[i].longer - 1) < 0.03))
            fail_msg("%s: %g times as long, not %g", rows[i].method, slow.step_s / plain.step_s, rows[i].longer);
        assert_true(slow.lower_s <= slow.step_s && slow.step_s <= slow.upper_s * (1 + 1e-9));
        assert_true(slow.lower_s > plain.step_s); /* the slow worker is in it */
    }
}

/* One call for all counts: 1 and 2 have no rank 3, and what one rank is compared with is not slow. */
static void a_slow_rank_counts_where_it_is_there(void **state)
{
    (void)state;
    char *path = profile_file();
    tutti_job *job = parse_job(job_text, NULL);
    tutti_topology t = parse_topology(AT_ONCE);
    const double last[] = {1, 1, 1, 5}, first[] = {2, 1, 1, 1};
    const int ranks[] = {1, 2, 4};
    tutti_prediction plain[3], far[3], near[3];
    tutti_predict_options options = {.read_profile = path};
    tutti_failure err = {0};
    assert_int_equal(tutti_predict_job(job, &t, &options, ranks, 3, plain, &err), TUTTI_OK);
    options.slowness = last;
    assert_int_equal(tutti_predict_job(job, &t, &options, ranks, 3, far, &err), TUTTI_OK);
    options.slowness = first;
    assert_int_equal(tutti_predict_job(job, &t, &options, ranks, 3, near, &err), TUTTI_OK);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(far[i].compute_s - (i == 2 ? 5 : 1) * plain[i].compute_s) < 1e-9);
        assert_true(fabs(near[i].compute_s - 2 * plain[i].compute_s) < 1e-9);
        assert_true(fabs(near[i].speedup * near[i].step_s - plain[i].speedup * plain[i].step_s) < 1e-9);
    }
    assert_true(fabs(near[0].speedup - 0.5) < 1e-6);
    tutti_job_destroy(job);
    unlink(path);
    free(path);
}

static void a_profile_of_another_job_is_refused(void **state)
{
    (void)state;
    char *path = profile_file();
    tutti_job *job = parse_job(job_text, "batch=64"), *other = parse_job(job_text, "model=lenet");
    tutti_topology t = parse_topology("host,cores=2");
    const tutti_predict_options options = {.read_profile = path};
    int nranks = 1;
    tutti_prediction p;
    tutti_failure err = {0};
    assert_int_equal(tutti_predict_job(job, &t, &options, &nranks, 1, &p, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "64 samples"));
    assert_int_equal(tutti_predict_job(other, &t, &options, &nranks, 1, &p, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "lenet"));
    tutti_job_destroy(job);
    tutti_job_destroy(other);
    unlink(path);
    free(path);
}

static void measured_times_are_positive_and_come_back_from_the_file(void **state)
{
    (void)state;
    tutti_job *job = parse_job(job_text, NULL);
    tutti_resolved a = {0}, b = {0};
    tutti_failure err = {0};
    tutti_profile p = {0}, again = {0};
    assert_int_equal(tutti_job_resolve(job, &(tutti_job_seat){.nranks = 1}, &a, &err), TUTTI_OK);
    assert_int_equal(tutti_job_resolve(job, &(tutti_job_seat){.nranks = 1}, &b, &err), TUTTI_OK);
    tutti_graph *graphs[] = {a.graph, b.graph};
    assert_int_equal(tutti_profile_measure(graphs, 2, &p, &err), TUTTI_OK);
    assert_true(p.update_s_per_element > 0 && p.load_s_per_sample > 0);
    double sum = 0;
    for (int l = 0; l < p.nlayers; l++) sum += p.layers[l].forward_s + p.layers[l].params_s + p.layers[l].data_s;
    assert_true(sum > 1e-6 && sum < 10);
    tutti_strbuf text = {0};
    tutti_profile_print(&p, &text);
    assert_int_equal(tutti_profile_find("p", text.text, a.graph, 2, &again, &err), TUTTI_OK);
    for (int l = 0; l < p.nlayers; l++) assert_true(again.layers[l].forward_s == p.layers[l].forward_s);
    tutti_strbuf_release(&text);
    tutti_profile_release(&p);
    tutti_profile_release(&again);
    tutti_resolved_release(&a);
    tutti_resolved_release(&b);
    tutti_job_destroy(job);
}

/* x is read three times, so that its gradient is a sum, which the layer above it does not have. */
static void sums_of_gradients_are_measured_kept_and_predicted(void **state)
{
    (void)state;
    static const char text[] = "name: net\ninput: [64]\nclasses: 10\nlayers:\n"
                               "  - dense: {name: first, units: 300}\n"
                               "  - tanh: {name: x}\n"
                               "  - dense: {name: side, units: 300}\n"
                               "  - add: {name: join, from: [x, side]}\n"
                               "  - dense: {name: aux, units: 10, from: x}\n"
                               "  - softmax-cross-entropy: {weight: 0.3}\n"
                               "  - dense: {name: fc, units: 10, from: join}\n"
                               "  - softmax-cross-entropy\n";
    const tutti_plan_config config = {.nranks = 1,
                                      .batch = 64,
                                      .engine = "reference",
                                      .nthreads = 1,
                                      .method = tutti_method_find("sync-sgd")->emitter};
    const tutti_graph_config graph_config = {.batch = 64, .engine = "reference", .nthreads = 1, .training = true};
    tutti_model *model = NULL;
    tutti_graph *graph = NULL;
    tutti_plan *plan = NULL;
    tutti_profile p = {0}, again = {0};
    tutti_strbuf saved = {0};
    tutti_failure err = {0};
    tutti_prediction with, without;
    const tutti_topology t = parse_topology("star,bw=100TB,lat=1ns,soft=0ns,add=100TB");
    if (tutti_model_parse("net", text, sizeof text - 1, &model, &err) ||
        tutti_graph_build(model, &graph_config, &graph, &err) || tutti_plan_build(graph, &config, &plan, &err) ||
        tutti_profile_measure(&graph, 1, &p, &err))
        fail_msg("%s", err.text);
    assert_true(p.layers[1].sum_s > 0 && p.layers[0].sum_s == 0);
    tutti_profile_print(&p, &saved);
    assert_int_equal(tutti_profile_find("p", saved.text, graph, 1, &again, &err), TUTTI_OK);
    assert_true(again.layers[1].sum_s == p.layers[1].sum_s);
    again.layers[1].sum_s = 1;
    assert_int_equal(tutti_timeline_predict(plan, &again, &t, NULL, &with, &err), TUTTI_OK);
    again.layers[1].sum_s = 0;
    assert_int_equal(tutti_timeline_predict(plan, &again, &t, NULL, &without, &err), TUTTI_OK);
    assert_true(fabs(with.step_s - without.step_s - 1) < 1e-9);
    tutti_strbuf_release(&saved);
    tutti_profile_release(&p);
    tutti_profile_release(&again);
    tutti_plan_destroy(plan);
    tutti_graph_destroy(graph);
    tutti_model_destroy(model);
}

/* Layers of 1 ms a phase, by a method whose exchanges are between some of the ranks; NULL: the job's own. */
static tutti_prediction predicted_among(const char *topology, int rank, int nranks, const tutti_emitter *method)
{
    tutti_job *job = parse_job(job_text, "batch=12");
    const tutti_job_seat seat = {.rank = rank, .nranks = nranks};
    const tutti_topology t = parse_topology(topology);
    tutti_resolved r = {0};
    tutti_failure err = {0};
    tutti_prediction out = {0};
    if (tutti_job_resolve(job, &seat, &r, &err)) fail_msg("%s", err.text);
    tutti_layer_time layers[16];
    for (int l = 0; l < r.graph->model->nlayers; l++)
        layers[l] = (tutti_layer_time){.forward_s = 1e-3, .params_s = 1e-3, .data_s = 1e-3};
    const tutti_profile profile = {
        .samples_per_call = 12 / nranks, .nbusy = 1, .nlayers = r.graph->model->nlayers, .layers = layers};
    tutti_plan_config config = r.plan->config;
    tutti_plan *plan = NULL;
    if (method) config.method = method;
    if (tutti_plan_build(r.graph, &config, &plan, &err)) fail_msg("%s", err.text);
    if (tutti_timeline_predict(plan, &profile, &t, NULL, &out, &err)) fail_msg("%s", err.text);
    tutti_plan_destroy(plan);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return out;
}

/* Of three ranks two sum, and rank 1 has nothing to do with the third: whose plan it is does not matter, the slowest
 * rank does. */
static void the_rank_that_exchanges_most_is_predicted(void **state)
{
    (void)state;
    static const char star[] = "star,bw=10Mb,lat=1ms";
    const tutti_prediction one = predicted_among(star, 0, 3, &folded), two = predicted_among(star, 1, 3, &folded);
    const tutti_prediction three = predicted_among(star, 2, 3, &folded);
    assert_true(one.step_s == two.step_s && two.step_s == three.step_s);
    assert_int_equal(one.nexchanges, two.nexchanges);
    assert_int_equal(one.nexchanges % 3, 1); /* three a bucket, and control numbers */
    assert_true(one.exposed_s > 0 && one.step_s <= one.upper_s * (1 + 1e-9) && one.lower_s <= one.step_s);
    const tutti_prediction half = predicted_among(star, 0, 4, &halves);
    assert_int_equal(half.nexchanges % 2, 1); /* two a bucket: of its own half, and pair */
}

static double seconds_among(const tutti_plan *plan, const char *topology, int exchange)
{
    const tutti_topology t = parse_topology(topology);
    tutti_simulation simulated;
    tutti_failure err = {0};
    tutti_exchange_times times = {.plan = plan, .topology = &t};
    if (tutti_exchange_times_at(&times, exchange, 1 << 20, &simulated, &err)) fail_msg("%s", err.text);
    tutti_exchange_times_release(&times);
    return simulated.seconds;
}

/* Each half sits on a host of its own, the pairs between them do not; placed otherwise, they do. */
static void members_are_timed_where_they_sit(void **state)
{
    (void)state;
    tutti_job *job = parse_job(job_text, NULL);
    tutti_resolved r = {0};
    tutti_failure err = {0};
    tutti_plan *plan = NULL;
    if (tutti_job_resolve(job, &(tutti_job_seat){.nranks = 4}, &r, &err)) fail_msg("%s", err.text);
    tutti_plan_config config = r.plan->config;
    config.method = &halves;
    if (tutti_plan_build(r.graph, &config, &plan, &err)) fail_msg("%s", err.text);
    const int second = plan->nbuckets, pair = 2 * plan->nbuckets; /* half of ranks 2, 3; ranks 0, 2 */
    static const char block[] = "cluster,hosts=2,ranks=2,nic=1Gb,bus=50GB",
                      turns[] = "cluster,hosts=2,ranks=2,nic=1Gb,bus=50GB,place=round-robin";
    assert_true(10 * seconds_among(plan, block, second) < seconds_among(plan, block, pair));
    assert_true(10 * seconds_among(plan, turns, pair) < seconds_among(plan, turns, second));
    tutti_plan_destroy(plan);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_takes_the_sum_of_its_kernels),
        cmocka_unit_test(a_fast_network_is_hidden_and_a_slow_one_shows),
        cmocka_unit_test(part_of_a_medium_network_is_hidden),
        cmocka_unit_test(ranks_beyond_the_cores_take_turns),
        cmocka_unit_test(canonical_sums_run_every_slot),
        cmocka_unit_test(an_update_takes_what_its_rule_moves),
        cmocka_unit_test(a_centre_takes_what_its_rules_move),
        cmocka_unit_test(exchanges_of_a_period_count_by_their_share),
        cmocka_unit_test(what_easgd3_overlaps_is_hidden_and_a_tree_costs_more_than_slices),
        cmocka_unit_test(ranks_that_wait_for_each_other_are_as_slow_as_the_slowest),
        cmocka_unit_test(a_slow_worker_holds_up_whom_its_method_lets_wait),
        cmocka_unit_test(a_slow_rank_counts_where_it_is_there),
        cmocka_unit_test(a_profile_of_another_job_is_refused),
        cmocka_unit_test(sums_of_gradients_are_measured_kept_and_predicted),
        cmocka_unit_test(measured_times_are_positive_and_come_back_from_the_file),
        cmocka_unit_test(the_rank_that_exchanges_most_is_predicted),
        cmocka_unit_test(members_are_timed_where_they_sit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
