/* SPDX-License-Identifier: Apache-2.0 */
/* planning_parts.h: declarations that the files of src/predict/plan share. Threads: one at a time. */
#ifndef TUTTI_PREDICT_PLANNING_PARTS_H
#define TUTTI_PREDICT_PLANNING_PARTS_H

#include "../../base/text/json.h"
#include "planning.h"

/* Returns the prediction at the last rank count that has one. There is always one. */
const tutti_prediction *tutti_predict_last(const tutti_predict_question *q);
/* Returns false if it is known that a rank's memory is more than its device has. */
bool tutti_predict_fits(const tutti_predict_answers *a, const tutti_prediction *p);
/* Returns the number of hosts with ranks, or the number that --ranks-per-node gives. */
int tutti_predict_nodes_of(const tutti_topology *topology, const tutti_predict_answers *a, int nranks);
tutti_status tutti_predict_changes_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err);

/* Predicts the job at a rank count. To the question's own overrides it adds `nmore` overrides. */
enum { TUTTI_PREDICT_MOST_MORE = 16 };
tutti_status tutti_predict_with(const tutti_predict_question *q, const tutti_predict_options *options, int nranks,
                                const char *const *more, int nmore, tutti_prediction *out, tutti_failure *err);
/* Finds the dense layer with the most weights, which groups of ranks could share. Returns false if there is none. */
bool tutti_predict_sharable(const tutti_predict_question *q, const tutti_predict_options *options, int nranks,
                            char layer[64]);
/* A number of groups of ranks to try. tutti_predict_groups_at returns the i-th of these, or NULL after the last for
 * nranks ranks. */
typedef struct {
    int n;
    const char *text;
} tutti_groups;
const tutti_groups *tutti_predict_groups_at(int i, int nranks);

/* ---- pictures ---- */

/* Draws speed-up and efficiency (in %) over n rank counts as SVG. of: the name in the title. */
void tutti_predict_draw_scaling(const char *of, const double *ranks, const double *speedup, const double *efficiency,
                                int n, tutti_strbuf *out);

/* ---- text ---- */

/* Adds a line for each rank count: times of a step and, for a whole run, hours, nodes and cost. */
void tutti_predict_add_table(const tutti_predict_question *q, tutti_strbuf *out);
void tutti_predict_add_layers(const tutti_predict_question *q, tutti_strbuf *out);
/* Adds the exchange that was chosen at the last rank count, and what other choice would be faster. Adds nothing if
 * nothing was chosen. */
void tutti_predict_add_choice(const tutti_predict_question *q, tutti_strbuf *out);
/* Adds a line about prices if they are those of a named machine. */
void tutti_predict_add_prices(const tutti_predict_answers *a, tutti_strbuf *out);
/* Adds sentences, each on a line of its own: the best counts, memory, what bounds a step. */
void tutti_predict_add_words(const tutti_predict_question *q, tutti_strbuf *out);
/* Adds the sentences about a whole run. It reads the rank counts and the answers of the question. */
void tutti_predict_add_run_words(const tutti_predict_question *q, tutti_strbuf *out);
void tutti_predict_add_changes(const tutti_predict_question *q, tutti_strbuf *out);

/* ---- keys of an object of JSON ---- */

void tutti_predict_run_json(const tutti_predict_answers *a, int i, tutti_json *j);
void tutti_predict_changes_json(const tutti_predict_answers *a, int i, tutti_json *j);

#endif
