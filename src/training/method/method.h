/* SPDX-License-Identifier: Apache-2.0 */
/* method.h: training methods: how ranks agree on weights, one row a method, with its coordinates in the taxonomy of
 * Langer et al. (2020) (what is divided, who optimises, how ranks are scheduled, what travels in which pattern) and
 * with its rules, that emits plans; with the rates of a run and the scale of its loss. rule.h has the update rules.
 * Threads: shared (pure functions, frozen tables). */
#ifndef TUTTI_METHOD_H
#define TUTTI_METHOD_H

#include "../plan/plan.h"

enum { TUTTI_METHOD_MAX_KEYS = 4, TUTTI_METHOD_MAX_CONCERNED = 7 };

/* A key of jobs that a method brings: "method.period". Methods that mean the same by it share one. What a job says goes
 * to the plan or to the centre; a key that neither knows goes to a number of tutti_plan_config.own. */
typedef struct {
    tutti_field field; /* its offset is in tutti_plan_config, or in tutti_centre */
    bool of_centre;
} tutti_method_key;
/* A value of one, until it goes there: any kind but lists. */
typedef union {
    int64_t whole;
    double real;
    int choice;
    bool either;
    const char *text;
} tutti_method_value;

/* Words of a row are never NULL or empty: `tutti methods` shows all of them. In formulas W is a worker's weights, C the
 * centre's, g the gradient of the worker's own samples, P the number of workers, r the rate of the step. */
typedef struct {
    const char *name; /* "sync-sgd" */
    const char
        *parallelism; /* what its plans may be: "data" | "data, model or hybrid"; one plan's: tutti_plan_parallelism */
    const char *optimisation; /* "centralised": one logical model | "decentralised": each worker has its own */
    const char *schedule;     /* "synchronous" | ... */
    const char *lock;         /* what keeps two writers of the common weights apart: "one owner a slice" */
    const char *pattern;      /* "sharded all-reduce: reduce-scatter, update of the own slice, all-gather" */
    const char *travels;      /* "gradients, then weights" */
    const char *local_rule, *centre_rule; /* formulas */
    const char *period;                   /* "every step" */
    const char *overlap;                  /* what travels beside what: "gradients beside the backward pass" */
    const char *source;                   /* the paper */
    const char *paper_rules; /* that its workers have there: "sgd, momentum"; "any": it is of no one rule */
    const char *refuses;     /* in words, what accept does */
    const char *help;
    const tutti_method_key
        *keys[TUTTI_METHOD_MAX_KEYS]; /* up to the first NULL; a job of another method may not set them */
    const char *concerned_by
        [TUTTI_METHOD_MAX_CONCERNED]; /* keys that are no method's own, and are for it; up to the first NULL */
    bool is_plain; /* plain SGD moves its workers, or its centre: a job's momentum is left out (tutti_rule_row.plain) */
    bool saves_no_states; /* of the rule: workers that are resumed have new ones */
    bool is_unordered;    /* these visit at the same time: there is no order to keep */
    bool is_async;        /* workers take steps of their own; else all take part in every one */
    const char *twin;     /* of a row with elastic averaging: the row that does the same without; NULL: there is none */
    const char *centre_state; /* what is kept beside the centre and saved: "outer-momentum"; NULL: nothing */
    /* What it refuses; the words begin with the job's key that is to blame ("method.period: ..."). NULL: nothing. */
    tutti_status (*accept)(const tutti_plan_config *c, tutti_failure *err);
    /* The same of the numbers of its centre, between so many workers, at the largest rate of the schedule; NULL: it has
     * none. */
    tutti_status (*accept_centre)(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err);
    unsigned (*collectives)(
        const tutti_plan_config *c); /* bit set of tutti_collective: what config.algorithm must serve */
    const tutti_emitter *emitter;    /* what it makes of a plan: plan_builder.h */
    const tutti_emitter *split;      /* the same where ranks share layers; NULL: it does not go with that */
    /* What it refuses then, as accept does. */
    tutti_status (*accept_split)(const tutti_plan_config *c, tutti_failure *err);
} tutti_method_row;
const tutti_method_row *tutti_method_find(const char *name);
const tutti_method_row *tutti_method_at(int i);
/* All different keys of all methods, in the order of the table; NULL beyond the last. */
const tutti_method_key *tutti_method_key_at(int i);
/* The i-th key of a job that is for the method: its own ones, then those that concern it besides; NULL beyond the
 * last. */
const char *tutti_method_key_name(const tutti_method_row *row, int i);
bool tutti_method_takes(const tutti_method_row *row, const tutti_method_key *key);
/* Whether some method keeps a vector of this name (n letters) beside its centre. */
bool tutti_method_has_state(const char *name, size_t n);

/* Whether the workers of the row's paper have other rules than this one; then *words is one line on it, without a
 * newline. */
bool tutti_method_rule_differs(const tutti_method_row *row, const char *rule, tutti_strbuf *words);
/* What a plan of the row does, in ten words at most: "sync-sgd, 2 ranks: sharded all-reduce by direct, f32". Of what
 * travels in two types both are said, sums first: "bf16/f32". The plan is proved, or made with prove_later; `out`
 * grows. */
void tutti_method_say(const tutti_method_row *row, const tutti_plan *p, tutti_strbuf *out);

typedef enum { TUTTI_RATE_CONSTANT, TUTTI_RATE_STEP, TUTTI_RATE_POLY, TUTTI_RATE_COSINE } tutti_rate_kind;
typedef struct {
    tutti_rate_kind kind;
    double lr, end_lr;
    double warmup_epochs, warmup_lr; /* linear from warmup_lr to lr, by step */
    double gamma;                    /* step: factor at each milestone */
    tutti_reals milestones;          /* step: epochs */
    double power;                    /* poly */
} tutti_rate;
/* The rate of step s (0-based) of a run of nsteps. */
double tutti_rate_at(const tutti_rate *r, int64_t step, int64_t steps_per_epoch, int64_t nsteps);
/* That no step of any run exceeds. */
double tutti_rate_largest(const tutti_rate *r);

/* The loss, and so every gradient, is multiplied by `scale`, so that small gradients are not lost in 16 bits; the
 * update divides by it in f32. Dynamic (Micikevicius et al. 2018): a step with a gradient that is not finite is skipped
 * and halves it, to 1 at least; it doubles after `interval` clean steps. A pure function of verdicts: the same on all
 * ranks. */
typedef struct {
    bool dynamic;
    double start;
    int64_t interval;
} tutti_loss_scale;
typedef struct {
    double scale;
    int64_t clean_steps; /* since it changed */
    int64_t skipped;     /* steps, of the whole run */
} tutti_loss_scale_state;
tutti_loss_scale_state tutti_loss_scale_begin(const tutti_loss_scale *l);
void tutti_loss_scale_step(const tutti_loss_scale *l, bool skipped, tutti_loss_scale_state *s);

#endif
