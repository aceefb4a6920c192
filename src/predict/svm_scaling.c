/* SPDX-License-Identifier: Apache-2.0 */
/* svm_scaling.c: scales the trace of an SVM training on one rank to more ranks. */
#include "svm_scaling.h"

#include <stdlib.h>

#include "../base/arena.h"
#include "../collective/simulate/choose/choose.h"
#include "../svm/solve/svm_offer.h"
#include "tutti/compile.h"
#include "tutti/types.h"

/* --- reading a trace --- */

static void add_problem(tutti_svm_load *l, const tutti_svm_event *last)
{
    l->problems++;
    l->pairs += (double)last->iterations;
    l->row_bytes += (double)last->row_bytes;
    if (last->samples > l->samples) l->samples = last->samples;
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) l->spent_s[w] += last->spent_s[w];
}

void tutti_svm_load_of(const tutti_svm_trace *t, tutti_svm_load *out)
{
    tutti_svm_load l = {.nranks = t->nranks, .nthreads = t->nthreads, .events = t->n};
    double rounds_s = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const tutti_svm_event *e = &t->events[i], *before = i > 0 && !e[-1].over ? e - 1 : NULL;
        if (e->block > l.block) l.block = e->block;
        l.rounds += before && e->round > before->round;
        l.gathers += e->row_bytes > (before ? before->row_bytes : 0);
        if (e->over || i == t->n - 1) add_problem(&l, e);
    }
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) rounds_s += l.spent_s[w];
    l.seconds = t->events[t->n - 1].seconds;
    if (l.seconds > rounds_s)
        l.spent_s[TUTTI_SVM_OTHER] += l.seconds - rounds_s;
    else
        l.seconds = rounds_s;
    *out = l;
}

/* --- scaling to more ranks --- */

/* Predicts the seconds of a collective; nbytes: bytes of the whole vector. */
static tutti_status exchange_time(tutti_collective collective, int nranks, int64_t nbytes, const tutti_topology *t,
                                  double *out, tutti_failure *err)
{
    const tutti_compile_request request = {.collective = collective, .nranks = nranks, .in_place = true};
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_status st = TUTTI_OK;
    tutti_choose_algorithm(&request, (nbytes + TUTTI_ELEMENT_BYTES - 1) / TUTTI_ELEMENT_BYTES, t, choice);
    if (choice->best >= 0)
        *out = choice->candidates[choice->best].sim.seconds;
    else
        st = tutti_fail(err, TUTTI_ERR_USAGE, "no algorithm has %s of %lld bytes over %d ranks on this topology",
                        tutti_collective_name(collective), (long long)nbytes, nranks);
    free(choice);
    return st;
}

static tutti_status time_exchanges(const tutti_svm_load *one, const tutti_topology *t, tutti_svm_scaling *s,
                                   tutti_failure *err)
{
    if (s->nranks == 1) return TUTTI_OK;
    const int offer = tutti_svm_offer_of(one->block, s->nranks);
    s->offers_bytes = tutti_svm_offer_length(offer) * s->nranks * (int64_t)sizeof(tutti_svm_candidate);
    s->gather_bytes = one->gathers ? (int64_t)(one->row_bytes / (double)one->gathers) : 0;
    tutti_status st =
        exchange_time(TUTTI_ALLREDUCE, s->nranks, 3 * (int64_t)sizeof(tutti_f64_at), t, &s->extremes_s, err);
    if (!st) st = exchange_time(TUTTI_ALL_GATHER, s->nranks, s->offers_bytes, t, &s->offers_s, err);
    if (!st && one->gathers) st = exchange_time(TUTTI_ALL_GATHER, s->nranks, s->gather_bytes, t, &s->rows_s, err);
    return st;
}

/* Returns how many ranks, or threads of all ranks, take turns on a core. */
static double turns(const tutti_topology *t, double busy)
{
    if (t->kind != TUTTI_TOPOLOGY_HOST) return 1;
    const double cores = t->figure[TUTTI_FIGURE_CORES];
    return cores > 0 && busy > cores ? busy / cores : 1;
}

static bool divides(int work)
{
    return work == TUTTI_SVM_CHOOSING || work == TUTTI_SVM_UPDATING || work == TUTTI_SVM_ELIMINATING;
}

tutti_status tutti_svm_scale(const tutti_svm_load *one, const tutti_topology *t, int nranks, tutti_svm_scaling *out,
                             tutti_failure *err)
{
    tutti_svm_scaling s = {.nranks = nranks};
    if (one->nranks != 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "the trace is of %d ranks: prediction starts from a trace of one",
                          one->nranks);
    tutti_status st = tutti_topology_fits(t, nranks, err);
    if (!st) st = time_exchanges(one, t, &s, err);
    if (st) return st;
    const double threads = one->nthreads, shared = turns(t, threads * nranks) / turns(t, threads) / nranks,
                 alike = turns(t, nranks);
    const double exchanges_s = (double)one->events * s.extremes_s + (double)one->rounds * s.offers_s +
                               (double)one->gathers * s.rows_s; /* 0 for one rank, which gathers nothing */
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) {
        s.spent_s[w] = one->spent_s[w] * (divides(w) ? shared : alike);
        if (w == TUTTI_SVM_MOVING) s.spent_s[w] += exchanges_s;
        s.seconds += s.spent_s[w];
    }
    s.speedup = s.seconds > 0 ? one->seconds / s.seconds : 1;
    s.efficiency = s.speedup / nranks;
    *out = s;
    return TUTTI_OK;
}

double tutti_svm_scaling_least_s(const tutti_svm_load *one)
{
    double least_s = 0;
    for (int w = 0; w < TUTTI_SVM_NWORKS; w++) least_s += divides(w) ? 0 : one->spent_s[w];
    return least_s;
}
