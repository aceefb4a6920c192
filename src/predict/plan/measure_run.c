/* SPDX-License-Identifier: Apache-2.0 */
/* measure_run.c: runs `tutti train` as a child for a short time and reads the step times that it logs. */
#include "measure_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/file.h"
#include "../../base/host/program.h"
#include "../../base/process.h"
#include "../../base/sort.h"
#include "../../metrics/metrics.h"

enum { MAX_ARGUMENTS = 160, SKIPPED_LINES = 2 };

/* The run logs ten lines of twenty steps each. Its test is short, because nobody reads its result. */
static const char *const settings[] = {"epochs=0", "steps=200", "log_every=20", "data.test_samples=256"};
enum { NSETTINGS = sizeof settings / sizeof settings[0] };

static tutti_status child_run(const char *const *argv, tutti_failure *err)
{
    const tutti_process_options options = {.argv = argv, .program = TUTTI_PROCESS_SELF, .out = TUTTI_STREAM_NOTHING};
    tutti_process child;
    char words[TUTTI_PROCESS_WORDS];
    tutti_status st = tutti_process_start(&options, &child, err);
    if (st) return tutti_fail_at(err, "cannot start a run");
    tutti_process_wait(&child, (double)INFINITY);
    if (!child.code) return TUTTI_OK;
    tutti_process_words(&child, words);
    return tutti_fail(err, tutti_process_status(&child), "the measured run %s; its words stand above", words);
}

static tutti_status median_step(const char *folder, double *step_s, tutti_failure *err)
{
    char path[4200];
    tutti_run_lines lines;
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    tutti_status st = tutti_run_lines_read(path, &lines, err);
    const int n = lines.times.n - SKIPPED_LINES;
    if (!st && n < 1) st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: no step times", path);
    if (!st) {
        tutti_sort_doubles(lines.times.y + SKIPPED_LINES, (size_t)n);
        *step_s = 1e-3 * lines.times.y[SKIPPED_LINES + n / 2];
    }
    tutti_run_lines_release(&lines);
    return st;
}

tutti_status tutti_measure_run(const char *job, int nranks, const char *const *overrides, int noverrides,
                               double *step_s, tutti_failure *err)
{
    char *folder, ranks[16];
    tutti_status st = tutti_program_folder(&folder, err);
    if (st) return st;
    snprintf(ranks, sizeof ranks, "%d", nranks);
    const char *argv[MAX_ARGUMENTS] = {"tutti", "train", job, "--ranks", ranks, "--out", folder, "--fresh", "--quiet"};
    int n = 9;
    for (int i = 0; i < noverrides + NSETTINGS && n < MAX_ARGUMENTS - 2; i++) {
        argv[n++] = "--set";
        argv[n++] = i < noverrides ? overrides[i] : settings[i - noverrides];
    }
    st = child_run(argv, err);
    if (!st) st = median_step(folder, step_s, err);
    tutti_file_remove_tree(folder, NULL);
    free(folder);
    return st;
}
