/* SPDX-License-Identifier: Apache-2.0 */
/* test_predict_split.c: predictions of jobs whose layers groups of ranks share: what travels is waited for at once,
 * whatever computes; fewer bytes take less time; kernels of other parts have times of their own. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parsed.h"
#include "predict/play/timeline.h"
#include "predict/profile/profile.h"

static const char job_text[] =
    "model: mlp\ndata: {set: digits}\nbatch: 64\nepochs: 1\noptimiser: {rule: momentum, lr: 0.1}\n"
    "kernels: reference\nparallel: {layers: [fc1, fc2]}\n";

typedef struct {
    tutti_job *job;
    tutti_resolved parts;
    tutti_layer_time layers[8];
    tutti_profile profile;
} view;

/* Every kernel takes so many seconds, updates and loading nothing. */
static void view_make(view *v, const char *groups, int nranks, double seconds)
{
    tutti_failure err = {0};
    *v = (view){.job = parse_job(job_text, groups)};
    if (tutti_job_resolve(v->job, &(tutti_job_seat){.nranks = nranks}, &v->parts, &err)) fail_msg("%s", err.text);
    const int nlayers = v->parts.graph->model->nlayers;
    for (int l = 0; l < nlayers; l++)
        v->layers[l] = (tutti_layer_time){.forward_s = seconds, .params_s = seconds, .data_s = seconds};
    v->profile = (tutti_profile){.nbusy = 1, .nlayers = nlayers, .layers = v->layers};
}

static void view_drop(view *v)
{
    tutti_resolved_release(&v->parts);
    tutti_job_destroy(v->job);
}

static tutti_prediction predict(const view *v, const char *topology)
{
    const tutti_topology t = parse_topology(topology);
    tutti_prediction out;
    tutti_failure err = {0};
    if (tutti_timeline_predict(v->parts.plan, &v->profile, &t, NULL, &out, &err)) fail_msg("%s", err.text);
    return out;
}

static tutti_prediction predicted(const char *groups, int nranks, double seconds, const char *topology)
{
    view v;
    view_make(&v, groups, nranks, seconds);
    const tutti_prediction out = predict(&v, topology);
    view_drop(&v);
    return out;
}

/* However long kernels take, what travels is exposed in full. */
static void what_travels_is_waited_for_at_once(void **state)
{
    (void)state;
    static const char star[] = "star,bw=1Gb,lat=10us";
    for (int i = 0; i < 3; i++) {
        const double seconds = i * 5e-3;
        const tutti_prediction p = predicted("parallel.groups=1", 2, seconds, star);
        assert_int_equal(p.groups, 1);
        assert_true(p.travel_s > 0 && p.travel_s < p.exchange_s);
        assert_true(p.exposed_s >= p.travel_s * (1 - 1e-9));
        assert_true(fabs(p.compute_s - 7 * seconds) <= 1e-9 + 1e-3 * p.compute_s);
    }
    /* by hand: four exchanges forward, three backward (nobody wants the gradient of samples); bytes of 32 own samples
     * at 1 Gbit/s, and a latency or more each */
    const double bytes = 4.0 * 32 * (784 + 2 * 64 + 2 * 128 + 2 * 5);
    const tutti_prediction p = predicted("parallel.groups=1", 2, 0, star);
    assert_true(p.travel_s >= bytes * 8e-9 + 7 * 10e-6 && p.travel_s <= bytes * 8e-9 + 7 * 40e-6);
}

static void as_many_groups_as_ranks_is_data_parallelism(void **state)
{
    (void)state;
    view split, plain;
    view_make(&split, "parallel.groups=4", 4, 1e-3);
    view_make(&plain, "parallel.layers=", 4, 1e-3);
    const tutti_prediction a = predict(&split, "star,bw=1Gb,lat=10us"), b = predict(&plain, "star,bw=1Gb,lat=10us");
    assert_int_equal(a.groups, 0);
    assert_true(a.step_s == b.step_s && a.exchange_s == b.exchange_s && a.exchanged_bytes == b.exchanged_bytes);
    view_drop(&split), view_drop(&plain);
}

/* Few samples and many weights: one group exchanges least, and is soonest on a slow network and slowest where only
 * latency counts. */
static void fewer_bytes_are_sooner_on_a_slow_network(void **state)
{
    (void)state;
    static const char slow[] = "star,bw=100Mb,lat=1us", late[] = "star,bw=100Gb,lat=1ms";
    const tutti_prediction one = predicted("parallel.groups=1", 2, 1e-3, slow),
                           two = predicted("parallel.groups=2", 2, 1e-3, slow);
    assert_true(one.exchanged_bytes < two.exchanged_bytes && one.step_s < two.step_s);
    assert_true(predicted("parallel.groups=1", 2, 1e-3, late).step_s >
                predicted("parallel.groups=2", 2, 1e-3, late).step_s);
}

static void every_kind_of_topology_serves(void **state)
{
    (void)state;
    static const char *const topologies[] = {"host", "star,bw=10Gb,lat=5us", "dgx1v"};
    for (int i = 0; i < 3; i++) {
        const tutti_prediction p = predicted("parallel.groups=2", 4, 1e-3, topologies[i]);
        assert_true(p.travel_s > 0 && p.step_s > p.compute_s && p.step_s <= p.upper_s * (1 + 1e-9));
    }
}

static void a_layer_says_what_it_exchanges_itself(void **state)
{
    (void)state;
    view v;
    tutti_layer_prediction rows[8];
    tutti_failure err = {0};
    int n = 0;
    const tutti_topology t = parse_topology("star,bw=1Gb,lat=10us");
    view_make(&v, "parallel.groups=1", 2, 1e-3);
    if (tutti_layer_table(v.parts.plan, &v.profile, &t, rows, &n, &err)) fail_msg("%s", err.text);
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].name, "fc1");
    assert_int_equal(rows[0].bytes, 4 * 32 * (784 + 2 * 64));
    assert_int_equal(rows[1].bytes, 4 * 32 * (2 * 128 + 2 * 5));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows[i].hybrid_groups, 1);
        assert_true(rows[i].exposed_s == rows[i].exchange_s); /* no parameters travel that anything could hide */
    }
    view_drop(&v);
}

static void times_of_other_parts_are_not_taken(void **state)
{
    (void)state;
    view whole, halves;
    tutti_strbuf text = {0};
    tutti_profile p = {0}, again = {0};
    tutti_failure err = {0};
    view_make(&whole, "parallel.groups=4", 4, 0), view_make(&halves, "parallel.groups=2", 4, 0);
    assert_int_equal(tutti_profile_measure(&halves.parts.graph, 1, &p, &err), TUTTI_OK);
    for (int l = 0; l < p.nlayers; l++) assert_true(p.layers[l].forward_s > 0);
    tutti_profile_print(&p, &text);
    assert_int_equal(tutti_profile_find("p", text.text, halves.parts.graph, 1, &again, &err), TUTTI_OK);
    tutti_profile_release(&again);
    assert_int_equal(tutti_profile_find("p", text.text, whole.parts.graph, 1, &again, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "1 a split layer"));
    tutti_strbuf_release(&text);
    tutti_profile_release(&p);
    view_drop(&whole), view_drop(&halves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_travels_is_waited_for_at_once),
        cmocka_unit_test(as_many_groups_as_ranks_is_data_parallelism),
        cmocka_unit_test(fewer_bytes_are_sooner_on_a_slow_network),
        cmocka_unit_test(every_kind_of_topology_serves),
        cmocka_unit_test(a_layer_says_what_it_exchanges_itself),
        cmocka_unit_test(times_of_other_parts_are_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
