/* SPDX-License-Identifier: Apache-2.0 */
/* share.h: bytes that one rank of each host makes and all ranks of that host read in place: a data set that is drawn or
 * decoded once.
 *
 * Between processes the bytes lie in a memfd that no process can write any more, between threads in plain memory.
 * Threads: one at a time. */
#ifndef TUTTI_SHARE_H
#define TUTTI_SHARE_H

#include "group.h"

/* Returns true if this rank makes the bytes: it is the lowest of its host. */
bool tutti_group_makes(const tutti_group *group);
int tutti_group_maker(const tutti_group *group); /* returns the rank that makes the bytes on this host */
/* Returns the lowest rank of this host with the same number in set_of: it makes the bytes for the ranks with that
 * number. set_of has a number for each rank and is the same on all, for example one number for ranks that are near one
 * piece of memory. NULL = a host is one set. */
int tutti_group_maker_among(const tutti_group *group, const int32_t *set_of);
/* Returns the number of ranks of this host. */
int tutti_group_ranks_here(const tutti_group *group);

typedef struct tutti_shared_bytes tutti_shared_bytes;
/* The bytes to share: a name for failures, their number (the maker's counts), and the function that writes them
 * once. */
typedef struct {
    const char *name;
    size_t nbytes;
    void (*fill)(void *arg, void *bytes);
    void *arg;
} tutti_shared_wish;
/* Collective. Each set (tutti_group_maker_among) has the bytes once. Its maker fills them, and the pages lie in memory
 * that the maker's binding allows. The bytes last until tutti_shared_bytes_destroy. */
tutti_status tutti_shared_bytes_create(tutti_group *group, const int32_t *set_of, const tutti_shared_wish *wish,
                                       tutti_shared_bytes **out, tutti_failure *err);
const void *tutti_shared_bytes_at(const tutti_shared_bytes *b);
size_t tutti_shared_bytes_count(const tutti_shared_bytes *b); /* returns the number of bytes; 0: none were made */
void tutti_shared_bytes_destroy(tutti_shared_bytes *b);       /* NULL is accepted */

#endif
