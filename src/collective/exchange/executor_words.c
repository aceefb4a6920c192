/* SPDX-License-Identifier: Apache-2.0 */
/* executor_words.c: describes the state of an exchange: the step that holds it up, the rank that it waits for, and the
 * ranks that have not begun. */
#include "../../base/text/strbuf.h"
#include "executor_impl.h"

int64_t tutti_exchange_begun(const tutti_exchange *x, int32_t member)
{
    const tutti_counter *started = (const tutti_counter *)(const void *)tutti_exchange_base(x, member);
    return started ? (int64_t)atomic_load(started) : -1;
}

/* A far rank that waits too reports so after a while; a far rank without such a report counts as absent. */
bool tutti_exchange_is_absent(const tutti_exchange *x, int32_t member)
{
    const int64_t begun = tutti_exchange_begun(x, member);
    if (member == x->me) return false;
    return begun < 0 ? !tutti_group_is_waiting(x->group, x->members[member]) : begun <= x->invocation;
}

void tutti_exchange_list_absent(const tutti_exchange *x, bool with_state, tutti_strbuf *out)
{
    const tutti_group *g = x->group;
    const size_t before = out->length;
    for (int32_t member = 0; member < x->nmembers; member++) {
        const int r = x->members[member];
        const bool absent = tutti_exchange_is_absent(x, member);
        if (!absent && !(with_state && r != g->rank && tutti_peer_is_stopped(g, r))) continue;
        tutti_strbuf_printf(out, "%s%s%s%s", out->length > before ? ", " : "", g->peers[r].describe,
                            with_state ? tutti_peer_condition(g, r) : "", absent ? "" : " after it began");
    }
    if (out->length == before) tutti_strbuf_puts(out, "nobody: all have started it");
}

int32_t tutti_exchange_held_step(const tutti_exchange *x)
{
    for (int32_t q = 0; q < x->nsequences; q++)
        if (x->sequences[q].at < x->sequences[q].nops) return x->sequences[q].ops[x->sequences[q].at];
    return -1;
}

int64_t tutti_exchange_missing(const tutti_exchange *x)
{
    int64_t missing = 0;
    for (int32_t i = 0; i < x->nops; i++)
        if (x->ops[i].done <= x->invocation)
            missing += (x->ops[i].n - x->ops[i].cursor) * x->ops[i].nouts * (int64_t)x->ops[i].out_bytes;
    return missing;
}

void tutti_exchange_describe(const tutti_exchange *x, tutti_strbuf *out)
{
    const tutti_group *g = x->group;
    const int32_t i = tutti_exchange_held_step(x);
    tutti_strbuf_printf(out, "exchange '%s' (%s, invocation %lld", x->name, x->algorithm, (long long)x->invocation);
    if (x->over_some) tutti_strbuf_puts(out, ", over ranks");
    for (int32_t member = 0; member < x->nmembers && x->over_some; member++)
        tutti_strbuf_printf(out, " %d", x->members[member]);
    tutti_strbuf_puts(out, "): ");
    if (!x->active) {
        tutti_strbuf_puts(out, "not under way");
        return;
    }
    if (i >= 0) {
        const tutti_op *op = &x->ops[i];
        tutti_strbuf_printf(out, "step %d (%s, stage %d)", i, tutti_step_kind_name(op->kind), op->stage);
        if (op->kind == TUTTI_STEP_WAIT)
            tutti_strbuf_printf(out, " for %s on channel %d", g->peers[op->peer].describe, op->channel);
        if (x->first && op->when & ~x->when & TUTTI_WHEN_READY)
            tutti_strbuf_printf(out, " held back until '%s' has ended", x->first->name);
        else if (op->when & ~x->when)
            tutti_strbuf_printf(out, " held back by this rank's own '%s'",
                                op->when & ~x->when & TUTTI_WHEN_READY ? "ready" : "free");
    }
    tutti_strbuf_printf(out, ", %lld bytes still to write here", (long long)tutti_exchange_missing(x));
}

bool tutti_exchange_describe_all(const tutti_group *g, tutti_strbuf *out)
{
    bool any = false;
    for (const tutti_exchange *x = g->exchanges; x; x = x->next) {
        if (!x->active) continue;
        tutti_strbuf_puts(out, "  ");
        tutti_exchange_describe(x, out);
        tutti_strbuf_puts(out, "; not arrived: ");
        tutti_exchange_list_absent(x, true, out);
        tutti_strbuf_puts(out, "\n");
        any = true;
    }
    return any;
}

static int32_t find_member(const tutti_exchange *x, int rank)
{
    int32_t member = x->nmembers - 1;
    while (member >= 0 && x->members[member] != rank) member--;
    return member;
}

int64_t tutti_exchange_count_begun(const tutti_group *g, int rank, int64_t *own)
{
    int64_t sum = 0;
    for (const tutti_exchange *x = g->exchanges; x; x = x->next) {
        const int32_t member = find_member(x, rank);
        const int64_t begun = member < 0 ? -1 : tutti_exchange_begun(x, member);
        if (begun < 0) continue;
        sum += begun;
        *own += tutti_exchange_begun(x, x->me);
    }
    return sum;
}
