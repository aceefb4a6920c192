/* SPDX-License-Identifier: Apache-2.0 */
/* train_cmd.h: declarations that the files of `tutti train` share. Threads: owner. */
#ifndef TUTTI_CLI_TRAIN_CMD_H
#define TUTTI_CLI_TRAIN_CMD_H

#include "../cli.h"
#include "tutti/job.h"

/* Reads --slow and --stall for nranks ranks. out: one entry for each rank; NULL: the flags are only checked. */
tutti_status tutti_cli_handicaps(const tutti_flags *f, int nranks, tutti_run_handicap *out, tutti_failure *err);
/* Starts the job's ranks on this host, each bound to its group if the job has a partition; returns the exit code. says:
 * if the partition has set the number of ranks, prints that on stdout. The ranks cannot print it, because they are only
 * told the number. */
int tutti_train_launch(const tutti_job *job, bool says, char **argv);

#endif
