/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_rooms.h: which buffers of the schedule stand for the memory of a GPU.
 *
 * A place of input or output at home (it holds the chunk that it means) is in `in` or `out`; elsewhere a place and a
 * chunk make a buffer. Scratch places side by side that hold chunks side by side, and nothing else ever, share one
 * buffer. Threads: owner. */
#ifndef TUTTI_MSCCL_ROOMS_H
#define TUTTI_MSCCL_ROOMS_H

#include "msccl_impl.h"

typedef struct {
    char name[16];
    const char *role; /* "in", "out", "scratch" */
    int32_t ordinal;
    int32_t first, count, of;
    tutti_slice lies_in; /* rank -1 = in its own memory */
} msccl_room;

typedef struct {
    const tutti_msccl *m;
    int32_t gpu;
    msccl_room *rooms;
    int32_t nrooms, capacity;
    int32_t home[2]; /* of input and output; alltoall: of the first output, and the p - 1 after it */
    msccl_tenant *tenants;
    int32_t ntenants, tenants_capacity;
    int32_t *tenant_of; /* a location: first of its list, -1 = none */
} msccl_rooms;

void msccl_rooms_make(const tutti_msccl *m, int32_t gpu, msccl_rooms *out);
void msccl_rooms_release(msccl_rooms *r);
/* The buffer in which chunk `position` of the vector lies while it is at that place. */
int32_t msccl_room_of(const msccl_rooms *r, msccl_place at, int32_t position);
/* Adds scratch for what a step receives and does not store at once. */
int32_t msccl_rooms_add(msccl_rooms *r, const msccl_room *room);

#endif
