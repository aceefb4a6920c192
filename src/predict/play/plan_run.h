/* SPDX-License-Identifier: Apache-2.0 */
/* plan_run.h: predicts a whole training from the step of each rank count: hours, nodes for a deadline, cost, and up to
 * how many ranks it pays. The functions read predictions and make none. Threads: any (pure functions). */
#ifndef TUTTI_PLAN_RUN_H
#define TUTTI_PLAN_RUN_H

#include "tutti/predict.h"

typedef struct {
    double epochs;     /* passes over the training set, above 0 */
    int64_t samples;   /* samples of the training set */
    double deadline_s; /* seconds that the run may take; 0 if there is no limit */
    double price;      /* price of a node for an hour, in any currency; 0 if not asked for */
    double once;       /* price of an hour of everything that exists once, whatever the number of nodes */
} tutti_run_plan;

/* A whole run at one rank count. */
typedef struct {
    int64_t batch; /* samples of a step, of all ranks together */
    int nnodes;    /* number of nodes that are paid for */
} tutti_run_seats;

/* A row for one rank count. Steps are counted as in training: an epoch has samples / batch whole steps. */
typedef struct {
    int nranks, nnodes;
    int64_t batch,
        steps_per_epoch; /* steps of an epoch; 0 if the set is smaller than a batch, or without a prediction: then the
                          * fields below are NaN */
    int64_t steps;
    double epoch_s, run_s, node_hours, cost;
    double efficiency;
    bool in_time; /* true if the run ends by the deadline, or if there is none */
} tutti_run_row;

void tutti_run_plan_rows(const tutti_run_plan *plan, const tutti_prediction *predicted, const tutti_run_seats *seats,
                         int n, tutti_run_row *rows);

/* Indices of rows; -1 if there is none. Among equal rows the row with fewer nodes is taken. */
typedef struct {
    int fewest;           /* index of the run that ends in time with the fewest nodes; -1 = none */
    int cheapest_in_time; /* index of the run that ends in time with the smallest cost; -1 = none */
    int cheapest;         /* index of the run with the smallest cost; -1 = none */
    int fastest;          /* index of the shortest run; -1 = none */
} tutti_run_choice;
tutti_run_choice tutti_run_plan_choose(const tutti_run_row *rows, int n);

/* Returns the smallest rank count such that it and all larger predicted counts are less efficient than `least`; 0 if
 * the largest count is as efficient as that. The counts may be in any order. */
int tutti_predict_knee(const tutti_prediction *predicted, int n, double least);

#endif
