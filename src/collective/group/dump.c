/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c: writes the report of a hang: what this rank waits for, which ranks have not arrived, and its last operations.
 *
 * A report is made on a signal (tutti_group_report_on), at the request of a peer, or because a deadline has passed. The
 * first rank asks the others, so that one signal to one rank gives the reports of all. The words go to the caller of
 * the library (tutti_group_on_silence), which may print them. Training continues meanwhile, because a report only
 * reads. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../../base/text/strbuf.h"
#include "flight.h"
#include "group_impl.h"

/* Requests for a report that come within this time (in nanoseconds) count as one: a signal to every rank also arrives
 * as a request from each other rank. */
static const int64_t ONCE_NS = 1000000000;

/* How far a near rank has come. begun: the number of control calls and shared exchanges that it has begun; own: the
 * number of the same calls and exchanges that this rank has begun. */
typedef struct {
    int64_t begun, own;
} headway;

/* Reads how far a rank has come. Returns false for a far rank, which only reports whether it waits. */
static bool look_at(const tutti_group *g, int rank, headway *out)
{
    const tutti_board *board = g->peers[rank].board;
    if (!board) return false;
    *out = (headway){(int64_t)atomic_load(&board->entered), (int64_t)g->calls};
    if (g->traffic) out->begun += g->traffic->count_begun(g, rank, &out->own);
    return true;
}

static void print_far(const tutti_group *g, tutti_strbuf *out)
{
    for (int r = 0; r < g->nranks; r++)
        if (r != g->rank && !g->peers[r].board)
            tutti_strbuf_printf(out, "  %s %s\n", g->peers[r].describe,
                                tutti_group_is_waiting(g, r) ? "waits too" : "has not said that it waits");
}

/* Prints the slowest rank. Ranks share only some exchanges, so ranks are compared by the exchanges that they share with
 * this rank. */
static void print_progress(const tutti_group *g, tutti_strbuf *out)
{
    int64_t least = INT64_MAX, most = INT64_MIN; /* least and most number of exchanges and calls that another rank has
                                                  * begun beyond those of this rank */
    int slowest = -1;
    headway all = {0}, h;
    (void)look_at(g, g->rank, &all);
    tutti_strbuf_puts(out, "  exchanges and calls begun:");
    for (int r = 0; r < g->nranks; r++) {
        if (!look_at(g, r, &h)) continue;
        tutti_strbuf_printf(out, "%s rank %d: %lld", slowest < 0 ? "" : ",", r, (long long)h.begun);
        if (h.own != all.own) tutti_strbuf_printf(out, " (this one, of these: %lld)", (long long)h.own);
        const int64_t ahead = h.begun - h.own;
        if (ahead < least) least = ahead, slowest = r;
        if (ahead > most) most = ahead;
    }
    /* if all ranks are equally far, a rank that was stopped during the current call counts as behind */
    for (int r = 0; r < g->nranks && most == least; r++)
        if (r != g->rank && tutti_peer_is_stopped(g, r)) slowest = r, most = INT64_MAX;
    if (most > least)
        tutti_strbuf_printf(out, "; slowest: %s%s\n", g->peers[slowest].describe,
                            slowest == g->rank ? " (this one)" : tutti_peer_condition(g, slowest));
    else
        tutti_strbuf_puts(out, "; nobody is behind\n");
    print_far(g, out);
}

static void print_doing(const tutti_group *g, tutti_strbuf *out)
{
    bool any = g->call_kind != NULL;
    if (g->call_kind) {
        tutti_strbuf_printf(out, "  in control call %llu, %s '%s'; not arrived: ", (unsigned long long)g->calls,
                            g->call_kind, g->call_what);
        tutti_group_list_absent(g, out);
        tutti_strbuf_puts(out, "\n");
    }
    if (g->traffic && g->traffic->describe(g, out)) any = true;
    if (!any) tutti_strbuf_puts(out, "  no exchange and no control call under way: it computes\n");
}

static void dump(tutti_group *g, const char *why)
{
    const int64_t now = tutti_clock_ns();
    if (!g->notice || (g->dumped_ns && now - g->dumped_ns < ONCE_NS)) return;
    g->dumped_ns = now;
    tutti_strbuf text = {0};
    tutti_strbuf_printf(&text, "report of %s (%s)\n", g->peers[g->rank].describe, why);
    tutti_group_lock(g); /* another thread may be running exchanges */
    print_doing(g, &text);
    print_progress(g, &text);
    tutti_group_unlock(g);
    tutti_strbuf_puts(&text, "  last operations, the latest first: seconds ago, what, of what, which\n");
    tutti_flight_print(g->flight, &text);
    text.text[text.length - 1] = '\0'; /* the program that prints the text ends the line */
    g->notice(g->notice_arg, text.text);
    tutti_strbuf_release(&text);
}

void tutti_group_dump_all(tutti_group *g, const char *why)
{
    tutti_mesh_message m = {.kind = TUTTI_MESH_DUMP, .epoch = g->epoch, .rank = g->rank};
    snprintf(m.words, sizeof m.words, "%s", why);
    tutti_group_tell(g, &m);
    dump(g, why);
}

void tutti_group_dump_asked(tutti_group *g, const char *why)
{
    dump(g, why);
}

tutti_status tutti_group_report_on(tutti_group *g, int signal, tutti_failure *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    g->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (g->signal_fd >= 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "cannot listen for signal %d: %s", signal, strerror(errno));
}

void tutti_group_take_signal(tutti_group *g)
{
    struct signalfd_siginfo info;
    char why[TUTTI_HOST_TEXT + 120];
    if (read(g->signal_fd, &info, sizeof info) != sizeof info) return; /* another thread has read the signal */
    snprintf(why, sizeof why, "SIG%s to %s", sigabbrev_np((int)info.ssi_signo), g->peers[g->rank].describe);
    tutti_group_dump_all(g, why);
}
