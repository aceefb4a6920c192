/* SPDX-License-Identifier: Apache-2.0 */
/* detect_hwloc.c: finds sockets, caches and cores of this machine through hwloc. */
#include <hwloc.h>

#include "../../base/host/cores.h"
#include "../topology_impl.h"

/* Returns the bytes of all caches of a type together, or only of the first one. */
static int64_t cache_bytes(hwloc_topology_t machine, hwloc_obj_type_t type, bool all)
{
    int64_t sum = 0;
    for (hwloc_obj_t o = hwloc_get_next_obj_by_type(machine, type, NULL); o;
         o = hwloc_get_next_obj_by_type(machine, type, o)) {
        sum += (int64_t)o->attr->cache.size;
        if (!all) break;
    }
    return sum;
}

void tutti_topology_detect(tutti_host_shape *out)
{
    *out = (tutti_host_shape){0};
    out->ncores = tutti_cores_usable_of_host();
    out->own_cores = tutti_cores_usable();
    hwloc_topology_t machine;
    if (hwloc_topology_init(&machine)) return;
    if (!hwloc_topology_load(machine)) {
        int sockets = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PACKAGE);
        out->nsockets = sockets > 0 ? sockets : 1;
        out->core_cache = cache_bytes(machine, HWLOC_OBJ_L2CACHE, false);
        out->shared_cache = cache_bytes(machine, HWLOC_OBJ_L3CACHE, true);
    }
    hwloc_topology_destroy(machine);
}
