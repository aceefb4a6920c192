/* SPDX-License-Identifier: Apache-2.0 */
/* method_impl.h: parts of a plan that several methods list: gradients, updates, centres, control numbers, verdicts. */
#ifndef TUTTI_METHOD_IMPL_H
#define TUTTI_METHOD_IMPL_H

#include "../plan/plan_builder.h"
#include "method.h"

/* Keys that several methods take: `period`, the steps between two exchanges of weights; `rho`, the elasticity. */
extern const tutti_method_key tutti_method_period, tutti_method_rho;
tutti_status tutti_method_check_rho(const tutti_centre *c, tutti_failure *err);

/* Numbers of the memories and exchanges that the functions below declare. A method's own struct begins with this one
 * (tutti_builder_kept). */
typedef struct {
    int weights, gradients, sent; /* numbers of memories; sent: gradients in the type in which they are sent */
    /* memories for results of checks of gradients (actions `look`), -1 = none. flag: how many checks of this rank found
     * values that are not finite; verdict: the same number over all ranks; equal to flag if a rank decides alone */
    int flag, verdict;
    int control, check; /* numbers of exchanges; check: the exchange that sums all ranks' flags into verdicts, -1 =
                         * none */
    int saves;          /* number of the first of the exchanges that run before a checkpoint */
} tutti_method_handles;

/* The memories for weights, gradients, each state of the rule, and activations. */
typedef struct {
    bool own_weights, own_states; /* no other rank touches the weights, or the states */
    bool common_states;           /* true if the states are rank 0's and all ranks touch them */
    bool differ;                  /* weights and states differ between ranks */
    bool begin_anew;              /* a resumed run begins with new states: they are not saved, except common ones */
    tutti_memory_content weights_hold, states_hold; /* what weights and states hold after a period, on every rank */
    /* size in bytes of the method's own struct; 0 = tutti_method_handles alone */
    size_t keeps;
} tutti_method_vectors;
/* Declares the memories of `v`; a method calls this first. Returns the method's own struct. */
void *tutti_method_declare_vectors(tutti_plan_builder *b, const tutti_method_vectors *v);

/* Declares a centre that other ranks write to; this centre is what is tested and saved. common: rank 0 has it, and all
 * ranks touch it; else every rank holds all of it after a period. Returns the memory's number. */
int tutti_method_declare_centre(tutti_plan_builder *b, bool common);

/* Declares a memory for the counts of one rank's checks of gradients (actions `look`), which no other rank reads;
 * returns the memory's number. */
int tutti_method_declare_own_numbers(tutti_plan_builder *b, const char *name);
/* Declares the control numbers: the parts, the sums, and the exchange that sums the parts. */
tutti_status tutti_method_declare_control(tutti_plan_builder *b, tutti_failure *err);
/* Declares the control numbers where each rank keeps its own numbers: there is no exchange. */
void tutti_method_declare_own_control(tutti_plan_builder *b);
/* Starts the exchange of control numbers; tutti_builder_walk calls this. */
void tutti_method_start_control(tutti_plan_builder *b);
/* True if a plan has actions `look` (action.h), which check gradients, and with them weights, before an update. */
static inline bool tutti_method_looks(const tutti_plan_config *c)
{
    return c->only_finite || c->norms;
}
/* If gradients are checked (tutti_method_looks), declares the flag, the verdict and the exchange that sums all flags.
 * The sum is i64 and exact: it has the same bits however gradients lie on the ranks. alone: every rank sees all
 * gradients itself, so that its flag is its verdict. */
tutti_status tutti_method_declare_check(tutti_plan_builder *b, bool alone, tutti_failure *err);
/* Does the same as tutti_method_declare_check for methods where every rank has weights of its own, and so computes all
 * norms itself: ranks only exchange whether all skip the step. */
tutti_status tutti_method_declare_own_check(tutti_plan_builder *b, tutti_failure *err);
/* Returns an action on the elements of a whole bucket, from the memory `from` to the memory `to`. */
tutti_action tutti_method_on_bucket(const tutti_plan *p, tutti_action_kind kind, int bucket, int from, int to);
/* tutti_method_update returns the action that applies the rule to a whole bucket of gradients that are summed over all
 * ranks; its `verdict` is -1, so the update is not skipped unless the caller sets one. tutti_method_look lists the
 * action `look` that checks these gradients before the update. */
tutti_action tutti_method_update(const tutti_plan *p, int bucket, int from, int to);
void tutti_method_look(tutti_plan_builder *b, const tutti_action *update, int flag, int weights);
/* Returns the action that applies the rule to a whole bucket by the rank's own gradients. For methods where every rank
 * has weights of its own. */
tutti_action tutti_method_local_update(const tutti_plan_builder *b, const tutti_method_handles *h, int bucket);
/* Lists the checks of gradients (actions `look`) before tutti_method_local_update, if the plan has any, and the
 * exchange of their verdict. The loss scale is one for all ranks, so either all ranks skip a step or none does. */
void tutti_method_list_looks(tutti_plan_builder *b, const tutti_method_handles *h);
/* Lists the exchange of the verdicts about gradients, if the plan has one, without the checks. */
void tutti_method_exchange_verdicts(tutti_plan_builder *b, const tutti_method_handles *h);
/* Refuses the configurations that no method with weights of each worker can run. who: the method, "diloco". exchanges:
 * what happens at the end of a period, "outer steps". */
tutti_status tutti_method_accept_own_weights(const tutti_plan_config *c, const char *who, const char *exchanges,
                                             tutti_failure *err);
/* Declares one exchange for each bucket from a memory to a memory, named "<what> of bucket 2", by this schedule. Their
 * numbers are consecutive; returns the first. */
int tutti_method_declare_exchanges(tutti_plan_builder *b, const char *what, int from, int to, int schedule,
                                   tutti_operation op);
/* Gradients may be rounded before they are sent (config.sent). These functions declare the memory that holds the
 * rounded gradients, and list the conversion of a bucket to it and back: of the whole bucket, or of the rank's own
 * slice where each rank has slices. */
static inline bool tutti_method_rounds(const tutti_plan_config *c)
{
    return c->sent != TUTTI_F32;
}
void tutti_method_declare_sent(tutti_plan_builder *b);
void tutti_method_round(tutti_plan_builder *b, int bucket);
void tutti_method_widen(tutti_plan_builder *b, int bucket);
/* Declares, where several ranks keep slices of states, a gather of each state of each bucket to rank 0. */
tutti_status tutti_method_declare_saves(tutti_plan_builder *b, tutti_failure *err);
/* Lists the loop before a checkpoint: the gathers of tutti_method_declare_saves, which are the last exchanges. */
void tutti_method_list_saves(tutti_plan_builder *b);

/* Synchronous SGD where ranks share layers (method_split.c). */
extern const tutti_emitter tutti_method_split_emitter;

#endif
