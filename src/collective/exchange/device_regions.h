/* SPDX-License-Identifier: Apache-2.0 */
/* device_regions.h: regions as memory of a device: what this rank maps of all ranks, because schedules for mapped
 * memory reach into peers'. Threads: owner of the group. */
#ifndef TUTTI_DEVICE_REGIONS_H
#define TUTTI_DEVICE_REGIONS_H

#include "../../device/device_row.h"
#include "../group/group.h"

/* A region where peers reach what this device computes on: of its own memory, which ranks of one host open by handles,
 * or of the host's. As tutti_region_create; the device outlives it. */
tutti_status tutti_device_create_region(const tutti_device *d, tutti_group *group, const char *name, size_t own_bytes,
                                        tutti_region **out, tutti_failure *err);
/* Until it is forgotten, before the region is destroyed. host_too: as in device_row.h; a wire that brings other hosts'
 * bytes counts by itself. */
tutti_status tutti_device_enrol_region(const tutti_device *d, const tutti_group *group, const tutti_region *region,
                                       bool host_too, tutti_failure *err);
void tutti_device_forget_region(const tutti_device *d, const tutti_group *group, const tutti_region *region);

#endif
