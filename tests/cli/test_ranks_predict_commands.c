/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_predict_commands.c: `tutti predict`, `papers` and `coll explain` as a user types them: output, codes,
 * words. */
#include "testing.h"

#include <math.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "command_line.h"
#include "tutti/topology.h"

typedef struct {
    char profile[64]; /* a file that does not exist yet */
} fixture;

static int fixture_make(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    snprintf(f->profile, sizeof f->profile, "/tmp/tutti-profile-%d.jsonl", (int)getpid());
    setenv("TUTTI_TOPOLOGY", "/nonexistent/host.topology", 1); /* figures as assumed, whatever this host was tuned to */
    return 0;
}

static int fixture_free(void **state)
{
    fixture *f = *state;
    unlink(f->profile);
    free(f);
    return 0;
}

static void papers_shows_published_and_ours_and_passes_nothing_recalled(void **state)
{
    (void)state;
    char *text = command_says("papers --dir papers", 0, "as recalled");
    assert_non_null(strstr(text, "2046"));
    assert_non_null(strstr(text, "186"));
    assert_null(strstr(text, " pass"));
    free(text);
    expect("papers --dir papers --json jia2018-hierarchical", 0, "\"published\":186,\"ours\":186");
    expect("papers --dir papers nobody2030", 2, "nobody2030.yaml");
    expect("papers --dir tests", 2, "no page");
    expect("papers --help", 0, "usage: tutti papers");
}

static void explain_names_its_choice_and_the_bound(void **state)
{
    (void)state;
    expect("coll explain --bytes 4 --ranks 4 --topology star,bw=10Gb,lat=5us", 0, "choice: one-shot");
    expect("coll explain --bytes 100MB --ranks 8 --topology star,bw=10Gb,lat=5us", 0, "best bound (bandwidth)");
    expect("coll explain --bytes 1MB --ranks 4", 0, "choice: direct");
    expect("coll explain --bytes 1MB --ranks 4 --json", 0, "\"chosen\":true");
    expect("coll explain --ranges --ranks 8 --topology star", 0, "one-shot");
    expect("coll explain --ranges --ranks 8 --topology star --json", 0, "\"first_bytes\":4");
    expect("coll explain --ranges --policy hybrid --ranks 64 --topology star,bw=100Gb", 0, "hierarchical,group=5");
    expect("coll explain --policy hybird --bytes 4 --ranks 4", 2, "fastest, hybrid");
    expect("coll explain --bytes 1MB --ranks 4096 --topology star", 0, "thousand steps");
    expect("coll explain --ranks 4", 2, "--bytes is missing");
    expect("coll explain --bytes 1MB --topology mesh", 2, "no kind 'mesh'");
    expect("coll explain --bytes 1MB --topology star,bw=10", 2, "bw=10Gb");
    expect("coll explain --bytes 1MB --collective alltoall", 2, "did you mean 'all-to-all'?");
    expect("coll explain --bytes 4 --ranks 1", 0, "choice: direct, 0 s; "); /* not nan times faster than the next */
    expect("coll explain --bytes 100MB --ranks 8 --topology star,bw=10GbE,lat=5us", 0,
           "choice: ring, 148.8 ms; 6 tie with it: within a thousandth the earlier row is taken; the next, torus");
    expect("coll explain --bytes 100MB --ranks 8 --topology star,bw=10GbE,lat=5us", 0, "up(0) 94%  tie\n");
    expect("coll explain --bytes 100MB --ranks 8 --topology star,bw=10GbE,lat=5us --json", 0, "\"tie\":true");
    expect("coll explain --bytes 4 --ranks 4 --svg /tmp/x.svg --engine all", 2, "leave --engine out");
    expect("coll explain --bytes 4 --svg /tmp/x.svg examples/mlp.yaml", 2, "--svg is for all algorithms");
    expect("coll explain --bytes 4 star", 2, "no file");
    expect("coll explain --bytes 4 ring", 2, "'ring' is one of them");
    expect("coll explain --bytes 4 a.xml b.xml", 2, "unexpected argument 'b.xml'");
    expect("coll explian", 2, "did you mean 'explain'");
    expect("coll explain --help", 0, "usage: tutti coll explain");
}

static void the_trace_among_the_examples_foretells_weak_scaling(void **state)
{
    (void)state;
    char *text = command_says("predict examples/resnet50/job.yaml --trace examples/resnet50/layers.txt --ranks 1,2 "
                              "--topology star,bw=1Gb,lat=50us --set kernels=reference --set exchange.algorithm=rule "
                              "--set exchange.buckets=size --set exchange.order=ready --set exchange.update=sharded "
                              "--set exchange.update_when=late",
                              0, "a step of 102.441 MB in all");
    assert_non_null(strstr(
        text,
        "831.365")); /* two halves of 102.441 MB at 1 Gbit/s, 66 times two latencies, and that of the control numbers */
    free(text);
}

static void predict_prints_a_row_for_each_rank_count(void **state)
{
    fixture *f = *state;
    char arguments[300];
    snprintf(arguments, sizeof arguments, "predict examples/mlp.yaml --ranks 1,2,4 --json - --save-profile %s",
             f->profile);
    char *text = command_says(arguments, 0, "\"ranks\":4");
    int lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        cJSON *row = cJSON_Parse(line);
        double step = cJSON_GetObjectItem(row, "step_s")->valuedouble;
        assert_true(step > 0 && step >= cJSON_GetObjectItem(row, "lower_s")->valuedouble * (1 - 1e-9));
        assert_true(step <= cJSON_GetObjectItem(row, "upper_s")->valuedouble * (1 + 1e-9));
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "measured_s")));
        assert_true(cJSON_IsString(cJSON_GetObjectItem(row, "algorithm")));
        assert_true(cJSON_IsString(cJSON_GetObjectItem(row, "bottleneck")));
        assert_true(cJSON_IsNumber(cJSON_GetObjectItem(row, "exchange_s")));
        assert_true(cJSON_IsNumber(cJSON_GetObjectItem(row, "exposed_s")));
        assert_true(cJSON_IsNumber(cJSON_GetObjectItem(row, "bytes_per_rank")));
        assert_null(cJSON_GetObjectItem(row, "step_ms")); /* each time stands there once, in seconds */
        cJSON_Delete(row);
    }
    assert_int_equal(lines, 3);
    free(text);
    snprintf(arguments, sizeof arguments, "predict examples/mlp.yaml --ranks 1,2,4 --profile %s", f->profile);
    expect(arguments, 0, "efficiency");
    snprintf(arguments, sizeof arguments, "predict examples/mlp.yaml --ranks 1 --profile %s --set batch=12",
             f->profile);
    expect(arguments, 3, "12 samples");
}

/* The counts that are asked for are the ranks, whatever the job says of its own. */
static void predict_takes_rows_that_do_not_serve_every_count(void **state)
{
    fixture *f = *state;
    char arguments[400];
    snprintf(
        arguments, sizeof arguments,
        "predict examples/mlp.yaml --ranks 1,2,8 --topology star --set exchange.algorithm=split-rail,group=4 --set "
        "kernels=reference --set parallel.layers= --json %s",
        f->profile);
    expect(arguments, 0, "    2 exchange");
    FILE *file = fopen(f->profile, "r");
    assert_non_null(file);
    char *text = read_stream(file);
    fclose(file);
    assert_non_null(strstr(text, "\"ranks\":2,\"refused\":\""));
    assert_non_null(strstr(text, "\"algorithm\":\"split-rail,group=4\""));
    free(text);
    expect("predict examples/mlp.yaml --ranks 2 --topology star --set exchange.algorithm=split-rail,group=4", 2,
           "group");
    expect("predict examples/mlp.yaml --ranks 8 --topology star --set parallel.layers=fc1 --set parallel.groups=4", 0,
           "8 ranks in 4 groups");
    expect("predict examples/mlp.yaml --ranks 4 --set exchange.algorithm=ring,size=3", 2, "no parameters");
    expect("predict examples/mlp.yaml --json", 2, "--json");
}

static void every_kind_of_topology_is_named(void **state)
{
    (void)state;
    static const char *const commands[] = {"predict --help", "coll explain --help", "plan --help"};
    for (int i = 0; i < 3; i++) {
        char *text = command_says(commands[i], 0, "usage:");
        for (char *at = text; *at; at++)
            if (*at == '\n') *at = ' ';
        for (int k = 0; k < tutti_topology_nkinds(); k++)
            if (!strstr(text, tutti_topology_kind_name((tutti_topology_kind)k)))
                fail_msg("tutti %s does not name %s", commands[i], tutti_topology_kind_name((tutti_topology_kind)k));
        free(text);
    }
}

static void predict_says_how_and_why(void **state)
{
    (void)state;
    const char *eight = "predict examples/resnet50/job.yaml --trace examples/resnet50/layers.txt --topology "
                        "cluster,hosts=2,ranks=4 --ranks 8";
    char arguments[400];
    expect(eight, 0, "8 ranks exchange by split-rail,group=4; a bucket of 4 KiB takes");
    expect(eight, 0, "Assumed, as examples/resnet50/layers.txt does not say it");
    snprintf(arguments, sizeof arguments, "%s --set exchange.algorithm=direct --max-fan-in 3", eight);
    expect(arguments, 2, "4 ranks send to one rank of another host at a time, and at most 3 may");
    expect("predict examples/resnet50/job.yaml --trace examples/resnet50/layers.txt --ranks 1,2 --topology "
           "star,bw=100GB/s,lat=1us",
           0, "Efficiency above 100 %");
    expect("predict examples/mlp.yaml --topology star,bw=25GbE,lat=5\xc2\xb5s --max-fan-in 0", 2, "--max-fan-in");
}

/* F(x) = x - 0.5. */
static void predict_says_how_steps_of_a_trace_differ(void **state)
{
    fixture *f = *state;
    char arguments[400];
    FILE *file = fopen(f->profile, "w");
    fputs("Id Name Forward Backward Comm Size\n0 fc1 1000 2000 0 401920\n1 fc2 10 20 0 5160\n"
          "2 softmax-cross-entropy1 1 1 0 0\n# step_spread 0.5 1.5\n",
          file);
    assert_int_equal(fclose(file), 0);
    const char *const job = "predict examples/mlp.yaml --topology star,bw=1Gb --trace";
    snprintf(arguments, sizeof arguments, "%s %s --ranks 1,2", job, f->profile);
    expect(arguments, 0, "computing takes 1.000 times its mean at 1, 1.207 at 2.\n");
    expect(arguments, 0, "Not in the model: other noise, stragglers,");
    snprintf(arguments, sizeof arguments, "%s %s --ranks 2 --json -", job, f->profile);
    expect(arguments, 0, "\"spread\":1.207106781186");
    snprintf(arguments, sizeof arguments, "%s %s --ranks 2 --set method.name=async-sgd", job, f->profile);
    expect(arguments, 0, "Not in the model: noise, stragglers,");
}

static double compute_of(const char *options, const char *profile)
{
    char arguments[400];
    snprintf(arguments, sizeof arguments,
             "predict examples/mlp.yaml --ranks 2 --topology star,bw=1Gb --set exchange.update=sharded --set "
             "exchange.update_when=late --json - %s %s",
             options, profile);
    char *text = command_says(arguments, 0, "\"compute_s\"");
    cJSON *row = cJSON_Parse(text);
    const double compute_s = cJSON_GetObjectItem(row, "compute_s")->valuedouble;
    cJSON_Delete(row);
    free(text);
    return compute_s;
}

static void predict_takes_slow_ranks(void **state)
{
    fixture *f = *state;
    char known[200];
    compute_of("--save-profile", f->profile);
    snprintf(known, sizeof known, "--profile %s", f->profile);
    const double plain = compute_of("", known), slow = compute_of("--slow 0=2 --slow 1=4", known);
    const double by_arrival = compute_of("--set method.name=async-easgd --slow 1=4", known),
                 alone = compute_of("--set method.name=async-easgd", known);
    assert_true(fabs(slow / plain - 4) < 1e-6);
    assert_true(fabs(by_arrival / alone - 2 / 1.25) < 1e-6); /* one and a quarter do the work of two */
    char arguments[300];
    snprintf(arguments, sizeof arguments, "predict examples/mlp.yaml --ranks 1,2 --topology star --slow 1=2.5 %s",
             known);
    expect(arguments, 0, "Slow on purpose: rank 1 2.5 times; all ranks wait for the slowest.");
}

static void predict_usage_errors_end_with_code_2(void **state)
{
    (void)state;
    expect("predict", 2, "one job file");
    expect("predict examples/mlp.yaml --ranks 2 --weak --layers --topology star,bw=1Gb --set kernels=reference", 0,
           "FLOP/byte");
    expect("predict examples/mlp.yaml --ranks 2 --layers --json - --set kernels=reference", 0, "\"layer\":\"fc1\"");
    expect("predict examples/mlp.yaml --trace docs/jobs.md", 3, "docs/jobs.md");
    expect("predict examples/nothing.yaml", 2, "examples/nothing.yaml");
    expect("predict examples/mlp.yaml --topology star,lat=fast", 2, "lat=5us");
    expect("predict examples/mlp.yaml --topology star --measure", 2, "this host");
    expect("predict examples/mlp.yaml --ranks 7", 2, "batch");
    expect("predict examples/mlp.yaml --rank 2", 2, "did you mean '--ranks'");
    expect("predict examples/mlp.yaml --ranks 1,2 --slow 2=3", 2, "--slow 2=3: there are ranks 0 to 1");
    expect("predict examples/mlp.yaml --ranks 2 --slow 1=0.5", 2, "RANK=FACTOR with a factor of 1 to 1000");
    expect("predict examples/mlp.yaml --ranks 2 --slow 1", 2, "RANK=FACTOR");
    expect("predict examples/mlp.yaml --ranks 2 --slow 1=2 --measure", 2, "tutti train --slow");
    expect("predict --help", 0, "usage: tutti predict");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(papers_shows_published_and_ours_and_passes_nothing_recalled, fixture_make,
                                        fixture_free),
        cmocka_unit_test_setup_teardown(explain_names_its_choice_and_the_bound, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(the_trace_among_the_examples_foretells_weak_scaling, fixture_make,
                                        fixture_free),
        cmocka_unit_test_setup_teardown(predict_prints_a_row_for_each_rank_count, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(predict_takes_rows_that_do_not_serve_every_count, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(every_kind_of_topology_is_named, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(predict_says_how_and_why, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(predict_says_how_steps_of_a_trace_differ, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(predict_takes_slow_ranks, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(predict_usage_errors_end_with_code_2, fixture_make, fixture_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
