/* SPDX-License-Identifier: Apache-2.0 */
/* step_log.h: what a rank does when in a predicted step: stretches of computing and of exchanges as the timeline has played them, what of
 * the exchanges is exposed, and the chain of stretches that makes the step as long as it is. Threads: owner. */
#ifndef TUTTI_STEP_LOG_H
#define TUTTI_STEP_LOG_H

#include <stdbool.h>

typedef enum {
    TUTTI_STRETCH_LOAD,     /* of a batch, where no core is free for it */
    TUTTI_STRETCH_FORWARD,  /* kernels of a layer */
    TUTTI_STRETCH_BACKWARD, /* ... and of its gradients */
    TUTTI_STRETCH_UPDATE,   /* what moves weights, gradients and states: rules, sums, copies */
    TUTTI_STRETCH_BESIDE,   /* the same beside the others, on the way of an exchange */
    TUTTI_STRETCH_EXCHANGE, /* on the wire; on a host by the rank's own core */
    TUTTI_STRETCH_WAIT,     /* of a path: what nobody is seen to do */
    TUTTI_NSTRETCHES
} tutti_stretch_kind;
const char *tutti_stretch_name(tutti_stretch_kind k); /* "forward" */

typedef struct {
    tutti_stretch_kind kind;
    int what; /* a layer of the model; of an exchange: which of the plan; else -1 */
    int last; /* of a path: the layer or exchange that it ends with; else = what */
    double begin_s, end_s;
} tutti_step_stretch;

typedef struct {
    tutti_step_stretch *list; /* in the order in which they were played */
    int n, capacity;
    double begin_s, end_s; /* the step, or period, that counts */
} tutti_step_log;

/* NULL is accepted: nothing is kept then. Neighbours of one kind and layer become one. Stretches of no length are left out. */
void tutti_step_log_add(tutti_step_log *log, tutti_stretch_kind kind, int what, double begin_s, double end_s);
void tutti_step_log_release(tutti_step_log *log);
/* Only what lies in [begin_s, end_s), cut to it, with times from 0. */
void tutti_step_log_cut(tutti_step_log *log, double begin_s, double end_s);

/* Computes in [a, b): the rank's lane, without exchanges. */
double tutti_step_log_computing(const tutti_step_log *log, double a, double b);
/* Parts of an exchange's stretch, one of the log's list, by turns: hidden behind computing, exposed. Into out, at most `most`, times as the stretch's; returns how
 * many. exposed[i]: part i is. */
int tutti_step_log_split(const tutti_step_log *log, const tutti_step_stretch *exchange, tutti_step_stretch *out,
                         bool *exposed, int most);

/* The chain that ends with the step: each stretch could begin only when the one before it had ended. From the first to the last, into
 * *out (free()); neighbours of one kind are one. Returns how many. */
int tutti_step_log_path(const tutti_step_log *log, tutti_step_stretch **out);

#endif
