/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: builds and hashes a plan: which rank computes which samples, what is exchanged together, where everything
 * lies, in which order.
 *
 * Pure: the same graph and configuration give the same plan on every rank, so no plan need be sent; ranks only compare
 * hashes. Only what follows from the rank (`mine`, the actions) differs, and is not hashed. */
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/hash.h"
#include "../../base/text/strbuf.h"
#include "../../tensor/squares.h"
#include "placement.h"
#include "plan_impl.h"

/* ---- samples of a rank ---- */

static int power_of_two_from(int value)
{
    int p = 1;
    while (p < value && p <= 1 << 29) p *= 2;
    return p;
}

int tutti_plan_slots_for(int nranks)
{
    return power_of_two_from(nranks);
}

static tutti_status check_slots(const tutti_plan_config *c, tutti_failure *err)
{
    const int up = power_of_two_from(c->slots);
    if (c->slots != up)
        return tutti_fail(err, TUTTI_ERR_USAGE, "slots: %d is not a power of two; use %d", c->slots, up);
    if (c->nranks > c->slots)
        return tutti_fail(err, TUTTI_ERR_USAGE, "slots: %d slots for %d ranks: each rank needs one; use %d slots",
                          c->slots, c->nranks, tutti_plan_slots_for(c->nranks));
    if (c->accumulate > 1)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "accumulate: canonical sums go slot by slot already; leave it out, and take more slots for "
                          "smaller calls");
    return TUTTI_OK;
}

/* Checks that the batch divides into `parts` equal parts; words: what they are, "ranks". */
static tutti_status check_batch(int64_t batch, int64_t parts, const char *words, tutti_failure *err)
{
    char below[32] = "";
    if (batch >= 1 && batch % parts == 0) return TUTTI_OK;
    if (batch > parts) snprintf(below, sizeof below, "%" PRId64 " or ", batch / parts * parts);
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "batch: batch %" PRId64 " does not divide into %" PRId64 " %s; batch %s%" PRId64 " would", batch,
                      parts, words, below, (batch > 0 ? batch / parts + 1 : 1) * parts);
}

tutti_status tutti_plan_samples_per_call(const tutti_plan_config *c, int64_t *out, tutti_failure *err)
{
    if (c->nranks < 1) return tutti_fail(err, TUTTI_ERR_USAGE, "ranks: %d: at least 1 is needed", c->nranks);
    const int64_t parts = c->slots ? c->slots : (int64_t)c->nranks * tutti_plan_naccumulated(c);
    const char *shares = c->accumulate > 1 ? "micro-batches (ranks * accumulate)" : "ranks";
    tutti_status st = c->slots ? check_slots(c, err) : TUTTI_OK;
    if (!st) st = check_batch(c->batch, parts, c->slots ? "slots" : shares, err);
    if (!st) *out = c->batch / parts;
    return st;
}

static void take_share(tutti_plan *p)
{
    const tutti_plan_config *c = &p->config;
    const int64_t slots = c->slots ? c->slots : (int64_t)c->nranks * tutti_plan_naccumulated(c);
    p->my_first_slot = (int)(slots * c->rank / c->nranks);
    p->my_nslots = (int)(slots * (c->rank + 1) / c->nranks) - p->my_first_slot;
    p->my_first_sample = p->my_first_slot * p->samples_per_call;
    p->my_nsamples = p->my_nslots * p->samples_per_call;
}

/* ---- create and destroy ---- */

static tutti_reals copy_reals(tutti_plan *p, tutti_reals from)
{
    tutti_reals to = {TUTTI_ARENA_NEW(&p->arena, double, from.n), from.n};
    for (int i = 0; i < from.n; i++) to.values[i] = from.values[i];
    return to;
}

static const tutti_plan_costs *copy_costs(tutti_plan *p, const tutti_plan_costs *from)
{
    tutti_plan_costs *to = TUTTI_ARENA_NEW(&p->arena, tutti_plan_costs, 1);
    *to = (tutti_plan_costs){.ranks = from->ranks,
                             .threads = from->threads,
                             .overlap = from->overlap,
                             .exchange_bytes = copy_reals(p, from->exchange_bytes),
                             .exchange_s = copy_reals(p, from->exchange_s),
                             .params_s = copy_reals(p, from->params_s),
                             .data_s = copy_reals(p, from->data_s),
                             .sum_s = copy_reals(p, from->sum_s)};
    return to;
}

static void print_costs(tutti_plan *p, const tutti_plan_costs *costs)
{
    char *text = tutti_plan_costs_print(costs);
    p->costs_text = tutti_arena_strdup(&p->arena, text);
    free(text);
}

static void copy_config(tutti_plan *p, const tutti_plan_config *config)
{
    p->config = *config;
    p->config.algorithm = tutti_arena_strdup(&p->arena, config->algorithm ? config->algorithm : "auto");
    p->config.cut = copy_reals(p, config->cut);
    if (config->costs) {
        p->config.costs = copy_costs(p, config->costs);
        if (!config->is_draft) print_costs(p, config->costs);
    }
    if (!p->config.period) p->config.period = 1;
    p->config.engine = tutti_arena_strdup(&p->arena, config->engine ? config->engine : p->graph->config.engine);
}

static void place_activations(tutti_plan *p)
{
    tutti_placement placed;
    tutti_placement_make(p->graph, &p->arena, &placed);
    p->arena_bytes = placed.bytes;
    p->arena_bytes_without_sharing = placed.bytes_without_sharing;
    p->arena_bytes_at_least = placed.bytes_at_least;
    p->value_offset = placed.value;
    p->grad_offset = placed.grad;
    p->saved_offset = placed.saved;
    p->scratch_offset = placed.scratch;
}

static tutti_status fill(tutti_plan *p, tutti_failure *err)
{
    const tutti_plan_config *c = &p->config;
    tutti_status st = tutti_plan_samples_per_call(c, &p->samples_per_call, err);
    if (st) return st;
    if (c->rank < 0 || c->rank >= c->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "rank %d is not one of %d", c->rank, c->nranks);
    if (!p->graph->config.training || p->graph->config.batch != p->samples_per_call)
        return tutti_fail(
            err, TUTTI_ERR_USAGE, "the graph is for %s of %" PRId64 " samples a call; the plan trains %" PRId64,
            p->graph->config.training ? "training" : "evaluation", p->graph->config.batch, p->samples_per_call);
    if (c->costs && c->costs->ranks != c->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "costs of exchanges between %" PRId64 " ranks; there are %d",
                          c->costs->ranks, c->nranks);
    if (c->costs && c->costs->params_s.n && c->costs->params_s.n != p->graph->model->nlayers)
        return tutti_fail(err, TUTTI_ERR_USAGE, "costs of %d layers; model %s has %d", c->costs->params_s.n,
                          p->graph->model->name, p->graph->model->nlayers);
    if (!c->method) return tutti_fail(err, TUTTI_ERR_USAGE, "a plan needs a method");
    st = tutti_plan_accept_split(p, err);
    if (st) return st;
    take_share(p);
    st = tutti_plan_pack_params(p, err);
    if (st) return st;
    tutti_plan_find_turns(p);
    tutti_plan_count_copies(p);
    if (!c->is_draft) place_activations(p);
    st = tutti_plan_declare(p, err);
    if (!st && !c->prove_later) st = tutti_plan_prove_alone(p, err);
    if (st) return st;
    tutti_plan_list_loops(p, c->rank, &p->arena, p->loops);
    tutti_plan_find_drivers(p);
    st = tutti_plan_check_actions(p, c->rank, p->loops, err);
    return st ? st : tutti_plan_check_visits(p, c->rank, p->loops, err);
}

tutti_status tutti_plan_build(const tutti_graph *graph, const tutti_plan_config *config, tutti_plan **out,
                              tutti_failure *err)
{
    tutti_plan *p = tutti_alloc(sizeof *p);
    p->graph = graph;
    copy_config(p, config);
    tutti_status st = fill(p, err);
    if (st)
        tutti_plan_destroy(p);
    else
        *out = p;
    return st;
}

void tutti_plan_destroy(tutti_plan *p)
{
    if (!p) return;
    tutti_plan_destroy_schedules(p);
    tutti_arena_release(&p->arena);
    free(p);
}

/* ---- look-ups ---- */

int tutti_loop_find_start(const tutti_loop *l, int exchange)
{
    for (int i = 0; i < l->nactions; i++)
        if (tutti_action_starts(&l->actions[i]) && l->actions[i].exchange == exchange) return i;
    return -1;
}

tutti_loop *tutti_loop_parts(const tutti_loop *arrivals, int nworkers)
{
    tutti_loop *parts = tutti_alloc(sizeof *parts * (size_t)nworkers);
    for (int w = 0; w < nworkers; w++) parts[w].driver = arrivals->driver;
    for (int i = 0; i < arrivals->nactions; i++) {
        tutti_action *a = &arrivals->actions[i];
        if (a->worker < 0 || a->worker >= nworkers) continue;
        tutti_loop *part = &parts[a->worker];
        if (!part->actions) part->actions = a;
        part->nactions = (int)(a - part->actions) + 1;
    }
    return parts;
}

tutti_loop tutti_loop_part(const tutti_loop *arrivals, int worker)
{
    tutti_loop *parts = tutti_loop_parts(arrivals, worker + 1);
    const tutti_loop part = parts[worker];
    free(parts);
    return part;
}

int tutti_plan_find_memory(const tutti_plan *p, tutti_memory_role role, int n)
{
    for (int i = 0; i < p->nmemories; i++)
        if (p->memories[i].role == role && n-- == 0) return i;
    return -1;
}

int64_t tutti_plan_memory_bytes(const tutti_plan_memory *m)
{
    return m->elements * m->copies * (int64_t)tutti_dtype_bytes(m->type);
}

int tutti_plan_gradient_memory(const tutti_plan *p, int param)
{
    const bool control = p->graph->params[param].layer < 0;
    return tutti_plan_find_memory(p, control ? TUTTI_ROLE_NUMBERS : TUTTI_ROLE_GRADIENTS, 0);
}

int tutti_plan_value_memory(const tutti_plan *p, int param)
{
    const bool control = p->graph->params[param].layer < 0;
    return control ? tutti_plan_find_memory(p, TUTTI_ROLE_NUMBERS, 1)
                   : tutti_plan_find_memory(p, TUTTI_ROLE_WEIGHTS, 0);
}

static bool has_norms(const tutti_param *param)
{
    return param->layer >= 0 && param->desc.kind == TUTTI_PARAM_WEIGHT && !param->is_frozen;
}

int64_t tutti_plan_norms_of(const tutti_plan *p, int param)
{
    int64_t before = 0;
    if (!has_norms(&p->graph->params[param])) return -1;
    for (int i = 0; i < param; i++) before += has_norms(&p->graph->params[i]);
    return 1 + before * 2 * TUTTI_SQUARES_LIMBS;
}

int64_t tutti_plan_nlooked(const tutti_plan *p)
{
    int64_t ntensors = 0;
    for (int i = 0; i < p->graph->nparams; i++) ntensors += has_norms(&p->graph->params[i]);
    switch (p->config.norms) {
    case TUTTI_NO_NORMS: break;
    case TUTTI_NORM_OF_ALL: return 1 + TUTTI_SQUARES_LIMBS;
    case TUTTI_NORMS_OF_TENSORS: return 1 + ntensors * 2 * TUTTI_SQUARES_LIMBS;
    }
    return 1;
}

/* ---- hash ---- */

static void add_params(const tutti_plan *p, tutti_strbuf *sb)
{
    for (int i = 0; i < p->graph->nparams; i++) {
        const tutti_param *param = &p->graph->params[p->order[i]];
        char shape[96];
        tutti_shape_text(&param->desc.shape, shape);
        tutti_strbuf_printf(sb, "%s %s kind %d at %" PRId64 " order %" PRIx64 "%s\n", param->name, shape,
                            (int)param->desc.kind, p->param_offset[p->order[i]], tutti_param_order_hash(&param->desc),
                            param->is_frozen ? " frozen" : "");
    }
}

static void add_exchanges(const tutti_plan *p, tutti_strbuf *sb)
{
    for (int i = 0; i < p->nmemories; i++)
        if (p->memories[i].is_region)
            tutti_strbuf_printf(sb, "%s %" PRId64 " x %d%s%s\n", p->memories[i].name, p->memories[i].elements,
                                p->memories[i].copies, p->memories[i].is_common ? ", common" : "",
                                p->memories[i].role != TUTTI_ROLE_SENT ? ""
                                : p->memories[i].type == TUTTI_BF16    ? ", bf16"
                                                                       : ", f16");
    for (int i = 0; i < p->nexchanges; i++) {
        const tutti_plan_exchange *x = &p->exchanges[i];
        char hash[17];
        tutti_hash_text(p->schedules[x->schedule].hash, hash);
        tutti_strbuf_printf(sb, "%s: %" PRId64 " + %" PRId64 " of %d.%d to %d.%d by %s, turn %d, %s\n", x->name,
                            x->first, x->count, x->in.memory, x->in.copy, x->out.memory, x->out.copy, hash, x->turn,
                            tutti_operation_name(x->op));
        if (x->sent && p->memories[x->in.memory].role != TUTTI_ROLE_SENT)
            tutti_strbuf_printf(sb, "sent as %s\n", tutti_dtype_name(x->sent));
        if (!x->members) continue;
        tutti_plan_print_members(x, sb);
        tutti_strbuf_puts(sb, "\n");
    }
}

static void add_actions(const tutti_plan *p, const tutti_loop *l, tutti_strbuf *sb)
{
    for (int i = 0; i < l->nactions; i++) {
        tutti_plan_print_action(p, &l->actions[i], sb);
        tutti_strbuf_puts(sb, "\n");
    }
}

/* Adds the actions of visits to the hash: methods without exchanges differ only in these actions. */
static void add_visits(const tutti_plan *p, tutti_strbuf *sb)
{
    tutti_arena work = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    tutti_plan_list_loops(p, 0, &work, loops);
    tutti_strbuf_printf(sb, "visits: %s\n", tutti_admission_words(p->admission));
    add_actions(p, &loops[TUTTI_EACH_STEP], sb);
    add_actions(p, &loops[TUTTI_EACH_ARRIVAL], sb);
    for (int r = 1; r < p->config.nranks; r++) {
        if (!tutti_plan_is_far(p, r)) continue;
        tutti_plan_list_loops(p, r, &work, loops);
        add_actions(p, &loops[TUTTI_EACH_STEP], sb);
        break; /* all workers visit in the same way, so the part of one worker is enough */
    }
    tutti_arena_release(&work);
}

uint64_t tutti_plan_hash(const tutti_plan *p)
{
    const tutti_plan_config *c = &p->config;
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb, "%d ranks, batch %" PRId64 ", %d slots, %s, %s, %d threads\n", c->nranks, c->batch,
                        c->slots, c->engine, tutti_precision_name(p->graph->config.precision), c->nthreads);
    if (c->accumulate > 1) tutti_strbuf_printf(&sb, "%d micro-batches a rank\n", c->accumulate);
    if (p->graph->nsplit) tutti_strbuf_printf(&sb, "%d ranks share split layers\n", tutti_graph_parts(p->graph));
    tutti_graph_hash_choices(p->graph, &sb);
    add_params(p, &sb);
    add_exchanges(p, &sb);
    if (c->rounds_each) tutti_strbuf_puts(&sb, "each sum rounded\n");
    if (c->by_need) tutti_strbuf_puts(&sb, "by need\n");
    if (c->period != 1) tutti_strbuf_printf(&sb, "a period of %" PRId64 " steps\n", c->period);
    if (tutti_plan_is_async(p)) add_visits(p, &sb);
    if (p->is_paced) tutti_strbuf_printf(&sb, "at most %" PRId64 " steps ahead\n", c->staleness);
    for (int i = 0; i < TUTTI_PLAN_OWN; i++)
        if (c->own[i] != 0) tutti_strbuf_printf(&sb, "own %d: %.17g\n", i, c->own[i]);
    if (p->costs_text) tutti_strbuf_puts(&sb, p->costs_text);
    const uint64_t hash = tutti_hash(sb.text, sb.length);
    tutti_strbuf_release(&sb);
    return hash;
}

tutti_status tutti_plan_hash_on_one_host(const tutti_plan *p, uint64_t *out, tutti_failure *err)
{
    tutti_plan_config config = p->config;
    tutti_plan *twin = NULL;
    config.host_of = NULL;
    config.shelf = NULL;
    const tutti_status st = tutti_plan_has_far(p) ? tutti_plan_build(p->graph, &config, &twin, err) : TUTTI_OK;
    if (!st) *out = tutti_plan_hash(twin ? twin : p);
    tutti_plan_destroy(twin);
    return st;
}
