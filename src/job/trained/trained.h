/* SPDX-License-Identifier: Apache-2.0 */
/* trained.h: a checkpoint, or weights from elsewhere, opened to compute with: its job, its network and its weights.
 * Threads: one at a time. */
#ifndef TUTTI_JOB_TRAINED_H
#define TUTTI_JOB_TRAINED_H

#include "../../data/identity.h"
#include "../../data/picture/pictures.h"
#include "../../training/run/train.h"
#include "../job_fields.h"

/* Names the trained network that tutti_trained_open opens, and its data. */
typedef struct {
    const char *where;       /* a checkpoint; a run's folder, for its newest complete checkpoint; or a file of
                              * weights */
    const char *model, *job; /* for a file of weights: the network, or a job; else NULL */
    const char *const *data; /* "set=mnist,path=DIR": replaces keys of the job's data */
    const char *const *sets; /* "KEY=VALUE", for a file of weights */
    int ndata, nsets;
    /* true: samples come from picture files that the user names, so the set's folder may be missing, and the default
     * set is `images` */
    bool pictures;
    void (*say)(void *arg, const char *line); /* gets what a user should know, line by line, without newlines */
    void *arg;
} tutti_trained_question;

typedef struct {
    char *path; /* path of the checkpoint */
    char *job_text, *model_text;
    tutti_job *job;
    tutti_model *model, *fused; /* model: as the file has it; fused: as the job ran it, NULL = the same */
    tutti_graph *graph;         /* the model's step graph, built for its list of parameters */
    tutti_dataset_config data;  /* the data of the job, changed by --data */
    bool has_other_data;        /* --data has changed `data` */
    bool knows_data;            /* true if the checkpoint says on which data it was trained (trained_on) */
    tutti_data_identity trained_on;
    float *weights;
    int64_t *offset, step;
    uint64_t weights_hash;
    bool is_foreign; /* path is a file of weights that belongs to no run: step 0 */
    bool is_unnamed; /* a set of pictures was given without the folder that names its classes */
    const tutti_trained_question *question;
    tutti_arena arena;
} tutti_trained;

/* Opens a checkpoint or weights. A checkpoint is verified; if a run removes the newest one while it is read, the next
 * one is taken. For a file of weights a line says which tensors were taken. TUTTI_ERR_USAGE names the flag (--model,
 * --job, --set, --data). The caller releases *out, also on failure; question and what it points to must live as
 * long. */
tutti_status tutti_trained_open(const tutti_trained_question *question, tutti_trained *out, tutti_failure *err);
void tutti_trained_release(tutti_trained *t);
/* TUTTI_ERR_DATA if labels of this test set mean other classes than those of the checkpoint. Any other difference
 * between the sets is reported. */
tutti_status tutti_trained_check_data(const tutti_trained *t, const tutti_dataset *test, tutti_failure *err);
/* Writes the names of the network's classes, as the checkpoint has kept them. For a checkpoint of an earlier version:
 * the names in the data now, with a note; none, with another note, if these cannot be read. */
void tutti_trained_names(const tutti_trained *t, tutti_names *out);

/* Checks a whole checkpoint. TUTTI_ERR_DATA: it is not complete, or its job, model and tensors do not fit together. */
tutti_status tutti_job_check_checkpoint(const char *path, tutti_failure *err);

#endif
