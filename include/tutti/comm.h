/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h: collectives between processes, for any C program.
 *
 * Implemented in src/collective/comm over groups, regions and exchanges: each call runs a lowered schedule that was
 * checked when it was made (tutti/schedule.h). docs/comm.md walks through it.
 *
 *   - All ranks make the same calls in the same order: that holds for every function here that says "collective". A
 *     call is described to the other ranks beside its data; ranks that disagree on collective, count, type, operation,
 *     root, algorithm or kind of memory are refused with both sides' words (TUTTI_ERR_RENDEZVOUS) instead of hanging.
 *   - Memory. Data in memory of tutti_comm_alloc or _enrol is read and written by the peers where it lies: nothing is
 *     copied to be sent. Then `in` and `out` must lie at the same offsets of the same allocation on every rank, and on
 *     ranks that have no input or output they are given all the same. Any other memory works too, at any addresses:
 *     pieces of it are shown to the peers in memory that they map, or the system copies it for them (CMA, where it
 *     allows that); calls find out which takes less.
 *   - The first call of its kind makes schedule and shared memory (collective, some hundred microseconds); later ones
 *     start at once. Kind: collective, type, operation, root, algorithm, and in allocated memory also count and place.
 *   - Every wait has a deadline. When it passes, or a rank dies or aborts, the communicator has failed for good on all
 *     ranks: calls return TUTTI_ERR_PEER, and tutti_comm_failure says why and who.
 *
 * Threads: owner (one thread at a time per communicator: a second one is refused while the first is in a call), but for
 * tutti_comm_abort (shared). A child of fork has no part in it: its calls are refused. */
#ifndef TUTTI_COMM_H
#define TUTTI_COMM_H

#include "tutti/failure.h"
#include "tutti/schedule.h"
#include "tutti/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- communicators --- */

typedef struct tutti_comm tutti_comm;

typedef struct {
    int rank, nranks;
    const char *address; /* of the host of rank 0; NULL: 127.0.0.1 */
    int port;            /* rank 0 listens there */
    double deadline_s;   /* 0: 60 */
} tutti_comm_config;

/* Collective. Who we are is read from the environment: torchrun, `tutti`, PMIx (docs/launching.md); none: one rank
 * alone. */
tutti_status tutti_comm_create_from_env(tutti_comm **out, tutti_failure *err);
/* Collective. Everything given. */
tutti_status tutti_comm_create(const tutti_comm_config *config, tutti_comm **out, tutti_failure *err);
/* nranks communicators for as many threads of this process, one for each (out has room for them): same code, for
 * tests. */
tutti_status tutti_comm_create_threads(int nranks, double deadline_s, tutti_comm **out, tutti_failure *err);
/* Leaves in good order and frees its allocations. Requests that have not been freed are over: free still takes them.
 * NULL is accepted. */
void tutti_comm_destroy(tutti_comm *comm);

int tutti_comm_rank(const tutti_comm *comm);
int tutti_comm_size(const tutti_comm *comm);
/* "rank 3 (host box, pid 4711)". Valid as long as the communicator. */
const char *tutti_comm_describe(const tutti_comm *comm, int rank);
/* Ends all ranks' calls with these words. Any thread. */
void tutti_comm_abort(tutti_comm *comm, const char *words);
/* Why the communicator has failed; TUTTI_OK: it has not. *culprit (may be NULL): the rank that died, -1 = nobody in
 * particular. */
tutti_status tutti_comm_failure(const tutti_comm *comm, int *culprit, tutti_failure *err);

/* Collective. Memory that all ranks map: every rank gives the same size, *out is this rank's own part (page-aligned,
 * zeroed). */
tutti_status tutti_comm_alloc(tutti_comm *comm, size_t nbytes, void **out, tutti_failure *err);
/* Collective. `own` as alloc gave it. Requests on it cannot be started any more; one in flight refuses it. */
tutti_status tutti_comm_free(tutti_comm *comm, void *own, tutti_failure *err);

/* Collective. Memory of the caller's own becomes memory as of tutti_comm_alloc, without a copy: nbytes at addr, which
 * are a shared mapping (MAP_SHARED, read and write) of descriptor fd at byte `offset`: memfd_create, shm_open, a file,
 * a tensor of PyTorch in shared memory. addr and offset are multiples of a page; nbytes is the same on all ranks, the
 * rest each rank's own. What is not such a mapping, whole, is refused on all ranks with words, and so is what overlaps
 * memory of this communicator.
 *   - It stays the caller's: mapped, and the file no shorter, until tutti_comm_forget or _destroy. fd may be closed at
 *     once.
 *   - A file that somebody makes shorter all the same kills whoever touches what is gone (SIGBUS), here and in the
 *     peers: seal a memfd (F_SEAL_SHRINK) where that could happen. All of it is backed when enrol returns, so no full
 *     file system does that later.
 *   - Peers of this host map the file; between hosts the memory is registered with the wire, as that of alloc is. */
tutti_status tutti_comm_enrol(tutti_comm *comm, int fd, int64_t offset, void *addr, size_t nbytes, tutti_failure *err);
/* Collective. `addr` as it was enrolled: it is the caller's alone again. Requests as of tutti_comm_free. */
tutti_status tutti_comm_forget(tutti_comm *comm, void *addr, tutti_failure *err);

/* --- calls --- */

/* One collective call. Zero-initialise; count is of
 *   allreduce, reduce, broadcast   elements of the whole vector
 *   reduce-scatter                 elements that each rank gets of the sum (in: size * count)
 *   all-gather, gather             elements that each rank gives (out: size * count)
 *   all-to-all                     elements for each rank (in and out: size * count)
 * With `counts` ranks have different ones, zero included: counts[r] of rank r, for all-to-all counts[i * size + j] from
 * rank i to rank j; blocks lie one behind the other. The same array on every rank; copied.
 * in = out works in place; for reduce-scatter and all-gather in place means that the rank's own block is where it
 * stands in the whole vector. Otherwise in and out do not overlap. all-to-all is never in place. */
typedef struct {
    tutti_collective collective;
    const void *in; /* broadcast: of the root */
    void *out;      /* gather, reduce: of the root */
    int64_t count;
    const int64_t *counts; /* NULL: count everywhere */
    tutti_dtype type;
    tutti_operation op; /* where nothing is reduced: only what an element is (argmin, argmax: pairs) */
    int root;
    const char
        *algorithm; /* NULL or "auto": chosen; else a row of `tutti coll list`, or a name of tutti_comm_add_schedule */
    double deadline_s; /* of the whole call, or of prepare and each wait; 0: the communicator's */
} tutti_call;

/* Collective, blocking. */
tutti_status tutti_comm_run(tutti_comm *comm, const tutti_call *call, tutti_failure *err);

/* A call in the making: prepare -> { start -> test ... | wait } ... -> free. Memory that it names stays the caller's,
 * and untouched between start and done. Several may be in flight. Progress is made inside calls on the communicator. */
typedef struct tutti_request tutti_request;
/* Collective. Makes what the call needs, moves nothing. */
tutti_status tutti_comm_prepare(tutti_comm *comm, const tutti_call *call, tutti_request **out, tutti_failure *err);
/* Never waits for a peer. */
tutti_status tutti_request_start(tutti_request *request, tutti_failure *err);
/* Never blocks; failure: the request is over. */
tutti_status tutti_request_test(tutti_request *request, bool *done, tutti_failure *err);
tutti_status tutti_request_wait(tutti_request *request, tutti_failure *err);
/* Waits first if it is in flight. NULL is accepted. */
void tutti_request_free(tutti_request *request);

/* The common calls by name. */
tutti_status tutti_comm_allreduce(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                                  tutti_operation op, tutti_failure *err);
tutti_status tutti_comm_reduce_scatter(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                                       tutti_operation op, tutti_failure *err);
tutti_status tutti_comm_all_gather(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                                   tutti_failure *err);
tutti_status tutti_comm_all_to_all(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                                   tutti_failure *err);
tutti_status tutti_comm_broadcast(tutti_comm *comm, void *data, int64_t count, tutti_dtype type, int root,
                                  tutti_failure *err);
tutti_status tutti_comm_reduce(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type,
                               tutti_operation op, int root, tutti_failure *err);
tutti_status tutti_comm_gather(tutti_comm *comm, const void *in, void *out, int64_t count, tutti_dtype type, int root,
                               tutti_failure *err);
tutti_status tutti_comm_barrier(tutti_comm *comm, tutti_failure *err);

/* --- schedules --- */

/* Collective. A schedule of the caller's own, as text (docs/schedule-format.md) for this many ranks: it is parsed,
 * proved, lowered, proved again, and then known as `name` to tutti_call.algorithm. A schedule that is wrong is refused
 * with a counter-example. */
tutti_status tutti_comm_add_schedule(tutti_comm *comm, const char *name, const char *text, size_t nbytes,
                                     tutti_failure *err);
/* How a call would run and why: path through memory, algorithm, and for a choice what each candidate would take by the
 * figures of this host. The text is the caller's (free()). Not collective. */
char *tutti_comm_explain(tutti_comm *comm, const tutti_call *call);

#ifdef __cplusplus
}
#endif
#endif
