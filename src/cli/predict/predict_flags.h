/* SPDX-License-Identifier: Apache-2.0 */
/* predict_flags.h: declarations that the files of `tutti predict` share. Failures name the flag and are
 * TUTTI_ERR_USAGE. Threads: one at a time. */
#ifndef TUTTI_CLI_PREDICT_FLAGS_H
#define TUTTI_CLI_PREDICT_FLAGS_H

#include "../../predict/plan/planning.h"
#include "../cli.h"

/* Reads --ranks and --topology. ranks: *n counts, the default ones or those given, at most TUTTI_PREDICT_MAX_RANKS. The
 * topology has room for the largest. */
tutti_status tutti_predict_read_machine(const tutti_flags *f, int *ranks, int *n, tutti_topology *out,
                                        tutti_failure *err);
/* Reads --memory in bytes; *bytes is unchanged if it is not given. */
tutti_status tutti_predict_read_memory(const tutti_flags *f, long long *bytes, tutti_failure *err);
/* Reads which other answers are wanted besides step times; call it once the question has its job, topology and rank
 * counts. */
tutti_status tutti_predict_answers_read(const tutti_flags *f, const tutti_predict_question *q,
                                        tutti_predict_answers *out, tutti_failure *err);
/* Reads which answers are wanted about a whole run, and its prices. epochs: number of epochs in the job; if it is 0,
 * the job gives none, and `without` is the message about that. Without --samples the number of samples becomes 0. */
tutti_status tutti_predict_plan_read(const tutti_flags *f, const tutti_topology *topology, double epochs,
                                     const char *without, tutti_predict_answers *a, tutti_failure *err);
/* True if a whole run is asked for and each rank added brings its own samples (weak scaling). */
bool tutti_predict_plans_weakly(const tutti_flags *f);

/* Writes JSON to the file of --json, and the text to standard output; with `--json -` only the JSON, to standard
 * output. */
tutti_status tutti_predict_write(const tutti_flags *f, const tutti_strbuf *json, const tutti_strbuf *text,
                                 tutti_failure *err);

/* ---- input files other than jobs ---- */

/* True if the first argument is a layer file, by its contents or because flags are given that only layer files have. */
bool tutti_predict_wants_layers_file(const tutti_flags *f);
tutti_status tutti_predict_layers_file(const tutti_flags *f, tutti_failure *err);
/* Predicts from a trace of svm-train. */
tutti_status tutti_predict_svm(const tutti_flags *f, tutti_failure *err);

/* The rows of the flags of tutti_predict_answers_read, for the command's table. */
#define TUTTI_PREDICT_ANSWERS_FLAGS                                                                                    \
    {"html", "FILE", "a page of it: scaling, one step, memory, what bounds it", TUTTI_FLAG_WRITES},                    \
        {"epochs", "E", "a whole training: hours, nodes, memory, and where it stops to pay", 0},                       \
        {"strong", NULL, "with --epochs: all ranks share the job's batch (default: each has it)", 0},                  \
        {"samples", "N", "of an epoch (default: those of the job's set)", 0},                                          \
        {"deadline", "T", "with --epochs: nodes needed to end within 12h, 90min or 2d", 0},                            \
        {"price", "P/h", "with --epochs: what it costs, of a node and hour", 0},                                       \
        {"ranks-per-node", "N", "ranks that a node has (default: as the topology has them)", 0},                       \
        {"advise", NULL, "which algorithm, buckets, order and method is fastest, by predicting each", 0},              \
        {"memory", "B", "that a rank has: says whether the job fits, 16GiB", 0},                                       \
    {                                                                                                                  \
        "what-if", "CHANGE,..", "the same with bandwidth=2x,latency=0.5x,compute=2x or a figure's key, beside it",     \
            TUTTI_FLAG_MANY                                                                                            \
    }

#endif
