/* SPDX-License-Identifier: Apache-2.0 */
/* method_bounded_sgd.c: the method bounded-sgd: asynchronous SGD in which no worker runs too far ahead (stale
 * synchronous parallel, Ho et al. 2013). No worker begins local step s before all workers have ended step s - K. With K
 * = 0 all workers step together. */
#include "method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_BY_ARRIVAL, .by_gradients = true, .is_paced = true};

static const tutti_method_key staleness = {
    .field = {"method.staleness", TUTTI_FIELD_INT, offsetof(tutti_plan_config, staleness), "2", NULL, 0, 1e9,
              "bounded-sgd: local steps that a worker may be ahead of the slowest"}};

TUTTI_VISITING_ROW(
    bounded_sgd, "bounded-sgd", way, TUTTI_VISITING_GRADIENTS, .schedule = "bounded asynchronous",
    .lock = "one visit at a time, in order of arrival; nobody is more than method.staleness local steps ahead",
    .pattern = "parameter server in the memory of rank 0", .paper_rules = "sgd",
    .source = "Ho et al. 2013, More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server",
    .refuses = "lars and lamb; " TUTTI_VISITING_REFUSES,
    .help = "async-sgd whose workers wait for those that are too far behind", .keys = {&staleness});
