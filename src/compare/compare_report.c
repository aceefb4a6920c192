/* SPDX-License-Identifier: Apache-2.0 */
/* compare_report.c: writes DIR/compare.html of `tutti compare`: one page without network or scripts. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/arena.h"
#include "../metrics/chart/chart.h"
#include "../metrics/page.h"
#include "compare.h"

#define FIGURES "div class=\"figures\" style=\"--least:23rem\""
enum { GRID = 80, MAX_PAIRS = 64 };

/* ---- numbers and goals in words ---- */

static void add_goal(const tutti_compare *c, tutti_page *p)
{
    if (c->goal == TUTTI_UNTIL_ACCURACY)
        tutti_page_text(p, "What counts is the first test at %g %% or above.", 100 * c->goal_value);
    else if (c->goal == TUTTI_UNTIL_SECONDS)
        tutti_page_text(p, "What counts is the last test within %g seconds.", c->goal_value);
    else
        tutti_page_text(p, "What counts is the last test.");
}

static void add_begin(const tutti_compare *c, tutti_page *p)
{
    const long long first = (long long)c->runs[0].seed, last = (long long)tutti_compare_at(c, 0, c->nseeds - 1)->seed;
    tutti_page_open(p, "p");
    tutti_page_text(p, "%s: %lld rank%s, batch %lld, seed%s %lld", c->path, (long long)c->nranks,
                    c->nranks > 1 ? "s" : "", (long long)c->runs[0].batch, c->nseeds > 1 ? "s" : "", first);
    if (c->nseeds > 1) tutti_page_text(p, " to %lld", last);
    for (int i = 0; i < c->nsets; i++) tutti_page_text(p, "%s%s", i ? ", " : ". With ", c->sets[i]);
    for (int i = 0; i < c->nhandicaps; i += 2)
        tutti_page_text(p, "%s%s %s", i ? ", " : ". Held up on purpose: ", c->handicaps[i], c->handicaps[i + 1]);
    tutti_page_text(p, ". ");
    add_goal(c, p);
    tutti_page_close(p);
}

typedef struct {
    char text[32];
} value_words;

/* Writes a number with `digits` digits after the point. If digits < 0, it has 3 for a value below 1, 2 for a value
 * below 100, else 1. */
static value_words words_of(double value, int digits)
{
    value_words w = {"none"};
    if (digits < 0) digits = value < 1 ? 3 : value < 100 ? 2 : 1;
    if (isfinite(value)) snprintf(w.text, sizeof w.text, "%.*f", digits, value);
    return w;
}

static void add_spread(const tutti_compare *c, tutti_compare_spread s, double scale, int digits, const char *lacks,
                       tutti_page *p)
{
    char all[96];
    if (s.n == c->nseeds)
        snprintf(all, sizeof all, "%s", words_of(scale * s.mean, digits).text);
    else
        snprintf(all, sizeof all, c->nseeds > 1 ? "%s by %d of %d" : "%s", lacks, c->nseeds - s.n, c->nseeds);
    if (s.n > 1 || (s.n && s.n < c->nseeds))
        tutti_page_cells(p, "%s\n%s%s to %s", all, s.n < c->nseeds ? "others " : "",
                         words_of(scale * s.least, digits).text, words_of(scale * s.most, digits).text);
    else
        tutti_page_cells(p, "%s", all);
}

/* ---- the table of results ---- */

#define SPREAD(field, needs_goal) tutti_compare_spread_of(c, m, offsetof(tutti_compare_figures, field), needs_goal)

static void add_result_row(const tutti_compare *c, int m, tutti_page *p)
{
    const char *lacks = tutti_compare_lacks(c, m);
    int ndiverged;
    char diverged[48];
    tutti_compare_diverged(c, m, &ndiverged, diverged);
    if (ndiverged == c->nseeds) lacks = c->nseeds > 1 ? "diverged" : diverged;
    tutti_page_row(p);
    tutti_page_cell_named(p, m, c->methods[m].label);
    if (c->goal != TUTTI_UNTIL_ACCURACY) add_spread(c, SPREAD(accuracy, true), 100, 2, lacks, p);
    add_spread(c, SPREAD(seconds, true), 1, -1, lacks, p);
    add_spread(c, SPREAD(samples, true), 1, 0, lacks, p);
    add_spread(c, SPREAD(bytes, true), 1e-6, -1, lacks, p);
    if (c->goal != TUTTI_UNTIL_END) add_spread(c, SPREAD(last, false), 100, 2, "no test", p);
    add_spread(c, SPREAD(speed, false), 1, 0, "none", p);
}

static void open_table(const tutti_compare *c, const char *title, const char *before, const char *behind, tutti_page *p)
{
    tutti_strbuf heads = {0};
    tutti_strbuf_puts(&heads, before);
    if (c->goal == TUTTI_UNTIL_ACCURACY)
        tutti_strbuf_printf(&heads, "|seconds to %g %%|samples to it", 100 * c->goal_value);
    else
        tutti_strbuf_puts(&heads, "|accuracy, %|seconds|samples");
    tutti_strbuf_printf(&heads, "|MB sent%s|samples/s%s", c->goal != TUTTI_UNTIL_END ? "|accuracy at the end, %" : "",
                        behind);
    tutti_page_table(p, title, heads.text);
    tutti_strbuf_release(&heads);
}

static void add_result(const tutti_compare *c, tutti_page *p)
{
    open_table(c, c->nseeds > 1 ? "Result: mean over seeds, least to most" : "Result", "<<method", "", p);
    for (int m = 0; m < c->nmethods; m++) add_result_row(c, m, p);
    tutti_page_table_end(p);
}

/* ---- charts ---- */

typedef enum { OVER_SECONDS, OVER_SAMPLES, OVER_BYTES } axis;

static double place_on(axis x, const tutti_compare_run *r, const tutti_run_test *t)
{
    return x == OVER_SECONDS ? t->seconds : x == OVER_SAMPLES ? (double)(t->step * r->batch) : 1e-6 * t->bytes;
}

/* Returns a method's test errors in percent, as a band over its seeds. */
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

static void add_lines(const tutti_compare *c, axis over, tutti_page *p)
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
    tutti_page_open(p, "figure");
    tutti_chart_bands_svg(&(tutti_chart_bands){titles[over], words[over], drawn, c->nmethods, guide, .by_powers = true},
                          p->out);
    tutti_page_close(p);
    for (int m = 0; m < c->nmethods; m++) tutti_band_release(&bands[m]);
}

/* True if the runs have recorded bytes: one rank sends none, and runs of earlier versions did not record them. */
static bool has_bytes(const tutti_compare *c)
{
    for (int i = 0; i < c->nmethods * c->nseeds; i++)
        for (int t = 0; t < c->runs[i].lines.ntests; t++)
            if (c->runs[i].lines.tests[t].bytes > 0) return true;
    return false;
}

static void add_charts(const tutti_compare *c, tutti_page *p)
{
    const char *labels[TUTTI_COMPARE_MAX_METHODS];
    for (int m = 0; m < c->nmethods; m++) labels[m] = c->methods[m].label;
    tutti_page_element(p, "h2", "On the way");
    tutti_page_legend(p, labels, NULL, c->nmethods, true);
    tutti_page_open(p, FIGURES);
    add_lines(c, OVER_SECONDS, p);
    add_lines(c, OVER_SAMPLES, p);
    if (has_bytes(c)) add_lines(c, OVER_BYTES, p);
    tutti_page_close(p);
}

static double cost_of(const tutti_compare *c, int m, int part)
{
    double sum = 0;
    for (int s = 0; s < c->nseeds; s++) sum += tutti_compare_at(c, m, s)->lines.cost[part];
    return sum / c->nseeds;
}

/* Adds the parts of cost that some method has. */
static void add_costs(const tutti_compare *c, tutti_page *page)
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
    tutti_page_element(page, "h2", "Where the time went");
    tutti_page_legend(page, names, NULL, nparts, false);
    tutti_page_open(page, FIGURES);
    tutti_page_open(page, "figure");
    const char *unit = c->nseeds > 1 ? "seconds, mean of ranks and seeds" : "seconds, mean of ranks";
    tutti_chart_bars_svg(&(tutti_chart_bars){"Seconds of a run", unit, bars, c->nmethods, names, nparts}, page->out);
    tutti_page_close(page);
    tutti_page_close(page);
}

/* ---- comparing a method with elastic averaging with the same method without ---- */

static void add_pairs(const tutti_compare *c, tutti_page *p)
{
    tutti_compare_pair pairs[MAX_PAIRS];
    const int n = tutti_compare_pairs(c, pairs, MAX_PAIRS);
    if (!n) return;
    tutti_page_table(p, "Elastic averaging against the same without",
                     "<<method|<<against|better|equal|p|<that it is better");
    for (int i = 0; i < n; i++) {
        const tutti_compare_pair *pair = &pairs[i];
        tutti_page_row(p);
        tutti_page_cell_named(p, pair->a, c->methods[pair->a].label);
        tutti_page_cell_named(p, pair->b, c->methods[pair->b].label);
        tutti_page_cells(p, "%d of %d\t%d\t%.4g\t%s", pair->wins, c->nseeds, pair->ties, pair->p,
                         pair->shown ? "shown" : "not shown");
    }
    tutti_page_table_end(p);
    tutti_page_element(
        p, "p",
        "Pairs have the same seed; better is %s. p is of the two-sided sign test: how likely a split as uneven, to "
        "either side, is by chance where both are as good (binomial, 1/2 each; equal pairs are left out). It is shown "
        "where the one was better with every seed, of five at least: 5 of 5 is p = 0.0625.",
        c->goal == TUTTI_UNTIL_ACCURACY ? "sooner" : "more accurate");
}

/* ---- the page ---- */

static void add_notes(const tutti_run_lines *l, tutti_page *p)
{
    char diverged[48] = "", stretches[48] = "";
    if (l->has_diverged) snprintf(diverged, sizeof diverged, "diverged at step %lld. ", (long long)l->diverged_step);
    if (l->nstretches > 1) snprintf(stretches, sizeof stretches, "in %d stretches. ", l->nstretches);
    tutti_page_cells(p, "%s%s%s", diverged, stretches, l->staleness ? l->staleness : "");
}

static void add_seed_row(const tutti_compare *c, int m, int s, tutti_page *p)
{
    const tutti_compare_run *r = tutti_compare_at(c, m, s);
    const tutti_compare_figures f = tutti_compare_figures_of(c, r);
    const double values[] = {100 * f.accuracy, f.seconds, f.samples, 1e-6 * f.bytes, 100 * f.last, f.speed};
    const int digits[] = {2, -1, 0, -1, 2, 0};
    const bool shown[] = {c->goal != TUTTI_UNTIL_ACCURACY, true, true, true, c->goal != TUTTI_UNTIL_END, true};
    tutti_page_row(p);
    tutti_page_cell_named(p, m, c->methods[m].label);
    tutti_page_cells(p, "%lld", (long long)r->seed);
    for (int i = 0; i < 6; i++)
        if (shown[i]) tutti_page_cells(p, "%s", i < 4 && !f.is_there ? f.lacks : words_of(values[i], digits[i]).text);
    add_notes(&r->lines, p);
}

static void add_seeds(const tutti_compare *c, tutti_page *p)
{
    open_table(c, "Run by run", "<<method|seed", "|<<how stale; notes", p);
    for (int m = 0; m < c->nmethods; m++)
        for (int s = 0; s < c->nseeds; s++) add_seed_row(c, m, s, p);
    tutti_page_table_end(p);
}

static void add_coordinates(const tutti_compare *c, tutti_page *p)
{
    tutti_page_table(p, "Coordinates",
                     "<<method|<plan|<parallelism|<optimisation|<schedule|<exchange|<travels|<local rule|"
                     "<centre rule");
    for (int m = 0; m < c->nmethods; m++) {
        const tutti_method_row *row = c->methods[m].row;
        const char *cells[] = {
            c->methods[m].says, c->methods[m].parallelism, row->optimisation, row->schedule, row->period,
            row->travels,       row->local_rule,           row->centre_rule};
        tutti_page_row(p);
        tutti_page_cell_named(p, m, c->methods[m].label);
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) tutti_page_cells(p, "%s", cells[i]);
    }
    tutti_page_table_end(p);
}

void tutti_compare_html(const tutti_compare *c, tutti_strbuf *out)
{
    tutti_page p = tutti_page_begin("Methods side by side", "Methods side by side", out);
    add_begin(c, &p);
    add_result(c, &p);
    add_charts(c, &p);
    add_costs(c, &p);
    add_pairs(c, &p);
    add_seeds(c, &p);
    add_coordinates(c, &p);
    tutti_page_element(
        &p, "p class=\"note\"",
        "Seconds are of training, without set-up, tests and saving; of a run in several stretches their sum. Lines are "
        "means over seeds, bands go from the least to the most. Bytes are those that travelled between all ranks in "
        "training, each once; a visit to a centre brings a vector and takes one along. Costs are all of the run, "
        "set-up "
        "and saving included. Every test stands in compare.csv.");
    tutti_page_end(&p);
}
