/* SPDX-License-Identifier: Apache-2.0 */
/* test_predict_hosts.c: the plan that is predicted is the one that would run on the topology: its hosts decide the
 * algorithm and who visits how; counts that an algorithm does not serve are refused in words beside those that it
 * serves. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "job/job_fields.h"
#include "job/resolve.h"
#include "predict/parsed.h"
#include "predict/profile/profile.h"
#include "tutti/predict.h"

static const char job_text[] = "model: mlp\nbatch: 16\nsteps: 10\nkernels: reference\noptimiser: {lr: 0.1}\n"
                               "exchange: {algorithm: rule, buckets: size, order: ready, update: sharded, "
                               "update_when: late}\nparallel: {layers: []}\n";

/* For any rank count. */
static tutti_job *job_with(const char *const *keys)
{
    char path[] = "/tmp/tutti-hosts-XXXXXX";
    tutti_job *job = NULL;
    tutti_failure err = {0};
    int n = 0;
    while (keys && keys[n]) n++;
    close(mkstemp(path));
    assert_int_equal(tutti_file_write_atomic(path, job_text, sizeof job_text - 1, &err), TUTTI_OK);
    if (tutti_job_load_for_any(path, keys, n, &job, &err)) fail_msg("%s", err.text);
    unlink(path);
    return job;
}

/* A kernel takes 1 ms whatever its share of the batch. */
static char *profile_file(void)
{
    tutti_job *job = job_with(NULL);
    tutti_resolved r = {0};
    tutti_failure err = {0};
    tutti_strbuf text = {0};
    tutti_layer_time layers[16];
    if (tutti_job_resolve(job, &(tutti_job_seat){.nranks = 1}, &r, &err)) fail_msg("%s", err.text);
    const int nlayers = r.graph->model->nlayers;
    assert_in_range(nlayers, 1, 16);
    for (int l = 0; l < nlayers; l++)
        layers[l] = (tutti_layer_time){
            .name = r.graph->model->layers[l].name, .forward_s = 1e-3, .params_s = 1e-3, .data_s = 1e-3};
    for (int64_t samples = 16; samples >= 1; samples /= 2) {
        const tutti_profile p = {.samples_per_call = samples, .nbusy = 1, .nlayers = nlayers, .layers = layers};
        tutti_profile_print(&p, &text);
    }
    char *path = strdup("/tmp/tutti-hosts-XXXXXX");
    close(mkstemp(path));
    assert_int_equal(tutti_file_write_atomic(path, text.text, text.length, &err), TUTTI_OK);
    tutti_strbuf_release(&text);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return path;
}

static tutti_status predict(const char *const *keys, const char *topology, const int *ranks, int n,
                            tutti_prediction *out, tutti_failure *err)
{
    char *path = profile_file();
    tutti_job *job = job_with(keys);
    const tutti_topology t = parse_topology(topology);
    const tutti_predict_options options = {.read_profile = path};
    const tutti_status st = tutti_predict_job(job, &t, &options, ranks, n, out, err);
    tutti_job_destroy(job);
    unlink(path);
    free(path);
    return st;
}

static tutti_prediction predicted_by(const char *const *keys, const char *topology, int nranks)
{
    tutti_prediction out = {0};
    tutti_failure err = {0};
    if (predict(keys, topology, &nranks, 1, &out, &err)) fail_msg("%s", err.text);
    assert_string_equal(out.refused, "");
    return out;
}

static tutti_prediction predicted(const char *key, const char *topology, int nranks)
{
    return predicted_by((const char *const[]){key, NULL}, topology, nranks);
}

/* What a rank of a run plans, that is told the host of each: how its first exchange goes. */
static void planned(const char *const *keys, const int32_t *host_of, int nranks, char out[TUTTI_ALGORITHM_TEXT])
{
    tutti_job *job = job_with(keys);
    tutti_resolved r = {0};
    tutti_failure err = {0};
    if (tutti_job_resolve(job, &(tutti_job_seat){.nranks = nranks, .host_of = host_of}, &r, &err))
        fail_msg("%s", err.text);
    snprintf(out, TUTTI_ALGORITHM_TEXT, "%s",
             tutti_schedule_head(r.plan->schedules[r.plan->exchanges[0].schedule].compiled)->algorithm);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
}

static void the_algorithm_is_that_of_the_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *key, *topology;
        int nranks;
        int32_t host_of[16];
        const char *algorithm;
    } cases[] = {
        {NULL, "cluster,hosts=2,ranks=4", 8, {0, 0, 0, 0, 1, 1, 1, 1}, "split-rail,group=4"},
        {NULL, "cluster,hosts=4,ranks=2", 8, {0, 0, 1, 1, 2, 2, 3, 3}, "split-rail,group=2"},
        {NULL, "cluster,hosts=2,ranks=4", 4, {0}, "direct"},
        {NULL, "cluster,hosts=2,ranks=4,place=round-robin", 8, {0, 1, 0, 1, 0, 1, 0, 1}, "direct"},
        {NULL, "star", 4, {0, 1, 2, 3}, "direct"},
        {NULL, "fat-tree", 4, {0, 1, 2, 3}, "direct"},
        {NULL, "dgx1v,hosts=2", 16, {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}, "split-rail,group=8"},
        {NULL, "dgx2", 16, {0}, "direct"},
        {"exchange.precision=bf16", "cluster,hosts=2,ranks=4", 8, {0, 0, 0, 0, 1, 1, 1, 1}, "two-level,group=4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char algorithm[TUTTI_ALGORITHM_TEXT];
        const tutti_prediction p = predicted(cases[i].key, cases[i].topology, cases[i].nranks);
        planned((const char *const[]){cases[i].key, NULL}, cases[i].host_of, cases[i].nranks, algorithm);
        assert_string_equal(algorithm, cases[i].algorithm);
        assert_string_equal(p.algorithm, algorithm);
        assert_true(p.bytes_per_rank > 0);
    }
}

/* LeNet in one bucket is 1.7 MB, more than 256 KiB for each of three to six ranks. Of a sum that only direct makes the
 * gradients stay with it. */
static void large_exchanges_between_hosts_of_one_rank_go_by_ring(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        int nranks;
        int32_t host_of[8];
        const char *algorithm;
    } cases[] = {
        {"exchange.buckets=one", 3, {0, 1, 2}, "ring"},
        {"exchange.buckets=one", 6, {0, 1, 2, 3, 4, 5}, "ring"},
        {"exchange.buckets=one", 7, {0, 1, 2, 3, 4, 5, 6}, "direct"},
        {"exchange.buckets=one", 2, {0, 1}, "direct"}, /* who is ahead has nobody else to send to */
        {"exchange.buckets=one", 3, {0, 0, 1}, "direct"},
        {"exchange.buckets=one", 4, {0, 0, 1, 1}, "split-rail,group=2"},
        {"exchange.buckets=layer", 4, {0, 1, 2, 3}, "direct"}, /* the last layer's 20 kB */
        {"exchange.precision=bf16", 3, {0, 1, 2}, "direct"},
        {"exchange.rounding=each", 3, {0, 1, 2}, "ring"},
        {"exchange.rounding=each", 4, {0, 0, 1, 1}, "split-rail,group=2"},
        {"reduction=canonical", 3, {0, 1, 2}, "direct"},
        {"exchange.algorithm=direct", 3, {0, 1, 2}, "direct"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char algorithm[TUTTI_ALGORITHM_TEXT];
        const bool canonical = !strcmp(cases[i].key, "reduction=canonical"), each = strstr(cases[i].key, "each");
        const char *const keys[] = {"model=lenet",
                                    canonical ? "batch=24" : "batch=84",
                                    "exchange.buckets=one",
                                    cases[i].key,
                                    canonical ? "slots=8"
                                    : each    ? "exchange.precision=f16"
                                              : NULL,
                                    NULL};
        planned(keys, cases[i].host_of, cases[i].nranks, algorithm);
        if (strcmp(algorithm, cases[i].algorithm))
            fail_msg("%s, %d ranks: %s, not %s", cases[i].key, cases[i].nranks, algorithm, cases[i].algorithm);
    }
}

/* Whatever the algorithm: a wire that is the bottleneck has half to carry. */
static void sums_that_are_rounded_at_each_hop_take_about_half_the_time_on_a_slow_wire(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"ring", "halving-doubling", "hierarchical,group=2"};
    for (int i = 0; i < 3; i++) {
        char algorithm[64];
        double s[2];
        int64_t bytes[2];
        snprintf(algorithm, sizeof algorithm, "exchange.algorithm=%s", algorithms[i]);
        for (int half = 0; half < 2; half++) {
            const char *const keys[] = {"exchange.buckets=one",
                                        "exchange.update=replicated",
                                        algorithm,
                                        half ? "exchange.precision=bf16" : NULL,
                                        "exchange.rounding=each",
                                        NULL};
            const tutti_prediction p = predicted_by(keys, "star,bw=100Mb,lat=10us", 4);
            s[half] = p.exchange_s, bytes[half] = p.bytes_per_rank;
        }
        assert_true(s[1] < 0.51 * s[0] && s[1] > 0.49 * s[0]);
        assert_true(bytes[1] < 0.51 * (double)bytes[0]);
    }
}

/* To the last bit: it is the same plan. */
static void what_auto_takes_is_timed_as_if_it_were_said(void **state)
{
    (void)state;
    const char *cluster = "cluster,hosts=2,ranks=4";
    const tutti_prediction left = predicted(NULL, cluster, 8),
                           said = predicted("exchange.algorithm=split-rail,group=4", cluster, 8),
                           flat = predicted("exchange.algorithm=direct", cluster, 8);
    assert_true(left.step_s == said.step_s && left.exchange_s == said.exchange_s);
    assert_true(left.exchange_s < flat.exchange_s);
    assert_true(left.bytes_per_rank <= flat.bytes_per_rank);
}

/* Workers of the centre's host reach it in memory; what others bring goes over the wire. */
static void only_workers_of_other_hosts_travel_to_the_centre(void **state)
{
    (void)state;
    static const char *const methods[] = {"method.name=async-sgd", "method.name=async-easgd",
                                          "method.name=bounded-sgd"};
    for (int i = 0; i < 3; i++) {
        const tutti_prediction near = predicted(methods[i], "cluster,hosts=2,ranks=4,bus=100GB,nic=100Mb", 4),
                               slow = predicted(methods[i], "cluster,hosts=2,ranks=4,bus=1MB,nic=100Mb", 4),
                               far = predicted(methods[i], "cluster,hosts=2,ranks=4,bus=100GB,nic=100Mb", 8);
        if (near.step_s != slow.step_s) fail_msg("%s: %.17g, %.17g", methods[i], near.step_s, slow.step_s);
        if (near.exchange_s > 1e-9 || far.exchange_s < 1e-3)
            fail_msg("%s: %g s near, %g s far", methods[i], near.exchange_s, far.exchange_s);
        assert_string_equal(far.algorithm, "visits");
        assert_string_equal(near.bottleneck, "compute");
    }
}

/* Cards of one server, which the original is about: a turn is the way there, the visit and the way back, and nobody
 * else's. */
static void on_cards_of_one_server_a_turn_is_whole(void **state)
{
    (void)state;
    const tutti_prediction p = predicted("method.name=easgd", "pcie,sockets=1,switches=1,slots=4,pcie=1MB", 4);
    const double way_s = (double)p.bytes_per_rank / 1e6;
    assert_true(p.step_s > 6 * way_s && p.step_s < 6.5 * way_s);
}

static void a_count_that_is_not_served_is_refused_beside_those_that_are(void **state)
{
    (void)state;
    const char *const keys[] = {"exchange.algorithm=split-rail,group=4", NULL};
    static const int ranks[] = {1, 2, 8, 16};
    tutti_prediction p[4];
    tutti_failure err = {0};
    if (predict(keys, "star", ranks, 4, p, &err)) fail_msg("%s", err.text);
    assert_true(p[0].speedup == 1 && p[0].algorithm[0] == 0);
    assert_non_null(strstr(p[1].refused, "group"));
    assert_true(p[1].nranks == 2 && p[1].step_s == 0);
    assert_string_equal(p[2].algorithm, "split-rail,group=4");
    assert_true(p[2].speedup > 0 && p[3].speedup > 0);
    if (predict(keys, "star", ranks + 2, 1, p, &err)) fail_msg("%s", err.text); /* nobody asked for one rank */
    assert_true(p[0].speedup > 0);
    assert_int_equal(predict(keys, "star", ranks + 1, 1, p, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "group"));
}

static void what_no_count_goes_with_is_no_refusal(void **state)
{
    (void)state;
    static const int ranks[] = {2, 3};
    tutti_prediction p[2];
    tutti_failure err = {0};
    assert_int_equal(predict(NULL, "star", ranks, 2, p, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "batch"));
    assert_int_equal(predict(NULL, "cluster,hosts=1,ranks=2", (int[]){4}, 1, p, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "room"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_algorithm_is_that_of_the_hosts),
        cmocka_unit_test(large_exchanges_between_hosts_of_one_rank_go_by_ring),
        cmocka_unit_test(sums_that_are_rounded_at_each_hop_take_about_half_the_time_on_a_slow_wire),
        cmocka_unit_test(what_auto_takes_is_timed_as_if_it_were_said),
        cmocka_unit_test(only_workers_of_other_hosts_travel_to_the_centre),
        cmocka_unit_test(on_cards_of_one_server_a_turn_is_whole),
        cmocka_unit_test(a_count_that_is_not_served_is_refused_beside_those_that_are),
        cmocka_unit_test(what_no_count_goes_with_is_no_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
