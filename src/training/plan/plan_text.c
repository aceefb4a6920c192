/* SPDX-License-Identifier: Apache-2.0 */
/* plan_text.c: a plan for people: who has which samples, what travels together, where everything lies, the loop; and
 * the loop as a drawing for Graphviz. */
#include <inttypes.h>

#include "../../base/hash.h"
#include "../../base/strbuf.h"
#include "plan_impl.h"
#include "tutti/check.h"

static void add_bytes(tutti_strbuf *sb, int64_t bytes)
{
    if (bytes < 1024)
        tutti_strbuf_printf(sb, "%" PRId64 " B", bytes);
    else if (bytes < 1024 * 1024)
        tutti_strbuf_printf(sb, "%.1f KiB", (double)bytes / 1024);
    else
        tutti_strbuf_printf(sb, "%.1f MiB", (double)bytes / (1024 * 1024));
}

static void add_head(const tutti_plan *p, tutti_strbuf *sb)
{
    const tutti_plan_config *c = &p->config;
    char hash[17];
    tutti_hash_text(tutti_plan_hash(p), hash);
    tutti_strbuf_printf(sb,
                        "plan %s: rank %d of %d, batch %" PRId64 ", engine %s, %d thread%s a rank, hash %s\n"
                        "samples: %" PRId64 " .. %" PRId64 " of each batch, %" PRId64 " a call\n",
                        p->graph->model->name, c->rank, c->nranks, c->batch, c->engine, c->nthreads,
                        c->nthreads == 1 ? "" : "s", hash, p->my_first_sample, p->my_first_sample + p->my_nsamples - 1,
                        p->samples_per_call);
    if (!c->slots) {
        tutti_strbuf_puts(sb, "sums: fast (one call a rank; bits change with the rank count)\n");
        return;
    }
    tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
    const int n = tutti_plan_roots(c->slots, c->nranks, c->rank, roots);
    tutti_strbuf_printf(sb, "sums: canonical over %d slots; mine in %d root%s:", c->slots, n, n == 1 ? "" : "s");
    for (int i = 0; i < n; i++)
        tutti_strbuf_printf(sb, " [%d, %d)", roots[i].first_slot, roots[i].first_slot + roots[i].nslots);
    tutti_strbuf_printf(sb, "; %d gradient buffer%s\n", p->nroots_max, p->nroots_max == 1 ? "" : "s");
}

static const char *wire_words(tutti_wire_class wire)
{
    if (wire == TUTTI_WIRE_MAPPED) return "mapped memory";
    return wire == TUTTI_WIRE_MIXED ? "hosts of several ranks" : "puts and signals";
}

static void add_schedule(const char *role, const tutti_schedule *s, tutti_strbuf *sb)
{
    const tutti_schedule_header *h = tutti_schedule_head(s);
    char hash[17];
    tutti_hash_text(tutti_schedule_hash(s), hash);
    tutti_strbuf_printf(sb, "  %-14s %s, in place, lowered for %s, hash %s", role, h->algorithm, wire_words(h->wire),
                        hash);
    if (h->collective == TUTTI_REDUCE_SCATTER)
        tutti_strbuf_printf(sb, ", sums %s", tutti_determinism_name(h->determinism));
    tutti_strbuf_puts(sb, "\n");
}

static void add_rule(const tutti_plan *p, tutti_strbuf *sb)
{
    if (p->config.bucket_bytes == TUTTI_BUCKET_SOONEST) {
        tutti_strbuf_puts(sb, p->config.costs ? " that end soonest" : " of up to 1.0 MiB, until costs are measured");
    } else if (p->config.bucket_bytes <= 0) {
        tutti_strbuf_printf(sb, ", one a %s", p->config.bucket_bytes ? "layer" : "parameter");
    } else if (p->config.bucket_bytes < TUTTI_BUCKET_ALL) {
        tutti_strbuf_puts(sb, " of up to ");
        add_bytes(sb, p->config.bucket_bytes);
    }
}

static void add_buckets(const tutti_plan *p, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, "\nexchanges: %" PRId64 " elements in %d bucket%s", p->total, p->nbuckets,
                        p->nbuckets == 1 ? "" : "s");
    add_rule(p, sb);
    tutti_strbuf_printf(sb, ", algorithm %s%s\n", p->config.algorithm,
                        p->config.by_need ? ", those first that the next step needs first" : "");
    add_schedule("reduce-scatter", p->buckets[0].reduce_scatter_mapped, sb);
    add_schedule("all-gather", p->buckets[0].all_gather_mapped, sb);
    for (int b = 0; b < p->nbuckets; b++) {
        const tutti_bucket *bucket = &p->buckets[b];
        tutti_strbuf_printf(sb, "  bucket %d: elements %" PRId64 " + %" PRId64 " (", b, bucket->offset, bucket->count);
        add_bytes(sb, bucket->count * (int64_t)sizeof(float));
        tutti_strbuf_puts(sb, ")\n");
        for (int i = bucket->first_param; i < bucket->first_param + bucket->nparams; i++) {
            const tutti_param *param = &p->graph->params[p->order[i]];
            char shape[96];
            tutti_shape_text(&param->desc.shape, shape);
            tutti_strbuf_printf(sb, "    %10" PRId64 "  %-24s %s\n", p->param_offset[p->order[i]], param->name, shape);
        }
    }
}

static int64_t own_elements(const tutti_plan *p)
{
    int64_t sum = 0;
    for (int b = 0; b < p->nbuckets; b++) {
        int64_t first, count;
        tutti_plan_own_slice(p, b, p->config.rank, &first, &count);
        sum += count;
    }
    return sum;
}

/* What a gate costs: bytes looked at, synchronisations, and what no longer overlaps. */
static void add_gate(const tutti_plan *p, tutti_strbuf *sb)
{
    if (!p->config.gated) return;
    const tutti_schedule *s = p->gate.allreduce_mapped;
    tutti_check_report report;
    char hash[17];
    tutti_hash_text(tutti_schedule_hash(s), hash);
    tutti_strbuf_puts(sb,
                      "\ngate: a gradient that is not finite, on any rank, skips the updates of the step on all ranks\n"
                      "  costs a look at the own slices, ");
    add_bytes(sb, own_elements(p) * (int64_t)sizeof(float));
    tutti_strbuf_printf(sb, ", and an allreduce of 1 element: %s, lowered for %s, hash %s",
                        tutti_schedule_head(s)->algorithm, wire_words(tutti_schedule_head(s)->wire), hash);
    if (!tutti_schedule_check(s, &report, NULL))
        tutti_strbuf_printf(sb, ", %d synchronisation%s", report.syncs, report.syncs == 1 ? "" : "s");
    tutti_strbuf_puts(sb, "\n  no update, and no all-gather, begins before the last reduce-scatter has ended\n");
}

tutti_plan_memory tutti_plan_memory_of(const tutti_plan *p)
{
    const int64_t vector = p->total * (int64_t)sizeof(float);
    return (tutti_plan_memory){.weights = vector, .grads = p->nroots_max * vector, .state = vector};
}

/* A rule without states is said to keep no momentum. */
static void add_states(const tutti_plan *p, int64_t bytes, tutti_strbuf *sb)
{
    if (!p->config.nstates) tutti_strbuf_puts(sb, "\n  momentum     0 B");
    for (int i = 0; i < p->config.nstates; i++) {
        tutti_strbuf_printf(sb, "\n  %-12s ", p->config.states[i]);
        add_bytes(sb, bytes);
        tutti_strbuf_puts(sb, " (own slices are touched)");
    }
}

static void add_memory(const tutti_plan *p, tutti_strbuf *sb)
{
    const tutti_plan_memory m = tutti_plan_memory_of(p);
    tutti_strbuf_puts(sb, "\nmemory of a rank\n  weights      ");
    add_bytes(sb, m.weights);
    tutti_strbuf_printf(sb, "\n  gradients    %d x ", p->nroots_max);
    add_bytes(sb, m.grads / p->nroots_max);
    add_states(p, m.state, sb);
    tutti_strbuf_puts(sb, "\n  activations  ");
    add_bytes(sb, p->arena_bytes);
    tutti_strbuf_printf(sb, " by life time, %.3f of ", (double)p->arena_bytes / (double)p->arena_bytes_at_least);
    add_bytes(sb, p->arena_bytes_at_least);
    tutti_strbuf_puts(sb, " that live at a time (");
    add_bytes(sb, p->arena_bytes_without_sharing);
    tutti_strbuf_puts(sb, " without sharing)\n");
    tutti_strbuf_puts(sb, "  offsets: layer, value, its gradient, saved (-1 = none)\n");
    for (int l = 0; l < p->graph->model->nlayers; l++) {
        const int grad = p->graph->layer_grads[l].out;
        tutti_strbuf_printf(sb, "    %-24s %10" PRId64 " %10" PRId64 " %10" PRId64 "\n",
                            p->graph->model->layers[l].name, p->value_offset[l], grad < 0 ? -1 : p->grad_offset[grad],
                            p->saved_offset[l]);
    }
}

static void add_action(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    tutti_strbuf_puts(sb, tutti_action_kind_name(a->kind));
    if (a->layer >= 0) tutti_strbuf_printf(sb, " %s", p->graph->model->layers[a->layer].name);
    if (a->bucket >= 0) tutti_strbuf_printf(sb, " bucket %d", a->bucket);
    if (a->kind == TUTTI_DO_FOLD) tutti_strbuf_printf(sb, ": buffer %d += %d", a->root_dst, a->root_src);
}

static void add_actions(const tutti_plan *p, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, "\nloop: %d actions a step\n", p->nactions);
    for (int i = 0, slot = -1; i < p->nactions; i++) {
        const tutti_action *a = &p->actions[i];
        if (p->config.slots && a->slot != slot && a->kind == TUTTI_DO_FORWARD) {
            slot = a->slot;
            tutti_strbuf_printf(sb, "  slot %d into gradient buffer %d\n", p->my_first_slot + slot, a->root_dst);
        }
        tutti_strbuf_puts(sb, "  ");
        if (p->config.slots) tutti_strbuf_puts(sb, "  ");
        add_action(p, a, sb);
        tutti_strbuf_puts(sb, "\n");
    }
}

char *tutti_plan_print(const tutti_plan *p)
{
    tutti_strbuf sb = {0};
    add_head(p, &sb);
    add_buckets(p, &sb);
    tutti_plan_print_times(p, &sb);
    add_gate(p, &sb);
    add_memory(p, &sb);
    add_actions(p, &sb);
    return tutti_strbuf_detach(&sb);
}

/* ---- drawing: the rank's loop on the left, its exchanges on the right ---- */

/* Where an action and its bucket's two exchanges touch. */
static void add_exchange_edge(const tutti_action *a, int i, tutti_strbuf *sb)
{
    switch (a->kind) {
    case TUTTI_DO_READY: tutti_strbuf_printf(sb, "  a%d -> rs%d [label=\"ready\"];\n", i, a->bucket); break;
    case TUTTI_DO_FREE: tutti_strbuf_printf(sb, "  a%d -> ag%d [label=\"free\" style=dashed];\n", i, a->bucket); break;
    case TUTTI_DO_CHECK: tutti_strbuf_printf(sb, "  rs%d -> a%d [label=\"sum\"];\n", a->bucket, i); break;
    case TUTTI_DO_GATE:
        tutti_strbuf_printf(sb, "  a%d -> gate [label=\"flag\"];\n  gate -> a%d [label=\"verdict\"];\n", i, i + 1);
        break;
    case TUTTI_DO_UPDATE:
        tutti_strbuf_printf(sb, "  rs%d -> a%d [label=\"sum\"];\n  a%d -> ag%d [label=\"ready\"];\n", a->bucket, i, i,
                            a->bucket);
        break;
    case TUTTI_DO_WAIT_WEIGHTS:
        tutti_strbuf_printf(sb, "  ag%d -> a%d [label=\"next step\" style=dotted constraint=false];\n", a->bucket, i);
        break;
    default: break;
    }
}

char *tutti_plan_dot(const tutti_plan *p)
{
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb,
                        "digraph \"%s rank %d of %d\" {\n  rankdir=TB; node [fontname=\"sans-serif\" shape=box];\n",
                        p->graph->model->name, p->config.rank, p->config.nranks);
    for (int i = 0; i < p->nactions; i++) {
        tutti_strbuf_printf(&sb, "  a%d [label=\"", i);
        add_action(p, &p->actions[i], &sb);
        tutti_strbuf_puts(&sb, "\"];\n");
        if (i) tutti_strbuf_printf(&sb, "  a%d -> a%d [weight=10];\n", i - 1, i);
    }
    for (int b = 0; b < p->nbuckets; b++)
        tutti_strbuf_printf(&sb,
                            "  rs%d [shape=oval style=filled fillcolor=\"#d1e7dd\" label=\"reduce-scatter %d\"];\n"
                            "  ag%d [shape=oval style=filled fillcolor=\"#e2d9f3\" label=\"all-gather %d\"];\n",
                            b, b, b, b);
    if (p->config.gated)
        tutti_strbuf_puts(&sb, "  gate [shape=oval style=filled fillcolor=\"#f8d7da\" label=\"allreduce: gate\"];\n");
    for (int i = 0; i < p->nactions; i++) add_exchange_edge(&p->actions[i], i, &sb);
    tutti_strbuf_puts(&sb, "}\n");
    return tutti_strbuf_detach(&sb);
}
