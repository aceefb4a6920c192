/* SPDX-License-Identifier: Apache-2.0 */
/* compare_run.c: plays the runs of a comparison: each is `tutti train` of this program as a child process, in a folder
 * of its own.
 *
 * Signals are blocked and waited for. A child has a process group of its own, so a Ctrl-C does not reach it directly:
 * this process passes it on once, as SIGTERM, at which the child saves its state (what a further signal means:
 * stop_request.h). The child ends when this process ends. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/file.h"
#include "../base/process.h"
#include "../base/stop_request.h"
#include "../job/job_choice.h"
#include "compare.h"

enum { MAX_LOG_BYTES = 1 << 28, MAX_JOB_BYTES = 1 << 24 };
static const char HANDICAPS[] = "handicaps.txt";
static const double LOOK_S = 0.5, GRACE_S = 300; /* LOOK_S: seconds between two looks at a child; GRACE_S: seconds until
                                                  * a child that was asked to end is killed */

typedef struct {
    tutti_compare *c;
    tutti_compare_tell tell;
    void *arg;
    tutti_process_watch watch;
    tutti_process child;
    tutti_stop_request request;
    tutti_compare_event e;
} player;

/* ---- earlier runs ---- */

static bool is_same_job(const tutti_compare_run *r)
{
    char *path = tutti_file_in(r->dir, "job.yaml"), *text = NULL;
    size_t nbytes;
    const bool same =
        !tutti_file_read(path, MAX_JOB_BYTES, TUTTI_ERR_DATA, &text, &nbytes, NULL) && tutti_job_was(r->job, text);
    free(text);
    free(path);
    return same;
}

/* Returns the text of the file that keeps --slow and --stall of the run, which its job does not have; "" if there is
 * none. The caller frees it. */
static char *read_handicaps(const tutti_compare_run *r)
{
    char *path = tutti_file_in(r->dir, HANDICAPS), *text = NULL;
    size_t nbytes;
    if (tutti_file_read(path, MAX_JOB_BYTES, TUTTI_ERR_DATA, &text, &nbytes, NULL)) text = strdup("");
    free(path);
    return text;
}

static char *handicaps_of(const tutti_compare *c)
{
    tutti_strbuf words = {0};
    tutti_strbuf_puts(&words, "");
    for (int i = 0; i < c->nhandicaps; i++) tutti_strbuf_printf(&words, "%s%s", i ? " " : "", c->handicaps[i]);
    return tutti_strbuf_detach(&words);
}

static tutti_status check_run(const tutti_compare_run *r, const char *wanted, tutti_failure *err)
{
    struct stat info;
    char *path = tutti_file_in(r->dir, "metrics.jsonl"), *kept = read_handicaps(r);
    tutti_status st = TUTTI_OK;
    if (!stat(path, &info) && strcmp(kept, wanted) != 0)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s holds a run with %s, not with %s: give another --out", r->dir,
                        *kept ? kept : "no --slow or --stall", *wanted ? wanted : "none");
    free(path);
    free(kept);
    return st;
}

tutti_status tutti_compare_check_handicaps(const tutti_compare *c, tutti_failure *err)
{
    char *wanted = handicaps_of(c);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < c->nmethods * c->nseeds && !st; i++) st = check_run(&c->runs[i], wanted, err);
    free(wanted);
    return st;
}

static tutti_status write_handicaps(const tutti_compare *c, const tutti_compare_run *r, tutti_failure *err)
{
    char *path = tutti_file_in(r->dir, HANDICAPS), *words = handicaps_of(c);
    tutti_status st = TUTTI_OK;
    if (*words)
        st = tutti_file_write_atomic(path, words, strlen(words), err);
    else
        unlink(path);
    free(path);
    free(words);
    return st;
}

/* Reads the results of an earlier run. Returns false if the run is not finished or cannot be read. */
static bool is_done(tutti_compare_run *r)
{
    char *path = tutti_file_in(r->dir, "metrics.jsonl");
    tutti_run_lines_release(&r->lines);
    const bool done =
        is_same_job(r) && !tutti_run_lines_read(path, &r->lines, NULL) && (r->lines.has_ended || r->lines.ended_so);
    free(path);
    return done;
}

static void tell(player *p, int kind)
{
    p->e.kind = kind;
    p->tell(p->arg, &p->e);
}

/* ---- playing one child ---- */

static void begin_watch(player *p)
{
    struct sigaction now;
    int heard[TUTTI_NSTOP_SIGNALS + 1], n = 0;
    for (int i = 0; i <= TUTTI_NSTOP_SIGNALS; i++) {
        const int number = i < TUTTI_NSTOP_SIGNALS ? tutti_stop_signals[i] : SIGINT;
        if (!sigaction(number, NULL, &now) && now.sa_handler != SIG_IGN) heard[n++] = number;
    }
    tutti_process_watch_begin(heard, n, &p->watch);
}

static tutti_status start(player *p, const tutti_compare_run *r, tutti_failure *err)
{
    const char *keys[TUTTI_COMPARE_MAX_SETS], *argv[2 * TUTTI_COMPARE_MAX_SETS + TUTTI_COMPARE_MAX_HANDICAPS + 8] = {
                                                  "tutti", "train", p->c->path, "--quiet", "--out", r->dir};
    char seed[24], *path = tutti_file_in(r->dir, "train.log");
    int log, n = 6;
    snprintf(seed, sizeof seed, "%lld", (long long)r->seed);
    const int nkeys = tutti_compare_keys(p->c, r->method, seed, keys);
    for (int i = 0; i < nkeys; i++) {
        argv[n++] = "--set";
        argv[n++] = keys[i];
    }
    for (int i = 0; i < p->c->nhandicaps; i++) argv[n++] = p->c->handicaps[i];
    tutti_status st = tutti_file_make_dir(r->dir, err);
    if (!st) st = write_handicaps(p->c, r, err);
    if (!st) st = tutti_file_open_to_write(path, O_CREAT | O_APPEND, &log, err);
    free(path);
    if (st) return st;
    const tutti_process_options options = {.argv = argv,
                                           .program = TUTTI_PROCESS_SELF,
                                           .in = TUTTI_STREAM_NOTHING,
                                           .out = log,
                                           .err = log,
                                           .own_group = true,
                                           .mask = &p->watch.before,
                                           .dies_with = SIGTERM};
    st = tutti_process_start(&options, &p->child, err);
    close(log);
    return st ? tutti_fail_at(err, "cannot start a run") : TUTTI_OK;
}

static void take_signal(player *p, int number)
{
    const tutti_stop_meaning meaning = tutti_stop_request_take(&p->request, number, tutti_clock_s());
    if (meaning == TUTTI_STOP_SAME) return;
    tutti_process_signal(&p->child, meaning == TUTTI_STOP_NOW ? SIGKILL : SIGTERM);
    if (meaning == TUTTI_STOP_NOW) return;
    p->e.signal = number;
    tell(p, TUTTI_COMPARE_ASKED);
}

static void wait_for_child(player *p)
{
    while (!tutti_process_wait(&p->child, 0)) {
        if (!p->e.signal) tell(p, TUTTI_COMPARE_WAITS);
        const int number = tutti_process_watch_next(&p->watch, LOOK_S);
        if (number) take_signal(p, number);
        if (p->e.signal && tutti_clock_s() - p->request.at > GRACE_S) tutti_process_signal(&p->child, SIGKILL);
    }
}

/* ---- the end of a child ---- */

/* Returns the last line of the log; "" if there is none. The caller frees it. */
static char *last_words(const tutti_compare_run *r)
{
    char *path = tutti_file_in(r->dir, "train.log"), *text = NULL;
    size_t nbytes = 0;
    if (tutti_file_read(path, MAX_LOG_BYTES, TUTTI_ERR_DATA, &text, &nbytes, NULL)) text = strdup("");
    free(path);
    while (nbytes && text[nbytes - 1] == '\n') text[--nbytes] = '\0';
    const char *line = strrchr(text, '\n');
    char *last = strdup(line ? line + 1 : text);
    free(text);
    return last;
}

static tutti_status fail(const player *p, const tutti_compare_run *r, tutti_failure *err)
{
    const tutti_status st = p->child.code ? tutti_process_status(&p->child) : TUTTI_ERR_FAILED;
    char how[TUTTI_PROCESS_WORDS], *last = last_words(r);
    tutti_process_words(&p->child, how);
    tutti_fail(err, st, "%s seed %lld %s%s%s%.600s (%s/train.log)", r->method->label, (long long)r->seed, how,
               p->child.code ? "" : ", but is not done", *last ? ": " : "", last, r->dir);
    free(last);
    return st;
}

static tutti_status play_run(player *p, tutti_compare_run *r, tutti_failure *err)
{
    const bool was_done = is_done(r);
    p->e.run = r;
    if (!was_done) {
        tell(p, TUTTI_COMPARE_BEGINS);
        p->e.run_began = tutti_clock_s();
        if (!p->e.nplayed) p->e.began = p->e.run_began;
        tutti_status st = start(p, r, err);
        if (st) return st;
        wait_for_child(p);
        if (p->e.signal) return TUTTI_OK;
        if (!is_done(r) || (p->child.code && !r->lines.ended_so)) return fail(p, r, err);
    }
    tell(p, was_done ? TUTTI_COMPARE_WAS_DONE : TUTTI_COMPARE_ENDED);
    p->e.ndone++;
    p->e.nplayed += !was_done;
    return TUTTI_OK;
}

tutti_status tutti_compare_play(tutti_compare *c, tutti_compare_tell tell_of, void *arg, int *signal,
                                tutti_failure *err)
{
    player p = {.c = c, .tell = tell_of, .arg = arg, .e = {.nruns = c->nmethods * c->nseeds}};
    tutti_status st = TUTTI_OK;
    begin_watch(&p);
    for (int i = 0; i < p.e.nruns && !st && !p.e.signal; i++) {
        p.e.signal = tutti_process_watch_next(&p.watch, 0); /* a signal that came between two runs */
        if (!p.e.signal) st = play_run(&p, tutti_compare_at(c, i % c->nmethods, i / c->nmethods), err);
    }
    /* After a request the signals stay blocked: a repetition must not change the exit code. */
    if (!p.e.signal) tutti_process_watch_end(&p.watch);
    *signal = p.e.signal = st ? 0 : p.e.signal;
    p.e.run = NULL;
    tell(&p, TUTTI_COMPARE_OVER);
    return st;
}
