/* SPDX-License-Identifier: Apache-2.0 */
/* trained.h: a checkpoint opened to compute with: its job, its network and its weights. Threads: owner. */
#ifndef TUTTI_CLI_TRAINED_H
#define TUTTI_CLI_TRAINED_H

#include "../data/identity.h"
#include "../data/pictures.h"
#include "../job/job_impl.h"
#include "../training/run/train.h"
#include "cli.h"

#define TUTTI_TRAINED_DATA_FLAG                                                                                        \
    {                                                                                                                  \
        "data", "KEY=VALUE,...", "other data: set=mnist,path=DIR or shape=[1,28,28] (keys of the job's data:)",        \
            TUTTI_FLAG_MANY                                                                                            \
    }

typedef struct {
    char *path; /* of the checkpoint */
    char *job_text, *model_text;
    tutti_job *job;
    tutti_model *model, *fused; /* as the file has it; as the job ran it, NULL = so too */
    tutti_graph *graph;         /* for the list of parameters */
    tutti_dataset_config data;  /* of the job, as --data has changed it */
    bool has_other_data;        /* --data has */
    bool knows_data;            /* the checkpoint says what it was trained on: */
    tutti_data_identity trained_on;
    float *weights;
    int64_t *offset, step;
    uint64_t weights_hash;
    tutti_arena arena;
} tutti_trained;

/* where: a checkpoint, or a run's folder, then its newest whole one, and the next one where the run removes that as it is read; it is verified, and no output of the command
 * is a file of it, of its run or of the data. The command's row of --data must be its first.
 * Released by the caller, also on failure. */
tutti_status tutti_trained_open(const char *command, const char *where, const tutti_flags *f, tutti_trained *out,
                                tutti_failure *err);
void tutti_trained_release(tutti_trained *t);
/* TUTTI_ERR_DATA: labels of this test set mean other classes than those of the checkpoint. A set that is another one in anything else is said on
 * stderr. */
tutti_status tutti_trained_check_data(const tutti_trained *t, const char *command, const tutti_dataset *test,
                                      tutti_failure *err);
/* What its classes are called, as the checkpoint has kept it. Of an earlier version: as the data call them now, with a word on stderr; none, with
 * another word, where that cannot be read. */
void tutti_trained_names(const tutti_trained *t, const char *command, tutti_names *out);

#endif
