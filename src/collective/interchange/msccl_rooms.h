/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_rooms.h: which buffers of the schedule represent the memory of a GPU.
 *
 * Each place of input or output belongs to one chunk of the vector. While it holds this chunk, the chunk lies in `in`
 * or `out`. Any other pair of place and chunk makes a buffer of its own. Neighbouring scratch places that only ever
 * hold neighbouring chunks share one buffer. Threads: one at a time. */
#ifndef TUTTI_MSCCL_ROOMS_H
#define TUTTI_MSCCL_ROOMS_H

#include "msccl_impl.h"

typedef struct {
    char name[16];
    const char *role; /* "in", "out", "scratch" */
    int32_t ordinal;
    int32_t first, count, of;
    tutti_slice lies_in; /* slice of another buffer in which this one lies; rank -1 = it has memory of its own */
} msccl_room;

typedef struct {
    const tutti_msccl *m;
    int32_t gpu;
    msccl_room *rooms;
    int32_t nrooms, capacity;
    int32_t home[2]; /* buffers of input and output; alltoall: the first output, with the p - 1 others after it */
    msccl_tenant *tenants;
    int32_t ntenants, tenants_capacity;
    int32_t *tenant_of; /* for each location: first entry of its list of tenants (the chunks that it ever holds), -1 =
                         * none */
} msccl_rooms;

void msccl_rooms_make(const tutti_msccl *m, int32_t gpu, msccl_rooms *out);
void msccl_rooms_release(msccl_rooms *r);
/* Returns the buffer in which chunk `position` of the vector lies while it is at that place. */
int32_t msccl_room_of(const msccl_rooms *r, msccl_place at, int32_t position);
/* Adds scratch for a value that a step receives and does not store at once. */
int32_t msccl_rooms_add(msccl_rooms *r, const msccl_room *room);

#endif
