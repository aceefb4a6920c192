/* SPDX-License-Identifier: Apache-2.0 */
/* method_hogwild_easgd.c: the method hogwild-easgd: asynchronous EASGD without a lock (You, Buluc and Demmel 2017).
 * Several workers may move the centre at a time. If two workers change the same element, one change is lost. */
#include "method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_EVERYBODY};

TUTTI_VISITING_ROW(hogwild_easgd, "hogwild-easgd", way, TUTTI_VISITING_ELASTIC, .is_unordered = true,
                   .schedule = "asynchronous", .lock = "none: several workers change the centre at a time",
                   .pattern = "centre on rank 0, visited at any time",
                   .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Hogwild EASGD",
                   .refuses = "r rho of 1 or more at the largest rate; period 0; " TUTTI_VISITING_REFUSES,
                   .twin = "hogwild-sgd", .help = "async-easgd without a lock");
