/* SPDX-License-Identifier: Apache-2.0 */
/* method_sync_easgd1.c: the method sync-easgd1: synchronous elastic averaging with the centre on rank 0 (Sync EASGD1 of
 * You, Buluc and Demmel 2017). After the backward pass a tree reduces the weights of all workers to rank 0, which moves
 * the centre and broadcasts it. In the paper the centre lies in the host's memory and is copied to and from it; here it
 * lies in rank 0's memory, which is like that of any other rank. */
#include "method_elastic.h"

static const tutti_elastic way = {.at_root = true, .overlaps = false};

TUTTI_ELASTIC_ROW(
    sync_easgd1, way, .name = "sync-easgd1", .lock = "none: rank 0 alone writes the centre",
    .pattern = "centre on rank 0: reduce of weights by a tree, move of the centre there, broadcast",
    .centre_rule = TUTTI_ELASTIC_CENTRE_RULE ", by rank 0", .overlap = "nothing: both after the backward pass",
    .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Sync EASGD1; Zhang, Choromanska and LeCun 2015",
    .help = "workers with weights of their own and a centre on rank 0 pull at each other, through a tree");
