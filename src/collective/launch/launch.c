/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c: starts ranks as child processes and watches them until the last one has ended; the first failure is the
 * exit code.
 *
 * The first failure in time is the cause; other ranks fail because of it. A lost peer shows as exit code 4, so a rank
 * with that code is blamed only if no other rank failed on its own. If rank 0 has told that it goes on without the
 * others (launch_borne.c), their failures are listed, but not blamed. */
#include "launch_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/host/memory.h"
#include "../../base/host/unique.h"
#include "../../base/text/strbuf.h"
#include "open_files.h"
#include "reach.h"

/* Signals that are forwarded to the ranks, and SIGIO, which a rank's link raises when a message comes. */
static const int watched[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGQUIT, SIGHUP, SIGIO};
enum { NWATCHED = sizeof watched / sizeof watched[0] };

/* --- before the ranks start --- */

tutti_status tutti_launch_listen(tutti_launcher *l, tutti_failure *err)
{
    l->listener = tutti_reach_listen(TUTTI_REACH_LOOPBACK, &l->port);
    if (l->listener >= 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "launch: cannot listen on 127.0.0.1: %s", strerror(errno));
}

static tutti_status open_pipe(tutti_launcher *l, tutti_failure *err)
{
    if (pipe2(l->from_zero, O_CLOEXEC | O_NONBLOCK) == 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "launch: no pipe: %s", strerror(errno));
}

static void close_pipe(const tutti_launcher *l)
{
    for (int i = 0; i < 2; i++)
        if (l->from_zero[i] >= 0) close(l->from_zero[i]);
}

/* Checks the limit of open files once, before ranks start: all ranks inherit the limit, so all would fail. */
static tutti_status allow_files(int nranks, tutti_failure *err)
{
    char who[64];
    snprintf(who, sizeof who, "launch: each of %d ranks on one host", nranks);
    return tutti_open_files_allow(TUTTI_FILES_OF_A_RANK + (TUTTI_FILES_A_PEER + 1) * nranks, who, err);
}

/* --- starting one rank --- */

enum { MAX_CHANGES = 16 };

typedef struct {
    char text[MAX_CHANGES][TUTTI_ADDRESS_HOST + 32];
    const char *list[MAX_CHANGES + 1]; /* ends with NULL */
    int n;
} changes;

__attribute__((format(printf, 2, 3))) static void add(changes *c, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(c->text[c->n], sizeof c->text[0], format, values);
    va_end(values);
    c->list[c->n] = c->text[c->n];
    c->n++;
}

static void add_environment(const tutti_launcher *l, int rank, int child, changes *c)
{
    add(c, "RANK=%d", l->base + rank);
    add(c, "LOCAL_RANK=%d", rank);
    add(c, "WORLD_SIZE=%d", l->world);
    add(c, "LOCAL_WORLD_SIZE=%d", l->nranks);
    add(c, "MASTER_PORT=%d", l->port);
    add(c, "MASTER_ADDR=%s", l->address);
    if (l->options->decide)
        add(c, "TUTTI_COOKIE=%llx", (unsigned long long)l->options->cookie);
    else
        add(c, "TUTTI_COOKIE=%s", l->cookie);
    if (!getenv("OMP_WAIT_POLICY"))
        add(c, "OMP_WAIT_POLICY=passive"); /* idle threads must not spin against other ranks */
    add(c, "TORCHELASTIC_USE_AGENT_STORE");
    /* ranks of different launchers count as ranks of different hosts */
    if (l->options->decide) add(c, "TUTTI_HOST_ID=%d.%s", (int)getpid(), l->cookie);
    if (child >= 0) {
        add(c, "TUTTI_LINK_FD=%d", child);
        add(c, "TUTTI_KEEP_FDS=%d,%d", l->epochs.samples, l->epochs.copies);
        add(c, "TUTTI_EPOCH=%u,%d,%lld", l->epochs.epoch, l->epochs.lost, (long long)l->epochs.lost_ns);
    } else {
        add(c, "TUTTI_LINK_FD");
        add(c, "TUTTI_KEEP_FDS");
        add(c, "TUTTI_EPOCH");
    }
    if (l->base + rank) {
        add(c, "TUTTI_MASTER_FD");
        add(c, "TUTTI_LAUNCHER_FD");
    } else {
        add(c, "TUTTI_MASTER_FD=%d", l->listener);
        add(c, "TUTTI_LAUNCHER_FD=%d", l->from_zero[1]);
    }
}

typedef struct {
    const tutti_launch_options *options;
    int rank;
} rank_in_the_making;

static int prepare(void *arg)
{
    const rank_in_the_making *r = arg;
    tutti_failure err = {0};
    if (!r->options->prepare || !r->options->prepare(r->options->prepare_arg, r->rank, &err)) return 0;
    fprintf(stderr, "tutti: cannot start rank %d: %s\n", r->rank, err.text);
    return (int)err.status;
}

/* Starts the rank's process. child: the rank's end of its link, -1 = none. */
static tutti_status start_process(tutti_launcher *l, int rank, int child, tutti_failure *err)
{
    int inherited[5], n = 0;
    if (child >= 0) inherited[n++] = child, inherited[n++] = l->epochs.samples, inherited[n++] = l->epochs.copies;
    if (l->base + rank == 0) inherited[n++] = l->listener, inherited[n++] = l->from_zero[1];
    rank_in_the_making r = {l->options, rank};
    changes c = {.n = 0};
    add_environment(l, rank, child, &c);
    const tutti_process_options options = {
        .argv = (const char *const *)l->argv,
        .program = l->options->program ? l->options->program : TUTTI_PROCESS_SELF,
        .environment = c.list,
        .inherited = inherited,
        .ninherited = n,
        .own_group = true,
        .group = l->nrunning ? l->group : 0,
        .mask = &l->watch.before,
        .dies_with = SIGKILL,
        .prepare = prepare,
        .prepare_arg = &r,
    };
    tutti_status st = tutti_process_start(&options, &l->ranks[rank], err);
    if (st) return tutti_fail_at(err, "launch: cannot start rank %d of %d", l->base + rank, l->world);
    if (!l->nrunning) l->group = l->ranks[rank].pid;
    l->nrunning++;
    return TUTTI_OK;
}

tutti_status tutti_launch_start_rank(tutti_launcher *l, int rank, tutti_failure *err)
{
    int child;
    tutti_status st = tutti_epochs_open_link(l, rank, &child, err);
    if (!st) st = start_process(l, rank, child, err);
    if (child >= 0) close(child);
    return st;
}

/* --- watching the ranks --- */

void tutti_launch_send_all(tutti_launcher *l, int signal)
{
    for (int r = 0; r < l->nranks; r++) tutti_process_signal(&l->ranks[r], signal);
}

void tutti_launch_kill_all(tutti_launcher *l)
{
    for (int r = 0; r < l->nranks; r++) l->ends[r].killed |= l->ranks[r].runs;
    tutti_launch_send_all(l, SIGKILL);
}

void tutti_launch_hear_zero(tutti_launcher *l)
{
    char word;
    while (read(l->from_zero[0], &word, 1) == 1) l->bears = true;
}

/* Returns true if the end of the rank does not fail the run: rank 0 has said that it goes on without the others, and
 * has not failed itself. Exit codes for wrong usage and wrong data fail the run all the same, because their cause has
 * ended all ranks. */
static bool is_borne(tutti_launcher *l, int rank)
{
    const int code = l->ranks[rank].code;
    tutti_launch_hear_zero(l);
    const bool zero_failed = l->base == 0 && l->ends[0].order;
    return l->bears && l->base + rank > 0 && !zero_failed && code != TUTTI_ERR_USAGE && code != TUTTI_ERR_DATA;
}

void tutti_launch_hurry(tutti_launcher *l)
{
    const double grace = l->options->grace_s > 0 ? l->options->grace_s : 5;
    if (l->kill_at == 0) l->kill_at = tutti_clock_s() + grace;
}

static void note_end(tutti_launcher *l, int rank)
{
    tutti_rank_end *e = &l->ends[rank];
    const bool failed = l->ranks[rank].code != 0;
    l->nrunning--;
    if (failed && !is_borne(l, rank) && tutti_epochs_bear(l, rank)) return;
    if (failed) e->borne = is_borne(l, rank), e->order = ++l->nfailed;
    const bool hurries = (failed && !e->borne) || (l->nfailed && !l->ranks[0].runs);
    if (hurries) tutti_launch_hurry(l);
}

static void handle_signal(tutti_launcher *l, int signal)
{
    if (signal == SIGIO) return; /* a rank's message has come: it was read already */
    if (signal == SIGINT && ++l->interrupts > 1) {
        tutti_launch_kill_all(l);
        return;
    }
    if (tutti_epochs_hold(l, signal)) return;
    l->sent |= 1U << signal;
    tutti_launch_send_all(l, signal);
}

static tutti_status watch(tutti_launcher *l, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    while (l->nrunning > 0 || tutti_told_goes_on(l)) {
        double left = l->kill_at > 0 ? l->kill_at - tutti_clock_s() : tutti_epochs_nap(l);
        if (left <= 0) {
            tutti_launch_kill_all(l);
            left = 1;
        }
        const int signal = tutti_process_watch_next(&l->watch, left);
        /* Ends of ranks and messages are handled before the signal: a signal after the loss of a rank must wait for the
         * next epoch. */
        for (int r; (r = tutti_process_wait_any(l->ranks, l->nranks, 0)) >= 0;) note_end(l, r);
        tutti_epochs_hear(l);
        if (signal) handle_signal(l, signal);
        if (st || tutti_epochs_advance(l, err)) continue;
        st = TUTTI_ERR_FAILED;
        tutti_epochs_give_up(l);
        tutti_launch_kill_all(l);
    }
    return st;
}

/* --- after the last rank has ended --- */

static bool is_own_failure(const tutti_launcher *l, int rank)
{
    return !l->ends[rank].killed && l->ranks[rank].code != TUTTI_ERR_PEER;
}

/* Returns the rank whose failure has caused the others, -1: none. */
static int find_cause(const tutti_launcher *l)
{
    int cause = -1;
    for (int pass = 0; pass < 2 && cause < 0; pass++)
        for (int r = 0; r < l->nranks; r++) {
            const tutti_rank_end *e = &l->ends[r];
            const bool counts = e->order && !e->borne && (pass || is_own_failure(l, r));
            if (counts && (cause < 0 || e->order < l->ends[cause].order)) cause = r;
        }
    return cause;
}

void tutti_launch_words(const tutti_launcher *l, int rank, char words[TUTTI_LAUNCH_WORDS])
{
    static const char why[] = "; memory had run out, and the kernel killed a process of this control group";
    const tutti_process *p = &l->ranks[rank];
    tutti_process_words(p, words);
    const size_t n = strlen(words);
    if (p->signal == SIGKILL && tutti_memory_kills("") > l->kills)
        snprintf(words + n, TUTTI_LAUNCH_WORDS - n, "%s", why);
}

static void describe_end(const tutti_launcher *l, int rank, tutti_strbuf *out)
{
    const tutti_process *p = &l->ranks[rank];
    char words[TUTTI_LAUNCH_WORDS];
    tutti_launch_words(l, rank, words);
    tutti_strbuf_printf(out, "rank %d (pid %d) %s", l->base + rank, (int)p->pid,
                        l->ends[rank].killed ? "was still running and has been killed" : words);
    if (!l->ends[rank].killed && p->code == (int)tutti_process_status(p))
        tutti_strbuf_printf(out, " (%s)", tutti_status_name((tutti_status)p->code));
    tutti_strbuf_puts(out, "\n");
}

/* Returns true if the rank ended as rank 0 did, by a signal that all ranks got. */
static bool was_asked(const tutti_launcher *l, const tutti_process *p)
{
    return p->code == l->ranks[0].code && (!p->signal || l->sent & 1U << p->signal);
}

static void describe_all(const tutti_launcher *l, tutti_launch_result *out)
{
    tutti_strbuf words = {0}, lost = {0};
    const int cause = find_cause(l);
    out->exit_code = cause < 0 ? 0 : l->ranks[cause].code;
    if (l->epochs.told_end) out->exit_code = l->epochs.told_code;
    if (l->interrupts > 1) out->exit_code = 128 + SIGINT;
    if (cause >= 0) describe_end(l, cause, &words);
    for (int order = 1; order <= l->nfailed; order++)
        for (int r = 0; r < l->nranks; r++) {
            if (l->ends[r].order != order || r == cause) continue;
            if (!l->ends[r].borne)
                describe_end(l, r, &words);
            else if (!was_asked(l, &l->ranks[r]))
                describe_end(l, r, &lost);
        }
    out->words = tutti_strbuf_detach(&words);
    out->lost = lost.length ? tutti_strbuf_detach(&lost) : NULL;
}

/* Starts all ranks and waits until none is left. */
static tutti_status run(tutti_launcher *l, tutti_failure *err)
{
    tutti_status st = tutti_epochs_begin(l, err);
    fflush(NULL); /* otherwise each rank would print what is buffered here */
    tutti_process_watch_begin(watched, NWATCHED, &l->watch);
    for (int r = 0; r < l->nranks && !st && !l->options->decide; r++) st = tutti_launch_start_rank(l, r, err);
    if (!l->epochs.link) close(l->listener), l->listener = -1;
    if (st) tutti_epochs_give_up(l), tutti_launch_kill_all(l);
    const tutti_status watched_st = watch(l, st ? NULL : err);
    /* Kills child processes that a failed rank left behind. For an empty process group kill does nothing. */
    if (l->nfailed && l->group) kill(-l->group, SIGKILL);
    (void)signal(SIGIO, SIG_IGN); /* drops a pending SIGIO, which would end this process */
    /* If a signal was forwarded, signals stay blocked: a second one must not change the exit code any more. */
    if (!l->sent) tutti_process_watch_end(&l->watch);
    tutti_epochs_end(l);
    if (l->listener >= 0) close(l->listener);
    return st ? st : watched_st;
}

tutti_status tutti_launch(const tutti_launch_options *options, char *const *argv, tutti_launch_result *out,
                          tutti_failure *err)
{
    tutti_launcher l = {.options = options,
                        .argv = argv,
                        .nranks = options->nranks,
                        .world = options->nranks,
                        .address = "127.0.0.1",
                        .kills = tutti_memory_kills(""),
                        .listener = -1,
                        .from_zero = {-1, -1}};
    if (options->nranks < 1) return tutti_fail(err, TUTTI_ERR_USAGE, "launch: %d ranks", options->nranks);
    tutti_status st = allow_files(options->nranks, err);
    if (!st) st = open_pipe(&l, err);
    if (!st && !options->decide) st = tutti_launch_listen(&l, err);
    if (st) {
        close_pipe(&l);
        return st;
    }
    l.ranks = tutti_alloc(sizeof *l.ranks * (size_t)l.nranks);
    l.ends = tutti_alloc(sizeof *l.ends * (size_t)l.nranks);
    snprintf(l.cookie, sizeof l.cookie, "%016" PRIx64 "%016" PRIx64, tutti_unique_number(), tutti_unique_number());
    st = run(&l, err);
    if (!st) describe_all(&l, out);
    close_pipe(&l);
    free(l.ranks), free(l.ends);
    return st;
}
