/* SPDX-License-Identifier: Apache-2.0 */
/* plan_run.c: predicts a whole run: steps, hours, nodes, cost, and the rank count that serves best. */
#include "plan_run.h"

#include <math.h>

static const double HOUR_S = 3600;

static tutti_run_row row_of(const tutti_run_plan *plan, const tutti_prediction *p, const tutti_run_seats *seats)
{
    tutti_run_row r = {.nranks = p->nranks,
                       .nnodes = seats->nnodes,
                       .batch = seats->batch,
                       .steps_per_epoch = p->step_s > 0 ? plan->samples / seats->batch : 0,
                       .efficiency = p->efficiency};
    r.steps = llround(plan->epochs * (double)r.steps_per_epoch);
    r.epoch_s = r.steps_per_epoch ? (double)r.steps_per_epoch * p->step_s : (double)NAN;
    r.run_s = r.steps_per_epoch ? (double)r.steps * p->step_s : (double)NAN;
    r.node_hours = r.nnodes * r.run_s / HOUR_S;
    r.cost = r.node_hours * plan->price + r.run_s / HOUR_S * plan->once;
    r.in_time = r.steps_per_epoch && (plan->deadline_s <= 0 || r.run_s <= plan->deadline_s);
    return r;
}

void tutti_run_plan_rows(const tutti_run_plan *plan, const tutti_prediction *predicted, const tutti_run_seats *seats,
                         int n, tutti_run_row *rows)
{
    for (int i = 0; i < n; i++) rows[i] = row_of(plan, &predicted[i], &seats[i]);
}

/* Makes row i the best if its value is smaller, or equal with fewer nodes. */
static void take_better(const tutti_run_row *rows, int i, double (*value_of)(const tutti_run_row *r), int *best)
{
    const double value = value_of(&rows[i]), least = *best < 0 ? INFINITY : value_of(&rows[*best]);
    if (value < least || (value == least && rows[i].nnodes < rows[*best].nnodes)) *best = i;
}

static double nodes_of(const tutti_run_row *r)
{
    return r->nnodes;
}

static double cost_of(const tutti_run_row *r)
{
    return r->cost > 0 ? r->cost : r->node_hours;
}

static double seconds_of(const tutti_run_row *r)
{
    return r->run_s;
}

tutti_run_choice tutti_run_plan_choose(const tutti_run_row *rows, int n)
{
    tutti_run_choice c = {-1, -1, -1, -1};
    for (int i = 0; i < n; i++) {
        if (!rows[i].steps_per_epoch) continue;
        take_better(rows, i, seconds_of, &c.fastest);
        take_better(rows, i, cost_of, &c.cheapest);
        if (!rows[i].in_time) continue;
        take_better(rows, i, nodes_of, &c.fewest);
        take_better(rows, i, cost_of, &c.cheapest_in_time);
    }
    return c;
}

int tutti_predict_knee(const tutti_prediction *predicted, int n, double least)
{
    int efficient = 0, knee = 0;
    for (int i = 0; i < n; i++)
        if (predicted[i].efficiency >= least && predicted[i].nranks > efficient) efficient = predicted[i].nranks;
    for (int i = 0; i < n; i++)
        if (predicted[i].step_s > 0 && predicted[i].nranks > efficient && (!knee || predicted[i].nranks < knee))
            knee = predicted[i].nranks;
    return knee;
}
