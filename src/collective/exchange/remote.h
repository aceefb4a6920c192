/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h: one-sided access to another rank's memory: write, signal, read, wait.
 *
 * Memory of near ranks is mapped: a write is one copy to its place. Between hosts a write is a put of the group's wire,
 * in flight until flushed. Order: a rank that sees a word which this rank signalled sees everything that this rank
 * wrote to it before. A rank that reads a peer's memory sees what this rank has written there before. Threads: one at a
 * time of the group. */
#ifndef TUTTI_REMOTE_H
#define TUTTI_REMOTE_H

#include "../group/group.h"

/* Writes under way, whose sources must not be changed. Zero-initialise. */
typedef struct {
    struct tutti_flying *head;
} tutti_writes;

/* A place in the memory of a rank: offset bytes into its part of the region. */
typedef struct {
    const tutti_region *region;
    int rank;
    size_t offset;
} tutti_remote_place;

/* Writes nbytes; the caller has checked rank and bounds. */
void tutti_remote_write(tutti_group *g, const tutti_remote_place *to, const void *from, size_t nbytes,
                        tutti_writes *writes);
/* Stores a word, which only grows, and wakes the rank that waits for it. offset: a multiple of 8. */
void tutti_remote_signal(tutti_group *g, const tutti_region *region, int rank, size_t offset, uint64_t word,
                         tutti_writes *writes);
/* Reads nbytes and returns when they have arrived; ends with the deadline or a death. TUTTI_ERR_USAGE: the rank has
 * given up that region. After TUTTI_ERR_PEER the wire is halted: nothing more is written to `to`. */
tutti_status tutti_remote_read(tutti_group *g, const tutti_remote_place *from, void *to, size_t nbytes,
                               tutti_failure *err);
/* Waits until *word >= at_least; fails at the deadline or a death. Drives the group's exchanges meanwhile. */
tutti_status tutti_remote_await(tutti_group *g, const uint64_t *word, uint64_t at_least, tutti_failure *err);
/* Returns when the sources of all writes may be changed. */
tutti_status tutti_remote_flush(tutti_group *g, tutti_writes *writes, tutti_failure *err);
/* Forgets the writes, whether they have ended or not. */
void tutti_remote_forget(tutti_group *g, tutti_writes *writes);

#endif
