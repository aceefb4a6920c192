/* SPDX-License-Identifier: Apache-2.0 */
/* memory_pass.c: passes memory files (base/host/memory_file.h) to other ranks of the host. Descriptors travel over the
 * mesh. */
#include "memory_pass.h"

#include <stdio.h>

void tutti_memory_file_send_among(tutti_group *g, const int32_t *set_of, uint64_t id, int fd)
{
    const tutti_mesh_message m = {.kind = TUTTI_MESH_REGION, .epoch = g->epoch, .rank = g->rank, .id = id};
    for (int r = 0; r < g->nranks; r++)
        if (g->peers[r].mesh >= 0 && (!set_of || set_of[r] == set_of[g->rank]))
            tutti_mesh_send(g->peers[r].mesh, &m, fd);
}

void tutti_memory_file_send(tutti_group *g, uint64_t id, int fd)
{
    tutti_memory_file_send_among(g, NULL, id, fd);
}

static int take_pending(tutti_peer *p, uint64_t id)
{
    for (int i = 0; i < p->npending; i++) {
        if (p->pending[i].id != id) continue;
        int fd = p->pending[i].fd;
        p->pending[i] = p->pending[--p->npending];
        return fd;
    }
    return -1;
}

tutti_status tutti_memory_file_receive(tutti_group *g, int from, const char *name, uint64_t id, int *fd,
                                       tutti_failure *err)
{
    tutti_patience patience;
    char words[TUTTI_WORDS];
    tutti_patience_begin(g, &patience);
    snprintf(words, sizeof words, "%s: region '%s': no descriptor from %s", g->peers[g->rank].describe, name,
             g->peers[from].describe);
    while ((*fd = take_pending(&g->peers[from], id)) < 0) {
        double left = tutti_patience_left(g, &patience, words);
        if (left <= 0 || g->peers[from].state != TUTTI_PEER_HERE) tutti_group_set_failed(g, -1, TUTTI_ERR_PEER, words);
        if (g->failed) return tutti_group_report(g, err);
        tutti_group_sleep(g, NULL, 0, left < 1 ? left : 1, NULL, NULL);
    }
    return TUTTI_OK;
}
