/* SPDX-License-Identifier: Apache-2.0 */
/* predict_screen.c: what `tutti predict JOB --epochs N` prints for people: a line a rank count with hours, nodes and cost; and what
 * is printed under that table and the one of steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../job/job_fields.h"
#include "predict_advise.h"

/* ---- the table ---- */

static void print_head(const tutti_predict_question *q)
{
    const tutti_run_plan *p = &q->answers->plan;
    char *topology = tutti_topology_print(&q->topology);
    printf("%s on %s\n%g epochs of %lld samples (%s), ", q->job_path, topology, p->epochs, (long long)p->samples,
           q->answers->samples_given ? "--samples" : "the job's");
    if (q->options.weak)
        printf("%lld a rank and step\n\n", (long long)q->job->batch);
    else
        printf("%lld a step\n\n", (long long)q->job->batch);
    printf("%5s %5s %10s %10s %10s %6s %10s %10s %10s", "ranks", "nodes", "step ms", "exposed", "samples/s", "effic.",
           "an epoch", "in all", "node hours");
    if (p->price > 0) printf(" %10s", "cost");
    printf(" %11s\n", "memory");
    free(topology);
}

static void print_row(const tutti_predict_question *q, int i)
{
    const tutti_predict_answers *a = q->answers;
    const tutti_prediction *p = &q->predicted[i];
    const tutti_run_row *r = &a->rows[i];
    char epoch[16], run[16], memory[16];
    if (p->refused[0]) {
        printf("%5d %s\n", p->nranks, p->refused);
        return;
    }
    tutti_predict_time_words(r->epoch_s, epoch);
    tutti_predict_time_words(r->run_s, run);
    tutti_predict_bytes_words(p->memory.all, memory);
    printf("%5d %5d %10.3f %10.3f %10.1f %5.1f%% %10s %10s", r->nranks, r->nnodes, p->step_s * 1e3, p->exposed_s * 1e3,
           p->samples_per_s, p->efficiency * 100, epoch, run);
    if (isfinite(r->node_hours))
        printf(" %10.2f", r->node_hours);
    else
        printf(" %10s", "-");
    if (a->plan.price > 0 && isfinite(r->cost)) printf(" %10.2f", r->cost);
    if (a->plan.price > 0 && !isfinite(r->cost)) printf(" %10s", "-");
    printf(" %11s%s\n", memory, tutti_predict_fits(a, p) ? "" : " !");
}

void tutti_predict_add_prices(const tutti_predict_answers *a, tutti_strbuf *out)
{
    if (!a->prices_of) return;
    tutti_strbuf_printf(
        out,
        "Prices of @%s ('tutti topo make @%s --describe'): a node %.0f, all that is there once %.0f, over "
        "%.0f hours of work; --price P/h counts others.\n",
        a->prices_of, a->prices_of, a->prices.node, a->prices.once, a->prices.hours);
}

void tutti_predict_print_screen(const tutti_predict_question *q)
{
    print_head(q);
    for (int i = 0; i < q->nranks; i++) print_row(q, i);
    tutti_predict_print_choice(q);
    printf("\n");
}

/* ---- under either table ---- */

void tutti_predict_print_answers(const tutti_predict_question *q)
{
    tutti_strbuf words = {0};
    tutti_predict_add_words(q, &words);
    tutti_predict_add_prices(q->answers, &words);
    fputs(words.text, stdout);
    tutti_strbuf_release(&words);
    if (q->guard[0]) printf("%s\n", q->guard);
    if (q->answers->plans)
        printf("Predicted, not measured. Not in the model: noise, evaluation, checkpoints; on a network: packets, "
               "congestion "
               "control.\n");
    tutti_predict_changes_print(q);
    if (q->answers->advised) tutti_predict_print_advice(q->answers->advised);
}
