/* SPDX-License-Identifier: Apache-2.0 */
/* tracing.c: traces some steps: makes labels of spans, records during the window of traced steps, and gathers the spans
 * on rank 0.
 *
 * Labels follow from graph and plan, so they are the same on all ranks and need not be sent. Spans are sent over the
 * control plane after the last traced step, so that sending them does not disturb the traced steps. */
#include "tracing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/clock.h"
#include "../../../base/file.h"
#include "../../../metrics/trace.h"

enum { CHUNK = 4096, MOST_GATHERED = 1 << 19 }; /* most spans in one gather: of one rank, and of all ranks */

static const char *const file_names[] = {"trace.json", "layers.txt"};
enum { CHROME_FILE, LAYERS_FILE, NFILES };

struct tutti_tracing {
    int64_t first, end; /* the traced steps, counted from 0 */
    bool closed;
    int64_t step_began_ns;
    double *exchange_s; /* per exchange: seconds spent in it during the window */
    tutti_spans spans;
    tutti_span_label *labels;
    int nlabels;
    int32_t first_label[TUTTI_NDOINGS];
    tutti_arena arena;
};

void tutti_tracing_window(int64_t step, int64_t nsteps, int64_t warmup, int64_t steps, int64_t *first, int64_t *end)
{
    int64_t begin = step + warmup;
    if (begin + steps > nsteps) begin = nsteps - steps;
    *first = begin > step ? begin : step;
    *end = *first + steps < nsteps ? *first + steps : nsteps;
}

/* ---- labels of spans ---- */

typedef enum { ONE, EACH_LAYER, EACH_BUCKET, EACH_EXCHANGE } many;
typedef struct {
    many many;
    const char *name; /* words before the name of the layer or exchange, or before the bucket's number */
    tutti_track track;
} doing_row;

static const doing_row rows[TUTTI_NDOINGS] = {
    [TUTTI_DID_SET_UP] = {ONE, "set-up", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_LOAD] = {ONE, "wait-batch", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_FORWARD] = {EACH_LAYER, "forward", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_BACKWARD_PARAMS] = {EACH_LAYER, "backward-params", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_BACKWARD_DATA] = {EACH_LAYER, "backward-data", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_SUM] = {EACH_LAYER, "sum", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_MOVE] = {EACH_LAYER, "move", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_FOLD] = {EACH_BUCKET, "fold bucket", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_CONVERT] = {EACH_BUCKET, "convert bucket", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_EXCHANGE] = {ONE, "exchange", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_WAIT] = {EACH_EXCHANGE, "wait for", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_UPDATE] = {EACH_BUCKET, "update bucket", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_CENTRE] = {EACH_BUCKET, "move centre of bucket", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_VISIT] = {ONE, "wait to visit", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_DEVICE] = {ONE, "device", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_HELD_UP] = {ONE, "held up", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_EVALUATE] = {ONE, "evaluation", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_SAVE] = {ONE, "checkpoint", TUTTI_TRACK_COMPUTE},
    [TUTTI_DID_OTHER] = {ONE, "other", TUTTI_TRACK_COMPUTE},
    [TUTTI_BESIDE_EXCHANGE] = {EACH_EXCHANGE, "", TUTTI_TRACK_EXCHANGE},
    [TUTTI_BESIDE_UPDATE] = {EACH_BUCKET, "update bucket", TUTTI_TRACK_EXCHANGE},
    [TUTTI_BESIDE_LOADER] = {ONE, "load", TUTTI_TRACK_LOADER},
    [TUTTI_BESIDE_STEP] = {ONE, "ProfilerStep", TUTTI_TRACK_COMPUTE},
};

static int count_of(const tutti_plan *p, tutti_doing what)
{
    switch (rows[what].many) {
    case EACH_LAYER: return p->graph->model->nlayers;
    case EACH_BUCKET: return p->nbuckets + 1;
    case EACH_EXCHANGE: return p->nexchanges;
    case ONE: break;
    }
    return 1;
}

/* Describes an exchange in words. Its elements are counted for one rank: all of them, or the slice that the rank gives
 * or gets. */
static void describe_travel(const tutti_plan *p, int exchange, tutti_span_label *label)
{
    const tutti_plan_exchange *x = &p->exchanges[exchange];
    const tutti_schedule_header *h = tutti_schedule_head(p->schedules[x->schedule].compiled);
    const int64_t own = x->count / x->nmembers;
    label->members = x->members;
    label->nmembers = x->nmembers;
    label->collective = tutti_collective_name(h->collective);
    label->algorithm = h->algorithm;
    label->type = tutti_dtype_name(x->sent ? x->sent : p->memories[x->in.memory].type);
    /* the rank sends its row of the matrix of all blocks and gets its column */
    const bool swaps = h->collective == TUTTI_ALL_TO_ALL;
    label->elements_in = swaps || tutti_collective_takes_slices(h->collective) ? own : x->count;
    label->elements_out = swaps || tutti_collective_gives_slices(h->collective) ? own : x->count;
}

static tutti_span_label label_of(tutti_tracing *tr, const tutti_plan *p, tutti_doing what, int index)
{
    const doing_row *row = &rows[what];
    tutti_span_label label = {.track = row->track, .numbered = what == TUTTI_BESIDE_STEP};
    tutti_strbuf name = {0};
    tutti_strbuf_puts(&name, row->name);
    if (row->many == EACH_LAYER) tutti_strbuf_printf(&name, " %s", p->graph->model->layers[index].name);
    if (row->many == EACH_BUCKET && index < p->nbuckets) tutti_strbuf_printf(&name, " %d", index);
    if (row->many == EACH_BUCKET && index == p->nbuckets) tutti_strbuf_puts(&name, " of control numbers");
    if (row->many == EACH_EXCHANGE)
        tutti_strbuf_printf(&name, "%s%s", row->name[0] ? " " : "", p->exchanges[index].name);
    label.name = tutti_arena_strdup(&tr->arena, name.text);
    tutti_strbuf_release(&name);
    if (what == TUTTI_BESIDE_EXCHANGE) describe_travel(p, index, &label);
    return label;
}

static void make_labels(tutti_tracing *tr, const tutti_plan *p)
{
    for (int d = 0; d < TUTTI_NDOINGS; d++) {
        tr->first_label[d] = tr->nlabels;
        tr->nlabels += count_of(p, (tutti_doing)d);
    }
    tr->labels = TUTTI_ARENA_NEW(&tr->arena, tutti_span_label, tr->nlabels);
    for (int d = 0; d < TUTTI_NDOINGS; d++)
        for (int i = 0; i < count_of(p, (tutti_doing)d); i++)
            tr->labels[tr->first_label[d] + i] = label_of(tr, p, (tutti_doing)d, i);
}

/* ---- create and destroy ---- */

/* Returns an upper bound of the spans of a step: each action is followed by at most one span of exchanges, and the end
 * of the step may wait for an exchange, which is one span more. */
static int64_t most_spans_of_step(const tutti_plan *p)
{
    return 2 * ((int64_t)p->loops[TUTTI_EACH_STEP].nactions + p->loops[TUTTI_EACH_END].nactions +
                p->loops[TUTTI_EACH_PERIOD].nactions) +
           2 * (int64_t)p->nexchanges + 8;
}

tutti_tracing *tutti_tracing_create(const tutti_stepping *s)
{
    const tutti_train_config *c = s->config;
    if (!c->trace_steps || !c->dir || s->step >= c->nsteps) return NULL;
    tutti_tracing *tr = tutti_alloc(sizeof *tr);
    tutti_tracing_window(s->step, c->nsteps, c->trace_warmup, c->trace_steps, &tr->first, &tr->end);
    tutti_spans_init(&tr->spans, (tr->end - tr->first) * most_spans_of_step(s->plan) + s->plan->nexchanges);
    tr->exchange_s = TUTTI_ARENA_NEW(&tr->arena, double, s->plan->nexchanges);
    make_labels(tr, s->plan);
    return tr;
}

void tutti_tracing_destroy(tutti_tracing *tr)
{
    if (!tr) return;
    tutti_spans_release(&tr->spans);
    tutti_arena_release(&tr->arena);
    free(tr);
}

tutti_status tutti_tracing_remove(const char *dir, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < NFILES && !st; i++) {
        char *path = tutti_checkpoint_path("%s/%s", dir, file_names[i]);
        st = tutti_file_remove_tree(path, err);
        free(path);
    }
    return st;
}

/* ---- gathering spans ---- */

/* Gathers the spans of all ranks in rank 0's `ranks`; the other ranks send theirs. */
static tutti_status gather(tutti_tracing *tr, const tutti_stepping *s, tutti_rank_spans *ranks, tutti_failure *err)
{
    const int n = s->nranks;
    const int64_t chunk = MOST_GATHERED / n < CHUNK ? MOST_GATHERED / n : CHUNK;
    int64_t mine = tr->spans.n, most = 0, *counts = tutti_alloc(sizeof *counts * (size_t)n);
    tutti_span *part = tutti_alloc(sizeof *part * (size_t)chunk), *all = tutti_alloc(sizeof *all * (size_t)(chunk * n));
    tutti_status st = tutti_group_all_gather(s->group, "trace", &mine, counts, sizeof mine, err);
    for (int r = 0; r < n && !st; r++) {
        most = counts[r] > most ? counts[r] : most;
        if (s->rank == 0)
            ranks[r] = (tutti_rank_spans){tutti_group_describe(s->group, r),
                                          tutti_alloc(sizeof(tutti_span) * (size_t)(counts[r] + 1)), counts[r]};
    }
    for (int64_t at = 0; at < most && !st; at += chunk) {
        const int64_t left = mine - at;
        if (left > 0) memcpy(part, tr->spans.spans + at, sizeof *part * (size_t)(left < chunk ? left : chunk));
        st = tutti_group_all_gather(s->group, "trace", part, all, sizeof *part * (size_t)chunk, err);
        for (int r = 0; r < n && !st && s->rank == 0; r++) {
            const int64_t more = counts[r] - at < chunk ? counts[r] - at : chunk;
            if (more > 0) memcpy(ranks[r].spans + at, all + r * chunk, sizeof *all * (size_t)more);
        }
    }
    free(all);
    free(part);
    free(counts);
    return st;
}

/* Replaces this rank's times by the means over all ranks. */
static tutti_status average_exchanges(tutti_tracing *tr, const tutti_stepping *s, tutti_failure *err)
{
    const int n = s->plan->nexchanges;
    const size_t nbytes = sizeof(double) * (size_t)n;
    double *all = tutti_alloc(nbytes * (size_t)s->nranks);
    tutti_status st = tutti_group_all_gather(s->group, "trace", tr->exchange_s, all, nbytes, err);
    for (int x = 0; x < n && !st; x++) {
        double sum = 0;
        for (int r = 0; r < s->nranks; r++) sum += all[r * n + x];
        tr->exchange_s[x] = sum / s->nranks;
    }
    free(all);
    return st;
}

/* ---- writing the files ---- */

static tutti_status write_file(const tutti_stepping *s, int file, tutti_strbuf *text, tutti_failure *err)
{
    const tutti_headway headway = tutti_group_headway(s->group);
    char *path = tutti_checkpoint_path("%s/%s", s->config->dir, file_names[file]);
    tutti_status st = tutti_file_write_told(path, text->text, text->length, &headway, err);
    free(path);
    tutti_strbuf_release(text);
    return st;
}

static tutti_status write_chrome(const tutti_tracing *tr, const tutti_stepping *s, tutti_rank_spans *ranks,
                                 tutti_failure *err)
{
    const double wall_s = tutti_clock_wall_s();
    const tutti_trace trace = {.labels = tr->labels,
                               .ranks = ranks,
                               .nranks = s->nranks,
                               .wall_ns = (int64_t)(1e9 * wall_s) - tutti_clock_ns()};
    tutti_strbuf text = {0};
    tutti_chrome_trace_print(&trace, &text);
    return write_file(s, CHROME_FILE, &text, err);
}

/* Shares the time of an exchange out to the layers whose parameters are in it, by their size. */
static void share_out(const tutti_plan *p, int exchange, double us, tutti_layer_cost *layers)
{
    const tutti_plan_exchange *x = &p->exchanges[exchange];
    if (x->is_travel) layers[p->graph->nodes[x->node].layer].comm_us += us;
    if (x->bucket < 0) return;
    const tutti_bucket *b = &p->buckets[p->exchanges[exchange].bucket];
    int64_t count = 0;
    for (int i = b->first_param; i < b->first_param + b->nparams; i++) {
        const tutti_param *param = &p->graph->params[p->order[i]];
        if (param->layer >= 0) count += param->count;
    }
    for (int i = b->first_param; i < b->first_param + b->nparams; i++) {
        const tutti_param *param = &p->graph->params[p->order[i]];
        if (param->layer >= 0) layers[param->layer].comm_us += us * (double)param->count / (double)count;
    }
}

static void add_span(const tutti_tracing *tr, const tutti_plan *p, const tutti_span *s, double weight,
                     tutti_layer_cost *layers)
{
    const double us = weight * 1e-3 * (double)(s->end_ns - s->begin_ns);
    for (int d = 0; d < TUTTI_NDOINGS; d++) {
        const int index = s->label - tr->first_label[d];
        if (index < 0 || index >= count_of(p, (tutti_doing)d)) continue;
        if (d == TUTTI_DID_FORWARD) layers[index].forward_us += us;
        if (d >= TUTTI_DID_BACKWARD_PARAMS && d <= TUTTI_DID_SUM) layers[index].backward_us += us;
    }
}

/* The spans that belong to no layer. */
typedef struct {
    double update_us, load_us;
    int64_t nloads;
} beside_layers;

static void add_beside(const tutti_tracing *tr, const tutti_plan *p, const tutti_span *s, beside_layers *out)
{
    static const tutti_doing updates[] = {TUTTI_DID_UPDATE, TUTTI_BESIDE_UPDATE};
    const double us = 1e-3 * (double)(s->end_ns - s->begin_ns);
    for (int i = 0; i < 2; i++) {
        const int index = s->label - tr->first_label[updates[i]];
        if (index >= 0 && index < count_of(p, updates[i])) out->update_us += us;
    }
    if (s->label != tr->first_label[TUTTI_BESIDE_LOADER]) return;
    out->load_us += us;
    out->nloads++;
}

/* Finds the time of kernels in each step of each rank, divided by the mean of all. Updates do not count: some belong to
 * the last step of a period, and a rank that others wait for may do a step's updates in the next step. */
static void find_spread(const tutti_tracing *tr, const tutti_stepping *s, const tutti_rank_spans *ranks,
                        tutti_step_spread *out)
{
    const size_t steps = (size_t)(s->step - tr->first), n = steps * (size_t)s->nranks;
    const int first = tr->first_label[TUTTI_DID_FORWARD],
              end = tr->first_label[TUTTI_DID_SUM] + count_of(s->plan, TUTTI_DID_SUM);
    double *seconds = tutti_alloc(sizeof *seconds * n);
    for (int r = 0; r < s->nranks; r++)
        for (int64_t i = 0; i < ranks[r].nspans; i++) {
            const tutti_span *span = &ranks[r].spans[i];
            if (span->label < first || span->label >= end) continue;
            const size_t step = (size_t)(span->step - 1 - tr->first);
            assert(step < steps);
            seconds[(size_t)r * steps + step] += 1e-9 * (double)(span->end_ns - span->begin_ns);
        }
    tutti_step_spread_take(seconds, n, out);
    free(seconds);
}

/* Returns the elements that a rank updates in a step, in units of the 20 bytes that a rule with one state moves for an
 * element. NaN: the spans of updates also contain checks of gradients, or some updates are not in every step. */
static double count_updated(const tutti_plan *p)
{
    double n = 0;
    for (int d = TUTTI_EACH_STEP; d <= TUTTI_EACH_END; d++)
        for (int i = 0; i < p->loops[d].nactions; i++) {
            const tutti_action *a = &p->loops[d].actions[i];
            if (tutti_action_looks(a)) return (double)NAN;
            if (!tutti_action_updates(a)) continue;
            if (a->steps != TUTTI_IN_EVERY_STEP) return (double)NAN;
            n += tutti_action_bytes(p, a) / 20;
        }
    return n > 0 ? n : (double)NAN;
}

/* Writes means over traced steps and ranks. */
static tutti_status write_layers(const tutti_tracing *tr, const tutti_stepping *s, const tutti_rank_spans *ranks,
                                 tutti_failure *err)
{
    const tutti_plan *p = s->plan;
    const tutti_graph *g = p->graph;
    tutti_layer_cost *layers = tutti_alloc(sizeof *layers * (size_t)g->model->nlayers);
    tutti_strbuf text = {0};
    beside_layers beside = {0};
    for (int l = 0; l < g->model->nlayers; l++) layers[l].name = g->model->layers[l].name;
    for (int i = 0; i < g->nparams; i++)
        if (g->params[i].layer >= 0)
            layers[g->params[i].layer].size_bytes += g->params[i].count * (int64_t)sizeof(float);
    const double steps = (double)(s->step - tr->first), weight = 1.0 / (steps * s->nranks);
    for (int r = 0; r < s->nranks; r++)
        for (int64_t i = 0; i < ranks[r].nspans; i++) {
            add_span(tr, p, &ranks[r].spans[i], weight, layers);
            add_beside(tr, p, &ranks[r].spans[i], &beside);
        }
    for (int x = 0; x < p->nexchanges && s->nranks > 1; x++) share_out(p, x, 1e6 * tr->exchange_s[x] / steps, layers);
    tutti_layer_trace_print(layers, g->model->nlayers, &text);
    tutti_layer_trace_print_rates(
        1e-6 * weight * beside.update_us / count_updated(p),
        beside.nloads ? 1e-6 * beside.load_us / (double)(beside.nloads * p->my_nsamples) : (double)NAN, &text);
    tutti_step_spread spread;
    find_spread(tr, s, ranks, &spread);
    tutti_layer_trace_print_spread(&spread, &text);
    free(layers);
    return write_file(s, LAYERS_FILE, &text, err);
}

static tutti_status close_window(tutti_tracing *tr, tutti_stepping *s, const tutti_telling *t, tutti_failure *err)
{
    tutti_rank_spans *ranks = tutti_alloc(sizeof *ranks * (size_t)s->nranks);
    tutti_status st = tutti_step_wait_all(s, err); /* the last exchanges belong to the trace too */
    s->account.spans = NULL;
    tutti_shared_time(&s->shared, false);
    tr->closed = true;
    assert(tr->spans.dropped == 0);
    for (int x = 0; x < s->plan->nexchanges; x++) tr->exchange_s[x] += tutti_shared_exchange_seconds(&s->shared, x);
    if (!st) st = average_exchanges(tr, s, err);
    if (!st) st = gather(tr, s, ranks, err);
    if (!st && s->rank == 0) {
        tutti_group_long_phase_begin(s->group, "writes a trace", "bytes of a file");
        st = write_chrome(tr, s, ranks, err);
        if (!st) st = write_layers(tr, s, ranks, err);
        tutti_group_long_phase_end(s->group);
        if (!st) tutti_report_traced(t, tr->first + 1, s->step);
    }
    for (int r = 0; r < s->nranks; r++) free(ranks[r].spans);
    free(ranks);
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    return st;
}

/* ---- the window of traced steps ---- */

static void open_window(tutti_tracing *tr, tutti_stepping *s)
{
    tutti_shared_time(&s->shared, s->nranks > 1);
    for (int x = 0; x < s->plan->nexchanges; x++) tr->exchange_s[x] = -tutti_shared_exchange_seconds(&s->shared, x);
}

void tutti_tracing_step_begin(tutti_tracing *tr, tutti_stepping *s)
{
    if (!tr || tr->closed || s->step < tr->first) return;
    if (s->step == tr->first) open_window(tr, s);
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    s->account.spans = &tr->spans;
    s->account.first_label = tr->first_label;
    s->account.step = s->step + 1;
    tr->step_began_ns = s->account.cost.charged_ns;
}

tutti_status tutti_tracing_step_end(const tutti_telling *t, tutti_stepping *s, tutti_failure *err)
{
    tutti_tracing *tr = t->tracing;
    if (!tr || tr->closed || !s->account.spans) return TUTTI_OK;
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    tutti_spans_add(&tr->spans, tr->first_label[TUTTI_BESIDE_STEP], s->step, tr->step_began_ns,
                    s->account.cost.charged_ns);
    return s->step == tr->end || s->asked_to_stop ? close_window(tr, s, t, err) : TUTTI_OK;
}
