/* SPDX-License-Identifier: Apache-2.0 */
/* compare_report.c: DIR/compare.html of `tutti compare`: one page that needs nothing else, no network and no script. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../metrics/chart/band.h"
#include "../../metrics/chart/chart.h"
#include "../../metrics/chart/svg.h"
#include "compare.h"

enum { GRID = 80, MAX_PAIRS = 64 };

static const char style[] =
    "body{margin:0 auto;max-width:80rem;padding:1rem;font:15px/1.45 sans-serif;color:#222;background:#fff}"
    "h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}p{max-width:60rem;margin:.4rem 0}"
    ".figures{display:grid;gap:1rem 2rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,23rem),1fr))}"
    "figure{margin:0;max-width:36rem}figure svg{width:100%;height:auto;display:block}"
    ".legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.5rem 0;padding:0;list-style:none}"
    ".legend svg,td svg{vertical-align:middle;margin-right:.35rem}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .7rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #e4e4e4}"
    "th{font-weight:bold;border-bottom-color:#888}td.n,th.n{text-align:right}td.n{white-space:nowrap}"
    "td:first-child{min-width:10rem}td:first-child,li,p{overflow-wrap:anywhere}td.w{min-width:7.5rem}td.v{min-width:"
    "18rem}small{color:#666}";

static void add_html(const char *text, tutti_strbuf *out)
{
    tutti_svg_escape(text, out);
}

/* ---- words ---- */

static const char *goal_verb(const tutti_compare *c)
{
    return c->goal == TUTTI_UNTIL_ACCURACY ? "sooner" : "more accurate";
}

static void add_goal(const tutti_compare *c, tutti_strbuf *out)
{
    if (c->goal == TUTTI_UNTIL_ACCURACY)
        tutti_strbuf_printf(out, "What counts is the first test at %g %% or above.", 100 * c->goal_value);
    else if (c->goal == TUTTI_UNTIL_SECONDS)
        tutti_strbuf_printf(out, "What counts is the last test within %g seconds.", c->goal_value);
    else
        tutti_strbuf_puts(out, "What counts is the last test.");
}

static void add_begin(const tutti_compare *c, tutti_strbuf *out)
{
    const long long first = (long long)c->runs[0].seed, last = (long long)tutti_compare_at(c, 0, c->nseeds - 1)->seed;
    tutti_strbuf_printf(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n<title>Methods side by side</title>\n"
        "<style>%s%s</style>\n</head>\n<body>\n<h1>Methods side by side</h1>\n<p>",
        style, tutti_svg_style());
    add_html(c->path, out);
    tutti_strbuf_printf(out, ": %lld rank%s, batch %lld, ", (long long)c->nranks, c->nranks > 1 ? "s" : "",
                        (long long)c->runs[0].batch);
    tutti_strbuf_printf(out, c->nseeds > 1 ? "seeds %lld to %lld" : "seed %lld", first, last);
    tutti_strbuf_puts(out, ". ");
    for (int i = 0; i < c->nsets; i++) {
        tutti_strbuf_puts(out, i ? ", " : "With ");
        add_html(c->sets[i], out);
    }
    tutti_strbuf_puts(out, c->nsets ? ". " : "");
    for (int i = 0; i < c->nhandicaps; i += 2) {
        tutti_strbuf_puts(out, i ? ", " : "Held up on purpose: ");
        tutti_strbuf_printf(out, "%s ", c->handicaps[i]);
        add_html(c->handicaps[i + 1], out);
    }
    tutti_strbuf_puts(out, c->nhandicaps ? ". " : "");
    add_goal(c, out);
    tutti_strbuf_puts(out, "</p>\n");
}

/* The name's cell, with the line that it has in the charts. */
static void add_name(const tutti_compare *c, int m, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "<td>");
    tutti_chart_mark(m, out);
    add_html(c->methods[m].label, out);
    tutti_strbuf_puts(out, "</td>");
}

static void open_table(const char *title, const char *heads, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "<h2>%s</h2>\n<div class=\"wide\"><table>\n<tr>%s</tr>\n", title, heads);
}

static void close_table(tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "</table></div>\n");
}

/* A number as wide as it says something: 0.01234, 12.34, 123456. */
static void add_value(double value, int digits, tutti_strbuf *out)
{
    if (isfinite(value))
        tutti_strbuf_printf(out, "%.*f", digits >= 0 ? digits : value < 1 ? 3 : value < 100 ? 2 : 1, value);
    else
        tutti_strbuf_puts(out, "none");
}

/* digits < 0: as its size asks for. */
static void add_spread(const tutti_compare *c, tutti_compare_spread s, double scale, int digits, const char *lacks,
                       tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "<td class=\"n\">");
    if (s.n == c->nseeds)
        add_value(scale * s.mean, digits, out);
    else if (c->nseeds > 1)
        tutti_strbuf_printf(out, "%s by %d of %d", lacks, c->nseeds - s.n, c->nseeds);
    else
        tutti_strbuf_puts(out, lacks);
    if (s.n > 1 || (s.n && s.n < c->nseeds)) {
        tutti_strbuf_puts(out, s.n < c->nseeds ? "<br><small>others " : "<br><small>");
        add_value(scale * s.least, digits, out);
        tutti_strbuf_puts(out, " to ");
        add_value(scale * s.most, digits, out);
        tutti_strbuf_puts(out, "</small>");
    }
    tutti_strbuf_puts(out, "</td>");
}

/* ---- the result ---- */

#define SPREAD(field, needs_goal) tutti_compare_spread_of(c, m, offsetof(tutti_compare_figures, field), needs_goal)

static void add_result_row(const tutti_compare *c, int m, tutti_strbuf *out)
{
    const char *lacks = tutti_compare_lacks(c, m);
    int ndiverged;
    char diverged[48];
    tutti_compare_diverged(c, m, &ndiverged, diverged);
    if (ndiverged == c->nseeds) lacks = c->nseeds > 1 ? "diverged" : diverged;
    tutti_strbuf_puts(out, "<tr>");
    add_name(c, m, out);
    if (c->goal != TUTTI_UNTIL_ACCURACY) add_spread(c, SPREAD(accuracy, true), 100, 2, lacks, out);
    add_spread(c, SPREAD(seconds, true), 1, -1, lacks, out);
    add_spread(c, SPREAD(samples, true), 1, 0, lacks, out);
    add_spread(c, SPREAD(bytes, true), 1e-6, -1, lacks, out);
    if (c->goal != TUTTI_UNTIL_END) add_spread(c, SPREAD(last, false), 100, 2, "no test", out);
    add_spread(c, SPREAD(speed, false), 1, 0, "none", out);
    tutti_strbuf_puts(out, "</tr>\n");
}

static void add_heads(const tutti_compare *c, const char *before, tutti_strbuf *out)
{
    const bool to_accuracy = c->goal == TUTTI_UNTIL_ACCURACY;
    tutti_strbuf_puts(out, before);
    if (!to_accuracy) tutti_strbuf_puts(out, "<th class=\"n\">accuracy, %</th>");
    if (to_accuracy)
        tutti_strbuf_printf(out, "<th class=\"n\">seconds to %g %%</th><th class=\"n\">samples to it</th>",
                            100 * c->goal_value);
    else
        tutti_strbuf_puts(out, "<th class=\"n\">seconds</th><th class=\"n\">samples</th>");
    tutti_strbuf_puts(out, "<th class=\"n\">MB sent</th>");
    if (c->goal != TUTTI_UNTIL_END) tutti_strbuf_puts(out, "<th class=\"n\">accuracy at the end, %</th>");
    tutti_strbuf_puts(out, "<th class=\"n\">samples/s</th>");
}

static void add_result(const tutti_compare *c, tutti_strbuf *out)
{
    tutti_strbuf heads = {0};
    add_heads(c, "<th>method</th>", &heads);
    open_table(c->nseeds > 1 ? "Result: mean over seeds, least to most" : "Result", heads.text, out);
    for (int m = 0; m < c->nmethods; m++) add_result_row(c, m, out);
    close_table(out);
    tutti_strbuf_release(&heads);
}

/* ---- charts ---- */

typedef enum { OVER_SECONDS, OVER_SAMPLES, OVER_BYTES } axis;

static double place_on(axis x, const tutti_compare_run *r, const tutti_run_test *t)
{
    return x == OVER_SECONDS ? t->seconds : x == OVER_SAMPLES ? (double)(t->step * r->batch) : 1e-6 * t->bytes;
}

/* Test errors of a method, in percent. */
static tutti_band band_of(const tutti_compare *c, int m, axis over)
{
    tutti_curve *curves = tutti_alloc(sizeof *curves * (size_t)c->nseeds);
    tutti_arena arena = {0};
    for (int s = 0; s < c->nseeds; s++) {
        const tutti_compare_run *r = tutti_compare_at(c, m, s);
        double *x = TUTTI_ARENA_NEW(&arena, double, r->lines.ntests + 1),
               *y = TUTTI_ARENA_NEW(&arena, double, r->lines.ntests + 1);
        int n = 0;
        for (int i = 0; i < r->lines.ntests; i++) {
            const tutti_run_test *t = &r->lines.tests[i];
            x[n] = place_on(over, r, t);
            y[n] = 100 * (1 - t->accuracy);
            n += isfinite(x[n]) != 0;
        }
        curves[s] = (tutti_curve){x, y, n};
    }
    const tutti_band band = tutti_band_make(curves, c->nseeds, GRID);
    tutti_arena_release(&arena);
    free(curves);
    return band;
}

static void add_lines(const tutti_compare *c, axis over, tutti_strbuf *out)
{
    static const char *const titles[] = {"Test error over seconds, %", "Test error over samples, %",
                                         "Test error over bytes sent, %"},
                             *const words[] = {"seconds of training", "training samples",
                                               "MB that travelled between ranks"};
    tutti_band bands[TUTTI_COMPARE_MAX_METHODS];
    tutti_chart_band drawn[TUTTI_COMPARE_MAX_METHODS];
    const double guide = c->goal == TUTTI_UNTIL_ACCURACY ? 100 * (1 - c->goal_value) : (double)NAN;
    for (int m = 0; m < c->nmethods; m++) {
        const tutti_band b = bands[m] = band_of(c, m, over);
        drawn[m] = (tutti_chart_band){c->methods[m].label, b.x, b.mean, b.least, b.most, b.n};
    }
    tutti_strbuf_puts(out, "<figure>");
    tutti_chart_bands_svg(titles[over], words[over], drawn, c->nmethods, guide, true, out);
    tutti_strbuf_puts(out, "</figure>\n");
    for (int m = 0; m < c->nmethods; m++) tutti_band_release(&bands[m]);
}

/* One rank alone sends nothing, and runs of earlier versions do not say it. */
static bool has_bytes(const tutti_compare *c)
{
    for (int i = 0; i < c->nmethods * c->nseeds; i++)
        for (int t = 0; t < c->runs[i].lines.ntests; t++)
            if (c->runs[i].lines.tests[t].bytes > 0) return true;
    return false;
}

static void add_charts(const tutti_compare *c, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "<h2>On the way</h2>\n<ul class=\"legend\">\n");
    for (int m = 0; m < c->nmethods; m++) {
        tutti_strbuf_puts(out, "<li>");
        tutti_chart_mark(m, out);
        add_html(c->methods[m].label, out);
        tutti_strbuf_puts(out, "</li>\n");
    }
    tutti_strbuf_puts(out, "</ul>\n<div class=\"figures\">\n");
    add_lines(c, OVER_SECONDS, out);
    add_lines(c, OVER_SAMPLES, out);
    if (has_bytes(c)) add_lines(c, OVER_BYTES, out);
    tutti_strbuf_puts(out, "</div>\n");
}

static double cost_of(const tutti_compare *c, int m, int part)
{
    double sum = 0;
    for (int s = 0; s < c->nseeds; s++) sum += tutti_compare_at(c, m, s)->lines.cost[part];
    return sum / c->nseeds;
}

/* Parts that some method has. */
static void add_costs(const tutti_compare *c, tutti_strbuf *out)
{
    double part[TUTTI_COMPARE_MAX_METHODS][TUTTI_NCOSTS] = {0};
    tutti_chart_bar bars[TUTTI_COMPARE_MAX_METHODS];
    const char *names[TUTTI_NCOSTS];
    int nparts = 0;
    for (int p = 0; p < TUTTI_NCOSTS; p++) {
        double sum = 0;
        for (int m = 0; m < c->nmethods; m++) sum += part[m][nparts] = cost_of(c, m, p);
        if (sum > 0) names[nparts++] = tutti_cost_words((tutti_cost_part)p);
    }
    for (int m = 0; m < c->nmethods; m++) bars[m] = (tutti_chart_bar){c->methods[m].label, part[m]};
    tutti_strbuf_puts(out, "<h2>Where the time went</h2>\n<ul class=\"legend\">\n");
    for (int p = 0; p < nparts; p++) {
        tutti_strbuf_puts(out, "<li>");
        tutti_chart_square(p, out);
        add_html(names[p], out);
        tutti_strbuf_puts(out, "</li>\n");
    }
    tutti_strbuf_puts(out, "</ul>\n<div class=\"figures\">\n<figure>");
    tutti_chart_bars_svg("Seconds of a run",
                         c->nseeds > 1 ? "seconds, mean of ranks and seeds" : "seconds, mean of ranks", bars,
                         c->nmethods, names, nparts, out);
    tutti_strbuf_puts(out, "</figure>\n</div>\n");
}

/* ---- twins ---- */

static void add_pairs(const tutti_compare *c, tutti_strbuf *out)
{
    tutti_compare_pair pairs[MAX_PAIRS];
    const int n = tutti_compare_pairs(c, pairs, MAX_PAIRS);
    if (!n) return;
    open_table("Elastic averaging against the same without",
               "<th>method</th><th>against</th><th class=\"n\">better</th><th class=\"n\">equal</th>"
               "<th class=\"n\">p</th><th>that it is better</th>",
               out);
    for (int i = 0; i < n; i++) {
        const tutti_compare_pair *p = &pairs[i];
        tutti_strbuf_puts(out, "<tr>");
        add_name(c, p->a, out);
        add_name(c, p->b, out);
        tutti_strbuf_printf(out,
                            "<td class=\"n\">%d of %d</td><td class=\"n\">%d</td><td class=\"n\">%.4g</td>"
                            "<td>%s</td></tr>\n",
                            p->wins, c->nseeds, p->ties, p->p, p->shown ? "shown" : "not shown");
    }
    close_table(out);
    tutti_strbuf_printf(
        out,
        "<p>Pairs have the same seed; better is %s. p is of the two-sided sign test: how likely a split as uneven, to "
        "either side, is by chance where both are as good (binomial, 1/2 each; equal pairs are left out). It is shown "
        "where the one was better with every seed, of five at least: 5 of 5 is p = 0.0625.</p>\n",
        goal_verb(c));
}

/* ---- all of it ---- */

static void add_seed_row(const tutti_compare *c, int m, int s, tutti_strbuf *out)
{
    const tutti_compare_run *r = tutti_compare_at(c, m, s);
    const tutti_compare_figures f = tutti_compare_figures_of(c, r);
    const double values[] = {100 * f.accuracy, f.seconds, f.samples, 1e-6 * f.bytes, 100 * f.last, f.speed};
    const int digits[] = {2, -1, 0, -1, 2, 0};
    const bool shown[] = {c->goal != TUTTI_UNTIL_ACCURACY, true, true, true, c->goal != TUTTI_UNTIL_END, true};
    tutti_strbuf_puts(out, "<tr>");
    add_name(c, m, out);
    tutti_strbuf_printf(out, "<td class=\"n\">%lld</td>", (long long)r->seed);
    for (int i = 0; i < 6; i++) {
        if (!shown[i]) continue;
        tutti_strbuf_puts(out, "<td class=\"n\">");
        if (i < 4 && !f.is_there)
            tutti_strbuf_puts(out, f.lacks);
        else
            add_value(values[i], digits[i], out);
        tutti_strbuf_puts(out, "</td>");
    }
    tutti_strbuf_puts(out, "<td class=\"v\">");
    if (r->lines.has_diverged) tutti_strbuf_printf(out, "diverged at step %lld. ", (long long)r->lines.diverged_step);
    if (r->lines.nstretches > 1) tutti_strbuf_printf(out, "in %d stretches. ", r->lines.nstretches);
    if (r->lines.staleness) add_html(r->lines.staleness, out);
    tutti_strbuf_puts(out, "</td></tr>\n");
}

static void add_seeds(const tutti_compare *c, tutti_strbuf *out)
{
    tutti_strbuf heads = {0};
    add_heads(c, "<th>method</th><th class=\"n\">seed</th>", &heads);
    tutti_strbuf_puts(&heads, "<th>how stale; notes</th>");
    open_table("Run by run", heads.text, out);
    for (int m = 0; m < c->nmethods; m++)
        for (int s = 0; s < c->nseeds; s++) add_seed_row(c, m, s, out);
    close_table(out);
    tutti_strbuf_release(&heads);
}

static void add_coordinates(const tutti_compare *c, tutti_strbuf *out)
{
    open_table("Coordinates",
               "<th>method</th><th>plan</th><th>parallelism</th><th>optimisation</th><th>schedule</th><th>exchange</"
               "th><th>travels</th><th>local "
               "rule</th><th>centre rule</th>",
               out);
    for (int m = 0; m < c->nmethods; m++) {
        const tutti_method_row *row = c->methods[m].row;
        const char *cells[] = {
            c->methods[m].says, c->methods[m].parallelism, row->optimisation, row->schedule, row->period,
            row->travels,       row->local_rule,           row->centre_rule};
        tutti_strbuf_puts(out, "<tr>");
        add_name(c, m, out);
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
            tutti_strbuf_puts(out, "<td class=\"w\">");
            add_html(cells[i], out);
            tutti_strbuf_puts(out, "</td>");
        }
        tutti_strbuf_puts(out, "</tr>\n");
    }
    close_table(out);
}

void tutti_compare_html(const tutti_compare *c, tutti_strbuf *out)
{
    add_begin(c, out);
    add_result(c, out);
    add_charts(c, out);
    add_costs(c, out);
    add_pairs(c, out);
    add_seeds(c, out);
    add_coordinates(c, out);
    tutti_strbuf_puts(
        out,
        "<p><small>Seconds are of training, without set-up, tests and saving; of a run in several "
        "stretches their sum. Lines are means over seeds, bands go from the least to "
        "the most. Bytes are those that travelled between all ranks in training, each once; a visit to a centre brings "
        "a vector and takes one along. Costs are all of the run, set-up and saving included. Every test stands in "
        "compare.csv.</small></p>\n</body>\n</html>\n");
}
