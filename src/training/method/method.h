/* SPDX-License-Identifier: Apache-2.0 */
/* method.h: training methods: how ranks agree on weights, one row for each method. A row has functions that check a
 * configuration and write its plan, and texts. The texts place the method in the taxonomy of Langer et al. (2020): what
 * is divided, which rank optimises, how ranks are scheduled, what is sent in which pattern. They also give its
 * formulas. This header also has the learning rate of a run and the scale of its loss. rule.h has the update rules.
 * Threads: any (pure functions; tables never change). */
#ifndef TUTTI_METHOD_H
#define TUTTI_METHOD_H

#include "../plan/plan.h"

enum { TUTTI_METHOD_MAX_KEYS = 4, TUTTI_METHOD_MAX_CONCERNED = 7 };

/* A key of jobs that belongs to a method: "method.period". If a key means the same for several methods, they share it.
 * The job's value is stored in a field of the plan or of the centre; a key without a field there is stored in
 * tutti_plan_config.own. */
typedef struct {
    tutti_field field; /* the field's offset is in tutti_plan_config or in tutti_centre */
    bool of_centre;
} tutti_method_key;
/* The value of a key until it is stored in the plan or the centre; lists have no value here. */
typedef union {
    int64_t whole;
    double real;
    int choice;
    bool either;
    const char *text;
} tutti_method_value;

/* The texts of a row are never NULL or empty: `tutti methods` shows all of them. In formulas W is a worker's weights, C
 * the centre's weights, g the gradient of the worker's own samples, P the number of workers, r the rate of the step. */
typedef struct {
    const char *name; /* name of the method: "sync-sgd" */
    /* what the method's plans may divide among ranks: "data" | "data, model or hybrid"; for one plan:
     * tutti_plan_parallelism */
    const char *parallelism;
    const char *optimisation; /* "centralised": one logical model | "decentralised": each worker has its own */
    const char *schedule;     /* how ranks are scheduled: "synchronous" | ... */
    const char *lock;         /* how two writers of the common weights are kept apart: "one owner a slice" */
    const char *pattern;      /* the pattern of the exchanges: "sharded all-reduce: reduce-scatter, update of the own
                               * slice, all-gather" */
    const char *travels;      /* what is sent: "gradients, then weights" */
    const char *local_rule, *centre_rule; /* the formulas that move a worker and the centre */
    const char *period;                   /* how often ranks exchange: "every step" */
    /* which exchange overlaps with which computing: "gradients beside the backward pass" */
    const char *overlap;
    const char *source; /* the paper that describes the method */
    /* the rules that workers use in the paper: "sgd, momentum"; "any" = the method suits every rule */
    const char *paper_rules;
    const char *refuses; /* the configurations that `accept` refuses, in words */
    const char *help;
    /* the method's keys, ended by NULL; a job with another method may not set these keys */
    const tutti_method_key *keys[TUTTI_METHOD_MAX_KEYS];
    /* keys of the job that belong to no method and that this method also reads; ends at the first NULL */
    const char *concerned_by[TUTTI_METHOD_MAX_CONCERNED];
    bool is_plain; /* plain SGD moves its workers or its centre: the job's momentum is ignored (tutti_rule_row.plain) */
    bool saves_no_states;     /* the rule's states are not saved: workers of a resumed run begin with new ones */
    bool is_unordered;        /* the method's workers visit the centre at the same time: there is no order to record */
    bool is_async;            /* workers take steps of their own; false: all ranks take part in every step */
    const char *twin;         /* for a method with elastic averaging: the row of the same method without that averaging;
                               * NULL = none */
    const char *centre_state; /* what is kept beside the centre and saved: "outer-momentum"; NULL = nothing */
    /* Refuses configurations that the method cannot run; the message begins with the job's key to blame
     * ("method.period: ..."). NULL = accepts all. */
    tutti_status (*accept)(const tutti_plan_config *c, tutti_failure *err);
    /* Checks the numbers of the centre as `accept` checks a configuration, for `nworkers` workers and the largest rate
     * of the schedule. NULL = the method has no centre. */
    tutti_status (*accept_centre)(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err);
    /* returns a bit set of tutti_collective: what config.algorithm must be able to do */
    unsigned (*collectives)(const tutti_plan_config *c);
    const tutti_emitter *emitter; /* writes the plan: plan_builder.h */
    /* writes the plan where ranks share layers; NULL = the method cannot share layers */
    const tutti_emitter *split;
    /* Refuses configurations as `accept` does, but for plans where ranks share layers. */
    tutti_status (*accept_split)(const tutti_plan_config *c, tutti_failure *err);
} tutti_method_row;
const tutti_method_row *tutti_method_find(const char *name);
const tutti_method_row *tutti_method_at(int i);
/* Returns the i-th of all different keys of all methods, in the order of the table; NULL beyond the last. */
const tutti_method_key *tutti_method_key_at(int i);
/* Returns the i-th key of a job that the method reads: first its own keys, then `concerned_by`; NULL beyond the
 * last. */
const char *tutti_method_key_name(const tutti_method_row *row, int i);
bool tutti_method_takes(const tutti_method_row *row, const tutti_method_key *key);
/* True if some method keeps a vector of this name (n letters) beside its centre. */
bool tutti_method_has_state(const char *name, size_t n);

/* True if the workers in the row's paper use other rules than this one; then *words gets one line about it, without a
 * newline. */
bool tutti_method_rule_differs(const tutti_method_row *row, const char *rule, tutti_strbuf *words);
/* Appends to `out`, in at most ten words, what a plan of the row does: "sync-sgd, 2 ranks: sharded all-reduce by
 * direct, f32". Where two types are sent, both are named, that of the sums first: "bf16/f32". The plan must be proved,
 * or made with prove_later. */
void tutti_method_say(const tutti_method_row *row, const tutti_plan *p, tutti_strbuf *out);

typedef enum { TUTTI_RATE_CONSTANT, TUTTI_RATE_STEP, TUTTI_RATE_POLY, TUTTI_RATE_COSINE } tutti_rate_kind;
typedef struct {
    tutti_rate_kind kind;
    double lr, end_lr;
    double warmup_epochs, warmup_lr; /* warm-up: linear from warmup_lr to lr, by step */
    double gamma;                    /* for TUTTI_RATE_STEP: factor of the rate at each milestone */
    tutti_reals milestones;          /* for TUTTI_RATE_STEP: the milestones, in epochs */
    double power;                    /* for TUTTI_RATE_POLY: the exponent */
} tutti_rate;
/* Returns the rate of step s (0-based) of a run of nsteps. */
double tutti_rate_at(const tutti_rate *r, int64_t step, int64_t steps_per_epoch, int64_t nsteps);
/* Returns a rate that no step of any run exceeds. */
double tutti_rate_largest(const tutti_rate *r);

/* The loss, and so every gradient, is multiplied by `scale`, so that small gradients are not lost in 16 bits; the
 * update divides by it in f32. Dynamic scale (Micikevicius et al. 2018): a step with a gradient that is not finite is
 * skipped and halves the scale, to 1 at least; after `interval` clean steps the scale doubles. The state depends only
 * on the verdicts of the steps, so it is the same on all ranks. */
typedef struct {
    bool dynamic;
    double start;
    int64_t interval;
} tutti_loss_scale;
typedef struct {
    double scale;
    int64_t clean_steps; /* clean steps since the scale changed */
    int64_t skipped;     /* skipped steps of the whole run */
} tutti_loss_scale_state;
tutti_loss_scale_state tutti_loss_scale_begin(const tutti_loss_scale *l);
void tutti_loss_scale_step(const tutti_loss_scale *l, bool skipped, tutti_loss_scale_state *s);

#endif
