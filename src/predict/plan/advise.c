/* SPDX-License-Identifier: Apache-2.0 */
/* advise.c: predicts alternatives to a job and sorts them as advice. One key after the other is changed alone; then the
 * best values of all together. */
#include "advise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../collective/compile/algorithms.h"
#include "../../job/job_fields.h"

enum { MOST_SAMPLES = 1 << 16 };
static const double ROUNDING = 1e-3; /* a gain below this part of the step's time counts as no gain */

/* ---- one prediction with other values of keys ---- */

typedef struct {
    const tutti_predict_question *q;
    tutti_predict_options options;
    int nranks, ntried;
} asker;

static tutti_status predict_with(const asker *a, const char *const *more, int nmore, tutti_prediction *out,
                                 tutti_failure *err)
{
    return tutti_predict_with(a->q, &a->options, a->nranks, more, nmore, out, err);
}

/* Returns an upper bound of the number of values: impossible numbers of groups are counted, but not tried. */
static int count_values(void)
{
    enum { WORDS = 10, GROUPS = 6 };
    int n = 1 + tutti_algorithm_count() + WORDS + GROUPS;
    for (int i = 0; tutti_method_at(i); i++) n++;
    return n;
}

static void try_value(asker *a, tutti_advised_key *k, const char *value)
{
    char set[96];
    const char *const more[] = {set, k->with};
    tutti_prediction p = {0};
    tutti_failure why = {0};
    if (k->n == TUTTI_ADVISE_MAX) return;
    if (a->options.at) a->options.at(a->options.at_arg, a->nranks, a->ntried++, count_values());
    tutti_alternative *it = &k->list[k->n++];
    *it = (tutti_alternative){.value = value};
    snprintf(set, sizeof set, "%s=%s", k->key, value);
    it->can = !predict_with(a, more, k->with[0] ? 2 : 1, &p, &why);
    it->samples_per_s = p.samples_per_s;
    it->step_s = p.step_s;
    snprintf(it->refusal, sizeof it->refusal, "%.199s", it->can ? "" : why.text);
}

/* ---- the keys and their values that are tried ---- */

static tutti_advised_key *key_add(tutti_advised *out, const char *key, bool learns)
{
    tutti_advised_key *k = &out->keys[out->nkeys++];
    *k = (tutti_advised_key){.key = key, .learns = learns};
    return k;
}

static void try_words(asker *a, tutti_advised *out, const char *key, const char *const *values)
{
    tutti_advised_key *k = key_add(out, key, false);
    for (; *values; values++) try_value(a, k, *values);
}

static void try_algorithms(asker *a, tutti_advised *out)
{
    tutti_advised_key *k = key_add(out, "exchange.algorithm", false);
    try_value(a, k, "auto");
    for (int i = 0; i < tutti_algorithm_count(); i++)
        if (!tutti_algorithm_at(i)->is_bound) try_value(a, k, tutti_algorithm_at(i)->name);
}

static void try_methods(asker *a, tutti_advised *out)
{
    tutti_advised_key *k = key_add(out, "method.name", true);
    for (int i = 0; tutti_method_at(i); i++) try_value(a, k, tutti_method_at(i)->name);
}

static void try_groups(asker *a, tutti_advised *out)
{
    char layer[64];
    const tutti_groups *groups;
    if (!tutti_predict_sharable(a->q, &a->options, a->nranks, layer)) return;
    tutti_advised_key *k = key_add(out, "parallel.groups", false);
    snprintf(k->with, sizeof k->with, "parallel.layers=%s", layer);
    for (int i = 0; (groups = tutti_predict_groups_at(i, a->nranks)); i++)
        if (a->nranks % groups->n == 0) try_value(a, k, groups->text);
}

/* Adds to out->together the overrides that the key's best value needs. Returns their number. */
static int set_key(tutti_advised *out, const tutti_advised_key *k)
{
    int n = out->ntogether;
    snprintf(out->together[n++], sizeof out->together[0], "%s=%s", k->key, k->list[k->best].value);
    if (k->with[0]) memcpy(out->together[n++], k->with, sizeof k->with);
    return n;
}

/* Returns the key whose best value alone gains most, among those not taken yet; -1 if no other key gains. */
static int next_key(const tutti_advised *out, const bool *taken)
{
    double most = out->samples_per_s * (1 + ROUNDING);
    int next = -1;
    for (int i = 0; i < out->nkeys; i++) {
        const tutti_advised_key *k = &out->keys[i];
        if (taken[i] || k->learns || k->best < 0 || !(k->list[k->best].samples_per_s > most)) continue;
        most = k->list[k->best].samples_per_s;
        next = i;
    }
    return next;
}

/* Combines the best values of keys one by one. A value is taken if it is compatible with those taken before and still
 * gains something beside them. */
static void choose(const asker *a, tutti_advised *out)
{
    bool taken[TUTTI_ADVISE_GROUPS] = {false};
    double most = out->samples_per_s;
    for (int i = 0; i < out->nkeys; i++) out->keys[i].best = tutti_advice_best(out->keys[i].list, out->keys[i].n);
    for (int next; (next = next_key(out, taken)) >= 0;) {
        const char *more[2 * TUTTI_ADVISE_GROUPS];
        tutti_prediction p = {0};
        taken[next] = true;
        const int n = set_key(out, &out->keys[next]);
        for (int i = 0; i < n; i++) more[i] = out->together[i];
        if (predict_with(a, more, n, &p, NULL) || !(p.samples_per_s > most * (1 + ROUNDING))) continue;
        most = p.samples_per_s;
        out->ntogether = n;
        out->together_step_s = p.step_s;
        out->together_samples_per_s = p.samples_per_s;
    }
}

/* ---- the fewest samples of a rank that keep it computing half of the step ---- */

typedef struct {
    asker a;
    int64_t samples; /* samples of a rank for which the kernel times were measured */
} sizing;

static tutti_status computes_half(void *arg, int64_t samples, bool *holds, tutti_failure *err)
{
    sizing *s = arg;
    tutti_prediction p = {0};
    s->a.options.share = (double)samples / (double)s->samples;
    const tutti_status st = predict_with(&s->a, NULL, 0, &p, err);
    *holds = !st && p.compute_s >= p.step_s / 2;
    return st;
}

static tutti_status find_fewest(const asker *a, tutti_advised *out, tutti_failure *err)
{
    sizing s = {*a, out->samples};
    const tutti_status st = tutti_advice_least(computes_half, &s, 1, MOST_SAMPLES, &out->fewest, err);
    if (out->fewest > MOST_SAMPLES) out->fewest = 0;
    return st;
}

tutti_status tutti_predict_advise(const tutti_predict_question *q, const tutti_predict_options *options,
                                  tutti_advised *out, tutti_failure *err)
{
    static const char *const buckets[] = {"size", "layer", "one", "auto", NULL},
                             *const orders[] = {"ready", "priority", NULL}, *const times[] = {"late", "early", NULL},
                             *const places[] = {"sharded", "replicated", NULL};
    asker a = {.q = q, .options = *options, .nranks = tutti_predict_last(q)->nranks};
    tutti_prediction now = {0};
    *out = (tutti_advised){.nranks = a.nranks, .samples = q->job->plan.batch / (q->options.weak ? 1 : a.nranks)};
    tutti_status st = predict_with(&a, NULL, 0, &now, err);
    out->step_s = now.step_s;
    out->samples_per_s = now.samples_per_s;
    out->useful = tutti_advice_useful(q->predicted, q->nranks);
    if (st) return st;
    try_algorithms(&a, out);
    try_words(&a, out, "exchange.buckets", buckets);
    try_words(&a, out, "exchange.order", orders);
    try_words(&a, out, "exchange.update", places);
    try_words(&a, out, "exchange.update_when", times);
    try_groups(&a, out);
    try_methods(&a, out);
    choose(&a, out);
    return out->samples > 0 ? find_fewest(&a, out, err) : TUTTI_OK;
}

/* ---- advice in words ---- */

static void print_key(const tutti_advised *a, const tutti_advised_key *k, tutti_strbuf *out)
{
    int refused = 0;
    if (!k->n) return;
    tutti_strbuf_printf(out, "  %-20s ", k->key);
    if (k->best < 0) {
        tutti_strbuf_printf(out, "none of them can be predicted here\n");
        return;
    }
    const tutti_alternative *best = &k->list[k->best];
    tutti_strbuf_printf(out, "%s %.3f ms, %.3f times as fast", best->value, best->step_s * 1e3,
                        best->samples_per_s / a->samples_per_s);
    if (k->with[0]) tutti_strbuf_printf(out, " with %s", k->with);
    for (int i = 0; i < k->n; i++) {
        refused += !k->list[i].can;
        if (k->list[i].can && i != k->best)
            tutti_strbuf_printf(out, "; %s %.3f", k->list[i].value, k->list[i].samples_per_s / a->samples_per_s);
    }
    tutti_strbuf_printf(out, "\n");
    if (!refused) return;
    tutti_strbuf_printf(out, "  %-20s cannot:", "");
    for (int i = 0, n = 0; i < k->n; i++)
        if (!k->list[i].can) tutti_strbuf_printf(out, "%s %s", n++ ? "," : "", k->list[i].value);
    tutti_strbuf_printf(out, "\n");
}

void tutti_predict_add_advice(const tutti_advised *a, tutti_strbuf *out)
{
    tutti_strbuf_printf(out,
                        "\nInstead, at %d rank%s, each predicted; times as fast as the job as it is, %.3f ms a step\n",
                        a->nranks, a->nranks == 1 ? "" : "s", a->step_s * 1e3);
    for (int i = 0; i < a->nkeys; i++) print_key(a, &a->keys[i], out);
    tutti_strbuf_printf(out, "  other methods learn otherwise: docs/methods.md\n");
    if (a->ntogether && a->together_step_s > 0) {
        tutti_strbuf_printf(out, "Recommended:");
        for (int i = 0; i < a->ntogether; i++) tutti_strbuf_printf(out, " --set %s", a->together[i]);
        tutti_strbuf_printf(out, ": %.3f ms a step, %.3f times as fast.\n", a->together_step_s * 1e3,
                            a->together_samples_per_s / a->samples_per_s);
    } else {
        tutti_strbuf_printf(out, "Recommended: the job as it is; no one key makes it faster.\n");
    }
    if (a->useful)
        tutti_strbuf_printf(out, "Up to %d rank%s are worth having of these counts.\n", a->useful,
                            a->useful == 1 ? "" : "s");
    if (a->fewest)
        tutti_strbuf_printf(
            out,
            "From %lld samples a rank on at least half of a step is computing (now %lld), where each takes as long.\n",
            (long long)a->fewest, (long long)a->samples);
}

static void print_key_json(const tutti_advised *a, const tutti_advised_key *k, tutti_strbuf *out)
{
    for (int i = 0; i < k->n; i++) {
        const tutti_alternative *it = &k->list[i];
        tutti_json j = {.out = out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "advice", k->key);
        tutti_json_text(&j, "value", it->value);
        if (k->with[0]) tutti_json_text(&j, "with", k->with);
        tutti_json_int(&j, "ranks", a->nranks);
        tutti_json_bool(&j, "can", it->can);
        tutti_json_real(&j, "step_s", it->can ? it->step_s : (double)NAN);
        tutti_json_real(&j, "samples_per_s", it->can ? it->samples_per_s : (double)NAN);
        tutti_json_bool(&j, "best", i == k->best);
        if (!it->can) tutti_json_text(&j, "refusal", it->refusal);
        tutti_json_close(&j, '}');
        tutti_strbuf_puts(out, "\n");
    }
}

void tutti_predict_add_advice_json(const tutti_advised *a, tutti_strbuf *out)
{
    tutti_json j = {.out = out};
    for (int i = 0; i < a->nkeys; i++) print_key_json(a, &a->keys[i], out);
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "advice", "all");
    tutti_json_int(&j, "ranks", a->nranks);
    tutti_json_open(&j, "set", '[');
    for (int i = 0; i < a->ntogether; i++) tutti_json_text(&j, NULL, a->together[i]);
    tutti_json_close(&j, ']');
    tutti_json_real(&j, "step_s", a->ntogether ? a->together_step_s : a->step_s);
    tutti_json_int(&j, "useful_ranks", a->useful);
    tutti_json_int(&j, "fewest_samples", a->fewest);
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}
