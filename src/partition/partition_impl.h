/* SPDX-License-Identifier: Apache-2.0 */
/* partition_impl.h: declarations that the files of src/partition share: they turn hwloc's machine into groups. */
#ifndef TUTTI_PARTITION_IMPL_H
#define TUTTI_PARTITION_IMPL_H

#include <hwloc.h>

#include "partition.h"

/* Cuts all cores of the machine into groups. To cut only some cores, restrict the machine first. Pure: the same machine
 * and rule give the same groups, and only the arguments are read. Failures are those of tutti_partition_of_cores. */
tutti_status tutti_partition_cut(hwloc_topology_t machine, const tutti_partition_rule *rule, tutti_partition *out,
                                 tutti_failure *err);

/* A core and its caches and nodes. Arrays of units are in the order of the machine's tree. */
typedef struct {
    hwloc_obj_t core;  /* a core, or a hardware thread if the machine reports no cores */
    hwloc_obj_t cache; /* last-level cache of the core; NULL = none is reported */
    hwloc_obj_t inner; /* innermost cache that the core shares with another core; NULL = none */
    tutti_core_set nodes;
} tutti_core_unit;

/* Cuts n cores into ngroups runs of floor or ceil(n / ngroups) cores: out[g] is where run g begins, out[ngroups] = n.
 * Among all such cuts it takes the one in which most borders of runs lie between memory nodes, then between last-level
 * caches, then between inner shared caches. Among equally good cuts it takes the one with the longer runs first. */
void tutti_partition_cut_evenly(const tutti_core_unit *units, int n, int ngroups, int *out);

#endif
