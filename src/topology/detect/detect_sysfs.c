/* SPDX-License-Identifier: Apache-2.0 */
/* detect_sysfs.c: finds cores and caches of this machine in /sys, in a build without hwloc. Only one last-level cache
 * is counted. So on a machine with several sockets too little cache is assumed, and times for mid-sized vectors are
 * predicted too long. */
#include <stdio.h>

#include "../../base/host/cores.h"
#include "../topology_impl.h"

void tutti_topology_detect(tutti_host_shape *out)
{
    *out = (tutti_host_shape){.nsockets = 1};
    out->ncores = tutti_cores_usable_of_host();
    out->own_cores = tutti_cores_usable();
    char level[64], size[64];
    for (int i = 0; i < 8; i++) {
        static const char caches[] = "devices/system/cpu/cpu0/cache/index";
        long long kilobytes = 0;
        if (!tutti_sysfs_line(level, "%s%d/level", caches, i) || !tutti_sysfs_line(size, "%s%d/size", caches, i)) break;
        if (sscanf(size, "%lldK", &kilobytes) != 1) continue;
        if (level[0] == '2') out->core_cache = kilobytes * 1024;
        if (level[0] == '3') out->shared_cache = kilobytes * 1024;
    }
}
