/* SPDX-License-Identifier: Apache-2.0 */
/* method_visiting.h: declarations that the asynchronous methods share, whose workers take steps of their own and visit
 * a centre. These are the original EASGD (Zhang, Choromanska and LeCun 2015), its asynchronous variants, and their
 * twins without elastic averaging (You, Buluc and Demmel 2017, arXiv 1708.02983; Recht et al. 2011; Ho et al. 2013).
 * They differ in when a worker is admitted and in what moves the centre. */
#ifndef TUTTI_METHOD_VISITING_H
#define TUTTI_METHOD_VISITING_H

#include "../method_impl.h"

typedef struct {
    tutti_admission admission;
    bool by_gradients; /* true: the rule moves the centre by a worker's gradients, and the worker continues from the
                        * centre. false: the elastic rule moves both */
    bool is_paced;     /* true if no worker may be more than method.staleness steps ahead of the slowest */
    bool wants_states; /* the method needs a rule with states, such as momentum */
    bool is_plain;     /* the method needs a rule without states */
} tutti_visiting;

tutti_status tutti_visiting_declare(tutti_plan_builder *b, const tutti_visiting *v, tutti_failure *err);
void tutti_visiting_list(tutti_plan_builder *b, const tutti_visiting *v);
/* Refuses configurations that the method cannot run. name: that of the row. */
tutti_status tutti_visiting_accept(const tutti_plan_config *c, const tutti_visiting *v, const char *name,
                                   tutti_failure *err);
/* Refuses an elastic step of 1 or more between one worker and the centre, which is unstable whatever the curvature. */
tutti_status tutti_visiting_accept_centre(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err);

/* Defines the row tutti_method_<id>; the arguments are the members in which rows differ. */
#define TUTTI_VISITING_ROW(id, row_name, way, ...)                                                                     \
    static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)                                             \
    {                                                                                                                  \
        return tutti_visiting_declare(b, &(way), err);                                                                 \
    }                                                                                                                  \
    static void list(tutti_plan_builder *b)                                                                            \
    {                                                                                                                  \
        tutti_visiting_list(b, &(way));                                                                                \
    }                                                                                                                  \
    static tutti_status accept(const tutti_plan_config *c, tutti_failure *err)                                         \
    {                                                                                                                  \
        return tutti_visiting_accept(c, &(way), row_name, err);                                                        \
    }                                                                                                                  \
    static unsigned collectives(const tutti_plan_config *c)                                                            \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static const tutti_emitter emitter = {declare, list};                                                              \
    const tutti_method_row tutti_method_##id = {.name = row_name,                                                      \
                                                .parallelism = "data",                                                 \
                                                .is_async = true,                                                      \
                                                .overlap = "nothing: a visit is between two steps of the worker",      \
                                                .accept = accept,                                                      \
                                                .collectives = collectives,                                            \
                                                .emitter = &emitter,                                                   \
                                                __VA_ARGS__}

/* The members that all elastic rows share (below: all rows by gradients). */
#define TUTTI_VISITING_ELASTIC                                                                                         \
    .saves_no_states = true, .paper_rules = "sgd, momentum, nesterov", .optimisation = "decentralised",                \
    .travels = "weights, and the centre",                                                                              \
    .local_rule = "W <- rule(W, g) - r rho (W - C), by W and C from before the step",                                  \
    .centre_rule = "C <- C + r rho (W - C), one worker after the other; running statistics: C <- C + (W - C) / P",     \
    .period = "method.period local steps", .accept_centre = tutti_visiting_accept_centre,                              \
    .keys = {&tutti_method_period, &tutti_method_rho}
#define TUTTI_VISITING_GRADIENTS                                                                                       \
    .optimisation = "centralised", .travels = "gradients, and the centre", .local_rule = "W <- C",                     \
    .centre_rule = "C <- rule(C, g), by each worker's g as it comes; the rule's states lie with C",                    \
    .period = "every local step"
#define TUTTI_VISITING_REFUSES                                                                                         \
    "reduction: canonical; a dynamic loss_scale; trace; buckets: soonest; update: replicated; "                        \
    "update_when: early"

#endif
