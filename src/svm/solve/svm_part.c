/* SPDX-License-Identifier: Apache-2.0 */
/* svm_part.c: trains one pair of classes: its samples on this rank, its solution, its decisions. */
#include <stdlib.h>

#include "../../base/arena.h"
#include "../checkpoint/svm_checkpoint.h"

double tutti_svm_cost_of(const tutti_svm_config *config, int32_t label)
{
    double cost = config->cost;
    for (int i = 0; i < config->nweights; i++)
        if (config->weight_label[i] == label) cost *= config->weight[i];
    return cost;
}

/* Merges this rank's rows of both classes into one list, by ascending number of row. */
static void merge_rows(const tutti_svm_classes *c, int i, int j, tutti_svm_part *part)
{
    int64_t a = 0, b = 0;
    while (a < c->own[i] || b < c->own[j]) {
        const bool first = b >= c->own[j] || (a < c->own[i] && c->row[i][a] < c->row[j][b]);
        part->y[part->n] = first ? 1 : -1;
        part->row[part->n++] = first ? c->row[i][a++] : c->row[j][b++];
    }
}

tutti_status tutti_svm_part_train(tutti_svm_training *t, const tutti_svm_classes *c, int i, int j, tutti_svm_part *out,
                                  tutti_failure *err)
{
    const size_t n = (size_t)(c->own[i] + c->own[j]) + 1;
    tutti_svm_part part = {.row = tutti_alloc(n * sizeof *part.row),
                           .y = tutti_alloc(n * sizeof *part.y),
                           .alpha = tutti_alloc(n * sizeof *part.alpha)};
    merge_rows(c, i, j, &part);
    const tutti_svm_problem problem = {.n = part.n,
                                       .row = part.row,
                                       .y = part.y,
                                       .cost_positive = tutti_svm_cost_of(t->config, c->label[i]),
                                       .cost_negative = tutti_svm_cost_of(t->config, c->label[j]),
                                       .pair = t->solved++,
                                       .npairs = t->nproblems};
    const tutti_status st = tutti_svm_checkpoint_solve(t->context, &problem, part.alpha, &part.result, err);
    if (problem.cost_positive != problem.cost_negative) part.result.nu = -1; /* nu needs equal C of both classes */
    if (st)
        tutti_svm_part_release(&part);
    else
        *out = part;
    return st;
}

void tutti_svm_part_release(tutti_svm_part *part)
{
    free(part->row);
    free(part->y);
    free(part->alpha);
    *part = (tutti_svm_part){0};
}

tutti_status tutti_svm_part_decide(tutti_svm_training *t, const tutti_svm_part *part, int64_t ntargets,
                                   const int32_t *target, double *decision, tutti_failure *err)
{
    double *weight = tutti_alloc((size_t)(part->n + 1) * sizeof *weight);
    for (int64_t s = 0; s < part->n; s++) weight[s] = part->y[s] * part->alpha[s];
    for (int64_t k = 0; k < ntargets; k++) decision[k] = 0;
    const tutti_svm_weighted own = {part->n, part->row, weight};
    const tutti_status st = tutti_svm_sum_rows(t->context, &own, ntargets, target, decision, err);
    for (int64_t k = 0; !st && k < ntargets; k++) decision[k] -= part->result.rho;
    free(weight);
    return st;
}
