/* SPDX-License-Identifier: Apache-2.0 */
/* train_cmd.h: parts of `tutti train` with files of their own. Threads: owner. */
#ifndef TUTTI_CLI_TRAIN_CMD_H
#define TUTTI_CLI_TRAIN_CMD_H

#include "../cli.h"
#include "tutti/job.h"

/* The resolved job, what the plan is, what it needs; nothing is run or connected. */
tutti_status tutti_train_dry_run(const tutti_job *job, tutti_failure *err);
/* What --slow and --stall say of each of so many ranks; out: NULL = they are only checked. */
tutti_status tutti_cli_handicaps(const tutti_flags *f, int nranks, tutti_run_handicap *out, tutti_failure *err);
/* "weights <16 hex> step N loss L accuracy A": the last line of a run. */
void tutti_train_print_result(const tutti_run_result *r);
/* Starts the job's ranks on this host, each bound to its group where the job has a partition; returns the exit code. says: on stdout that the
 * groups have set how many ranks there are, where they have: the ranks are told a number, and cannot know. */
int tutti_train_launch(const tutti_job *job, bool says, char **argv);

#endif
