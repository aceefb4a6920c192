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

static void copy(const gpu_side *s, char *to, const void *from, size_t nbytes)
{
    if (nbytes) s->device->copy(s->device, &to, 1, from, nbytes, false);
}

static void poison(gpu_side *s, char *at, size_t nbytes)
{
    for (size_t done = 0; done < nbytes; done += s->nan.nbytes)
        copy(s, at + done, s->nan.base, nbytes - done < s->nan.nbytes ? nbytes - done : s->nan.nbytes);
}

bool gpu_take_nan(gpu_side *s, size_t nbytes)
{
    enum { MOST = 16 << 20 };
    const size_t wanted = nbytes < MOST ? nbytes : MOST;
    s->nan.nbytes = whole(wanted) + 2 * GPU_GUARD;
    s->nan.base = s->device->allocate(s->device, bytes_of(&s->nan));
    if (!s->nan.base) return false;
    char *host = tutti_alloc(s->nan.nbytes);
    memset(host, 0xff, s->nan.nbytes);
    copy(s, s->nan.base, host, s->nan.nbytes);
    s->device->finish(s->device);
    free(host);
    return true;
}

bool gpu_take(gpu_side *s, gpu_room *r, size_t nbytes)
{
    r->nbytes = nbytes;
    r->base = s->device->allocate(s->device, bytes_of(r));
    if (r->base) poison(s, r->base, bytes_of(r));
    return r->base;
}

void gpu_copy(gpu_side *s, const gpu_room *r, const gpu_room *like)
{
    copy(s, gpu_at(r), gpu_at(like), r->nbytes);
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
    copy(s, gpu_at(r), from, r->nbytes);
    s->device->finish(s->device);
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
