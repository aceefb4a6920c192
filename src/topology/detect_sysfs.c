/* SPDX-License-Identifier: Apache-2.0 */
/* detect_sysfs.c: cores and caches of this machine where hwloc is not there: the affinity mask and cpu0's caches in /sys.
 * A last-level cache is counted once: machines with several sockets are underestimated, which only makes predictions of
 * mid-sized vectors cautious. */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "topology_impl.h"

static bool read_line(int index, const char *what, char out[64])
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    bool got = fgets(out, 64, f) != NULL;
    fclose(f);
    return got;
}

void tutti_topology_detect(tutti_host_shape *out)
{
    *out = (tutti_host_shape){.nsockets = 1};
    cpu_set_t mask;
    if (!sched_getaffinity(0, sizeof mask, &mask)) out->ncores = CPU_COUNT(&mask);
    char level[64], size[64];
    for (int i = 0; i < 8 && read_line(i, "level", level) && read_line(i, "size", size); i++) {
        long long kilobytes = 0;
        if (sscanf(size, "%lldK", &kilobytes) != 1) continue;
        if (level[0] == '2') out->core_cache = kilobytes * 1024;
        if (level[0] == '3') out->shared_cache = kilobytes * 1024;
    }
}
