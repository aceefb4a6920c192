/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_plan_commands.c: `tutti graph` and `tutti plan` as a user types them: output, exit codes, words. */
#include "testing.h"

#include "command_line.h"

static void graph_and_plan_print_and_draw_every_example(void **state)
{
    (void)state;
    static const char *const jobs[] = {"mlp", "lenet", "canonical", "lenet-mnist", "lenet-local", "lenet-hybrid"};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        char arguments[200];
        snprintf(arguments, sizeof arguments, "graph examples/%s.yaml --set kernels=reference", jobs[i]);
        expect(arguments, 0, "exchange        @stop");
        snprintf(arguments, sizeof arguments, "plan examples/%s.yaml --set kernels=reference", jobs[i]);
        expect(arguments, 0, "wait weights of bucket 0");
        strcat(arguments, " --dot");
        expect(arguments, 0, "digraph");
    }
}

static void ranks_see_one_hash_and_their_own_share(void **state)
{
    (void)state;
    char hash[17] = "";
    for (int r = 0; r < 3; r++) {
        char arguments[200], share[80];
        snprintf(arguments, sizeof arguments,
                 "plan examples/canonical.yaml --ranks 3 --rank %d --set kernels=reference --set batch=48", r);
        snprintf(share, sizeof share, "samples: %d .. %d of each batch", 8 * r / 3 * 6, 8 * (r + 1) / 3 * 6 - 1);
        char *text = command_says(arguments, 0, share), *at = strstr(text, "hash ");
        if (r) assert_memory_equal(hash, at + 5, 16);
        memcpy(hash, at + 5, 16);
        free(text);
    }
}

static void shared_layers_are_shown_proved_predicted_and_refused(void **state)
{
    (void)state;
#define SHARED "examples/mlp.yaml --set kernels=reference --set parallel.layers=fc1 "
    expect("graph " SHARED, 0, "split: fc1 by 2 ranks"); /* auto: batch 64 beside 128 outputs */
    expect("plan " SHARED, 0, "split layers: fc1; 1 group of 2 ranks, this rank has part 0 of 2 of their outputs\n");
    expect("plan " SHARED, 0, "       1               2             114.0         0.0       114.0  this plan\n");
    expect("plan " SHARED "--ranks 4 --set parallel.groups=2 --dot", 0, "inputs of fc1, group 0");
    expect("plan check " SHARED "--ranks 4 --set parallel.groups=2", 0,
           "weights: on every rank (of split layers its part, before a test all), of every sample's part exactly one");
    expect("plan check " SHARED, 0, "of these the outputs or gradients of all its ranks, each at its place");
    expect("train " SHARED "--dry-run", 0, "hybrid parallelism: 1 group of 2 ranks, which share fc1\n");
    expect("predict " SHARED "--ranks 1,2,4 --topology star,bw=1Gb,lat=20us", 0,
           "4 ranks in 1 group: of the exchanges ");
    expect("train " SHARED "--set parallel.groups=3", 2,
           "--set parallel.groups=3: parallel.groups: 2 ranks do not make 3 groups; use 2");
    expect("train " SHARED "--set parallel.layers=fc11", 2, "model mlp has no layer 'fc11'; did you mean 'fc1'?");
}

/* The same two numbers from both commands. */
static void each_state_of_the_rule_takes_memory(void **state)
{
    (void)state;
    expect("plan examples/mlp.yaml --set kernels=reference", 0, "momentum        397.6 KiB, saved\n");
    expect("train examples/mlp.yaml --dry-run --set kernels=reference", 0, "momentum 0.41 MB");
    expect("train examples/mlp.yaml --dry-run --set optimiser.rule=sgd --set kernels=reference", 0,
           "gradients 0.41 MB, activations");
    expect("plan examples/mlp.yaml --set optimiser.rule=adamw --set kernels=reference", 0,
           "exp_avg         397.6 KiB, saved\n  exp_avg_sq      397.6 KiB, saved\n");
    expect("train examples/mlp.yaml --dry-run --set optimiser.rule=adamw --set kernels=reference", 0,
           "exp_avg 0.41 MB, exp_avg_sq 0.41 MB, activations");
}

static void plan_check_proves_every_example_at_several_rank_counts(void **state)
{
    (void)state;
    static const char *const cases[] = {"mlp.yaml --ranks 1",
                                        "lenet.yaml",
                                        "lenet.yaml --ranks 8 --set exchange.algorithm=ring",
                                        "lenet.yaml --ranks 7 --set batch=63 --set exchange.algorithm=halving-doubling",
                                        "lenet.yaml --ranks 64 --set exchange.bucket_bytes=0",
                                        "canonical.yaml --ranks 3",
                                        "lenet-local.yaml --ranks 3 --set batch=63",
                                        "lenet-local.yaml --ranks 3 --set batch=63 --set method.name=sync-easgd2",
                                        "lenet-local.yaml --ranks 4 --set method.name=diloco",
                                        "lenet-hybrid.yaml --ranks 4",
                                        "lenet-easgd.yaml --ranks 3 --set batch=63",
                                        "lenet-easgd.yaml --ranks 5 --set batch=60 --set method.name=sync-easgd1",
                                        "lenet.yaml --ranks 5 --set batch=60 --set exchange.update=replicated",
                                        "canonical.yaml --ranks 5 --set model=convnet-bn"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arguments[200];
        snprintf(arguments, sizeof arguments, "plan check examples/%s --set kernels=reference", cases[i]);
        expect(arguments, 0, strstr(cases[i], "canonical") ? "summed once (canonical)" : "two steps of all ranks");
    }
}

static void plan_check_proves_visits(void **state)
{
    (void)state;
    const char *common = "centre touched in visits alone";
    expect("plan check examples/lenet-async.yaml --ranks 3 --set batch=63", 0, common);
    expect("plan check examples/lenet-async.yaml --ranks 4 --set method.name=easgd", 0,
           "all ranks visit equally often");
    expect("plan check examples/mlp.yaml --ranks 2 --set method.name=hogwild-sgd", 0,
           "others change the same meanwhile");
    expect("plan check examples/mlp.yaml --ranks 2 --set method.name=bounded-sgd", 0, common);
    expect("plan examples/lenet-async.yaml", 0, "meet the centre with bucket 0 (last step of a period)");
    expect("plan --dot examples/lenet-async.yaml", 0, "begin a visit");
    expect("plan check examples/lenet-async.yaml --ranks 3 --set batch=63 --hosts 1,2", 0,
           "workers of other hosts, 2: ");
    expect("plan check examples/mlp.yaml --ranks 4 --set method.name=bounded-sgd --hosts 2,1,1", 0,
           "workers of other hosts, 2: ");
    expect("plan examples/lenet-async.yaml --hosts 1,1", 0, "beside, for each visit of a worker of another host");
    expect("plan examples/lenet-async.yaml --hosts 1,1 --rank 1", 0, "wait centre for rank 1 (last step of a period)");
    expect("plan examples/lenet.yaml --ranks 4 --hosts 2,2", 0, "split-rail,group=2");
    /* what is predicted to travel is what does: 431,152 elements of 4 bytes */
    expect("plan examples/lenet-async.yaml --hosts 1,1 --set kernels=reference", 0,
           "broadcast of weights to seat of rank 1 0 + 431152, between ranks 1, 0");
    expect("predict examples/lenet-async.yaml --topology star,bw=1Gb --ranks 2 --set kernels=reference --set batch=2",
           0, "visits of 1.725 MB each way, 0.25 a worker and step");
    expect("train examples/lenet-async.yaml --dry-run", 0, "buckets, visits one at a time, in order of arrival");
}

static void auto_shows_what_exchanges_cost_and_when_they_travel(void **state)
{
    (void)state;
    char *text = command_says("plan examples/mlp.yaml --set exchange.buckets=soonest --set kernels=reference", 0,
                              "0 % of it can run beside");
    if (!strstr(text, "ready ms")) fail_msg("no times of buckets:\n%s", text);
    free(text);
    expect("plan check examples/mlp.yaml --set exchange.buckets=soonest --set kernels=reference "
           "--topology star,bw=1Gb,lat=50us",
           0, "two steps of all ranks");
    expect("plan examples/mlp.yaml --topology star,bw=1Gb --set kernels=reference", 0, "beside the backward pass");
    expect("plan examples/mlp.yaml --topology star --costs docs/jobs.md", 2, "give one");
    expect("plan examples/mlp.yaml --set exchange.buckets=soonest --costs docs/jobs.md", 3, "docs/jobs.md");
}

static void usage_errors_end_with_code_2_and_say_what_would_work(void **state)
{
    (void)state;
    expect("plan examples/lenet.yaml --ranks 3", 2, "batch 63 or 66");
    expect("plan examples/lenet.yaml --rnaks 2", 2, "did you mean '--ranks'?");
    expect("plan examples/canonical.yaml --set exchange.algorithm=ring", 2, "ring cannot make canonical sums");
    expect("plan examples/lenet.yaml --rank 2", 2, "rank 2 is not one of 2");
    expect("plan examples/lenet.yaml --ranks 4 --hosts 2,1", 2,
           "ranks of each host, 4 together, are wanted, such as 2,2");
    expect("plan examples/lenet.yaml --hosts 2,x", 2, "--hosts");
    expect("plan check", 2, "one job file is wanted");
    expect("graph", 2, "one job file is wanted");
    expect("graph examples/nothing.yaml", 2, "examples/nothing.yaml");
    expect("graph --help", 0, "usage: tutti graph JOB.yaml");
    expect("plan --help", 0, "usage: tutti plan ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graph_and_plan_print_and_draw_every_example),
        cmocka_unit_test(ranks_see_one_hash_and_their_own_share),
        cmocka_unit_test(shared_layers_are_shown_proved_predicted_and_refused),
        cmocka_unit_test(each_state_of_the_rule_takes_memory),
        cmocka_unit_test(plan_check_proves_every_example_at_several_rank_counts),
        cmocka_unit_test(plan_check_proves_visits),
        cmocka_unit_test(auto_shows_what_exchanges_cost_and_when_they_travel),
        cmocka_unit_test(usage_errors_end_with_code_2_and_say_what_would_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
