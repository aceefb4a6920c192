/* SPDX-License-Identifier: Apache-2.0 */
/* comm_memory.c: allocates memory that all ranks map, and enrols a caller's shared memory. */
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
    tutti_status st = tutti_group_agree(comm->group, "size of an allocation", size, err);
    if (!st) st = tutti_region_create(comm->group, "allocation", nbytes, &a->region, err);
    if (st) {
        free(a);
        return st;
    }
    keep(comm, a, nbytes);
    *out = a->own;
    return TUTTI_OK;
}

tutti_status tutti_comm_alloc(tutti_comm *comm, size_t nbytes, void **out, tutti_failure *err)
{
    tutti_status st = tutti_comm_enter(comm, err);
    if (st) return st;
    st = allocate(comm, nbytes, out, err);
    tutti_comm_leave(comm);
    return st;
}

/* --- memory of the caller's own --- */

static tutti_status refuse_overlap(const tutti_comm *comm, const char *at, size_t nbytes, tutti_failure *err)
{
    for (const tutti_allocation *a = comm->allocations; a; a = a->next)
        if (at < a->own + a->bytes && a->own < at + nbytes)
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "enrol: %zu bytes at %p overlap allocation %lld (%zu bytes at %p) of this communicator",
                              nbytes, (const void *)at, (long long)a->number, a->bytes, (void *)a->own);
    return TUTTI_OK;
}

/* Compares the size on all ranks. If a rank refused, all ranks get that refusal, so that none waits for the rank. */
static tutti_status agree_on(tutti_comm *comm, size_t nbytes, tutti_status own, tutti_failure *err)
{
    struct {
        uint64_t nbytes;
        uint32_t status;
        char words[400];
    } mine = {.nbytes = nbytes, .status = own}, *all = tutti_alloc(sizeof *all * (size_t)comm->nranks);
    if (own) snprintf(mine.words, sizeof mine.words, "%s: %.300s", tutti_comm_describe(comm, comm->rank), err->text);
    tutti_status st = tutti_group_all_gather(comm->group, "memory that is enrolled", &mine, all, sizeof mine, err);
    for (int r = 0; r < comm->nranks && !st; r++)
        if (all[r].status) st = tutti_fail(err, (tutti_status)all[r].status, "%s", all[r].words);
    for (int r = 1; r < comm->nranks && !st; r++)
        if (all[r].nbytes != all[0].nbytes)
            st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                            "enrol: %s: %llu bytes; %s: %llu bytes: the same on all ranks is wanted",
                            tutti_comm_describe(comm, 0), (unsigned long long)all[0].nbytes,
                            tutti_comm_describe(comm, r), (unsigned long long)all[r].nbytes);
    free(all);
    return st;
}

static tutti_status enrol(tutti_comm *comm, const tutti_enrolled *own, tutti_failure *err)
{
    tutti_failure why = {0};
    tutti_status st = tutti_enrolled_check(own, &why);
    if (!st) st = refuse_overlap(comm, own->at, own->nbytes, &why);
    st = agree_on(comm, own->nbytes, st, &why);
    tutti_allocation *a = st ? NULL : tutti_alloc(sizeof *a);
    if (!st) st = tutti_region_enrol(comm->group, "memory that is enrolled", own, &a->region, &why);
    if (st) {
        free(a);
        return tutti_fail(err, st, "%s", why.text);
    }
    a->enrolled = true;
    keep(comm, a, own->nbytes);
    return TUTTI_OK;
}

tutti_status tutti_comm_enrol(tutti_comm *comm, int fd, int64_t offset, void *addr, size_t nbytes, tutti_failure *err)
{
    const tutti_enrolled own = {.fd = fd, .offset = offset, .at = addr, .nbytes = nbytes};
    tutti_status st = tutti_comm_enter(comm, err);
    if (st) return st;
    st = enrol(comm, &own, err);
    tutti_comm_leave(comm);
    return st;
}

/* --- giving memory up --- */

static bool is_on(const tutti_call_queue *l, const tutti_allocation *a)
{
    return l->key.in >> 48 == a->number || l->key.out >> 48 == a->number;
}

static bool is_in_flight(const tutti_comm *comm, const tutti_allocation *a)
{
    for (const tutti_request *q = comm->prepared; q; q = q->next_prepared)
        if (q->active && q->queue && is_on(q->queue, a)) return true;
    return false;
}

/* Destroys the queues that are bound to the allocation. All ranks destroy the same ones, so no call has its queue on
 * one rank and not on another. */
static void destroy_queues(tutti_comm *comm, const tutti_allocation *a)
{
    for (tutti_request *q = comm->prepared; q; q = q->next_prepared)
        if (q->queue && is_on(q->queue, a)) q->queue = NULL;
    for (tutti_call_queue **at = &comm->queues; *at;) {
        tutti_call_queue *queue = *at;
        if (!is_on(queue, a)) {
            at = &queue->next;
            continue;
        }
        *at = queue->next;
        tutti_call_queue_destroy(queue);
    }
}

static tutti_status give_up(tutti_comm *comm, const char *verb, void *own, bool enrolled, tutti_failure *err)
{
    tutti_allocation **at = &comm->allocations;
    while (*at && (*at)->own != own) at = &(*at)->next;
    tutti_allocation *a = *at;
    if (!a)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %p is no %s of this communicator", verb, own,
                          enrolled ? "beginning of memory enrolled with it, or no more," : "allocation");
    if (a->enrolled != enrolled)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %p was %s: tutti_comm_%s takes it", verb, own,
                          a->enrolled ? "enrolled" : "allocated", a->enrolled ? "forget" : "free");
    if (is_in_flight(comm, a))
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: a request on the memory at %p is in flight: wait for it first",
                          verb, own);
    destroy_queues(comm, a);
    comm->has_last = false;
    *at = a->next;
    tutti_region_destroy(a->region);
    free(a);
    return TUTTI_OK;
}

tutti_status tutti_comm_free(tutti_comm *comm, void *own, tutti_failure *err)
{
    tutti_status st = tutti_comm_enter(comm, err);
    if (st) return st;
    st = give_up(comm, "free", own, false, err);
    tutti_comm_leave(comm);
    return st;
}

tutti_status tutti_comm_forget(tutti_comm *comm, void *addr, tutti_failure *err)
{
    tutti_status st = tutti_comm_enter(comm, err);
    if (st) return st;
    st = give_up(comm, "forget", addr, true, err);
    tutti_comm_leave(comm);
    return st;
}

void tutti_free_allocations(tutti_comm *comm)
{
    for (tutti_allocation *a = comm->allocations, *next; a; a = next) {
        next = a->next;
        tutti_region_destroy(a->region);
        free(a);
    }
}
