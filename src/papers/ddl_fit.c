/* SPDX-License-Identifier: Apache-2.0 */
/* ddl_fit.c: constants of a measured table's machine, by least squares of relative errors: a grid, drawn together around its best.
 * A cell within a node depends on nothing but `inside` and what Adam takes, one beyond it on its network too, and servers on their own
 * efficiency, so that each search has one to three unknowns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddl_table.h"

enum { GRID = 24, WIDTH = 4, ZOOMS = 16, GRID_3 = 12, ZOOMS_3 = 24 };
static const double LEAST_HOP_US = 1e-3, MOST_HOP_US = 240, MOST_ADAM_US = 1000, LEAST_SHARE = 1e-2, MOST_SHARE = 1.5;
static const double PCIE3_X16 = 15.75e9; /* 16 lanes of 8 GT/s, 128 bits of 130 */

typedef struct {
    const tutti_ddl_rows *rows;
    const tutti_ddl_model *models;
    int nmodels;
    tutti_ddl_constants *c;
    int network;  /* -1: cells within a node, of all connections */
    bool servers; /* of BSP-PS; else of BSP-A2A and WFBP-A2A */
    int ncells;   /* of the last sum */
    int *alike;   /* of each row the first that differs in its connection alone, which says nothing within a node */
    double (*predicted)[TUTTI_DDL_COUNTS]; /* of the last sum */
} search;

static void find_alike(const tutti_ddl_rows *rows, int *alike)
{
    for (int i = 0; i < rows->nrows; i++) {
        const tutti_ddl_row *a = &rows->rows[i];
        for (alike[i] = 0; alike[i] < i; alike[i]++) {
            const tutti_ddl_row *b = &rows->rows[alike[i]];
            if (!strcmp(a->model, b->model) && !strcmp(a->method, b->method) && a->batch == b->batch &&
                a->one == b->one)
                break;
        }
    }
}

static const tutti_layer_trace *layers_of(const search *s, const char *model)
{
    for (int i = 0; i < s->nmodels; i++)
        if (!strcmp(s->models[i].name, model)) return s->models[i].layers;
    return NULL;
}

static bool takes_part(const search *s, const tutti_ddl_row *r)
{
    if (s->network >= 0 && strcmp(r->connection, s->c->networks[s->network].name) != 0) return false;
    if (s->servers) return !strcmp(r->method, "BSP-PS");
    return !strcmp(r->method, "BSP-A2A") || !strcmp(r->method, "WFBP-A2A");
}

static double add_errors(search *s)
{
    double sum = 0;
    s->ncells = 0;
    for (int i = 0; i < s->rows->nrows; i++) {
        const tutti_ddl_row *r = &s->rows->rows[i];
        const tutti_layer_trace *layers = layers_of(s, r->model);
        if (!layers || !takes_part(s, r)) continue;
        const tutti_ddl_network *n = &s->c->networks[tutti_ddl_network_find(s->c, r->connection)];
        for (int k = 0; k < s->rows->ncounts; k++) {
            if ((s->rows->gpus[k] <= s->c->gpus_per_node) != (s->network < 0) || isnan(r->measured[k])) continue;
            const bool again = s->network < 0 && s->alike[i] < i && !isnan(s->rows->rows[s->alike[i]].measured[k]);
            s->predicted[i][k] =
                again ? s->predicted[s->alike[i]][k] : tutti_ddl_predict(s->c, n, r, layers, s->rows->gpus[k]);
            const double off = s->predicted[i][k] / r->measured[k] - 1;
            sum += off * off;
            s->ncells++;
        }
    }
    return sum;
}

/* An unknown, and what is looked through: shares by equal factors, times by equal steps. */
typedef struct {
    double *value, least, most, best;
    bool by_factors;
} unknown;

static double value_at(const unknown *u, int i, int n)
{
    return u->by_factors ? u->least * pow(u->most / u->least, (double)i / n) : u->least + (u->most - u->least) * i / n;
}

/* Drawn together around its best: to WIDTH of the grid's cells on each side, since what is best on a coarse grid may lie along a valley from
 * what is best. */
static void draw_together(unknown *u, int n)
{
    const double factor = u->by_factors ? pow(u->most / u->least, (double)WIDTH / n) : 1,
                 step = u->by_factors ? 0 : (u->most - u->least) * WIDTH / n;
    u->least = u->by_factors ? u->best / factor : fmax(u->best - step, 0);
    u->most = u->by_factors ? u->best * factor : u->best + step;
    *u->value = u->best;
}

/* The best of a grid over up to three unknowns. */
static void look_through(search *s, unknown *of, int nof, int grid)
{
    double best = INFINITY;
    int points = 1;
    for (int u = 0; u < nof; u++) points *= grid + 1;
    for (int p = 0; p < points; p++) {
        for (int u = 0, rest = p; u < nof; u++, rest /= grid + 1)
            *of[u].value = value_at(&of[u], rest % (grid + 1), grid);
        const double sum = add_errors(s);
        if (sum >= best) continue;
        best = sum;
        for (int u = 0; u < nof; u++) of[u].best = *of[u].value;
    }
    for (int u = 0; u < nof; u++) draw_together(&of[u], grid);
}

static bool has_adam(const search *s)
{
    for (int i = 0; i < s->nmodels; i++)
        if (tutti_ddl_has_adam(s->c, s->models[i].name, s->models[i].layers)) return true;
    return false;
}

static tutti_status find(search *s, tutti_failure *err)
{
    tutti_ddl_network *n = s->network < 0 ? &s->c->inside : &s->c->networks[s->network];
    unknown of[3] = {{s->servers ? &n->server_efficiency : &n->efficiency, LEAST_SHARE, MOST_SHARE, 0, true},
                     {&n->hop_us, 0, MOST_HOP_US, 0, false},
                     {&s->c->adam_us, 0, MOST_ADAM_US, 0, false}};
    const int nof = s->servers ? 1 : s->network < 0 && has_adam(s) ? 3 : 2;
    for (int i = 0; i < (nof == 3 ? ZOOMS_3 : ZOOMS); i++) look_through(s, of, nof, nof == 3 ? GRID_3 : GRID);
    if (n->hop_us < LEAST_HOP_US) n->hop_us = 0;
    if (s->ncells > 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA, "no figure of %s to fit %s%s on: %s", s->c->model,
                      s->network < 0 ? "what is inside a node" : n->name, s->servers ? " with servers" : "",
                      s->servers ? "BSP-PS is wanted" : "BSP-A2A and WFBP-A2A are wanted");
}

/* "100GbIB with RDMA" -> 12.5e9 */
static tutti_status add_network(tutti_ddl_constants *c, const tutti_ddl_row *r, tutti_failure *err)
{
    char *end;
    const double gbits = strtod(r->connection, &end);
    if (tutti_ddl_network_find(c, r->connection) >= 0) return TUTTI_OK;
    if (end == r->connection || strncmp(end, "Gb", 2) != 0 || !(gbits >= 0.001 && gbits <= 1e5))
        return tutti_fail(err, TUTTI_ERR_DATA, "line %d: '%s' does not begin with the wire's rate, as 10GbE does",
                          r->line, r->connection);
    if (c->nnetworks == TUTTI_DDL_NETWORKS)
        return tutti_fail(err, TUTTI_ERR_DATA, "line %d: more than %d connections", r->line, TUTTI_DDL_NETWORKS);
    c->networks[c->nnetworks++] =
        (tutti_ddl_network){tutti_arena_strdup(&c->arena, r->connection), gbits * 1e9 / 8, 1, 1, 0};
    return TUTTI_OK;
}

/* "ResNet-50, BERT-Base" */
static const char *join_names(const tutti_ddl_model *models, int nmodels, tutti_arena *arena)
{
    tutti_strbuf all = {0};
    for (int i = 0; i < nmodels; i++) tutti_strbuf_printf(&all, "%s%s", i ? ", " : "", models[i].name);
    const char *names = tutti_arena_strdup(arena, all.text ? all.text : "");
    tutti_strbuf_release(&all);
    return names;
}

tutti_status tutti_ddl_fit(const tutti_ddl_rows *rows, const tutti_ddl_model *models, int nmodels,
                           const tutti_ddl_given *given, tutti_ddl_constants *out, tutti_failure *err)
{
    tutti_ddl_constants c = {.gpus_per_node = given->gpus_per_node};
    tutti_status st = TUTTI_OK;
    c.model = join_names(models, nmodels, &c.arena);
    c.adam = tutti_arena_strdup(&c.arena, given->adam);
    c.inside = (tutti_ddl_network){"inside a node", PCIE3_X16, 1, 1, 0};
    for (int i = 0; i < rows->nrows && !st; i++)
        if (tutti_ddl_is_fitted(&c, rows->rows[i].model)) st = add_network(&c, &rows->rows[i], err);
    search s = {.rows = rows, .models = models, .nmodels = nmodels, .c = &c};
    s.alike = tutti_alloc(sizeof *s.alike * (size_t)rows->nrows);
    s.predicted = tutti_alloc(sizeof *s.predicted * (size_t)rows->nrows);
    find_alike(rows, s.alike);
    for (int servers = 0; servers < 2 && !st; servers++)
        for (int n = -1; n < c.nnetworks && !st; n++) {
            s.servers = servers, s.network = n;
            st = find(&s, err);
        }
    free(s.alike);
    free(s.predicted);
    c.made_by = "tutti papers ddl-table --fit ROWS";
    c.source = "BSP-A2A, WFBP-A2A and BSP-PS of these models; the line rates are the wires' own";
    if (st)
        tutti_ddl_constants_release(&c);
    else
        *out = c;
    return st;
}
