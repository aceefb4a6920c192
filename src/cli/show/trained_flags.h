/* SPDX-License-Identifier: Apache-2.0 */
/* trained_flags.h: flags of commands that compute with trained weights (eval, infer). Threads: one at a time. */
#ifndef TUTTI_CLI_TRAINED_FLAGS_H
#define TUTTI_CLI_TRAINED_FLAGS_H

#include "../../job/trained/trained.h"
#include "../cli.h"

/* The first flags of every command that takes a trained network. */
#define TUTTI_TRAINED_FLAGS                                                                                            \
    {"data", "KEY=VALUE,...", "other data: set=mnist,path=DIR or shape=[1,28,28] (keys of the job's data:)",           \
     TUTTI_FLAG_MANY},                                                                                                 \
        {"model", "NAME|FILE", "CKPT is a .safetensors file (or its .index.json): of this network, shipped or a file", \
         0},                                                                                                           \
        {"job", "JOB.yaml", "the same, with model, data and the keys init.* of a job", TUTTI_FLAG_READS},              \
    {                                                                                                                  \
        "set", "KEY=VALUE", "with --model or --job: a key of the job, as in --set init.map=module=", TUTTI_FLAG_MANY   \
    }

/* Reads the flags and opens f->rest[0] (job/trained/trained.h); prints notes for the user to stderr after the command's
 * name. No output of the command may be a file that was opened, or a file of the run or of the data. The command's
 * table of flags must begin with TUTTI_TRAINED_FLAGS. */
tutti_status tutti_trained_open_flags(const char *command, const tutti_flags *f, tutti_trained_question *question,
                                      tutti_trained *out, tutti_failure *err);

#endif
