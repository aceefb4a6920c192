/* SPDX-License-Identifier: Apache-2.0 */
/* comm_transfer.c: implements tutti/transfer.h: finds the allocation of an address, checks bounds, calls the group. */
#include "tutti/transfer.h"

#include "comm_impl.h"

/* Finds the allocation that holds [at, at + nbytes) of this rank's part. Returns NULL and sets the failure if not all
 * of it is in one allocation, or if there is no such rank. */
static const tutti_allocation *find(const tutti_comm *comm, int rank, const void *at, size_t nbytes, size_t *offset,
                                    tutti_failure *err)
{
    const char *begin = at;
    if (rank < 0 || rank >= comm->nranks) {
        tutti_fail(err, TUTTI_ERR_USAGE, "transfer: there is no rank %d", rank);
        return NULL;
    }
    for (const tutti_allocation *a = comm->allocations; a; a = a->next)
        if (begin >= a->own && begin <= a->own + a->bytes && nbytes <= a->bytes - (size_t)(begin - a->own)) {
            *offset = (size_t)(begin - a->own);
            return a;
        }
    tutti_fail(err, TUTTI_ERR_USAGE, "transfer: %zu bytes at %p are not in one allocation of this communicator", nbytes,
               at);
    return NULL;
}

tutti_status tutti_comm_write(tutti_comm *comm, int rank, void *to, const void *from, size_t nbytes, tutti_failure *err)
{
    size_t offset;
    tutti_status st = tutti_group_failure(comm->group, NULL, err);
    const tutti_allocation *a = st ? NULL : find(comm, rank, to, nbytes, &offset, err);
    if (!a) return st ? st : TUTTI_ERR_USAGE;
    if (nbytes)
        tutti_remote_write(comm->group, &(tutti_remote_place){a->region, rank, offset}, from, nbytes, &comm->writes);
    return TUTTI_OK;
}

tutti_status tutti_comm_signal(tutti_comm *comm, int rank, uint64_t *word, uint64_t value, tutti_failure *err)
{
    size_t offset;
    tutti_status st = tutti_group_failure(comm->group, NULL, err);
    const tutti_allocation *a = st ? NULL : find(comm, rank, word, sizeof *word, &offset, err);
    if (!a) return st ? st : TUTTI_ERR_USAGE;
    if (offset % sizeof *word) return tutti_fail(err, TUTTI_ERR_USAGE, "transfer: a word at an odd address");
    tutti_remote_signal(comm->group, a->region, rank, offset, value, &comm->writes);
    return TUTTI_OK;
}

tutti_status tutti_comm_await(tutti_comm *comm, const uint64_t *word, uint64_t at_least, double deadline_s,
                              tutti_failure *err)
{
    size_t offset;
    const tutti_allocation *a = find(comm, comm->rank, word, sizeof *word, &offset, err);
    if (!a) return TUTTI_ERR_USAGE;
    if (offset % sizeof *word) return tutti_fail(err, TUTTI_ERR_USAGE, "transfer: a word at an odd address");
    const double before = deadline_s > 0 ? tutti_group_set_deadline(comm->group, deadline_s) : 0;
    const tutti_status st = tutti_remote_await(comm->group, word, at_least, err);
    if (before > 0) tutti_group_set_deadline(comm->group, before);
    return st;
}

tutti_status tutti_comm_read(tutti_comm *comm, int rank, void *to, const void *from, size_t nbytes, tutti_failure *err)
{
    size_t offset;
    tutti_status st = tutti_group_failure(comm->group, NULL, err);
    const tutti_allocation *a = st ? NULL : find(comm, rank, from, nbytes, &offset, err);
    if (!a) return st ? st : TUTTI_ERR_USAGE;
    const tutti_remote_place at = {a->region, rank, offset};
    return nbytes ? tutti_remote_read(comm->group, &at, to, nbytes, err) : TUTTI_OK;
}

tutti_status tutti_comm_flush(tutti_comm *comm, tutti_failure *err)
{
    return tutti_remote_flush(comm->group, &comm->writes, err);
}
