/* SPDX-License-Identifier: Apache-2.0 */
/* group.c: allocates and leaves groups, and answers which ranks and hosts there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/host/cores.h"
#include "flight.h"
#include "group_impl.h"

/* Reads sysfs, because sysconf reports sums over caches that no core sees on some virtual machines. */
static int64_t last_level_cache(void)
{
    long long kb = 0;
    for (int index = 3; index >= 2 && kb <= 0; index--) {
        char path[80];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *f = fopen(path, "re");
        if (f && fscanf(f, "%lldK", &kb) != 1) kb = 0;
        if (f) fclose(f);
    }
    return kb > 0 ? kb << 10 : 32 << 20;
}

tutti_group *tutti_group_alloc(int rank, int nranks, double deadline_s)
{
    tutti_group *g = tutti_alloc(sizeof *g);
    g->rank = rank, g->nranks = nranks, g->epoch = 1;
    g->deadline_s = deadline_s;
    g->cache_bytes = last_level_cache();
    g->peers = tutti_alloc(sizeof *g->peers * (size_t)nranks);
    g->hosts = tutti_alloc(sizeof *g->hosts * (size_t)nranks);
    g->nhosts = 1, g->nmachine = nranks;
    g->ncores = tutti_cores_usable();
    pthread_mutex_init(&g->star_lock, NULL);
    pthread_mutex_init(&g->abort_lock, NULL);
    g->flight = tutti_flight_create();
    g->signal_fd = g->news = -1;
    for (int r = 0; r < nranks; r++) g->peers[r].control = g->peers[r].mesh = g->peers[r].bell = -1;
    return g;
}

void tutti_group_name_peer(tutti_group *g, int rank, const char *host, int pid)
{
    tutti_peer *p = &g->peers[rank];
    snprintf(p->host, sizeof p->host, "%s", host);
    p->pid = pid;
    if (g->thread_boards)
        snprintf(p->describe, sizeof p->describe, "rank %d (a thread of pid %d)", rank, pid);
    else
        snprintf(p->describe, sizeof p->describe, "rank %d (host %s, pid %d)", rank, p->host, pid);
}

static void close_fd(int fd)
{
    if (fd >= 0) close(fd);
}

void tutti_group_leave(tutti_group *g)
{
    if (!g) return;
    /* after a failure no goodbye is sent: this rank leaves because of another rank, which the peers know already */
    const tutti_mesh_message goodbye = {.kind = TUTTI_MESH_GOODBYE, .epoch = g->epoch, .rank = g->rank};
    tutti_group_close_wire(g); /* the wire closes first, so that signals of this rank arrive before the goodbye */
    tutti_group_tell(g, &goodbye);
    for (int r = 0; r < g->nranks; r++) {
        tutti_peer *p = &g->peers[r];
        close_fd(p->mesh), close_fd(p->control), close_fd(p->bell);
        tutti_frame_release(&p->partial), tutti_frame_release(&p->arrived);
        free(p->last_words);
        for (int i = 0; i < p->npending; i++) close_fd(p->pending[i].fd);
    }
    close_fd(g->signal_fd), close_fd(g->news);
    tutti_region_destroy(g->board_region);
    if (g->thread_boards && atomic_fetch_sub(&g->thread_boards->users, 1) == 1) {
        tutti_region_free_left(g->thread_boards);
        pthread_mutex_destroy(&g->thread_boards->lock);
        free(g->thread_boards);
    }
    pthread_mutex_destroy(&g->abort_lock);
    pthread_mutex_destroy(&g->star_lock);
    free(g->peers), free(g->hosts), free(g->flight), free(g);
}

int tutti_group_rank(const tutti_group *group)
{
    return group->rank;
}

int tutti_group_nranks(const tutti_group *group)
{
    return group->nranks;
}

uint32_t tutti_group_epoch(const tutti_group *group)
{
    return group->epoch;
}

int tutti_group_host_of(const tutti_group *group, int rank)
{
    return group->hosts[rank];
}

const int32_t *tutti_group_hosts(const tutti_group *group)
{
    return group->hosts;
}

int tutti_group_nhosts(const tutti_group *group)
{
    return group->nhosts;
}

int tutti_group_ncores(const tutti_group *group)
{
    return group->ncores;
}

int tutti_group_nmachine(const tutti_group *group)
{
    return group->nmachine;
}

const char *tutti_group_describe(const tutti_group *group, int rank)
{
    return group->peers[rank].describe;
}

void tutti_group_on_silence(tutti_group *group, void (*notice)(void *arg, const char *words), void *arg)
{
    group->notice = notice;
    group->notice_arg = arg;
}
