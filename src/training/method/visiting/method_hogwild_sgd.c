/* SPDX-License-Identifier: Apache-2.0 */
/* method_hogwild_sgd.c: the method hogwild-sgd: asynchronous SGD without a lock: if two workers change the same element
 * at the same time, one change is lost (Recht et al. 2011). */
#include "method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_EVERYBODY, .by_gradients = true};

TUTTI_VISITING_ROW(hogwild_sgd, "hogwild-sgd", way, TUTTI_VISITING_GRADIENTS, .is_unordered = true,
                   .schedule = "asynchronous", .lock = "none: several workers change the centre at a time",
                   .pattern = "parameter server in the memory of rank 0", .paper_rules = "sgd",
                   .source = "Recht, Re, Wright and Niu 2011, Hogwild!",
                   .refuses = "lars and lamb; " TUTTI_VISITING_REFUSES, .help = "async-sgd without a lock");
