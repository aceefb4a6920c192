/* SPDX-License-Identifier: Apache-2.0 */
/* tell_choice.c: prints the answer of the chooser of algorithms: the question, the time of each algorithm, the choice
 * and why. */
#include <stdlib.h>
#include <string.h>

#include "../../../base/clock.h"
#include "../../../base/text/json.h"
#include "tell_choice.h"

void tutti_tell_row(const char *name, int width, const tutti_simulation *s, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%-*s %11s %11s %11s %11s %11s %7d %9lld  %s %.0f%%", width, name,
                        tutti_time_words(s->seconds).text, tutti_time_words(s->latency_s).text,
                        tutti_time_words(s->transfer_s).text, tutti_time_words(s->local_s).text,
                        tutti_time_words(s->lower_s).text, (int)s->nrounds, (long long)s->nmessages,
                        s->bottleneck < 0 ? "-" : s->bottleneck_name, 100 * s->bottleneck_busy);
}

static int name_width(const tutti_choice *choice)
{
    int width = 18;
    for (int i = 0; i < choice->ncandidates; i++) {
        int length = (int)strlen(choice->candidates[i].algorithm);
        width = length > width ? length : width;
    }
    return width;
}

void tutti_tell_heads(const char *name, int width, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%-*s %11s %11s %11s %11s %11s %7s %9s  %s\n", width, name, "predicted", "latency",
                        "transfer", "local", "at least", "rounds", "messages", "busiest");
}

static void tell_candidates(const tutti_choice *choice, tutti_strbuf *out)
{
    int width = name_width(choice);
    tutti_tell_heads("algorithm", width, out);
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        const tutti_simulation *s = &c->sim;
        if (!c->can) {
            tutti_strbuf_printf(out, "%-*s %s: %s%s\n", width, c->algorithm, c->skipped ? "skipped" : "cannot",
                                c->refusal, c->skipped ? " (--all does it)" : "");
            continue;
        }
        tutti_tell_row(c->algorithm, width, s, out);
        tutti_strbuf_printf(out, "%s\n", i == choice->best ? "  <-" : tutti_choice_ties(choice, i) ? "  tie" : "");
    }
}

static void tell_reason(const tutti_choice *choice, tutti_strbuf *out)
{
    if (choice->best < 0) {
        tutti_strbuf_printf(out, "\nno algorithm can do this\n");
        return;
    }
    const tutti_candidate *best = &choice->candidates[choice->best], *second = NULL;
    int nties = 0;
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        if (i != choice->best && tutti_choice_ties(choice, i))
            nties++;
        else if (c->can && c != best && (!second || c->sim.seconds < second->sim.seconds))
            second = c;
    }
    const tutti_simulation *s = &best->sim;
    const char *most = s->latency_s >= s->transfer_s && s->latency_s >= s->local_s ? "waiting (latency)"
                       : s->transfer_s >= s->local_s                               ? "its busiest link"
                                                                                   : "reading, adding and writing";
    tutti_strbuf_printf(out, "\nchoice: %s, %s", best->algorithm, tutti_time_words(s->seconds).text);
    if (nties)
        tutti_strbuf_printf(out, "; %d tie%s with it: within a thousandth the earlier row is taken", nties,
                            nties == 1 ? "s" : "");
    if (second && s->seconds > 0)
        tutti_strbuf_printf(out, "; the next, %s, takes %.2f times as long", second->algorithm,
                            second->sim.seconds / s->seconds);
    tutti_strbuf_printf(out, ".\nMost of its time is %s.\n", most);
    const tutti_bounds *b = &choice->bounds;
    tutti_strbuf_printf(out,
                        "bounds: latency %s, bandwidth %s, compute %s; the choice takes %.2f times the best bound "
                        "(%s).\n",
                        tutti_time_words(b->latency_s).text, tutti_time_words(b->bandwidth_s).text,
                        tutti_time_words(b->compute_s).text, b->best_s > 0 ? s->seconds / b->best_s : 1.0, b->best);
    if (b->in_network_s > 0)
        tutti_strbuf_printf(out, "If switches added, too: no less than %s.\n", tutti_time_words(b->in_network_s).text);
    tutti_strbuf_printf(out, "Not in the model: packets, congestion control, other users of the machine.\n");
}

static void tell_json(const tutti_choice *choice, tutti_strbuf *out)
{
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        tutti_json j = {.out = out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "algorithm", c->algorithm);
        tutti_json_bool(&j, "can", c->can);
        tutti_json_bool(&j, "chosen", i == choice->best);
        tutti_json_bool(&j, "tie", i != choice->best && tutti_choice_ties(choice, i));
        if (c->can) {
            tutti_json_real(&j, "seconds", c->sim.seconds);
            tutti_json_real(&j, "lower_s", c->sim.lower_s);
            tutti_json_real(&j, "latency_s", c->sim.latency_s);
            tutti_json_real(&j, "transfer_s", c->sim.transfer_s);
            tutti_json_real(&j, "local_s", c->sim.local_s);
            tutti_json_int(&j, "fan_in", c->sim.fan_in);
            tutti_json_int(&j, "rounds", c->sim.nrounds);
            tutti_json_int(&j, "messages", c->sim.nmessages);
            tutti_json_text(&j, "bottleneck", c->sim.bottleneck < 0 ? NULL : c->sim.bottleneck_name);
        } else {
            tutti_json_text(&j, "refusal", c->refusal);
        }
        tutti_json_real(&j, "bound_s", choice->bounds.best_s);
        tutti_json_real(&j, "in_network_bound_s", choice->bounds.in_network_s);
        tutti_json_close(&j, '}');
        tutti_strbuf_puts(out, "\n");
    }
}

/* Counts how many of the figures that the times use are measured. */
static void tell_provenance(const tutti_topology *t, tutti_strbuf *out)
{
    int count[TUTTI_FROM_RECALLED + 1] = {0};
    for (int f = 0; f < TUTTI_NFIGURES; f++)
        if (t->figure[f] > 0) count[t->from[f]]++;
    tutti_strbuf_printf(out, "figures:");
    for (int p = 0; p <= TUTTI_FROM_RECALLED; p++)
        if (count[p]) tutti_strbuf_printf(out, " %d %s", count[p], tutti_provenance_name((tutti_provenance)p));
    bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    tutti_strbuf_printf(out, "%s\n\n",
                        host && !count[TUTTI_FROM_FITTED] ? "; none is fitted: 'tutti coll tune' measures this host"
                                                          : "");
}

void tutti_tell_question(const tutti_compile_request *q, const tutti_policy *policy, const tutti_topology *t,
                         const char *sizes, tutti_strbuf *out)
{
    char *described = tutti_topology_describe(t);
    tutti_strbuf_printf(out, "%s of %s over %d ranks, %s: %s\n%s", tutti_collective_name(q->collective), sizes,
                        q->nranks, policy->name, policy->summary, described);
    tell_provenance(t, out);
    free(described);
}

void tutti_tell_choice(const tutti_choice *choice, bool json, tutti_strbuf *out)
{
    if (json) {
        tell_json(choice, out);
    } else {
        tell_candidates(choice, out);
        tell_reason(choice, out);
    }
}
