/* SPDX-License-Identifier: Apache-2.0 */
/* planning_json.c: prints predictions as JSON lines: rank counts, layers, alternatives. */
#include <stdlib.h>

#include "advise.h"
#include "tutti/topology.h"

static void add_memory(const tutti_rank_memory *m, tutti_json *j)
{
    tutti_json_int(j, "memory_bytes", m->all);
    tutti_json_open(j, "memory", '{');
    tutti_json_int(j, "weights", m->weights);
    tutti_json_int(j, "gradients", m->gradients);
    tutti_json_int(j, "states", m->states);
    tutti_json_int(j, "activations", m->activations);
    tutti_json_int(j, "exchange", m->exchange);
    tutti_json_close(j, '}');
}

static void add_step(const tutti_step_view *v, tutti_json *j)
{
    tutti_json_text(j, "busiest_link", v->busiest.name[0] ? v->busiest.name : NULL);
    tutti_json_real(j, "busiest_link_s", v->busiest.busy_s);
    tutti_json_open(j, "critical_path", '[');
    for (int i = 0; i < v->npath; i++) {
        const tutti_step_stretch *s = &v->path[i];
        tutti_json_open(j, NULL, '{');
        tutti_json_text(j, "kind", tutti_stretch_name(s->kind));
        tutti_json_text(j, "first", tutti_step_view_name(v, s->kind, s->what));
        tutti_json_text(j, "last", tutti_step_view_name(v, s->kind, s->last));
        tutti_json_real(j, "begin_s", s->begin_s);
        tutti_json_real(j, "end_s", s->end_s);
        tutti_json_close(j, '}');
    }
    tutti_json_close(j, ']');
}

void tutti_predict_run_json(const tutti_predict_answers *a, int i, tutti_json *j)
{
    const tutti_run_row *r = &a->rows[i];
    if (!a->plans) return;
    tutti_json_int(j, "nodes", r->nnodes);
    tutti_json_int(j, "steps", r->steps);
    tutti_json_real(j, "epoch_s", r->epoch_s);
    tutti_json_real(j, "run_s", r->run_s);
    tutti_json_real(j, "node_hours", r->node_hours);
    if (a->plan.price > 0) tutti_json_real(j, "cost", r->cost);
    if (a->prices_of) tutti_json_text(j, "prices_of", a->prices_of);
    if (a->plan.deadline_s > 0) tutti_json_bool(j, "in_time", r->in_time);
}

/* Adds the answers at rank count i: memory, the step, other machines, the whole run. */
static void add_answers(const tutti_predict_question *q, int i, tutti_json *j)
{
    const tutti_predict_answers *a = q->answers;
    if (q->predicted[i].memory.all) add_memory(&q->predicted[i].memory, j);
    if (a->device_bytes) tutti_json_bool(j, "fits", tutti_predict_fits(a, &q->predicted[i]));
    if (a->step.nranks == q->predicted[i].nranks) add_step(&a->step, j);
    tutti_predict_changes_json(a, i, j);
    tutti_predict_run_json(a, i, j);
}

/* Prints why there is no prediction. */
static void print_refusal(tutti_json *j, const tutti_prediction *p)
{
    tutti_json_text(j, "refused", p->refused);
    tutti_json_close(j, '}');
    tutti_strbuf_puts(j->out, "\n");
}

static void print_layer_json(const tutti_layer_prediction *p, int nranks, tutti_strbuf *out)
{
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "layer", p->name);
    tutti_json_int(&j, "ranks", nranks);
    tutti_json_real(&j, "forward_s", p->forward_s);
    tutti_json_real(&j, "backward_s", p->backward_s);
    tutti_json_int(&j, "bytes", p->bytes);
    tutti_json_real(&j, "flop_per_byte", p->flop_per_byte);
    tutti_json_real(&j, "exchange_s", p->exchange_s);
    tutti_json_real(&j, "window_s", p->window_s);
    tutti_json_real(&j, "exposed_s", p->exposed_s);
    if (p->hybrid_groups) tutti_json_int(&j, "hybrid_groups", p->hybrid_groups);
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

void tutti_predict_print_json(const tutti_predict_question *q, tutti_strbuf *out)
{
    char *topology = tutti_topology_print(&q->topology);
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        tutti_json j = {.out = out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "job", q->job_path);
        tutti_json_text(&j, "topology", topology);
        tutti_json_int(&j, "ranks", p->nranks);
        if (q->guard[0]) tutti_json_text(&j, "guard", q->guard);
        if (p->refused[0]) {
            print_refusal(&j, p);
            continue;
        }
        tutti_json_text(&j, "algorithm", p->algorithm);
        if (p->choice[0]) tutti_json_text(&j, "choice", p->choice);
        if (p->choice[0]) tutti_json_real(&j, "choice_s", p->choice_s);
        if (q->shared[0] && p == tutti_predict_last(q)) tutti_json_real(&j, "shared_step_s", q->shared_step_s);
        tutti_json_open(&j, "exchange_s_by_bytes", '{');
        for (int k = 0; k < TUTTI_PREDICTED_SIZES; k++) {
            static const char *const bytes[TUTTI_PREDICTED_SIZES] = {"4096", "65536", "1048576", "16777216"};
            tutti_json_real(&j, bytes[k], p->by_size_s[k]);
        }
        tutti_json_close(&j, '}');
        tutti_json_int(&j, "fan_in", p->fan_in);
        tutti_json_int(&j, "bytes_per_rank", p->bytes_per_rank);
        tutti_json_text(&j, "bottleneck", p->bottleneck);
        tutti_json_int(&j, "ranks_per_core", p->ranks_per_core);
        tutti_json_real(&j, "step_s", p->step_s);
        tutti_json_real(&j, "lower_s", p->lower_s);
        tutti_json_real(&j, "upper_s", p->upper_s);
        tutti_json_real(&j, "compute_s", p->compute_s);
        tutti_json_real(&j, "exchange_s", p->exchange_s);
        tutti_json_real(&j, "exposed_s", p->exposed_s);
        tutti_json_real(&j, "communication", p->exposed_s / p->step_s);
        if (q->options.read_trace) tutti_json_bool(&j, "assumes_updates", p->assumes_updates);
        if (q->options.read_trace) tutti_json_bool(&j, "assumes_loading", p->assumes_loading);
        if (p->spread > 0) tutti_json_real(&j, "spread", p->spread);
        if (p->groups) tutti_json_int(&j, "groups", p->groups);
        if (p->groups) tutti_json_real(&j, "travel_s", p->travel_s);
        tutti_json_real(&j, "samples_per_s", p->samples_per_s);
        tutti_json_real(&j, "speedup", p->speedup);
        tutti_json_real(&j, "efficiency", p->efficiency);
        tutti_json_real(&j, "measured_s", q->measured_s[i]);
        tutti_json_real(&j, "error", p->step_s / q->measured_s[i] - 1);
        add_answers(q, i, &j);
        tutti_json_close(&j, '}');
        tutti_strbuf_puts(out, "\n");
    }
    free(topology);
    for (int i = 0; i < q->nlayers; i++) print_layer_json(&q->layers[i], q->ranks[q->nranks - 1], out);
    if (q->answers->advised) tutti_predict_add_advice_json(q->answers->advised, out);
}
