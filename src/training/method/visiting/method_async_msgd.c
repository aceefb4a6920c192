/* SPDX-License-Identifier: Apache-2.0 */
/* method_async_msgd.c: the method async-msgd: asynchronous SGD with a momentum that lies with the centre (You, Buluc
 * and Demmel 2017). */
#include "method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_BY_ARRIVAL, .by_gradients = true, .wants_states = true};

TUTTI_VISITING_ROW(async_msgd, "async-msgd", way, TUTTI_VISITING_GRADIENTS, .schedule = "asynchronous",
                   .lock = "one visit at a time, in order of arrival",
                   .pattern = "parameter server in the memory of rank 0", .paper_rules = "momentum, nesterov",
                   .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Async MSGD",
                   .refuses = "a rule without states; lars and lamb; " TUTTI_VISITING_REFUSES,
                   .help = "async-sgd with a momentum that lies with the centre");
