/* SPDX-License-Identifier: Apache-2.0 */
/* group_wire_choose.c: chooses the wire for 'auto': the wire that carried 1 MiB and a word back faster in a trial.
 *
 * Each wire that joins hosts is opened in turn. Rank 0 sends to the first rank of another host, and its figure goes to
 * all, so all choose alike; a wire that is missing on one rank is missing for all. A later row of the table must be
 * faster by a tenth, so that equal wires do not alternate by chance and wires without a library are preferred. A wire
 * that is installed but fails is reported, because its library may have printed errors. Sums do not depend on the
 * choice. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "group_impl.h"

enum { SHORT = 1 << 16, BYTES = 1 << 20, MOST_ROUNDS = 8 };
static const double ENOUGH_S = 0.05, WORTH = 0.9;
static const uint64_t STOP = (uint64_t)1 << 62; /* the number of the turn that ends a trial; no round reaches it */

/* The memory of a trial, into which the partner writes. */
typedef struct {
    _Atomic uint64_t turn;
    char padding[56], bytes[BYTES];
} trial_memory;

typedef struct {
    tutti_group *group;
    int partner;
    trial_memory *mine;
    char *source;
    uint64_t there; /* address of the partner's memory, as the partner sees it */
    double until;
} trial;

static bool is_over(const trial *t)
{
    tutti_group *g = t->group;
    if (tutti_clock_ns() - g->last_watch_ns > TUTTI_WATCH_NS) tutti_group_watch(g);
    return g->failed || g->wire->broken[t->partner][0] || tutti_clock_s() > t->until;
}

/* Waits for the partner's turn of this number. Returns false if it did not come in time. */
static bool await_turn(trial *t, uint64_t turn)
{
    while (atomic_load(&t->mine->turn) < turn) {
        if (t->group->wire->row->progress(t->group->wire)) continue;
        if (is_over(t)) return false;
        sched_yield();
    }
    return true;
}

/* Sends nbytes bytes, then the number of the turn. */
static bool send_turn(trial *t, size_t nbytes, uint64_t turn)
{
    tutti_wire *w = t->group->wire;
    tutti_put *put = NULL;
    if (nbytes) put = w->row->put(w, t->partner, t->there + offsetof(trial_memory, bytes), t->source, nbytes, false);
    tutti_put *word = w->row->put_word(w, t->partner, t->there, turn);
    while ((put && put->flying) || (word && word->flying))
        if (!w->row->progress(w) && is_over(t)) break;
    const bool gone = (!put || put->over) && (!word || word->over);
    tutti_put_release(word), tutti_put_release(put);
    return gone;
}

/* Returns the seconds of the best of some rounds; < 0: no round succeeded. The first round is short: it absorbs slow
 * beginnings, and on slow links it is the only one. */
static double lead(trial *t)
{
    double best = -1, spent = 0;
    for (uint64_t turn = 1; turn <= MOST_ROUNDS && spent < ENOUGH_S; turn++) {
        const size_t nbytes = turn == 1 ? SHORT : BYTES;
        const double begin = tutti_clock_s();
        if (!send_turn(t, nbytes, turn) || !await_turn(t, turn)) return -1;
        const double seconds = tutti_clock_s() - begin;
        if (turn <= 2 || seconds < best) best = seconds * (BYTES / (double)nbytes);
        spent += seconds;
    }
    return send_turn(t, 0, STOP) ? best : -1;
}

static void follow(trial *t)
{
    for (uint64_t turn = 1; await_turn(t, turn) && atomic_load(&t->mine->turn) < STOP; turn++)
        if (!send_turn(t, 0, turn)) return;
}

static int find_far(const tutti_group *g, int rank)
{
    int r = 0;
    while (g->hosts[r] == g->hosts[rank]) r++; /* ends, because there is a rank on another host */
    return r;
}

/* Returns the partner: rank 0 and the first rank far from it are partners; -1: this rank only waits. */
static int find_partner(const tutti_group *g)
{
    const int far = find_far(g, 0);
    return g->rank == 0 ? far : g->rank == far ? 0 : -1;
}

/* Measures the seconds for a MiB over the open wire and gives all ranks the same number; < 0: no bytes moved. */
static tutti_status time_wire(tutti_group *g, double *seconds, tutti_failure *err)
{
    double own = -1, *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    uint64_t *there = tutti_alloc(sizeof *there * (size_t)g->nranks);
    tutti_wire_memory *memory = NULL;
    trial t = {
        .group = g, .partner = find_partner(g), .mine = tutti_alloc(sizeof *t.mine), .source = tutti_alloc(BYTES)};
    tutti_status st =
        tutti_group_enrol(g, "the trial of a wire", (tutti_own_memory){t.mine, sizeof *t.mine}, &memory, there, err);
    if (!st && t.partner >= 0) {
        t.there = there[t.partner];
        t.until = tutti_clock_s() + g->deadline_s / 2;
        if (g->rank == 0)
            own = lead(&t);
        else
            follow(&t);
    }
    if (!st) st = tutti_group_all_gather(g, "how fast a wire is", &own, all, sizeof own, err);
    *seconds = all[0];
    if (memory) tutti_group_forget(g, memory);
    free(t.mine), free(t.source), free(there), free(all);
    return st;
}

/* Keeps the faster of two wires in g->wire and closes the other. */
static void keep_faster(tutti_group *g, tutti_wire **best, double *best_s, double seconds)
{
    if (*best && seconds >= WORTH * *best_s) {
        tutti_wire *slower = g->wire;
        g->wire = *best;
        slower->row->close(slower, 2);
        return;
    }
    if (*best) (*best)->row->close(*best, 2);
    *best = g->wire, *best_s = seconds;
}

tutti_status tutti_group_choose_wire(tutti_group *g, tutti_failure *err)
{
    tutti_wire *best = NULL;
    double best_s = 0, seconds;
    tutti_failure first = {0};
    size_t at = 0;
    for (int i = 0; i < tutti_wire_count(); i++) {
        const tutti_wire_row *row = tutti_wire_at(i);
        tutti_failure why = {0};
        if (!(row->can & TUTTI_WIRE_CROSSES_HOSTS) || row->absent) continue;
        g->wire = NULL;
        tutti_status st = tutti_group_connect_wire(g, row, &why);
        if (!st) st = time_wire(g, &seconds, &why);
        const bool is_mute = !st && seconds < 0;
        if (is_mute) st = tutti_fail(&why, TUTTI_ERR_RENDEZVOUS, "the wire %s moved nothing", row->name);
        if (!st) {
            at += (size_t)snprintf(g->trials + at, sizeof g->trials - at, "%s%s %.3g ms", at ? ", " : "", row->name,
                                   1e3 * seconds);
            keep_faster(g, &best, &best_s, seconds);
            continue;
        }
        if (g->wire) g->wire->row->close(g->wire, 0);
        g->wire = best;
        if (!first.text[0]) first = why;
        if ((st != TUTTI_ERR_RENDEZVOUS || is_mute) && !g->untaken[0])
            snprintf(g->untaken, sizeof g->untaken, "%s: %.180s", row->name, why.text);
        if (g->failed) break;
    }
    g->wire = best;
    if (best && !g->failed) return TUTTI_OK;
    if (g->failed) return tutti_group_report(g, err);
    return tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "join: the ranks are on %d hosts and no wire joins them: %s",
                      g->nhosts, first.text);
}
