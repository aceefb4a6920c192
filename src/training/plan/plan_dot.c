/* SPDX-License-Identifier: Apache-2.0 */
/* plan_dot.c: draws a rank's step for Graphviz: its loop on the left, its exchanges on the right. */
#include "../../base/text/strbuf.h"
#include "plan_impl.h"

/* Draws an edge between an action and its exchange. of_before: the action waits for an exchange of the step before. */
static void add_edge(const tutti_action *a, int i, bool of_before, tutti_strbuf *sb)
{
    if (a->exchange < 0) return;
    if (tutti_action_awaits(a) && of_before)
        tutti_strbuf_printf(sb, "  x%d -> a%d [label=\"next step\" style=dotted constraint=false];\n", a->exchange, i);
    else if (tutti_action_awaits(a))
        tutti_strbuf_printf(sb, "  x%d -> a%d;\n", a->exchange, i);
    else
        tutti_strbuf_printf(sb, "  a%d -> x%d [label=\"%s%s%s\"%s];\n", i, a->exchange,
                            a->when & TUTTI_WHEN_READY ? "ready" : "",
                            a->when == (TUTTI_WHEN_READY | TUTTI_WHEN_FREE) ? ", " : "",
                            a->when & TUTTI_WHEN_FREE ? "free" : "", a->when == TUTTI_WHEN_FREE ? " style=dashed" : "");
}

static bool was_started(const tutti_loop *l, int exchange, int before)
{
    const int at = tutti_loop_find_start(l, exchange);
    return at >= 0 && at < before;
}

static bool is_mentioned(const tutti_loop *l, int exchange)
{
    for (int i = 0; i < l->nactions; i++)
        if (l->actions[i].exchange == exchange) return true;
    return false;
}

static const char *colour_of(tutti_collective c)
{
    return tutti_collective_takes_slices(c) ? "#e2d9f3" : tutti_collective_gives_slices(c) ? "#d1e7dd" : "#f8d7da";
}

/* Draws the loop TUTTI_EACH_END: an edge from each exchange to the exchange that becomes ready when the first one has
 * ended. */
static void add_beside(const tutti_plan *p, tutti_strbuf *sb)
{
    const tutti_loop *l = &p->loops[TUTTI_EACH_END];
    for (int i = 0, first = -1; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (tutti_action_awaits(a) && !a->when) first = a->exchange;
        if (tutti_action_tells(a))
            tutti_strbuf_printf(sb, "  x%d -> x%d [label=\"update bucket %d\"];\n", first, a->exchange, a->bucket);
    }
}

/* Draws the loop TUTTI_EACH_ARRIVAL: a chain of actions for each worker that rank 0 serves. */
static void add_arrivals(const tutti_plan *p, tutti_strbuf *sb)
{
    const tutti_loop *l = &p->loops[TUTTI_EACH_ARRIVAL];
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        tutti_strbuf_printf(sb, "  s%d [style=dashed label=\"", i);
        tutti_plan_print_action(p, a, sb);
        tutti_strbuf_puts(sb, "\"];\n");
        if (i && a->worker == a[-1].worker) tutti_strbuf_printf(sb, "  s%d -> s%d [weight=10];\n", i - 1, i);
        if (tutti_action_starts(a)) tutti_strbuf_printf(sb, "  s%d -> x%d;\n", i, a->exchange);
        if (tutti_action_awaits(a)) tutti_strbuf_printf(sb, "  x%d -> s%d;\n", a->exchange, i);
    }
}

char *tutti_plan_dot(const tutti_plan *p)
{
    const tutti_loop *l = &p->loops[TUTTI_EACH_STEP];
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb,
                        "digraph \"%s rank %d of %d\" {\n  rankdir=TB; node [fontname=\"sans-serif\" shape=box];\n",
                        p->graph->model->name, p->config.rank, p->config.nranks);
    for (int i = 0; i < l->nactions; i++) {
        tutti_strbuf_printf(&sb, "  a%d [label=\"", i);
        tutti_plan_print_action(p, &l->actions[i], &sb);
        tutti_strbuf_puts(&sb, "\"];\n");
        if (i) tutti_strbuf_printf(&sb, "  a%d -> a%d [weight=10];\n", i - 1, i);
    }
    for (int x = 0; x < p->nexchanges; x++) {
        const tutti_collective c = tutti_schedule_head(p->schedules[p->exchanges[x].schedule].lowered)->collective;
        if (!is_mentioned(l, x) && !is_mentioned(&p->loops[TUTTI_EACH_ARRIVAL], x)) continue;
        tutti_strbuf_printf(&sb, "  x%d [shape=oval style=filled fillcolor=\"%s\" label=\"%s: %s", x, colour_of(c),
                            tutti_collective_name(c), p->exchanges[x].name);
        if (p->exchanges[x].members) tutti_strbuf_puts(&sb, ", ");
        if (p->exchanges[x].members) tutti_plan_print_members(&p->exchanges[x], &sb);
        tutti_strbuf_puts(&sb, "\"];\n");
    }
    add_beside(p, &sb);
    add_arrivals(p, &sb);
    for (int i = 0; i < l->nactions; i++) add_edge(&l->actions[i], i, !was_started(l, l->actions[i].exchange, i), &sb);
    tutti_strbuf_puts(&sb, "}\n");
    return tutti_strbuf_detach(&sb);
}
