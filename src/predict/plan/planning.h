/* SPDX-License-Identifier: Apache-2.0 */
/* planning.h: answers questions of a person who plans a job. The answers are steps at several rank counts; hours, nodes
 * and cost of a whole run; memory of a rank; bounds of a step; other machines and frameworks; and advice. This folder
 * lies above `job`, which calls `predict`, so that it can load a job with other keys and predict it. A command fills
 * the two structs below from its flags, calls these functions, and prints the text that they return. Threads: one at a
 * time. */
#ifndef TUTTI_PREDICT_PLANNING_H
#define TUTTI_PREDICT_PLANNING_H

#include "../../base/text/strbuf.h"
#include "../../job/step_view.h"
#include "../play/plan_run.h"
#include "tutti/job.h"
#include "tutti/predict.h"
#include "units.h"

enum { TUTTI_PREDICT_MAX_RANKS = 32, TUTTI_PREDICT_MAX_SETS = 64, TUTTI_PREDICT_MAX_CHANGES = 8 };

typedef struct tutti_advised tutti_advised; /* defined in advise.h */

/* Answers on a machine with other figures (--what-if). */
typedef struct {
    const char *text; /* the request as the user wrote it */
    tutti_topology topology;
    double speed;
    tutti_prediction predicted[TUTTI_PREDICT_MAX_RANKS];
} tutti_predict_change;

/* Questions beyond the time of a step, and their answers. */
typedef struct {
    bool plans;            /* true if a whole run was asked for */
    tutti_run_plan plan;   /* the plan of the whole run */
    bool samples_given;    /* --samples was given; else the number of samples is the job's */
    const char *prices_of; /* the named machine whose prices are used; NULL: --price, or no prices */
    tutti_machine_prices prices;
    int ranks_per_node;     /* number of ranks on a node; 0 means as many as the topology has */
    int64_t device_bytes;   /* memory of a rank's device; 0 if unknown */
    bool is_other;          /* true if the steps are those of another framework (--framework) instead of the job's own
                             * plan */
    const char *svg, *html; /* paths of the drawings; NULL: no drawing */
    tutti_predict_change *changes;
    int nchanges;
    bool advises;
    tutti_advised *advised; /* advice about keys; NULL if not asked for */
    char *measured;         /* kernel times, kept so that all predictions use the same */
    tutti_predict_memory *memory;
    tutti_step_view step; /* the step at the last rank count */
    tutti_run_seats seats[TUTTI_PREDICT_MAX_RANKS];
    tutti_run_row rows[TUTTI_PREDICT_MAX_RANKS];
} tutti_predict_answers;

typedef struct {
    const char *job_path;
    tutti_job *job;
    tutti_topology topology;
    const char *sets[TUTTI_PREDICT_MAX_SETS + 1];
    int nsets, nranks;
    int ranks[TUTTI_PREDICT_MAX_RANKS];
    tutti_prediction predicted[TUTTI_PREDICT_MAX_RANKS];
    char guard[320];                            /* a warning about a framework that was not compared with published
                                                 * steps; "" if there is none */
    double measured_s[TUTTI_PREDICT_MAX_RANKS]; /* seconds of a measured step at each rank count; NaN if not measured */
    tutti_predict_options options;
    double *slowness;               /* for each rank of the largest count: factor by which its computing is slower;
                                     * NULL: no rank is slow */
    tutti_layer_prediction *layers; /* times of layers at the last rank count; NULL if not asked for */
    int nlayers;
    const tutti_predict_answers *answers; /* answers to the questions beyond the time of a step */
    char faster[320]; /* at the last rank count: which other framework its model predicts to be faster, and why; "" if
                       * none is */
    char shared[480]; /* at the last rank count: how much faster groups of ranks that share a layer would be, and why
                       * the job does not use them; "" if they would not be */
    double shared_step_s; /* predicted step with groups that share a layer; 0 if `shared` is "" */
} tutti_predict_question;

/* ---- before anything is predicted ---- */

/* Counts the samples of an epoch of the job. It opens data sets that must be read to be counted. The words of a failure
 * name --samples. */
tutti_status tutti_predict_count_samples(const tutti_job *job, int64_t *out, tutti_failure *err);
/* Adds a machine with other figures, "bandwidth=2x". text must outlive the answers. The words of TUTTI_ERR_USAGE begin
 * with "--what-if". */
tutti_status tutti_predict_change_add(const tutti_predict_question *q, const char *text, tutti_predict_answers *a,
                                      tutti_failure *err);

/* ---- predicting ---- */

/* Fills in q->predicted with the steps of another framework (predict/framework.h). */
tutti_status tutti_predict_framework(const char *name, tutti_predict_question *q, tutti_failure *err);
/* Fills in q->faster for PyTorch DDP. */
tutti_status tutti_predict_faster(tutti_predict_question *q, tutti_failure *err);
/* Fills in q->shared, for jobs whose kernel times are computed for a device. */
void tutti_predict_shared(tutti_predict_question *q);
/* Explains the gap between the steps of two frameworks "A,B", as text and as JSON lines. */
tutti_status tutti_predict_gap(const char *names, const tutti_predict_question *q, tutti_strbuf *text,
                               tutti_strbuf *json, tutti_failure *err);
/* Finds the answers that follow from q->predicted, and makes the further predictions. Only advice calls
 * q->options.at. */
tutti_status tutti_predict_answers_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err);
void tutti_predict_answers_release(tutti_predict_answers *a);

/* ---- printing ---- */

/* Print all answers for people; and as JSON: one object on a line for each rank count, layer and alternative. */
void tutti_predict_print(const tutti_predict_question *q, tutti_strbuf *out);
void tutti_predict_print_json(const tutti_predict_question *q, tutti_strbuf *out);

/* Writes pictures to a->svg and a->html: speed-up and efficiency over ranks; and all answers as a page that needs no
 * other file. */
tutti_status tutti_predict_pictures_write(const tutti_predict_question *q, const tutti_predict_answers *a,
                                          tutti_failure *err);

#endif
