/* SPDX-License-Identifier: Apache-2.0 */
/* contestants.c: estimates the step time of each algorithm, to decide which are worth a plan. */
#include "contestants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../collective/simulate/choose/choose.h"

enum { FIRST_BYTES = 4096, GROWTH = 4, EACH = 3 };

typedef struct {
    const tutti_choice_question *q;
    const tutti_plan *base;
    int64_t n[TUTTI_MAX_COST_POINTS]; /* for each size: its number of elements */
    int nsizes;
    double forward_s, update_s; /* forward_s: seconds of the forward pass of all layers; update_s: seconds of updating
                                 * one element */
    tutti_choice_memory *memory;
    tutti_choice *by[TUTTI_NCOLLECTIVES]; /* one array of nsizes for each collective that was asked for;
                                           * tutti_choice_memory owns the arrays */
} study;

/* The simulations that were made so far. */
struct tutti_asked {
    tutti_compile_request request;
    int64_t n[TUTTI_MAX_COST_POINTS];
    int nsizes;
    tutti_choice *choices; /* the algorithm chosen for each size */
};

static void choose_sizes(study *s)
{
    const int64_t total = s->base->total;
    int64_t n = FIRST_BYTES / TUTTI_ELEMENT_BYTES;
    for (; n < total && s->nsizes < TUTTI_MAX_COST_POINTS - 1; n *= GROWTH) s->n[s->nsizes++] = n;
    s->n[s->nsizes++] = total;
}

static tutti_choice *recall(const study *s, const tutti_compile_request *r)
{
    for (int i = 0; i < s->memory->nasked; i++) {
        const struct tutti_asked *a = &s->memory->asked[i];
        if (a->request.collective == r->collective && a->request.slots == r->slots &&
            a->request.sums_once == r->sums_once && a->nsizes == s->nsizes &&
            !memcmp(a->n, s->n, sizeof *s->n * (size_t)s->nsizes))
            return a->choices;
    }
    return NULL;
}

static void keep(study *s, const tutti_compile_request *r, tutti_choice *choices)
{
    tutti_choice_memory *m = s->memory;
    m->asked = tutti_grow(m->asked, m->nasked, &m->room, sizeof *m->asked);
    struct tutti_asked *a = &m->asked[m->nasked++];
    *a = (struct tutti_asked){.request = *r, .nsizes = s->nsizes, .choices = choices};
    memcpy(a->n, s->n, sizeof *s->n * (size_t)s->nsizes);
}

void tutti_contestants_forget(tutti_choice_memory *m)
{
    for (int i = 0; i < m->nasked; i++) free(m->asked[i].choices);
    free(m->asked);
    m->asked = NULL;
    m->nasked = m->room = 0;
}

static const tutti_choice *ask(study *s, tutti_collective c)
{
    const tutti_plan_config *config = &s->q->config;
    const tutti_policy policy = {.name = "fastest", .most_fan_in = s->q->most_fan_in, .is_brief = true};
    const bool sums = tutti_collective_reduces(c);
    const tutti_compile_request request = {.collective = c,
                                           .nranks = config->nranks,
                                           .slots = sums ? config->slots : 0,
                                           .in_place = true,
                                           .sums_once = sums && tutti_plan_sums_once(config)};
    if (!s->by[c]) s->by[c] = recall(s, &request);
    if (s->by[c]) return s->by[c];
    s->by[c] = tutti_alloc(sizeof *s->by[c] * (size_t)s->nsizes);
    tutti_choose_sizes(&policy, &request, s->n, s->nsizes, s->q->topology, s->by[c]);
    keep(s, &request, s->by[c]);
    return s->by[c];
}

/* Finds the times of an algorithm by size, in whole nanoseconds; a larger size never gets a smaller time. Returns false
 * if the algorithm cannot do the collective. */
static bool cost_of(study *s, tutti_collective c, const char *algorithm, tutti_exchange_cost *out)
{
    const tutti_choice *choices = ask(s, c);
    const int64_t sent = (int64_t)tutti_dtype_bytes(tutti_collective_reduces(c) ? s->q->config.sent : TUTTI_F32);
    int at = 0;
    while (at < choices->ncandidates && strcmp(choices->candidates[at].algorithm, algorithm) != 0) at++;
    *out = (tutti_exchange_cost){.npoints = s->nsizes, .overlap = s->q->topology->kind != TUTTI_TOPOLOGY_HOST};
    if (at == choices->ncandidates) return false;
    for (int i = 0; i < s->nsizes; i++) {
        const tutti_candidate *found = &choices[i].candidates[at];
        if (!found->can) return false;
        /* sizes in bytes of f32 elements, although fewer bytes travel if elements are rounded to `sent` bytes */
        out->bytes[i] = s->n[i] * TUTTI_ELEMENT_BYTES * TUTTI_ELEMENT_BYTES / sent;
        out->ns[i] = llround(found->sim.seconds * 1e9);
        if (i && out->ns[i] < out->ns[i - 1]) out->ns[i] = out->ns[i - 1];
    }
    return true;
}

/* Returns the time from the beginning of the backward pass, with merged buckets, until all sums have arrived and the
 * exchanges behind the sums of the last bucket have ended. */
static double merged(const study *s, const tutti_exchange_cost *first, const tutti_exchange_cost *then, double *after_s)
{
    const tutti_plan *p = s->base;
    bool *starts = tutti_alloc(sizeof *starts * (size_t)(p->nitems + 1));
    tutti_merge_group *groups = tutti_alloc(sizeof *groups * (size_t)(p->nitems + 1));
    int ngroups = 0;
    const int64_t end = tutti_merge_best(p->items, p->nitems, first, starts);
    tutti_merge_play(p->items, p->nitems, first, starts, groups, &ngroups);
    int64_t after = 0;
    for (int g = 0; then && g < ngroups; g++) after += tutti_exchange_cost_ns(then, groups[g].bytes);
    *after_s = (double)after * 1e-9;
    free(starts);
    free(groups);
    return (double)end * 1e-9;
}

static tutti_exchange_cost sum_of(const tutti_exchange_cost *a, const tutti_exchange_cost *b)
{
    tutti_exchange_cost sum = *a;
    for (int i = 0; i < sum.npoints; i++) sum.ns[i] += b->ns[i];
    return sum;
}

/* Adds up the times of the wanted collectives: of those that reduce, or of those that do not. Returns false if one is
 * impossible. */
static bool add_up(study *s, const char *algorithm, unsigned wanted, bool reduces, tutti_exchange_cost *out)
{
    tutti_exchange_cost one;
    *out = (tutti_exchange_cost){0};
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) {
        if (!(wanted >> c & 1) || tutti_collective_reduces((tutti_collective)c) != reduces) continue;
        if (!cost_of(s, (tutti_collective)c, algorithm, &one)) return false;
        *out = out->npoints ? sum_of(out, &one) : one;
    }
    return true;
}

/* Returns the score of one algorithm; infinite if it cannot do a wanted collective. Collectives that do not reduce
 * distribute updated weights; the forward pass can hide them. */
static double score(study *s, const char *algorithm, bool replicated, unsigned wanted)
{
    tutti_exchange_cost sums, weights;
    const double update_s = s->update_s * (double)s->base->total / (replicated ? 1 : s->q->config.nranks);
    double after_s = 0;
    if (!add_up(s, algorithm, wanted, true, &sums) || !add_up(s, algorithm, wanted, false, &weights) || !sums.npoints)
        return INFINITY;
    if (weights.npoints && !sums.overlap) { /* without overlap no compute hides the exchanges */
        sums = sum_of(&sums, &weights);
        weights.npoints = 0;
    }
    const double end_s = merged(s, &sums, weights.npoints ? &weights : NULL, &after_s);
    return fmax(s->forward_s, after_s) + end_s + update_s;
}

/* Inserts a contestant into the list, which is sorted by score and keeps at most `most`. Among equal scores the earlier
 * one stays first. */
static void insert(tutti_contestant *list, int *n, const tutti_contestant *w)
{
    int at = *n;
    while (at > 0 && w->score_s < list[at - 1].score_s * (1 - 1e-3)) at--;
    if (at == EACH) return;
    if (*n < EACH) ++*n;
    for (int i = *n - 1; i > at; i--) list[i] = list[i - 1];
    list[at] = *w;
}

static void add_best(study *s, bool replicated, tutti_contestants *out)
{
    tutti_plan_config config = s->q->config;
    tutti_contestant best[EACH + 1];
    int n = 0;
    config.replicated = replicated;
    if (s->q->method->accept(&config, NULL)) return;
    const unsigned wanted = s->q->method->collectives(&config);
    /* only a method that its paper defines by a tree wants TUTTI_REDUCE, so there is nothing to choose */
    if (!wanted || wanted & 1u << TUTTI_REDUCE) return;
    int first = 0;
    while (!(wanted >> first & 1)) first++;
    const tutti_choice *all = ask(s, (tutti_collective)first);
    for (int i = 0; i < all->ncandidates; i++) {
        tutti_contestant w = {.replicated = replicated};
        const char *algorithm = all->candidates[i].algorithm;
        if (!all->candidates[i].can) continue;
        memcpy(w.algorithm, algorithm, sizeof w.algorithm);
        w.score_s = score(s, algorithm, replicated, wanted);
        if (isfinite(w.score_s)) insert(best, &n, &w);
    }
    for (int i = 0; i < n && out->n < TUTTI_MOST_CONTESTANTS; i++) out->list[out->n++] = best[i];
}

static void add(tutti_contestants *out, const char *algorithm, bool replicated)
{
    tutti_contestant *w = &out->list[out->n++];
    *w = (tutti_contestant){.replicated = replicated};
    snprintf(w->algorithm, sizeof w->algorithm, "%s", algorithm);
}

void tutti_contestants_find(const tutti_choice_question *q, const tutti_plan *base, tutti_choice_memory *memory,
                            tutti_contestants *out)
{
    study s = {.q = q, .base = base, .memory = memory, .update_s = q->profile->update_s_per_element};
    *out = (tutti_contestants){0};
    for (int l = 0; l < q->profile->nlayers; l++) s.forward_s += q->profile->layers[l].forward_s;
    add(out, q->config.algorithm, q->config.replicated);
    if (q->open.update) add(out, q->config.algorithm, !q->config.replicated);
    if (q->open.algorithm) {
        choose_sizes(&s);
        add_best(&s, q->config.replicated, out);
        if (q->open.update) add_best(&s, !q->config.replicated, out);
    }
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
        if (s.by[c]) out->nsimulated += s.by[c]->ncandidates;
}
