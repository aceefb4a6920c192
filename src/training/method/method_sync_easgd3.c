/* SPDX-License-Identifier: Apache-2.0 */
/* method_sync_easgd3.c: the method sync-easgd3: Sync EASGD2 with its exchanges beside the computing (Sync EASGD3 of
 * You, Buluc and Demmel 2017). The weights to be summed exist when the step begins, so the sums run beside its forward
 * and backward pass. The centre is needed at the end of the next period, so its exchange runs beside that whole period.
 * The weights have the same bits as with Sync EASGD2. */
#include "method_elastic.h"

static const tutti_elastic way = {.at_root = false, .overlaps = true};

TUTTI_ELASTIC_ROW(
    sync_easgd3, way, .name = "sync-easgd3", .lock = "none: each element of the centre has one owner",
    .pattern = "sharded centre: reduce-scatter of weights, move of the own slice, all-gather of the centre",
    .centre_rule = TUTTI_ELASTIC_CENTRE_RULE ", by the owner of each slice",
    .overlap = "weights beside the step's forward and backward pass, the centre beside the next period's",
    .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Sync EASGD3; Zhang, Choromanska and LeCun 2015",
    .twin = "sync-sgd", .help = "sync-easgd2 with both exchanges beside the computing");
