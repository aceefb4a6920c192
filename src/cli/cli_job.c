/* SPDX-License-Identifier: Apache-2.0 */
/* cli_job.c: a job as the command line has it: the file, then --set, then the flags that stand for a key. Those go the
 * way of --set, so that a value that does not fit is refused by the same rule, in the same words. */
#include <stdio.h>
#include <string.h>

#include "../base/arena.h"
#include "../job/job_impl.h"
#include "cli.h"

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
    int n = 0;
    for (int i = 0; i < f->nflags; i++)
        if (!strcmp(f->flags[i].name, "set"))
            for (int j = 0; j < f->count[i]; j++) overrides[n++] = f->value[i][j]; /* at most 64, see tutti_flags */
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
    return st;
}
