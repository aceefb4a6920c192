/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: rendezvous: each rank says hello to rank 0, which compares the hellos and sends all the list of members or a
 * refusal. A rank that waits for several seconds reports which ranks are missing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "join_impl.h"
#include "open_files.h"

static const double TELL_AGAIN_S = 15, MOST_GAP_S = 1.5, GIVES_UP_S = 0.02;

void tutti_join_begin_wait(tutti_joining *j, double tell_after_s)
{
    const double now = tutti_clock_s();
    j->until = now + j->config->deadline_s;
    j->tell_at = now + tell_after_s;
    j->looked_at = now;
}

bool tutti_join_is_given_up(const tutti_joining *j)
{
    const tutti_group_config *c = j->config;
    return c->gives_up && c->gives_up(c->gives_up_arg);
}

/* A rank reads the clock at least once a second. A longer gap between two readings is time in which this process itself
 * was stopped, and extends the deadline. */
bool tutti_join_is_late(tutti_joining *j)
{
    const double now = tutti_clock_s(), gap = now - j->looked_at;
    if (tutti_join_is_given_up(j)) return true;
    if (gap > MOST_GAP_S) j->until += gap - MOST_GAP_S, j->tell_at += gap - MOST_GAP_S;
    j->looked_at = now;
    return now >= j->until;
}

/* A notice whose time has passed needs no waking up: it was given, or the config has no function for notices. */
int tutti_join_slice_ms(const tutti_joining *j)
{
    const double now = tutti_clock_s();
    const double left = (j->tell_at > now && j->tell_at < j->until ? j->tell_at : j->until) - now;
    const double most = j->config->gives_up ? GIVES_UP_S : 1;
    return left < 0 ? 0 : (int)((left < most ? left : most) * 1e3) + 1;
}

bool tutti_join_is_time_to_tell(tutti_joining *j)
{
    if (!j->config->notice || tutti_clock_s() < j->tell_at) return false;
    j->tell_at += TELL_AGAIN_S;
    return true;
}

void tutti_join_send(const tutti_joining *j, int fd, uint32_t kind, const void *body, size_t nbytes)
{
    const tutti_frame_head head = {
        .magic = TUTTI_FRAME_MAGIC, .epoch = j->epoch, .kind = kind, .nbytes = (uint32_t)nbytes};
    tutti_frame_write(fd, &head, body, 5);
}

static tutti_status open_own(tutti_group *g, tutti_joining *j, tutti_failure *err)
{
    char who[48];
    snprintf(who, sizeof who, "join: rank %d of %d", g->rank, g->nranks);
    tutti_status st = tutti_open_files_allow(TUTTI_FILES_OF_A_RANK + (g->rank ? 0 : g->nranks), who, err);
    if (st) return st;
    g->peers[g->rank].bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (g->peers[g->rank].bell >= 0) g->news = epoll_create1(EPOLL_CLOEXEC);
    if (g->news >= 0) j->mesh_listener = tutti_mesh_listen(j->hello.mesh_name, j->hello.nranks);
    return j->mesh_listener >= 0 ? TUTTI_OK : tutti_open_files_fail(errno, who, err);
}

static int count_near(const tutti_group *g)
{
    int n = 0;
    for (int r = 0; r < g->nranks; r++) n += tutti_group_is_near(g, r);
    return n;
}

/* Called when all ranks have met: connects sockets and shares memory between the ranks of a host. */
static tutti_status settle(tutti_group *g, tutti_joining *j, tutti_failure *err)
{
    char who[TUTTI_HOST_TEXT + 96];
    for (int r = 0; r < g->nranks; r++) {
        tutti_hello_terminate(&j->hellos[r]);
        tutti_group_name_peer(g, r, j->hellos[r].host, j->hellos[r].pid);
        if (g->peers[r].control >= 0) tutti_star_set_options(g->peers[r].control);
    }
    tutti_hello_number_hosts(g, j->hellos);
    g->ncores = j->config->ncores > 0 ? j->config->ncores : j->hellos[g->rank].ncores;
    g->spin = g->nmachine <= g->ncores;
    snprintf(who, sizeof who, "join: %s, one of %d on its host,", g->peers[g->rank].describe, count_near(g));
    tutti_status st = tutti_open_files_allow(TUTTI_FILES_OF_A_RANK + TUTTI_FILES_A_PEER * count_near(g), who, err);
    if (st) {
        close(j->mesh_listener);
        return st;
    }
    st = tutti_mesh_connect(g, j->mesh_listener, j->hellos, err);
    for (int r = 0; !st && r < g->nranks; r++) st = tutti_group_look_out(g, r, err);
    if (!st) st = tutti_region_create(g, "board", sizeof(tutti_board), &g->board_region, err);
    for (int r = 0; !st && r < g->nranks; r++) g->peers[r].board = tutti_region_base(g->board_region, r);
    if (!st) st = tutti_group_open_wire(g, j->hello.wire, err);
    return st;
}

static tutti_status meet(tutti_group *g, tutti_joining *j, tutti_failure *err)
{
    tutti_status st = open_own(g, j, err);
    if (!st) st = g->rank == 0 ? tutti_join_as_zero(g, j, err) : tutti_join_as_other(g, j, err);
    if (st && j->mesh_listener >= 0) close(j->mesh_listener);
    if (st) return st;
    tutti_failure why = {0};
    st = settle(g, j, &why);
    if (!st) return TUTTI_OK;
    if (st == TUTTI_ERR_PEER && g->culprit < 0)
        st = TUTTI_ERR_RENDEZVOUS;               /* no rank has died: the ranks have not all met in time */
    tutti_group_set_failed(g, -1, st, why.text); /* tells the other ranks, which wait for this rank */
    return tutti_fail(err, st, "%s", why.text);
}

tutti_status tutti_group_join(const tutti_group_config *config, tutti_group **out, tutti_failure *err)
{
    if (config->nranks < 1 || config->rank < 0 || config->rank >= config->nranks)
        return tutti_fail(err, TUTTI_ERR_USAGE, "join: rank %d of %d ranks", config->rank, config->nranks);
    if (strlen(config->fingerprint) > TUTTI_HELLO_MAX / 2)
        return tutti_fail(err, TUTTI_ERR_USAGE, "join: the fingerprint has %zu bytes, at most %d",
                          strlen(config->fingerprint), TUTTI_HELLO_MAX / 2);
    if (*tutti_group_asked_wire() && !tutti_wire_find(tutti_group_asked_wire(), err)) return TUTTI_ERR_USAGE;
    tutti_joining j = {.config = config, .mesh_listener = -1};
    if (tutti_address_read(config->master_addr, &j.master, err)) return TUTTI_ERR_USAGE;
    tutti_group *g = tutti_group_alloc(config->rank, config->nranks, config->deadline_s);
    g->cookie = config->cookie;
    if (config->epoch) g->epoch = config->epoch;
    j.epoch = g->epoch;
    g->spin = config->nranks == 1;
    if (config->ncores > 0) g->ncores = config->ncores;
    tutti_hello_fill(&j.hello, config);
    tutti_group_name_peer(g, g->rank, j.hello.host, j.hello.pid);
    tutti_status st = TUTTI_OK;
    if (config->nranks > 1) {
        j.hellos = tutti_alloc(sizeof *j.hellos * (size_t)config->nranks);
        if (config->rank == 0) j.cores = tutti_alloc(sizeof *j.cores * (size_t)config->nranks);
        st = meet(g, &j, err);
        free(j.hellos), free(j.cores);
    } else if (config->master_fd >= 0) {
        close(config->master_fd);
    }
    if (st)
        tutti_group_leave(g);
    else
        *out = g;
    return st;
}
