/* SPDX-License-Identifier: Apache-2.0 */
/* planning_page.c: writes predictions as one HTML page with a picture of how the job scales. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../metrics/chart/chart.h"
#include "../../metrics/page.h"
#include "planning_parts.h"

/* ---- the picture ---- */

typedef struct {
    double ranks[TUTTI_PREDICT_MAX_RANKS], speedup[TUTTI_PREDICT_MAX_RANKS], least[TUTTI_PREDICT_MAX_RANKS],
        most[TUTTI_PREDICT_MAX_RANKS], efficiency[TUTTI_PREDICT_MAX_RANKS];
    int n;
} curves;

/* Sorts the curves by rank count. */
static void curves_of(const tutti_predict_question *q, curves *c)
{
    int order[TUTTI_PREDICT_MAX_RANKS];
    c->n = 0;
    for (int i = 0; i < q->nranks; i++) {
        int at = c->n;
        if (!(q->predicted[i].step_s > 0)) continue;
        c->n++;
        for (; at > 0 && q->ranks[order[at - 1]] > q->ranks[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < c->n; i++) {
        const tutti_prediction *p = &q->predicted[order[i]];
        c->ranks[i] = p->nranks;
        c->speedup[i] = p->speedup;
        c->least[i] = p->speedup * p->step_s / p->upper_s;
        c->most[i] = p->speedup * p->step_s / p->lower_s;
        c->efficiency[i] = 100 * p->efficiency;
    }
}

void tutti_predict_draw_scaling(const char *of, const double *ranks, const double *speedup, const double *efficiency,
                                int n, tutti_strbuf *out)
{
    const tutti_chart_series fast[] = {{"predicted", ranks, speedup, n, .points = true},
                                       {"as many as ranks", ranks, ranks, n, .points = false}},
                             used = {"efficiency", ranks, efficiency, n, .points = true};
    const tutti_chart_panel panels[] = {{.title = "speed-up", .series = fast, .nseries = 2},
                                        {.title = "efficiency, %", .series = &used, .nseries = 1}};
    tutti_strbuf title = {0};
    tutti_strbuf_printf(&title, "Scaling of %s", of);
    tutti_chart_svg(title.text, "ranks", panels, 2, out);
    tutti_strbuf_release(&title);
}

static void draw(const tutti_predict_question *q, tutti_strbuf *out)
{
    curves c;
    curves_of(q, &c);
    tutti_predict_draw_scaling(q->job_path, c.ranks, c.speedup, c.efficiency, c.n, out);
}

/* ---- the page ---- */

static void add_begin(const tutti_predict_question *q, tutti_page *p)
{
    char *topology = tutti_topology_print(&q->topology);
    tutti_page_element(p, "p", "Predicted, not measured, on %s; %s the job's batch.", topology,
                       q->options.weak ? "each rank has" : "all ranks together have");
    free(topology);
}

/* Adds each sentence as a paragraph. */
static void add_words(const tutti_predict_question *q, tutti_page *p)
{
    tutti_strbuf words = {0};
    tutti_predict_add_words(q, &words);
    for (char *line = words.text, *end; (end = strchr(line, '\n')); line = end + 1)
        tutti_page_element(p, "p", "%.*s", (int)(end - line), line);
    tutti_strbuf_release(&words);
}

/* ---- tables ---- */

/* Adds the value, or "-" if it is unknown. */
static void add_known(double value, tutti_page *p)
{
    isfinite(value) ? tutti_page_cells(p, "%.2f", value) : tutti_page_cells(p, "-");
}

static void add_row(const tutti_predict_question *q, int i, tutti_page *page)
{
    const tutti_predict_answers *a = q->answers;
    const tutti_prediction *p = &q->predicted[i];
    const tutti_run_row *r = &a->rows[i];
    char epoch[16], run[16], memory[16];
    tutti_page_row(page);
    tutti_page_cells(page, "%d", p->nranks);
    if (p->refused[0]) {
        tutti_page_cell_as(page, "class=\"t\" colspan=\"13\"", "%s", p->refused);
        return;
    }
    tutti_predict_bytes_words(p->memory.all, memory);
    tutti_page_cells(page, "%.3f\t%.3f\t%.3f\t%.3f\t%.1f\t%.2f\t%.1f %%", p->step_s * 1e3, p->compute_s * 1e3,
                     p->exchange_s * 1e3, p->exposed_s * 1e3, p->samples_per_s, p->speedup, p->efficiency * 100);
    tutti_page_cell_as(page, tutti_predict_fits(a, p) ? "class=\"fits\"" : "class=\"bad\"", "%s", memory);
    if (!a->plans) return;
    tutti_predict_time_words(r->epoch_s, epoch);
    tutti_predict_time_words(r->run_s, run);
    tutti_page_cells(page, "%d\t%s\t%s", r->nnodes, epoch, run);
    add_known(r->node_hours, page);
    if (a->plan.price > 0) add_known(r->cost, page);
}

static void add_table(const tutti_predict_question *q, tutti_page *p)
{
    const tutti_predict_answers *a = q->answers;
    tutti_strbuf heads = {0};
    tutti_strbuf_printf(&heads, "ranks|step ms|compute|exchange|exposed|samples/s|speed-up|efficiency|memory%s%s",
                        a->plans ? "|nodes|an epoch|in all|node hours" : "",
                        a->plans && a->plan.price > 0 ? "|cost" : "");
    tutti_page_table(p, "By rank count", heads.text);
    for (int i = 0; i < q->nranks; i++) add_row(q, i, p);
    tutti_page_table_end(p);
    tutti_strbuf_release(&heads);
}

static void add_change(const tutti_predict_question *q, const tutti_predict_change *c, tutti_page *p)
{
    tutti_page_element(p, "h2", "What if %s", c->text);
    tutti_page_table(p, NULL, "ranks|step ms|now|ratio|samples/s|efficiency");
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *was = &q->predicted[i], *is = &c->predicted[i];
        if (is->refused[0]) continue;
        tutti_page_row(p);
        tutti_page_cells(p, "%d\t%.3f\t%.3f\t%.3f\t%.1f\t%.1f %%", is->nranks, is->step_s * 1e3, was->step_s * 1e3,
                         is->step_s / was->step_s, is->samples_per_s, is->efficiency * 100);
    }
    tutti_page_table_end(p);
}

/* ---- charts ---- */

static void add_curves(const tutti_predict_question *q, tutti_page *p)
{
    curves c;
    curves_of(q, &c);
    const tutti_chart_band fast[] = {{"predicted", c.ranks, c.speedup, c.least, c.most, c.n},
                                     {"as many as ranks", c.ranks, c.ranks, c.ranks, c.ranks, c.n}},
                           used = {"efficiency", c.ranks, c.efficiency, c.efficiency, c.efficiency, c.n};
    tutti_page_open(p, "figure");
    tutti_chart_bands_svg(&(tutti_chart_bands){"Speed-up", "ranks", fast, 2, (double)NAN, .by_powers = false}, p->out);
    tutti_page_element(p, "figcaption",
                       "Blue: predicted, between nothing overlapping and what no run can beat; "
                       "orange: as many times as there are ranks.");
    tutti_page_close(p);
    tutti_page_open(p, "figure");
    tutti_chart_bands_svg(&(tutti_chart_bands){"Efficiency, %", "ranks", &used, 1, 50, .by_powers = false}, p->out);
    tutti_page_element(p, "figcaption", "Dashed: half of every rank's time is lost.");
    tutti_page_close(p);
}

enum { MAX_PARTS = 5 };

typedef struct {
    const char *title, *unit, *parts[MAX_PARTS];
    int nparts;
    double (*part_of)(const tutti_prediction *p, int part);
} stacked;

static double step_part(const tutti_prediction *p, int part)
{
    return (part ? p->exposed_s : p->step_s - p->exposed_s) * 1e3;
}

static double memory_part(const tutti_prediction *p, int part)
{
    const tutti_rank_memory *m = &p->memory;
    const int64_t bytes[MAX_PARTS] = {m->weights, m->gradients, m->states, m->activations, m->exchange};
    return (double)bytes[part] / (1 << 20);
}

/* Adds a bar for each rank count. */
static void add_bars(const tutti_predict_question *q, const stacked *s, tutti_page *page)
{
    char names[TUTTI_PREDICT_MAX_RANKS][32];
    double part[TUTTI_PREDICT_MAX_RANKS][MAX_PARTS];
    tutti_chart_bar bars[TUTTI_PREDICT_MAX_RANKS];
    for (int i = 0; i < q->nranks; i++) {
        snprintf(names[i], sizeof names[i], "%d rank%s", q->ranks[i], q->ranks[i] == 1 ? "" : "s");
        for (int k = 0; k < s->nparts; k++) part[i][k] = s->part_of(&q->predicted[i], k);
        bars[i] = (tutti_chart_bar){names[i], part[i]};
    }
    tutti_page_open(page, "figure");
    tutti_page_legend(page, s->parts, NULL, s->nparts, false);
    tutti_chart_bars_svg(&(tutti_chart_bars){s->title, s->unit, bars, q->nranks, s->parts, s->nparts}, page->out);
    tutti_page_close(page);
}

/* ---- one step ---- */

enum { FORWARD = 0, EXPOSED = 1, BACKWARD = 2, LOADING = 3, UPDATE = 4, HIDDEN = 9 };

static int colour_of(tutti_stretch_kind k)
{
    static const int colours[TUTTI_NSTRETCHES] = {
        [TUTTI_STRETCH_LOAD] = LOADING,  [TUTTI_STRETCH_FORWARD] = FORWARD, [TUTTI_STRETCH_BACKWARD] = BACKWARD,
        [TUTTI_STRETCH_UPDATE] = UPDATE, [TUTTI_STRETCH_BESIDE] = UPDATE,   [TUTTI_STRETCH_EXCHANGE] = EXPOSED,
        [TUTTI_STRETCH_WAIT] = HIDDEN,
    };
    return colours[k];
}

static const char *words_of(const tutti_step_view *v, const tutti_step_stretch *s, const char *before,
                            tutti_arena *arena)
{
    const char *name = tutti_step_view_name(v, s->kind, s->what);
    const size_t room = strlen(name) + strlen(before) + 80;
    char *words = TUTTI_ARENA_NEW(arena, char, room);
    snprintf(words, room, "%s%s %s %.3f ms, from %.3f", before, tutti_stretch_name(s->kind), name,
             (s->end_s - s->begin_s) * 1e3, s->begin_s * 1e3);
    return words;
}

static void add_lane(const tutti_step_view *v, bool wire, const char *title, tutti_page *p)
{
    enum { PARTS = 64 };
    tutti_arena arena = {0};
    tutti_strip_piece *pieces = NULL;
    int n = 0, capacity = 0;
    for (int i = 0; i < v->log.n; i++) {
        const tutti_step_stretch *s = &v->log.list[i];
        tutti_step_stretch part[PARTS];
        bool exposed[PARTS];
        if ((s->kind >= TUTTI_STRETCH_BESIDE) != wire) continue;
        while (capacity < n + PARTS) pieces = tutti_grow(pieces, capacity, &capacity, sizeof *pieces);
        const bool splits = s->kind == TUTTI_STRETCH_EXCHANGE;
        const int nparts = splits ? tutti_step_log_split(&v->log, s, part, exposed, PARTS) : 0;
        for (int k = 0; k < nparts; k++)
            pieces[n++] = (tutti_strip_piece){part[k].begin_s, part[k].end_s, exposed[k] ? EXPOSED : HIDDEN,
                                              words_of(v, s, exposed[k] ? "exposed " : "hidden ", &arena)};
        if (!splits)
            pieces[n++] = (tutti_strip_piece){s->begin_s, s->end_s, colour_of(s->kind), words_of(v, s, "", &arena)};
    }
    tutti_page_element(p, "p", "%s", title);
    tutti_strip_chart_svg(title, v->log.end_s, pieces, n, p->out);
    tutti_arena_release(&arena);
    free(pieces);
}

static void add_path(const tutti_step_view *v, tutti_page *p)
{
    tutti_page_element(p, "h2", "What makes it as long as it is");
    tutti_page_element(p, "p", "Each of these could begin only when the one before it had ended.");
    tutti_page_table(p, NULL, "<what|<from|<to|begins, ms|takes, ms");
    for (int i = 0; i < v->npath; i++) {
        const tutti_step_stretch *s = &v->path[i];
        tutti_page_row(p);
        tutti_page_cells(p, "%s", tutti_stretch_name(s->kind));
        tutti_page_cells(p, "%s", tutti_step_view_name(v, s->kind, s->what));
        tutti_page_cells(p, "%s", s->last != s->what ? tutti_step_view_name(v, s->kind, s->last) : "");
        tutti_page_cells(p, "%.3f\t%.3f", s->begin_s * 1e3, (s->end_s - s->begin_s) * 1e3);
    }
    tutti_page_table_end(p);
}

static void add_step(const tutti_step_view *v, tutti_page *p)
{
    static const char *const names[] = {"forward", "backward", "updates", "hidden exchange", "exposed exchange"};
    static const int colours[] = {FORWARD, BACKWARD, UPDATE, HIDDEN, EXPOSED};
    if (!v->log.n) return;
    tutti_page_element(p, "h2", "One %s at %d rank%s", v->period > 1 ? "period" : "step", v->nranks,
                       v->nranks == 1 ? "" : "s");
    tutti_page_legend(p, names, colours, 5, false);
    tutti_page_open(p, "div class=\"lanes\"");
    add_lane(v, false, "computing", p);
    add_lane(v, true, "exchanges", p);
    tutti_page_open(p, "div class=\"ticks\"");
    for (int i = 0; i <= 4; i++) tutti_page_element(p, "span", "%.4g ms", v->log.end_s * 1e3 * i / 4);
    tutti_page_close(p);
    tutti_page_close(p);
    add_path(v, p);
}

static void add_page(const tutti_predict_question *q, tutti_strbuf *out)
{
    static const stacked step = {"A step, ms", "ms", {"computing", "exposed exchange"}, 2, step_part},
                         memory = {"Memory of a rank, MiB",
                                   "MiB",
                                   {"weights", "gradients", "states", "activations", "exchange"},
                                   MAX_PARTS,
                                   memory_part};
    tutti_page p = tutti_page_begin("How it scales", q->job_path, out);
    add_begin(q, &p);
    add_words(q, &p);
    add_table(q, &p);
    tutti_page_element(&p, "h2", "How it scales");
    tutti_page_open(&p, "div class=\"figures\" style=\"--least:30rem\"");
    add_curves(q, &p);
    add_bars(q, &step, &p);
    add_bars(q, &memory, &p);
    tutti_page_close(&p);
    add_step(&q->answers->step, &p);
    for (int i = 0; i < q->answers->nchanges; i++) add_change(q, &q->answers->changes[i], &p);
    tutti_page_element(&p, "p class=\"note\"",
                       "Not in the model: noise, evaluation, checkpoints; on a network: packets, congestion control.");
    tutti_page_end(&p);
}

tutti_status tutti_predict_pictures_write(const tutti_predict_question *q, const tutti_predict_answers *a,
                                          tutti_failure *err)
{
    tutti_strbuf svg = {0}, html = {0};
    tutti_status st = TUTTI_OK;
    if (a->svg) draw(q, &svg);
    if (a->svg) st = tutti_file_write_atomic(a->svg, svg.text, svg.length, err);
    if (a->html) add_page(q, &html);
    if (a->html && !st) st = tutti_file_write_atomic(a->html, html.text, html.length, err);
    tutti_strbuf_release(&svg);
    tutti_strbuf_release(&html);
    return st;
}
