/* SPDX-License-Identifier: Apache-2.0 */
/* rule.h: update rules: how an owner changes its slice of the weights once their gradients are summed. A row for each
 * rule has its keys, the names of the vectors that it keeps beside the weights (its states) and its loops. No other
 * module knows a rule by name: jobs read its keys; plans, regions and checkpoints read its states. Threads: any
 * (pure functions; tables never change). */
#ifndef TUTTI_RULE_H
#define TUTTI_RULE_H

#include "../../../tensor/isa.h"
#include "../../../tensor/squares.h"
#include "../../graph/graph.h"
#include "../../plan/plan.h"

enum {
    TUTTI_RULE_MAX_STATES = 2,
    TUTTI_RULE_MAX_KEYS = 4,
    TUTTI_RULE_MAX_NUMBERS = 8,
    /* number of 64-bit words of two sums, to which a check of a tensor adds: the squares of its weights, and the
     * squares of the elements that the rule compares with them */
    TUTTI_RULE_LOOKED = 2 * TUTTI_SQUARES_LIMBS,
};

/* A number that a job gives to a rule. Rules that mean the same by a key share it. */
typedef struct {
    const char *key;     /* key in the job: "optimiser.momentum" */
    const char *initial; /* the default value, as text */
    double lo, hi;       /* inclusive bounds of the value, also checked if the job names another rule */
    bool not_lo, not_hi; /* if the job names this rule, the bound itself is refused, too */
    bool is_switch;      /* true or false: the job says these words, the value is 1 or 0 */
    const char *help;
    const char *wants; /* words for a refusal by not_lo or not_hi, which say what the value must be: "one above 0 and
                        * below 1, such as 0.9" */
} tutti_rule_key;

typedef struct tutti_rule_row tutti_rule_row;
typedef struct {
    const tutti_rule_row *rule;
    double value[TUTTI_RULE_MAX_KEYS]; /* values of rule->keys, in their order */
    double weight_decay;
    double clip_norm; /* gradients are scaled down to this norm of all gradients together; 0 = never */
} tutti_update;

/* The parameters of an update that change from step to step. */
typedef struct {
    double lr;
    double unscale;   /* factor of the summed gradient, applied before all else (1 / loss scale) */
    double trust;     /* factor of the tensor: tutti_update_trust; 1 where the rule uses no norms of tensors */
    int64_t nupdates; /* updates since the states were zeros, this one included; skipped steps do not count */
} tutti_update_step;

/* Elements of the packed vectors. sum: the summed gradient. It is a mean already: the loss divides by the global
 * batch. */
typedef struct {
    float *w, *state[TUTTI_RULE_MAX_STATES]; /* state: one vector for each state of the rule */
    const float *sum;
    int64_t n;
    /* NULL, or the vector that w is pulled towards: after the rule, w -= alpha * (w before the rule - centre). The
     * rule's own loop does it, so that it costs one more read. */
    const float *centre;
    float alpha;
} tutti_update_slice;

/* Applies the rule to a slice. numbers: the constants that `prepare` has computed. */
typedef void tutti_rule_loop(const float *numbers, const tutti_update_slice *slice);
/* Writes to `out`, for each of n weights, the float that the rule compares with it by norms; writes nothing else. */
typedef void tutti_rule_measure(const float *numbers, const tutti_update_slice *slice, float *out);

struct tutti_rule_row {
    const char *name, *help;
    const struct tutti_rule_row *plain; /* the same rule without its momentum; NULL = none */
    int nstates;
    const char *states[TUTTI_RULE_MAX_STATES];          /* names as PyTorch has them; all states begin as zeros */
    const tutti_rule_key *keys[TUTTI_RULE_MAX_KEYS];    /* the rule's keys, ended by NULL */
    const tutti_rule_key *ignored[TUTTI_RULE_MAX_KEYS]; /* keys that a job may set although the rule ignores them */
    /* Computes the constants of a step; decay is 0 for parameters that are not decayed. */
    void (*prepare)(const tutti_update *u, const tutti_update_step *s, double decay, float *numbers);
    tutti_rule_loop *loops[TUTTI_NISAS];
    /* Returns the factor of a weight tensor's step, from the norm of its weights and the norm of the elements that the
     * rule compares with them (tutti_rule_measure). NULL = no factor; then the update of an element depends on no other
     * element. */
    double (*trust)(const tutti_update *u, double weights, double other);
    /* Compute the elements that the rule compares with the weights, one function for each instruction set. All NULL:
     * the rule compares the gradients themselves, as it gets them. */
    tutti_rule_measure *measures[TUTTI_NISAS];
};

/* Returns the i-th row of the table; NULL beyond the last. */
const tutti_rule_row *tutti_rule_at(int i);
const tutti_rule_row *tutti_rule_find(const char *name); /* NULL = no rule has this name */
/* Returns the i-th of all different keys of all rules, in the order of the table; NULL beyond the last. */
const tutti_rule_key *tutti_rule_key_at(int i);
double tutti_rule_key_initial(const tutti_rule_key *key); /* returns the default as a number; 1 or 0 for a switch */
/* True if some rule has a state of this name (n letters). */
bool tutti_rule_has_state(const char *name, size_t n);

/* Returns the update that measurements use where no job names a rule: a rule with one state. */
tutti_update tutti_update_to_time(void);

/* Computes a rule's constants for a step and a kind of parameter: TUTTI_RULE_MAX_NUMBERS floats, at `numbers`. */
void tutti_update_prepare(const tutti_update *u, const tutti_update_step *s, tutti_param_kind kind, float *numbers);
/* Applies the rule element by element: the bits are the same at any offset, for any cut into slices and for any
 * instruction set. tutti_update_apply prepares the constants and runs. */
void tutti_update_run(const tutti_rule_row *rule, const float *numbers, const tutti_update_slice *slice);
void tutti_update_apply(const tutti_update *u, const tutti_update_step *s, tutti_param_kind kind,
                        const tutti_update_slice *slice);
/* Adds the squares of a slice, exactly, to the sums of its tensor in `looked`. Call it only for weights and for a rule
 * with `trust`. numbers: the step's constants, as `prepare` computes them. Returns whether the gradients are finite;
 * values that are not finite add nothing. */
bool tutti_update_look(const tutti_rule_row *rule, const float *numbers, const tutti_update_slice *slice,
                       int64_t looked[TUTTI_RULE_LOOKED]);
/* Returns the factor by which a rule such as LARS multiplies the rate of one tensor. numbers: the sums over all slices
 * of the tensor that tutti_update_look has added up. */
double tutti_update_trust(const tutti_update *u, const tutti_update_step *s, const int64_t numbers[TUTTI_RULE_LOOKED]);
/* Updates a statistic: w = (1 - momentum) * w + momentum * sum / nslots. */
void tutti_update_statistic(double momentum, int nslots, float *w, const float *sum, int64_t n);

#endif
