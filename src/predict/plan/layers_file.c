/* SPDX-License-Identifier: Apache-2.0 */
/* layers_file.c: predicts the step of a layer file at each rank count, and prints it. */
#include "layers_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../metrics/trace.h"
#include "../profile/profile.h"
#include "planning_parts.h"

static const double MOST_NS = 1e17; /* longest time of a layer in nanoseconds (more than three years), so that sums
                                     * cannot overflow */

static tutti_status find_schedule(const char *name, const tutti_step_schedule **out, tutti_failure *err)
{
    tutti_strbuf names = {0};
    *out = tutti_step_schedule_find(name);
    for (int i = 0; i < tutti_step_schedule_count(); i++)
        tutti_strbuf_printf(&names, "%s%s", i ? ", " : "", tutti_step_schedule_at(i)->name);
    const tutti_status st =
        *out ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_USAGE, "no schedule '%.40s': %s", name, names.text);
    tutti_strbuf_release(&names);
    return st;
}

/* Takes the layers. --speed divides computing, but not reading and copying, which other hardware does. */
static tutti_status take_layers(const tutti_layer_trace *t, tutti_layers_question *q, tutti_failure *err)
{
    double all_ns = (t->read_us + t->copy_us) * 1e3, bytes = 0;
    q->layers = tutti_alloc(sizeof *q->layers * (size_t)t->nlayers);
    for (int l = 0; l < t->nlayers; l++) {
        const double forward_ns = t->layers[l].forward_us * 1e3 / q->speed,
                     backward_ns = t->layers[l].backward_us * 1e3 / q->speed;
        all_ns += forward_ns + backward_ns;
        bytes += (double)t->layers[l].size_bytes;
        if (all_ns > MOST_NS || bytes > MOST_NS)
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "%s: line %d: up to layer %.40s a step takes three years or exchanges 100 PB", q->path,
                              l + 2, t->layers[l].name);
        q->layers[l] = (tutti_step_layer){llround(forward_ns), llround(backward_ns), t->layers[l].size_bytes};
        q->bytes += t->layers[l].size_bytes;
        if (q->layers[l].bytes > 0 && (q->smallest == 0 || q->layers[l].bytes < q->smallest))
            q->smallest = q->layers[l].bytes;
    }
    if (!(all_ns > 0))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: no layer takes any time: there is nothing to predict from",
                          q->path);
    q->knows_rule = tutti_rank_memory_of_layers(t->rule, q->bytes, &q->memory);
    snprintf(q->rule, sizeof q->rule, "%s", t->rule);
    q->work = (tutti_step_work){.layers = q->layers,
                                .nlayers = t->nlayers,
                                .read_ns = llround(t->read_us * 1e3),
                                .copy_ns = llround(t->copy_us * 1e3)};
    return TUTTI_OK;
}

static tutti_status predict_ranks(tutti_layers_question *q, tutti_layers_answer *a, const tutti_step_times *alone,
                                  tutti_failure *err)
{
    const bool travels = a->nranks > 1 && q->bytes > 0;
    tutti_status st = tutti_topology_fits(&q->topology, a->nranks, err);
    if (!st && travels)
        st = tutti_step_costs_of(&q->exchange, &q->topology, a->nranks, (tutti_message_bytes){q->smallest, q->bytes},
                                 &a->costs, err);
    if (st) return st;
    tutti_step_schedule_play(q->schedule, &q->work, travels ? &a->costs.cost : NULL, &a->times);
    a->samples_per_s = (double)q->batch * a->nranks / ((double)a->times.step_ns * 1e-9);
    a->efficiency = (double)alone->step_ns / (double)a->times.step_ns;
    a->speedup = a->efficiency * a->nranks;
    return TUTTI_OK;
}

/* Returns a prediction that holds only the fields that tutti_plan_run reads. */
static tutti_prediction prediction_of(const tutti_layers_answer *a)
{
    return (tutti_prediction){
        .nranks = a->nranks, .step_s = (double)a->times.step_ns * 1e-9, .efficiency = a->efficiency};
}

static void plan_rows(tutti_layers_question *q)
{
    tutti_prediction predicted[TUTTI_PREDICT_MAX_RANKS];
    for (int i = 0; i < q->n; i++) {
        const int nranks = q->at[i].nranks;
        predicted[i] = prediction_of(&q->at[i]);
        q->plan.seats[i] = (tutti_run_seats){.batch = q->batch * nranks,
                                             .nnodes = tutti_predict_nodes_of(&q->topology, &q->plan, nranks)};
    }
    tutti_run_plan_rows(&q->plan.plan, predicted, q->plan.seats, q->n, q->plan.rows);
}

tutti_status tutti_layers_file_predict(tutti_layers_question *q, tutti_failure *err)
{
    tutti_layer_trace trace = {0};
    tutti_step_times alone;
    tutti_status st = find_schedule(q->schedule_name, &q->schedule, err);
    if (!st) st = tutti_step_exchange_read(q->exchange_text, &q->exchange, err);
    if (!st) st = tutti_layer_trace_read(q->path, &trace, err);
    if (st == TUTTI_ERR_DATA && !tutti_layer_trace_is(q->path))
        st = tutti_fail_at(err, "read as a layer file, since --batch, --speed, --schedule and --exchange are of those");
    if (!st) st = take_layers(&trace, q, err);
    tutti_layer_trace_release(&trace);
    if (st) return st;
    tutti_step_schedule_play(q->schedule, &q->work, NULL, &alone);
    for (int i = 0; i < q->n && !st; i++) st = predict_ranks(q, &q->at[i], &alone, err);
    if (!st && q->plan.plans) plan_rows(q);
    return st;
}

void tutti_layers_file_release(tutti_layers_question *q)
{
    free(q->layers);
}

/* --- the answer in words and as JSON --- */

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static void add_json(const tutti_layers_question *q, const char *topology, const tutti_layers_answer *a,
                     tutti_strbuf *out)
{
    const tutti_step_times *t = &a->times;
    tutti_json j = {.out = out};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "layers", q->path);
    tutti_json_text(&j, "topology", topology);
    tutti_json_text(&j, "schedule", q->schedule->name);
    tutti_json_text(&j, "exchange", q->exchange_text);
    tutti_json_int(&j, "batch", q->batch);
    tutti_json_int(&j, "ranks", a->nranks);
    tutti_json_real(&j, "step_ms", ms(t->step_ns));
    tutti_json_real(&j, "compute_ms", ms(t->compute_ns));
    tutti_json_real(&j, "io_ms", ms(t->io_ns));
    tutti_json_real(&j, "exchange_ms", ms(t->exchange_ns));
    tutti_json_real(&j, "exposed_ms", ms(t->exposed_ns));
    tutti_json_real(&j, "lower_ms", ms(t->lower_ns));
    tutti_json_real(&j, "upper_ms", ms(t->upper_ns));
    tutti_json_real(&j, "samples_per_s", a->samples_per_s);
    tutti_json_real(&j, "speedup", a->speedup);
    tutti_json_real(&j, "efficiency", a->efficiency);
    tutti_json_int(&j, "messages", t->nmessages);
    tutti_json_int(&j, "exchanged_bytes", a->nranks > 1 ? q->bytes : 0);
    tutti_json_text(&j, "algorithm", a->costs.whole[0] ? a->costs.whole : NULL);
    tutti_json_text(&j, "bottleneck", a->costs.bottleneck[0] ? a->costs.bottleneck : NULL);
    tutti_json_int(&j, "memory_known_bytes", q->memory.all);
    tutti_predict_run_json(&q->plan, (int)(a - q->at), &j);
    tutti_json_close(&j, '}');
    tutti_strbuf_puts(out, "\n");
}

/* Adds hours, nodes and cost, a line for each rank count, and the best counts. */
static void add_run(const tutti_layers_question *q, tutti_strbuf *out)
{
    const tutti_run_plan *p = &q->plan.plan;
    if (!q->plan.plans) return;
    tutti_strbuf_printf(out, "%g epochs of %lld samples (--samples)\n%5s %5s %10s %10s %10s %10s\n", p->epochs,
                        (long long)p->samples, "ranks", "nodes", "an epoch", "in all", "node hours",
                        p->price > 0 ? "cost" : "");
    for (int i = 0; i < q->n; i++) {
        const tutti_run_row *r = &q->plan.rows[i];
        char epoch[16], run[16], cost[32] = "";
        tutti_predict_time_words(r->epoch_s, epoch);
        tutti_predict_time_words(r->run_s, run);
        if (p->price > 0) snprintf(cost, sizeof cost, "%.2f", r->cost);
        tutti_strbuf_printf(out, "%5d %5d %10s %10s %10.2f %10s\n", r->nranks, r->nnodes, epoch, run, r->node_hours,
                            cost);
    }
    tutti_strbuf_puts(out, "\n");
    const tutti_predict_question words = {.nranks = q->n, .answers = &q->plan};
    tutti_predict_add_run_words(&words, out);
    tutti_predict_add_prices(&q->plan, out);
}

static void add_memory(const tutti_layers_question *q, tutti_strbuf *out)
{
    char all[16], device[16];
    tutti_predict_bytes_words(q->memory.all, all);
    tutti_predict_bytes_words(q->plan.device_bytes, device);
    tutti_strbuf_printf(out, "Memory a rank: at least %s: weights, gradients", all);
    if (q->knows_rule)
        tutti_strbuf_printf(out, ", states of %s", q->rule);
    else
        tutti_strbuf_puts(out, " (a line '# rule adamw' in the file adds the states of a rule)");
    tutti_strbuf_puts(out, "; a layer file does not say what activations take");
    if (q->plan.device_bytes && q->memory.all > q->plan.device_bytes)
        tutti_strbuf_printf(out, "; does not fit in %s", device);
    tutti_strbuf_puts(out, ".\n");
}

static void add_exchanges(const tutti_layers_question *q, tutti_strbuf *out)
{
    for (int i = 0; i < q->n; i++) {
        const tutti_layers_answer *a = &q->at[i];
        const tutti_exchange_cost *c = &a->costs.cost;
        if (!a->times.nmessages) continue;
        tutti_strbuf_printf(out, "%d ranks, %d message%s: %lld bytes by %s in %.3f ms, %lld by %s in %.3f ms%s%s.\n",
                            a->nranks, a->times.nmessages, a->times.nmessages == 1 ? "" : "s", (long long)c->bytes[0],
                            a->costs.smallest, ms(c->ns[0]), (long long)q->bytes, a->costs.whole,
                            ms(c->ns[c->npoints - 1]), a->costs.bottleneck[0] ? ", bound by " : "",
                            a->costs.bottleneck);
    }
}

void tutti_layers_file_print(const tutti_layers_question *q, tutti_strbuf *out)
{
    char *described = tutti_topology_describe(&q->topology);
    tutti_strbuf_printf(out, "%s\n%s, %d layers, %.3f MB; %s: %s; exchange %s\n\n", described, q->path, q->work.nlayers,
                        (double)q->bytes / 1e6, q->schedule->name, q->schedule->summary, q->exchange_text);
    tutti_strbuf_printf(out, "%5s %10s %10s %10s %10s %10s %10s %10s %9s %10s\n", "ranks", "step ms", "compute",
                        "exchange", "exposed", "at least", "at most", "samples/s", "speed-up", "efficiency");
    for (int i = 0; i < q->n; i++) {
        const tutti_layers_answer *a = &q->at[i];
        const tutti_step_times *t = &a->times;
        tutti_strbuf_printf(out, "%5d %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.1f %9.2f %9.1f%%\n", a->nranks,
                            ms(t->step_ns), ms(t->compute_ns), ms(t->exchange_ns), ms(t->exposed_ns), ms(t->lower_ns),
                            ms(t->upper_ns), a->samples_per_s, a->speedup, a->efficiency * 100);
    }
    tutti_strbuf_puts(out, "\n");
    add_run(q, out);
    add_exchanges(q, out);
    add_memory(q, out);
    tutti_strbuf_printf(out, "Weak scaling: each rank has %lld samples.", (long long)q->batch);
    if (q->work.read_ns + q->work.copy_ns > 0)
        tutti_strbuf_printf(out, " Reading %.3f ms and copying %.3f ms a step.", ms(q->work.read_ns),
                            ms(q->work.copy_ns));
    if (q->speed != 1) tutti_strbuf_printf(out, " Computing %g times as fast as in the file.", q->speed);
    if (q->topology.kind == TUTTI_TOPOLOGY_HOST)
        tutti_strbuf_puts(out, "\nOn a host the ranks' own cores move the bytes, so no exchange is hidden behind "
                               "compute; more ranks than cores are not slower here.");
    tutti_strbuf_puts(out,
                      "\nNot in the model: updates, noise, stragglers; on a network: packets, congestion control.\n");
    free(described);
}

void tutti_layers_file_print_json(const tutti_layers_question *q, tutti_strbuf *out)
{
    char *topology = tutti_topology_print(&q->topology);
    for (int i = 0; i < q->n; i++) add_json(q, topology, &q->at[i], out);
    free(topology);
}
