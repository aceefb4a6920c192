/* SPDX-License-Identifier: Apache-2.0 */
/* train_cmd.h: declarations that the files of `tutti train` share. Threads: one at a time. */
#ifndef TUTTI_CLI_TRAIN_CMD_H
#define TUTTI_CLI_TRAIN_CMD_H

#include "../../collective/launch/join.h"
#include "../cli.h"
#include "tutti/job.h"

/* Reads --slow and --stall for nranks ranks. out: one entry for each rank; NULL: the flags are only checked. */
tutti_status tutti_cli_handicaps(const tutti_flags *f, int nranks, tutti_run_handicap *out, tutti_failure *err);
/* The link of this rank to a launcher that replaces lost ranks (collective/launch/link.h). */
typedef struct {
    int fd; /* descriptor of the connection to the launcher; -1: lost ranks are not replaced */
    double deadline_s;
    tutti_run_epochs epochs;
} tutti_train_link;
/* Opens the link that the environment names, and puts the epoch into *place. False: the environment names none, and
 * l->fd is -1. deadline_s: the deadline of waits for peers. *l must stay where it is until the run has ended. */
bool tutti_train_link_open(tutti_train_link *l, tutti_run_place *place, double deadline_s);
/* Tells the launcher that this rank has joined the group, or has done its first step. */
void tutti_train_link_hear(const tutti_train_link *l, const tutti_run_event *e);

/* Reads --max-restarts; 0 if it was not given. */
tutti_status tutti_train_max_restarts(const tutti_flags *f, long *out, tutti_failure *err);
/* Prints a line of a launcher or agent; the function for tell of their options, arg is not used. */
void tutti_train_tell(void *arg, const char *words);
/* Starts the job's ranks on this host, each bound to its group if the job has a partition; returns the exit code.
 * max_restarts: how often lost ranks may be replaced. says: prints on stdout the number of ranks, if the partition has
 * set it. The ranks cannot print this, because they do not know that the number comes from the partition. */
int tutti_train_launch(const tutti_job *job, int max_restarts, bool says, char **argv);

/* The value of --ranks. */
typedef struct {
    long min, max; /* min = max if one number was given */
} tutti_train_ranks;
/* Reads --ranks, N or MIN:MAX; `otherwise` is the value of both numbers if the flag was not given. */
tutti_status tutti_train_range(const tutti_flags *f, long otherwise, tutti_train_ranks *out, tutti_failure *err);
/* True if this process is to be the agent of its host, and no rank: a flag of agents was given, and no agent has
 * started this process. */
bool tutti_train_is_agent(const tutti_flags *f);
/* Runs the agent of this host until the run ends; returns the exit code. config: what the launcher's environment says;
 * each "rank" in it is an agent here. config is ended before the run begins (tutti_group_config_end). */
int tutti_train_agent(const tutti_flags *f, tutti_group_config *config, char **argv);

#endif
