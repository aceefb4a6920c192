/* SPDX-License-Identifier: Apache-2.0 */
/* group_star.c: the TCP connections to rank 0: bring news of deaths and aborts from one host to the others.
 *
 * A far peer's notices and the frames of its control calls come over one socket in order. Notices are handled as they
 * come; the frame of a call is kept until this rank makes the call. Rank 0 passes messages about long phases, goodbyes
 * and waiting on to the ranks that their sender cannot reach. Rank 0 reports a death or an abort in its own name,
 * because its own epoch is over too. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "group_impl.h"

/* A connection that is silent for 1 s is probed; three probes without an answer, or 3 s of unacknowledged bytes, end
 * it. */
void tutti_star_set_options(int fd)
{
    const struct {
        int level, name, value;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY, 1},  {SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, 1}, {IPPROTO_TCP, TCP_KEEPINTVL, 1},
                   {IPPROTO_TCP, TCP_KEEPCNT, 3},  {IPPROTO_TCP, TCP_USER_TIMEOUT, 3000}};
    /* A socket that refuses these options still works, but notices later that the connection has ended. */
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

bool tutti_star_write(tutti_group *g, int rank, const tutti_frame_head *head, const void *body)
{
    pthread_mutex_lock(&g->star_lock);
    bool good = tutti_frame_write(g->peers[rank].control, head, body, g->deadline_s);
    pthread_mutex_unlock(&g->star_lock);
    return good;
}

static void send_notice(tutti_group *g, int rank, const tutti_mesh_message *m)
{
    const tutti_frame_head head = {.magic = TUTTI_FRAME_MAGIC,
                                   .epoch = g->epoch,
                                   .kind = TUTTI_FRAME_NOTICE,
                                   .rank = g->rank,
                                   .nbytes = (uint32_t)(offsetof(tutti_mesh_message, words) + strlen(m->words) + 1)};
    (void)tutti_star_write(g, rank, &head, m); /* a failed write is ignored: the next watch finds that the rank is
                                                * dead */
}

static void tell_one(tutti_group *g, int rank, const tutti_mesh_message *m)
{
    const tutti_peer *p = &g->peers[rank];
    if (rank == g->rank || p->closed) return;
    if (p->mesh >= 0)
        (void)tutti_mesh_send(p->mesh, m, -1);
    else if (p->control >= 0)
        send_notice(g, rank, m);
}

void tutti_group_tell(tutti_group *g, const tutti_mesh_message *m)
{
    for (int r = 0; r < g->nranks; r++) tell_one(g, r, m);
}

void tutti_star_relay(tutti_group *g, const tutti_mesh_message *m)
{
    const bool passed_on = m->kind == TUTTI_MESH_LONG_BEGIN || m->kind == TUTTI_MESH_LONG_END ||
                           m->kind == TUTTI_MESH_GOODBYE || m->kind == TUTTI_MESH_WAITING ||
                           m->kind == TUTTI_MESH_DUMP || m->kind == TUTTI_MESH_PROGRESS || m->kind == TUTTI_MESH_PULSE;
    if (g->rank != 0 || g->nhosts == 1 || !passed_on) return;
    for (int r = 1; r < g->nranks; r++)
        if (g->hosts[r] != g->hosts[m->rank]) tell_one(g, r, m);
}

static void take_notice(tutti_group *g, int from, const tutti_frame *f)
{
    tutti_mesh_message m = {0};
    const size_t nbytes = f->head.nbytes < sizeof m ? f->head.nbytes : sizeof m;
    if (nbytes < offsetof(tutti_mesh_message, words)) return;
    memcpy(&m, f->body, nbytes);
    m.words[sizeof m.words - 1] = '\0';
    tutti_group_handle(g, from, &m, -1);
}

bool tutti_star_drain(tutti_group *g, int rank)
{
    tutti_peer *p = &g->peers[rank];
    for (;;) {
        int got = tutti_frame_read(p->control, &p->partial, TUTTI_FRAME_MAX);
        if (got <= 0) return got == 0;
        const bool notice = p->partial.head.kind == TUTTI_FRAME_NOTICE, ours = p->partial.head.epoch == g->epoch;
        if (!notice && ours) {
            if (p->arrived.body)
                return true; /* stops reading: the frame of one call is kept already, and the next one has to wait */
            p->arrived = p->partial;
            p->partial = (tutti_frame){0};
            continue;
        }
        if (notice && ours) take_notice(g, rank, &p->partial);
        tutti_frame_release(&p->partial); /* a frame of an older epoch is refused */
    }
}
