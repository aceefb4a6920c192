/* SPDX-License-Identifier: Apache-2.0 */
/* ddl_suspects.c: rows of a measured table that do not go together, by rules that look at measured figures alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ddl_table.h"

static const double ALIKE = 0.01, NEAR_LINEAR = 0.95, ABOVE_LINEAR = 0.005, ONE_NODE = 0.05, LOSES = 0.02;

/* The row of the same model and method over another connection, or (connection NULL: the same) by another method. */
static const tutti_ddl_row *find_row(const tutti_ddl_rows *t, const tutti_ddl_row *like, const char *connection,
                                     const char *method)
{
    for (int i = 0; i < t->nrows; i++) {
        const tutti_ddl_row *r = &t->rows[i];
        if (!strcmp(r->model, like->model) && r->batch == like->batch && !strcmp(r->connection, connection) &&
            !strcmp(r->method, method))
            return r;
    }
    return NULL;
}

static void add_row(const tutti_ddl_row *r, const char *rule, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "  line %d, %s, %s, %s: %s: ", r->line, r->model, r->connection, r->method, rule);
}

static void look_alike(const tutti_ddl_rows *t, const tutti_ddl_row *a, const tutti_ddl_row *b, int inside,
                       tutti_strbuf *out)
{
    double farthest = 0, least = 1;
    int n = 0;
    for (int c = 0; c < t->ncounts; c++) {
        if (t->gpus[c] <= inside || isnan(a->measured[c]) || isnan(b->measured[c])) continue;
        farthest = fmax(farthest, fabs(a->measured[c] / b->measured[c] - 1));
        least = fmin(least, a->measured[c] / (a->one * t->gpus[c]));
        n++;
    }
    if (n < 2 || farthest > ALIKE || least > NEAR_LINEAR) return;
    add_row(a, "two networks alike", out);
    tutti_strbuf_printf(out, "within %.2f %% of line %d, %s\n", 100 * farthest, b->line, b->connection);
}

static void look_inside(const tutti_ddl_rows *t, const tutti_ddl_row *a, const tutti_ddl_row *b, int inside,
                        tutti_strbuf *out)
{
    for (int c = 0; c < t->ncounts; c++) {
        if (t->gpus[c] > inside || isnan(a->measured[c]) || isnan(b->measured[c])) continue;
        if (fabs(a->measured[c] / b->measured[c] - 1) <= ONE_NODE) continue;
        add_row(a, "one node, two speeds", out);
        tutti_strbuf_printf(out, "%d GPUs %.0f, over %s %.0f\n", t->gpus[c], a->measured[c], b->connection,
                            b->measured[c]);
    }
}

static void look_above(const tutti_ddl_rows *t, const tutti_ddl_row *r, tutti_strbuf *out)
{
    for (int c = 0; c < t->ncounts; c++) {
        const double share = r->measured[c] / (r->one * t->gpus[c]);
        if (!(share > 1 + ABOVE_LINEAR)) continue;
        add_row(r, "faster than linear", out);
        tutti_strbuf_printf(out, "%.2f %% of %d times one GPU\n", 100 * share, t->gpus[c]);
        return;
    }
}

/* What overlapping hid, of what it could. */
static void look_overlap(const tutti_ddl_rows *t, const tutti_ddl_row *r, int inside, tutti_strbuf *out)
{
    char without[64];
    if (strncmp(r->method, "WFBP-", 5) != 0) return;
    snprintf(without, sizeof without, "BSP-%.50s", r->method + 5);
    const tutti_ddl_row *bsp = find_row(t, r, r->connection, without);
    for (int c = 0; bsp && c < t->ncounts; c++) {
        if (t->gpus[c] > inside || isnan(r->measured[c]) || isnan(bsp->measured[c])) continue;
        const double samples = (double)r->batch * t->gpus[c], one_s = r->batch / r->one,
                     apart_s = samples / bsp->measured[c], hidden_s = apart_s - samples / r->measured[c],
                     could_s = fmin(apart_s - one_s, one_s * 2 / 3);
        if (!(could_s > 0.05 * one_s) || hidden_s >= could_s / 2) continue;
        add_row(r, "overlap too small", out);
        tutti_strbuf_printf(out, "on %d GPUs it hides %.0f ms of %.0f ms that could be\n", t->gpus[c], 1e3 * hidden_s,
                            1e3 * could_s);
    }
}

static void look_merging(const tutti_ddl_rows *t, const tutti_ddl_row *r, tutti_strbuf *out)
{
    const tutti_ddl_row *each = find_row(t, r, r->connection, "WFBP-A2A");
    for (int c = 0; each && c < t->ncounts && !strcmp(r->method, "MG-WFBP"); c++) {
        if (!(r->measured[c] < each->measured[c] * (1 - LOSES))) continue;
        add_row(r, "merging that loses", out);
        tutti_strbuf_printf(out, "%d GPUs %.0f, a message a layer %.0f\n", t->gpus[c], r->measured[c],
                            each->measured[c]);
    }
}

void tutti_ddl_suspects(const tutti_ddl_rows *t, int inside, tutti_strbuf *out)
{
    for (int i = 0; i < t->nrows; i++) {
        const tutti_ddl_row *a = &t->rows[i];
        for (int k = 0; k < t->nrows; k++) {
            const tutti_ddl_row *b = &t->rows[k];
            if (k == i || find_row(t, a, b->connection, a->method) != b) continue;
            look_alike(t, a, b, inside, out);
            if (k < i) look_inside(t, a, b, inside, out);
        }
        look_above(t, a, out);
        look_overlap(t, a, inside, out);
        look_merging(t, a, out);
    }
}
