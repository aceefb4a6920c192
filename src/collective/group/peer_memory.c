/* SPDX-License-Identifier: Apache-2.0 */
/* peer_memory.c: reads and writes plain memory of another rank of this host. Between threads it can be used directly;
 * between processes of one host the system copies it (process_vm_readv, process_vm_writev: cross memory attach, CMA).
 *
 * Whether the system allows that depends on user ids, Yama's ptrace_scope, containers and their filters, and a process
 * number may mean another process in another container. So each rank once reads a number that only the right process
 * can have, and writes one back. The group may do what all ranks may do; TUTTI_CMA=off on any rank forbids it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/hash.h"
#include "group_impl.h"

/* The notice by which a rank lets the others test whether they can reach its memory. */
typedef struct {
    uint64_t number, at, mailbox; /* number: a number for others to read; at: its address; mailbox: address of the
                                   * answers, one for each rank */
    uint32_t status, closed;
    char words[300];
} probe_notice;

/* Moves nbytes; returns 0, or errno. */
static int move(const tutti_group *g, int rank, char *own, uint64_t theirs, size_t nbytes, bool read)
{
    const pid_t pid = g->peers[rank].pid;
    while (nbytes > 0) {
        const struct iovec here = {own, nbytes}, there = {(void *)(uintptr_t)theirs, nbytes};
        const ssize_t n =
            read ? process_vm_readv(pid, &here, 1, &there, 1, 0) : process_vm_writev(pid, &here, 1, &there, 1, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EFAULT;
        own += n, theirs += (uint64_t)n, nbytes -= (size_t)n;
    }
    return 0;
}

int tutti_peer_read(const tutti_group *g, int rank, void *to, uint64_t from, size_t nbytes)
{
    return move(g, rank, to, from, nbytes, true);
}

int tutti_peer_write(const tutti_group *g, int rank, uint64_t to, const void *from, size_t nbytes)
{
    return move(g, rank, (char *)(uintptr_t)from, to, nbytes, false);
}

/* --- test of access --- */

static void read_wish(probe_notice *own)
{
    const char *wish = getenv("TUTTI_CMA");
    if (!wish || !*wish || !strcmp(wish, "on")) return;
    own->closed = true;
    snprintf(own->words, sizeof own->words, "TUTTI_CMA=off");
    if (!strcmp(wish, "off")) return;
    own->status = TUTTI_ERR_USAGE;
    snprintf(own->words, sizeof own->words, "TUTTI_CMA=%.100s: 'on' or 'off' is possible", wish);
}

static void try_peers(const tutti_group *g, const probe_notice *all, probe_notice *own)
{
    for (int r = 0; r < g->nranks && !own->closed; r++) {
        uint64_t got = 0;
        if (r == g->rank) continue;
        int problem = tutti_peer_read(g, r, &got, all[r].at, sizeof got);
        if (!problem && got != all[r].number) problem = ESRCH; /* the process number means another process here */
        const uint64_t box = all[r].mailbox + (uint64_t)g->rank * sizeof got;
        if (!problem) problem = tutti_peer_write(g, r, box, &got, sizeof got);
        own->closed = problem != 0;
        if (problem)
            snprintf(own->words, sizeof own->words,
                     "the system does not let %.90s touch memory of rank %d (%s; see Yama's ptrace_scope, user ids, "
                     "filters of a container)",
                     g->peers[g->rank].describe, r, strerror(problem));
    }
}

static tutti_status gather(tutti_group *g, const probe_notice *own, probe_notice *all, bool *closed, tutti_failure *err)
{
    tutti_status st = tutti_group_all_gather(g, "memory of peers", own, all, sizeof *own, err);
    for (int r = 0; r < g->nranks && !st && !*closed; r++) {
        if (all[r].status) st = tutti_fail(err, (tutti_status)all[r].status, "%s", all[r].words);
        *closed = all[r].closed;
        if (*closed) snprintf(g->peers_closed, sizeof g->peers_closed, "%s", all[r].words);
    }
    return st;
}

tutti_status tutti_group_probe_peers(tutti_group *g, tutti_failure *err)
{
    if (g->nranks == 1 || g->thread_boards) {
        g->peer_memory = TUTTI_PEERS_SHARED;
        return TUTTI_OK;
    }
    if (g->nhosts > 1) {
        snprintf(g->peers_closed, sizeof g->peers_closed, "the ranks are of several hosts");
        return TUTTI_OK;
    }
    uint64_t *mailbox = tutti_alloc(sizeof *mailbox * (size_t)g->nranks);
    const uint64_t unique[3] = {g->cookie, (uint64_t)tutti_clock_ns(), (uint64_t)g->rank};
    probe_notice own = {.number = tutti_hash(unique, sizeof unique), .mailbox = (uint64_t)(uintptr_t)mailbox};
    probe_notice *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    bool closed = false;
    own.at = (uint64_t)(uintptr_t)&own.number;
    read_wish(&own);
    tutti_status st = gather(g, &own, all, &closed, err);
    if (!st && !closed) {
        try_peers(g, all, &own);
        st = gather(g, &own, all, &closed, err);
    }
    g->peer_memory = st || closed ? TUTTI_PEERS_CLOSED : TUTTI_PEERS_COPIED;
    free(all);
    free(mailbox);
    return st;
}

bool tutti_group_has_cores(const tutti_group *g)
{
    return g->spin;
}

tutti_peer_memory tutti_group_peer_memory(const tutti_group *g, const char **why_closed)
{
    if (why_closed) *why_closed = g->peers_closed;
    return g->peer_memory;
}
