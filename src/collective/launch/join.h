/* SPDX-License-Identifier: Apache-2.0 */
/* join.h: how ranks find each other and become a group: discovery of the launcher, rendezvous at rank 0, or threads of
 * one process.
 *
 * Ranks that disagree on rank count, binary, ISA ceiling or fingerprint are refused at join with both values
 * (TUTTI_ERR_RENDEZVOUS).
 *
 * Threads: owner. */
#ifndef TUTTI_JOIN_H
#define TUTTI_JOIN_H

#include "../group/group.h"

typedef struct {
    int rank, nranks, local_rank;
    int local_nranks;        /* of this host; 0 = the launcher has not said */
    const char *master_addr; /* host of rank 0 */
    int master_port;         /* rank 0 listens here */
    int master_fd;           /* rank 0: an inherited listening socket, or -1 */
    uint64_t cookie;         /* of this run; a neighbour's job is refused */
    uint32_t epoch; /* of the group: a run that ranks join again counts up; 0 = 1. Who has another one is refused */
    double deadline_s;
    bool has_deadline;       /* deadline_s was asked for (TUTTI_DEADLINE_S), and is no default */
    int ncores;              /* that the ranks of this machine have together; 0 = the union of what each may use */
    const char *fingerprint; /* resolved job, schedule hashes, ...: must agree; a text, so that both can be shown */
    const char *launcher;    /* who started this rank, for people; NULL: nobody, it is one rank alone */
    /* Told by join whom it waits for, the first time after 2 s (5 s where rank 0 is not reached), then every 15 s; may
     * be NULL. */
    void (*notice)(void *arg, const char *words);
    void *notice_arg;
    struct tutti_pmix *pmix; /* open connection to a PMIx launcher, until tutti_group_config_end; else NULL */
} tutti_group_config;

/* Who started this rank, and as which? The first that is there:
 *   RANK and WORLD_SIZE, with LOCAL_RANK, MASTER_ADDR, MASTER_PORT (torchrun's names; `tutti` sets them for its own
 *   ranks); PMIx (mpirun of Open MPI, srun --mpi=pmix): collective, because rank 0 tells the others where it listens.
 * Launchers with several ranks that do not say where rank 0 is (PMI-1, PMI-2, srun without PMIx) are
 * TUTTI_ERR_RENDEZVOUS with the remedy. Nobody: one rank alone. TUTTI_DEADLINE_S sets the deadline. docs/launching.md
 * has all of it for people. */
tutti_status tutti_group_config_from_env(tutti_group_config *config, tutti_failure *err);
enum { TUTTI_LAUNCHER_UNSET = 160 };
/* "unset RANK WORLD_SIZE": what a shell that a launcher has started does to be nobody's rank. "" where no launcher is
 * found. */
void tutti_launcher_unset(char out[TUTTI_LAUNCHER_UNSET]);
/* Tells the launcher how this rank ends, once, after the group was left; to be called after every successful
 * tutti_group_config_from_env. PMIx: with exit code 1 to 5 the launcher ends the other ranks and takes the code for its
 * own. */
void tutti_group_config_end(tutti_group_config *config, int exit_code, const char *words);

tutti_status tutti_group_join(const tutti_group_config *config, tutti_group **out, tutti_failure *err);
/* nranks groups for as many threads of one process: same code above the sockets, memory instead of memfd. out has
 * nranks entries, one for each thread. */
tutti_status tutti_group_create_threads(int nranks, double deadline_s, tutti_group **out, tutti_failure *err);

#endif
