/* SPDX-License-Identifier: Apache-2.0 */
/* join.h: how ranks find each other and become a group: discovery of the launcher, rendezvous at rank 0, or threads of
 * one process.
 *
 * Ranks that disagree on rank count, binary, instruction set or fingerprint are refused at join (TUTTI_ERR_RENDEZVOUS);
 * the failure shows both values.
 *
 * Threads: one at a time. */
#ifndef TUTTI_JOIN_H
#define TUTTI_JOIN_H

#include "../group/group.h"

typedef struct {
    int rank, nranks, local_rank;
    int local_nranks;        /* number of ranks on this host; 0 = the launcher has not said */
    const char *master_addr; /* host of rank 0 */
    int master_port;         /* port on which rank 0 listens */
    int master_fd;           /* rank 0: an inherited listening socket, or -1 */
    uint64_t cookie;         /* number of the run; a rank of another job is refused */
    uint32_t epoch; /* epoch of the group: a run counts it up when ranks join again; 0 means 1. Ranks of another epoch
                     * are refused */
    double deadline_s;
    bool has_deadline;       /* deadline_s was set (TUTTI_DEADLINE_S) and is no default */
    int ncores;              /* number of cores of all ranks of this machine together; 0 = the union of the cores
                              * that each rank may use */
    const char *fingerprint; /* text that must agree on all ranks: resolved job, schedule hashes, ...; failures show
                              * both texts */
    const char *launcher;    /* name of the launcher that started this rank, for people; NULL: none, it is one rank
                              * alone */
    /* The join calls this function with a text about missing ranks, first after 2 s (5 s while rank 0 is not reached),
     * then every 15 s; may be NULL. */
    void (*notice)(void *arg, const char *words);
    void *notice_arg;
    /* The join calls this function several times a second: true ends the wait for other ranks, as if the deadline had
     * passed. NULL: the join waits until the deadline. */
    bool (*gives_up)(void *arg);
    void *gives_up_arg;
    struct tutti_pmix *pmix; /* open connection to a PMIx launcher, until tutti_group_config_end; else NULL */
} tutti_group_config;

/* Finds the launcher that started this rank, and the rank's numbers. The first that is present decides:
 *   RANK and WORLD_SIZE, with LOCAL_RANK, MASTER_ADDR, MASTER_PORT (torchrun's names; `tutti` sets them for its own
 *   ranks); PMIx (mpirun of Open MPI, srun --mpi=pmix): collective, because rank 0 tells the others where it listens.
 * Launchers of several ranks that do not say where rank 0 is (PMI-1, PMI-2, srun without PMIx) give
 * TUTTI_ERR_RENDEZVOUS with the remedy. Without a launcher this is one rank alone. TUTTI_DEADLINE_S sets the deadline.
 * docs/launching.md explains all of it for people. */
tutti_status tutti_group_config_from_env(tutti_group_config *config, tutti_failure *err);
enum { TUTTI_LAUNCHER_UNSET = 160 };
/* Writes the command by which a shell that a launcher has started stops being a rank: "unset RANK WORLD_SIZE". Writes
 * "" if no launcher is found. */
void tutti_launcher_unset(char out[TUTTI_LAUNCHER_UNSET]);
/* Tells the launcher how this rank ends, once, after the group was left. Call it after every successful
 * tutti_group_config_from_env. PMIx: with exit code 1 to 5 the launcher ends the other ranks and takes the code as its
 * own. */
void tutti_group_config_end(tutti_group_config *config, int exit_code, const char *words);

/* --- look.c: the launcher and the rendezvous without joining, for people --- */
/* Finds the launcher without talking to it or to other ranks. Sets config->launcher, which is NULL if there is none,
 * and *variables to the names of the variables that show it ("RANK WORLD_SIZE"). *is_read: the other members of config
 * are set too; a PMIx launcher tells their values only when the ranks join. Fails as tutti_group_config_from_env. */
tutti_status tutti_launcher_look(tutti_group_config *config, const char **variables, bool *is_read, tutti_failure *err);
/* Tries what the rendezvous needs of this rank: rank 0 opens the listening sockets and closes them again, other ranks
 * look up the address of rank 0. TUTTI_ERR_RENDEZVOUS or TUTTI_ERR_USAGE says what is in the way. */
tutti_status tutti_launcher_try_port(const tutti_group_config *config, tutti_failure *err);
enum { TUTTI_LAUNCHER_PMIX = 80 };
/* Writes the version text of the PMIx library. TUTTI_ERR_FAILED: the library, or PMIx in this build, is missing. */
tutti_status tutti_launcher_pmix_version(char out[TUTTI_LAUNCHER_PMIX], tutti_failure *err);
/* Returns how many ranks of one host the hard limit of open files allows. */
int64_t tutti_launcher_most_ranks(void);

tutti_status tutti_group_join(const tutti_group_config *config, tutti_group **out, tutti_failure *err);
/* Creates nranks groups, one for each thread of one process. The code above the sockets is the same as for processes;
 * plain memory takes the place of memfds. out has nranks entries, one for each thread. */
tutti_status tutti_group_create_threads(int nranks, double deadline_s, tutti_group **out, tutti_failure *err);

#endif
