/* SPDX-License-Identifier: Apache-2.0 */
/* planning_words.c: writes what follows from predictions as sentences, for the terminal and for the page. */
#include <math.h>
#include <stdio.h>

#include "planning_parts.h"

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* ---- sentences about a whole run ---- */

static void add_choice(const char *what, const tutti_run_plan *plan, const tutti_run_row *r, tutti_strbuf *out)
{
    char run[16];
    tutti_predict_time_words(r->run_s, run);
    tutti_strbuf_printf(out, "%s: %d rank%s on %d node%s, %s", what, r->nranks, plural(r->nranks), r->nnodes,
                        plural(r->nnodes), run);
    if (plan->price > 0) tutti_strbuf_printf(out, ", cost %.2f", r->cost);
    tutti_strbuf_puts(out, ".\n");
}

static void add_deadline(const tutti_predict_answers *a, const tutti_run_choice *c, tutti_strbuf *out)
{
    char deadline[16], words[48];
    if (!(a->plan.deadline_s > 0)) return;
    tutti_predict_time_words(a->plan.deadline_s, deadline);
    if (c->fewest < 0) {
        tutti_strbuf_printf(out, "None of these ends within %s.\n", deadline);
        return;
    }
    snprintf(words, sizeof words, "Fewest nodes within %s", deadline);
    add_choice(words, &a->plan, &a->rows[c->fewest], out);
    if (c->cheapest_in_time != c->fewest) add_choice("Cheapest in time", &a->plan, &a->rows[c->cheapest_in_time], out);
}

/* Names the rank counts at which one step takes more samples than an epoch has. */
static void add_too_large(const tutti_predict_question *q, tutti_strbuf *out)
{
    const tutti_predict_answers *a = q->answers;
    int n = 0;
    for (int i = 0; i < q->nranks; i++)
        if (a->rows[i].batch > a->plan.samples) tutti_strbuf_printf(out, "%s%d", n++ ? ", " : "", a->rows[i].nranks);
    if (n)
        tutti_strbuf_printf(out, " ranks: a batch is more than the %lld samples of an epoch%s.\n",
                            (long long)a->plan.samples, a->samples_given ? "" : "; --samples N plans for another set");
}

void tutti_predict_add_run_words(const tutti_predict_question *q, tutti_strbuf *out)
{
    const tutti_predict_answers *a = q->answers;
    const tutti_run_choice c = tutti_run_plan_choose(a->rows, q->nranks);
    add_too_large(q, out);
    if (c.fastest < 0) return;
    add_deadline(a, &c, out);
    add_choice("Fastest", &a->plan, &a->rows[c.fastest], out);
    add_choice(a->plan.price > 0 ? "Cheapest" : "Fewest hours of nodes", &a->plan, &a->rows[c.cheapest], out);
}

static void add_knee(const tutti_predict_question *q, tutti_strbuf *out)
{
    const int knee = tutti_predict_knee(q->predicted, q->nranks, 0.5);
    if (q->nranks == 1) return;
    if (knee)
        tutti_strbuf_printf(out, "From %d rank%s on the efficiency is below 50 %%.\n", knee, plural(knee));
    else
        tutti_strbuf_puts(out, "At the largest of these counts the efficiency is still 50 % or more.\n");
}

/* Explains efficiencies above 100 %. It is left out where the table of steps is printed, which explains them itself. */
static void add_above(const tutti_predict_question *q, tutti_strbuf *out)
{
    double most = 0;
    for (int i = 0; i < q->nranks; i++) most = fmax(most, q->predicted[i].efficiency);
    if (most < 1.0005) return;
    tutti_strbuf_puts(out,
                      "Above 100 %: one rank, which it is held against, updates all weights by itself, of several each "
                      "its share.\n");
}

/* ---- sentences about memory ---- */

static void add_parts(const tutti_rank_memory *m, tutti_strbuf *out)
{
    const struct {
        const char *name;
        int64_t bytes;
    } parts[] = {{"weights", m->weights},
                 {"gradients", m->gradients},
                 {"states", m->states},
                 {"activations", m->activations},
                 {"exchange", m->exchange}};
    char words[16];
    for (int i = 0; i < 5; i++) {
        tutti_predict_bytes_words(parts[i].bytes, words);
        tutti_strbuf_printf(out, "%s%s %s", i ? ", " : "", parts[i].name, words);
    }
}

/* Adds a sentence about a rank's memory at the rank count that needs most. */
static void add_memory(const tutti_predict_question *q, tutti_strbuf *out)
{
    const tutti_predict_answers *a = q->answers;
    const tutti_prediction *most = &q->predicted[0];
    char words[16], device[16];
    for (int i = 1; i < q->nranks; i++)
        if (q->predicted[i].memory.all > most->memory.all) most = &q->predicted[i];
    if (!most->memory.all) return; /* no sentence: the prediction of a framework knows no memory */
    tutti_predict_bytes_words(most->memory.all, words);
    tutti_predict_bytes_words(a->device_bytes, device);
    tutti_strbuf_printf(out, "Memory a rank: %s at %d rank%s (", words, most->nranks, plural(most->nranks));
    add_parts(&most->memory, out);
    tutti_strbuf_puts(out, ")");
    if (a->device_bytes)
        tutti_strbuf_printf(out, tutti_predict_fits(a, most) ? "; fits in %s" : "; does not fit in %s", device);
    tutti_strbuf_puts(out, ".\n");
}

/* ---- sentences about a step at the last rank count ---- */

static void add_step(const tutti_step_view *v, tutti_strbuf *out)
{
    if (v->busiest.busy_s > 0)
        tutti_strbuf_printf(
            out, "Busiest link at %d rank%s: %s, %.0f %% of the step, %.0f %% of the exchanges' time.\n", v->nranks,
            v->nranks == 1 ? "" : "s", v->busiest.name, 100 * v->busiest.busy_s / v->predicted.step_s,
            100 * v->busiest.busy_s / v->busiest.exchange_s);
    if (!v->npath) return;
    tutti_strbuf_printf(out, "What makes the %s as long as it is at %d rank%s: ", v->period > 1 ? "period" : "step",
                        v->nranks, v->nranks == 1 ? "" : "s");
    tutti_step_view_words(v, out);
    tutti_strbuf_puts(out, ".\n");
}

void tutti_predict_add_words(const tutti_predict_question *q, tutti_strbuf *out)
{
    if (q->answers->plans) tutti_predict_add_run_words(q, out);
    add_knee(q, out);
    if (q->answers->plans) add_above(q, out);
    add_memory(q, out);
    add_step(&q->answers->step, out);
}
