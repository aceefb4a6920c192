/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_memory.c: memory of a device between guards of NaN, and copies of it. */
#include "gpu_memory.h"

#include <stdlib.h>
#include <string.h>

static size_t whole(size_t nbytes)
{
    return (nbytes + GPU_GUARD - 1) / GPU_GUARD * GPU_GUARD;
}

static size_t bytes_of(const gpu_room *r)
{
    return whole(r->nbytes) + 2 * GPU_GUARD;
}

static void poison(gpu_side *s, char *at, size_t nbytes)
{
    for (size_t done = 0; done < nbytes; done += GPU_CHUNK)
        s->device->copy(s->device, &(char *){at + done}, 1, s->nan,
                        nbytes - done < GPU_CHUNK ? nbytes - done : GPU_CHUNK, false);
}

bool gpu_take(gpu_side *s, gpu_room *r, size_t nbytes)
{
    r->nbytes = nbytes;
    r->base = s->device->allocate(s->device, bytes_of(r));
    if (r->base) poison(s, r->base, bytes_of(r));
    return r->base;
}

void gpu_give_back(gpu_side *s, gpu_room *r)
{
    if (r->base) s->device->release(s->device, r->base, bytes_of(r));
    r->base = NULL;
}

void *gpu_at(const gpu_room *r)
{
    return r->base ? r->base + GPU_GUARD : NULL;
}

void gpu_put(gpu_side *s, const gpu_room *r, const void *from)
{
    if (r->nbytes) s->device->copy(s->device, &(char *){gpu_at(r)}, 1, from, r->nbytes, false);
}

void gpu_poison(gpu_side *s, const gpu_room *r)
{
    if (r->base) poison(s, gpu_at(r), r->nbytes);
}

void *gpu_get(const gpu_side *s, const gpu_room *r)
{
    void *copy = tutti_alloc(r->nbytes + 1);
    s->device->finish(s->device);
    if (!r->nbytes) return copy;
    void *lent = s->device->borrow(s->device, gpu_at(r), r->nbytes);
    memcpy(copy, lent, r->nbytes);
    s->device->give_back(s->device, gpu_at(r), lent, r->nbytes, false);
    return copy;
}

static bool is_nan_all_over(const gpu_side *s, const char *at, size_t nbytes)
{
    unsigned char seen[2 * GPU_GUARD];
    s->device->look(s->device, seen, at, nbytes);
    for (size_t i = 0; i < nbytes; i++)
        if (seen[i] != 0xff) return false;
    return true;
}

bool gpu_guard_holds(const gpu_side *s, const gpu_room *r)
{
    if (!r->base) return true;
    return is_nan_all_over(s, r->base, GPU_GUARD) &&
           is_nan_all_over(s, r->base + GPU_GUARD + r->nbytes, whole(r->nbytes) - r->nbytes + GPU_GUARD);
}
