/* SPDX-License-Identifier: Apache-2.0 */
/* plan_describe.c: counter-examples of a composition in the words of the plan: actions, buckets, parameters. */
#include <inttypes.h>
#include <stdio.h>

#include "plan_compose.h"

static const char *const exchange_names[TUTTI_NEXCHANGES] = {"reduce-scatter of bucket", "all-gather of bucket"};

static void describe_loop_step(const tutti_composition *c, int rank, const tutti_loop_step *s, char *out, size_t size)
{
    const tutti_plan *p = c->plan;
    tutti_arena arena = {0};
    tutti_action *actions = p->actions;
    int nactions = p->nactions;
    if (rank != p->config.rank) tutti_plan_list_actions(p, rank, &arena, &actions, &nactions);
    int n = snprintf(out, size, "rank %d, training step %d, ", rank, s->train_step);
    out += n, size -= (size_t)n;
    if (s->action < 0) {
        snprintf(out, size, "%s", s->train_step ? "end" : "begin");
    } else {
        const tutti_action *a = &actions[s->action];
        n = snprintf(out, size, "action %d (%s", s->action, tutti_action_kind_name(a->kind));
        if (a->layer >= 0) n += snprintf(out + n, size - (size_t)n, " %s", p->graph->model->layers[a->layer].name);
        if (a->bucket >= 0) n += snprintf(out + n, size - (size_t)n, " bucket %d", a->bucket);
        if (s->param >= 0) n += snprintf(out + n, size - (size_t)n, ", %s", p->graph->params[s->param].name);
        snprintf(out + n, size - (size_t)n, ")");
    }
    tutti_arena_release(&arena);
}

static void describe_exchange_step(const tutti_composition *c, const tutti_loop *l, int rank, int step, char *out,
                                   size_t size)
{
    const int n = c->nbound;
    int i = c->ntrain_steps * n - 1;
    while (l->first_step[i] > step) i--;
    while (c->exchanges[c->exchange_of[i % n]].parts[rank].nsteps == 0) i--;
    const int exchange = i % n, index = step - l->first_step[i];
    const tutti_part *part = &c->exchanges[c->exchange_of[exchange]].parts[rank];
    const char *step_name = tutti_step_kind_name(part->steps[index].kind);
    if (tutti_composition_kind(c, exchange) == TUTTI_GATES)
        snprintf(out, size, "rank %d, training step %d, allreduce of the gate, its step %d (%s)", rank, i / n, index,
                 step_name);
    else
        snprintf(out, size, "rank %d, training step %d, %s %d, its step %d (%s)", rank, i / n,
                 exchange_names[exchange % TUTTI_NEXCHANGES], exchange / TUTTI_NEXCHANGES, index, step_name);
}

void tutti_plan_describe_step(const void *owner, int32_t rank, int32_t step, char *out, size_t size)
{
    const tutti_composition *c = owner;
    tutti_arena arena = {0};
    tutti_loop loop;
    tutti_composition_loop(c, rank, &arena, &loop, NULL);
    if (step >= loop.nexchange_steps)
        describe_loop_step(c, rank, &loop.steps[step - loop.nexchange_steps], out, size);
    else
        describe_exchange_step(c, &loop, rank, step, out, size);
    tutti_arena_release(&arena);
}

void tutti_plan_describe_cell(const void *owner, const tutti_slice *begin, const tutti_slice *end, char *out,
                              size_t size)
{
    const tutti_composition *c = owner;
    const tutti_plan *p = c->plan;
    const int64_t first = c->edges[(int64_t)begin->first * (c->nedges - 1) / begin->of];
    const int64_t last = c->edges[(int64_t)end->first * (c->nedges - 1) / end->of];
    const int memory = begin->buffer - tutti_composition_nslots(c, begin->rank);
    static const char *const names[] = {"result", "weights as seen", "weights", "flag", "verdict"};
    char name[32];
    const char *param = "padding";
    if (memory < 0)
        snprintf(name, sizeof name, "slot %d", begin->buffer);
    else if (memory < TUTTI_MEMORY_GRADS)
        snprintf(name, sizeof name, "%s", names[memory]);
    else if (memory < TUTTI_MEMORY_GRADS + p->nroots_max)
        snprintf(name, sizeof name, "gradient buffer %d", memory - TUTTI_MEMORY_GRADS);
    else if (memory < tutti_composition_state(c, p->config.nstates))
        snprintf(name, sizeof name, "%s", p->config.states[memory - tutti_composition_state(c, 0)]);
    else
        snprintf(name, sizeof name, "scratch of an exchange");
    for (int i = 0; i < p->graph->nparams; i++)
        if (p->param_offset[i] <= first && first < p->param_offset[i] + p->graph->params[i].desc.elements)
            param = p->graph->params[i].name;
    snprintf(out, size, "rank %d's %s, elements %" PRId64 " to %" PRId64 " (%s)", begin->rank, name, first, last - 1,
             param);
}
