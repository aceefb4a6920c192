/* SPDX-License-Identifier: Apache-2.0 */
/* ddl_fit.c: constants of a measured table's machine, by least squares of relative errors: a grid, drawn together around its best.
 * A cell within a node depends on nothing but `inside`, one beyond it on its network alone, and servers on their own efficiency, so that
 * each search has one or two unknowns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddl_table.h"

enum { GRID = 24, WIDTH = 4, ZOOMS = 16 };
static const double LEAST_HOP_US = 1e-3, MOST_HOP_US = 240, LEAST_SHARE = 1e-2, MOST_SHARE = 1.5;
static const double PCIE3_X16 = 15.75e9; /* 16 lanes of 8 GT/s, 128 bits of 130 */

typedef struct {
    const tutti_ddl_rows *rows;
    const char *model;
    const tutti_layer_trace *layers;
    tutti_ddl_constants *c;
    int network;  /* -1: cells within a node, of all connections */
    bool servers; /* of BSP-PS; else of BSP-A2A and WFBP-A2A */
    int ncells;   /* of the last sum */
} search;

static bool takes_part(const search *s, const tutti_ddl_row *r)
{
    if (strcmp(r->model, s->model) != 0) return false;
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
        if (!takes_part(s, r)) continue;
        const tutti_ddl_network *n = &s->c->networks[tutti_ddl_network_find(s->c, r->connection)];
        for (int k = 0; k < s->rows->ncounts; k++) {
            if ((s->rows->gpus[k] <= s->c->gpus_per_node) != (s->network < 0) || isnan(r->measured[k])) continue;
            const double off = tutti_ddl_predict(s->c, n, r, s->layers, s->rows->gpus[k]) / r->measured[k] - 1;
            sum += off * off;
            s->ncells++;
        }
    }
    return sum;
}

static tutti_ddl_network *searched(search *s)
{
    return s->network < 0 ? &s->c->inside : &s->c->networks[s->network];
}

/* What is looked through: shares by equal factors, hops by equal steps. */
typedef struct {
    double least, most, hop_least, hop_most;
} range;

/* The best of a grid over the range, which is then drawn together around it: to WIDTH of its cells on each side, since what is best on a coarse
 * grid may lie along a valley from what is best. */
static void look_through(search *s, double *share, double *hop_us, range *in)
{
    const int nhops = hop_us ? GRID : 0;
    const double factor = pow(in->most / in->least, 1.0 / GRID), step = (in->hop_most - in->hop_least) / GRID;
    double best = INFINITY, best_share = in->least, best_hop_us = 0;
    for (int i = 0; i <= GRID; i++) {
        for (int k = 0; k <= nhops; k++) {
            *share = in->least * pow(factor, i);
            if (hop_us) *hop_us = in->hop_least + step * k;
            const double sum = add_errors(s);
            if (sum >= best) continue;
            best = sum, best_share = *share, best_hop_us = hop_us ? *hop_us : 0;
        }
    }
    *share = best_share;
    if (hop_us) *hop_us = best_hop_us;
    *in = (range){best_share / pow(factor, WIDTH), best_share * pow(factor, WIDTH), fmax(best_hop_us - WIDTH * step, 0),
                  best_hop_us + WIDTH * step};
}

static tutti_status find(search *s, tutti_failure *err)
{
    tutti_ddl_network *n = searched(s);
    range in = {LEAST_SHARE, MOST_SHARE, 0, MOST_HOP_US};
    for (int i = 0; i < ZOOMS; i++)
        look_through(s, s->servers ? &n->server_efficiency : &n->efficiency, s->servers ? NULL : &n->hop_us, &in);
    if (n->hop_us < LEAST_HOP_US) n->hop_us = 0;
    if (s->ncells > 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA, "no figure of %s to fit %s%s on: %s", s->model,
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

tutti_status tutti_ddl_fit(const tutti_ddl_rows *rows, const char *model, const tutti_layer_trace *layers,
                           int gpus_per_node, tutti_ddl_constants *out, tutti_failure *err)
{
    tutti_ddl_constants c = {.model = model, .gpus_per_node = gpus_per_node};
    tutti_status st = TUTTI_OK;
    c.inside = (tutti_ddl_network){"inside a node", PCIE3_X16, 1, 1, 0};
    for (int i = 0; i < rows->nrows && !st; i++)
        if (!strcmp(rows->rows[i].model, model)) st = add_network(&c, &rows->rows[i], err);
    for (int servers = 0; servers < 2 && !st; servers++)
        for (int n = -1; n < c.nnetworks && !st; n++) {
            search s = {rows, model, layers, &c, n, servers, 0};
            st = find(&s, err);
        }
    c.made_by = "tutti papers ddl-table --fit ROWS";
    c.source = "BSP-A2A, WFBP-A2A and BSP-PS of that model; the line rates are the wires' own";
    if (st)
        tutti_ddl_constants_release(&c);
    else
        *out = c;
    return st;
}
