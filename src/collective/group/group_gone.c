/* SPDX-License-Identifier: Apache-2.0 */
/* group_gone.c: keeps two lists of lost ranks in a group that outlives deaths (group_bear.c): the losses that this rank
 * has noticed, and the losses that rank 0 has announced to all ranks. */
#include "../../base/clock.h"
#include "group_impl.h"

static const int64_t GRACE_NS = 3000000000; /* nanoseconds that the star over rank 0 gets to report why a connection of
                                             * the wire broke, because rank 0 mostly knows the cause */

bool tutti_group_does_without(const tutti_group *g, int rank)
{
    return g->bears && rank > 0 && rank != g->rank;
}

int tutti_group_lost_on_wire(const tutti_group *g, int64_t *since_ns)
{
    for (int r = 0; g->wire && r < g->nranks; r++) {
        if (!g->wire->broken[r][0] || g->peers[r].state != TUTTI_PEER_HERE) continue;
        if (!*since_ns) *since_ns = tutti_clock_ns();
        return tutti_clock_ns() - *since_ns < GRACE_NS ? -1 : r;
    }
    return -1;
}

bool tutti_group_is_gone(const tutti_group *g, int rank)
{
    return atomic_load(&g->peers[rank].gone);
}

const atomic_bool *tutti_group_gone_flag(const tutti_group *g, int rank)
{
    return &g->peers[rank].gone;
}

int tutti_group_ngone(const tutti_group *g)
{
    return atomic_load(&g->ngone);
}

const char *tutti_group_last_words(const tutti_group *g, int rank)
{
    return tutti_group_is_gone(g, rank) ? g->peers[rank].last_words : "";
}

int tutti_group_nliving(const tutti_group *g)
{
    int n = 0;
    for (int r = 0; r < g->nranks; r++) n += !g->peers[r].listed;
    return n;
}

int tutti_group_place(const tutti_group *g)
{
    int n = 0;
    for (int r = 0; r < g->rank; r++) n += !g->peers[r].listed;
    return n;
}

void tutti_group_drop_on_wire(tutti_group *g, int rank)
{
    if (!g->wire || tutti_group_is_near(g, rank)) return;
    tutti_group_lock(g);
    if (!g->wire->halted) g->wire->row->drop(g->wire, rank);
    if (g->traffic) g->traffic->wake(g);
    tutti_group_unlock(g);
}
