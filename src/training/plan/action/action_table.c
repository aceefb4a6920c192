/* SPDX-License-Identifier: Apache-2.0 */
/* action_table.c: the table of actions, and the actions that are no loop over elements: kernels, exchanges, visits,
 * looks and the job's rule. To add a row, write its file and add its name to TUTTI_ACTIONS (action.h). */
#include "../../../base/text/strbuf.h"
#include "../plan.h"

#define DECLARE(KIND, name) extern const tutti_action_row tutti_action_##name;
TUTTI_ACTIONS(DECLARE)

/* Appends the name of the kernel's node in the graph, which names what it reads and writes. */
static void describe_kernel(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    const tutti_node *n = &p->graph->nodes[a->node];
    const bool moves = n->kind == TUTTI_NODE_MOVE;
    tutti_strbuf_printf(sb, "%s %s%s", moves ? tutti_hop_name(n->hop) : tutti_node_kind_name(n->kind),
                        moves ? "of " : "", p->graph->model->layers[n->layer].name);
}

const tutti_action_row tutti_action_kernel = {.words = "", .describe = describe_kernel};

static void describe_fold(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    (void)p;
    tutti_strbuf_printf(sb, ": copy %d += %d", a->dst, a->src);
}

const tutti_action_row tutti_action_fold = {
    .words = "fold",
    .describe = describe_fold,
    .flows = {{TUTTI_FLOW_ADDS, TUTTI_AT_COPY_SRC, TUTTI_AT_COPY_DST}},
};

const tutti_action_row tutti_action_start = {.words = "start", .starts = true}, tutti_action_tell = {.words = "tell"},
                       tutti_action_wait = {.words = "wait", .waits = true},
                       tutti_action_pace = {.words = "wait for the slowest worker", .waits = true},
                       tutti_action_enter = {.words = "begin a visit", .waits = true, .visit = 1},
                       tutti_action_leave = {.words = "end the visit", .visit = -1};

static void describe_look(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    (void)a;
    if (p->config.norms == TUTTI_NORMS_OF_TENSORS) tutti_strbuf_puts(sb, ": norms of its tensors");
}

const tutti_action_row tutti_action_look = {
    .words = "look",
    .describe = describe_look,
    .types = TUTTI_COUNTED,
    .flows = {{TUTTI_FLOW_WRITES, TUTTI_AT_FROM, TUTTI_AT_NOTHING},
              {TUTTI_FLOW_WRITES, TUTTI_AT_NORMED_WEIGHTS, TUTTI_AT_NOTHING},
              {TUTTI_FLOW_WRITES, TUTTI_AT_NORMED_STATES, TUTTI_AT_NOTHING},
              {TUTTI_FLOW_WRITES, TUTTI_AT_NOTHING, TUTTI_AT_TO}},
};

static void describe_apply(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    if (p->memories[a->to].is_common) tutti_strbuf_printf(sb, " of the %s", p->memories[a->to].name);
    if (a->pulled) tutti_strbuf_puts(sb, ", pulled to the centre");
}

const tutti_action_row tutti_action_apply = {
    .words = "update",
    .describe = describe_apply,
    .types = TUTTI_ON_F32,
    .flows = {{TUTTI_FLOW_WRITES, TUTTI_AT_VERDICT, TUTTI_AT_NOTHING},
              {TUTTI_FLOW_WRITES, TUTTI_AT_NORM, TUTTI_AT_NOTHING},
              {TUTTI_FLOW_WRITES, TUTTI_AT_PULL, TUTTI_AT_NOTHING},
              {TUTTI_FLOW_CHANGES, TUTTI_AT_FROM, TUTTI_AT_STATES},
              {TUTTI_FLOW_CHANGES, TUTTI_AT_FROM, TUTTI_AT_TO}},
    .by_rule = true,
};

static void describe_convert(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, ": %s to %s", p->memories[a->from].name, tutti_dtype_name(p->memories[a->to].type));
}

/* Converts to the type of `to`: rounded to nearest even, or widened. */
const tutti_action_row tutti_action_convert = {
    .words = "convert",
    .describe = describe_convert,
    .types = TUTTI_CONVERTED,
    .flows = {{TUTTI_FLOW_WRITES, TUTTI_AT_FROM, TUTTI_AT_TO}},
};

#define ROW(KIND, name) [TUTTI_DO_##KIND] = &tutti_action_##name,
static const tutti_action_row *const rows[TUTTI_NACTIONS] = {TUTTI_ACTIONS(ROW)};

const tutti_action_row *tutti_action_row_of(tutti_action_kind kind)
{
    return rows[kind];
}

void tutti_elements_run(const tutti_elements *e)
{
    e->loop->run[tutti_isa_here()](e);
}
