/* SPDX-License-Identifier: Apache-2.0 */
/* svm_eliminate.c: shrinking: drops samples that will not matter from the active set, and brings them back.
 *
 * The alpha of a sample at a bound can only move one way. While its gamma lies beyond the other side's extreme, no pair
 * with the sample violates anything. So it is dropped: its gradient is no longer updated, and it is not offered for the
 * working set. If the guess was wrong, its gradient is recomputed, from samples with alpha > 0 alone. Members of the
 * working set are not dropped. A rule, after Vishnu et al. (CLUSTER 2015), says after how many iterations samples are
 * dropped, for the first time and again, and whether they come back once or several times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svm_context.h"

static const tutti_svm_elimination rules[] = {
    {"single,random:2", TUTTI_SVM_SINGLE, 2, 0},
    {"multi,random:2", TUTTI_SVM_MULTI, 2, 0},
    {"single,random:500", TUTTI_SVM_SINGLE, 500, 0},
    {"multi,random:500", TUTTI_SVM_MULTI, 500, 0},
    {"single,random:1000", TUTTI_SVM_SINGLE, 1000, 0},
    {"multi,random:1000", TUTTI_SVM_MULTI, 1000, 0},
    {"single,samples:5%", TUTTI_SVM_SINGLE, 0, 0.05},
    {"multi,samples:5%", TUTTI_SVM_MULTI, 0, 0.05},
    {"single,samples:10%", TUTTI_SVM_SINGLE, 0, 0.1},
    {"multi,samples:10%", TUTTI_SVM_MULTI, 0, 0.1},
    {"single,samples:50%", TUTTI_SVM_SINGLE, 0, 0.5},
    {"multi,samples:50%", TUTTI_SVM_MULTI, 0, 0.5},
    {"none", TUTTI_SVM_KEEP_ALL, 0, 0},
};
enum { NRULES = sizeof rules / sizeof *rules };

/* The default rule was chosen by this table: kernel values, in units of 10^9, that training on a9a computes at eps
 * 0.001, including those for recomputed gradients:
 *
 *                    -c 10 -g 0.1    -c 1 -g 0.05
 *                   multi  single   multi  single
 *   random:2         3.21    4.37    0.80    0.88
 *   random:500       3.29    4.34    0.82    0.90
 *   random:1000      3.29    4.35    0.82    0.90
 *   samples:5%       2.89    4.35    0.84    0.92
 *   samples:10%      2.93    4.39    0.85    0.94
 *   samples:50%      3.12    4.58    1.06    0.73
 *   none                 6.41            0.73
 *
 * `multi` is better because most rounds come after the gap is below 10 eps, when `single` drops nothing any more.
 * Dropping after only 2 to 1000 iterations makes wrong guesses: samples come back twice. In a short solve (right half:
 * two thirds of the values are computed before anything can be dropped) recomputing gradients costs as much as dropping
 * has saved, whatever the rule; a long solve saves more than half. */
#define DEFAULT_RULE "multi,samples:5%"

const tutti_svm_elimination *tutti_svm_eliminations(int *n)
{
    *n = NRULES;
    return rules;
}

/* --- the rule as text --- */

static const tutti_svm_elimination *default_rule(void)
{
    int i = 0;
    while (strcmp(rules[i].name, DEFAULT_RULE) != 0) i++;
    return &rules[i];
}

static tutti_status parse_kind(const char *kind, tutti_svm_elimination *out, tutti_failure *err)
{
    if (!strcmp(kind, "none"))
        *out = rules[NRULES - 1];
    else if (!strcmp(kind, "single"))
        out->kind = TUTTI_SVM_SINGLE, out->name = "single";
    else if (!strcmp(kind, "multi"))
        out->kind = TUTTI_SVM_MULTI, out->name = "multi";
    else
        return tutti_fail(err, TUTTI_ERR_USAGE, "elimination '%s': none, single or multi", kind);
    return TUTTI_OK;
}

static tutti_status parse_threshold(const char *text, tutti_svm_elimination *out, tutti_failure *err)
{
    char *end = NULL;
    if (!strncmp(text, "random:", 7) && text[7] >= '0' && text[7] <= '9') {
        const long long n = strtoll(text + 7, &end, 10);
        out->iterations = n, out->share = 0;
        if (!*end && n >= 1 && n < INT64_MAX) return TUTTI_OK;
    } else if (!strncmp(text, "samples:", 8) && text[8] >= '0' && text[8] <= '9') {
        const double percent = strtod(text + 8, &end);
        out->iterations = 0, out->share = percent / 100;
        if (!strcmp(end, "%") && out->share > 0 && percent <= 100) return TUTTI_OK;
    }
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "threshold '%s': random:N after N iterations (N >= 1), samples:P%% after as many as P percent of the "
        "samples (0 < P <= 100)",
        text);
}

tutti_status tutti_svm_elimination_parse(const char *kind, const char *threshold, tutti_svm_elimination *out,
                                         tutti_failure *err)
{
    tutti_svm_elimination rule = *default_rule();
    tutti_status st = kind ? parse_kind(kind, &rule, err) : TUTTI_OK;
    if (!st && threshold && rule.kind == TUTTI_SVM_KEEP_ALL)
        return tutti_fail(err, TUTTI_ERR_USAGE, "threshold '%s': where nothing is eliminated there is none", threshold);
    if (!st && threshold) st = parse_threshold(threshold, &rule, err);
    if (st) return st;
    rule.name = rule.kind == TUTTI_SVM_SINGLE ? "single" : "multi";
    for (int i = 0; i < NRULES; i++)
        if (rules[i].kind == rule.kind && rules[i].iterations == rule.iterations && rules[i].share == rule.share)
            rule.name = rules[i].name;
    *out = rule;
    return TUTTI_OK;
}

int64_t tutti_svm_first_elimination(const tutti_svm_elimination *rule, int64_t total)
{
    if (rule->kind == TUTTI_SVM_KEEP_ALL) return INT64_MAX;
    if (rule->iterations) return rule->iterations;
    const double n = ceil(rule->share * (double)total);
    return n < 1 ? 1 : (int64_t)n;
}

/* --- dropping samples --- */

enum { FEW = 16 }; /* samples are dropped if at least one active sample in FEW can be: else moving costs more */

static bool cannot_matter(const tutti_svm_solver *s, int64_t k)
{
    const tutti_svm_state *state = &s->state;
    if (state->sides[k] == TUTTI_SVM_UP) return state->gamma[k] > s->b_low;
    if (state->sides[k] == TUTTI_SVM_LOW) return state->gamma[k] < s->b_up;
    return false; /* a free sample or a member is not dropped */
}

/* Permutes the first n elements: position i takes what was at from[i]. */
static void permute(void *array, size_t bytes, const int64_t *from, int64_t n, void *spare)
{
    const char *old = array;
    char *to = spare;
    for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * bytes, old + (size_t)from[i] * bytes, bytes);
    memcpy(array, spare, (size_t)n * bytes);
}

static void permute_samples(tutti_svm_solver *s, int64_t n)
{
    tutti_svm_state *state = &s->state;
    permute(state->number, sizeof *state->number, s->from, n, s->spare);
    permute(state->alpha, sizeof *state->alpha, s->from, n, s->spare);
    permute(state->gamma, sizeof *state->gamma, s->from, n, s->spare);
    permute(state->sample, sizeof *state->sample, s->from, n, s->spare);
    permute(s->target, sizeof *s->target, s->from, n, s->spare);
    permute(state->sides, sizeof *state->sides, s->from, n, s->spare);
    for (int64_t k = 0; k < n; k++) state->position[state->sample[k]] = k;
}

/* Drops active samples. Those that stay keep their order, and so do the dropped ones, behind them. */
static void drop(tutti_svm_solver *s, int64_t stay)
{
    tutti_svm_state *state = &s->state;
    const int64_t n = state->nactive;
    int64_t next = 0, left = stay;
    if (stay == n) return;
    for (int64_t k = 0; k < n; k++) s->from[cannot_matter(s, k) ? left++ : next++] = k;
    permute_samples(s, n);
    if (s->cache) tutti_svm_cache_permute(s->cache, s->from, n);
    state->nactive = stay;
}

tutti_status tutti_svm_eliminate(tutti_svm_solver *s, tutti_failure *err)
{
    tutti_svm_state *state = &s->state;
    int64_t stay = 0;
    for (int64_t k = 0; k < state->nactive; k++) stay += !cannot_matter(s, k);
    int64_t left = state->active, active = stay;
    tutti_svm_charge(&s->e->account, TUTTI_SVM_ELIMINATING);
    const tutti_status st = tutti_svm_context_count(s->e, &active, 1, err);
    if (st) return st;
    left -= active;
    state->since = 0;
    if (active < state->delta) state->delta = active > 0 ? active : 1;
    if (left * FEW < state->active) return TUTTI_OK;
    drop(s, stay);
    state->active = active, state->eliminated += left;
    tutti_svm_charge(&s->e->account, TUTTI_SVM_ELIMINATING);
    return TUTTI_OK;
}

/* --- making dropped samples active again --- */

tutti_status tutti_svm_reactivate(tutti_svm_solver *s, tutti_failure *err)
{
    tutti_svm_state *state = &s->state;
    tutti_svm_account *account = &s->e->account;
    const int64_t first = state->nactive;
    const int8_t *y = s->problem->y;
    for (int64_t k = first; k < state->n; k++) state->gamma[k] = -y[state->sample[k]];
    for (int64_t i = 0; i < state->n; i++) s->spare[i] = y[i] * state->alpha[state->position[i]];
    account->adding = TUTTI_SVM_ELIMINATING;
    const tutti_svm_weighted own = {state->n, s->problem->row, s->spare};
    const tutti_status st =
        tutti_svm_sum_rows(s->e, &own, state->n - first, s->target + first, state->gamma + first, err);
    state->reconstructed += s->total - state->active;
    state->active = s->total, state->nactive = state->n;
    state->since = 0;
    account->adding = TUTTI_SVM_UPDATING;
    tutti_svm_charge(account, TUTTI_SVM_ELIMINATING);
    return st;
}
