/* SPDX-License-Identifier: Apache-2.0 */
/* group_patience.c: decides which part of a wait counts against the deadline, and reports long phases.
 *
 * While some peer is in a long phase, a wait keeps a count of time for each peer, and checks all peers some times a
 * second. A peer has moved if its phase has begun, ended or reported; it runs if it has checked for news. When any peer
 * moves, the counts of all peers that have moved or run since the last check begin at zero again. The count of any
 * other peer, such as one stopped by a signal, grows. The largest count is compared with the deadline. So a test that
 * makes progress does not let others' waits fail, and does not hide a rank that is stopped.
 *
 * The time between two checks counts up to MOST_STEP_NS. No rank sleeps for longer than a second, so in a longer gap
 * this process itself stood still (SIGSTOP), and the others may have as well. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/clock.h"
#include "group_impl.h"

static const int64_t FIRST_NS = 1000000000, STILL_NS = 1500000000, NOTICE_NS = 14000000000, MOST_STEP_NS = 1500000000;
enum { LOOK_NS = 100000000, MOST_DOUBLINGS = 6 };

/* Returns the time of a wait after which a notice names the slow rank. It is shorter if the deadline is short. */
static int64_t slow_ns(const tutti_group *g)
{
    const double half_s = g->deadline_s / 2;
    return half_s > 1e-9 * (double)NOTICE_NS  ? NOTICE_NS
           : half_s < 1e-9 * (double)STILL_NS ? STILL_NS
                                              : (int64_t)(1e9 * half_s);
}

/* Returns the time between two signs of life to ranks of other hosts. */
static int64_t show_every_ns(const tutti_group *g)
{
    static const double MOST_S = 0.5;
    return (int64_t)(1e9 * (g->deadline_s / 4 < MOST_S ? g->deadline_s / 4 : MOST_S));
}

/* --- long phases of this rank --- */

void tutti_group_long_phase_begin(tutti_group *g, const char *what, const char *unit)
{
    tutti_mesh_message m = {.kind = TUTTI_MESH_LONG_BEGIN, .epoch = g->epoch, .rank = g->rank};
    tutti_board *own = g->peers[g->rank].board;
    snprintf(m.words, sizeof m.words, "%.60s\n%.15s", what, unit);
    snprintf(g->own_phase, sizeof g->own_phase, "%s", what);
    if (own) atomic_store(&own->done, -1);
    g->shown_ns = tutti_clock_ns();
    tutti_group_tell(g, &m);
}

void tutti_group_long_phase_end(tutti_group *g)
{
    const tutti_mesh_message m = {.kind = TUTTI_MESH_LONG_END, .epoch = g->epoch, .rank = g->rank};
    g->own_phase[0] = '\0';
    tutti_group_tell(g, &m);
}

static void report_far(tutti_group *g, int64_t done, int64_t total, int64_t now)
{
    if (g->nhosts == 1 || now - g->shown_ns < show_every_ns(g)) return;
    tutti_mesh_message m = {.kind = TUTTI_MESH_PROGRESS, .epoch = g->epoch, .rank = g->rank};
    snprintf(m.words, sizeof m.words, "%" PRId64 " %" PRId64, done, total);
    g->shown_ns = now;
    tutti_group_tell(g, &m);
}

bool tutti_group_progress(tutti_group *g, int64_t done, int64_t total)
{
    tutti_board *own = g->peers[g->rank].board;
    if (g->nranks == 1) return true;
    if (own) {
        atomic_store_explicit(&own->done, done, memory_order_relaxed);
        atomic_store_explicit(&own->total, total, memory_order_relaxed);
        atomic_fetch_add_explicit(&own->moves, 1, memory_order_relaxed);
    }
    const int64_t now = tutti_clock_ns();
    report_far(g, done, total, now);
    if (now - g->last_watch_ns > TUTTI_WATCH_NS) tutti_group_watch(g);
    return !g->failed;
}

static bool tell_group(void *arg, int64_t done, int64_t total)
{
    return tutti_group_progress(arg, done, total);
}

tutti_headway tutti_group_headway(tutti_group *group)
{
    return group->nranks > 1 ? (tutti_headway){tell_group, group} : (tutti_headway){0};
}

void tutti_group_show_pulse(tutti_group *g)
{
    tutti_board *own = g->peers[g->rank].board;
    if (own) atomic_fetch_add_explicit(&own->pulse, 1, memory_order_relaxed);
    if (g->nhosts == 1 || !g->nlong || g->failed || g->last_watch_ns - g->shown_ns < show_every_ns(g)) return;
    const tutti_mesh_message m = {.kind = TUTTI_MESH_PULSE, .epoch = g->epoch, .rank = g->rank};
    g->shown_ns = g->last_watch_ns;
    tutti_group_tell(g, &m);
}

/* --- long phases of other ranks --- */

void tutti_group_take_phase(tutti_group *g, tutti_peer *p, bool on, const char *words)
{
    tutti_long_phase *f = &p->phase;
    const char *unit = strchr(words, '\n');
    if (on) {
        snprintf(f->what, sizeof f->what, "%.*s", unit ? (int)(unit - words) : 60, words);
        snprintf(f->unit, sizeof f->unit, "%.15s", unit ? unit + 1 : "");
    }
    f->done = -1;
    f->moves++;
    if (f->on == on) return;
    f->on = on;
    g->nlong += on ? 1 : -1;
}

void tutti_group_take_report(tutti_peer *p, const char *words)
{
    if (sscanf(words, "%" SCNd64 " %" SCNd64, &p->phase.done, &p->phase.total) != 2) p->phase.done = -1;
    p->phase.moves++;
}

static uint64_t moves_of(const tutti_peer *p)
{
    return p->phase.moves + (p->board ? atomic_load_explicit(&p->board->moves, memory_order_relaxed) : 0);
}

static uint64_t pulse_of(const tutti_peer *p)
{
    return p->phase.pulse + (p->board ? atomic_load_explicit(&p->board->pulse, memory_order_relaxed) : 0);
}

static bool is_awaited(const tutti_group *g, int rank)
{
    return rank != g->rank && g->peers[rank].state == TUTTI_PEER_HERE && !tutti_group_is_gone(g, rank);
}

static void take_seen(tutti_long_phase *f, const tutti_peer *p)
{
    f->seen_moves = moves_of(p);
    f->seen_pulse = pulse_of(p);
}

/* Begins to check peers for progress; every peer counts as silent since this wait began. */
static void begin_looks(tutti_group *g, tutti_patience *p)
{
    p->looks = true;
    p->look_ns = 0;
    for (int r = 0; r < g->nranks; r++) {
        tutti_long_phase *f = &g->peers[r].phase;
        take_seen(f, &g->peers[r]);
        f->idle_ns = p->used_ns;
    }
}

static bool has_anybody_moved(const tutti_group *g)
{
    for (int r = 0; r < g->nranks; r++)
        if (is_awaited(g, r) && g->peers[r].phase.seen_moves != moves_of(&g->peers[r])) return true;
    return false;
}

static void look_who_goes_on(tutti_group *g, tutti_patience *p)
{
    const bool moved = has_anybody_moved(g);
    int64_t most = 0;
    for (int r = 0; r < g->nranks; r++) {
        tutti_long_phase *f = &g->peers[r].phase;
        if (!is_awaited(g, r)) continue;
        f->idle_ns += p->look_ns;
        if (moved && (f->seen_moves != moves_of(&g->peers[r]) || f->seen_pulse != pulse_of(&g->peers[r]))) {
            take_seen(f, &g->peers[r]);
            f->idle_ns = 0;
        }
        if (f->idle_ns > most) most = f->idle_ns;
    }
    p->look_ns = 0;
    if (most < p->used_ns) p->ask_ns = p->noticed_ns = 0;
    p->used_ns = most;
}

/* --- the time of a wait --- */

void tutti_patience_begin(tutti_group *g, tutti_patience *p)
{
    *p = (tutti_patience){.last_ns = tutti_clock_ns()};
    /* clears the peers' idle_ns, whose values are from an earlier wait */
    for (int r = 0; g->nlong && r < g->nranks; r++) g->peers[r].phase.idle_ns = 0;
}

/* Returns true if the first notice about a long phase is due. When one long phase follows another it is due sooner, so
 * that people learn what the ranks wait for. */
static bool is_phase_to_tell(const tutti_group *g, const tutti_patience *p)
{
    return g->nlong && !p->told_phase && p->all_ns > (g->told_phase ? NOTICE_NS : STILL_NS);
}

/* Returns true if it is time to ask what absent ranks do. Each question reads the system's state of each other rank:
 * 300 ranks that asked at every sleep did nothing else. So the first question waits for a time that grows with the
 * number of ranks, and each later one for as long again, except the one before the notice. */
bool tutti_patience_asks(const tutti_group *g, tutti_patience *p)
{
    enum { A_RANK_NS = 20000000 };
    const int64_t first = (int64_t)g->nmachine * A_RANK_NS > FIRST_NS ? (int64_t)g->nmachine * A_RANK_NS : FIRST_NS;
    if (p->used_ns <= (p->ask_ns ? p->ask_ns : first)) return is_phase_to_tell(g, p);
    p->ask_ns = 2 * p->used_ns;
    if (p->used_ns < STILL_NS)
        p->ask_ns = STILL_NS;
    else if (p->used_ns < NOTICE_NS && p->ask_ns > NOTICE_NS)
        p->ask_ns = NOTICE_NS;
    return true;
}

/* No rank sees how far ranks of other hosts have come. So a rank that waits sends a report; a rank without a recent
 * report is the one that the others wait for. */
enum { TELL_NS = 1000000000, RECENT_FACTOR = 3 };

static void tell_waiting(tutti_group *g, tutti_patience *p, int64_t now)
{
    if (g->nhosts == 1 || g->failed || p->all_ns < TELL_NS || now - p->told_ns < TELL_NS) return;
    const tutti_mesh_message m = {.kind = TUTTI_MESH_WAITING, .epoch = g->epoch, .rank = g->rank};
    p->told_ns = g->shown_ns = now;
    tutti_group_tell(g, &m);
}

bool tutti_group_is_waiting(const tutti_group *g, int rank)
{
    const int64_t said = g->peers[rank].waiting_ns;
    return said && tutti_clock_ns() - said < (int64_t)RECENT_FACTOR * TELL_NS;
}

/* Returns true if a notice is to name a rank that makes no progress. The rank is named once, and again if it continued
 * and then stops for twice as long. */
static bool is_still(const tutti_group *g, const tutti_patience *p)
{
    const int64_t still = STILL_NS << (p->nnoticed < MOST_DOUBLINGS ? p->nnoticed : MOST_DOUBLINGS);
    return !p->noticed_ns && p->used_ns > (p->stopped || g->nlong ? still : slow_ns(g));
}

static void notice(tutti_group *g, tutti_patience *p, const char *words)
{
    const bool still = is_still(g, p);
    if (!still && !is_phase_to_tell(g, p)) return;
    if (g->nlong) p->told_phase = g->told_phase = true;
    if (still || p->used_ns > FIRST_NS)
        p->noticed_ns = p->used_ns, p->nnoticed++; /* the words only repeat the last notice */
    if (g->notice) g->notice(g->notice_arg, words);
}

double tutti_patience_left(tutti_group *g, tutti_patience *p, const char *words)
{
    const int64_t now = tutti_clock_ns(), gone = now - p->last_ns, step = gone < MOST_STEP_NS ? gone : MOST_STEP_NS;
    p->last_ns = now;
    p->used_ns += step, p->all_ns += step, p->look_ns += step;
    if (!p->looks && g->nlong)
        begin_looks(g, p);
    else if (p->looks && (p->look_ns > LOOK_NS || 1e-9 * (double)p->used_ns >= g->deadline_s))
        look_who_goes_on(g, p);
    tell_waiting(g, p, now);
    if (*words) notice(g, p, words);
    return g->deadline_s - 1e-9 * (double)p->used_ns;
}

/* --- the caller's own waits for one rank --- */

static uint64_t all_moves(const tutti_group *g)
{
    uint64_t sum = 0;
    for (int r = 0; r < g->nranks; r++) sum += r == g->rank ? 0 : moves_of(&g->peers[r]);
    return sum;
}

double tutti_group_waited(const tutti_group *g, tutti_group_wait *w, int rank)
{
    const int64_t now = tutti_clock_ns(), gone = now - w->last_ns;
    const uint64_t pulse = pulse_of(&g->peers[rank]) + moves_of(&g->peers[rank]), moves = all_moves(g);
    if (!w->rank)
        *w = (tutti_group_wait){.last_ns = now, .rank = 1 + rank, .pulse = pulse, .moves = moves};
    else
        w->used_ns += gone < MOST_STEP_NS ? gone : MOST_STEP_NS;
    w->last_ns = now;
    if (moves == w->moves) return 1e-9 * (double)w->used_ns;
    if (w->rank != 1 + rank || w->pulse != pulse) w->used_ns = 0;
    w->rank = 1 + rank, w->moves = moves, w->pulse = pulse;
    return 1e-9 * (double)w->used_ns;
}

void tutti_group_wait_notice(tutti_group *g, tutti_group_wait *w, const char *doing, int rank)
{
    char words[TUTTI_WORDS];
    if (w->said || !g->notice || w->used_ns < STILL_NS) return;
    if (w->used_ns < slow_ns(g) && !g->nlong && !tutti_peer_is_stopped(g, rank)) return;
    w->said = true;
    snprintf(words, sizeof words, "%s %s %s%s", g->peers[g->rank].describe, doing, g->peers[rank].describe,
             tutti_peer_condition(g, rank));
    g->notice(g->notice_arg, words);
}

/* --- a rank's condition in words --- */

const char *tutti_group_condition(const tutti_group *group, int rank)
{
    return tutti_peer_condition(group, rank);
}

void tutti_group_list_still(const tutti_group *g, tutti_strbuf *out)
{
    const size_t before = out->length;
    for (int r = 0; r < g->nranks; r++)
        if (is_awaited(g, r) && (g->peers[r].phase.on || tutti_peer_is_stopped(g, r)))
            tutti_strbuf_printf(out, "%s%s%s", out->length > before ? ", " : "", g->peers[r].describe,
                                tutti_peer_condition(g, r));
}
