/* SPDX-License-Identifier: Apache-2.0 */
/* test_choice.c: what of `exchange` is auto becomes what no other is faster than, the same for equal questions, at a
 * cost that is counted. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/job_choice.h"
#include "job/job_fields.h"
#include "parsed.h"

static const char job_text[] = "model: lenet\nbatch: 64\nsteps: 10\nkernels: reference\noptimiser: {lr: 0.1}\n";
static const char *const networks[] = {"star,bw=1Gb,lat=50us", "cluster,hosts=4,ranks=2,nic=1GbE", "@v100-10gbe"};
enum { NNETWORKS = 3 };

/* Gives every layer of a graph the kernel time at `arg`. */
static tutti_status constant_times(const void *arg, const tutti_graph *graph, tutti_profile *out, tutti_failure *err)
{
    const double s = *(const double *)arg;
    (void)err;
    *out = (tutti_profile){.samples_per_call = graph->config.batch,
                           .parts = tutti_graph_parts(graph),
                           .nlayers = graph->model->nlayers,
                           .update_s_per_element = 1e-9};
    out->layers = TUTTI_ARENA_NEW(&out->arena, tutti_layer_time, out->nlayers);
    for (int l = 0; l < out->nlayers; l++)
        out->layers[l] = (tutti_layer_time){.name = "", .forward_s = s, .params_s = s, .data_s = s};
    return TUTTI_OK;
}

/* Chooses with kernels that all take kernel_s. The caller frees the choice's text. */
static tutti_job_choice chosen_in(const char *text, tutti_predict_memory *memory, const char *override,
                                  const char *line, int nranks, double kernel_s)
{
    tutti_job *job = parse_job(text, override);
    tutti_topology t = parse_topology(line);
    tutti_topology_grow(&t, nranks);
    int32_t host_of[64];
    tutti_topology_machines(&t, nranks, host_of);
    const tutti_job_seat seat = {.nranks = nranks, .host_of = host_of, .prove_later = true};
    tutti_resolved r = {0};
    tutti_failure err = {0};
    tutti_job_choice out;
    if (tutti_job_resolve(job, &seat, &r, &err)) fail_msg("%s", err.text);
    tutti_profile profile;
    (void)constant_times(&kernel_s, r.graph, &profile, &err);
    const tutti_job_choice_by by = {
        .topology = &t, .profile = &profile, .profile_of = constant_times, .profile_arg = &kernel_s, .memory = memory};
    if (tutti_job_choose(job, &by, &r, &out, &err)) fail_msg("%s: %s", line, err.text);
    tutti_profile_release(&profile);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return out;
}

static tutti_job_choice chosen_by(tutti_predict_memory *memory, const char *override, const char *line, int nranks,
                                  double kernel_s)
{
    return chosen_in(job_text, memory, override, line, nranks, kernel_s);
}

static tutti_job_choice chosen(const char *override, const char *line, int nranks, double kernel_s)
{
    return chosen_by(NULL, override, line, nranks, kernel_s);
}

static void equal_questions_have_equal_answers(void **state)
{
    (void)state;
    for (int i = 0; i < NNETWORKS; i++) {
        const tutti_job_choice a = chosen(NULL, networks[i], 8, 1e-3), b = chosen(NULL, networks[i], 8, 1e-3);
        assert_string_equal(a.text, b.text);
        assert_string_equal(a.words, b.words);
        assert_true(a.step_s == b.step_s && a.nplayed == b.nplayed);
        free(a.text), free(b.text);
    }
}

static void what_is_remembered_changes_no_answer(void **state)
{
    (void)state;
    static const char *const overrides[] = {NULL, "exchange.update=replicated", "exchange.buckets=layer",
                                            "exchange.precision=bf16", "method.name=local-sgd"};
    static const int ranks[] = {8, 4, 8};
    tutti_predict_memory *memory = tutti_predict_memory_create();
    for (int i = 0; i < NNETWORKS; i++)
        for (int k = 0; k < 30; k++) {
            const char *override = overrides[k / 2 % 5];
            const double kernel_s = k < 15 ? 1e-3 : 1e-5;
            const tutti_job_choice a = chosen(override, networks[i], ranks[k / 10], kernel_s),
                                   b = chosen_by(memory, override, networks[i], ranks[k / 10], kernel_s);
            if (strcmp(a.text, b.text) || strcmp(a.words, b.words) || a.step_s != b.step_s)
                fail_msg("%s: %s takes %g s, remembered %s %g s", networks[i], a.words, a.step_s, b.words, b.step_s);
            assert_true(a.nplayed == b.nplayed && a.nsimulated == b.nsimulated);
            free(a.text), free(b.text);
        }
    tutti_predict_memory_destroy(memory);
}

/* The seconds are those of the first search: a second one would take a few nanoseconds more or less. */
static void a_question_that_comes_back_is_not_searched_again(void **state)
{
    (void)state;
    tutti_predict_memory *memory = tutti_predict_memory_create();
    const tutti_job_choice first = chosen_by(memory, NULL, networks[0], 8, 1e-3),
                           other = chosen_by(memory, "exchange.update=replicated", networks[0], 8, 1e-3),
                           again = chosen_by(memory, NULL, networks[0], 8, 1e-3);
    assert_true(again.seconds == first.seconds && other.seconds != first.seconds);
    assert_string_equal(again.text, first.text);
    free(first.text), free(other.text), free(again.text);
    tutti_predict_memory_destroy(memory);
}

static void nothing_that_one_can_force_is_faster(void **state)
{
    (void)state;
    static const char *const forced[] = {"exchange.algorithm=ring",
                                         "exchange.algorithm=halving-doubling",
                                         "exchange.algorithm=direct",
                                         "exchange.algorithm=split-rail",
                                         "exchange.algorithm=hierarchical",
                                         "exchange.update=replicated",
                                         "exchange.update=sharded",
                                         "exchange.buckets=one",
                                         "exchange.buckets=layer",
                                         "exchange.buckets=size",
                                         "exchange.order=ready",
                                         "exchange.update_when=late",
                                         "parallel.layers="};
    for (int i = 0; i < NNETWORKS; i++) {
        const tutti_job_choice a = chosen(NULL, networks[i], 8, 1e-3);
        for (size_t k = 0; k < sizeof forced / sizeof *forced; k++) {
            const tutti_job_choice b = chosen(forced[k], networks[i], 8, 1e-3);
            if (a.step_s > 1.02 * b.step_s)
                fail_msg("%s: %s takes %g s, %s by %s", networks[i], a.words, a.step_s, b.words, forced[k]);
            free(b.text);
        }
        free(a.text);
    }
}

/* On slow links groups share the layer with most weights. Every key that conflicts with shared layers excludes them,
 * and so does one host. */
static void groups_share_layers_where_that_is_fastest(void **state)
{
    (void)state;
    static const char *const conflicts[] = {
        "parallel.layers=",
        "exchange.update=replicated",
        "exchange.update_when=early",
        "optimiser.clip_norm=1",
        "exchange.precision=f16",
        "precision=bf16",
        "method.name=local-sgd",
        "accumulate=2",
        "optimiser.groups.freeze=*=true,conv1=false",
    };
    const char *slow = "cluster,hosts=4,ranks=2,nic=1GbE";
    const tutti_job_choice shared = chosen(NULL, slow, 8, 1e-4), apart = chosen(conflicts[0], slow, 8, 1e-4);
    if (!strstr(shared.text, "parallel.layers=[\"") || !strstr(shared.text, "\nparallel.groups="))
        fail_msg("nothing is shared: %s", shared.text);
    assert_non_null(strstr(shared.words, ", groups of "));
    assert_non_null(strstr(shared.text, "exchange.update=sharded\nexchange.update_when=late\n"));
    if (shared.step_s > 0.99 * apart.step_s) fail_msg("%g s shared, %g s not shared", shared.step_s, apart.step_s);
    free(shared.text), free(apart.text);
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
        const tutti_job_choice c = chosen(conflicts[i], slow, 8, 1e-4);
        if (c.words[0] && strstr(c.words, "groups of ")) fail_msg("%s: %s", conflicts[i], c.words);
        free(c.text);
    }
    const tutti_job_choice host = chosen(NULL, "host,cores=8,cache=64MiB", 8, 1e-4);
    assert_non_null(strstr(host.text, "parallel.layers=[]\n"));
    free(host.text);
}

/* Nothing is hidden there, so that times of kernels, which a run has not measured, must not matter. */
static void on_a_host_it_does_not_matter_who_timed_the_kernels(void **state)
{
    (void)state;
    static const char *const hosts[] = {"host,cores=2,cache=4MiB", "host,cores=4,cache=34MiB",
                                        "host,cores=8,cache=64MiB,lat=2us"};
    for (int i = 0; i < 3; i++) {
        const tutti_job_choice fast = chosen(NULL, hosts[i], 4, 1e-6), slow = chosen(NULL, hosts[i], 4, 1e-2);
        assert_string_equal(fast.text, slow.text);
        free(fast.text), free(slow.text);
    }
}

static void what_is_fixed_stays_and_what_was_chosen_is_kept(void **state)
{
    (void)state;
    static const char *const fixed[] = {"exchange.algorithm=ring", "exchange.update=replicated",
                                        "exchange.order=priority", "exchange.buckets=layer",
                                        "exchange.update_when=late"};
    for (int i = 0; i < 5; i++) {
        char key[40];
        snprintf(key, sizeof key, "%.*s=", (int)strcspn(fixed[i], "="), fixed[i]);
        tutti_job *job = parse_job(job_text, fixed[i]);
        const tutti_job_choice c = chosen(fixed[i], networks[0], 8, 1e-3);
        if (strstr(c.text, key)) fail_msg("%s is among %s", key, c.text);
        tutti_job *with = tutti_job_with(job, c.text);
        assert_non_null(with);
        assert_false(tutti_job_is_open(with));
        char *kept = tutti_job_keep(job, with);
        assert_string_equal(kept, c.text);
        free(kept), free(c.text);
        tutti_job_forget(with);
        tutti_job_destroy(job);
    }
}

/* Below 256 KiB a rank directly, above by ring, between three hosts or more. */
static void words_name_both_algorithms_that_the_rule_goes_by(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int nranks;
        const char *words;
    } wanted[] = {{"star,bw=1Gb,lat=50us", 2, "direct, "},
                  {"star,bw=1Gb,lat=50us", 4, "direct and ring, "},
                  {"star,bw=10Gb,lat=5us", 4, "direct and ring, "},
                  {"star,bw=1Gb,lat=50us", 16, "direct, "},
                  {"cluster,hosts=4,ranks=2,nic=1GbE", 8, "split-rail"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const tutti_job_choice c = chosen_in("model: lenet\nbatch: 64\nsteps: 10\nkernels: reference\n"
                                             "optimiser: {lr: 0.1}\nparallel: {layers: []}\n",
                                             NULL, "exchange.algorithm=rule", wanted[i].line, wanted[i].nranks, 1e-3);
        if (strncmp(c.words, wanted[i].words, strlen(wanted[i].words)) != 0)
            fail_msg("%s, %d ranks: %s, not %s", wanted[i].line, wanted[i].nranks, c.words, wanted[i].words);
        free(c.text);
    }
}

/* In counts, as this machine may be busy: a plan of ResNet-50 takes a thousandth of a second. */
static void a_choice_looks_at_a_bounded_number_of_plans(void **state)
{
    (void)state;
    static const int ranks[] = {2, 8, 64};
    for (int i = 0; i < 3; i++) {
        const tutti_job_choice c = chosen(NULL, "@v100-10gbe", ranks[i], 1e-3);
        if (c.nplayed > 250 || c.nsimulated > 80)
            fail_msg("%d ranks: %d plans and %d schedules", ranks[i], c.nplayed, c.nsimulated);
        assert_true(c.nplayed > 10 && c.nsimulated > 5);
        free(c.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_questions_have_equal_answers),
        cmocka_unit_test(what_is_remembered_changes_no_answer),
        cmocka_unit_test(a_question_that_comes_back_is_not_searched_again),
        cmocka_unit_test(nothing_that_one_can_force_is_faster),
        cmocka_unit_test(groups_share_layers_where_that_is_fastest),
        cmocka_unit_test(on_a_host_it_does_not_matter_who_timed_the_kernels),
        cmocka_unit_test(what_is_fixed_stays_and_what_was_chosen_is_kept),
        cmocka_unit_test(words_name_both_algorithms_that_the_rule_goes_by),
        cmocka_unit_test(a_choice_looks_at_a_bounded_number_of_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
