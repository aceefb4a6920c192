/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.h: memory of another rank as a device: write, signal, read, wait.
 *
 * Implemented in src/collective/comm. After Xue et al. (EuroSys 2019, arXiv 1805.08430): a tensor
 * whose place is known once needs no call, no message and no copy, only a write and a word that says so.
 *
 *   static placement    the receiver's tensor lies in memory of tutti_comm_alloc: each transfer is one tutti_comm_write
 *                       and one tutti_comm_signal
 *   dynamic placement   the sender writes what it has and where, and signals; the receiver finds memory, reads, and
 *                       signals that it has read
 *
 * Places are named by addresses in this rank's own part of an allocation: the same offset of the other rank's part is
 * meant. What the peers need to know of an allocation they learn when it is made, once. Not collective; failures of the
 * communicator are those of tutti/comm.h.
 *
 * Threads: owner of the communicator. */
#ifndef TUTTI_TRANSFER_H
#define TUTTI_TRANSFER_H

#include "tutti/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nbytes from any memory of ours to the place of `to` in rank's part. The source may be touched again after
 * tutti_comm_flush (on one host at once). */
tutti_status tutti_comm_write(tutti_comm *comm, int rank, void *to, const void *from, size_t nbytes,
                              tutti_failure *err);
/* Stores a value, which must grow, at the place of `word` in rank's part. Who sees it sees all that we wrote to that
 * rank before. */
tutti_status tutti_comm_signal(tutti_comm *comm, int rank, uint64_t *word, uint64_t value, tutti_failure *err);
/* Waits until our own word has reached the value. deadline_s: 0 = the communicator's. */
tutti_status tutti_comm_await(tutti_comm *comm, const uint64_t *word, uint64_t at_least, double deadline_s,
                              tutti_failure *err);
/* nbytes from the place of `from` in rank's part to any memory of ours, which has them when the call returns; all that
 * we wrote there before is among them. The other rank makes no call, but keeps the bytes, and its allocation, until we
 * have said that we have them (a word). TUTTI_ERR_USAGE: it has freed that allocation; the communicator is whole. Not
 * here before the communicator's deadline, or the rank has died or left: TUTTI_ERR_PEER, which names it; no progress is
 * made after that, so nothing more is written to `to` (docs/wires.md).
 * Cost: on one host a copy; between hosts a message, an answer that is received in place, and no copy by the other
 * rank. */
tutti_status tutti_comm_read(tutti_comm *comm, int rank, void *to, const void *from, size_t nbytes, tutti_failure *err);
/* Until the sources of all writes may be touched. */
tutti_status tutti_comm_flush(tutti_comm *comm, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
