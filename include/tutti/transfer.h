/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.h: one-sided access to memory of another rank: write, signal, read, wait.
 *
 * Implemented in src/collective/comm. After Xue et al. (EuroSys 2019, arXiv 1805.08430): once a peer knows the place of
 * a tensor, a transfer needs no call, message or copy on its side, only a write and a flag word that reports it.
 *
 *   static placement    the receiver's tensor lies in memory of tutti_comm_alloc: each transfer is one tutti_comm_write
 *                       and one tutti_comm_signal
 *   dynamic placement   the sender writes a description of its tensor (size and place), and signals; the receiver finds
 *                       memory, reads the tensor, and signals that the sender may reuse its memory
 *
 * An address in this rank's own part of an allocation names the same offset in the other rank's part. Peers learn all
 * that they need about an allocation once, when it is made. The calls are not collective; failures of the communicator
 * are those of tutti/comm.h.
 *
 * Threads: one at a time for each communicator. */
#ifndef TUTTI_TRANSFER_H
#define TUTTI_TRANSFER_H

#include "tutti/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes nbytes from any memory of this rank to the place of `to` in rank's part. The source may be changed after
 * tutti_comm_flush (on one host at once). */
tutti_status tutti_comm_write(tutti_comm *comm, int rank, void *to, const void *from, size_t nbytes,
                              tutti_failure *err);
/* Stores a value, which must grow, at the place of `word` in rank's part. Once the other rank sees the value, it also
 * sees all that this rank wrote into its part before. */
tutti_status tutti_comm_signal(tutti_comm *comm, int rank, uint64_t *word, uint64_t value, tutti_failure *err);
/* Waits until this rank's own word has reached the value. deadline_s: 0 = the communicator's. */
tutti_status tutti_comm_await(tutti_comm *comm, const uint64_t *word, uint64_t at_least, double deadline_s,
                              tutti_failure *err);
/* Reads nbytes from the place of `from` in rank's part into any memory of this rank, and returns when they have
 * arrived. The bytes include all that this rank wrote there before. The other rank makes no call, but keeps the bytes,
 * and its allocation, until this rank has signalled a word that says it has them. TUTTI_ERR_USAGE: the other rank has
 * freed that allocation; the communicator is still good. TUTTI_ERR_PEER, which names the rank: the bytes did not arrive
 * before the communicator's deadline, or the rank has died or left; no progress is made after that, so nothing more is
 * written to `to` (docs/wires.md). Cost: on one host a copy; between hosts a message, an answer that is received in
 * place, and no copy by the other rank. */
tutti_status tutti_comm_read(tutti_comm *comm, int rank, void *to, const void *from, size_t nbytes, tutti_failure *err);
/* Returns when the sources of all writes may be changed. */
tutti_status tutti_comm_flush(tutti_comm *comm, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
