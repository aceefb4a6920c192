/* SPDX-License-Identifier: Apache-2.0 */
/* planning_parts.h: what the files of src/predict/plan share. Threads: owner. */
#ifndef TUTTI_PREDICT_PLANNING_PARTS_H
#define TUTTI_PREDICT_PLANNING_PARTS_H

#include "../../base/text/json.h"
#include "planning.h"

/* Of the last of the rank counts of which there is a prediction; of one there is. */
const tutti_prediction *tutti_predict_last(const tutti_predict_question *q);
/* Whether a rank's memory is known to be too much for its device. */
bool tutti_predict_fits(const tutti_predict_answers *a, const tutti_prediction *p);
/* Hosts that the ranks sit on, or as many as --ranks-per-node makes. */
int tutti_predict_nodes_of(const tutti_topology *topology, const tutti_predict_answers *a, int nranks);
tutti_status tutti_predict_changes_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err);

/* The job with `nmore` overrides behind those that it was asked for with, at a rank count. */
enum { TUTTI_PREDICT_MOST_MORE = 16 };
tutti_status tutti_predict_with(const tutti_predict_question *q, const tutti_predict_options *options, int nranks,
                                const char *const *more, int nmore, tutti_prediction *out, tutti_failure *err);
/* Finds the dense layer with the most weights, which groups of ranks might share; false: there is none. */
bool tutti_predict_sharable(const tutti_predict_question *q, const tutti_predict_options *options, int nranks,
                            char layer[64]);
/* The i-th number of groups that is tried, NULL: there are no more of so many ranks. */
typedef struct {
    int n;
    const char *text;
} tutti_groups;
const tutti_groups *tutti_predict_groups_at(int i, int nranks);

/* ---- pictures ---- */

/* Speed-up and efficiency (in %) over n rank counts of what is called `of`, as SVG. */
void tutti_predict_draw_scaling(const char *of, const double *ranks, const double *speedup, const double *efficiency,
                                int n, tutti_strbuf *out);

/* ---- text ---- */

/* A line a rank count: times of a step; where a whole run is asked for, hours, nodes and cost. */
void tutti_predict_add_table(const tutti_predict_question *q, tutti_strbuf *out);
void tutti_predict_add_layers(const tutti_predict_question *q, tutti_strbuf *out);
/* What was chosen at the last of the counts, and what is faster all the same; nothing where nothing was. */
void tutti_predict_add_choice(const tutti_predict_question *q, tutti_strbuf *out);
/* Where prices are those of a named machine: which, in a line. */
void tutti_predict_add_prices(const tutti_predict_answers *a, tutti_strbuf *out);
/* Which counts serve best, memory, what bounds a step: a sentence a line. */
void tutti_predict_add_words(const tutti_predict_question *q, tutti_strbuf *out);
/* Of these what a whole run tells: of the question its rank counts and answers. */
void tutti_predict_add_run_words(const tutti_predict_question *q, tutti_strbuf *out);
void tutti_predict_add_changes(const tutti_predict_question *q, tutti_strbuf *out);

/* ---- keys of an object of JSON ---- */

void tutti_predict_run_json(const tutti_predict_answers *a, int i, tutti_json *j);
void tutti_predict_changes_json(const tutti_predict_answers *a, int i, tutti_json *j);

#endif
