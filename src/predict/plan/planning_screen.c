/* SPDX-License-Identifier: Apache-2.0 */
/* planning_screen.c: prints a whole run for people: a line for each rank count with hours, nodes and cost. */
#include <math.h>
#include <stdlib.h>

#include "../../job/job_fields.h"
#include "advise.h"

/* ---- the table ---- */

static void print_head(const tutti_predict_question *q, tutti_strbuf *out)
{
    const tutti_run_plan *p = &q->answers->plan;
    char *topology = tutti_topology_print(&q->topology);
    tutti_strbuf_printf(out, "%s on %s\n%g epochs of %lld samples (%s), ", q->job_path, topology, p->epochs,
                        (long long)p->samples, q->answers->samples_given ? "--samples" : "the job's");
    if (q->options.weak)
        tutti_strbuf_printf(out, "%lld a rank and step\n\n", (long long)q->job->plan.batch);
    else
        tutti_strbuf_printf(out, "%lld a step\n\n", (long long)q->job->plan.batch);
    tutti_strbuf_printf(out, "%5s %5s %10s %10s %10s %6s %10s %10s %10s", "ranks", "nodes", "step ms", "exposed",
                        "samples/s", "effic.", "an epoch", "in all", "node hours");
    if (p->price > 0) tutti_strbuf_printf(out, " %10s", "cost");
    tutti_strbuf_printf(out, " %11s\n", "memory");
    free(topology);
}

static void print_row(const tutti_predict_question *q, int i, tutti_strbuf *out)
{
    const tutti_predict_answers *a = q->answers;
    const tutti_prediction *p = &q->predicted[i];
    const tutti_run_row *r = &a->rows[i];
    char epoch[16], run[16], memory[16];
    if (p->refused[0]) {
        tutti_strbuf_printf(out, "%5d %s\n", p->nranks, p->refused);
        return;
    }
    tutti_predict_time_words(r->epoch_s, epoch);
    tutti_predict_time_words(r->run_s, run);
    tutti_predict_bytes_words(p->memory.all, memory);
    tutti_strbuf_printf(out, "%5d %5d %10.3f %10.3f %10.1f %5.1f%% %10s %10s", r->nranks, r->nnodes, p->step_s * 1e3,
                        p->exposed_s * 1e3, p->samples_per_s, p->efficiency * 100, epoch, run);
    if (isfinite(r->node_hours))
        tutti_strbuf_printf(out, " %10.2f", r->node_hours);
    else
        tutti_strbuf_printf(out, " %10s", "-");
    if (a->plan.price > 0 && isfinite(r->cost)) tutti_strbuf_printf(out, " %10.2f", r->cost);
    if (a->plan.price > 0 && !isfinite(r->cost)) tutti_strbuf_printf(out, " %10s", "-");
    tutti_strbuf_printf(out, " %11s%s\n", memory, tutti_predict_fits(a, p) ? "" : " !");
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

static void add_screen(const tutti_predict_question *q, tutti_strbuf *out)
{
    print_head(q, out);
    for (int i = 0; i < q->nranks; i++) print_row(q, i, out);
    tutti_predict_add_choice(q, out);
    tutti_strbuf_printf(out, "\n");
}

/* ---- the whole screen ---- */

void tutti_predict_print(const tutti_predict_question *q, tutti_strbuf *out)
{
    if (q->answers->plans)
        add_screen(q, out);
    else
        tutti_predict_add_table(q, out);
    tutti_predict_add_words(q, out);
    tutti_predict_add_prices(q->answers, out);
    if (q->guard[0]) tutti_strbuf_printf(out, "%s\n", q->guard);
    if (q->answers->plans)
        tutti_strbuf_puts(out,
                          "Predicted, not measured. Not in the model: noise, evaluation, checkpoints; on a network: "
                          "packets, congestion control.\n");
    tutti_predict_add_changes(q, out);
    if (q->answers->advised) tutti_predict_add_advice(q->answers->advised, out);
    if (q->layers) tutti_predict_add_layers(q, out);
}
