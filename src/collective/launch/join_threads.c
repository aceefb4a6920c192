/* SPDX-License-Identifier: Apache-2.0 */
/* join_threads.c: makes groups of the threads of one process: socket pairs and plain memory. All code above the sockets
 * is the same as for processes, so ThreadSanitizer can check it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "join_impl.h"
#include "open_files.h"

static bool pair_up(tutti_group *const *groups, int a, int b)
{
    int pair[2];
    if (a == 0) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return false;
        groups[0]->peers[b].control = pair[0];
        groups[b]->peers[0].control = pair[1];
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) return false;
    groups[a]->peers[b].mesh = pair[0];
    groups[b]->peers[a].mesh = pair[1];
    return true;
}

static bool look_out_for_all(tutti_group *g)
{
    tutti_status st = TUTTI_OK;
    g->news = epoll_create1(EPOLL_CLOEXEC);
    for (int r = 0; g->news >= 0 && r < g->nranks && !st; r++) st = tutti_group_look_out(g, r, NULL);
    return g->news >= 0 && !st;
}

/* Gives each group its own descriptor of each rank's doorbell, so that a rank that leaves closes only its own. */
static bool hang_bells(tutti_group *const *groups, int nranks)
{
    for (int r = 0; r < nranks; r++) {
        int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (bell < 0) return false;
        groups[r]->peers[r].bell = bell;
        for (int other = 0; other < nranks; other++) {
            if (other == r) continue;
            groups[other]->peers[r].bell = dup(bell);
            if (groups[other]->peers[r].bell < 0) return false;
        }
    }
    return true;
}

tutti_status tutti_group_create_threads(int nranks, double deadline_s, tutti_group **out, tutti_failure *err)
{
    char who[48];
    snprintf(who, sizeof who, "group: a process with %d threads as ranks", nranks);
    if (tutti_open_files_allow(nranks * (TUTTI_FILES_A_PEER * nranks + TUTTI_FILES_OF_A_RANK), who, err))
        return TUTTI_ERR_FAILED;
    tutti_group **groups = tutti_alloc(sizeof *groups * (size_t)nranks);
    size_t nbytes = sizeof(tutti_thread_boards) + sizeof(tutti_board) * (size_t)nranks;
    tutti_thread_boards *boards = aligned_alloc(64, (nbytes + 63) / 64 * 64);
    if (!boards) abort();
    memset(boards, 0, nbytes);
    pthread_mutex_init(&boards->lock, NULL);
    atomic_init(&boards->users, nranks);
    for (int r = 0; r < nranks; r++) {
        groups[r] = tutti_group_alloc(r, nranks, deadline_s);
        groups[r]->thread_boards = boards;
        groups[r]->spin = nranks <= groups[r]->ncores;
        for (int other = 0; other < nranks; other++) {
            tutti_group_name_peer(groups[r], other, "", (int)getpid());
            groups[r]->peers[other].board = &boards->boards[other];
        }
    }
    bool good = hang_bells(groups, nranks);
    for (int b = 1; good && b < nranks; b++)
        for (int a = 0; good && a < b; a++) good = pair_up(groups, a, b);
    for (int r = 0; good && r < nranks; r++) good = look_out_for_all(groups[r]);
    tutti_status st = TUTTI_OK;
    if (!good) {
        st = tutti_fail(err, TUTTI_ERR_FAILED, "group: cannot open the sockets of %d threads: %s (ulimit -n)", nranks,
                        strerror(errno));
        for (int r = 0; r < nranks; r++) tutti_group_leave(groups[r]);
    } else {
        memcpy(out, groups, sizeof *groups * (size_t)nranks);
    }
    free(groups);
    return st;
}
