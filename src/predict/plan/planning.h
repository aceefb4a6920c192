/* SPDX-License-Identifier: Apache-2.0 */
/* planning.h: what planners ask of a job and what is found: steps at several rank counts, a whole run's hours, nodes
 * and cost, memory a rank, what bounds a step, other machines, other frameworks, advice. This room lies above job,
 * which drives predict, so that it can load a job with other keys and predict it. A command reads flags into the two
 * structs, asks, and prints the text it gets. Threads: owner. */
#ifndef TUTTI_PREDICT_PLANNING_H
#define TUTTI_PREDICT_PLANNING_H

#include "../../base/text/strbuf.h"
#include "../../job/step_view.h"
#include "../play/plan_run.h"
#include "tutti/job.h"
#include "tutti/predict.h"
#include "units.h"

enum { TUTTI_PREDICT_MAX_RANKS = 32, TUTTI_PREDICT_MAX_SETS = 64, TUTTI_PREDICT_MAX_CHANGES = 8 };

typedef struct tutti_advised tutti_advised; /* advise.h */

/* The same on a machine with other figures: --what-if. */
typedef struct {
    const char *text; /* as it was asked for */
    tutti_topology topology;
    double speed;
    tutti_prediction predicted[TUTTI_PREDICT_MAX_RANKS];
} tutti_predict_change;

/* Questions besides the time of a step, and their answers. */
typedef struct {
    bool plans;            /* a whole run is asked for */
    tutti_run_plan plan;   /* of it */
    bool samples_given;    /* by --samples; else they are the job's */
    const char *prices_of; /* the named machine whose prices count; NULL: --price, or none */
    tutti_machine_prices prices;
    int ranks_per_node;     /* 0: as the topology has them */
    int64_t device_bytes;   /* memory that a rank has; 0: not known */
    bool is_other;          /* --framework: a step is not of the job's own plan */
    const char *svg, *html; /* where to draw; NULL: nowhere */
    tutti_predict_change *changes;
    int nchanges;
    bool advises;
    tutti_advised *advised; /* NULL: not asked for */
    char *measured;         /* kernel times, so that all predictions are of the same ones */
    tutti_predict_memory *memory;
    tutti_step_view step; /* of the last of the rank counts */
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
    char guard[320];                            /* of a framework that nothing published was held against; "": none */
    double measured_s[TUTTI_PREDICT_MAX_RANKS]; /* NaN: not measured */
    tutti_predict_options options;
    double *slowness;               /* of the ranks of the largest count; NULL: not asked for */
    tutti_layer_prediction *layers; /* at the last rank count; NULL: not asked for */
    int nlayers;
    const tutti_predict_answers *answers; /* what planners ask */
    char
        faster[320]; /* what another system's model does faster at the last of the rank counts, and why; "" = nothing */
    char shared[480]; /* what the job gains there where groups of ranks share a layer, and why that is not chosen; "" =
                * nothing */
    double shared_step_s; /* such a step; 0 where nothing is said */
} tutti_predict_question;

/* ---- before anything is predicted ---- */

/* The samples of an epoch of the job; sets that are read are opened to be counted. The failure says that --samples
 * gives them. */
tutti_status tutti_predict_count_samples(const tutti_job *job, int64_t *out, tutti_failure *err);
/* Adds a machine with other figures, "bandwidth=2x"; text must outlive the answers. TUTTI_ERR_USAGE begins with
 * "--what-if". */
tutti_status tutti_predict_change_add(const tutti_predict_question *q, const char *text, tutti_predict_answers *a,
                                      tutti_failure *err);

/* ---- predicting ---- */

/* Fills in q->predicted with steps of a training system (predict/framework.h). */
tutti_status tutti_predict_framework(const char *name, tutti_predict_question *q, tutti_failure *err);
/* Fills in q->faster, of PyTorch's DDP. */
tutti_status tutti_predict_faster(tutti_predict_question *q, tutti_failure *err);
/* Fills in q->shared, of jobs whose kernel times are computed for a device. */
void tutti_predict_shared(tutti_predict_question *q);
/* "A,B": what makes the gap from A's step to B's, as text and as JSON lines. */
tutti_status tutti_predict_gap(const char *names, const tutti_predict_question *q, tutti_strbuf *text,
                               tutti_strbuf *json, tutti_failure *err);
/* What follows from q->predicted, and what is predicted besides. q->options.at is told of advice alone. */
tutti_status tutti_predict_answers_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err);
void tutti_predict_answers_release(tutti_predict_answers *a);

/* ---- saying ---- */

/* All answers for people, and as JSON: one object a rank count, then a layer, then an alternative, a line each. */
void tutti_predict_print(const tutti_predict_question *q, tutti_strbuf *out);
void tutti_predict_print_json(const tutti_predict_question *q, tutti_strbuf *out);

/* Writes where a->svg and a->html say: speed-up and efficiency over ranks; all answers, as a page that needs nothing
 * else. */
tutti_status tutti_predict_pictures_write(const tutti_predict_question *q, const tutti_predict_answers *a,
                                          tutti_failure *err);

#endif
