/* SPDX-License-Identifier: Apache-2.0 */
/* predict_answers.h: what planners ask `tutti predict JOB` besides the time of a step: a whole run's hours, nodes and cost, memory a rank,
 * what bounds it, what if the machine were another, pictures. Read before anything is predicted, so that what is wrong is refused
 * at once. Threads: owner. */
#ifndef TUTTI_CLI_PREDICT_ANSWERS_H
#define TUTTI_CLI_PREDICT_ANSWERS_H

#include "../../base/text/json.h"
#include "../../job/step_view.h"
#include "../../predict/play/plan_run.h"
#include "../cli.h"
#include "predict_question.h"
#include "predict_units.h"

enum { TUTTI_PREDICT_MAX_CHANGES = 8 };
typedef struct tutti_advised tutti_advised; /* predict_advise.h */

/* The same on a machine with other figures: --what-if. */
typedef struct {
    const char *text; /* as it was asked for */
    tutti_topology topology;
    double speed;
    tutti_prediction predicted[TUTTI_PREDICT_MAX_RANKS];
} tutti_predict_change;

struct tutti_predict_answers {
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
    tutti_step_view step;   /* of the last of the rank counts */
    tutti_run_seats seats[TUTTI_PREDICT_MAX_RANKS];
    tutti_run_row rows[TUTTI_PREDICT_MAX_RANKS];
};

/* Flags, after the question has its job, topology and rank counts. TUTTI_ERR_USAGE names the flag. */
tutti_status tutti_predict_answers_read(const tutti_flags *f, const tutti_predict_question *q,
                                        tutti_predict_answers *out, tutti_failure *err);
/* Of them those of a whole run: what it is asked for, and its prices. epochs: of the job, 0 = it has none, and `without` says so. Samples
 * are 0 without --samples. */
tutti_status tutti_predict_plan_read(const tutti_flags *f, const tutti_topology *topology, double epochs,
                                     const char *without, tutti_predict_answers *a, tutti_failure *err);
/* Hosts that the ranks sit on, or as many as --ranks-per-node makes. */
int tutti_predict_nodes_of(const tutti_topology *topology, const tutti_predict_answers *a, int nranks);
/* TUTTI_ERR_USAGE: one of these flags is given, and it is not for `what` ("layer files"). */
tutti_status tutti_predict_answers_refuse(const tutti_flags *f, const char *what, tutti_failure *err);
/* A whole run is asked for, and more ranks bring samples of their own. */
bool tutti_predict_plans_weakly(const tutti_flags *f);
/* What follows from the predictions, and what is predicted besides; draws. */
tutti_status tutti_predict_answers_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err);
void tutti_predict_answers_release(tutti_predict_answers *a);
/* Keys of an object of --json, of rank count i. */
void tutti_predict_answers_json(const tutti_predict_question *q, int i, tutti_json *j);
/* Whether a rank's memory is known to be too much for its device. */
bool tutti_predict_fits(const tutti_predict_answers *a, const tutti_prediction *p);

/* ---- predict_screen.c: instead of the table, where a whole run is asked for ---- */

void tutti_predict_print_screen(const tutti_predict_question *q);
/* Where prices are those of a named machine: which, in a line. */
void tutti_predict_add_prices(const tutti_predict_answers *a, tutti_strbuf *out);
/* Under either table: words, what if. */
void tutti_predict_print_answers(const tutti_predict_question *q);

/* ---- predict_words.c ---- */

/* Which counts serve best, memory, what bounds a step: a sentence a line. */
void tutti_predict_add_words(const tutti_predict_question *q, tutti_strbuf *out);

/* Of these what a whole run tells: of the question its rank counts and answers. */
void tutti_predict_add_run_words(const tutti_predict_question *q, tutti_strbuf *out);

/* ---- predict_step.c: of a step at the last of the rank counts ---- */

void tutti_predict_step_words(const tutti_step_view *v, tutti_strbuf *out);
void tutti_predict_step_json(const tutti_step_view *v, tutti_json *j);

/* ---- predict_changes.c ---- */

tutti_status tutti_predict_changes_read(const tutti_flags *f, const tutti_predict_question *q, tutti_predict_answers *a,
                                        tutti_failure *err);
tutti_status tutti_predict_changes_find(const tutti_predict_question *q, tutti_predict_answers *a, tutti_failure *err);
/* Of rank count i. */
void tutti_predict_changes_json(const tutti_predict_answers *a, int i, tutti_json *j);
void tutti_predict_changes_print(const tutti_predict_question *q);

/* ---- predict_page.c ---- */

/* Where --svg and --html say: speed-up and efficiency over ranks; all answers, as a page that needs nothing else. */
tutti_status tutti_predict_pictures_write(const tutti_predict_question *q, const tutti_predict_answers *a,
                                          tutti_failure *err);

/* Rows of flags. */
#define TUTTI_PREDICT_ANSWERS_FLAGS                                                                                    \
    {"html", "FILE", "a page of it: scaling, one step, memory, what bounds it", TUTTI_FLAG_WRITES},                    \
        {"epochs", "E", "a whole training: hours, nodes, memory, and where it stops to pay", 0},                       \
        {"strong", NULL, "with --epochs: all ranks share the job's batch (default: each has it)", 0},                  \
        {"samples", "N", "of an epoch (default: those of the job's set)", 0},                                          \
        {"deadline", "T", "with --epochs: nodes needed to end within 12h, 90min or 2d", 0},                            \
        {"price", "P/h", "with --epochs: what it costs, of a node and hour", 0},                                       \
        {"ranks-per-node", "N", "ranks that a node has (default: as the topology has them)", 0},                       \
        {"advise", NULL, "which algorithm, buckets, order and method is fastest, by predicting each", 0},              \
        {"memory", "B", "that a rank has: says whether the job fits, 16GiB", 0},                                       \
    {                                                                                                                  \
        "what-if", "CHANGE,..", "the same with bandwidth=2x,latency=0.5x,compute=2x or a figure's key, beside it",     \
            TUTTI_FLAG_MANY                                                                                            \
    }

#endif
