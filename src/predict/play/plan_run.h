/* SPDX-License-Identifier: Apache-2.0 */
/* plan_run.h: what a whole training takes by the predicted step of each rank count: hours, nodes for a deadline, what
 * it costs, and up to how many ranks it pays. Arithmetic on predictions; nothing else is looked at. Threads: shared
 * (pure). */
#ifndef TUTTI_PLAN_RUN_H
#define TUTTI_PLAN_RUN_H

#include "tutti/predict.h"

typedef struct {
    double epochs;     /* passes over the training set, above 0 */
    int64_t samples;   /* that it has */
    double deadline_s; /* 0: there is none */
    double price;      /* of a node and hour, in any currency; 0: it is not asked for */
    double once;       /* of an hour of all that is there once, whatever number of nodes */
} tutti_run_plan;

/* What a rank count means there. */
typedef struct {
    int64_t batch; /* of all ranks together */
    int nnodes;    /* that are paid for */
} tutti_run_seats;

/* Of one rank count. Steps are counted as training counts them: an epoch has samples / batch whole ones. */
typedef struct {
    int nranks, nnodes;
    int64_t batch,
        steps_per_epoch; /* 0 steps: the set is smaller than a batch, or there is no prediction; what follows is NaN */
    int64_t steps;
    double epoch_s, run_s, node_hours, cost;
    double efficiency;
    bool in_time; /* always, without a deadline */
} tutti_run_row;

void tutti_run_plan_rows(const tutti_run_plan *plan, const tutti_prediction *predicted, const tutti_run_seats *seats,
                         int n, tutti_run_row *rows);

/* Indices of rows; -1: there is none. Of equals the one with fewer nodes. */
typedef struct {
    int fewest;           /* nodes of those in time */
    int cheapest_in_time; /* the fewest hours of nodes of those in time: the smallest cost */
    int cheapest;         /* of all */
    int fastest;          /* the shortest run */
} tutti_run_choice;
tutti_run_choice tutti_run_plan_choose(const tutti_run_row *rows, int n);

/* The smallest rank count from which on, itself included, all that were predicted are less efficient than `least`; 0:
 * the largest one is not. Their order does not matter. */
int tutti_predict_knee(const tutti_prediction *predicted, int n, double least);

#endif
