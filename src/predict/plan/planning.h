/* SPDX-License-Identifier: Apache-2.0 */
/* predict_question.h: what `tutti predict JOB` is asked, what it found, and its parts with files of their own. Threads: owner. */
#ifndef TUTTI_CLI_PREDICT_QUESTION_H
#define TUTTI_CLI_PREDICT_QUESTION_H

#include "../../base/text/strbuf.h"
#include "tutti/job.h"
#include "tutti/predict.h"

typedef struct tutti_predict_answers tutti_predict_answers; /* predict_answers.h */

enum { TUTTI_PREDICT_MAX_RANKS = 32, TUTTI_PREDICT_MAX_SETS = 64 };

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
} tutti_predict_question;

/* ---- predict_framework.c ---- */

/* Fills in q->predicted with steps of a training system (predict/framework.h). */
tutti_status tutti_predict_framework(const char *name, tutti_predict_question *q, tutti_failure *err);
/* Fills in q->faster, of PyTorch's DDP. */
tutti_status tutti_predict_faster(tutti_predict_question *q, tutti_failure *err);
/* "A,B": prints what makes the gap from A's step to B's; json: as --json. */
tutti_status tutti_predict_gap(const char *names, const char *json, const tutti_predict_question *q,
                               tutti_failure *err);

/* ---- predict_table.c ---- */

/* Of the last of the rank counts of which there is a prediction; of one there is. */
const tutti_prediction *tutti_predict_last(const tutti_predict_question *q);
/* What was chosen at the last of the counts, and what is faster all the same; nothing where nothing was. */
void tutti_predict_print_choice(const tutti_predict_question *q);
void tutti_predict_print_table(const tutti_predict_question *q);
void tutti_predict_print_layers(const tutti_predict_question *q);

/* ---- predict_json.c: an object a line ---- */

void tutti_predict_print_json(const tutti_predict_question *q, tutti_strbuf *out);
void tutti_predict_print_layers_json(const tutti_predict_question *q, tutti_strbuf *out);
/* Such lines: into the file of --json; "-": to standard output, where nothing else is printed then. */
tutti_status tutti_predict_write_json(const char *path, const tutti_strbuf *lines, tutti_failure *err);

#endif
