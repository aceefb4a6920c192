/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: runs of one job by several methods: the list of methods, the runs, their figures, the table and the page.
 * Threads: one at a time. */
#ifndef TUTTI_COMPARE_H
#define TUTTI_COMPARE_H

#include "../base/text/strbuf.h"
#include "../job/job_fields.h"
#include "../metrics/metrics.h"

enum { TUTTI_COMPARE_MAX_METHODS = 30, TUTTI_COMPARE_MAX_KEYS = 16, TUTTI_COMPARE_MAX_SETS = 64 };
enum {
    TUTTI_COMPARE_MAX_HANDICAPS = 2 * 2 * 64
}; /* most words of --slow and --stall together: each flag may be given 64 times and is two words */

/* A method of the list, with the keys that the list gives it. */
typedef struct {
    const char *label;  /* the method as the list gives it: "async-easgd:period=4" */
    const char *folder; /* the label as part of a path: "async-easgd_period=4" */
    const tutti_method_row *row;
    const char *parallelism, *says;           /* parallelism: text about the method's plan by tutti_plan_parallelism;
                                               * says: text by tutti_method_say */
    const char *keys[TUTTI_COMPARE_MAX_KEYS]; /* keys as --set takes them, such as "method.period=4" */
    int nkeys;
    const char *warning; /* in words: the method's paper uses another update rule than the job; NULL if it does not */
    bool few_tests;      /* the method's job does not give the number of tests, so eval_points is set */
} tutti_compare_method;

typedef enum { TUTTI_UNTIL_END, TUTTI_UNTIL_ACCURACY, TUTTI_UNTIL_SECONDS } tutti_compare_goal;

typedef struct {
    const tutti_compare_method *method;
    int64_t seed, batch;
    const char *dir; /* folder of the run */
    const char *job; /* path of the resolved job, which train writes into that folder */
    tutti_run_lines lines;
} tutti_compare_run;

typedef struct {
    const char *path, *dir; /* path: of the job file; dir: the report's folder */
    const char *const *sets;
    int nsets;
    const char *ranks;            /* number of ranks of each run, as text; NULL: the job's number */
    const char *const *handicaps; /* words of the flags that slow ranks down in each run, such as "--slow", "1=3" */
    int nhandicaps;
    int64_t nranks;
    tutti_compare_goal goal;
    double goal_value; /* the goal's value: an accuracy (0 .. 1), or seconds */
    tutti_compare_method methods[TUTTI_COMPARE_MAX_METHODS];
    int nmethods, nseeds;
    tutti_compare_run *runs; /* all runs; tutti_compare_at finds the run of method m with seed number s */
    tutti_arena arena;
} tutti_compare;

static inline tutti_compare_run *tutti_compare_at(const tutti_compare *c, int m, int s)
{
    return &c->runs[m * c->nseeds + s];
}

/* ---- compare_methods.c: the methods, the goal and the jobs that are compared ---- */

/* Reads a list of methods, "async-easgd:period=4:optimiser.lr=0.1,sync-sgd". TUTTI_ERR_USAGE if the list is wrong. */
tutti_status tutti_compare_read_methods(tutti_compare *c, const char *list, tutti_failure *err);
/* Reads a goal, "accuracy=0.988" or "seconds=60"; NULL means that runs go to their end. TUTTI_ERR_USAGE if it is
 * neither. */
tutti_status tutti_compare_read_goal(tutti_compare *c, const char *text, tutti_failure *err);
/* Makes c->runs. Loads the job of each run, and plans it once for each method: what a run would refuse is refused
 * here. */
tutti_status tutti_compare_prepare(tutti_compare *c, tutti_failure *err);
/* Writes the keys of a run as --set takes them, at most TUTTI_COMPARE_MAX_SETS, and returns their number. The arena
 * owns them. */
int tutti_compare_keys(tutti_compare *c, const tutti_compare_method *m, const char *seed,
                       const char *keys[TUTTI_COMPARE_MAX_SETS]);
void tutti_compare_release(tutti_compare *c);

/* ---- compare_run.c: the runs, each a child process ---- */

/* Events of runs while they are played. */
typedef struct {
    enum {
        TUTTI_COMPARE_BEGINS,
        TUTTI_COMPARE_WAITS, /* reported twice a second while a run is under way */
        TUTTI_COMPARE_ENDED,
        TUTTI_COMPARE_WAS_DONE, /* the run was done by an earlier call, so it is not played again */
        TUTTI_COMPARE_ASKED,    /* a signal asked for an end: the run saves its state and ends */
        TUTTI_COMPARE_OVER,     /* reported after the last run */
    } kind;
    const tutti_compare_run *run; /* the run of the event; NULL when all runs are over */
    int ndone, nplayed, nruns;    /* numbers of runs: done so far, played so far by this call, and in all */
    int signal;                   /* signal that asked for an end; 0 if none did */
    double began, run_began;      /* times (tutti_clock_s) at which the comparison began, and this run */
} tutti_compare_event;
typedef void (*tutti_compare_tell)(void *arg, const tutti_compare_event *e);

/* Checks the folders of earlier runs. TUTTI_ERR_USAGE if --slow or --stall were different in one of them, because that
 * was another comparison. */
tutti_status tutti_compare_check_handicaps(const tutti_compare *c, tutti_failure *err);
/* Plays all runs that are not done, one after the other, seed by seed, and reads their results. tell is called with arg
 * for each event. *signal becomes the signal that asked for an end, or 0; after
 * such a signal SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 stay blocked, because the process is about to end. */
tutti_status tutti_compare_play(tutti_compare *c, tutti_compare_tell tell, void *arg, int *signal, tutti_failure *err);

/* ---- compare_figures.c: results of the runs ---- */

typedef struct {
    bool is_there;     /* true if a test has shown that the goal was reached; false for a run that diverged before */
    const char *lacks; /* why there is no figure: "diverged", "not reached", "ended before", "no test" */
    double seconds;    /* seconds from the beginning to the test that counts */
    double samples;    /* samples until that test */
    double bytes;      /* bytes that had travelled between ranks until that test; NAN if the run does not record them */
    double accuracy;   /* accuracy at the test that counts: the first test at the goal, the last within the seconds, or
                        * the last */
    double last;       /* accuracy of the last test; NAN if there is none */
    double speed;      /* samples a second over the whole run */
} tutti_compare_figures;
tutti_compare_figures tutti_compare_figures_of(const tutti_compare *c, const tutti_compare_run *r);

/* Writes "diverged at step 12" or "diverged by 2 of 5"; "" if none diverged. *n becomes the number of the method's
 * diverged runs. */
void tutti_compare_diverged(const tutti_compare *c, int m, int *n, char words[48]);
/* Returns why a run of method m has no figures: the reason of the first such run; NULL if all runs have figures. */
const char *tutti_compare_lacks(const tutti_compare *c, int m);

/* The spread of a figure over the seeds of a method. */
typedef struct {
    int n; /* number of seeds that have the figure */
    double mean, least, most;
} tutti_compare_spread;
/* Returns the spread of one figure over the runs of method m. offset: that of the figure in tutti_compare_figures; the
 * figure must be a double. needs_goal: only runs that reached the goal count. */
tutti_compare_spread tutti_compare_spread_of(const tutti_compare *c, int m, size_t offset, bool needs_goal);

/* A method with elastic averaging, and the same method without it. */
typedef struct {
    int a, b;       /* two methods, as indices in c->methods: a has elastic averaging, b is the same without it */
    int wins, ties; /* wins: number of seeds with which a was better; ties: number of seeds with which neither was
                     * better */
    double p;       /* significance by the sign test, which leaves ties out */
    bool shown;     /* true if a was better with all of at least five seeds */
} tutti_compare_pair;
/* Writes at most `most` pairs and returns their number. */
int tutti_compare_pairs(const tutti_compare *c, tutti_compare_pair *out, int most);

/* ---- compare_csv.c, compare_report.c: files for people ---- */

void tutti_compare_csv(const tutti_compare *c, tutti_strbuf *out);
void tutti_compare_html(const tutti_compare *c, tutti_strbuf *out);

#endif
