/* SPDX-License-Identifier: Apache-2.0 */
/* planning_table.c: prints steps at several rank counts as a table for people, with the reasons. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../job/job_fields.h"
#include "../profile/profile.h"
#include "planning_parts.h"
#include "tutti/topology.h"

/* Prints which ranks are slow, and how much time the other ranks lose by them. */
static void print_slowness(const tutti_predict_question *q, tutti_strbuf *out)
{
    int most = 0;
    for (int i = 0; i < q->nranks; i++) most = q->ranks[i] > most ? q->ranks[i] : most;
    tutti_strbuf_printf(out, "\nSlow on purpose:");
    for (int i = 0; i < most; i++)
        if (q->slowness[i] > 1) tutti_strbuf_printf(out, " rank %d %g times", i, q->slowness[i]);
    tutti_strbuf_printf(out, q->predicted[0].visits > 0 ? "; whoever need not wait for it takes more of the shares.\n"
                                                        : "; all ranks wait for the slowest.\n");
}

/* Prints which fraction of a step is spent waiting. */
static void print_shares(const tutti_predict_question *q, tutti_strbuf *out)
{
    const char *before = "\nCommunication, of a step:";
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        if (p->step_s <= 0) continue;
        tutti_strbuf_printf(out, "%s %.1f%% at %d", before, 100 * p->exposed_s / p->step_s, p->nranks);
        before = ",";
    }
    tutti_strbuf_printf(out, ".\n");
}

/* Prints how groups of ranks share layers. */
static void print_groups(const tutti_predict_question *q, tutti_strbuf *out)
{
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        if (p->groups)
            tutti_strbuf_printf(
                out,
                "%s%d ranks in %d group%s: of the exchanges %.3f ms are what split layers hand on, which is waited "
                "for at "
                "once.\n",
                i ? "" : "\n", p->nranks, p->groups, p->groups == 1 ? "" : "s", p->travel_s * 1e3);
    }
}

const tutti_prediction *tutti_predict_last(const tutti_predict_question *q)
{
    int i = q->nranks - 1;
    while (i > 0 && q->predicted[i].refused[0]) i--;
    return &q->predicted[i];
}

void tutti_predict_add_choice(const tutti_predict_question *q, tutti_strbuf *out)
{
    const tutti_prediction *p = tutti_predict_last(q);
    if (p->choice[0])
        tutti_strbuf_printf(out, "\nExchange at %d ranks: %s, chosen in %.2f s.\n", p->nranks, p->choice, p->choice_s);
    if (q->faster[0]) tutti_strbuf_printf(out, "%s%s\n", p->choice[0] ? "" : "\n", q->faster);
    if (q->shared[0]) tutti_strbuf_printf(out, "%s%s\n", p->choice[0] || q->faster[0] ? "" : "\n", q->shared);
}

/* Prints how gradients travel at the last rank count, and how long that takes. */
static void print_exchanges(const tutti_predict_question *q, tutti_strbuf *out)
{
    const tutti_prediction *p = tutti_predict_last(q);
    static const char *const sizes[TUTTI_PREDICTED_SIZES] = {"4 KiB", "64 KiB", "1 MiB", "16 MiB"};
    if (p->nranks == 1 || p->visits > 0) return;
    tutti_predict_add_choice(q, out);
    tutti_strbuf_printf(out, "\n%d ranks exchange by %s; a bucket of", p->nranks, p->algorithm);
    for (int i = 0; i < TUTTI_PREDICTED_SIZES; i++)
        tutti_strbuf_printf(out, "%s %s takes %.3g ms", i ? "," : "", sizes[i], p->by_size_s[i] * 1e3);
    tutti_strbuf_printf(out, ". Busiest: %s.\n", p->bottleneck);
}

/* Explains an efficiency above 1: the single rank that the others are compared with updates all weights, but each of
 * several ranks only a part. */
static void explain_efficiency(const tutti_predict_question *q, tutti_strbuf *out)
{
    double most = 0;
    for (int i = 0; i < q->nranks; i++) most = fmax(most, q->predicted[i].efficiency);
    if (most < 1.0005) return;
    tutti_strbuf_printf(
        out,
        "\nEfficiency above 100 %%: one rank, which it is held against, updates all weights by itself, of several "
        "each its share%s.\n",
        q->options.weak ? ""
                        : "; and kernels need not take half as long for twice the samples, as fewer fit in caches");
}

/* Prints assumptions that are in no file. */
static void print_assumed(const tutti_predict_question *q, tutti_strbuf *out)
{
    const tutti_prediction *p = tutti_predict_last(q);
    if (!p->assumes_updates && !p->assumes_loading) return;
    tutti_strbuf_printf(out, "\nAssumed, as %s does not say it (traces of tutti train do):", q->options.read_trace);
    if (p->assumes_updates)
        tutti_strbuf_printf(out, " updates take %g ns an element, 20 bytes at 10 GB/s;", TUTTI_ASSUMED_UPDATE_S * 1e9);
    if (p->assumes_loading) tutti_strbuf_printf(out, " loading is hidden;");
    tutti_strbuf_printf(out, " layers are as traced.\n");
}

/* Prints how much the steps of the trace differ, and what that means for ranks that wait for each other. */
static bool print_spread(const tutti_predict_question *q, tutti_strbuf *out)
{
    const tutti_prediction *last = tutti_predict_last(q);
    const char *before = "\nSteps of the trace differ, and ranks wait for the slowest: computing takes",
               *times = " times its mean";
    if (!(last->spread > 0) || last->visits > 0) return false;
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        if (!(p->spread > 0)) continue;
        tutti_strbuf_printf(out, "%s %.3f%s at %d", before, p->spread, times, p->nranks);
        before = ",", times = "";
    }
    tutti_strbuf_printf(out, ".\n");
    return true;
}

void tutti_predict_add_table(const tutti_predict_question *q, tutti_strbuf *out)
{
    bool measured = false;
    int shared = 0;
    char *described = tutti_topology_describe(&q->topology);
    const tutti_prediction *last = tutti_predict_last(q);
    const double mb = (double)last->exchanged_bytes / 1e6;
    tutti_strbuf_printf(out, "%s\n%s, ", described, q->job_path);
    if (last->visits > 0)
        tutti_strbuf_printf(out, "visits of %.3f MB each way, %.3g a worker and step\n\n", mb / last->visits,
                            last->visits);
    else
        tutti_strbuf_printf(out, "%d exchanges a step of %.3f MB in all\n\n", last->nexchanges, mb);
    for (int i = 0; i < q->nranks; i++) measured |= isfinite(q->measured_s[i]);
    tutti_strbuf_printf(out, "%5s %10s %10s %10s %10s %10s %10s %10s %9s %10s%s\n", "ranks", "step ms", "compute",
                        "exchange", "exposed", "at least", "at most", "samples/s", "speed-up", "efficiency",
                        measured ? "   measured    error" : "");
    for (int i = 0; i < q->nranks; i++) {
        const tutti_prediction *p = &q->predicted[i];
        if (p->refused[0]) {
            tutti_strbuf_printf(out, "%5d %s\n", p->nranks, p->refused);
            continue;
        }
        tutti_strbuf_printf(out, "%5d %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.1f %9.2f %9.1f%%", p->nranks,
                            p->step_s * 1e3, p->compute_s * 1e3, p->exchange_s * 1e3, p->exposed_s * 1e3,
                            p->lower_s * 1e3, p->upper_s * 1e3, p->samples_per_s, p->speedup, p->efficiency * 100);
        if (isfinite(q->measured_s[i]))
            tutti_strbuf_printf(out, " %10.3f %+7.1f%%", q->measured_s[i] * 1e3,
                                100 * (p->step_s / q->measured_s[i] - 1));
        tutti_strbuf_printf(out, "\n");
        if (p->ranks_per_core > 1) shared = p->ranks_per_core;
    }
    print_shares(q, out);
    print_exchanges(q, out);
    explain_efficiency(q, out);
    print_groups(q, out);
    if (q->options.weak)
        tutti_strbuf_printf(out, "\nWeak scaling: each rank has the job's batch of %lld.\n",
                            (long long)q->job->plan.batch);
    print_assumed(q, out);
    const bool spread = print_spread(q, out);
    if (q->slowness) print_slowness(q, out);
    if (shared)
        tutti_strbuf_printf(
            out, "\nMore ranks than cores: compute is shared in time, up to %d ranks take turns on a core.\n", shared);
    if (q->topology.kind == TUTTI_TOPOLOGY_HOST)
        tutti_strbuf_printf(
            out, "\nOn a host the ranks' own cores move the bytes, so no exchange is hidden behind compute.\n");
    tutti_strbuf_printf(
        out,
        "Not in the model: %snoise, %sstragglers, evaluation, checkpoints; on a network: packets, congestion "
        "control.\n",
        spread ? "other " : "", q->slowness ? "other " : "");
    free(described);
}

/* Adds the table of layers, after Das et al. 2016, section 3. */
void tutti_predict_add_layers(const tutti_predict_question *q, tutti_strbuf *out)
{
    const int nranks = q->ranks[q->nranks - 1];
    tutti_strbuf_printf(
        out, "\neach layer alone, at %d ranks (after Das et al. 2016)\n%-24s %10s %10s %12s %10s %10s %10s %10s %7s\n",
        nranks, "layer", "forward ms", "backward", "bytes", "FLOP/byte", "exchange", "window", "exposed", "groups");
    for (int i = 0; i < q->nlayers; i++) {
        const tutti_layer_prediction *p = &q->layers[i];
        char groups[16] = "";
        if (p->hybrid_groups) snprintf(groups, sizeof groups, "%d", p->hybrid_groups);
        tutti_strbuf_printf(out, "%-24s %10.3f %10.3f %12lld %10.1f %10.3f %10.3f %10.3f %7s\n", p->name,
                            p->forward_s * 1e3, p->backward_s * 1e3, (long long)p->bytes, p->flop_per_byte,
                            p->exchange_s * 1e3, p->window_s * 1e3, p->exposed_s * 1e3, groups);
    }
}
