/* SPDX-License-Identifier: Apache-2.0 */
/* method_async_measgd.c: the method async-measgd: asynchronous EASGD in which each worker keeps a momentum (You, Buluc
 * and Demmel 2017). */
#include "method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_BY_ARRIVAL, .wants_states = true};

TUTTI_VISITING_ROW(async_measgd, "async-measgd", way, TUTTI_VISITING_ELASTIC, .schedule = "asynchronous",
                   .lock = "one visit at a time, in order of arrival",
                   .pattern = "centre on rank 0, visited in order of arrival",
                   .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Async MEASGD",
                   .refuses = "r rho of 1 or more at the largest rate; period 0; "
                              "a rule without states; " TUTTI_VISITING_REFUSES,
                   .twin = "async-msgd", .help = "async-easgd whose workers keep a momentum");
