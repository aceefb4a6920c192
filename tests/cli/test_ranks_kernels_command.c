/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_kernels_command.c: the keys kernels.name and kernels.tuned as a user types them: what a tune file says is
 * chosen on all ranks and said, and files that are missing, damaged or of elsewhere are refused by rank 0 with words,
 * the others with none. */
#include "testing.h"

#include <unistd.h>

#include "command_line.h"
#include "job/job_fields.h"
#include "job/resolve.h"
#include "kernel/tune/tune_file.h"

static const char job_text[] = "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 16}\nbatch: 16\n"
                               "steps: 2\nranks: 2\nfuse: false\noptimiser: {lr: 0.1}\n";

typedef struct {
    char dir[32], job[64], tuned[64];
} folder;

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Times by which the ReLU of 8 samples is best left to plain loops: every build has both. */
static void write_tuned(const char *path, const tutti_tune_place *place)
{
    static const tutti_tuned_entry entries[] = {{"relu", "8x128", "f32", "forward", "reference", 1e-6},
                                                {"relu", "8x128", "f32", "forward", "lanes", 3e-6},
                                                {"relu", "8x128", "f32", "data", "reference", 2e-6},
                                                {"relu", "8x128", "f32", "data", "lanes", 4e-6}};
    tutti_tune_file f = {.place = *place};
    tutti_failure err = {0};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) tutti_tune_file_add(&f, &entries[i]);
    if (tutti_tune_file_write(&f, path, &err)) fail_msg("%s", err.text);
    tutti_tune_file_release(&f);
}

static int make_folder(void **state)
{
    static folder f;
    const tutti_tune_place here = tutti_tune_here(1);
    strcpy(f.dir, "/tmp/tutti_kernels_XXXXXX");
    if (!mkdtemp(f.dir)) return -1;
    snprintf(f.job, sizeof f.job, "%s/job.yaml", f.dir);
    snprintf(f.tuned, sizeof f.tuned, "%s/here.tune", f.dir);
    put(f.job, job_text);
    write_tuned(f.tuned, &here);
    *state = &f;
    return 0;
}

static int drop_folder(void **state)
{
    const folder *f = *state;
    char line[80];
    snprintf(line, sizeof line, "rm -r %s", f->dir);
    return system(line);
}

static void says(const folder *f, const char *command, const char *more, int code, const char *words)
{
    char line[400];
    snprintf(line, sizeof line, "%s %s %s", command, f->job, more);
    expect(line, code, words);
}

static void measured_times_choose_and_are_said(void **state)
{
    const folder *f = *state;
    char more[200];
    says(f, "plan", "", 0, "layers: one candidate of known time fits, beside plain loops\n");
    snprintf(more, sizeof more, "--set kernels.tuned=%s", f->tuned);
    says(f, "plan", more, 0, "  relu1                    forward data        reference  measured 0.003 ms");
    says(f, "train", strcat(more, " --dry-run"), 0,
         "#   relu1                    forward data        reference  measured");
    snprintf(more, sizeof more, "--out %s/out --set kernels.tuned=%s", f->dir, f->tuned);
    says(f, "train", more, 0, "relu by reference 2 ('tutti plan' says why)\n");
}

static void a_run_goes_on_by_other_kernels_unless_its_sums_are_canonical(void **state)
{
    const folder *f = *state;
    char more[200];
    snprintf(more, sizeof more, "--out %s/other --set steps=1", f->dir);
    says(f, "train", more, 0, "");
    snprintf(more, sizeof more, "--out %s/other --set kernels=reference", f->dir);
    says(f, "train", more, 0, "resuming by another plan");
    snprintf(more, sizeof more, "--out %s/same --set steps=1 --set reduction=canonical --set slots=2", f->dir);
    says(f, "train", more, 0, "");
    snprintf(more, sizeof more, "--out %s/same --set reduction=canonical --set slots=2 --set kernels=reference",
             f->dir);
    says(f, "train", more, 2, "was trained by another job: kernels.name");
}

/* Once, however many ranks there are. */
static void refuses(const folder *f, const char *file, int code, const char *words)
{
    char line[400];
    snprintf(line, sizeof line, "train %s --out %s/refused --set kernels.tuned=%s", f->job, f->dir, file);
    char *text = command_says(line, code, words), *first = strstr(text, words);
    assert_null(strstr(first + 1, words));
    free(text);
}

static void other_files_are_refused_once(void **state)
{
    const folder *f = *state;
    char path[80];
    tutti_tune_place there = tutti_tune_here(3);
    snprintf(path, sizeof path, "%s/none.tune", f->dir);
    refuses(f, path, 2, "kernels.tuned: ");
    snprintf(path, sizeof path, "%s/empty.tune", f->dir);
    put(path, "");
    refuses(f, path, 3, "kernels.tuned: ");
    snprintf(path, sizeof path, "%s/damaged.tune", f->dir);
    put(path, "tutti tuned kernels 1\nchecksum: 0000000000000000\n");
    refuses(f, path, 3, "kernels.tuned: ");
    snprintf(path, sizeof path, "%s/threads.tune", f->dir);
    write_tuned(path, &there);
    refuses(f, path, 3, "kernels.tuned: ");
}

/* What rank 0 has sent counts: this rank needs no file, and does not look at whose processor it is. */
static void the_text_of_rank_0_counts(void **state)
{
    const folder *f = *state;
    tutti_failure err = {0};
    tutti_job *job = NULL;
    tutti_job_times *times = NULL;
    tutti_strbuf text = {0};
    tutti_tune_file file = {.place = tutti_tune_here(7)};
    const tutti_tuned_entry entry = {"relu", "8x128", "f32", "forward", "reference", 1e-6};
    const char *const overrides[] = {"kernels.tuned=/nowhere/there.tune"};
    tutti_tune_file_add(&file, &entry);
    tutti_tune_file_print(&file, &text);
    if (tutti_job_load(f->job, overrides, 1, &job, &err)) fail_msg("%s", err.text);
    assert_int_equal(tutti_job_open_times(job, NULL, &times, &err), TUTTI_ERR_USAGE);
    if (tutti_job_open_times(job, text.text, &times, &err)) fail_msg("%s", err.text);
    assert_int_equal(tutti_job_times_tuned(times)->n, 1);
    assert_true(tutti_job_times_tuned(times)->hash == file.checksum);
    tutti_job_times_close(times);
    tutti_tune_file_release(&file);
    tutti_strbuf_release(&text);
    tutti_job_destroy(job);
}

static void names_that_there_are_not_are_refused(void **state)
{
    const folder *f = *state;
    says(f, "train", "--set kernels=refrence --dry-run", 2,
         "--set kernels=refrence: kernels: 'refrence' is unknown; did you mean 'reference'?");
    says(f, "plan", "--set kernels.name=lanes", 0,
         "relu1                    forward data        lanes      asked for\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(measured_times_choose_and_are_said, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(a_run_goes_on_by_other_kernels_unless_its_sums_are_canonical, make_folder,
                                        drop_folder),
        cmocka_unit_test_setup_teardown(other_files_are_refused_once, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(the_text_of_rank_0_counts, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(names_that_there_are_not_are_refused, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
