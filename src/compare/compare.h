/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: runs of one job by several methods: the list of methods, the runs, their figures, the table and the page.
 * Threads: owner. */
#ifndef TUTTI_COMPARE_H
#define TUTTI_COMPARE_H

#include "../base/text/strbuf.h"
#include "../job/job_fields.h"
#include "../metrics/metrics.h"

enum { TUTTI_COMPARE_MAX_METHODS = 30, TUTTI_COMPARE_MAX_KEYS = 16, TUTTI_COMPARE_MAX_SETS = 64 };
enum { TUTTI_COMPARE_MAX_HANDICAPS = 2 * 2 * 64 }; /* words: two flags, each as often as a flag may stand there */

/* One of the list: a row, with keys of its own. */
typedef struct {
    const char *label;  /* "async-easgd:period=4", as it was given */
    const char *folder; /* the same as a part of a path: "async-easgd_period=4" */
    const tutti_method_row *row;
    const char *parallelism, *says;           /* of its plan: tutti_plan_parallelism, tutti_method_say */
    const char *keys[TUTTI_COMPARE_MAX_KEYS]; /* "method.period=4" */
    int nkeys;
    const char *warning; /* its paper has another rule than the job, in words; NULL: it has not */
    bool few_tests;      /* its job does not say how many: eval_points is set */
} tutti_compare_method;

typedef enum { TUTTI_UNTIL_END, TUTTI_UNTIL_ACCURACY, TUTTI_UNTIL_SECONDS } tutti_compare_goal;

typedef struct {
    const tutti_compare_method *method;
    int64_t seed, batch;
    const char *dir; /* its folder */
    const char *job; /* the resolved job as train writes it there */
    tutti_run_lines lines;
} tutti_compare_run;

typedef struct {
    const char *path, *dir; /* the job, the report's folder */
    const char *const *sets;
    int nsets;
    const char *ranks;            /* NULL: the job's */
    const char *const *handicaps; /* words that each run gets: "--slow", "1=3" */
    int nhandicaps;
    int64_t nranks;
    tutti_compare_goal goal;
    double goal_value; /* accuracy (0 .. 1), seconds */
    tutti_compare_method methods[TUTTI_COMPARE_MAX_METHODS];
    int nmethods, nseeds;
    tutti_compare_run *runs; /* of method m with seed number s: tutti_compare_at */
    tutti_arena arena;
} tutti_compare;

static inline tutti_compare_run *tutti_compare_at(const tutti_compare *c, int m, int s)
{
    return &c->runs[m * c->nseeds + s];
}

/* ---- compare_methods.c: what is compared ---- */

/* "async-easgd:period=4:optimiser.lr=0.1,sync-sgd". TUTTI_ERR_USAGE. */
tutti_status tutti_compare_read_methods(tutti_compare *c, const char *list, tutti_failure *err);
/* "accuracy=0.988", "seconds=60"; NULL: to the end. TUTTI_ERR_USAGE. */
tutti_status tutti_compare_read_goal(tutti_compare *c, const char *text, tutti_failure *err);
/* Makes c->runs. Loads the job of each, and plans it once a method: what a run would refuse is refused here. */
tutti_status tutti_compare_prepare(tutti_compare *c, tutti_failure *err);
/* The keys of a run as --set has them, of at most TUTTI_COMPARE_MAX_SETS; how many. The arena's. */
int tutti_compare_keys(tutti_compare *c, const tutti_compare_method *m, const char *seed,
                       const char *keys[TUTTI_COMPARE_MAX_SETS]);
void tutti_compare_release(tutti_compare *c);

/* ---- compare_run.c: the runs, each a child ---- */

/* Events of runs while they are played. */
typedef struct {
    enum {
        TUTTI_COMPARE_BEGINS,
        TUTTI_COMPARE_WAITS, /* twice a second */
        TUTTI_COMPARE_ENDED,
        TUTTI_COMPARE_WAS_DONE, /* before: it is not played again */
        TUTTI_COMPARE_ASKED,    /* a signal asked for an end: the run saves */
        TUTTI_COMPARE_OVER,     /* no run follows */
    } kind;
    const tutti_compare_run *run; /* NULL when all is over */
    int ndone, nplayed, nruns;    /* runs; nplayed: not those that were done before */
    int signal;                   /* that asked for an end, 0: none did */
    double began, run_began;      /* clock */
} tutti_compare_event;
typedef void (*tutti_compare_tell)(void *arg, const tutti_compare_event *e);

/* A folder may hold a run that was held up otherwise, which is no part of this comparison: TUTTI_ERR_USAGE. */
tutti_status tutti_compare_check_handicaps(const tutti_compare *c, tutti_failure *err);
/* All runs that have not been done, one after the other, seed by seed; fills in lines. tell gets arg. *signal: what
 * asked for an end, 0 = nothing did. */
tutti_status tutti_compare_play(tutti_compare *c, tutti_compare_tell tell, void *arg, int *signal, tutti_failure *err);

/* ---- compare_figures.c: what came out ---- */

typedef struct {
    bool is_there;     /* the goal was reached, there is a test; not of a run that diverged before its goal */
    const char *lacks; /* why it is not: "diverged", "not reached", "ended before", "no test" */
    double seconds;    /* at the test that counts */
    double samples;    /* then */
    double bytes;      /* then, that had travelled between ranks; NAN: the run does not say so */
    double accuracy;   /* then: the first test at the goal, the last within the seconds, the last */
    double last;       /* accuracy of the last test; NAN: none */
    double speed;      /* samples a second of all of the run */
} tutti_compare_figures;
tutti_compare_figures tutti_compare_figures_of(const tutti_compare *c, const tutti_compare_run *r);

/* "diverged at step 12", "diverged by 2 of 5"; *n: how many of the method's runs have; "" if none. */
void tutti_compare_diverged(const tutti_compare *c, int m, int *n, char words[48]);
/* Why the first run of method m without figures has none; NULL: all runs have figures. */
const char *tutti_compare_lacks(const tutti_compare *c, int m);

/* Of the seeds of a method. */
typedef struct {
    int n; /* that have it */
    double mean, least, most;
} tutti_compare_spread;
/* offset: of a double in tutti_compare_figures. needs_goal: only of runs whose goal is_there. */
tutti_compare_spread tutti_compare_spread_of(const tutti_compare *c, int m, size_t offset, bool needs_goal);

/* A row with elastic averaging beside its twin without. */
typedef struct {
    int a, b;       /* of c->methods */
    int wins, ties; /* seeds where a was better, where neither was */
    double p;       /* of the sign test, without ties */
    bool shown;     /* a was better with all seeds, of five at least */
} tutti_compare_pair;
/* How many, of at most `most`. */
int tutti_compare_pairs(const tutti_compare *c, tutti_compare_pair *out, int most);

/* ---- compare_csv.c, compare_report.c ---- */

void tutti_compare_csv(const tutti_compare *c, tutti_strbuf *out);
void tutti_compare_html(const tutti_compare *c, tutti_strbuf *out);

#endif
