/* SPDX-License-Identifier: Apache-2.0 */
/* method_easgd.c: the method easgd, the original EASGD: each worker has weights of its own, and worker and centre are
 * pulled towards each other. The workers visit the centre one after the other in the order of their ranks, so that each
 * waits for the one before (Zhang, Choromanska and LeCun 2015). */
#include "visiting/method_visiting.h"

static const tutti_visiting way = {.admission = TUTTI_ADMIT_IN_RANK_ORDER};

TUTTI_VISITING_ROW(
    easgd, "easgd", way, TUTTI_VISITING_ELASTIC, .schedule = "round robin",
    .lock = "a turn for each worker, in rank order", .pattern = "centre on rank 0, visited in rank order",
    .source = "Zhang, Choromanska and LeCun 2015, arXiv 1412.6651; as Original EASGD in You, Buluc and Demmel 2017, "
              "arXiv 1708.02983",
    .refuses = "r rho of 1 or more at the largest rate; period 0; " TUTTI_VISITING_REFUSES,
    .help = "the original EASGD: workers and a centre pull at each other, one worker after the other in rank order");
