/* SPDX-License-Identifier: Apache-2.0 */
/* plan_describe.c: writes counter-examples of a plan's proof in the words of the plan: actions, exchanges, memories,
 * parameters. */
#include <inttypes.h>
#include <stdio.h>

#include "../../../base/text/strbuf.h"
#include "plan_compose.h"

static void describe_loop_step(const tutti_composition *c, int rank, const tutti_loop_step *s, tutti_strbuf *sb)
{
    const tutti_plan *p = c->named ? c->named : c->plan;
    const tutti_loop_run *run = &c->runs[s->run];
    tutti_arena arena = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    const tutti_loop *l = &p->loops[run->driver];
    if (rank != p->config.rank) {
        tutti_plan_list_loops(p, rank, &arena, loops);
        l = &loops[run->driver];
    }
    tutti_strbuf_printf(sb, "rank %d, training step %d, ", rank, run->train_step);
    if (s->action < 0) {
        tutti_strbuf_puts(sb, s->run ? "end" : "begin");
    } else {
        tutti_strbuf_printf(sb, "action %d ", s->action);
        if (run->driver != TUTTI_EACH_STEP) tutti_strbuf_printf(sb, "of %s ", tutti_loop_driver_name(run->driver));
        tutti_strbuf_puts(sb, "(");
        tutti_plan_print_action(p, &l->actions[s->action], sb);
        if (s->param >= 0) tutti_strbuf_printf(sb, ", %s", p->graph->params[s->param].name);
        tutti_strbuf_puts(sb, ")");
    }
    tutti_arena_release(&arena);
}

static void describe_exchange_step(const tutti_composition *c, const tutti_unrolled *l, int rank, int step,
                                   tutti_strbuf *sb)
{
    const tutti_plan *p = c->plan;
    int at = c->most_invocations * p->nexchanges - 1;
    while (at > 0 && (l->first_step[at] > step || at / p->nexchanges >= c->ninvocations[at % p->nexchanges] ||
                      tutti_composition_part(c, at % p->nexchanges, rank)->nsteps == 0))
        at--;
    const tutti_plan_exchange *x = &p->exchanges[at % p->nexchanges];
    const tutti_part *part = tutti_composition_part(c, at % p->nexchanges, rank);
    const int index = step - l->first_step[at];
    tutti_strbuf_printf(sb, "rank %d, %s of %s number %d, its step %d (%s)", rank,
                        tutti_collective_name(tutti_schedule_head(c->schedules[x->schedule].schedule)->collective),
                        x->name, at / p->nexchanges, index, tutti_step_kind_name(part->steps[index].kind));
}

void tutti_plan_describe_step(const void *owner, int32_t rank, int32_t step, char *out, size_t size)
{
    const tutti_composition *c = owner;
    tutti_arena arena = {0};
    tutti_unrolled loop;
    tutti_strbuf sb = {0};
    if (c->loops)
        loop = c->loops[rank];
    else
        tutti_composition_unroll(c, rank, &arena, &loop, NULL);
    if (step >= loop.nexchange_steps)
        describe_loop_step(c, rank, &loop.steps[step - loop.nexchange_steps], &sb);
    else
        describe_exchange_step(c, &loop, rank, step, &sb);
    snprintf(out, size, "%s", sb.text);
    tutti_strbuf_release(&sb);
    tutti_arena_release(&arena);
}

/* Appends "weights", "gradients (copy 2)" or "scratch of an exchange". */
static void name_buffer(const tutti_composition *c, int rank, int buffer, tutti_strbuf *sb)
{
    static const char *const first[TUTTI_COMPOSED_FIRST_MEMORY] = {"result", "weights as seen", "samples of its group"};
    const tutti_plan *p = c->plan;
    const int at = buffer - tutti_composition_nslots(c, rank);
    if (at < 0) {
        tutti_strbuf_printf(sb, "slot %d", buffer);
        return;
    }
    if (at < TUTTI_COMPOSED_FIRST_MEMORY) {
        tutti_strbuf_puts(sb, first[at]);
        return;
    }
    for (int m = 0; m < p->nmemories; m++) {
        const int copy = at - c->memory_base[m];
        if (copy < 0 || copy >= tutti_composition_copies(c, m)) continue;
        tutti_strbuf_puts(sb, p->memories[m].name);
        if (p->memories[m].copies > 1) tutti_strbuf_printf(sb, " (copy %d)", copy);
        return;
    }
    tutti_strbuf_puts(sb, "scratch of an exchange");
}

/* Returns the element of the index space at which a slice begins. */
static int64_t element_at(const tutti_composition *c, const tutti_slice *s)
{
    if (c->loops) return c->zone.first + s->first * (c->zone.last - c->zone.first) / s->of;
    return c->edges[(int64_t)s->first * (c->nedges - 1) / s->of];
}

void tutti_plan_describe_cell(const void *owner, const tutti_slice *begin, const tutti_slice *end, char *out,
                              size_t size)
{
    const tutti_composition *c = owner;
    const tutti_plan *p = c->plan;
    int64_t first = element_at(c, begin), last = element_at(c, end);
    if (c->refutation) {
        const tutti_stretch own = c->refutation->class;
        first = first > own.first ? first : own.first;
        last = last < own.last ? last : own.last;
        c->refutation->misses |= first >= last;
    }
    const char *param = first < p->total ? "padding" : "all of them";
    tutti_strbuf sb = {0};
    for (int i = 0; i < p->control.first_param; i++) {
        const int at = p->order[i];
        if (p->param_offset[at] <= first && first < p->param_offset[at] + p->graph->params[at].desc.elements)
            param = p->graph->params[at].name;
        if (first < p->param_offset[at] && p->param_offset[at] < last) last = p->param_offset[at];
    }
    name_buffer(c, begin->rank, begin->buffer, &sb);
    snprintf(out, size, "rank %d's %s, elements %" PRId64 " to %" PRId64 " (%s)", begin->rank, sb.text,
             first % p->total, first % p->total + last - first - 1, param);
    tutti_strbuf_release(&sb);
}
