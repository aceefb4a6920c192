/* SPDX-License-Identifier: Apache-2.0 */
/* predict_page.c: `tutti predict JOB --svg FILE --html FILE`: how a job scales as a picture, and all answers as one page that needs nothing
 * else, no network and no script. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../metrics/chart/chart.h"
#include "../../metrics/chart/strip_chart.h"
#include "../../metrics/chart/svg.h"
#include "../../predict/plan/planning_parts.h"
#include "predict_flags.h"

static const char style[] =
    ":root{color-scheme:light dark}"
    "body{margin:0 auto;max-width:80rem;padding:1rem;font:15px/1.45 sans-serif;color:#222;background:#fff}"
    "h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}p{max-width:60rem;margin:.4rem 0}"
    "p,h1,li{overflow-wrap:anywhere}"
    ".figures{display:grid;gap:1rem 2rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr))}"
    "figure{margin:0;max-width:36rem}figure svg{width:100%;height:auto;display:block}"
    ".legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.5rem 0;padding:0;list-style:none}"
    "ul.legend svg{width:11px;height:11px;display:inline;vertical-align:middle;margin-right:.35rem}"
    ".lanes svg{width:100%;height:2.2rem;display:block}.lane{fill:#eee}.lanes p{margin:.5rem 0 .1rem}"
    ".ticks{display:flex;justify-content:space-between;font-size:.85em;color:#555}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem 0 .25rem 1rem;text-align:right;white-space:nowrap;border-bottom:1px solid #e4e4e4}"
    "th:first-child,td:first-child{padding-left:0}th{border-bottom-color:#888;vertical-align:bottom}"
    "td.t,th.t{text-align:left}.bad{color:#b00020}small{color:#666}";

static const char dark[] = "@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}"
                           "th,td{border-bottom-color:#33373d}.lane{fill:#2a2e34}.ticks,small{color:#aaa}"
                           "figure svg{fill:#ddd}.grid{stroke:#33373d}.axis{stroke:#999}.quiet{fill:#999}"
                           "svg path,svg rect,svg circle{filter:brightness(1.3)}.bad{color:#ff8a80}}";

/* ---- the picture ---- */

typedef struct {
    double ranks[TUTTI_PREDICT_MAX_RANKS], speedup[TUTTI_PREDICT_MAX_RANKS], least[TUTTI_PREDICT_MAX_RANKS],
        most[TUTTI_PREDICT_MAX_RANKS], efficiency[TUTTI_PREDICT_MAX_RANKS];
    int n;
} curves;

/* By rising rank counts. */
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

static void draw(const tutti_predict_question *q, tutti_strbuf *out)
{
    curves c;
    curves_of(q, &c);
    const tutti_chart_series fast[] = {{"predicted", c.ranks, c.speedup, c.n, .points = true},
                                       {"as many as ranks", c.ranks, c.ranks, c.n, .points = false}},
                             used = {"efficiency", c.ranks, c.efficiency, c.n, .points = true};
    const tutti_chart_panel panels[] = {{.title = "speed-up", .series = fast, .nseries = 2},
                                        {.title = "efficiency, %", .series = &used, .nseries = 1}};
    tutti_strbuf title = {0};
    tutti_strbuf_printf(&title, "Scaling of %s", q->job_path);
    tutti_chart_svg(title.text, "ranks", panels, 2, out);
    tutti_strbuf_release(&title);
}

/* ---- the page ---- */

static void add_text(const char *text, tutti_strbuf *out)
{
    tutti_svg_escape(text, out);
}

static void add_legend(const char *const *names, const int *colours, int n, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "<ul class=\"legend\">\n");
    for (int i = 0; i < n; i++) {
        tutti_strbuf_puts(out, "<li>");
        tutti_chart_square(colours[i], out);
        add_text(names[i], out);
        tutti_strbuf_puts(out, "</li>\n");
    }
    tutti_strbuf_puts(out, "</ul>\n");
}

static void add_begin(const tutti_predict_question *q, tutti_strbuf *out)
{
    char *topology = tutti_topology_print(&q->topology);
    tutti_strbuf_printf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n<title>How it scales</title>\n"
        "<style>%s%s%s</style>\n</head>\n<body>\n<h1>",
        style, tutti_svg_style(), dark);
    add_text(q->job_path, out);
    tutti_strbuf_puts(out, "</h1>\n<p>Predicted, not measured, on ");
    add_text(topology, out);
    tutti_strbuf_puts(out, q->options.weak ? "; each rank has the job&#39;s batch.</p>\n"
                                           : "; all ranks together have the job&#39;s batch.</p>\n");
    free(topology);
}

/* Sentences, a paragraph each. */
static void add_words(const tutti_predict_question *q, tutti_strbuf *out)
{
    tutti_strbuf words = {0};
    tutti_predict_add_words(q, &words);
    for (char *line = words.text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        tutti_strbuf_puts(out, "<p>");
        add_text(line, out);
        tutti_strbuf_puts(out, "</p>\n");
    }
    tutti_strbuf_release(&words);
}

/* ---- tables ---- */

static void add_row(const tutti_predict_question *q, int i, tutti_strbuf *out)
{
    const tutti_predict_answers *a = q->answers;
    const tutti_prediction *p = &q->predicted[i];
    const tutti_run_row *r = &a->rows[i];
    char epoch[16], run[16], memory[16];
    if (p->refused[0]) {
        tutti_strbuf_printf(out, "<tr><td>%d</td><td class=\"t\" colspan=\"13\">", p->nranks);
        add_text(p->refused, out);
        tutti_strbuf_puts(out, "</td></tr>\n");
        return;
    }
    tutti_predict_bytes_words(p->memory.all, memory);
    tutti_strbuf_printf(out,
                        "<tr><td>%d</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.1f</td><td>%.2f</td>"
                        "<td>%.1f %%</td><td%s>%s</td>",
                        p->nranks, p->step_s * 1e3, p->compute_s * 1e3, p->exchange_s * 1e3, p->exposed_s * 1e3,
                        p->samples_per_s, p->speedup, p->efficiency * 100,
                        tutti_predict_fits(a, p) ? "" : " class=\"bad\"", memory);
    tutti_predict_time_words(r->epoch_s, epoch);
    tutti_predict_time_words(r->run_s, run);
    if (a->plans) tutti_strbuf_printf(out, "<td>%d</td><td>%s</td><td>%s</td>", r->nnodes, epoch, run);
    if (a->plans && isfinite(r->node_hours))
        tutti_strbuf_printf(out, "<td>%.2f</td>", r->node_hours);
    else if (a->plans)
        tutti_strbuf_puts(out, "<td>-</td>");
    if (a->plans && a->plan.price > 0) {
        if (isfinite(r->cost))
            tutti_strbuf_printf(out, "<td>%.2f</td>", r->cost);
        else
            tutti_strbuf_puts(out, "<td>-</td>");
    }
    tutti_strbuf_puts(out, "</tr>\n");
}

static void add_table(const tutti_predict_question *q, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "<h2>By rank count</h2>\n<div class=\"wide\"><table>\n<tr><th>ranks</th><th>step ms</th>"
                           "<th>compute</th><th>exchange</th><th>exposed</th><th>samples/s</th><th>speed-up</th>"
                           "<th>efficiency</th><th>memory</th>");
    if (q->answers->plans) tutti_strbuf_puts(out, "<th>nodes</th><th>an epoch</th><th>in all</th><th>node hours</th>");
    if (q->answers->plans && q->answers->plan.price > 0) tutti_strbuf_puts(out, "<th>cost</th>");
    tutti_strbuf_puts(out, "</tr>\n");
    for (int i = 0; i < q->nranks; i++) add_row(q, i, out);
    tutti_strbuf_puts(out, "</table></div>\n");
}

static void add_change(const tutti_predict_question *q, const tutti_predict_change *c, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "<h2>What if ");
    add_text(c->text, out);
    tutti_strbuf_puts(out,
                      "</h2>\n<div class=\"wide\"><table>\n<tr><th>ranks</th><th>step ms</th><th>now</th><th>ratio</th>"
                      "<th>samples/s</th><th>efficiency</th></tr>\n");
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *was = &q->predicted[i], *is = &c->predicted[i];
        if (is->refused[0]) continue;
        tutti_strbuf_printf(
            out, "<tr><td>%d</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.1f</td><td>%.1f %%</td></tr>\n",
            is->nranks, is->step_s * 1e3, was->step_s * 1e3, is->step_s / was->step_s, is->samples_per_s,
            is->efficiency * 100);
    }
    tutti_strbuf_puts(out, "</table></div>\n");
}

/* ---- charts ---- */

static void add_curves(const tutti_predict_question *q, tutti_strbuf *out)
{
    curves c;
    curves_of(q, &c);
    const tutti_chart_band fast[] = {{"predicted", c.ranks, c.speedup, c.least, c.most, c.n},
                                     {"as many as ranks", c.ranks, c.ranks, c.ranks, c.ranks, c.n}},
                           used = {"efficiency", c.ranks, c.efficiency, c.efficiency, c.efficiency, c.n};
    tutti_strbuf_puts(out, "<figure>");
    tutti_chart_bands_svg("Speed-up", "ranks", fast, 2, (double)NAN, false, out);
    tutti_strbuf_puts(out, "<figcaption><small>Blue: predicted, between nothing overlapping and what no run can beat; "
                           "orange: as many times as there are ranks.</small></figcaption></figure>\n<figure>");
    tutti_chart_bands_svg("Efficiency, %", "ranks", &used, 1, 50, false, out);
    tutti_strbuf_puts(out, "<figcaption><small>Dashed: half of every rank&#39;s time is lost.</small></figcaption>"
                           "</figure>\n");
}

static void add_steps(const tutti_predict_question *q, tutti_strbuf *out)
{
    static const char *const parts[] = {"computing", "exposed exchange"};
    static const int colours[] = {0, 1};
    char names[TUTTI_PREDICT_MAX_RANKS][32];
    double part[TUTTI_PREDICT_MAX_RANKS][2];
    tutti_chart_bar bars[TUTTI_PREDICT_MAX_RANKS];
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        snprintf(names[i], sizeof names[i], "%d rank%s", p->nranks, p->nranks == 1 ? "" : "s");
        part[i][0] = (p->step_s - p->exposed_s) * 1e3;
        part[i][1] = p->exposed_s * 1e3;
        bars[i] = (tutti_chart_bar){names[i], part[i]};
    }
    tutti_strbuf_puts(out, "<figure>");
    add_legend(parts, colours, 2, out);
    tutti_chart_bars_svg("A step, ms", "ms", bars, q->nranks, parts, 2, out);
    tutti_strbuf_puts(out, "</figure>\n");
}

static void add_memory(const tutti_predict_question *q, tutti_strbuf *out)
{
    static const char *const parts[] = {"weights", "gradients", "states", "activations", "exchange"};
    static const int colours[] = {0, 1, 2, 3, 4};
    const double mib = 1 << 20;
    char names[TUTTI_PREDICT_MAX_RANKS][32];
    double part[TUTTI_PREDICT_MAX_RANKS][5];
    tutti_chart_bar bars[TUTTI_PREDICT_MAX_RANKS];
    for (int i = 0; i < q->nranks; i++) {
        const tutti_rank_memory *m = &q->predicted[i].memory;
        const int64_t bytes[] = {m->weights, m->gradients, m->states, m->activations, m->exchange};
        snprintf(names[i], sizeof names[i], "%d rank%s", q->ranks[i], q->ranks[i] == 1 ? "" : "s");
        for (int k = 0; k < 5; k++) part[i][k] = (double)bytes[k] / mib;
        bars[i] = (tutti_chart_bar){names[i], part[i]};
    }
    tutti_strbuf_puts(out, "<figure>");
    add_legend(parts, colours, 5, out);
    tutti_chart_bars_svg("Memory of a rank, MiB", "MiB", bars, q->nranks, parts, 5, out);
    tutti_strbuf_puts(out, "</figure>\n");
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

static void add_lane(const tutti_step_view *v, bool wire, const char *title, tutti_strbuf *out)
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
    tutti_strbuf_printf(out, "<p>%s</p>\n", title);
    tutti_strip_chart_svg(title, v->log.end_s, pieces, n, out);
    tutti_arena_release(&arena);
    free(pieces);
}

static void add_path(const tutti_step_view *v, tutti_strbuf *out)
{
    tutti_strbuf_puts(out,
                      "<h2>What makes it as long as it is</h2>\n<p>Each of these could begin only when the one before "
                      "it had ended.</p>\n<div class=\"wide\"><table>\n<tr><th class=\"t\">what</th>"
                      "<th class=\"t\">from</th><th class=\"t\">to</th><th>begins, ms</th><th>takes, ms</th></tr>\n");
    for (int i = 0; i < v->npath; i++) {
        const tutti_step_stretch *s = &v->path[i];
        tutti_strbuf_printf(out, "<tr><td class=\"t\">%s</td><td class=\"t\">", tutti_stretch_name(s->kind));
        add_text(tutti_step_view_name(v, s->kind, s->what), out);
        tutti_strbuf_puts(out, "</td><td class=\"t\">");
        if (s->last != s->what) add_text(tutti_step_view_name(v, s->kind, s->last), out);
        tutti_strbuf_printf(out, "</td><td>%.3f</td><td>%.3f</td></tr>\n", s->begin_s * 1e3,
                            (s->end_s - s->begin_s) * 1e3);
    }
    tutti_strbuf_puts(out, "</table></div>\n");
}

static void add_step(const tutti_step_view *v, tutti_strbuf *out)
{
    static const char *const names[] = {"forward", "backward", "updates", "hidden exchange", "exposed exchange"};
    static const int colours[] = {FORWARD, BACKWARD, UPDATE, HIDDEN, EXPOSED};
    if (!v->log.n) return;
    tutti_strbuf_printf(out, "<h2>One %s at %d rank%s</h2>\n", v->period > 1 ? "period" : "step", v->nranks,
                        v->nranks == 1 ? "" : "s");
    add_legend(names, colours, 5, out);
    tutti_strbuf_puts(out, "<div class=\"lanes\">\n");
    add_lane(v, false, "computing", out);
    add_lane(v, true, "exchanges", out);
    tutti_strbuf_puts(out, "<div class=\"ticks\">");
    for (int i = 0; i <= 4; i++) tutti_strbuf_printf(out, "<span>%.4g ms</span>", v->log.end_s * 1e3 * i / 4);
    tutti_strbuf_puts(out, "</div>\n</div>\n");
    add_path(v, out);
}

static void add_page(const tutti_predict_question *q, tutti_strbuf *out)
{
    add_begin(q, out);
    add_words(q, out);
    add_table(q, out);
    tutti_strbuf_puts(out, "<h2>How it scales</h2>\n<div class=\"figures\">\n");
    add_curves(q, out);
    add_steps(q, out);
    add_memory(q, out);
    tutti_strbuf_puts(out, "</div>\n");
    add_step(&q->answers->step, out);
    for (int i = 0; i < q->answers->nchanges; i++) add_change(q, &q->answers->changes[i], out);
    tutti_strbuf_puts(out,
                      "<p><small>Not in the model: noise, evaluation, checkpoints; on a network: packets, congestion "
                      "control.</small></p>\n</body>\n</html>\n");
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
