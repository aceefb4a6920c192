/* SPDX-License-Identifier: Apache-2.0 */
/* trained.h: a checkpoint, or weights from elsewhere, opened to compute with: its job, its network and its weights. Threads: owner. */
#ifndef TUTTI_CLI_TRAINED_H
#define TUTTI_CLI_TRAINED_H

#include "../../data/identity.h"
#include "../../data/picture/pictures.h"
#include "../../job/job_fields.h"
#include "../../training/run/train.h"
#include "../cli.h"

/* The first rows of a command that takes one. */
#define TUTTI_TRAINED_FLAGS                                                                                            \
    {"data", "KEY=VALUE,...", "other data: set=mnist,path=DIR or shape=[1,28,28] (keys of the job's data:)",           \
     TUTTI_FLAG_MANY},                                                                                                 \
        {"model", "NAME|FILE", "CKPT is a .safetensors file (or its .index.json): of this network, shipped or a file", \
         0},                                                                                                           \
        {"job", "JOB.yaml", "the same, with model, data and the keys init.* of a job", TUTTI_FLAG_READS},              \
    {                                                                                                                  \
        "set", "KEY=VALUE", "with --model or --job: a key of the job, as in --set init.map=module=", TUTTI_FLAG_MANY   \
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
    bool is_foreign; /* path is a file of weights, of no run: step 0 */
    bool is_unnamed; /* nobody has said where names of classes are */
    tutti_arena arena;
} tutti_trained;

/* Opens f->rest[0]: a checkpoint, or a run's folder, then its newest whole one, and the next one where the run removes that as it is read; it is
 * verified. Or a file of weights, with --model or --job; then one line on stderr says what of it was taken. No output of the command may be a
 * file of these, of the run or of the data. `pictures`: samples come from files of their own, so a set need not have its folder, and without
 * a word it is `images`. The command's rows must begin with TUTTI_TRAINED_FLAGS. Released by the caller, also on failure. */
tutti_status tutti_trained_open(const char *command, const tutti_flags *f, bool pictures, tutti_trained *out,
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
