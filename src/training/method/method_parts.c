/* SPDX-License-Identifier: Apache-2.0 */
/* method_parts.c: lists parts of a plan that several methods want: exchanges, checks of gradients, rounding, control
 * numbers, updates. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "method_impl.h"

/* FEW_RANKS: most ranks that sum control numbers by one-shot. PAD: elements of a cache line, so that memories share no
 * line */
enum { FEW_RANKS = 8, PAD = 16 };

static int declare_vector(tutti_plan_builder *b, const char *name, tutti_memory_role role, tutti_plan_memory m)
{
    m.name = name;
    m.role = role;
    m.type = TUTTI_F32;
    m.elements = role == TUTTI_ROLE_WEIGHTS ? tutti_builder_plan(b)->nweights : tutti_builder_plan(b)->total;
    return tutti_builder_memory(b, &m);
}

void *tutti_method_declare_vectors(tutti_plan_builder *b, const tutti_method_vectors *v)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const tutti_plan_memory weights = {.copies = 1,
                                       .is_region = !v->own_weights,
                                       .is_lasting = true,
                                       .is_saved = !v->begin_anew,
                                       .differs = v->differ,
                                       .holds = v->weights_hold},
                            states = {.copies = 1,
                                      .is_region = !v->own_states,
                                      .is_common = v->common_states,
                                      .is_lasting = true,
                                      .is_saved = v->common_states || !v->begin_anew,
                                      .differs = v->differ,
                                      .holds = v->states_hold};
    tutti_method_handles *h = tutti_builder_keep(b, v->keeps ? v->keeps : sizeof *h);
    h->flag = h->verdict = h->check = -1;
    h->weights = declare_vector(b, "weights", TUTTI_ROLE_WEIGHTS, weights);
    h->gradients = h->sent = declare_vector(b, "gradients", TUTTI_ROLE_GRADIENTS,
                                            (tutti_plan_memory){.copies = p->ncopies, .is_region = true});
    for (int i = 0; i < p->config.nstates; i++) declare_vector(b, p->config.states[i], TUTTI_ROLE_STATE, states);
    tutti_builder_memory(b, &(tutti_plan_memory){.name = "activations",
                                                 .role = TUTTI_ROLE_ACTIVATIONS,
                                                 .type = TUTTI_U8,
                                                 .elements = p->arena_bytes,
                                                 .copies = 1});
    return h;
}

int tutti_method_declare_exchanges(tutti_plan_builder *b, const char *what, int from, int to, int schedule,
                                   tutti_operation op)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const int first = p->nexchanges;
    for (int i = 0; i < p->nbuckets; i++) {
        const tutti_bucket *bucket = &p->buckets[i];
        char name[64];
        snprintf(name, sizeof name, "%.30s of bucket %d", what, i);
        tutti_builder_exchange(b, &(tutti_plan_exchange){.name = name,
                                                         .schedule = schedule,
                                                         .op = op,
                                                         .bucket = i,
                                                         .first = bucket->offset,
                                                         .count = bucket->count,
                                                         .in = {from, 0},
                                                         .out = {to, 0},
                                                         .turn = p->config.by_need ? bucket->turn : 0});
    }
    return first;
}

static int declare_numbers(tutti_plan_builder *b, const char *name, tutti_dtype type, int64_t n, int copies,
                           tutti_memory_content holds)
{
    const tutti_plan_memory m = {.name = name,
                                 .role = TUTTI_ROLE_NUMBERS,
                                 .type = type,
                                 .elements = (n + PAD - 1) / PAD * PAD,
                                 .copies = copies,
                                 .is_region = true,
                                 .holds = holds};
    return tutti_builder_memory(b, &m);
}

/* Returns the algorithm for an allreduce of a few elements. One-shot has a single synchronisation, but each rank reads
 * from all others: with many ranks that costs more than a tree's rounds. */
static const char *few_numbers(const tutti_plan *p)
{
    const int nranks = p->config.nranks;
    if (nranks <= FEW_RANKS) return "one-shot";
    return p->config.slots && (nranks & (nranks - 1)) ? "direct" : "binomial";
}

int tutti_method_declare_centre(tutti_plan_builder *b, bool common)
{
    const int centre =
        tutti_builder_memory(b, &(tutti_plan_memory){.name = "centre",
                                                     .role = TUTTI_ROLE_CENTRE,
                                                     .type = TUTTI_F32,
                                                     .elements = tutti_builder_plan(b)->nweights,
                                                     .copies = 1,
                                                     .is_region = true,
                                                     .is_common = common,
                                                     .is_lasting = true,
                                                     .is_saved = true,
                                                     .holds = common ? TUTTI_HOLDS_ANYTHING : TUTTI_HOLDS_ALL});
    tutti_builder_answer(b, centre);
    return centre;
}

/* Declares an exchange that sums x.in over all ranks into x.out; *out: the number of the exchange. */
static tutti_status declare_sum(tutti_plan_builder *b, bool of_slots, tutti_plan_exchange x, int *out,
                                tutti_failure *err)
{
    const tutti_builder_request sum = {TUTTI_ALLREDUCE, few_numbers(tutti_builder_plan(b)), false, of_slots};
    const tutti_status st = tutti_builder_schedule(b, &sum, &x.schedule, err);
    if (!st) *out = tutti_builder_exchange(b, &x);
    return st;
}

void tutti_method_declare_own_control(tutti_plan_builder *b)
{
    const tutti_plan *p = tutti_builder_plan(b);
    declare_numbers(b, "control numbers", TUTTI_F32, p->control.count, p->ncopies, TUTTI_HOLDS_ANYTHING);
    declare_numbers(b, "control sums", TUTTI_F32, p->control.count, 1, TUTTI_HOLDS_ANYTHING);
}

tutti_status tutti_method_declare_control(tutti_plan_builder *b, tutti_failure *err)
{
    const tutti_plan *p = tutti_builder_plan(b);
    const int parts =
        declare_numbers(b, "control numbers", TUTTI_F32, p->control.count, p->ncopies, TUTTI_HOLDS_ANYTHING);
    const int sums = declare_numbers(b, "control sums", TUTTI_F32, p->control.count, 1, TUTTI_HOLDS_ALL);
    tutti_method_handles *h = tutti_builder_kept(b);
    return declare_sum(b, true,
                       (tutti_plan_exchange){.name = "control numbers",
                                             .bucket = TUTTI_CONTROL_BUCKET,
                                             .count = p->control.count,
                                             .in = {parts, 0},
                                             .out = {sums, 0}},
                       &h->control, err);
}

void tutti_method_start_control(tutti_plan_builder *b)
{
    const tutti_method_handles *h = tutti_builder_kept(b);
    tutti_builder_start(b, h->control, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
}

tutti_status tutti_method_declare_check(tutti_plan_builder *b, bool alone, tutti_failure *err)
{
    const int64_t n = tutti_plan_nlooked(tutti_builder_plan(b));
    if (!tutti_method_looks(&tutti_builder_plan(b)->config)) return TUTTI_OK;
    tutti_method_handles *h = tutti_builder_kept(b);
    h->flag = h->verdict = tutti_method_declare_own_numbers(b, alone ? "verdict" : "flag");
    if (alone) return TUTTI_OK;
    h->verdict = tutti_method_declare_own_numbers(b, "verdict");
    return declare_sum(
        b, false,
        (tutti_plan_exchange){
            .name = "verdict", .bucket = TUTTI_NO_BUCKET, .count = n, .in = {h->flag, 0}, .out = {h->verdict, 0}},
        &h->check, err);
}

int tutti_method_declare_own_numbers(tutti_plan_builder *b, const char *name)
{
    return declare_numbers(b, name, TUTTI_I64, tutti_plan_nlooked(tutti_builder_plan(b)), 1, TUTTI_HOLDS_ANYTHING);
}

/* Declares the flag, the verdict and their exchange. The exchange also sums the squares for the norm of all gradients;
 * nobody uses this sum, but plans have always had it. */
tutti_status tutti_method_declare_own_check(tutti_plan_builder *b, tutti_failure *err)
{
    const tutti_plan_config *c = &tutti_builder_plan(b)->config;
    return tutti_method_declare_check(b, !c->only_finite && c->norms != TUTTI_NORM_OF_ALL, err);
}

tutti_action tutti_method_on_bucket(const tutti_plan *p, tutti_action_kind kind, int bucket, int from, int to)
{
    return (tutti_action){.kind = kind,
                          .bucket = bucket,
                          .from = from,
                          .to = to,
                          .first = p->buckets[bucket].offset,
                          .count = p->buckets[bucket].count};
}

tutti_action tutti_method_update(const tutti_plan *p, int bucket, int from, int to)
{
    tutti_action a = tutti_method_on_bucket(p, TUTTI_DO_APPLY, bucket, from, to);
    a.verdict = a.norm = -1;
    a.share = 1;
    return a;
}

void tutti_method_look(tutti_plan_builder *b, const tutti_action *update, int flag, int weights)
{
    tutti_action look = *update;
    look.kind = TUTTI_DO_LOOK;
    look.to = flag;
    look.begins = update->bucket == 0;
    look.weights = weights;
    tutti_builder_do(b, &look);
}

tutti_action tutti_method_local_update(const tutti_plan_builder *b, const tutti_method_handles *h, int bucket)
{
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_action a = tutti_method_update(p, bucket, h->gradients, h->weights);
    a.verdict = h->verdict;
    a.norm = p->config.norms ? h->flag : -1; /* the norm of the rank's own gradients */
    a.share = p->config.nranks;
    return a;
}

void tutti_method_exchange_verdicts(tutti_plan_builder *b, const tutti_method_handles *h)
{
    if (h->check < 0) return;
    tutti_builder_start(b, h->check, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    tutti_builder_wait(b, h->check);
}

void tutti_method_list_looks(tutti_plan_builder *b, const tutti_method_handles *h)
{
    for (int i = 0; i < tutti_builder_plan(b)->nbuckets && h->flag >= 0; i++) {
        const tutti_action update = tutti_method_local_update(b, h, i);
        tutti_method_look(b, &update, h->flag, h->weights);
    }
    tutti_method_exchange_verdicts(b, h);
}

void tutti_method_declare_sent(tutti_plan_builder *b)
{
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_method_handles *h = tutti_builder_kept(b);
    h->sent = tutti_builder_memory(b, &(tutti_plan_memory){.name = "sent gradients",
                                                           .role = TUTTI_ROLE_SENT,
                                                           .type = p->config.sent,
                                                           .elements = p->total,
                                                           .copies = 1,
                                                           .is_region = true});
}

/* Converts the bucket, or the slice of it that the rank owns. */
static void convert(tutti_plan_builder *b, int bucket, bool own, int from, int to)
{
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_action a = tutti_method_on_bucket(p, TUTTI_DO_CONVERT, bucket, from, to);
    if (own) tutti_plan_own_slice(p, bucket, tutti_builder_rank(b), &a.first, &a.count);
    tutti_builder_do(b, &a);
}

void tutti_method_round(tutti_plan_builder *b, int bucket)
{
    const tutti_method_handles *h = tutti_builder_kept(b);
    convert(b, bucket, false, h->gradients, h->sent);
}

void tutti_method_widen(tutti_plan_builder *b, int bucket)
{
    const tutti_method_handles *h = tutti_builder_kept(b);
    convert(b, bucket, !tutti_builder_plan(b)->config.replicated, h->sent, h->gradients);
}

tutti_status tutti_method_accept_own_weights(const tutti_plan_config *c, const char *who, const char *exchanges,
                                             tutti_failure *err)
{
    if (c->slots)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "method: %s has weights of its own on each rank, which depend on how many there are; "
                          "canonical sums need sync-sgd",
                          who);
    if (tutti_method_rounds(c))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "exchange.precision: %s exchanges no sums of gradients, and weights that are rounded to %s "
                          "lose what a step adds to them; leave the key out, or use sync-sgd",
                          who, tutti_dtype_name(c->sent));
    if (c->period < 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "method.period: the steps between two %s, 1 or more", exchanges);
    if (c->replicated)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "exchange.update: every rank updates weights of its own in any case; leave the key out");
    if (c->early)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "exchange.update_when: there are no sums of gradients to wait for; leave the key out");
    return TUTTI_OK;
}

/* ---- keys ---- */

const tutti_method_key tutti_method_period = {.field = {"method.period", TUTTI_FIELD_INT,
                                                        offsetof(tutti_plan_config, period), "1", NULL, 0, 1e9,
                                                        "steps between two exchanges of weights"}};

const tutti_method_key tutti_method_rho = {
    .field = {"method.rho", TUTTI_FIELD_TEXT, offsetof(tutti_centre, said_rho), "auto", NULL, 1, 0,
              "easgd: elasticity, by rate * rho workers and centre meet; auto = 0.9 / (ranks * largest rate)"},
    .of_centre = true};

tutti_status tutti_method_check_rho(const tutti_centre *c, tutti_failure *err)
{
    return isnan(c->rho) ? tutti_fail(err, TUTTI_ERR_USAGE,
                                      "method.rho: '%s' is neither auto nor a number of 0 or more", c->said_rho)
                         : TUTTI_OK;
}

/* Declares the gathers before a checkpoint. Checkpoints are rare, so the simplest gather is good enough, whatever
 * algorithm the steps use. */
tutti_status tutti_method_declare_saves(tutti_plan_builder *b, tutti_failure *err)
{
    static const tutti_builder_request gather = {TUTTI_GATHER, "direct", true, false};
    const tutti_plan *p = tutti_builder_plan(b);
    tutti_method_handles *h = tutti_builder_kept(b);
    int schedule = 0;
    h->saves = p->nexchanges;
    if (p->config.nranks == 1 || !p->config.nstates) return TUTTI_OK;
    const tutti_status st = tutti_builder_schedule(b, &gather, &schedule, err);
    for (int s = 0; s < p->config.nstates && !st; s++) {
        const int state = tutti_plan_find_memory(p, TUTTI_ROLE_STATE, s);
        tutti_method_declare_exchanges(b, p->config.states[s], state, state, schedule, TUTTI_SUM);
    }
    return st;
}

void tutti_method_list_saves(tutti_plan_builder *b)
{
    const tutti_method_handles *h = tutti_builder_kept(b);
    const int n = tutti_builder_plan(b)->nexchanges;
    tutti_builder_loop(b, TUTTI_EACH_SAVE);
    for (int i = h->saves; i < n; i++) tutti_builder_start(b, i, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    for (int i = h->saves; i < n; i++) tutti_builder_wait(b, i);
}
