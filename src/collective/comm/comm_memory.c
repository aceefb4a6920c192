/* SPDX-License-Identifier: Apache-2.0 */
/* comm_memory.c: memory that all ranks map. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_impl.h"

int64_t tutti_place_of(const tutti_comm *comm, const void *address)
{
    const char *at = address;
    for (const tutti_allocation *a = comm->allocations; a && at; a = a->next)
        if (at >= a->own && at < a->own + a->bytes) return a->number << 48 | (int64_t)(at - a->own);
    return 0;
}

static void keep(tutti_comm *comm, tutti_allocation *a, size_t nbytes)
{
    a->own = tutti_region_base(a->region, comm->rank);
    a->bytes = nbytes;
    a->number = ++comm->nallocations;
    a->next = comm->allocations;
    comm->allocations = a;
    comm->has_last = false;
}

static tutti_status allocate(tutti_comm *comm, size_t nbytes, void **out, tutti_failure *err)
{
    tutti_allocation *a = tutti_alloc(sizeof *a);
    char size[32];
    snprintf(size, sizeof size, "%zu bytes", nbytes);
    tutti_status s = tutti_group_agree(comm->group, "size of an allocation", size, err);
    if (!s) s = tutti_region_create(comm->group, "allocation", nbytes, &a->region, err);
    if (s) {
        free(a);
        return s;
    }
    keep(comm, a, nbytes);
    *out = a->own;
    return TUTTI_OK;
}

tutti_status tutti_comm_alloc(tutti_comm *comm, size_t nbytes, void **out, tutti_failure *err)
{
    tutti_status s = tutti_comm_enter(comm, err);
    if (s) return s;
    s = allocate(comm, nbytes, out, err);
    tutti_comm_leave(comm);
    return s;
}

/* --- giving it up --- */

static bool is_on(const tutti_lane *l, const tutti_allocation *a)
{
    return l->key.in >> 48 == a->number || l->key.out >> 48 == a->number;
}

static bool is_in_flight(const tutti_comm *comm, const tutti_allocation *a)
{
    for (const tutti_request *q = comm->prepared; q; q = q->next_prepared)
        if (q->active && q->lane && is_on(q->lane, a)) return true;
    return false;
}

/* Lanes bound to it go with it: on every rank the same, so no call is left that one has and another not. */
static void destroy_lanes(tutti_comm *comm, const tutti_allocation *a)
{
    for (tutti_request *q = comm->prepared; q; q = q->next_prepared)
        if (q->lane && is_on(q->lane, a)) q->lane = NULL;
    for (tutti_lane **at = &comm->lanes; *at;) {
        tutti_lane *lane = *at;
        if (!is_on(lane, a)) {
            at = &lane->next;
            continue;
        }
        *at = lane->next;
        tutti_lane_destroy(lane);
    }
}

static tutti_status give_up(tutti_comm *comm, void *own, tutti_failure *err)
{
    tutti_allocation **at = &comm->allocations;
    while (*at && (*at)->own != own) at = &(*at)->next;
    tutti_allocation *a = *at;
    if (!a) return tutti_fail(err, TUTTI_ERR_USAGE, "free: %p is no allocation of this communicator", own);
    if (is_in_flight(comm, a))
        return tutti_fail(err, TUTTI_ERR_USAGE, "free: a request on the memory at %p is in flight: wait for it first",
                          own);
    destroy_lanes(comm, a);
    comm->has_last = false;
    *at = a->next;
    tutti_region_destroy(a->region);
    free(a);
    return TUTTI_OK;
}

tutti_status tutti_comm_free(tutti_comm *comm, void *own, tutti_failure *err)
{
    tutti_status s = tutti_comm_enter(comm, err);
    if (s) return s;
    s = give_up(comm, own, err);
    tutti_comm_leave(comm);
    return s;
}

void tutti_free_allocations(tutti_comm *comm)
{
    for (tutti_allocation *a = comm->allocations, *next; a; a = next) {
        next = a->next;
        tutti_region_destroy(a->region);
        free(a);
    }
}
