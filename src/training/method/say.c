/* SPDX-License-Identifier: Apache-2.0 */
/* say.c: says in at most ten words how a plan's ranks exchange: what is sent, how often, by which algorithms, in which
 * types. The words are read from the plan's exchanges, so that a key of the job that changes these changes the words
 * too. Only the method's name, and whether it is plain (is_plain), come from its row. */
#include <string.h>

#include "method.h"

/* How the exchanges of a step or a period move vectors of parameters. */
typedef struct {
    unsigned collectives; /* bit set of tutti_collective */
    bool of_weights;      /* true if the sums are of weights; false: of gradients */
    bool half, whole;     /* half: the exchanges send some values in 16 bits; whole: they send some in f32 */
    tutti_dtype type;     /* the 16-bit type, if `half` */
    tutti_strbuf algorithms;
} travels;

static bool carries_parameters(const tutti_plan *p, const tutti_plan_exchange *x)
{
    const unsigned trains = 1u << TUTTI_EACH_STEP | 1u << TUTTI_EACH_PERIOD | 1u << TUTTI_EACH_END;
    const tutti_memory_role role = p->memories[x->in.memory].role;
    return (x->drivers & trains) && !x->is_travel && role <= TUTTI_ROLE_CENTRE;
}

/* Appends the name of an algorithm unless it is there already: "direct", then "direct/ring". */
static void add_algorithm(const char *name, tutti_strbuf *out)
{
    const char *at = out->length ? strstr(out->text, name) : NULL;
    const size_t n = strlen(name);
    if (at && (at == out->text || at[-1] == '/') && (!at[n] || at[n] == '/')) return;
    if (out->length) tutti_strbuf_puts(out, "/");
    tutti_strbuf_puts(out, name);
}

static travels look(const tutti_plan *p)
{
    travels t = {0};
    for (int i = 0; i < p->nexchanges; i++) {
        const tutti_plan_exchange *x = &p->exchanges[i];
        if (!carries_parameters(p, x)) continue;
        const tutti_schedule_header *h = tutti_schedule_head(p->schedules[x->schedule].compiled);
        const tutti_dtype type = x->sent ? x->sent : p->memories[x->in.memory].type;
        t.collectives |= 1u << h->collective;
        if (tutti_collective_reduces(h->collective))
            t.of_weights = p->memories[x->in.memory].role == TUTTI_ROLE_WEIGHTS;
        if (type == TUTTI_F32)
            t.whole = true;
        else
            t.half = true, t.type = type;
        add_algorithm(h->algorithm, &t.algorithms);
    }
    return t;
}

static void add_pattern(const tutti_plan *p, const travels *t, tutti_strbuf *out)
{
    const bool sums_all = t->collectives & 1u << TUTTI_ALLREDUCE, slices = t->collectives & 1u << TUTTI_REDUCE_SCATTER;
    if (tutti_plan_has_period(p) && p->config.period > 1) {
        tutti_strbuf_printf(out, "weights every %lld steps", (long long)p->config.period);
        return;
    }
    if (t->of_weights)
        tutti_strbuf_puts(out, slices     ? "sharded all-reduce of weights"
                               : sums_all ? "all-reduce of weights"
                                          : "weights to a centre");
    else
        tutti_strbuf_puts(out, slices     ? "sharded all-reduce"
                               : sums_all ? "replicated all-reduce"
                                          : "reduce and broadcast");
}

static void add_visits(const tutti_plan *p, tutti_strbuf *out)
{
    static const char *const words[] = {"", "by arrival", "in rank order", "without a lock"};
    if (p->config.period > 1)
        tutti_strbuf_printf(out, "visits every %lld steps", (long long)p->config.period);
    else
        tutti_strbuf_printf(out, "visits %s, f32", words[p->admission]);
}

/* Adds the types in which values are sent: the 16-bit type, f32, or both, that of gradients first. */
static void add_types(const tutti_plan *p, const travels *t, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, ", %s%s", t->half ? tutti_dtype_name(t->type) : "f32", t->half && t->whole ? "/f32" : "");
    if (p->config.rounds_each) tutti_strbuf_puts(out, " per hop");
}

void tutti_method_say(const tutti_method_row *row, const tutti_plan *p, tutti_strbuf *out)
{
    const int n = p->config.nranks;
    const char *parallelism = tutti_plan_parallelism(p);
    travels t = look(p);
    tutti_strbuf_printf(out, "%s, %d rank%s: ", row->name, n, n == 1 ? "" : "s");
    if (strcmp(parallelism, "data") != 0) tutti_strbuf_printf(out, "%s, ", parallelism);
    if (tutti_plan_is_async(p)) {
        add_visits(p, out);
    } else if (n == 1 || !t.algorithms.length) {
        tutti_strbuf_puts(out, n == 1 ? "nothing travels" : "activations travel");
    } else {
        add_pattern(p, &t, out);
        tutti_strbuf_printf(out, " by %s", t.algorithms.text);
        add_types(p, &t, out);
    }
    if (row->is_plain) tutti_strbuf_puts(out, ", plain SGD");
    tutti_strbuf_release(&t.algorithms);
}
