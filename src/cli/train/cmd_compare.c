/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_compare.c: `tutti compare JOB.yaml --methods a,b,..`: trains one job by several methods and seeds, and puts the
 * runs side by side in a table and a page. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/file.h"
#include "../../compare/compare.h"
#include "../cli.h"
#include "../progress.h"
#include "train_cmd.h"

static const tutti_flag flags[] = {
    {"methods", "A,B,..", "rows of `tutti methods`; A:KEY=VALUE:.. with keys of its own", 0},
    {"until", "WHAT=VALUE", "accuracy=A: when it is reached; seconds=S: what is reached by then (default: the end)", 0},
    {"seeds", "K", "runs a method: the job's seed and those that follow (default 1)", 0},
    {"ranks", "N", "processes (default: the job's)", 0},
    {"set", "KEY=VALUE", "override a key of the job, for all methods", TUTTI_FLAG_MANY},
    {"slow", "RANK=FACTOR", "that rank's computing takes FACTOR times as long, on purpose, in all runs",
     TUTTI_FLAG_MANY},
    {"stall", "RANK=SECONDS@STEP", "that rank stands still for SECONDS, once a run, at that step", TUTTI_FLAG_MANY},
    {"out", "DIR", "results (default: runs/<name of the job file>-compare)", TUTTI_FLAG_WRITES | TUTTI_FLAG_FOLDER},
};
enum { NFLAGS = sizeof flags / sizeof *flags, FLAG_SET = 4, FLAG_SLOW, FLAG_STALL, MAX_SEEDS = 1000 };

static const char about[] =
    "Trains a job by several methods, each with K seeds, one run after the other, as `tutti train` in\n"
    "DIR/<method>-<seed>/, with what it says in train.log there. Then DIR/compare.html holds them side by side, and\n"
    "DIR/compare.csv has a row for each test. A method may have keys of its own: async-easgd:period=4:rho=3 is\n"
    "method.period and method.rho; a key with a dot is any of a job: sync-sgd:optimiser.lr=0.1. All jobs are checked\n"
    "before the first run. Runs are not cut short by --until: the job says how long they are. What has been done is\n"
    "not done again: a comparison that was stopped goes on when the command is given again. A run is tested five "
    "times\n"
    "at least, evenly, unless eval_points says otherwise. SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP: the run at hand "
    "saves and ends. "
    "docs/methods.md says how the report is to be read.";

static tutti_status check_places(const tutti_flags *f, const tutti_compare *c, tutti_failure *err)
{
    struct stat info;
    tutti_status st = tutti_cli_check_flags(f, err);
    if (!st) st = tutti_cli_check_out_folder(c->dir, err);
    if (!st && stat(c->path, &info) == 0 && !S_ISREG(info.st_mode))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: is a pipe, which one run alone can read: put the job into a file",
                        c->path);
    return st;
}

/* Turns --slow and --stall into words of the command line of each run. */
static tutti_status take_handicaps(const tutti_flags *f, tutti_compare *c, tutti_failure *err)
{
    const char **words = TUTTI_ARENA_NEW(&c->arena, const char *, 2 * (f->count[FLAG_SLOW] + f->count[FLAG_STALL]) + 1);
    c->handicaps = words;
    for (int flag = FLAG_SLOW; flag <= FLAG_STALL; flag++)
        for (int i = 0; i < f->count[flag]; i++) {
            words[c->nhandicaps++] = flag == FLAG_SLOW ? "--slow" : "--stall";
            words[c->nhandicaps++] = f->value[flag][i];
        }
    const tutti_status st = tutti_cli_handicaps(f, (int)c->nranks, NULL, err);
    return st ? st : tutti_compare_check_handicaps(c, err);
}

static tutti_status write_file(const tutti_compare *c, const char *name,
                               void (*make)(const tutti_compare *c, tutti_strbuf *out), tutti_failure *err)
{
    char *path = tutti_file_in(c->dir, name);
    tutti_strbuf text = {0};
    make(c, &text);
    const tutti_status st = tutti_file_write_atomic(path, text.text, text.length, err);
    if (!st) printf("%s\n", path);
    free(path);
    tutti_strbuf_release(&text);
    return st;
}

static void print_line(const tutti_compare *c, int m, int width)
{
    const tutti_compare_spread seconds = tutti_compare_spread_of(c, m, offsetof(tutti_compare_figures, seconds), true);
    const tutti_compare_spread accuracy =
        tutti_compare_spread_of(c, m, offsetof(tutti_compare_figures, accuracy), true);
    const tutti_compare_spread last = tutti_compare_spread_of(c, m, offsetof(tutti_compare_figures, last), false);
    const tutti_compare_spread bytes = tutti_compare_spread_of(c, m, offsetof(tutti_compare_figures, bytes), true);
    const tutti_compare_spread speed = tutti_compare_spread_of(c, m, offsetof(tutti_compare_figures, speed), false);
    char when[32], share[32], end[32], sent[32], rate[32];
    snprintf(when, sizeof when, "%.2f", seconds.mean);
    snprintf(share, sizeof share, "%.2f", 100 * accuracy.mean);
    snprintf(end, sizeof end, "%.2f", 100 * last.mean);
    snprintf(sent, sizeof sent, bytes.mean < 1e8 ? "%.2f" : "%.0f", 1e-6 * bytes.mean);
    snprintf(rate, sizeof rate, "%.0f", speed.mean);
    printf("%-*s %10s %10s %10s %10s %12s", width, c->methods[m].label, seconds.n == c->nseeds ? when : "-",
           bytes.n == c->nseeds ? sent : "-", accuracy.n == c->nseeds ? share : "-", last.n ? end : "-",
           speed.n ? rate : "-");
    int ndiverged;
    char diverged[48];
    tutti_compare_diverged(c, m, &ndiverged, diverged);
    if (ndiverged)
        printf("  %s", diverged);
    else if (seconds.n < c->nseeds)
        printf("  %s by %d of %d", tutti_compare_lacks(c, m), c->nseeds - seconds.n, c->nseeds);
    printf("\n");
}

static void print_summary(const tutti_compare *c)
{
    int width = 12;
    for (int m = 0; m < c->nmethods; m++)
        if ((int)strlen(c->methods[m].label) > width) width = (int)strlen(c->methods[m].label);
    printf("\nmeans of %d seed%s\n%-*s %10s %10s %10s %10s %12s\n", c->nseeds, c->nseeds > 1 ? "s" : "", width,
           "method", "seconds", "MB sent", "accuracy %", "at the end", "samples/s");
    for (int m = 0; m < c->nmethods; m++) print_line(c, m, width);
}

/* ---- progress of runs ---- */

static void clear_line(bool tty)
{
    if (tty) printf("\r\x1b[K");
}

static void draw(const tutti_compare_event *e)
{
    char bar[TUTTI_PROGRESS_BAR + 3], since[24], left[24] = "?";
    const double run_s = tutti_clock_s() - e->run_began;
    tutti_progress_bar(e->ndone, e->nruns, bar);
    tutti_progress_time(run_s, since);
    if (e->nplayed)
        tutti_progress_time(fmax(0, (e->run_began - e->began) / e->nplayed * (e->nruns - e->ndone) - run_s), left);
    printf("\r%s run %d of %d: %.24s, seed %lld, %s  %s left \x1b[K", bar, e->ndone + 1, e->nruns,
           e->run->method->label, (long long)e->run->seed, since, left);
}

static void say_end(const tutti_compare_run *r, const char *how)
{
    printf("%s seed %lld: ", r->method->label, (long long)r->seed);
    if (r->lines.has_diverged)
        printf("diverged at step %lld%s\n", (long long)r->lines.diverged_step, how);
    else if (r->lines.ntests)
        printf("accuracy %.4f after %.2f s%s\n", r->lines.tests[r->lines.ntests - 1].accuracy,
               r->lines.tests[r->lines.ntests - 1].seconds, how);
    else
        printf("no test in it%s\n", how);
}

static void tell(void *arg, const tutti_compare_event *e)
{
    const bool tty = *(const bool *)arg;
    if (e->kind >= TUTTI_COMPARE_ENDED) clear_line(tty);
    if (e->kind == TUTTI_COMPARE_BEGINS && !tty)
        printf("run %d of %d: %s, seed %lld\n", e->ndone + 1, e->nruns, e->run->method->label, (long long)e->run->seed);
    if (e->kind == TUTTI_COMPARE_WAITS && tty) draw(e);
    if (e->kind == TUTTI_COMPARE_ENDED) say_end(e->run, "");
    if (e->kind == TUTTI_COMPARE_WAS_DONE) say_end(e->run, ", done before");
    if (e->kind == TUTTI_COMPARE_ASKED)
        fprintf(stderr, "tutti compare: signal %d: ends when the run has saved; Ctrl-C ends it at once\n", e->signal);
    if (e->kind == TUTTI_COMPARE_OVER && e->signal)
        printf("stopped by signal %d with %d of %d runs done; the same command goes on from there\n", e->signal,
               e->ndone, e->nruns);
    fflush(stdout);
}

/* *signal: the signal that ended the comparison before the report; 0 = none. */
static tutti_status compare(const tutti_flags *f, tutti_compare *c, int *signal, tutti_failure *err)
{
    long nseeds = 1;
    bool tty = isatty(STDOUT_FILENO);
    tutti_status st = tutti_compare_read_goal(c, tutti_cli_value(f, "until", NULL), err);
    if (!st) st = tutti_cli_int(f, "seeds", (tutti_cli_range){1, MAX_SEEDS}, 1, &nseeds, err);
    c->nseeds = (int)nseeds;
    if (!st) st = check_places(f, c, err);
    if (!st) st = tutti_compare_read_methods(c, tutti_cli_value(f, "methods", NULL), err);
    if (!st) st = tutti_compare_prepare(c, err);
    for (int m = 0; m < c->nmethods; m++)
        if (c->methods[m].warning)
            fprintf(stderr, "tutti compare: %s: %s\n", c->methods[m].label, c->methods[m].warning);
    if (!st) st = take_handicaps(f, c, err);
    if (!st) st = tutti_compare_play(c, tell, &tty, signal, err);
    if (st || *signal) return st;
    print_summary(c);
    st = write_file(c, "compare.csv", tutti_compare_csv, err);
    return st ? st : write_file(c, "compare.html", tutti_compare_html, err);
}

static int run_command(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    int signal = 0;
    tutti_status st = tutti_cli_parse(argc, argv, flags, NFLAGS, &f, &err);
    if (!st && f.help) {
        tutti_cli_help(stdout, "tutti compare JOB.yaml --methods A,B,.. [options]", about, flags, NFLAGS);
        return TUTTI_OK;
    }
    if (!st && f.nrest != 1)
        st = tutti_fail(&err, TUTTI_ERR_USAGE,
                        "one job file is wanted: tutti compare JOB.yaml --methods A,B,.. [options]");
    if (st) return tutti_cli_fail("compare", &err);
    char *dir = tutti_cli_run_folder(f.rest[0], "-compare");
    tutti_compare c = {.path = f.rest[0],
                       .dir = tutti_cli_value(&f, "out", dir),
                       .sets = f.value[FLAG_SET],
                       .nsets = f.count[FLAG_SET],
                       .ranks = tutti_cli_value(&f, "ranks", NULL)};
    st = compare(&f, &c, &signal, &err);
    tutti_compare_release(&c);
    free(dir);
    if (st) return tutti_cli_fail("compare", &err);
    return signal ? 128 + signal : TUTTI_OK;
}

const tutti_command tutti_command_compare = {"compare", "train a job by several methods and hold them side by side",
                                             run_command};
