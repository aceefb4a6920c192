/* SPDX-License-Identifier: Apache-2.0 */
/* partition_impl.h: what the files of the partition share: from a machine as hwloc has it to groups. */
#ifndef TUTTI_PARTITION_IMPL_H
#define TUTTI_PARTITION_IMPL_H

#include <hwloc.h>

#include "partition.h"

/* All cores of the machine are shared out: restrict it first. Pure: the same machine and rule give the same groups, and
 * nothing but the arguments is read. TUTTI_ERR_USAGE as tutti_partition_of_cores. */
tutti_status tutti_partition_cut(hwloc_topology_t machine, const tutti_partition_rule *rule, tutti_partition *out,
                                 tutti_failure *err);

/* What a cut goes by: whole cores in the order of the machine's tree. */
typedef struct {
    hwloc_obj_t core;  /* or a hardware thread, where the machine tells of no cores */
    hwloc_obj_t cache; /* the last level above it; NULL = none is told of */
    hwloc_obj_t inner; /* the first cache above it that it shares with another core; NULL = none */
    tutti_core_set nodes;
} tutti_core_unit;

/* Where n cores are cut into so many runs of floor or ceil(n / ngroups): out[g] is where run g begins, out[ngroups] =
 * n. Of all such cuts the one that ends most runs between nodes, then between last-level caches, then between inner
 * ones; of those the one with the longer runs first. */
void tutti_partition_cut_evenly(const tutti_core_unit *units, int n, int ngroups, int *out);

#endif
