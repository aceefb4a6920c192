/* SPDX-License-Identifier: Apache-2.0 */
/* method_sync_easgd3.c: Sync EASGD2 with its exchanges beside the computing (Sync EASGD3 of You, Buluc and Demmel 2017): the weights that
 * are summed are there when the step begins, so sums travel beside its forward and backward pass; the centre is needed at the end of the
 * next period, so it travels beside all of that. The same weights to the bit. */
#include "method_elastic.h"

static const tutti_elastic way = {.at_root = false, .overlaps = true};

static tutti_status declare(tutti_plan_builder *b, tutti_failure *err)
{
    return tutti_elastic_declare(b, &way, err);
}

static void list(tutti_plan_builder *b)
{
    tutti_elastic_list(b, &way);
}

static unsigned collectives(const tutti_plan_config *c)
{
    (void)c;
    return 1u << TUTTI_REDUCE_SCATTER | 1u << TUTTI_ALL_GATHER;
}

static const tutti_emitter emitter = {declare, list};

const tutti_method_row tutti_method_sync_easgd3 = {
    .name = "sync-easgd3",
    .parallelism = "data",
    .optimisation = "decentralised",
    .schedule = "synchronous",
    .lock = "none: each element of the centre has one owner",
    .pattern = "sharded centre: reduce-scatter of weights, move of the own slice, all-gather of the centre",
    .travels = "weights, then the centre",
    .local_rule = TUTTI_ELASTIC_LOCAL_RULE,
    .centre_rule = TUTTI_ELASTIC_CENTRE_RULE ", by the owner of each slice",
    .period = "method.period steps",
    .overlap = "weights beside the step's forward and backward pass, the centre beside the next period's",
    .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Sync EASGD3; Zhang, Choromanska and LeCun 2015",
    .refuses = TUTTI_ELASTIC_REFUSES,
    .help = "sync-easgd2 with both exchanges beside the computing",
    .keys = {"method.period", "method.rho"},
    .accept = tutti_elastic_accept,
    .accept_centre = tutti_elastic_accept_centre,
    .collectives = collectives,
    .emitter = &emitter,
};
