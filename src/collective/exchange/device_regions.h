/* SPDX-License-Identifier: Apache-2.0 */
/* device_regions.h: regions as memory of a device. This rank maps the regions of all ranks, because schedules for
 * mapped memory reach into peers' memory. Threads: one at a time for each group. */
#ifndef TUTTI_DEVICE_REGIONS_H
#define TUTTI_DEVICE_REGIONS_H

#include "../../device/device_row.h"
#include "../group/group.h"

/* Creates a region, as tutti_region_create does, where peers can reach the memory on which this device computes: the
 * device's own memory, which ranks of one host open by handles, or the host's. The device outlives the region. */
tutti_status tutti_device_create_region(const tutti_device *d, tutti_group *group, const char *name, size_t own_bytes,
                                        tutti_region **out, tutti_failure *err);
/* Enrols the region with the device. Forget it before the region is destroyed. host_too: as in device_row.h; also in
 * effect if a wire writes bytes of other hosts into the region. */
tutti_status tutti_device_enrol_region(const tutti_device *d, const tutti_group *group, const tutti_region *region,
                                       bool host_too, tutti_failure *err);
void tutti_device_forget_region(const tutti_device *d, const tutti_group *group, const tutti_region *region);

#endif
