/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_parallel.c: who shares which layers follows from a job: named layers that there are not are refused with the
 * place, and `auto` takes the groups by which a rank receives least. What a job alone can tell is in
 * tests/must_fail/job_parallel_*.yaml. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "job/job_choice.h"
#include "job/job_fields.h"
#include "job/resolve.h"

static const char text[] = "model: mlp\ndata: {set: digits}\nbatch: 64\nepochs: 1\nranks: 8\noptimiser: {lr: 0.1}\n"
                           "kernels: reference\nparallel:\n  layers: [fc1]\n";

static tutti_job *parse(const char *first, const char *second)
{
    tutti_job *job = NULL;
    tutti_failure err = {0};
    const char *const overrides[] = {first, second};
    if (tutti_job_parse("job.yaml", text, sizeof text - 1, overrides, second ? 2 : first ? 1 : 0, &job, &err))
        fail_msg("%s", err.text);
    return job;
}

static int parts_of(const char *first, const char *second, int nranks)
{
    tutti_resolved r = {0};
    tutti_failure err = {0};
    tutti_job *job = parse(first, second);
    if (tutti_job_resolve(job, &(tutti_job_seat){.nranks = nranks}, &r, &err)) fail_msg("%s", err.text);
    const int parts = tutti_graph_parts(r.graph);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return parts;
}

static void expect_refusal(const char *first, const char *second, int nranks, const char *words)
{
    tutti_resolved r = {0};
    tutti_failure err = {0};
    tutti_job *job = parse(first, second);
    assert_int_equal(tutti_job_resolve(job, &(tutti_job_seat){.nranks = nranks}, &r, &err), TUTTI_ERR_USAGE);
    if (!strstr(err.text, words)) fail_msg("expected '%s' in: %s", words, err.text);
    tutti_job_destroy(job);
}

static void groups_are_as_many_as_the_job_says(void **state)
{
    (void)state;
    assert_int_equal(parts_of("parallel.groups=1", NULL, 8), 8);
    assert_int_equal(parts_of("parallel.groups=2", NULL, 8), 4);
    assert_int_equal(parts_of("parallel.groups=8", NULL, 8), 1); /* data parallel */
    assert_int_equal(parts_of("parallel.groups=2", NULL, 1), 1); /* nobody to share with */
}

/* fc1 of 784 inputs, whose gradient nobody wants, and 128 outputs: 100,480 parameters. In groups of g of 8 ranks one
 * receives for a batch of b (g - 1) b / 8 (784 + 2 * 128 / g) numbers of activations, 2 (8 / g - 1) / (8 / g) * 100,480
 * / g of parameters. For b = 64: 175,840 (g = 1), 82,656 (2), 45,472 (4), 45,696 (8); for b = 512 activations weigh
 * eight times as much: 133,728 (2), 187,936 (4); for b = 16 8: 11,424. */
static void auto_takes_what_brings_a_rank_least(void **state)
{
    (void)state;
    assert_int_equal(parts_of(NULL, NULL, 8), 4);
    assert_int_equal(parts_of("batch=512", NULL, 8), 2);
    assert_int_equal(parts_of("batch=16", NULL, 8), 8);
    assert_int_equal(parts_of("batch=8192", NULL, 8), 1);
    assert_int_equal(parts_of(NULL, NULL, 1), 1);
}

/* The paper's own case: a layer of 4,096 inputs and outputs, 256 samples, 64 nodes. Its balance is at 2 groups (2.8
 * where sending and receiving overlap); numbers that a rank receives: 2,096,640 (one group), 1,571,840 (2), 2,095,104
 * (4), 33,030,144 data parallel. */
static void the_balance_of_the_paper_is_at_two_groups(void **state)
{
    (void)state;
    const tutti_split_layer fc = {.ninputs = 4096, .noutputs = 4096, .nparams = 4096 * 4096, .wants_input_grads = true};
    static const int64_t want[] = {2096640, 1571840, 2095104};
    for (int i = 0; i < 3; i++) {
        const tutti_split_volume v = tutti_split_volume_of(&fc, 64, 256, 64 >> i);
        assert_int_equal(v.activations + v.params, want[i]);
    }
    const tutti_split_volume alone = tutti_split_volume_of(&fc, 64, 256, 1);
    assert_int_equal(alone.activations, 0);
    assert_int_equal(alone.params, 2 * (int64_t)4096 * 4096 * 63 / 64);
}

/* fc2 has 10 outputs: two ranks can share them, four cannot. */
static void auto_passes_over_groups_that_cannot_share(void **state)
{
    (void)state;
    assert_int_equal(parts_of("parallel.layers=fc1,fc2", NULL, 8), 2);
    assert_int_equal(parts_of("parallel.layers=fc1,fc2", "batch=16", 8), 2);
}

static void layers_that_nobody_can_share_are_refused_with_the_place(void **state)
{
    (void)state;
    expect_refusal("parallel.layers=fc1,fc3", NULL, 8,
                   "--set parallel.layers=fc1,fc3: parallel.layers: model mlp has no layer 'fc3'; did you mean 'fc1'?");
    expect_refusal("parallel.layers=logits", NULL, 8, "model mlp has no layer 'logits'; 'tutti graph JOB' lists");
    expect_refusal("parallel.layers=relu1", NULL, 8, "layer 'relu1' is relu: only the outputs of dense layers");
    expect_refusal("parallel.layers=relu1", "fuse=false", 8, "layer 'relu1' is relu: only the outputs of dense layers");
    expect_refusal("parallel.layers=fc1,fc1", NULL, 8, "layer 'fc1' is there twice");
    expect_refusal("parallel.layers=nobody", NULL, 1, "model mlp has no layer 'nobody'");
    expect_refusal("parallel.layers=fc2", "parallel.groups=2", 8,
                   "the 10 outputs of layer 'fc2' cannot be shared evenly by the 4 ranks of a group; leave it out, or "
                   "take more groups: by 2 ranks they can");
    expect_refusal("parallel.groups=2", "batch=72", 3,
                   "--set parallel.groups=2: parallel.groups: 3 ranks do not make 2 groups of one size; use 1 or 3");
}

static void the_place_of_a_line_is_said_too(void **state)
{
    (void)state;
    tutti_job *job = NULL;
    tutti_resolved r = {0};
    tutti_failure err = {0};
    char wrong[sizeof text];
    memcpy(wrong, text, sizeof text);
    *strstr(wrong, "fc1]") = 'F';
    if (tutti_job_parse("job.yaml", wrong, sizeof text - 1, NULL, 0, &job, &err)) fail_msg("%s", err.text);
    assert_int_equal(tutti_job_resolve(job, &(tutti_job_seat){0}, &r, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text,
                        "job.yaml: line 9: parallel.layers: model mlp has no layer 'Fc1'; did you mean 'fc1'?");
    tutti_job_destroy(job);
}

/* Resolves a job that says nothing about shared layers, for a rank of eight on four hosts. */
static void resolve_rank(const tutti_job *job, int rank, tutti_resolved *out)
{
    static const int32_t host_of[] = {0, 0, 1, 1, 2, 2, 3, 3};
    tutti_failure err = {0};
    const tutti_job_seat seat = {.rank = rank, .nranks = 8, .host_of = host_of};
    if (tutti_job_resolve(job, &seat, out, &err)) fail_msg("%s", err.text);
    assert_int_equal(tutti_graph_parts(out->graph), 1);
}

/* One rank chooses, another takes the choice: both have one plan, which is right. Without the choice the plan is the
 * one before. */
static void chosen_groups_make_one_plan_on_all_ranks(void **state)
{
    (void)state;
    static const char open[] = "model: mlp\nbatch: 64\nsteps: 1\nranks: 8\noptimiser: {lr: 0.1}\nkernels: reference\n";
    tutti_job *job = NULL;
    tutti_resolved first, other;
    tutti_topology t;
    tutti_job_choice choice;
    tutti_failure err = {0};
    if (tutti_job_parse("job.yaml", open, sizeof open - 1, NULL, 0, &job, &err)) fail_msg("%s", err.text);
    assert_true(tutti_job_shares_auto(job) && !tutti_job_shares(job));
    if (tutti_topology_parse("cluster,hosts=4,ranks=2,nic=100Mb", &t, &err)) fail_msg("%s", err.text);
    resolve_rank(job, 0, &first);
    resolve_rank(job, 5, &other);
    const uint64_t before = tutti_plan_hash(other.plan);
    if (tutti_job_choose(job, &(tutti_job_choice_by){.topology = &t}, &first, &choice, &err)) fail_msg("%s", err.text);
    assert_true(tutti_graph_parts(first.graph) > 1);
    tutti_job *with = tutti_job_with(job, choice.text), *apart = tutti_job_with(job, "parallel.layers=[]\n");
    assert_true(with && apart && tutti_job_shares(with) && !tutti_job_shares(apart));
    if (tutti_job_replan(with, &other, &err)) fail_msg("%s", err.text);
    assert_true(tutti_plan_hash(first.plan) == tutti_plan_hash(other.plan));
    if (tutti_plan_check(other.plan, &err)) fail_msg("%s", err.text);
    if (tutti_job_replan(apart, &other, &err)) fail_msg("%s", err.text);
    assert_true(tutti_plan_hash(other.plan) == before);
    free(choice.text);
    tutti_job_forget(with), tutti_job_forget(apart);
    tutti_resolved_release(&first), tutti_resolved_release(&other);
    tutti_job_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_as_many_as_the_job_says),
        cmocka_unit_test(chosen_groups_make_one_plan_on_all_ranks),
        cmocka_unit_test(auto_takes_what_brings_a_rank_least),
        cmocka_unit_test(the_balance_of_the_paper_is_at_two_groups),
        cmocka_unit_test(auto_passes_over_groups_that_cannot_share),
        cmocka_unit_test(layers_that_nobody_can_share_are_refused_with_the_place),
        cmocka_unit_test(the_place_of_a_line_is_said_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
