/* SPDX-License-Identifier: Apache-2.0 */
/* svm_finish.c: computes objective, threshold and counts of a solution, as LIBSVM does.
 *
 * Sums run over the samples in the order of the file, whichever rank holds them: each rank sends its terms, and every
 * rank adds the terms of all ranks. */
#include "svm_context.h"

/* Contribution of one sample to the sums. */
typedef struct {
    double objective, alpha, free_gamma;
} term;
_Static_assert(sizeof(term) == 3 * sizeof(double), "terms travel as doubles");

enum { NSV, NBSV, NFREE, NCOUNTS };

static void list_terms(const tutti_svm_solver *s, term *terms, int64_t counts[NCOUNTS])
{
    const tutti_svm_state *state = &s->state;
    const tutti_svm_problem *p = s->problem;
    for (int64_t i = 0; i < state->n; i++) {
        const int64_t k = state->position[i];
        const double alpha = state->alpha[k], cost = p->y[i] > 0 ? p->cost_positive : p->cost_negative;
        const bool is_free = alpha > 0 && alpha < cost;
        terms[i] = (term){alpha * (p->y[i] * state->gamma[k] - 1), alpha, is_free ? state->gamma[k] : 0};
        counts[NSV] += alpha > 0, counts[NBSV] += alpha >= cost, counts[NFREE] += is_free;
    }
}

static tutti_status gather_terms(tutti_svm_solver *s, const term *own, const term **all, tutti_failure *err)
{
    tutti_svm_context *e = s->e;
    *all = own;
    if (e->nranks == 1) return TUTTI_OK;
    term *gathered = TUTTI_ARENA_NEW(&s->arena, term, s->total);
    for (int r = 0; r < e->nranks; r++) e->nrows_of[r] = 3 * s->samples_of[r];
    const tutti_call call = {.collective = TUTTI_ALL_GATHER,
                             .in = own,
                             .out = gathered,
                             .count = 3 * s->state.n,
                             .counts = e->nrows_of,
                             .type = TUTTI_F64};
    *all = gathered;
    return tutti_comm_run(e->comm, &call, err);
}

tutti_status tutti_svm_finish(tutti_svm_solver *s, double *alpha, tutti_svm_pair_result *result, tutti_failure *err)
{
    const tutti_svm_state *state = &s->state;
    int64_t counts[NCOUNTS] = {0};
    term *own = TUTTI_ARENA_NEW(&s->arena, term, state->n), sum = {0};
    const term *all;
    list_terms(s, own, counts);
    tutti_status st = gather_terms(s, own, &all, err);
    if (!st) st = tutti_svm_context_count(s->e, counts, NCOUNTS, err);
    if (st) return st;
    for (int64_t i = 0; i < s->total; i++) {
        sum.objective += all[i].objective;
        sum.alpha += all[i].alpha;
        sum.free_gamma += all[i].free_gamma;
    }
    for (int64_t i = 0; i < state->n; i++) alpha[i] = state->alpha[state->position[i]];
    const bool has_free = counts[NFREE] > 0;
    *result =
        (tutti_svm_pair_result){.iterations = state->iterations,
                                .objective = sum.objective / 2,
                                .rho = has_free ? sum.free_gamma / (double)counts[NFREE] : (s->b_up + s->b_low) / 2,
                                .nu = sum.alpha / (s->problem->cost_positive * (double)s->total),
                                .nsv = counts[NSV],
                                .nbsv = counts[NBSV],
                                .gap = s->b_low - s->b_up};
    return TUTTI_OK;
}
