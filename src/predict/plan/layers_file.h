/* SPDX-License-Identifier: Apache-2.0 */
/* layers_file.h: predicts a step from a file of layers (six columns), without job, model or kernels. Threads: one at a
 * time. */
#ifndef TUTTI_PREDICT_LAYERS_FILE_H
#define TUTTI_PREDICT_LAYERS_FILE_H

#include "../play/step_schedule.h"
#include "../step_costs.h"
#include "planning.h"

typedef struct {
    int nranks; /* number of ranks that this answer is for */
    tutti_step_times times;
    tutti_step_costs costs; /* costs of the step's messages; all zeros for one rank */
    double samples_per_s, speedup, efficiency;
} tutti_layers_answer;

typedef struct {
    /* the question: path of the layer file, name of the step's schedule, and its exchange */
    const char *path, *schedule_name, *exchange_text; /* schedule_name: such as "wfbp"; exchange_text: such as
                                                       * "allreduce:ring" */
    tutti_topology topology;
    int64_t batch; /* samples of a rank for which the times in the file were measured */
    double speed;  /* factor by which computing is faster than in the file */
    int n;
    tutti_layers_answer at[TUTTI_PREDICT_MAX_RANKS];
    tutti_predict_answers plan; /* questions about a whole run, with their answers */
    /* the answer */
    const tutti_step_schedule *schedule;
    tutti_step_exchange exchange;
    tutti_step_layer *layers;
    tutti_step_work work;
    int64_t bytes, smallest;
    tutti_rank_memory memory; /* memory of a rank without activations, because the file does not give their size */
    char rule[16];
    bool knows_rule; /* true if the update rule is known, so that the memory of its states is counted */
} tutti_layers_question;

/* Answers the question. TUTTI_ERR_USAGE: no such schedule or exchange, or a topology without room; TUTTI_ERR_DATA: a
 * bad file. Release it even after a failure. */
tutti_status tutti_layers_file_predict(tutti_layers_question *q, tutti_failure *err);
void tutti_layers_file_release(tutti_layers_question *q);
/* Print the answers for people; and as JSON, one object on a line for each rank count. */
void tutti_layers_file_print(const tutti_layers_question *q, tutti_strbuf *out);
void tutti_layers_file_print_json(const tutti_layers_question *q, tutti_strbuf *out);

#endif
