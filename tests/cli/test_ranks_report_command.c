/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_report_command.c: `tutti train --trace` and `tutti report` as commands. */
#include "testing.h"

#include "command_line.h"
#include "training/run/spawned_run.h"

static const char job[] = "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 30}\nbatch: 16\nsteps: 8\n"
                          "log_every: 2\noptimiser: {rule: momentum, lr: 0.02}\ntrace: {warmup: 3}\n";

static void train_line(const run_folder *f, const char *more, char out[512])
{
    char path[160];
    snprintf(out, 512, "train %s --ranks 2 --out %s/out %s", run_file(f, "job.yaml", job, path), f->dir, more);
}

static bool is_there(const run_folder *f, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/out/%s", f->dir, name);
    return access(path, F_OK) == 0;
}

static void a_traced_run_says_where_its_trace_is_and_report_draws_its_layers(void **state)
{
    const run_folder *f = *state;
    char line[512], path[200];
    train_line(f, "--trace 4", line);
    expect(line, 0, "traced steps 4 to 7: ");
    assert_true(is_there(f, "trace.json"));
    snprintf(line, sizeof line, "report %s/out", f->dir);
    expect(line, 0, "out/layers.svg\nsparsity  ");
    expect(line, 0, "out/sparsity.svg\nwhere the time went (mean of 2 ranks)\n");
    assert_true(is_there(f, "layers.svg"));
    expect(line, 0, "  forward and backward ");

    snprintf(path, sizeof path, "%s/out/layers.txt", f->dir);
    assert_int_equal(truncate(path, 60), 0);
    expect(line, TUTTI_ERR_DATA, "layers.txt: line 2: ");
}

static void a_run_without_a_trace_is_reported_without_layers(void **state)
{
    const run_folder *f = *state;
    char line[512];
    train_line(f, "--set tensorboard=false", line);
    expect(line, 0, "where the time went");
    snprintf(line, sizeof line, "report %s/out", f->dir);
    expect(line, 0, "out/report.svg\nsparsity  ");
    assert_false(is_there(f, "layers.svg"));
    assert_false(is_there(f, "trace.json"));
}

static void a_run_that_diverged_says_so_to_the_end(void **state)
{
    const run_folder *f = *state;
    char line[512];
    train_line(f,
               "--set optimiser.lr=1000000 --set data.std=0.00001 --set steps=40 --set tensorboard=false "
               "--set on_nan=continue",
               line);
    expect(line, 0, "step 40 loss nan accuracy");
    expect(line, 0, "step 40 loss nan accuracy"); /* nothing was saved: from the beginning */
    snprintf(line, sizeof line, "report %s/out", f->dir);
    expect(line, 0, "loss      not finite\naccuracy");
    expect(line, 0, "\ndiverged  at step ");
}

static int count_event_files(const run_folder *f)
{
    char path[200];
    int n = 0;
    snprintf(path, sizeof path, "%s/out", f->dir);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *e = readdir(folder); e; e = readdir(folder)) n += strstr(e->d_name, "tfevents") != NULL;
    closedir(folder);
    return n;
}

static void event_files_are_written_unless_the_job_says_no(void **state)
{
    const run_folder *f = *state;
    char line[512];
    train_line(f, "--quiet", line);
    expect(line, 0, "weights ");
    assert_int_equal(count_event_files(f), 1);
    expect(line, 0, "weights "); /* nothing left to do, nothing to say */
    assert_int_equal(count_event_files(f), 1);
    train_line(f, "--quiet --fresh --set tensorboard=false", line);
    expect(line, 0, "weights ");
    assert_int_equal(count_event_files(f), 0);
}

static void a_trace_that_is_no_number_of_steps_is_refused(void **state)
{
    const run_folder *f = *state;
    char line[512];
    train_line(f, "--trace many", line);
    expect(line, TUTTI_ERR_USAGE, "trace.steps");
    train_line(f, "--trace 100000", line);
    expect(line, TUTTI_ERR_USAGE, "trace.steps");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_traced_run_says_where_its_trace_is_and_report_draws_its_layers,
                                        run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(a_run_without_a_trace_is_reported_without_layers, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_run_that_diverged_says_so_to_the_end, run_folder_make, run_folder_drop),
        cmocka_unit_test_setup_teardown(event_files_are_written_unless_the_job_says_no, run_folder_make,
                                        run_folder_drop),
        cmocka_unit_test_setup_teardown(a_trace_that_is_no_number_of_steps_is_refused, run_folder_make,
                                        run_folder_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
