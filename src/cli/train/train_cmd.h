/* SPDX-License-Identifier: Apache-2.0 */
/* train_cmd.h: parts of `tutti train` with files of their own. Threads: owner. */
#ifndef TUTTI_CLI_TRAIN_CMD_H
#define TUTTI_CLI_TRAIN_CMD_H

#include "../../job/session.h"
#include "../../training/run/train.h"
#include "../cli.h"
#include "tutti/job.h"

/* The resolved job, what the plan is, what it needs; nothing is run or connected. */
tutti_status tutti_train_dry_run(const tutti_job *job, tutti_failure *err);
/* What --slow and --stall say of each of so many ranks; out: NULL = they are only checked. */
tutti_status tutti_cli_handicaps(const tutti_flags *f, int nranks, tutti_handicap *out, tutti_failure *err);
/* On stderr, one line: the method's paper has another rule than the job; nothing if it has not. */
void tutti_train_warn_of_rule(const tutti_job *job);
/* What the job's preset sets; nothing if it has none. */
void tutti_train_print_preset(const char *before, const tutti_job *job);
/* What a user should know of the data, a line each: what was found and left out, and the samples that an epoch has no whole batch for. */
void tutti_train_print_data(const char *before, const tutti_session_data *data, int64_t batch);
/* "weights <16 hex> step N loss L accuracy A": the last line of a run. */
void tutti_train_print_result(const tutti_train_result *r);

#endif
