/* SPDX-License-Identifier: Apache-2.0 */
/* method_async_sgd.c: the method async-sgd: asynchronous SGD: a worker brings its gradients, the rule applies them to
 * the centre, and the worker continues from the new centre. Other workers do the same meanwhile, so gradients are of
 * older weights (Dean et al. 2012). */
#include "method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_BY_ARRIVAL, .by_gradients = true, .is_plain = true};

TUTTI_VISITING_ROW(
    async_sgd, "async-sgd", way, TUTTI_VISITING_GRADIENTS, .is_plain = true, .paper_rules = "sgd",
    .schedule = "asynchronous", .lock = "one visit at a time, in order of arrival",
    .pattern = "parameter server in the memory of rank 0",
    .source = "Dean et al. 2012, Large Scale Distributed Deep Networks (Downpour SGD)",
    .refuses = "rules with states but momentum and nesterov, whose momentum is left out; " TUTTI_VISITING_REFUSES,
    .help = "workers bring gradients to a centre as they come, which plain SGD moves, and go on from it");
