/* SPDX-License-Identifier: Apache-2.0 */
/* pack_fewest.c: packs few trees that carry nearly as much, after Blink's tree minimisation.
 *
 *   minimise  sum z_i        z_i in {0, 1}: tree i is used
 *   such that sum x_i >= (1 - loss) rate
 *             sum over the trees on a link of x_i <= capacity,  0 <= x_i <= z_i times the weakest link of tree i
 *
 * Blink maximises the rate with weights of whole links and relaxes that step by step; this program minimises the number
 * of trees directly. Without a solver trees are dropped one by one, the lightest first, while the others can carry the
 * rate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/host/program.h"
#include "../../base/text/strbuf.h"
#include "pack_impl.h"

enum { MAX_SOLUTION = 1 << 20 };

typedef struct {
    const tutti_network *g;
    const tutti_packing *from;
    tutti_tree_loads l; /* load of each tree of `from` on each link; the links' capacities are in the same units */
    double wanted;      /* rate that the chosen trees must reach, in units of `from` */
} choice;

static int64_t load_on(const choice *c, int32_t tree, int32_t link)
{
    return c->l.load[(size_t)tree * (size_t)c->l.nlinks + (size_t)link];
}

static void begin(choice *c, const tutti_network *g, const tutti_packing *from, double loss)
{
    *c = (choice){.g = g, .from = from, .l.nlinks = g->narcs};
    c->l.ntrees = from->ntrees < TUTTI_FEWEST_CANDIDATES ? from->ntrees : TUTTI_FEWEST_CANDIDATES;
    c->l.load = tutti_alloc(((size_t)c->l.ntrees * (size_t)g->narcs + 1) * sizeof *c->l.load);
    c->l.room = tutti_alloc((size_t)(g->narcs + 1) * sizeof *c->l.room);
    for (int32_t a = 0; a < g->narcs; a++) c->l.room[a] = (double)g->arcs[a].capacity / tutti_ratio_value(from->unit);
    for (int32_t i = 0; i < c->l.ntrees; i++) {
        tutti_packed_tree one = from->trees[i];
        one.weight = 1;
        tutti_packing alone = *from;
        alone.trees = &one, alone.ntrees = 1;
        tutti_packing_loads(&alone, g, c->l.load + (size_t)i * (size_t)g->narcs);
    }
    c->wanted = (1 - loss) * (double)tutti_packing_weight(from);
}

static void end(choice *c)
{
    free(c->l.load), free(c->l.room);
}

/* Returns the rate that a tree can carry alone. */
static double carries(const choice *c, int32_t tree)
{
    double least = INFINITY;
    for (int32_t a = 0; a < c->l.nlinks; a++)
        if (load_on(c, tree, a)) least = fmin(least, c->l.room[a] / (double)load_on(c, tree, a));
    return least;
}

/* Drops trees, the lightest first, while the others can still carry the wanted rate. x: weights. False: all trees
 * together cannot carry that rate. */
static bool choose_greedily(const choice *c, double *x)
{
    int32_t n = c->l.ntrees;
    bool *use = tutti_alloc((size_t)n * sizeof *use), *tried = tutti_alloc((size_t)n * sizeof *tried);
    const double enough = c->wanted * (1 - 1e-9);
    for (int32_t i = 0; i < n; i++) use[i] = true, tried[i] = false;
    bool can = tutti_most_carried(&c->l, use, x) >= enough;
    for (int32_t k = 0; k < n && can; k++) {
        int32_t lightest = -1;
        for (int32_t i = 0; i < n; i++)
            if (!tried[i] && (lightest < 0 || x[i] < x[lightest])) lightest = i;
        tried[lightest] = true;
        use[lightest] = false;
        if (tutti_most_carried(&c->l, use, x) < enough) use[lightest] = true, tutti_most_carried(&c->l, use, x);
    }
    free(use), free(tried);
    return can;
}

static void add_terms(tutti_strbuf *sb, const choice *c, const double *chosen, char letter)
{
    int32_t n = 0;
    for (int32_t i = 0; i < c->l.ntrees; i++)
        if (!chosen || chosen[i] > 0) tutti_strbuf_printf(sb, " + %c%d%s", letter, i, ++n % 16 ? "" : "\n");
}

static void add_links(tutti_strbuf *sb, const choice *c, const double *chosen, double whole)
{
    for (int32_t a = 0; a < c->g->narcs; a++) {
        int32_t n = 0;
        for (int32_t i = 0; i < c->l.ntrees; i++) {
            int64_t load = load_on(c, i, a);
            if (!load || (chosen && chosen[i] <= 0)) continue;
            if (!n) tutti_strbuf_printf(sb, " link%d:", a);
            tutti_strbuf_printf(sb, " + %lld x%d%s", (long long)load, i, ++n % 16 ? "" : "\n");
        }
        if (n) tutti_strbuf_printf(sb, " <= %.12g\n", c->l.room[a] / whole);
    }
}

/* Writes the question in the LP format that solvers share; weights are fractions of the rate. If trees are chosen
 * (weight > 0) it asks for the most that they carry, else which trees to choose. */
static char *question(const choice *c, const double *chosen)
{
    tutti_strbuf sb = {0};
    const double whole = (double)tutti_packing_weight(c->from);
    tutti_strbuf_puts(&sb, chosen ? "Maximize\n carried:" : "Minimize\n trees:");
    add_terms(&sb, c, chosen, chosen ? 'x' : 'z');
    tutti_strbuf_puts(&sb, "\nSubject To\n rate:");
    add_terms(&sb, c, chosen, 'x');
    tutti_strbuf_printf(&sb, " >= %.12g\n", c->wanted / whole * (chosen ? 1 - 1e-6 : 1 + 1e-6));
    add_links(&sb, c, chosen, whole);
    for (int32_t i = 0; i < c->l.ntrees && !chosen; i++)
        tutti_strbuf_printf(&sb, " used%d: x%d - %.12g z%d <= 0\n", i, i, carries(c, i) / whole, i);
    if (!chosen) tutti_strbuf_puts(&sb, "Binary\n");
    for (int32_t i = 0; i < c->l.ntrees && !chosen; i++) tutti_strbuf_printf(&sb, " z%d\n", i);
    tutti_strbuf_puts(&sb, "End\n");
    return tutti_strbuf_detach(&sb);
}

/* Reads cbc's file: a line that says how it ended, then "number name value cost" lines. */
static bool read_answer(const choice *c, const char *text, double *x, bool *proved)
{
    const double whole = (double)tutti_packing_weight(c->from);
    double sum = 0;
    for (int32_t i = 0; i < c->l.ntrees; i++) x[i] = 0;
    *proved = !strncmp(text, "Optimal", 7);
    if (!*proved && strncmp(text, "Stopped", 7)) return false;
    for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
        int tree;
        double value;
        if (sscanf(line, " %*d x%d %lf", &tree, &value) != 2 || tree < 0 || tree >= c->l.ntrees || !(value > 1e-9))
            continue;
        x[tree] = value * whole;
        sum += x[tree];
    }
    return sum >= c->wanted * (1 - 1e-6);
}

/* Asks the solver one question. chosen = false: which trees to use; true: which weights the trees that x names get. x
 * becomes the answer. */
static tutti_status ask_in(const choice *c, const tutti_fewest_options *o, const char *folder, bool chosen, double *x,
                           bool *proved, tutti_failure *err)
{
    char limit[32], path[512], *text = question(c, chosen ? x : NULL), *answer = NULL;
    size_t nbytes;
    snprintf(limit, sizeof limit, "%g", o->limit_s);
    snprintf(path, sizeof path, "%s/trees.lp", folder);
    tutti_status st = tutti_file_write_atomic(path, text, strlen(text), err);
    free(text);
    const char *const argv[] = {o->solver, "trees.lp", "-timeMode", "elapsed",    "-seconds",
                                limit,     "-solve",   "-solution", "answer.txt", NULL};
    if (st == TUTTI_OK) st = tutti_program_run(argv, folder, 2 * o->limit_s + 5, err);
    snprintf(path, sizeof path, "%s/answer.txt", folder);
    if (st == TUTTI_OK) st = tutti_file_read(path, MAX_SOLUTION, TUTTI_ERR_FAILED, &answer, &nbytes, err);
    if (st == TUTTI_OK && !read_answer(c, answer, x, proved))
        st = tutti_fail(err, TUTTI_ERR_FAILED, "%s found no choice within %g s", o->solver, o->limit_s);
    free(answer);
    return st;
}

/* Asks the solver which trees to use, then for their best weights. */
static tutti_status ask(const choice *c, const tutti_fewest_options *o, double *x, bool *proved, tutti_failure *err)
{
    char *folder = NULL;
    bool best;
    if (!o->solver) return tutti_fail(err, TUTTI_ERR_FAILED, "no solver was asked for");
    if (!tutti_program_exists(o->solver))
        return tutti_fail(err, TUTTI_ERR_FAILED, "there is no program '%s' (Debian: coinor-cbc)", o->solver);
    tutti_status st = tutti_program_folder(&folder, err);
    if (st != TUTTI_OK) return st;
    st = ask_in(c, o, folder, false, x, proved, err);
    if (st == TUTTI_OK) st = ask_in(c, o, folder, true, x, &best, err);
    tutti_file_remove_tree(folder, NULL);
    free(folder);
    return st;
}

/* Rounds weights down to fine units, and shrinks them if the solver overloaded a link. */
static void to_packing(const choice *c, const double *x, tutti_packing *out)
{
    int64_t finer = 1;
    double worst = 1;
    const double whole = (double)tutti_packing_weight(c->from);
    while (whole * (double)finer < (double)(1 << 22)) finer *= 2;
    for (int32_t a = 0; a < c->g->narcs; a++) {
        double load = 0;
        for (int32_t i = 0; i < c->l.ntrees; i++) load += x[i] * (double)load_on(c, i, a);
        worst = fmax(worst, load / c->l.room[a]);
    }
    tutti_packing_init(out, c->from->use, c->g);
    out->root = c->from->root, out->bound = c->from->bound;
    out->unit = tutti_ratio_of(c->from->unit.num, c->from->unit.den * finer);
    for (int32_t i = 0; i < c->l.ntrees; i++) {
        int64_t weight = (int64_t)(x[i] / worst * (double)finer + 1e-6);
        if (weight) tutti_packing_copy(out, c->from, i, weight);
    }
    tutti_packing_tidy(out);
}

static void copy_all(const tutti_network *g, const tutti_packing *from, tutti_packing *out)
{
    tutti_packing_init(out, from->use, g);
    out->root = from->root, out->bound = from->bound, out->unit = from->unit;
    for (int32_t i = 0; i < from->ntrees; i++) tutti_packing_copy(out, from, i, from->trees[i].weight);
}

tutti_status tutti_packing_fewest(const tutti_network *g, const tutti_packing *from,
                                  const tutti_fewest_options *options, tutti_packing *out, tutti_fewest_report *report,
                                  tutti_failure *err)
{
    choice c;
    tutti_failure why = {0};
    tutti_status st = tutti_packing_check(from, g, err);
    if (st != TUTTI_OK) return st;
    if (from->use == TUTTI_PACKING_ALL_GATHER)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "the trees of an all-gather all belong to different ranks: none can go");
    *report = (tutti_fewest_report){0};
    if (from->ntrees <= 1) {
        copy_all(g, from, out);
        report->fewest = true;
        return TUTTI_OK;
    }
    begin(&c, g, from, options->loss);
    double *x = tutti_alloc((size_t)c.l.ntrees * sizeof *x);
    report->solved = ask(&c, options, x, &report->fewest, &why) == TUTTI_OK;
    if (!report->solved) snprintf(report->why, sizeof report->why, "%.*s", (int)sizeof report->why - 1, why.text);
    bool chosen = report->solved || choose_greedily(&c, x);
    if (chosen) {
        to_packing(&c, x, out);
        if (tutti_packing_check(out, g, &why) || out->ntrees >= from->ntrees) {
            tutti_packing_release(out);
            chosen = false;
        }
    }
    if (!chosen) copy_all(g, from, out), report->fewest = report->fewest && report->solved;
    free(x);
    end(&c);
    return TUTTI_OK;
}
