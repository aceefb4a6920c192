/* SPDX-License-Identifier: Apache-2.0 */
/* layers_file.h: predicts a step from a file of layers (six columns), without job, model or kernels. Threads: owner. */
#ifndef TUTTI_PREDICT_LAYERS_FILE_H
#define TUTTI_PREDICT_LAYERS_FILE_H

#include "../play/step_schedule.h"
#include "../step_costs.h"
#include "planning.h"

typedef struct {
    int nranks; /* asked for */
    tutti_step_times times;
    tutti_step_costs costs; /* of one rank: nothing */
    double samples_per_s, speedup, efficiency;
} tutti_layers_answer;

typedef struct {
    /* asked */
    const char *path, *schedule_name, *exchange_text; /* "wfbp"; "allreduce:ring" */
    tutti_topology topology;
    int64_t batch; /* samples a rank that the file's times are of */
    double speed;  /* by what computing is faster than in the file */
    int n;
    tutti_layers_answer at[TUTTI_PREDICT_MAX_RANKS];
    tutti_predict_answers plan; /* of a whole run, where it is asked for */
    /* found */
    const tutti_step_schedule *schedule;
    tutti_step_exchange exchange;
    tutti_step_layer *layers;
    tutti_step_work work;
    int64_t bytes, smallest;
    tutti_rank_memory memory; /* of what the file tells of it: no activations */
    char rule[16];
    bool knows_rule; /* and so the states */
} tutti_layers_question;

/* Answers what is asked. TUTTI_ERR_USAGE: no such schedule or exchange, or a topology without room; TUTTI_ERR_DATA: the
 * file. Release it also after a failure. */
tutti_status tutti_layers_file_predict(tutti_layers_question *q, tutti_failure *err);
void tutti_layers_file_release(tutti_layers_question *q);
/* For people; as JSON, an object a rank count and line. */
void tutti_layers_file_print(const tutti_layers_question *q, tutti_strbuf *out);
void tutti_layers_file_print_json(const tutti_layers_question *q, tutti_strbuf *out);

#endif
