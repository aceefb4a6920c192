/* SPDX-License-Identifier: Apache-2.0 */
/* method_async_easgd.c: the method async-easgd: asynchronous EASGD: like easgd, but workers visit in order of arrival
 * (You, Buluc and Demmel 2017). */
#include "method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_BY_ARRIVAL, .is_plain = true};

TUTTI_VISITING_ROW(
    async_easgd, "async-easgd", way, TUTTI_VISITING_ELASTIC, .is_plain = true, .schedule = "asynchronous",
    .lock = "one visit at a time, in order of arrival", .pattern = "centre on rank 0, visited in order of arrival",
    .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Async EASGD",
    .refuses = "r rho of 1 or more at the largest rate; period 0; "
               "rules with states but momentum and nesterov, whose momentum is left out; " TUTTI_VISITING_REFUSES,
    .twin = "async-sgd", .help = "workers of plain SGD and a centre pull at each other, who comes first is first");
