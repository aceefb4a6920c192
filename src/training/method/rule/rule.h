/* SPDX-License-Identifier: Apache-2.0 */
/* rule.h: update rules: how an owner changes its slice of the weights once their gradients are summed; one row a rule,
 * with its keys, states and loops. Nobody else knows a rule by name: jobs ask for its keys, plans, regions and
 * checkpoints for its states. Threads: shared (pure functions, frozen tables). */
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
    TUTTI_RULE_LOOKED =
        2 * TUTTI_SQUARES_LIMBS, /* numbers of a tensor: squares of its weights, and of the other vector */
};

/* A number that a job gives to a rule. Rules that mean the same by it share one. */
typedef struct {
    const char *key;     /* "optimiser.momentum" */
    const char *initial; /* default, as text */
    double lo, hi;       /* inclusive, whether the rule is chosen or not */
    bool not_lo, not_hi; /* the chosen rule does not take the end itself */
    bool is_switch;      /* true or false: a job says these words, the value is 1 or 0 */
    const char *help;
    const char *wants; /* where not_lo or not_hi: "one above 0 and below 1, such as 0.9" */
} tutti_rule_key;

typedef struct tutti_rule_row tutti_rule_row;
typedef struct {
    const tutti_rule_row *rule;
    double value[TUTTI_RULE_MAX_KEYS]; /* of rule->keys, in their order */
    double weight_decay;
    double clip_norm; /* gradients are shortened to this norm of all of them together; 0 = never */
} tutti_update;

/* What changes from step to step. */
typedef struct {
    double lr;
    double unscale;   /* the sum is multiplied by it first (1 / loss scale) */
    double trust;     /* of the tensor: tutti_update_trust; 1 where the rule goes by no norms of tensors */
    int64_t nupdates; /* with this one, since the states were zeros; steps that were skipped are none */
} tutti_update_step;

/* Elements of the packed vectors. sum: summed gradient, already divided by the global batch through the loss. */
typedef struct {
    float *w, *state[TUTTI_RULE_MAX_STATES]; /* state: as many as the rule has */
    const float *sum;
    int64_t n;
    /* NULL, or what w is pulled to: after the rule, w -= alpha * (w before the rule - centre). In the rule's own pass:
     * one read more. */
    const float *centre;
    float alpha;
} tutti_update_slice;

/* numbers: what prepare made. */
typedef void tutti_rule_loop(const float *numbers, const tutti_update_slice *slice);
/* The same of what a rule holds the weights against: n floats to out, nothing else is written. */
typedef void tutti_rule_measure(const float *numbers, const tutti_update_slice *slice, float *out);

struct tutti_rule_row {
    const char *name, *help;
    const struct tutti_rule_row *plain; /* the same without its momentum; NULL: there is none */
    int nstates;
    const char *states[TUTTI_RULE_MAX_STATES];          /* as PyTorch names them; all begin with zeros */
    const tutti_rule_key *keys[TUTTI_RULE_MAX_KEYS];    /* up to the first NULL */
    const tutti_rule_key *ignored[TUTTI_RULE_MAX_KEYS]; /* a job may set them, though the rule makes nothing of them */
    /* The numbers of a step; decay is 0 for what is not decayed. */
    void (*prepare)(const tutti_update *u, const tutti_update_step *s, double decay, float *numbers);
    tutti_rule_loop *loops[TUTTI_NISAS];
    /* By what a weight tensor's step is multiplied, from the norms of its weights and of what these are held against;
     * NULL: by nothing, and the rule needs to know nothing of other elements. */
    double (*trust)(const tutti_update *u, double weights, double other);
    /* What that is; NULLs: the gradients, as the rule gets them. */
    tutti_rule_measure *measures[TUTTI_NISAS];
};

/* Rows in the order of the table; NULL beyond the last. */
const tutti_rule_row *tutti_rule_at(int i);
const tutti_rule_row *tutti_rule_find(const char *name); /* NULL = there is none */
/* All different keys of all rules, in the order of the table; NULL beyond the last. */
const tutti_rule_key *tutti_rule_key_at(int i);
double tutti_rule_key_initial(const tutti_rule_key *key); /* of a switch 1 or 0 */
/* Whether some rule has a state of this name (n letters). */
bool tutti_rule_has_state(const char *name, size_t n);

/* What updates are timed by where no job says one: a rule with one state. */
tutti_update tutti_update_to_time(void);

/* Computes a rule's numbers for a step and parameters of a kind: TUTTI_RULE_MAX_NUMBERS of them, at `numbers`. */
void tutti_update_prepare(const tutti_update *u, const tutti_update_step *s, tutti_param_kind kind, float *numbers);
/* Elementwise: the same bits at any offset, in slices of any cut, by any instruction set. apply prepares and runs. */
void tutti_update_run(const tutti_rule_row *rule, const float *numbers, const tutti_update_slice *slice);
void tutti_update_apply(const tutti_update *u, const tutti_update_step *s, tutti_param_kind kind,
                        const tutti_update_slice *slice);
/* Adds the squares of a slice, exactly, to those of its tensor, `looked`: for a rule with trust, and for weights alone.
 * numbers: the step's. Returns whether the gradients are finite; what is not finite adds nothing. */
bool tutti_update_look(const tutti_rule_row *rule, const float *numbers, const tutti_update_slice *slice,
                       int64_t looked[TUTTI_RULE_LOOKED]);
/* What all looks at a tensor come to. */
double tutti_update_trust(const tutti_update *u, const tutti_update_step *s, const int64_t numbers[TUTTI_RULE_LOOKED]);
/* w = (1 - momentum) * w + momentum * sum / nslots */
void tutti_update_statistic(double momentum, int nslots, float *w, const float *sum, int64_t n);

#endif
