/* SPDX-License-Identifier: Apache-2.0 */
/* method_sync_easgd2.c: the method sync-easgd2: synchronous elastic averaging with the centre in regions (Sync EASGD2
 * of You, Buluc and Demmel 2017). After the backward pass the owner of a slice sums all workers' weights in that slice,
 * moves this slice of the centre, and sends it to all. */
#include "method_elastic.h"

static const tutti_elastic way = {.at_root = false, .overlaps = false};

TUTTI_ELASTIC_ROW(
    sync_easgd2, way, .name = "sync-easgd2", .lock = "none: each element of the centre has one owner",
    .pattern = "sharded centre: reduce-scatter of weights, move of the own slice, all-gather of the centre",
    .centre_rule = TUTTI_ELASTIC_CENTRE_RULE ", by the owner of each slice",
    .overlap = "nothing: both after the backward pass",
    .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Sync EASGD2; Zhang, Choromanska and LeCun 2015",
    .help = "workers with weights of their own and a centre pull at each other; owners of slices move it");
