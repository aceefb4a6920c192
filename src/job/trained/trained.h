/* SPDX-License-Identifier: Apache-2.0 */
/* trained.h: a checkpoint, or weights from elsewhere, opened to compute with: its job, its network and its weights.
 * Threads: owner. */
#ifndef TUTTI_JOB_TRAINED_H
#define TUTTI_JOB_TRAINED_H

#include "../../data/identity.h"
#include "../../data/picture/pictures.h"
#include "../../training/run/train.h"
#include "../job_fields.h"

/* What is to be opened. */
typedef struct {
    const char *where;       /* a checkpoint, or a run's folder, then its newest whole one; or a file of weights */
    const char *model, *job; /* of a file of weights: the network, or a job; else NULL */
    const char *const *data; /* "set=mnist,path=DIR": keys of the job's data */
    const char *const *sets; /* "KEY=VALUE": of a file of weights */
    int ndata, nsets;
    bool pictures; /* samples come from files of their own: a set need not have its folder, and without a word it is
                   * `images` */
    void (*say)(void *arg, const char *line); /* told what a user should know, a line each, without its end */
    void *arg;
} tutti_trained_question;

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
    const tutti_trained_question *question;
    tutti_arena arena;
} tutti_trained;

/* A checkpoint is verified; where a run removes the newest one as it is read, the next one is taken. Of a file of
 * weights a line says what of it was taken. TUTTI_ERR_USAGE names the flag (--model, --job, --set, --data). Released by
 * the caller, also on failure; question and what it points to must live as long. */
tutti_status tutti_trained_open(const tutti_trained_question *question, tutti_trained *out, tutti_failure *err);
void tutti_trained_release(tutti_trained *t);
/* TUTTI_ERR_DATA: labels of this test set mean other classes than those of the checkpoint. A set that is another one in
 * anything else is said. */
tutti_status tutti_trained_check_data(const tutti_trained *t, const tutti_dataset *test, tutti_failure *err);
/* What its classes are called, as the checkpoint has kept it. Of an earlier version: as the data call them now, with a
 * line; none, with another line, where that cannot be read. */
void tutti_trained_names(const tutti_trained *t, tutti_names *out);

/* One verdict over a checkpoint. TUTTI_ERR_DATA: it is not whole, or its job, model and tensors do not go together. */
tutti_status tutti_job_check_checkpoint(const char *path, tutti_failure *err);

#endif
