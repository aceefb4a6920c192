/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: what to train, as a value, and the call that trains it.
 *
 * A job is read from YAML, --set and flags through one option table (src/job/job_table.c, docs/jobs.md) and printed
 * back in full. A run (src/job/run/run.c, docs/embedding.md) is one call, tutti_job_run, which `tutti train` makes too.
 *
 * Threads: a job is frozen after load, and any thread may read it; a run is a call of one thread, and the runs of a
 * process come one after the other. */
#ifndef TUTTI_JOB_H
#define TUTTI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_job tutti_job;

/* overrides: "key=value" texts. Status TUTTI_ERR_USAGE with file and line. */
tutti_status tutti_job_load(const char *path, const char *const *overrides, int noverrides, tutti_job **out,
                            tutti_failure *err);
tutti_status tutti_job_parse(const char *name, const char *text, size_t nbytes, const char *const *overrides,
                             int noverrides, tutti_job **out, tutti_failure *err);
void tutti_job_destroy(tutti_job *job);
/* The resolved job as YAML, every key; reading it gives the same job. The text is the caller's (free()). */
char *tutti_job_print(const tutti_job *job);

/* --- a run --- */

/* Asks a run to end. Zero-initialise; the caller's, until the run has returned. A new run wants a new one. */
typedef struct {
    int signal_number; /* 0: nobody has asked. Only tutti_run_stop writes it */
} tutti_stop_wish;
/* From any thread or a signal handler (async-signal-safe): the run of this process, and with it those of all its ranks,
 * ends when the step at hand is done, with a checkpoint where it keeps a folder. signal_number, 1 to 64, comes back as
 * tutti_run_result.stop_signal; another number counts as 15 (SIGTERM). The first wish counts. A wish before the first
 * step is met by the first step. */
void tutti_run_stop(tutti_stop_wish *wish, int signal_number);

/* The place of this process among the ranks of a run. */
typedef struct {
    int rank, nranks;
    int local_rank,
        local_nranks;    /* among those of this host; local_nranks 0: unknown, and a job with a partition is refused */
    const char *address; /* of the host of rank 0; NULL: 127.0.0.1 */
    int port;            /* rank 0 listens there */
    int listener;      /* rank 0: a socket that listens there already, which the run closes; 0 or less: it opens one */
    uint64_t cookie;   /* of the run: ranks that come to this port with another one are refused */
    uint32_t epoch;    /* of the group: counted up when ranks join again; 0: 1. Ranks with another one are refused */
    int ncores;        /* that the ranks of this host have together; 0: the union of their affinity masks */
    double deadline_s; /* of each wait for a peer; 0: the job's exchange.deadline_s */
} tutti_run_place;

/* How a rank is held up on purpose, so that one can see what a method makes of it. */
typedef struct {
    double slowness;    /* its computing takes longer by this factor; 0 or 1: it does not */
    double stall_s;     /* it stands still once for this time, ... */
    int64_t stall_step; /* ... after the first of its steps that is this one or a later one */
} tutti_run_handicap;

/* Zero-initialise: one rank, or what the environment says, that keeps nothing. Texts and arrays are the caller's, until
 * the run has returned. Where weights come from and what is traced are keys of the job (init.from, trace.steps). */
typedef struct {
    const char
        *dir;   /* results and checkpoints, seen by all ranks; the run makes it; NULL: nothing is kept or resumed */
    bool fresh; /* removes what dir holds of an earlier run; false: goes on from its newest whole checkpoint */
    const char *record,
        *replay; /* methods whose workers visit a centre: a file that takes down the order of visits; one to go by.
                  * NULL: none */
    const char *pretend; /* a layer trace: kernels only wait for its times, and nothing is learned or saved. NULL: they
                  * compute */
    const tutti_run_handicap *handicaps; /* one a rank of the run; NULL: none is held up */
    const tutti_run_place *place; /* NULL: what the environment says (docs/launching.md); nobody: one rank alone */
    bool ranks_as_threads;        /* all ranks of the job are threads of this process; place is not looked at */
    int report_signal; /* this signal to any rank makes every rank report where it is; all threads of the caller block
                        * it. 0: none */
    tutti_stop_wish *stop; /* asks for an orderly end; NULL: nobody can */
} tutti_run_options;

/* The kinds of events that a run tells. Rank 0 alone tells one, unless "every rank" stands there. */
typedef enum {
    TUTTI_RUN_FAILED, /* every rank that knows why; text, status. Before the others hear of it, as far as that can be */
    TUTTI_RUN_REPORT, /* every rank; text: whom it waits for, or where it is, when a wait lasts or report_signal came */
    TUTTI_RUN_STOPPABLE, /* every rank, once, when its first step is done: from now on there is something to save */
    TUTTI_RUN_DATA,      /* text: what was found in the data and left out, a line each; may be empty */
    TUTTI_RUN_PLAN,      /* text: lines that say what will be played, how, and who is bound where */
    TUTTI_RUN_PROVED,    /* text: how long the proof of the plan took, or that it was kept */
    TUTTI_RUN_INIT,      /* text: what weights from elsewhere it begins at */
    TUTTI_RUN_BEGIN,     /* step: where it goes on; text: how it computes, "bf16 (AMX)" */
    TUTTI_RUN_STEP, /* after each step: epoch, loss, lr; where is_logged the means of the interval are fresh, too */
    TUTTI_RUN_TEST, /* epoch, accuracy, loss of the test */
    TUTTI_RUN_CHECKPOINT, /* text: path of what was saved */
    TUTTI_RUN_NOTE,       /* text: something that a person should know (a torn checkpoint was passed over) */
    TUTTI_RUN_TRACED,     /* text: which steps, and where */
    TUTTI_RUN_VISITS,     /* at the end, where ranks took steps of their own; text: how stale what they saw was */
    TUTTI_RUN_COST,       /* at the end; text: a table of where the time went */
    TUTTI_RUN_END,        /* result; text: how the ranks were bound, empty where they were not */
} tutti_run_event_kind;

/* How a run has ended. */
typedef struct {
    int64_t step, nsteps; /* steps done, of all */
    double loss;          /* of the last step; NaN: none */
    double accuracy;      /* of the last test, 0 to 1; NaN: none */
    double seconds;       /* of training alone */
    uint64_t weights_hash;
    int stop_signal; /* what a rank was asked to end with; 0: the run went to its end */
    bool was_done;   /* nothing was left to do */
} tutti_run_result;

typedef struct {
    tutti_run_event_kind kind;
    int rank, nranks;     /* who tells; rank -1: this process, which is no rank (yet) */
    const char *text;     /* never NULL; until the callback returns */
    tutti_status status;  /* FAILED */
    bool is_borne;        /* FAILED: the others go on without this rank */
    int64_t step, nsteps; /* steps done, of all */
    double epoch;         /* passes over the training set done */
    double loss, accuracy, lr;
    bool is_logged;
    double images_per_s, step_ms, comm_ms; /* means of the interval; comm: exchanges that nothing hid */
    double loss_scale;
    int64_t nskipped;               /* steps, for want of finite gradients */
    const tutti_run_result *result; /* END, else NULL */
} tutti_run_event;

/* on_event is called in the thread of the rank that tells, which for ranks as threads are several at once. It returns
 * soon, because the ranks wait for it, and starts no run. */
typedef struct {
    void (*on_event)(void *arg, const tutti_run_event *event);
    void *arg;
} tutti_run_events;

/* Trains a job as one rank of its run, or as all of them: takes a seat in the partition, joins the others, opens the
 * data, builds and proves the plan, goes on from the newest checkpoint, trains, tests, saves, and releases all of that
 * but what a partition has bound the process to. Collective between the ranks of the run, which have loaded the same
 * job. May be called again, with the same job or another one. Prints nothing and takes no signal.
 *   job      borrowed; its `ranks` are the number of ranks that there are
 *   options  borrowed; NULL: all zero
 *   events   borrowed; NULL: nobody listens
 *   result   on success
 *   err      text empty: another rank knows why, and has said it. Every failure with a text is told as
 *            TUTTI_RUN_FAILED, too
 * TUTTI_ERR_USAGE: the job, its options and the number of ranks do not go together; TUTTI_ERR_DATA: samples or a
 * checkpoint; TUTTI_ERR_PEER: a rank was lost, or a deadline passed; TUTTI_ERR_RENDEZVOUS: the ranks did not find each
 * other or disagree. */
tutti_status tutti_job_run(const tutti_job *job, const tutti_run_options *options, const tutti_run_events *events,
                           tutti_run_result *result, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
