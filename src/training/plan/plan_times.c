/* SPDX-License-Identifier: Apache-2.0 */
/* plan_times.c: explains buckets for people: how long an exchange takes, when each bucket can be sent, and when it is
 * sent. It uses the arithmetic that merged the buckets. */
#include <stdlib.h>

#include "../../base/clock.h"
#include "../../base/text/strbuf.h"
#include "plan_impl.h"

static void add_size(tutti_strbuf *sb, int64_t bytes)
{
    if (bytes < 1 << 20)
        tutti_strbuf_printf(sb, "%.1f KiB", (double)bytes / (1 << 10));
    else
        tutti_strbuf_printf(sb, "%.1f MiB", (double)bytes / (1 << 20));
}

static void add_cost(const tutti_exchange_cost *cost, tutti_strbuf *sb)
{
    tutti_strbuf_puts(sb, "\ntimes of exchanges, predicted from their costs\n  an exchange takes");
    for (int i = 0; i < cost->npoints; i++) {
        tutti_strbuf_printf(sb, "%s %s for ", i ? "," : "", tutti_time_words((double)cost->ns[i] / 1e9).text);
        add_size(sb, cost->bytes[i]);
    }
    tutti_strbuf_printf(sb, "; %.0f %% of it can run beside the backward pass\n", cost->overlap * 100);
}

/* Returns how long after the backward pass the exchanges end. */
static double exposed_ms(const tutti_plan *p, const tutti_exchange_cost *cost, const bool *starts)
{
    const int64_t end_ns = tutti_merge_play(p->items, p->nitems, cost, starts, NULL, NULL);
    return (double)(end_ns - p->items[p->nitems - 1].ready_ns) / 1e6;
}

static void add_groups(const tutti_plan *p, const tutti_merge_group *groups, tutti_strbuf *sb)
{
    tutti_strbuf_puts(sb, "  bucket        size  ready ms    begins      ends  not hidden ms  its last gradient\n");
    for (int b = 0; b < p->nbuckets && p->buckets[b].parts == 1; b++) {
        const tutti_merge_group *g = &groups[b];
        const int last = g->first + g->nitems - 1;
        tutti_strbuf size = {0};
        add_size(&size, g->bytes);
        tutti_strbuf_printf(sb, "  %6d %11s %9.3f %9.3f %9.3f %14.3f  %s%s\n", b, size.text,
                            (double)p->items[last].ready_ns / 1e6, (double)g->begin_ns / 1e6, (double)g->end_ns / 1e6,
                            (double)g->own_ns / 1e6, p->graph->params[p->order[last]].name,
                            g->begin_ns > p->items[last].ready_ns ? ", then waits for the bucket before" : "");
        tutti_strbuf_release(&size);
    }
}

void tutti_plan_print_times(const tutti_plan *p, tutti_strbuf *sb)
{
    if (!p->config.costs || !p->nitems) return;
    const tutti_exchange_cost cost = tutti_plan_costs_exchange(p->config.costs);
    bool *starts = tutti_alloc((size_t)p->nitems + 1), *each = tutti_alloc((size_t)p->nitems + 1);
    bool *one = tutti_alloc((size_t)p->nitems + 1);
    tutti_merge_group *groups = tutti_alloc(sizeof *groups * (size_t)p->nitems);
    for (int b = 0; b < p->nbuckets && p->buckets[b].parts == 1; b++) starts[p->buckets[b].first_param] = true;
    for (int i = 0; i < p->nitems; i++) {
        one[i] = i == 0;
        each[i] = i == 0 || p->graph->params[p->order[i]].layer != p->graph->params[p->order[i - 1]].layer;
    }
    add_cost(&cost, sb);
    if (p->config.costs->params_s.n)
        tutti_strbuf_printf(sb, "  the backward pass takes %.3f ms to its last gradient\n",
                            (double)p->items[p->nitems - 1].ready_ns / 1e6);
    else
        tutti_strbuf_puts(sb,
                          "  when gradients are ready was not measured: nothing is hidden, so it does not matter\n");
    tutti_strbuf_printf(sb, "  not hidden: %.3f ms; one exchange a layer: %.3f ms; one in all: %.3f ms\n",
                        exposed_ms(p, &cost, starts), exposed_ms(p, &cost, each), exposed_ms(p, &cost, one));
    tutti_merge_play(p->items, p->nitems, &cost, starts, groups, NULL);
    add_groups(p, groups, sb);
    free(groups);
    free(one);
    free(each);
    free(starts);
}
