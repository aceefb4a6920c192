/* SPDX-License-Identifier: Apache-2.0 */
/* method_sync_easgd2.c: synchronous elastic averaging with the centre in regions (Sync EASGD2 of You, Buluc and Demmel 2017): the owner of
 * a slice sums all workers' weights there, moves the slice of the centre and hands it round, all after the backward pass. */
#include "method_elastic.h"

static const tutti_elastic way = {.at_root = false, .overlaps = false};

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

const tutti_method_row tutti_method_sync_easgd2 = {
    .name = "sync-easgd2",
    .parallelism = "data",
    .optimisation = "decentralised",
    .schedule = "synchronous",
    .lock = "none: each element of the centre has one owner",
    .pattern = "sharded centre: reduce-scatter of weights, move of the own slice, all-gather of the centre",
    .travels = "weights, then the centre",
    .local_rule = TUTTI_ELASTIC_LOCAL_RULE,
    .centre_rule = TUTTI_ELASTIC_CENTRE_RULE ", by the owner of each slice",
    .period = "method.period steps",
    .overlap = "nothing: both after the backward pass",
    .source = "You, Buluc and Demmel 2017, arXiv 1708.02983, Sync EASGD2; Zhang, Choromanska and LeCun 2015",
    .refuses = TUTTI_ELASTIC_REFUSES,
    .help = "workers with weights of their own and a centre pull at each other; owners of slices move it",
    .keys = {"method.period", "method.rho"},
    .accept = tutti_elastic_accept,
    .accept_centre = tutti_elastic_accept_centre,
    .collectives = collectives,
    .emitter = &emitter,
};
