/* SPDX-License-Identifier: Apache-2.0 */
/* discover_refused.c: launchers that count their ranks but do not say where rank 0 can be found. Without these rows,
 * each of their processes would take itself for the only rank and train alone. The refusal says what to do instead. */
#include <stdlib.h>

#include "discover_impl.h"

static tutti_status refuse(const char *who, const char *rank, const char *size, const char *remedy, tutti_failure *err)
{
    char unset[TUTTI_LAUNCHER_UNSET];
    tutti_launcher_unset(unset);
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                      "started as rank %s of %s by %s, which has not told where rank 0 is: %s; on one host, as in a "
                      "shell that it has started, '%s' first, then 'tutti' starts ranks itself (--ranks %s); any "
                      "launcher will do that sets RANK, WORLD_SIZE, MASTER_ADDR "
                      "and MASTER_PORT (docs/launching.md)",
                      getenv(rank), getenv(size), who, remedy, unset, getenv(size));
}

static long number(const char *name)
{
    return tutti_variable_set(name) ? strtol(getenv(name), NULL, 10) : 0;
}

/* --- PMI-1 and PMI-2: MPICH's hydra, Intel's mpirun, srun --mpi=pmi2 --- */

static bool pmi_present(void)
{
    return tutti_variable_set("PMI_RANK") && number("PMI_SIZE") > 1;
}

static tutti_status refuse_pmi(tutti_group_config *config, tutti_failure *err)
{
    (void)config;
    const bool slurm = tutti_variable_set("SLURM_STEP_ID");
    return refuse(
        slurm ? "srun with PMI-2" : "a launcher with PMI-1 (mpiexec of MPICH or Intel)", "PMI_RANK", "PMI_SIZE",
        slurm ? "use srun --mpi=pmix" : "use mpirun of Open MPI, srun --mpi=pmix or torchrun --no-python", err);
}

const tutti_launcher_row tutti_launcher_pmi = {
    .name = "PMI", .variables = "PMI_RANK", .present = pmi_present, .read = refuse_pmi};

/* --- srun without PMIx --- */

/* The shell of a batch job has SLURM_PROCID and SLURM_NTASKS too, but it is one process and no task of a step. */
static bool slurm_present(void)
{
    return tutti_variable_set("SLURM_STEP_ID") && tutti_variable_set("SLURM_PROCID") &&
           number("SLURM_STEP_NUM_TASKS") > 1;
}

static tutti_status refuse_slurm(tutti_group_config *config, tutti_failure *err)
{
    (void)config;
    return refuse("srun without PMIx", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                  "use srun --mpi=pmix (srun --mpi=list shows what this Slurm has)", err);
}

const tutti_launcher_row tutti_launcher_slurm = {
    .name = "Slurm", .variables = "SLURM_STEP_ID", .present = slurm_present, .read = refuse_slurm};
