/* SPDX-License-Identifier: Apache-2.0 */
/* plan_text.c: prints a plan: samples of ranks, buckets, memory, exchanges, loops. */
#include <inttypes.h>

#include "../../base/hash.h"
#include "../../base/text/strbuf.h"
#include "plan_impl.h"

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
    if (c->accumulate > 1) {
        tutti_strbuf_printf(
            sb,
            "sums: fast (%d micro-batches a rank, summed one after the other before the exchange; bits change with the "
            "rank count)\n",
            c->accumulate);
        return;
    }
    if (!c->slots) {
        tutti_strbuf_puts(sb, "sums: fast (one call a rank; bits change with the rank count)\n");
        return;
    }
    tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
    const int n = tutti_plan_roots(c->slots, c->nranks, c->rank, roots);
    tutti_strbuf_printf(sb, "sums: canonical over %d slots; mine in %d root%s:", c->slots, n, n == 1 ? "" : "s");
    for (int i = 0; i < n; i++)
        tutti_strbuf_printf(sb, " [%d, %d)", roots[i].first_slot, roots[i].first_slot + roots[i].nslots);
    tutti_strbuf_printf(sb, "; %d cop%s of the gradients\n", p->ncopies, p->ncopies == 1 ? "y" : "ies");
}

static const char *wire_words(tutti_wire_class wire)
{
    if (wire == TUTTI_WIRE_MAPPED) return "mapped memory";
    return wire == TUTTI_WIRE_MIXED ? "hosts of several ranks" : "puts and signals";
}

static void add_schedule(const tutti_plan *p, const tutti_schedule *s, tutti_strbuf *sb)
{
    const tutti_schedule_header *h = tutti_schedule_head(s);
    char hash[17];
    tutti_hash_text(tutti_schedule_hash(s), hash);
    tutti_strbuf_printf(sb, "  %-14s %s, %s, lowered for %s, hash %s", tutti_collective_name(h->collective),
                        h->algorithm, h->in_place ? "in place" : "apart", wire_words(h->wire), hash);
    if (h->nranks != p->config.nranks) tutti_strbuf_printf(sb, ", of %d rank%s", h->nranks, h->nranks == 1 ? "" : "s");
    if (tutti_collective_reduces(h->collective))
        tutti_strbuf_printf(sb, ", sums %s", tutti_determinism_name(h->determinism));
    tutti_strbuf_puts(sb, "\n");
}

static void add_rule(const tutti_plan *p, tutti_strbuf *sb)
{
    if (p->config.bucket_bytes == TUTTI_BUCKET_SOONEST) {
        tutti_strbuf_puts(sb, p->config.costs ? " that end soonest" : " of up to 1.0 MiB, until costs are measured");
    } else if (p->config.bucket_bytes == TUTTI_BUCKET_CUT) {
        tutti_strbuf_puts(sb, ", as exchange.cut says");
    } else if (p->config.bucket_bytes <= 0) {
        tutti_strbuf_printf(sb, ", one a %s", p->config.bucket_bytes ? "layer" : "parameter");
    } else if (p->config.bucket_bytes < TUTTI_BUCKET_ALL) {
        tutti_strbuf_puts(sb, " of up to ");
        add_bytes(sb, p->config.bucket_bytes);
    }
}

/* Prints some parameters in exchange order, and the elements that they and their padding take. */
static void add_params(const tutti_plan *p, int64_t elements, int first, int nparams, tutti_strbuf *sb)
{
    add_bytes(sb, elements * (int64_t)sizeof(float));
    tutti_strbuf_puts(sb, ")\n");
    for (int i = first; i < first + nparams; i++) {
        const tutti_param *param = &p->graph->params[p->order[i]];
        char shape[96];
        tutti_shape_text(&param->desc.shape, shape);
        tutti_strbuf_printf(sb, "    %10" PRId64 "  %-24s %s\n", p->param_offset[p->order[i]], param->name, shape);
    }
}

static void add_buckets(const tutti_plan *p, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, "\nexchanges: %" PRId64 " elements in %d bucket%s", p->total, p->nbuckets,
                        p->nbuckets == 1 ? "" : "s");
    add_rule(p, sb);
    tutti_strbuf_printf(sb, ", algorithm %s", p->config.algorithm);
    if (p->npairs) {
        tutti_strbuf_puts(sb, ": ring from ");
        add_bytes(sb, p->pairs[0].from);
        tutti_strbuf_puts(sb, " on");
    }
    tutti_strbuf_puts(sb, p->config.by_need ? ", those first that the next step needs first\n" : "\n");
    for (int i = 0; i < p->nschedules; i++) add_schedule(p, p->schedules[i].lowered, sb);
    for (int b = 0; b < p->nbuckets; b++) {
        tutti_strbuf_printf(sb, "  bucket %d: elements %" PRId64 " + %" PRId64 " (", b, p->buckets[b].offset,
                            p->buckets[b].count);
        add_params(p, p->buckets[b].count, p->buckets[b].first_param, p->buckets[b].nparams, sb);
    }
    tutti_strbuf_printf(sb, "  control numbers, apart: %" PRId64 " elements (", p->control.count);
    add_params(p, p->control.count, p->control.first_param, p->control.nparams, sb);
    const int nfrozen = p->graph->nparams - p->first_frozen;
    if (!nfrozen) return;
    tutti_strbuf_printf(sb, "  frozen, not exchanged: %" PRId64 " elements behind the buckets (",
                        p->nweights - p->total);
    add_params(p, p->nweights - p->total, p->first_frozen, nfrozen, sb);
}

/* ---- exchanges, one by one ---- */

static const tutti_action *find_told(const tutti_plan *p, int exchange, unsigned when, tutti_loop_driver *driver,
                                     const tutti_action **after)
{
    for (int d = 0; d < TUTTI_NDRIVERS; d++)
        for (int i = 0; i < p->loops[d].nactions; i++) {
            const tutti_action *a = &p->loops[d].actions[i];
            if (a->exchange != exchange || !tutti_action_tells(a) || !(a->when & when)) continue;
            int before = i - 1;
            while (before >= 0 && p->loops[d].actions[before].exchange >= 0) before--;
            if (before >= 0 && p->loops[d].actions[before].worker != a->worker) before = -1;
            *driver = (tutti_loop_driver)d;
            *after = before >= 0 ? &p->loops[d].actions[before] : NULL;
            return a;
        }
    return NULL;
}

/* Appends when an exchange meets a condition, such as "ready after update bucket 0". */
static void add_condition(const tutti_plan *p, int exchange, unsigned when, const char *words, tutti_strbuf *sb)
{
    tutti_loop_driver driver = TUTTI_EACH_STEP;
    const tutti_action *after = NULL;
    if (!find_told(p, exchange, when, &driver, &after)) return;
    tutti_strbuf_printf(sb, ", %s ", words);
    if (after) {
        tutti_strbuf_puts(sb, "after ");
        tutti_plan_print_action(p, after, sb);
    } else {
        tutti_strbuf_puts(sb, tutti_loop_driver_name(driver));
    }
}

static void add_operand(const tutti_plan *p, const tutti_plan_exchange *x, tutti_strbuf *sb)
{
    const tutti_plan_memory *in = &p->memories[x->in.memory];
    if (in->role == TUTTI_ROLE_SENT) tutti_strbuf_printf(sb, "%s ", tutti_dtype_name(in->type));
    tutti_strbuf_printf(sb, "%s", in->name);
    if (x->sent && in->role != TUTTI_ROLE_SENT) tutti_strbuf_printf(sb, ", sent as %s,", tutti_dtype_name(x->sent));
    if (x->in.memory != x->out.memory) tutti_strbuf_printf(sb, " to %s", p->memories[x->out.memory].name);
}

static void add_crossed(const tutti_plan *p, tutti_strbuf *sb)
{
    int64_t bytes = 0;
    for (int i = 0; i < p->nexchanges; i++)
        if (p->exchanges[i].drivers >> TUTTI_EACH_STEP & 1) bytes += tutti_plan_crossed_bytes(p, i, p->config.rank);
    tutti_strbuf_printf(sb, "  from and to memory of other ranks, in each step: %" PRId64 " bytes\n", bytes);
}

static void add_exchanges(const tutti_plan *p, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, "\nexchanges one by one: %d, between all ranks%s\n", p->nexchanges,
                        tutti_plan_is_between_all(p) ? "" : " where nobody is named");
    for (int i = 0; i < p->nexchanges; i++) {
        const tutti_plan_exchange *x = &p->exchanges[i];
        tutti_strbuf_printf(sb, "  %-24s %s of ", x->name,
                            tutti_collective_name(tutti_schedule_head(p->schedules[x->schedule].lowered)->collective));
        add_operand(p, x, sb);
        tutti_strbuf_printf(sb, " %" PRId64 " + %" PRId64, x->first, x->count);
        if (x->members) tutti_strbuf_puts(sb, ", between ");
        if (x->members) tutti_plan_print_members(x, sb);
        add_condition(p, i, TUTTI_WHEN_READY, "ready", sb);
        add_condition(p, i, TUTTI_WHEN_FREE, "free", sb);
        tutti_strbuf_puts(sb, "\n");
    }
    add_crossed(p, sb);
}

const char *tutti_plan_parallelism(const tutti_plan *p)
{
    if (!p->graph->nsplit) return "data";
    return tutti_graph_parts(p->graph) == p->config.nranks && tutti_plan_common_bucket(p) < 0 ? "model" : "hybrid";
}

/* ---- memory ---- */

static void add_arena(const tutti_plan *p, tutti_strbuf *sb)
{
    add_bytes(sb, p->arena_bytes);
    tutti_strbuf_printf(sb, " by life time, %.3f of ", (double)p->arena_bytes / (double)p->arena_bytes_at_least);
    add_bytes(sb, p->arena_bytes_at_least);
    tutti_strbuf_puts(sb, " that live at a time (");
    add_bytes(sb, p->arena_bytes_without_sharing);
    tutti_strbuf_puts(sb, " without sharing)");
}

static void add_memory(const tutti_plan *p, const tutti_plan_memory *m, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, "\n  %-15s ", m->name);
    if (m->role == TUTTI_ROLE_ACTIVATIONS) {
        add_arena(p, sb);
        return;
    }
    if (m->copies > 1 || m->role == TUTTI_ROLE_GRADIENTS) tutti_strbuf_printf(sb, "%d x ", m->copies);
    add_bytes(sb, tutti_plan_memory_bytes(m) / m->copies);
    if (m->role == TUTTI_ROLE_SENT) tutti_strbuf_printf(sb, " of %s", tutti_dtype_name(m->type));
    if (!m->is_region) tutti_strbuf_puts(sb, ", private");
    if (m->is_common) tutti_strbuf_puts(sb, ", rank 0's, which all visit");
    if (m->role == TUTTI_ROLE_SEAT) tutti_strbuf_puts(sb, ", at rank 0 alone");
    if (m->differs) tutti_strbuf_puts(sb, ", a rank's own");
    if (m->is_saved) tutti_strbuf_puts(sb, ", saved");
    if (m->holds == TUTTI_HOLDS_ALL)
        tutti_strbuf_printf(sb, ", the same on every rank after %s%s", tutti_plan_has_period(p) ? "a period" : "a step",
                            m->role == TUTTI_ROLE_WEIGHTS && p->graph->nsplit ? ", but for parts of split layers" : "");
}

static void add_memories(const tutti_plan *p, tutti_strbuf *sb)
{
    tutti_strbuf_puts(sb, "\nmemory of a rank");
    for (int i = 0; i < p->nmemories; i++) add_memory(p, &p->memories[i], sb);
    tutti_strbuf_puts(sb, "\n  offsets: layer, value, its gradient, saved (-1 = none)\n");
    for (int l = 0; l < p->graph->model->nlayers; l++) {
        const int grad = p->graph->layer_grads[l].out;
        tutti_strbuf_printf(sb, "    %-24s %10" PRId64 " %10" PRId64 " %10" PRId64 "\n",
                            p->graph->model->layers[l].name, p->value_offset[l], grad < 0 ? -1 : p->grad_offset[grad],
                            p->saved_offset[l]);
    }
}

/* ---- loops ---- */

static const char *const admission_words[] = {"none", "one at a time, in order of arrival",
                                              "one at a time, in rank order", "as they come, several at a time"};
_Static_assert(sizeof admission_words / sizeof *admission_words == TUTTI_ADMIT_EVERYBODY + 1, "words for each");

const char *tutti_admission_words(tutti_admission a)
{
    return (unsigned)a <= TUTTI_ADMIT_EVERYBODY ? admission_words[a] : "?";
}

static const char *const driver_names[] = {
    "each step",   "beside, when an exchange has ended", "beside, for each visit of a worker of another host",
    "each period", "before a test or a checkpoint",      "before a checkpoint"};
_Static_assert(sizeof driver_names / sizeof *driver_names == TUTTI_NDRIVERS, "words for each");

const char *tutti_loop_driver_name(tutti_loop_driver d)
{
    return (unsigned)d < TUTTI_NDRIVERS ? driver_names[d] : "?";
}

static void add_bucket(const tutti_action *a, tutti_strbuf *sb)
{
    if (a->bucket == TUTTI_CONTROL_BUCKET)
        tutti_strbuf_puts(sb, " control numbers");
    else if (a->bucket >= 0)
        tutti_strbuf_printf(sb, " bucket %d", a->bucket);
}

void tutti_plan_print_action(const tutti_plan *p, const tutti_action *a, tutti_strbuf *sb)
{
    const tutti_action_row *row = tutti_action_row_of(a->kind);
    tutti_strbuf_puts(sb, row->words);
    if (a->exchange >= 0)
        tutti_strbuf_printf(sb, " %s", p->exchanges[a->exchange].name);
    else
        add_bucket(a, sb);
    if (a->when)
        tutti_strbuf_printf(sb, ": %s%s%s", a->when & TUTTI_WHEN_READY ? "ready" : "",
                            a->when == (TUTTI_WHEN_READY | TUTTI_WHEN_FREE) ? ", " : "",
                            a->when & TUTTI_WHEN_FREE ? "free" : "");
    if (row->describe) row->describe(p, a, sb);
    if (a->steps == TUTTI_IN_LAST_STEP) tutti_strbuf_puts(sb, " (last step of a period)");
    if (a->steps == TUTTI_IN_OTHER_STEPS) tutti_strbuf_puts(sb, " (other steps)");
}

static void add_loop(const tutti_plan *p, const tutti_loop *l, tutti_strbuf *sb)
{
    tutti_strbuf_printf(sb, "\nloop %s", tutti_loop_driver_name(l->driver));
    if (l->driver == TUTTI_EACH_PERIOD) tutti_strbuf_printf(sb, " of %" PRId64 " steps", p->config.period);
    tutti_strbuf_printf(sb, ": %d actions\n", l->nactions);
    const bool in_slots = p->config.slots || p->config.accumulate > 1;
    for (int i = 0, slot = -1, worker = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (a->worker != worker) tutti_strbuf_printf(sb, "  of rank %d\n", a->worker);
        worker = a->worker;
        if (in_slots && a->slot != slot && a->node >= 0) {
            slot = a->slot;
            tutti_strbuf_printf(sb, "  %s %d into copy %d of the gradients\n", p->config.slots ? "slot" : "micro-batch",
                                p->my_first_slot + slot, a->dst);
        }
        tutti_strbuf_puts(sb, "  ");
        if (in_slots) tutti_strbuf_puts(sb, "  ");
        tutti_plan_print_action(p, a, sb);
        tutti_strbuf_puts(sb, "\n");
    }
}

char *tutti_plan_print(const tutti_plan *p)
{
    tutti_strbuf sb = {0};
    add_head(p, &sb);
    tutti_plan_print_split(p, &sb);
    add_buckets(p, &sb);
    tutti_plan_print_times(p, &sb);
    tutti_strbuf_puts(&sb, "\n");
    tutti_graph_add_choices(p->graph, "", &sb);
    add_memories(p, &sb);
    if (tutti_plan_is_async(p)) tutti_strbuf_printf(&sb, "\nvisits: %s\n", tutti_admission_words(p->admission));
    if (!tutti_plan_is_async(p) || p->nexchanges) add_exchanges(p, &sb);
    for (int d = 0; d < TUTTI_NDRIVERS; d++)
        if (p->loops[d].nactions) add_loop(p, &p->loops[d], &sb);
    return tutti_strbuf_detach(&sb);
}
