/* SPDX-License-Identifier: Apache-2.0 */
/* measure_run.c: runs this program's own `train` and reads the step times that it logs. */
#include "measure_run.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/host/program.h"
#include "../../base/sort.h"
#include "../../base/text/json.h"

enum { MAX_ARGUMENTS = 160, MAX_METRICS_BYTES = 1 << 24, MAX_LINES = 64, SKIPPED_LINES = 2 };

/* Ten lines of twenty steps each; the test is kept short because nobody reads it. */
static const char *const settings[] = {"epochs=0", "steps=200", "log_every=20", "data.test_samples=256"};
enum { NSETTINGS = sizeof settings / sizeof settings[0] };

static tutti_status child_run(char **argv, tutti_failure *err)
{
    pid_t child = fork();
    if (child < 0) return tutti_fail(err, TUTTI_ERR_FAILED, "cannot start a run: %s", strerror(errno));
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        if (null >= 0) dup2(null, STDOUT_FILENO);
        execv("/proc/self/exe", argv);
        fprintf(stderr, "tutti predict: /proc/self/exe: %s; runs are this program, which is found by /proc\n",
                strerror(errno));
        _exit(TUTTI_ERR_FAILED);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TUTTI_OK;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const tutti_status st = code > 0 && code <= TUTTI_ERR_RENDEZVOUS ? (tutti_status)code : TUTTI_ERR_FAILED;
    return tutti_fail(err, st, "the measured run ended with %s %d; its words stand above",
                      WIFEXITED(status) ? "exit code" : "signal",
                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static tutti_status metrics_read(const char *folder, double *step_s, tutti_failure *err)
{
    char path[4200], *text = NULL, *rest = NULL;
    size_t nbytes;
    double found[MAX_LINES];
    int n = 0, seen = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    tutti_status st = tutti_file_read(path, MAX_METRICS_BYTES, TUTTI_ERR_FAILED, &text, &nbytes, err);
    if (st) return st;
    for (char *line = strtok_r(text, "\n", &rest); line && n < MAX_LINES; line = strtok_r(NULL, "\n", &rest)) {
        cJSON *root = tutti_json_parse(line, strlen(line));
        const cJSON *ms = cJSON_GetObjectItemCaseSensitive(root, "step_ms");
        if (cJSON_IsNumber(ms) && seen++ >= SKIPPED_LINES) found[n++] = ms->valuedouble * 1e-3;
        cJSON_Delete(root);
    }
    free(text);
    if (!n) return tutti_fail(err, TUTTI_ERR_FAILED, "%s: no step times", path);
    tutti_sort_doubles(found, (size_t)n);
    *step_s = found[n / 2];
    return TUTTI_OK;
}

tutti_status tutti_measure_run(const char *job, int nranks, const char *const *overrides, int noverrides,
                               double *step_s, tutti_failure *err)
{
    char *folder, ranks[16], *argv[MAX_ARGUMENTS];
    tutti_status st = tutti_program_folder(&folder, err);
    if (st) return st;
    snprintf(ranks, sizeof ranks, "%d", nranks);
    const char *const fixed[] = {"tutti", "train", job, "--ranks", ranks, "--out", folder, "--fresh", "--quiet"};
    tutti_arena arena = {0};
    int n = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) argv[n++] = tutti_arena_strdup(&arena, fixed[i]);
    for (int i = 0; i < noverrides + NSETTINGS && n < MAX_ARGUMENTS - 2; i++) {
        argv[n++] = tutti_arena_strdup(&arena, "--set");
        argv[n++] = tutti_arena_strdup(&arena, i < noverrides ? overrides[i] : settings[i - noverrides]);
    }
    argv[n] = NULL;
    st = child_run(argv, err);
    if (!st) st = metrics_read(folder, step_s, err);
    tutti_file_remove_tree(folder, NULL);
    free(folder);
    tutti_arena_release(&arena);
    return st;
}
