/* SPDX-License-Identifier: Apache-2.0 */
/* method_elastic.h: declarations that the synchronous elastic-averaging methods share (You, Buluc and Demmel 2017,
 * arXiv 1708.02983). They differ in where the centre lies and in what is exchanged beside the computing. */
#ifndef TUTTI_METHOD_ELASTIC_H
#define TUTTI_METHOD_ELASTIC_H

#include "method_impl.h"

typedef struct {
    bool at_root;  /* true: rank 0 holds the centre; weights are reduced to it and the centre is broadcast. false: the
                    * owners of slices hold it */
    bool overlaps; /* the sums of weights and the centre are exchanged beside the forward and backward passes */
} tutti_elastic;

tutti_status tutti_elastic_declare(tutti_plan_builder *b, const tutti_elastic *e, tutti_failure *err);
void tutti_elastic_list(tutti_plan_builder *b, const tutti_elastic *e);
unsigned tutti_elastic_collectives(const tutti_elastic *e);
/* Refuses configurations that none of these methods can run. */
tutti_status tutti_elastic_accept(const tutti_plan_config *c, tutti_failure *err);
/* Refuses an elastic step of 2 / (P + 1) or more, which is unstable whatever the curvature. */
tutti_status tutti_elastic_accept_centre(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err);

/* Defines the row tutti_method_<id>; the arguments are the members in which rows differ. */
#define TUTTI_ELASTIC_ROW(id, way, ...)                                                                                \
    static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)                                             \
    {                                                                                                                  \
        return tutti_elastic_declare(b, &(way), err);                                                                  \
    }                                                                                                                  \
    static void list(tutti_plan_builder *b)                                                                            \
    {                                                                                                                  \
        tutti_elastic_list(b, &(way));                                                                                 \
    }                                                                                                                  \
    static unsigned collectives(const tutti_plan_config *c)                                                            \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        return tutti_elastic_collectives(&(way));                                                                      \
    }                                                                                                                  \
    static const tutti_emitter emitter = {declare, list};                                                              \
    const tutti_method_row tutti_method_##id = {                                                                       \
        .parallelism = "data",                                                                                         \
        .optimisation = "decentralised",                                                                               \
        .schedule = "synchronous",                                                                                     \
        .travels = "weights, then the centre",                                                                         \
        .paper_rules = "sgd, momentum, nesterov",                                                                      \
        .local_rule = "W <- rule(W, g) - r rho (W - C), by W and C from before the step",                              \
        .period = "method.period steps",                                                                               \
        .refuses = "r rho of 2 / (P + 1) or more at the largest rate; reduction: canonical; update: replicated; "      \
                   "update_when: early; period 0",                                                                     \
        .keys = {&tutti_method_period, &tutti_method_rho},                                                             \
        .accept = tutti_elastic_accept,                                                                                \
        .accept_centre = tutti_elastic_accept_centre,                                                                  \
        .collectives = collectives,                                                                                    \
        .emitter = &emitter,                                                                                           \
        __VA_ARGS__}
#define TUTTI_ELASTIC_CENTRE_RULE "C <- C + r rho (sum of all W - P C); running statistics: mean of all W"

#endif
