/* SPDX-License-Identifier: Apache-2.0 */
/* cli_job.c: loads the job of a command line: the file, then --set KEY=VALUE, then the flags that set a key. These
 * flags are turned into overrides like those of --set, so that a wrong value is refused by the same rule, with the same
 * message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "../job/job_fields.h"
#include "cli.h"
#include "tutti/topology.h"

enum { MAX_OVERRIDES = 80 };

tutti_status tutti_cli_load_job(const tutti_flags *f, const char *path, tutti_job **out, tutti_failure *err)
{
    return tutti_cli_load_job_here(f, path, 0, out, err);
}

tutti_status tutti_cli_load_job_here(const tutti_flags *f, const char *path, int nlocal, tutti_job **out,
                                     tutti_failure *err)
{
    static const char *const names[] = {"ranks", "seed", "trace", "init", "partition"};
    static const char *const keys[] = {"ranks", "seed", "trace.steps", "init.from", "partition"};
    const char *overrides[MAX_OVERRIDES];
    tutti_arena arena = {0};
    const int sets = tutti_cli_row(f, "set");
    int n = 0;
    /* at most 64 overrides, see tutti_flags */
    for (int j = 0; j < f->count[sets]; j++) overrides[n++] = f->value[sets][j];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = tutti_cli_value(f, names[i], NULL);
        if (!value) continue;
        const size_t room = strlen(keys[i]) + strlen(value) + 2;
        char *text = tutti_arena_alloc(&arena, room);
        snprintf(text, room, "%s=%s", keys[i], value);
        overrides[n++] = text;
    }
    tutti_status st = tutti_job_load_here(path, overrides, n, nlocal, out, err);
    tutti_arena_release(&arena);
    return st ? st : tutti_cli_check_job(f, *out, err);
}

/* The files of a *.safetensors.index.json lie in its folder. */
static tutti_status check_init(const tutti_flags *f, const char *from, tutti_failure *err)
{
    const size_t n = strlen(from);
    char *folder = tutti_file_folder(from);
    tutti_status st = tutti_cli_check_read(f, "the initial weights", from, false, err);
    if (!st && n > 5 && !strcmp(from + n - 5, ".json"))
        st = tutti_cli_check_read(f, "the initial weights", folder, false, err);
    free(folder);
    return st;
}

tutti_status tutti_cli_check_job(const tutti_flags *f, const tutti_job *job, tutti_failure *err)
{
    char *tuned = tutti_topology_tuned_path();
    tutti_status st = tutti_cli_check_read(f, "the job's model", job->model, true, err);
    if (!st) st = tutti_cli_check_read(f, "the job's data", job->data.path, true, err);
    if (!st) st = tutti_cli_check_read(f, "the job's tuned kernels", job->kernels.tuned, true, err);
    if (!st && job->train.init.from) st = check_init(f, job->train.init.from, err);
    if (!st) st = tutti_cli_check_read(f, "this host's figures", tuned, false, err);
    free(tuned);
    return st;
}
