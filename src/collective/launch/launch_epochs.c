/* SPDX-License-Identifier: Apache-2.0 */
/* launch_epochs.c: replaces ranks that were lost: the launcher starts new processes for them and tells all ranks where
 * the next epoch of the group gathers.
 *
 * An epoch is broken when a rank was lost. The remaining ranks learn of it from each other, leave the group and say
 * that the epoch is over for them. The launcher tells ranks that are still joining. When all have left, the next epoch
 * begins. A rank that is blamed but still runs must hang, so the launcher kills it. A rank that was lost before any
 * group had formed is replaced in the same epoch, because the other ranks still wait for it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/host/memory_file.h"
#include "launch_impl.h"

/* DIES_S: how long a process may take to die after its sockets have closed. LEAVES_S: how long ranks may take to leave
 * a broken epoch, if the options name no deadline. */
static const double DIES_S = 1, LEAVES_S = 60, NAP_S = 0.1;

/* ---- set-up ---- */

static tutti_status open_file(const char *name, int *fd, tutti_failure *err)
{
    *fd = tutti_memory_file_open(name);
    if (*fd >= 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "launch: no memory file for %s: %s", name, strerror(errno));
}

tutti_status tutti_epochs_begin(tutti_launcher *l, tutti_failure *err)
{
    tutti_launch_epochs *e = &l->epochs;
    *e = (tutti_launch_epochs){.left = l->options->max_restarts, .epoch = 1, .samples = -1, .copies = -1, .lost = -1};
    if (l->options->decide) e->epoch = 0; /* the first order begins the first epoch */
    if (!e->left && !l->options->decide) return TUTTI_OK;
    e->phase = tutti_alloc(sizeof *e->phase * (size_t)l->nranks);
    e->link = tutti_alloc(sizeof *e->link * (size_t)l->nranks);
    for (int r = 0; r < l->nranks; r++) e->link[r] = -1;
    const tutti_status st = open_file("tutti samples", &e->samples, err);
    return st ? st : open_file("tutti copies", &e->copies, err);
}

void tutti_epochs_end(tutti_launcher *l)
{
    tutti_launch_epochs *e = &l->epochs;
    for (int r = 0; r < l->options->nranks && e->link; r++)
        if (e->link[r] >= 0) close(e->link[r]);
    if (e->samples >= 0) close(e->samples);
    if (e->copies >= 0) close(e->copies);
    free(e->phase), free(e->link);
}

tutti_status tutti_epochs_open_link(tutti_launcher *l, int rank, int *child, tutti_failure *err)
{
    tutti_launch_epochs *e = &l->epochs;
    int ends[2];
    *child = -1;
    if (!e->link) return TUTTI_OK;
    const tutti_status st = tutti_link_open(ends, err);
    if (st) return st;
    if (e->link[rank] >= 0) close(e->link[rank]);
    e->link[rank] = ends[0];
    e->phase[rank] = TUTTI_RANK_JOINS;
    *child = ends[1];
    return TUTTI_OK;
}

/* ---- losses ---- */

static void say(tutti_launcher *l, const char *words)
{
    if (l->options->tell) l->options->tell(l->options->tell_arg, words);
}

/* Counts a loss; losses of one epoch count once. False: there were too many, so no further epoch follows. */
static bool spend(tutti_launcher *l)
{
    tutti_launch_epochs *e = &l->epochs;
    if (e->broken || l->options->decide) return true;
    if (e->left == 0) {
        say(l, "no replacement is left (--max-restarts): the run ends");
        tutti_epochs_give_up(l);
        return false;
    }
    e->left--;
    return true;
}

void tutti_epochs_break(tutti_launcher *l, int lost)
{
    tutti_launch_epochs *e = &l->epochs;
    const tutti_link_message broken = {.kind = TUTTI_LINK_BROKEN, .epoch = e->epoch};
    if (e->broken) return;
    e->broken = true;
    e->lost = lost;
    e->blamed_at = 0;
    e->lost_ns = tutti_clock_ns();
    for (int r = 0; r < l->nranks; r++)
        if (l->ranks[r].runs && e->phase[r] == TUTTI_RANK_JOINS) tutti_link_send(e->link[r], &broken, -1);
}

/* True if a rank that ended like this is replaced: it was killed or crashed, or it lost the others. A rank that ended
 * with another code has found a cause that its replacement would find, too. */
static bool is_lost(const tutti_launcher *l, const tutti_process *p)
{
    if (p->signal) return !(l->sent & 1U << p->signal);
    return p->code == TUTTI_ERR_PEER || p->code == TUTTI_ERR_RENDEZVOUS;
}

/* True if the other ranks have not met yet and still wait for this rank in the current epoch. */
static bool is_awaited(const tutti_launcher *l, int rank)
{
    const tutti_launch_epochs *e = &l->epochs;
    if (e->broken || rank == 0 || l->options->decide) return false;
    for (int r = 0; r < l->nranks; r++)
        if (r != rank && (!l->ranks[r].runs || e->phase[r] != TUTTI_RANK_JOINS)) return false;
    return e->phase[rank] == TUTTI_RANK_JOINS;
}

bool tutti_epochs_zero_is_done(const tutti_launcher *l)
{
    return l->base == 0 && l->nranks > 0 && l->ranks[0].pid && !l->ranks[0].runs && l->ranks[0].code == 0;
}

/* True if the result of the run is saved: the other ranks need not join again. */
static bool is_done(const tutti_launcher *l)
{
    return l->epochs.finishing || tutti_epochs_zero_is_done(l);
}

bool tutti_epochs_bear(tutti_launcher *l, int rank)
{
    tutti_launch_epochs *e = &l->epochs;
    const tutti_process *p = &l->ranks[rank];
    char how[TUTTI_LAUNCH_WORDS], words[TUTTI_LAUNCH_WORDS + 120];
    if (!e->link || l->interrupts > 1 || (e->given_up && !is_done(l))) return false;
    if (p->code == 0) return false; /* if the epoch breaks later, the rank is started again */
    if (is_done(l)) {               /* rank 0 has finished: the others need not join again */
        tutti_epochs_give_up(l);
        return true;
    }
    if (e->broken && l->ends[rank].killed) { /* killed because it hung: the loss was counted then */
        l->ends[rank].killed = false;
        return true;
    }
    if (e->saving && p->code == 128 + SIGUSR1) return true; /* the rank has saved and ended, as the order SAVE asks */
    tutti_launch_words(l, rank, how);
    if (!is_lost(l, p)) {
        e->own_code = e->own_code ? e->own_code : p->code;
        tutti_epochs_give_up(l);
    }
    if (!is_lost(l, p) || !spend(l)) return false;
    const bool waits = is_awaited(l, rank);
    int n = snprintf(words, sizeof words, "rank %d (pid %d) %s", l->base + rank, (int)p->pid, how);
    if (!l->options->decide)
        snprintf(words + n, sizeof words - (size_t)n, " and is replaced; %d replacement%s left", e->left,
                 e->left == 1 ? "" : "s");
    say(l, words);
    if (e->broken && e->lost < 0) e->lost = l->base + rank;
    if (!waits) tutti_epochs_break(l, l->base + rank);
    return true;
}

void tutti_epochs_give_up(tutti_launcher *l)
{
    tutti_launch_epochs *e = &l->epochs;
    e->given_up = true;
    for (int r = 0; r < l->nranks && e->link; r++)
        if (e->link[r] >= 0) shutdown(e->link[r], SHUT_RDWR);
}

/* ---- messages ---- */

static void kill_still(tutti_launcher *l, int rank)
{
    tutti_launch_epochs *e = &l->epochs;
    char words[120];
    snprintf(words, sizeof words, "rank %d (pid %d) stands still: it is killed and replaced", l->base + rank,
             (int)l->ranks[rank].pid);
    say(l, words);
    if (e->lost < 0) e->lost = l->base + rank;
    l->ends[rank].killed = true;
    tutti_process_signal(&l->ranks[rank], SIGKILL);
}

/* Kills the rank that the others blame, if it still runs DIES_S later: it is stopped or hangs. The delay is there
 * because peers may see the sockets of a dying process close before the launcher sees its end. Kills also ranks that
 * have not left a broken epoch when the deadline has passed. */
static void kill_standing(tutti_launcher *l)
{
    tutti_launch_epochs *e = &l->epochs;
    const double now = tutti_clock_s(), broken_s = 1e-9 * (double)(tutti_clock_ns() - e->lost_ns);
    const double patience = l->options->deadline_s > 0 ? l->options->deadline_s : LEAVES_S;
    for (int r = 0; r < l->nranks && e->broken; r++) {
        const bool stays = l->ranks[r].runs && e->phase[r] != TUTTI_RANK_OVER && !l->ends[r].killed;
        const bool is_blamed = l->base + r == e->lost;
        if (stays && is_blamed && e->blamed_at == 0) e->blamed_at = now;
        if (stays && (broken_s > patience || (is_blamed && now - e->blamed_at > DIES_S))) kill_still(l, r);
    }
}

static void take(tutti_launcher *l, int rank, const tutti_link_message *m)
{
    tutti_launch_epochs *e = &l->epochs;
    if (m->epoch != e->epoch) return;
    if (m->kind == TUTTI_LINK_JOINED && e->phase[rank] == TUTTI_RANK_JOINS) e->phase[rank] = TUTTI_RANK_JOINED;
    if (m->kind == TUTTI_LINK_PLAYS) e->phase[rank] = TUTTI_RANK_PLAYS;
    if (m->kind == TUTTI_LINK_BUSY) e->busy = 1 + m->lost;
    if (m->kind != TUTTI_LINK_OVER) return;
    e->phase[rank] = TUTTI_RANK_OVER;
    if (is_done(l)) {
        tutti_epochs_give_up(l);
        return;
    }
    if (!spend(l)) return;
    tutti_epochs_break(l, m->lost);
    if (e->lost < 0) e->lost = m->lost;
}

bool tutti_epochs_all_play(const tutti_launcher *l)
{
    for (int r = 0; r < l->nranks; r++)
        if (l->ranks[r].runs && l->epochs.phase[r] != TUTTI_RANK_PLAYS) return false;
    return true;
}

/* Sends the signal that was held back, once all ranks have done a step of the epoch. */
static void release_held(tutti_launcher *l)
{
    tutti_launch_epochs *e = &l->epochs;
    if (!e->held || e->broken || e->saving || !l->nrunning || !tutti_epochs_all_play(l)) return;
    l->sent |= 1U << e->held;
    tutti_launch_send_all(l, e->held);
    e->held = 0;
}

double tutti_epochs_nap(const tutti_launcher *l)
{
    return l->epochs.broken || l->options->decide ? NAP_S : 1;
}

void tutti_epochs_hear(tutti_launcher *l)
{
    tutti_launch_epochs *e = &l->epochs;
    for (int r = 0; r < l->nranks && e->link; r++) {
        tutti_link_message m;
        int passed;
        while (e->link[r] >= 0 && tutti_link_receive(e->link[r], &m, &passed) > 0) {
            if (passed >= 0) close(passed);
            take(l, r, &m);
        }
    }
    if (!e->link) return;
    release_held(l);
    kill_standing(l);
}

bool tutti_epochs_hold(tutti_launcher *l, int signal)
{
    tutti_launch_epochs *e = &l->epochs;
    if (l->options->decide && !l->nrunning) { /* no rank runs here that could end by the signal */
        e->own_code = 128 + signal;
        return true;
    }
    if (!e->link || e->given_up || (e->epoch == 1 && !e->broken) || signal == SIGQUIT) return false;
    /* ranks that save have got one signal already, so this one is held */
    if (!e->broken && !e->saving && tutti_epochs_all_play(l)) return false;
    e->held = e->held ? e->held : signal;
    return true;
}

/* ---- the next epoch ---- */

/* Replaces a rank for which the others still wait, in the current epoch. */
static tutti_status restart_awaited(tutti_launcher *l, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int r = 0; r < l->nranks && !st; r++)
        if (!l->ranks[r].runs && l->ranks[r].code != 0 && !l->ends[r].order) st = tutti_launch_start_rank(l, r, err);
    return st;
}

bool tutti_epochs_all_left(const tutti_launcher *l)
{
    for (int r = 0; r < l->nranks; r++)
        if (l->ranks[r].runs && l->epochs.phase[r] != TUTTI_RANK_OVER) return false;
    return true;
}

tutti_status tutti_epochs_gather(tutti_launcher *l, tutti_failure *err)
{
    tutti_launch_epochs *e = &l->epochs;
    const tutti_link_message next = {
        .kind = TUTTI_LINK_NEXT, .epoch = e->epoch, .lost = e->lost, .port = l->port, .lost_ns = e->lost_ns};
    tutti_status st = TUTTI_OK;
    for (int r = 0; r < l->nranks && !st; r++) {
        if (!l->ranks[r].runs) {
            st = tutti_launch_start_rank(l, r, err);
            continue;
        }
        e->phase[r] = TUTTI_RANK_JOINS;
        /* if this fails, the rank has just died, and its end will be seen */
        (void)tutti_link_send(e->link[r], &next, l->base + r ? -1 : l->listener);
    }
    return st;
}

bool tutti_epochs_advance(tutti_launcher *l, tutti_failure *err)
{
    tutti_launch_epochs *e = &l->epochs;
    if (l->options->decide) return tutti_told_advance(l, err);
    if (!e->link || e->given_up) return true;
    if (!e->broken) return restart_awaited(l, err) == TUTTI_OK;
    if (!tutti_epochs_all_left(l)) return true;
    if (l->listener >= 0) close(l->listener);
    if (tutti_launch_listen(l, err)) return false;
    e->epoch++;
    e->broken = false;
    return tutti_epochs_gather(l, err) == TUTTI_OK;
}
