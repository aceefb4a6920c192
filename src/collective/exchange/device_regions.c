/* SPDX-License-Identifier: Apache-2.0 */
/* device_regions.c: makes regions in a device's own memory or in the host's memory. In the second case each rank's part
 * of a region is enrolled with the device. */
#include "device_regions.h"

/* ---- regions of the device's own memory ---- */

_Static_assert((int)TUTTI_REGION_HANDLE == (int)TUTTI_DEVICE_HANDLE, "a region carries a device's handle");

static tutti_status make_part(void *device, size_t nbytes, void **at, tutti_failure *err)
{
    const tutti_device *d = device;
    *at = d->allocate(d, nbytes);
    return *at ? TUTTI_OK : tutti_fail(err, TUTTI_ERR_FAILED, "no memory for %zu bytes on %s", nbytes, d->name);
}

static tutti_status show_part(void *device, const void *at, char handle[TUTTI_REGION_HANDLE], tutti_failure *err)
{
    const tutti_device *d = device;
    return d->show(d, at, handle, err);
}

static tutti_status open_part(void *device, const char handle[TUTTI_REGION_HANDLE], size_t nbytes, void **at,
                              tutti_failure *err)
{
    const tutti_device *d = device;
    return d->open(d, handle, nbytes, at, err);
}

static void close_part(void *device, void *at)
{
    const tutti_device *d = device;
    d->close(d, at);
}

static void release_part(void *device, void *at, size_t nbytes)
{
    const tutti_device *d = device;
    d->release(d, at, nbytes);
}

tutti_status tutti_device_create_region(const tutti_device *d, tutti_group *group, const char *name, size_t own_bytes,
                                        tutti_region **out, tutti_failure *err)
{
    const tutti_region_source source = {(void *)(uintptr_t)d, d->name,     make_part, show_part, open_part,
                                        close_part,           release_part};
    return d->show ? tutti_region_create_of(group, &source, name, own_bytes, out, err)
                   : tutti_region_create(group, name, own_bytes, out, err);
}

/* ---- regions of the host's memory ---- */

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
