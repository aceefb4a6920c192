/* SPDX-License-Identifier: Apache-2.0 */
/* method_elastic.h: what the synchronous elastic-averaging methods share (You, Buluc and Demmel 2017, arXiv 1708.02983). They differ in who
 * has the centre and in what travels beside the computing. */
#ifndef TUTTI_METHOD_ELASTIC_H
#define TUTTI_METHOD_ELASTIC_H

#include "method_impl.h"

typedef struct {
    bool
        at_root; /* rank 0 has the centre: weights are reduced to it, the centre is broadcast; else owners of slices have it */
    bool overlaps; /* sums of weights, and the centre, travel beside forward and backward passes */
} tutti_elastic;

tutti_status tutti_elastic_declare(tutti_plan_builder *b, const tutti_elastic *e, tutti_failure *err);
void tutti_elastic_list(tutti_plan_builder *b, const tutti_elastic *e);
/* What all of them refuse. */
tutti_status tutti_elastic_accept(const tutti_plan_config *c, tutti_failure *err);
/* A step of 2 / (P + 1) or more, which no curvature makes stable. */
tutti_status tutti_elastic_accept_centre(const tutti_centre *c, int nworkers, double largest_rate, tutti_failure *err);

#define TUTTI_ELASTIC_LOCAL_RULE  "W <- rule(W, g) - r rho (W - C), by W and C from before the step"
#define TUTTI_ELASTIC_CENTRE_RULE "C <- C + r rho (sum of all W - P C); running statistics: mean of all W"
#define TUTTI_ELASTIC_REFUSES                                                                                          \
    "r rho of 2 / (P + 1) or more at the largest rate; reduction: canonical; update: replicated; update_when: early; " \
    "period 0"

#endif
