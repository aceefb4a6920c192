/* SPDX-License-Identifier: Apache-2.0 */
/* discover_impl.h: how a rank learns its numbers from each launcher; each launcher is one file and one row of
 * discover.c. */
#ifndef TUTTI_DISCOVER_IMPL_H
#define TUTTI_DISCOVER_IMPL_H

#include "join.h"
#include "reach.h"

/* A launcher that may have started this rank. The first row whose launcher is present decides. */
typedef struct {
    const char *name;      /* name for people: "PMIx (mpirun of Open MPI, srun --mpi=pmix)" */
    const char *variables; /* names of variables, "RANK WORLD_SIZE"; if they are unset, the launcher is not present */
    bool (*present)(void); /* returns true if the launcher is present; checks the environment alone */
    /* Fills rank, nranks, local_rank, master_* and cookie; the other fields are set already. */
    tutti_status (*read)(tutti_group_config *config, tutti_failure *err);
    bool talks; /* true if `read` talks to the launcher and waits for the other ranks; other rows read the
                 * environment alone */
    /* tells the launcher how this rank ends; NULL: the launcher expects nothing */
    void (*end)(tutti_group_config *config, int exit_code, const char *words);
} tutti_launcher_row;

/* Returns the row that is present, or NULL. */
const tutti_launcher_row *tutti_launcher_row_here(void);
/* Returns the configuration of one rank alone, with the deadline of TUTTI_DEADLINE_S. */
tutti_status tutti_launcher_begin(tutti_group_config *out, tutti_failure *err);

/* Returns true if the variable is set and not empty. */
bool tutti_variable_set(const char *name);
tutti_status tutti_variable_number(const char *name, long long lo, long long hi, long long otherwise, long long *out,
                                   tutti_failure *err);

#endif
