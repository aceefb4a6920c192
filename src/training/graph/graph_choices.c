/* SPDX-License-Identifier: Apache-2.0 */
/* graph_choices.c: prints which kernels compute the layers of a graph and why, and hashes the choice. */
#include <stdio.h>
#include <string.h>

#include "../../base/text/strbuf.h"
#include "graph.h"

/* Passes of layers that the same candidate computes for the same reason. */
typedef struct {
    tutti_kernel_chosen chosen; /* seconds: the sum over all these passes */
    unsigned passes;
} choice;

static bool is_same(const tutti_kernel_chosen *a, const tutti_kernel_chosen *b)
{
    const bool same_next = a->next && b->next ? !strcmp(a->next, b->next) : a->next == b->next;
    return a->why == b->why && a->in_vain == b->in_vain && !strcmp(a->name, b->name) && same_next;
}

/* Returns the candidate that computes a pass of a layer; NULL for a pass that is never run, even if the layer has a
 * kernel for it. */
static const tutti_kernel_chosen *chosen_for(const tutti_graph *g, int layer, int pass)
{
    const tutti_kernel_chosen *chosen = &g->kernels[layer].chosen[pass];
    const bool runs = pass == TUTTI_PASS_FORWARD  ? true
                      : pass == TUTTI_PASS_PARAMS ? g->runs_params[layer]
                                                  : g->needs_input_grad[layer];
    return runs && chosen->name ? chosen : NULL;
}

static int list_choices(const tutti_graph *g, int layer, choice out[TUTTI_NPASSES])
{
    int n = 0;
    for (int pass = 0; pass < (g->config.training ? TUTTI_NPASSES : 1); pass++) {
        const tutti_kernel_chosen *chosen = chosen_for(g, layer, pass);
        int at = 0;
        if (!chosen) continue;
        while (at < n && !is_same(&out[at].chosen, chosen)) at++;
        if (at == n)
            out[n++] = (choice){.chosen = *chosen};
        else
            out[at].chosen.seconds += chosen->seconds, out[at].chosen.next_seconds += chosen->next_seconds;
        out[at].passes |= 1u << pass;
    }
    return n;
}

static bool had_a_choice(const choice *choices, int n)
{
    bool chosen = false;
    for (int i = 0; i < n; i++)
        chosen = chosen || choices[i].chosen.why != TUTTI_CHOSEN_ALONE || choices[i].chosen.in_vain;
    return chosen;
}

static void add_passes(unsigned passes, tutti_strbuf *sb)
{
    char text[32] = "";
    size_t n = 0;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++)
        if (passes >> pass & 1)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "",
                                  tutti_kernel_pass_name((tutti_kernel_pass)pass));
    tutti_strbuf_printf(sb, "%-19s ", text);
}

static void add_why(const tutti_graph *g, const tutti_kernel_chosen *c, tutti_strbuf *sb)
{
    if (c->in_vain) tutti_strbuf_printf(sb, "%s does not fit; ", g->config.engine);
    switch (c->why) {
    case TUTTI_CHOSEN_ASKED: tutti_strbuf_puts(sb, "asked for"); return;
    case TUTTI_CHOSEN_ALONE:
        tutti_strbuf_printf(sb, "%s of known time fits", c->seconds < 0 ? "nothing" : "no other");
        return;
    case TUTTI_CHOSEN_RULE: tutti_strbuf_printf(sb, "by rule %.3g ms", 1e3 * c->seconds); break;
    case TUTTI_CHOSEN_MEASURED: tutti_strbuf_printf(sb, "measured %.3g ms", 1e3 * c->seconds); break;
    }
    if (c->next) tutti_strbuf_printf(sb, ", %s %.3g", c->next, 1e3 * c->next_seconds);
}

void tutti_graph_add_choices(const tutti_graph *g, const char *before, tutti_strbuf *sb)
{
    int nothers = 0;
    tutti_strbuf_printf(sb, "%skernels: layer, pass, by what, why\n", before);
    for (int l = 0; l < g->model->nlayers; l++) {
        choice choices[TUTTI_NPASSES];
        const int n = list_choices(g, l, choices);
        const bool chosen = had_a_choice(choices, n);
        nothers += !chosen;
        for (int i = 0; i < n && chosen; i++) {
            tutti_strbuf_printf(sb, "%s  %-24s ", before, g->model->layers[l].name);
            add_passes(choices[i].passes, sb);
            tutti_strbuf_printf(sb, "%-10s ", choices[i].chosen.name);
            add_why(g, &choices[i].chosen, sb);
            tutti_strbuf_puts(sb, "\n");
        }
        if (tutti_sparse_is_switch(&g->kernels[l]))
            tutti_strbuf_printf(sb, "%s  %-24s %-19s %-10s where enough is zero: tests count\n", before,
                                g->model->layers[l].name, "of these", "sparse");
    }
    if (nothers)
        tutti_strbuf_printf(sb, "%s  %d layer%s: one candidate of known time fits, beside plain loops\n", before,
                            nothers, nothers == 1 ? "" : "s");
}

/* Adds how many passes of an op's layers each candidate computes, if one of these passes had a choice. Returns true if
 * it has added anything. */
static bool add_counts(const tutti_graph *g, const tutti_op_row *op, bool first, tutti_strbuf *sb)
{
    const char *name;
    bool chosen = false, begun = false;
    for (int l = 0; l < g->model->nlayers; l++) {
        choice choices[TUTTI_NPASSES];
        chosen = chosen || (g->kernels[l].op == op && had_a_choice(choices, list_choices(g, l, choices)));
    }
    for (int i = 0; chosen && (name = tutti_candidate_name_at(i)); i++) {
        int n = 0;
        for (int l = 0; l < g->model->nlayers; l++)
            for (int pass = 0; pass < TUTTI_NPASSES && g->kernels[l].op == op; pass++) {
                const tutti_kernel_chosen *c = chosen_for(g, l, pass);
                n += c && !strcmp(c->name, name);
            }
        if (!n) continue;
        if (!begun) tutti_strbuf_printf(sb, "%s%s by", first ? "" : ", ", op->name);
        tutti_strbuf_printf(sb, "%s %s %d", begun ? "," : "", name, n);
        begun = true;
    }
    return begun;
}

char *tutti_graph_say_choices(const tutti_graph *g)
{
    tutti_strbuf sb = {0};
    bool any = false;
    for (int i = 0; i < tutti_op_count(); i++) any = add_counts(g, tutti_op_at(i), !any, &sb) || any;
    return any ? tutti_strbuf_detach(&sb) : NULL;
}

void tutti_graph_kernel_name(const tutti_kernel *k, char out[TUTTI_KERNEL_NAME])
{
    const char *last = NULL;
    size_t n = 0;
    out[0] = '\0';
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
        const char *name = k->chosen[pass].name;
        if (name && (!last || strcmp(name, last) != 0) && n < TUTTI_KERNEL_NAME)
            n += (size_t)snprintf(out + n, TUTTI_KERNEL_NAME - n, "%s%s", n ? "/" : "", name);
        if (name) last = name;
    }
}

void tutti_graph_hash_choices(const tutti_graph *g, tutti_strbuf *sb)
{
    for (int l = 0; l < g->model->nlayers; l++) {
        tutti_strbuf_printf(sb, "kernels of %s", g->model->layers[l].name);
        for (int pass = 0; pass < TUTTI_NPASSES; pass++)
            if (g->kernels[l].chosen[pass].name) tutti_strbuf_printf(sb, " %s", g->kernels[l].chosen[pass].name);
        tutti_strbuf_puts(sb, "\n");
    }
}
