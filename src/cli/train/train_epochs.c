/* SPDX-License-Identifier: Apache-2.0 */
/* train_epochs.c: `tutti train --max-restarts`: one rank's talk with the launcher that replaces lost ranks. */
#include <stdlib.h>

#include "../../base/clock.h"
#include "../../collective/launch/link.h"
#include "train_cmd.h"

/* Seconds beyond twice the deadline that a rank waits for the launcher to begin the next epoch. */
static const double MORE_S = 30;

static tutti_status next(void *arg, int culprit, tutti_run_place *place, tutti_failure *err)
{
    const tutti_train_link *l = arg;
    const tutti_link_message over = {.kind = TUTTI_LINK_OVER, .epoch = place->epoch, .lost = culprit};
    tutti_link_message m;
    tutti_link_send(l->fd, &over, -1);
    const tutti_status st = tutti_link_wait(l->fd, place->epoch, 2 * l->deadline_s + MORE_S, &m, &place->listener, err);
    if (st) return st;
    place->epoch = m.epoch;
    place->port = m.port;
    place->lost = m.lost;
    place->lost_ns = m.lost_ns;
    return TUTTI_OK;
}

static bool is_broken(void *arg)
{
    const tutti_train_link *l = arg;
    return tutti_link_has_news(l->fd);
}

bool tutti_train_link_open(tutti_train_link *l, tutti_run_place *place, double deadline_s)
{
    *l = (tutti_train_link){.fd = tutti_link_of_environment(), .deadline_s = deadline_s};
    if (l->fd < 0) return false;
    tutti_link_epoch(&place->epoch, &place->lost, &place->lost_ns);
    l->epochs = (tutti_run_epochs){.next = next, .is_broken = is_broken, .arg = l};
    tutti_link_kept_files(&l->epochs.samples, &l->epochs.copies);
    return true;
}

void tutti_train_link_hear(const tutti_train_link *l, const tutti_run_event *e)
{
    const bool joined = e->kind == TUTTI_RUN_JOINED, plays = e->kind == TUTTI_RUN_STOPPABLE;
    if (l->fd < 0 || (!joined && !plays)) return;
    const tutti_link_message m = {.kind = joined ? TUTTI_LINK_JOINED : TUTTI_LINK_PLAYS, .epoch = e->epoch_of_group};
    tutti_link_send(l->fd, &m, -1);
}
