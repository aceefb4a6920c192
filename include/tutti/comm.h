/* SPDX-License-Identifier: Apache-2.0 */
/* comm.h: collectives between processes (allreduce, broadcast, ...), for any C program.
 *
 * Implemented in src/collective/comm over groups, regions and exchanges: each call runs a lowered schedule that was
 * checked when it was made (tutti/schedule.h). docs/comm.md walks through it.
 *
 *   - All ranks make the same collective calls in the same order. A call is collective if its function's comment says
 *     so. A description of the call travels beside its data. Ranks that disagree on collective, count, type, operation,
 *     root, algorithm or kind of memory are refused with both sides' words (TUTTI_ERR_RENDEZVOUS) instead of hanging.
 *   - Memory. Data in memory of tutti_comm_alloc or _enrol is read and written by the peers where it lies: nothing is
 *     copied to be sent. Then `in` and `out` must lie at the same offsets of the same allocation on every rank; ranks
 *     that have no input or output give the addresses too. Any other memory works as well, at any addresses: the
 *     library copies pieces of it into memory that the peers map, or the system copies it for them (CMA, where that is
 *     allowed). Calls find out which way takes less time.
 *   - The first call of a kind makes schedule and shared memory (collective, some hundred microseconds); later ones
 *     start at once. Calls are of one kind if they have the same collective, type, operation, root and algorithm, and
 *     in allocated memory also the same count and place.
 *   - Every wait has a deadline. When it passes, or a rank dies or aborts, the communicator has failed for good on all
 *     ranks: calls return TUTTI_ERR_PEER, and tutti_comm_failure names the cause and the rank.
 *
 * Threads: one at a time for each communicator (a second one is refused while the first is in a call), except
 * tutti_comm_abort (any). Calls in a child process of fork are refused. */
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
    const char *address; /* address of rank 0's host; NULL: 127.0.0.1 */
    int port;            /* port on which rank 0 listens */
    double deadline_s;   /* seconds that a wait may take; 0: 60 */
} tutti_comm_config;

/* Collective. Reads this rank's place from the environment: torchrun, `tutti`, PMIx (docs/launching.md). Without such
 * variables it makes a communicator of one rank. */
tutti_status tutti_comm_create_from_env(tutti_comm **out, tutti_failure *err);
/* Collective. Creates a communicator from the numbers in `config`. */
tutti_status tutti_comm_create(const tutti_comm_config *config, tutti_comm **out, tutti_failure *err);
/* Creates nranks communicators, one for each of nranks threads of this process; out has room for nranks. Tests use it
 * to run the code of processes in threads. */
tutti_status tutti_comm_create_threads(int nranks, double deadline_s, tutti_comm **out, tutti_failure *err);
/* Leaves the communicator in good order and frees its allocations. Requests that have not been freed end with it, but
 * tutti_request_free still accepts them. NULL is accepted. */
void tutti_comm_destroy(tutti_comm *comm);

int tutti_comm_rank(const tutti_comm *comm);
int tutti_comm_size(const tutti_comm *comm);
/* Returns words such as "rank 3 (host box, pid 4711)". They are valid until the communicator is destroyed. */
const char *tutti_comm_describe(const tutti_comm *comm, int rank);
/* Ends the running and later calls of all ranks with a failure whose text is `words`. Any thread may call it. */
void tutti_comm_abort(tutti_comm *comm, const char *words);
/* Says why the communicator has failed; TUTTI_OK means that it has not. *culprit (may be NULL) becomes the rank that
 * died, or -1 if no rank in particular is to blame. */
tutti_status tutti_comm_failure(const tutti_comm *comm, int *culprit, tutti_failure *err);

/* Collective. Allocates memory that all ranks map. Every rank gives the same size; *out is this rank's own part
 * (page-aligned, zeroed). */
tutti_status tutti_comm_alloc(tutti_comm *comm, size_t nbytes, void **out, tutti_failure *err);
/* Collective. Frees an allocation; `own` is the address that tutti_comm_alloc gave. Requests that use the allocation
 * cannot be started any more. The call is refused while such a request is in flight. */
tutti_status tutti_comm_free(tutti_comm *comm, void *own, tutti_failure *err);

/* Collective. Makes memory of the caller's own usable like memory of tutti_comm_alloc, without a copy. The nbytes at
 * addr must be a shared mapping (MAP_SHARED, read and write) of descriptor fd at byte `offset`: from memfd_create,
 * shm_open, a file, or a tensor of PyTorch in shared memory. addr and offset are multiples of a page. nbytes is the
 * same on all ranks; the other arguments may differ. All ranks fail with a message for memory that is not one whole
 * such mapping or that overlaps memory of this communicator.
 *   - The memory stays the caller's. Keep it mapped, and the file no shorter, until tutti_comm_forget or _destroy. fd
 *     may be closed at once.
 *   - If somebody makes the file shorter all the same, any process that touches the lost part is killed (SIGBUS), on
 *     this rank and on its peers. Seal a memfd (F_SEAL_SHRINK) where that could happen. All of the file is backed when
 *     enrol returns, so a file system that fills up later does no such harm.
 *   - Peers of this host map the file. Between hosts the memory is registered with the wire, as that of alloc is. */
tutti_status tutti_comm_enrol(tutti_comm *comm, int fd, int64_t offset, void *addr, size_t nbytes, tutti_failure *err);
/* Collective. Undoes tutti_comm_enrol; `addr` is the address that was enrolled. The memory is the caller's alone again.
 * For requests on it the rules of tutti_comm_free hold. */
tutti_status tutti_comm_forget(tutti_comm *comm, void *addr, tutti_failure *err);

/* --- collective calls --- */

/* Describes one collective call. Zero-initialise it. `count` means:
 *   allreduce, reduce, broadcast   elements of the whole vector
 *   reduce-scatter                 elements that each rank gets of the sum (in: size * count)
 *   all-gather, gather             elements that each rank gives (out: size * count)
 *   all-to-all                     elements for each rank (in and out: size * count)
 * With `counts` each rank has a number of its own, which may be zero: counts[r] of rank r, for all-to-all counts[i *
 * size + j] from rank i to rank j. Blocks lie one behind the other. The array is the same on every rank, and the call
 * copies it. in = out works in place. For reduce-scatter and all-gather, in place means that the rank's own block is
 * where it stands in the whole vector. Otherwise in and out do not overlap. all-to-all is never in place. */
typedef struct {
    tutti_collective collective;
    const void *in; /* this rank's input; broadcast reads only the root's */
    void *out;      /* this rank's output; gather and reduce write only the root's */
    int64_t count;
    const int64_t *counts; /* one count for each block; NULL: `count` for every block */
    tutti_dtype type;
    tutti_operation op; /* operation of a collective that sums. Other collectives take from it only the bytes of an
                         * element (argmin, argmax: of a pair) */
    int root;
    const char *algorithm; /* NULL or "auto": the library chooses. Else a row of `tutti coll list`, or a name given to
                            * tutti_comm_add_schedule */
    double deadline_s;     /* seconds for the whole call, or for prepare and each wait of a request; 0: the
                            * communicator's deadline_s */
} tutti_call;

/* Collective. Runs the call and returns when this rank's part is done. */
tutti_status tutti_comm_run(tutti_comm *comm, const tutti_call *call, tutti_failure *err);

/* A call that is prepared once and may be started many times: prepare -> { start -> test ... | wait } ... -> free. Its
 * memory stays the caller's and is untouched between start and done. Several requests may be in flight. They progress
 * only inside calls on the communicator. */
typedef struct tutti_request tutti_request;
/* Collective. Makes the schedule and shared memory that the call needs. Moves no data. */
tutti_status tutti_comm_prepare(tutti_comm *comm, const tutti_call *call, tutti_request **out, tutti_failure *err);
/* Starts the request. Never waits for a peer. */
tutti_status tutti_request_start(tutti_request *request, tutti_failure *err);
/* Sets *done and never blocks. After a failure the request is over. */
tutti_status tutti_request_test(tutti_request *request, bool *done, tutti_failure *err);
tutti_status tutti_request_wait(tutti_request *request, tutti_failure *err);
/* Waits for a request in flight, then frees it. NULL is accepted. */
void tutti_request_free(tutti_request *request);

/* --- the common collectives, one function each --- */
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

/* Collective. Adds a schedule of the caller's own, as text (docs/schedule-format.md) for this number of ranks. The
 * schedule is parsed, proved, lowered and proved again; then tutti_call.algorithm may name it `name`. A wrong schedule
 * is refused with a counter-example. */
tutti_status tutti_comm_add_schedule(tutti_comm *comm, const char *name, const char *text, size_t nbytes,
                                     tutti_failure *err);
/* Says how a call would run and why: the way through memory, the algorithm, and for a choice what each candidate would
 * take by the figures of this host. The text is the caller's (free()). Not collective. */
char *tutti_comm_explain(tutti_comm *comm, const tutti_call *call);

#ifdef __cplusplus
}
#endif
#endif
