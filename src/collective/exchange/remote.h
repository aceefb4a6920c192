/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h: one-sided access to another rank's memory: write, signal, read, wait.
 *
 * Near ranks' memory is mapped: a write is one copy to where it belongs. Between hosts it is a put of the group's wire,
 * in flight until flushed. Order: whoever sees a word sees all that was written to that rank before it was signalled,
 * and who reads sees what it has written there before.
 * Threads: owner of the group. */
#ifndef TUTTI_REMOTE_H
#define TUTTI_REMOTE_H

#include "../group/group.h"

/* Writes under way, whose sources must not be touched. Zero-initialise. */
typedef struct {
    struct tutti_flying *head;
} tutti_writes;

/* A place in the memory of a rank: offset bytes into its part of the region. */
typedef struct {
    const tutti_region *region;
    int rank;
    size_t offset;
} tutti_remote_place;

/* The caller has checked rank and bounds. */
void tutti_remote_write(tutti_group *g, const tutti_remote_place *to, const void *from, size_t nbytes,
                        tutti_writes *writes);
/* Stores a word, which only grows, and wakes who waits for it. offset: a multiple of 8. */
void tutti_remote_signal(tutti_group *g, const tutti_region *region, int rank, size_t offset, uint64_t word,
                         tutti_writes *writes);
/* Until the bytes are here, the deadline, or a death. TUTTI_ERR_USAGE: the rank has given up that region. After
 * TUTTI_ERR_PEER the wire is halted: nothing more is written to `to`. */
tutti_status tutti_remote_read(tutti_group *g, const tutti_remote_place *from, void *to, size_t nbytes,
                               tutti_failure *err);
/* Until *word >= at_least, the deadline, or a death. Drives the group's exchanges meanwhile. */
tutti_status tutti_remote_await(tutti_group *g, const uint64_t *word, uint64_t at_least, tutti_failure *err);
/* Until the sources of all writes may be touched. */
tutti_status tutti_remote_flush(tutti_group *g, tutti_writes *writes, tutti_failure *err);
/* Forgets them, whatever they do. */
void tutti_remote_forget(tutti_group *g, tutti_writes *writes);

#endif
