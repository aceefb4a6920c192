/* SPDX-License-Identifier: Apache-2.0 */
/* detect_nics.c: finds the network interfaces of this machine in /sys/class/net. Only interfaces of a device count, so
 * neither loopback nor bridges and tunnels. Ethernet reports its rate in Mb/s; InfiniBand and virtual cards may report
 * none. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../topology_impl.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tutti_host_nic *)a)->name, ((const tutti_host_nic *)b)->name);
}

int tutti_topology_detect_nics(tutti_host_nic *out, int room)
{
    DIR *folder = opendir("/sys/class/net");
    int n = 0;
    for (const struct dirent *e = folder ? readdir(folder) : NULL; e && n < room; e = readdir(folder)) {
        char path[320], text[64];
        snprintf(path, sizeof path, "/sys/class/net/%.255s/device", e->d_name);
        if (e->d_name[0] == '.' || access(path, F_OK)) continue;
        tutti_host_nic *nic = &out[n++];
        *nic = (tutti_host_nic){.socket = -1};
        snprintf(nic->name, sizeof nic->name, "%.15s", e->d_name);
        if (tutti_sysfs_line(text, "class/net/%s/speed", e->d_name) && strtol(text, NULL, 10) > 0)
            nic->bytes_per_s = (double)strtol(text, NULL, 10) * 125e3;
        if (tutti_sysfs_line(text, "class/net/%s/device/numa_node", e->d_name))
            nic->socket = (int)strtol(text, NULL, 10);
        nic->up = tutti_sysfs_line(text, "class/net/%s/operstate", e->d_name) && !strcmp(text, "up");
    }
    if (folder) closedir(folder);
    qsort(out, (size_t)n, sizeof *out, by_name);
    return n;
}
