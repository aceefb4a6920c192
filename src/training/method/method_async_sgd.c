/* SPDX-License-Identifier: Apache-2.0 */
/* method_async_sgd.c: asynchronous SGD: a worker brings its gradients, which the rule applies to the centre, and goes on from
 * what that is then; meanwhile others did the same, so gradients are of older weights (Dean et al. 2012). */
#include "method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_BY_ARRIVAL, .by_gradients = true};

TUTTI_VISITING_ROW(async_sgd, "async-sgd", way, TUTTI_VISITING_GRADIENTS, .schedule = "asynchronous",
                   .lock = "one visit at a time, in order of arrival",
                   .pattern = "parameter server in the memory of rank 0", .paper_rules = "sgd",
                   .source = "Dean et al. 2012, Large Scale Distributed Deep Networks (Downpour SGD)",
                   .refuses = "lars and lamb; " TUTTI_VISITING_REFUSES,
                   .help = "workers bring gradients to a centre as they come, and go on from it");
