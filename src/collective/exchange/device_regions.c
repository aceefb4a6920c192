/* SPDX-License-Identifier: Apache-2.0 */
/* device_regions.c: enrols the parts of a region, rank by rank. */
#include "device_regions.h"

static bool is_mapped(const tutti_region *region, int rank)
{
    return tutti_region_base(region, rank) && tutti_region_bytes(region, rank);
}

static void forget(const tutti_device *d, const tutti_region *region, int nranks)
{
    for (int r = 0; r < nranks; r++)
        if (is_mapped(region, r)) d->forget(d, tutti_region_base(region, r), tutti_region_bytes(region, r));
}

tutti_status tutti_device_enrol_region(const tutti_device *d, const tutti_group *group, const tutti_region *region,
                                       bool host_too, tutti_failure *err)
{
    const int nranks = tutti_group_nranks(group);
    for (int r = 0; r < nranks; r++) host_too |= !tutti_region_base(region, r);
    for (int r = 0; r < nranks; r++) {
        if (!is_mapped(region, r)) continue;
        const tutti_status st = d->enrol(d, tutti_region_base(region, r), tutti_region_bytes(region, r), host_too, err);
        if (!st) continue;
        forget(d, region, r);
        return st;
    }
    return TUTTI_OK;
}

void tutti_device_forget_region(const tutti_device *d, const tutti_group *group, const tutti_region *region)
{
    forget(d, region, tutti_group_nranks(group));
}
