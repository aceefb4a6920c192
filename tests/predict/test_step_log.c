/* SPDX-License-Identifier: Apache-2.0 */
/* What is exposed and which chain makes a step: of made-up stretches of whole seconds, and of the timeline's own. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job/step_view.h"
#include "predict/parsed.h"

static void add(tutti_step_log *log, tutti_stretch_kind kind, int what, double begin_s, double end_s)
{
    tutti_step_log_add(log, kind, what, begin_s, end_s);
}

static void neighbours_of_a_layer_are_one_and_nothing_is_left_out(void **state)
{
    (void)state;
    tutti_step_log log = {0};
    add(&log, TUTTI_STRETCH_BACKWARD, 3, 0, 1);
    add(&log, TUTTI_STRETCH_BACKWARD, 3, 1, 2);
    add(&log, TUTTI_STRETCH_BACKWARD, 2, 2, 3);
    add(&log, TUTTI_STRETCH_BACKWARD, 2, 4, 5);
    add(&log, TUTTI_STRETCH_FORWARD, 2, 5, 5); /* takes no time */
    add(&log, TUTTI_STRETCH_EXCHANGE, 2, 5, 6);
    add(&log, TUTTI_STRETCH_EXCHANGE, 2, 6, 7); /* two exchanges are two */
    assert_int_equal(log.n, 5);
    assert_true(log.list[0].begin_s == 0 && log.list[0].end_s == 2);
    tutti_step_log_cut(&log, 2.5, 6.5);
    assert_int_equal(log.n, 4);
    assert_true(log.list[0].begin_s == 0 && log.list[0].end_s == 0.5);
    assert_true(log.list[3].begin_s == 3.5 && log.list[3].end_s == 4);
    assert_true(log.end_s == 4);
    assert_true(tutti_step_log_computing(&log, 0, 4) == 1.5);
    assert_true(tutti_step_log_computing(&log, 0.25, 2) == 0.75);
    tutti_step_log_release(&log);
    tutti_step_log_add(NULL, TUTTI_STRETCH_UPDATE, -1, 0, 1);
}

static void an_exchange_is_exposed_where_nothing_is_computed(void **state)
{
    (void)state;
    tutti_step_log log = {.end_s = 10};
    tutti_step_stretch part[8];
    bool exposed[8];
    add(&log, TUTTI_STRETCH_FORWARD, 0, 0, 2);
    add(&log, TUTTI_STRETCH_BACKWARD, 0, 2, 4);
    add(&log, TUTTI_STRETCH_EXCHANGE, 0, 3, 9);
    add(&log, TUTTI_STRETCH_UPDATE, -1, 6, 7);
    const int n = tutti_step_log_split(&log, &log.list[2], part, exposed, 8);
    const double ends[] = {4, 6, 7, 9};
    const bool shown[] = {false, true, false, true};
    assert_int_equal(n, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(part[i].begin_s == (i ? ends[i - 1] : 3) && part[i].end_s == ends[i]);
        assert_true(exposed[i] == shown[i]);
    }
    assert_int_equal(tutti_step_log_split(&log, &log.list[2], part, exposed, 2), 2);
    tutti_step_log_release(&log);
}

/* Backward of layer 1 makes exchange 0 ready, that of layer 0 exchange 1, which waits for the lane; updates wait for
 * both. */
static void the_chain_goes_from_the_end_to_what_had_to_end_before(void **state)
{
    (void)state;
    tutti_step_log log = {.end_s = 12};
    tutti_step_stretch *path;
    add(&log, TUTTI_STRETCH_FORWARD, 0, 0, 1);
    add(&log, TUTTI_STRETCH_FORWARD, 1, 1, 2);
    add(&log, TUTTI_STRETCH_BACKWARD, 1, 2, 4);
    add(&log, TUTTI_STRETCH_EXCHANGE, 0, 4, 8);
    add(&log, TUTTI_STRETCH_BACKWARD, 0, 4, 5);
    add(&log, TUTTI_STRETCH_EXCHANGE, 1, 8, 11);
    add(&log, TUTTI_STRETCH_UPDATE, -1, 8, 9); /* of exchange 0: beside the other */
    add(&log, TUTTI_STRETCH_UPDATE, -1, 11, 12);
    const int n = tutti_step_log_path(&log, &path);
    const struct {
        tutti_stretch_kind kind;
        int what, last;
        double begin_s, end_s;
    } wanted[] = {{TUTTI_STRETCH_FORWARD, 0, 1, 0, 2},
                  {TUTTI_STRETCH_BACKWARD, 1, 1, 2, 4},
                  {TUTTI_STRETCH_EXCHANGE, 0, 1, 4, 11},
                  {TUTTI_STRETCH_UPDATE, -1, -1, 11, 12}};
    assert_int_equal(n, 4);
    for (int i = 0; i < n; i++) {
        assert_int_equal(path[i].kind, wanted[i].kind);
        assert_int_equal(path[i].what, wanted[i].what);
        assert_int_equal(path[i].last, wanted[i].last);
        assert_true(path[i].begin_s == wanted[i].begin_s && path[i].end_s == wanted[i].end_s);
    }
    free(path);
    tutti_step_log_release(&log);
}

/* An exchange that became ready in the middle of what is one stretch, and time that nothing explains. */
static void the_chain_cuts_stretches_and_names_what_it_does_not_know(void **state)
{
    (void)state;
    tutti_step_log log = {.end_s = 10};
    tutti_step_stretch *path;
    add(&log, TUTTI_STRETCH_BACKWARD, 0, 1, 6);
    add(&log, TUTTI_STRETCH_EXCHANGE, 0, 4, 9);
    add(&log, TUTTI_STRETCH_UPDATE, -1, 9, 10);
    int n = tutti_step_log_path(&log, &path);
    assert_int_equal(n, 4);
    assert_int_equal(path[0].kind, TUTTI_STRETCH_WAIT);
    assert_true(path[0].begin_s == 0 && path[0].end_s == 1);
    assert_int_equal(path[1].kind, TUTTI_STRETCH_BACKWARD);
    assert_true(path[1].begin_s == 1 && path[1].end_s == 4);
    assert_true(path[2].begin_s == 4 && path[3].end_s == 10);
    free(path);
    tutti_step_log_release(&log);
    n = tutti_step_log_path(&log, &path); /* nothing at all */
    assert_int_equal(n, 0);
    free(path);
}

/* ---- the timeline's own ---- */

static const char job_text[] = "model: mlp\nbatch: 8\nsteps: 10\nkernels: reference\noptimiser: {lr: 0.1}\n"
                               "exchange: {bucket_bytes: 1B}\n";

static tutti_step_view view_of(const char *topology, const char *override, int nranks)
{
    tutti_job *job = parse_job(job_text, override);
    const tutti_topology t = parse_topology(topology);
    char *measured = NULL;
    const tutti_predict_options options = {.measured = &measured};
    tutti_step_view v;
    tutti_prediction p;
    tutti_failure err = {0};
    if (tutti_job_view_step(job, &t, &options, nranks, &v, &err)) fail_msg("%s", err.text);
    if (tutti_predict_job(job, &t, &options, &nranks, 1, &p, &err)) fail_msg("%s", err.text);
    assert_true(p.step_s == v.predicted.step_s); /* of the same kernel times */
    assert_memory_equal(&p.memory, &v.predicted.memory, sizeof p.memory);
    free(measured);
    tutti_job_destroy(job);
    return v;
}

static void check_view(tutti_step_view *v)
{
    const double period_s = v->predicted.step_s * (double)v->period, grain = 1e-9 * period_s;
    double at = 0;
    assert_true(fabs(v->log.end_s - period_s) < grain);
    assert_true(fabs(tutti_step_log_computing(&v->log, 0, v->log.end_s) - v->predicted.compute_s * (double)v->period) <
                grain);
    assert_true(v->npath > 0);
    for (int i = 0; i < v->npath; i++) { /* without a gap, from the beginning to the end */
        assert_true(fabs(v->path[i].begin_s - at) < grain);
        assert_int_not_equal(v->path[i].kind, TUTTI_STRETCH_WAIT);
        at = v->path[i].end_s;
    }
    assert_true(fabs(at - period_s) < grain);
    tutti_step_view_release(v);
}

static void a_predicted_step_is_explained_whole(void **state)
{
    (void)state;
    static const struct {
        const char *topology, *override;
        int nranks;
    } cases[] = {
        {"star,bw=1Mb,lat=1ms", NULL, 4},
        {"star,bw=1Gb,lat=50us", NULL, 2},
        {"star,bw=1Mb,lat=1ms", "exchange.update_when=early", 4},
        {"star,bw=10Mb,lat=50us", "method.name=sync-easgd3", 2},
        {"star,bw=10Mb,lat=50us", "method.name=local-sgd", 2},
        {"host,cores=2", NULL, 2},
        {"host,cores=2", NULL, 4},
        {"host,cores=2", "exchange.update_when=early", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_step_view v = view_of(cases[i].topology, cases[i].override, cases[i].nranks);
        check_view(&v);
    }
}

static void the_busiest_link_of_a_slow_star_is_busy_all_the_time_that_bytes_take(void **state)
{
    (void)state;
    tutti_step_view v = view_of("star,bw=8Mb,lat=0s,soft=0s,add=1000000TB", "parallel.layers=[]", 2);
    /* two halves of the vector each way, at 1 MB/s, and the control numbers */
    const double least_s = (double)v.predicted.exchanged_bytes / 1e6;
    assert_true(v.busiest.busy_s >= least_s * (1 - 1e-9) && v.busiest.busy_s < 1.01 * least_s);
    assert_true(v.busiest.busy_s <= v.busiest.exchange_s * (1 + 1e-9));
    assert_non_null(strchr(v.busiest.name, '('));
    tutti_step_view_release(&v);
}

static void workers_that_take_steps_of_their_own_have_no_common_step(void **state)
{
    (void)state;
    tutti_step_view v = view_of("star,bw=1Gb,lat=50us", "method.name=async-easgd", 2);
    assert_int_equal(v.log.n, 0);
    assert_int_equal(v.npath, 0);
    assert_true(v.busiest.busy_s == 0);
    tutti_step_view_release(&v);
}

/* A period of many steps. Each is forward, backward and, where it is so, an exchange: exposed, hidden behind the next
 * step, or late by a gap in which nobody is seen to do a thing. By looking at all stretches for each of them these took
 * minutes. */
static void a_long_period_is_walked_through_once(void **state)
{
    (void)state;
    enum { STEPS = 100000 };
    static const struct {
        bool sends;
        double late, exposed; /* of a step */
        int per_step;         /* stretches of the path */
    } cases[] = {{false, 0, 0, 2}, {true, 0, 1, 3}, {true, 0.5, 1, 4}, {true, 0, -1, 2}};
    const clock_t begin = clock();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tutti_step_log log = {0};
        tutti_step_stretch *path, part[4];
        bool exposed[4];
        double t = 0;
        for (int i = 0; i < STEPS; i++) {
            add(&log, TUTTI_STRETCH_FORWARD, 0, t, t + 1);
            add(&log, TUTTI_STRETCH_BACKWARD, 0, t + 1, t + 3);
            t += 3;
            if (cases[k].sends) add(&log, TUTTI_STRETCH_EXCHANGE, i, t + cases[k].late, t + cases[k].late + 1);
            if (cases[k].exposed > 0) t += cases[k].late + cases[k].exposed;
        }
        log.end_s = t;
        const int n = tutti_step_log_path(&log, &path);
        assert_int_equal(n, cases[k].per_step * STEPS);
        for (int i = 0; i < n; i++) assert_true(path[i].begin_s == (i ? path[i - 1].end_s : 0));
        assert_true(path[n - 1].end_s == t);
        for (int i = 0; cases[k].sends && i < log.n - 3; i++) {
            if (log.list[i].kind != TUTTI_STRETCH_EXCHANGE) continue;
            assert_int_equal(tutti_step_log_split(&log, &log.list[i], part, exposed, 4), 1);
            assert_true(exposed[0] == (cases[k].exposed > 0) && part[0].end_s == log.list[i].end_s);
        }
        free(path);
        tutti_step_log_release(&log);
    }
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_of_a_layer_are_one_and_nothing_is_left_out),
        cmocka_unit_test(an_exchange_is_exposed_where_nothing_is_computed),
        cmocka_unit_test(the_chain_goes_from_the_end_to_what_had_to_end_before),
        cmocka_unit_test(the_chain_cuts_stretches_and_names_what_it_does_not_know),
        cmocka_unit_test(a_predicted_step_is_explained_whole),
        cmocka_unit_test(the_busiest_link_of_a_slow_star_is_busy_all_the_time_that_bytes_take),
        cmocka_unit_test(workers_that_take_steps_of_their_own_have_no_common_step),
        cmocka_unit_test(a_long_period_is_walked_through_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
