/* SPDX-License-Identifier: Apache-2.0 */
/* method_impl.h: parts of a plan that several methods list: gradients, updates, centres, control numbers, verdicts. */
#ifndef TUTTI_METHOD_IMPL_H
#define TUTTI_METHOD_IMPL_H

#include "../plan/plan_builder.h"
#include "method.h"

/* Keys that several methods take: steps between two exchanges of weights; the elasticity, whose refusal is the other
 * one's. */
extern const tutti_method_key tutti_method_period, tutti_method_rho;
tutti_status tutti_method_check_rho(const tutti_centre *c, tutti_failure *err);

/* Numbers of what the parts below declare; what a method keeps of its own begins with it (tutti_builder_kept). */
typedef struct {
    int weights, gradients, sent; /* memories; sent: what of the gradients travels */
    int flag, verdict;            /* of looks; the same where a rank's own tells all; -1: there are none */
    int control, check;           /* exchanges; check: of verdicts, -1 = none */
    int saves;                    /* the first of those before a checkpoint */
} tutti_method_handles;

/* Weights, gradients, a memory for each of the rule's states, activations. */
typedef struct {
    bool own_weights, own_states; /* no other rank touches them */
    bool common_states;           /* rank 0's, which all touch */
    bool differ;                  /* weights and states, between ranks */
    bool begin_anew;              /* a run that is resumed has new ones: not saved, but for common states */
    tutti_memory_content weights_hold, states_hold; /* after a period, on every rank */
    size_t keeps;                                   /* bytes of what the method keeps; 0: of the shared handles alone */
} tutti_method_vectors;
/* The first that a method declares. Returns what it keeps. */
void *tutti_method_declare_vectors(tutti_plan_builder *b, const tutti_method_vectors *v);

/* A centre that other ranks write to, which is what is tested and saved. common: rank 0's, which all touch; else every
 * rank has it whole after a period. Returns its number. */
int tutti_method_declare_centre(tutti_plan_builder *b, bool common);

/* Numbers of one rank's looks, by themselves; returns theirs. */
int tutti_method_declare_own_numbers(tutti_plan_builder *b, const char *name);
/* Control numbers: their parts, their sums, and the exchange from those to these. */
tutti_status tutti_method_declare_control(tutti_plan_builder *b, tutti_failure *err);
/* The same where each rank keeps its own: no exchange. */
void tutti_method_declare_own_control(tutti_plan_builder *b);
/* The start of that exchange, as a walk asks for it. */
void tutti_method_start_control(tutti_plan_builder *b);
/* Whether gradients, and with them weights, are looked at before an update. */
static inline bool tutti_method_looks(const tutti_plan_config *c)
{
    return c->only_finite || c->norms;
}
/* Then: flag, verdict and the sum of all flags (i64, exact: the same bits however gradients lie on the ranks); alone:
 * every rank sees all that it needs to know, so that its flag is its verdict. */
tutti_status tutti_method_declare_check(tutti_plan_builder *b, bool alone, tutti_failure *err);
/* The same where every rank has weights of its own, and so sees all norms itself: what they tell each other is whether
 * all skip the step. */
tutti_status tutti_method_declare_own_check(tutti_plan_builder *b, tutti_failure *err);
/* An action on the numbers of a whole bucket, from a memory to a memory. */
tutti_action tutti_method_on_bucket(const tutti_plan *p, tutti_action_kind kind, int bucket, int from, int to);
/* The rule to a whole bucket, from sums over all ranks, without a verdict; and the look at what an update goes by,
 * before it. */
tutti_action tutti_method_update(const tutti_plan *p, int bucket, int from, int to);
void tutti_method_look(tutti_plan_builder *b, const tutti_action *update, int flag, int weights);
/* Where every rank has weights of its own: the rule to a whole bucket, by the rank's own gradients. */
tutti_action tutti_method_local_update(const tutti_plan_builder *b, const tutti_method_handles *h, int bucket);
/* ... the looks before that, if there are any, and the exchange of their verdict. The loss scale is one for all ranks,
 * so all of them skip a step, or none does. */
void tutti_method_list_looks(tutti_plan_builder *b, const tutti_method_handles *h);
/* The exchange of verdicts alone, where there is one. */
void tutti_method_exchange_verdicts(tutti_plan_builder *b, const tutti_method_handles *h);
/* ... and what all of these refuse. who: "diloco"; exchanges: "outer steps", which a period lies between. */
tutti_status tutti_method_accept_own_weights(const tutti_plan_config *c, const char *who, const char *exchanges,
                                             tutti_failure *err);
/* One exchange a bucket from a memory to a memory, "<what> of bucket 2", by this schedule. Numbers rise by one; returns
 * the first. */
int tutti_method_declare_exchanges(tutti_plan_builder *b, const char *what, int from, int to, int schedule,
                                   tutti_operation op);
/* Where gradients are rounded to travel (config.sent): the memory that they are rounded into, and a bucket's way there,
 * or back: of all of it, or where each rank has slices, of its own. */
static inline bool tutti_method_rounds(const tutti_plan_config *c)
{
    return c->sent != TUTTI_F32;
}
void tutti_method_declare_sent(tutti_plan_builder *b);
void tutti_method_round(tutti_plan_builder *b, int bucket);
void tutti_method_widen(tutti_plan_builder *b, int bucket);
/* Where several ranks keep slices of states: a gather of each state of each bucket to rank 0. */
tutti_status tutti_method_declare_saves(tutti_plan_builder *b, tutti_failure *err);
/* The loop before a checkpoint: those gathers, the last exchanges. */
void tutti_method_list_saves(tutti_plan_builder *b);

/* Synchronous SGD where ranks share layers (method_split.c). */
extern const tutti_emitter tutti_method_split_emitter;

#endif
