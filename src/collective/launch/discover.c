/* SPDX-License-Identifier: Apache-2.0 */
/* discover.c: finds out which launcher started this rank: a table of launchers, of which the first that is present
 * decides.
 *
 * The row of variables comes first: RANK and WORLD_SIZE are set inside the job of an outer launcher (torchrun inside
 * srun, a shell line inside mpiexec), so they are nearer to the rank. Rows that only refuse come last: under mpirun of
 * Open MPI inside a Slurm job both PMIx and Slurm's variables are present, and PMIx is right. */
#include <stdio.h>
#include <stdlib.h>

#include "discover_impl.h"

#define LAUNCHERS(row) row(variables) row(pmix) row(pmi) row(slurm)

#define DECLARE(name) extern const tutti_launcher_row tutti_launcher_##name;
LAUNCHERS(DECLARE)

#define ROW(name) &tutti_launcher_##name,
static const tutti_launcher_row *const rows[] = {LAUNCHERS(ROW)};
enum { NROWS = sizeof rows / sizeof rows[0] };

static tutti_status read_deadline(double *out, tutti_failure *err)
{
    const char *text = getenv("TUTTI_DEADLINE_S");
    *out = 60;
    if (!text || !*text) return TUTTI_OK;
    char *end;
    double value = strtod(text, &end);
    if (*end || !(value > 0 && value <= 1e6))
        return tutti_fail(err, TUTTI_ERR_USAGE, "environment: TUTTI_DEADLINE_S='%s' is not a number of seconds", text);
    *out = value;
    return TUTTI_OK;
}

const tutti_launcher_row *tutti_launcher_row_here(void)
{
    for (int i = 0; i < NROWS; i++)
        if (rows[i]->present()) return rows[i];
    return NULL;
}

/* Lists the variables of all present rows: if only the first launcher's were unset, the next launcher would be
 * found. */
void tutti_launcher_unset(char out[TUTTI_LAUNCHER_UNSET])
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < NROWS && at < TUTTI_LAUNCHER_UNSET; i++)
        if (rows[i]->present())
            at += (size_t)snprintf(out + at, TUTTI_LAUNCHER_UNSET - at, "%s %s", at ? "" : "unset", rows[i]->variables);
}

tutti_status tutti_launcher_begin(tutti_group_config *out, tutti_failure *err)
{
    *out = (tutti_group_config){.nranks = 1,
                                .local_nranks = 1,
                                .master_addr = "127.0.0.1",
                                .master_port = 29500,
                                .master_fd = -1,
                                .fingerprint = "",
                                .has_deadline = getenv("TUTTI_DEADLINE_S") != NULL};
    return read_deadline(&out->deadline_s, err);
}

tutti_status tutti_group_config_from_env(tutti_group_config *config, tutti_failure *err)
{
    tutti_group_config c;
    tutti_status st = tutti_launcher_begin(&c, err);
    const tutti_launcher_row *row = tutti_launcher_row_here();
    if (!st && row) {
        c.launcher = row->name;
        st = row->read(&c, err);
    }
    if (!st) *config = c;
    return st;
}

void tutti_group_config_end(tutti_group_config *config, int exit_code, const char *words)
{
    for (int i = 0; i < NROWS; i++)
        if (config->launcher == rows[i]->name && rows[i]->end) rows[i]->end(config, exit_code, words);
    config->launcher = NULL;
}
