/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: jobs as values, and the call that trains one.
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

/* Reads a job. `overrides` are texts "key=value". TUTTI_ERR_USAGE: the words name file and line. */
tutti_status tutti_job_load(const char *path, const char *const *overrides, int noverrides, tutti_job **out,
                            tutti_failure *err);
tutti_status tutti_job_parse(const char *name, const char *text, size_t nbytes, const char *const *overrides,
                             int noverrides, tutti_job **out, tutti_failure *err);
void tutti_job_destroy(tutti_job *job);
/* Prints every key of the resolved job as YAML; reading the text gives the same job. The text is the caller's
 * (free()). */
char *tutti_job_print(const tutti_job *job);

/* --- a run of a job --- */

/* A request that a run should end. Zero-initialise it; it is the caller's until the run has returned. Each run needs a
 * new one. */
typedef struct {
    int signal_number; /* the signal that asked for a stop; 0: none has yet; only tutti_run_stop writes it */
} tutti_stop_wish;
/* Asks the run of this process, and with it the runs of all its ranks, to end after the current step. The run writes a
 * checkpoint where it keeps a folder. Any thread or signal handler may call it (async-signal-safe). signal_number, 1 to
 * 64, comes back as tutti_run_result.stop_signal; another number counts as 15 (SIGTERM). The first request counts. A
 * request before the first step takes effect at the first step. */
void tutti_run_stop(tutti_stop_wish *wish, int signal_number);

/* The place of this process among the ranks of a run. */
typedef struct {
    int rank, nranks;
    int local_rank,
        local_nranks;    /* rank and number of ranks on this host; local_nranks 0: unknown, and a job with a partition
                          * is refused */
    const char *address; /* address of rank 0's host; NULL: 127.0.0.1 */
    int port;            /* port on which rank 0 listens */
    int listener;        /* rank 0: a socket that listens on that port already, which the run closes; 0 or less: the run
                          * opens one */
    uint64_t cookie;     /* number of the run: a rank that comes to this port with another number is refused */
    uint32_t epoch;      /* epoch of the group: it grows when ranks join again; 0 means 1. A rank with another epoch is
                          * refused */
    int ncores;          /* cores of all ranks of this host together; 0: the union of their affinity masks */
    double deadline_s;   /* seconds that each wait for a peer may take; 0: the job's exchange.deadline_s */
    int lost;            /* in a later epoch than the first: the rank whose loss ended the epoch before; -1: unknown */
    int64_t lost_ns;     /* in a later epoch: when rank `lost` was lost, in nanoseconds of CLOCK_MONOTONIC; 0:
                          * unknown */
} tutti_run_place;

/* How a run continues after ranks were lost. The program that starts the ranks starts new ones, and all of them form
 * the next epoch of the group. Without this, the first loss ends the run. */
typedef struct {
    /* Called in the rank's thread when the current epoch is over because a rank was lost. culprit: that rank, -1:
     * unknown. Waits until the next epoch gathers, then fills port, listener, epoch, lost and lost_ns of *place.
     * Another status than TUTTI_OK ends the run. */
    tutti_status (*next)(void *arg, int culprit, tutti_run_place *place, tutti_failure *err);
    /* Called several times a second while ranks join: true if the epoch will not form. NULL: ranks wait until the
     * deadline. */
    bool (*is_broken)(void *arg);
    void *arg;
    /* Descriptors of two memory files (memfd_create) that outlive this process and are the same for all ranks, which
     * are of one host. samples: keeps the data sets; copies: keeps copies of the run's state. 0 or less: none. */
    int samples, copies;
} tutti_run_epochs;

/* Time that a rank loses on purpose, to show how a method copes with it. */
typedef struct {
    double slowness;    /* the rank's computing takes longer by this factor; 0 or 1: not longer */
    double stall_s;     /* the rank pauses once, for this number of seconds, at the step that stall_step names */
    int64_t stall_step; /* the pause comes after the rank's first step whose number is at least this */
} tutti_run_handicap;

/* With all options zero the call runs the rank that the environment names, or one rank alone, and writes no files.
 * Texts and arrays are the caller's until the run has returned. Keys of the job say where weights come from and what is
 * traced (init.from, trace.steps). */
typedef struct {
    const char *dir; /* folder of results and checkpoints, seen by all ranks; the run makes it; NULL: nothing is kept or
                      * resumed */
    bool fresh;      /* true removes the files of an earlier run in `dir`; false continues from the newest whole
                      * checkpoint */
    const char *record,
        *replay; /* For methods whose workers visit a centre. `record` names a file that receives the order of visits;
                  * `replay` names a file whose order is followed. NULL: none. */
    const char *pretend; /* file of a layer trace: kernels do not compute but wait for the times in it, and the run
                          * learns and saves nothing. NULL: kernels compute */
    const tutti_run_handicap *handicaps; /* array with an entry for each rank of the run; NULL: no rank loses time */
    const tutti_run_place *place;   /* this rank's place; NULL: the environment has it (docs/launching.md), or this is
                                     * one rank alone */
    const tutti_run_epochs *epochs; /* how the run continues when a rank is lost; NULL: the run ends then */
    bool ranks_as_threads;          /* true: all ranks of the job are threads of this process, and `place` is ignored */
    int report_signal;     /* a signal: when any rank gets it, every rank reports what it waits for; the caller blocks
                            * the signal in all threads. 0: none */
    tutti_stop_wish *stop; /* asks for an orderly end; NULL: no such request is possible */
} tutti_run_options;

/* The kinds of events that a run reports. Only rank 0 reports an event, unless its comment says "every rank". */
typedef enum {
    TUTTI_RUN_FAILED, /* from every rank that knows why the run failed, where possible before the other ranks hear of
                       * it; sets text and status */
    TUTTI_RUN_REPORT, /* from every rank whose wait lasts long, or after report_signal; text: for which rank it waits,
                       * or what it does now */
    TUTTI_RUN_JOINED, /* from every rank, once in each epoch of the group, when it has joined the others */
    TUTTI_RUN_STOPPABLE,  /* from every rank, once in each epoch, when its first step is done: from then on a stop has
                           * something to save */
    TUTTI_RUN_DATA,       /* text: facts found in the data, and samples left out, one line for each; may be empty */
    TUTTI_RUN_PLAN,       /* text: lines that say what will be exchanged, how, and which rank is bound where */
    TUTTI_RUN_PROVED,     /* text: how long the proof of the plan took, or that an earlier proof was kept */
    TUTTI_RUN_INIT,       /* text: the saved weights that the run begins from */
    TUTTI_RUN_BEGIN,      /* step: the step from which the run continues; text: the arithmetic of its kernels, such as
                           * "bf16 (AMX)" */
    TUTTI_RUN_COPIES,     /* if lost ranks are replaced; text: how long copying the state takes, and what the loss of a
                           * rank costs */
    TUTTI_RUN_RESTARTED,  /* after the first step of a later epoch; text: the step from which the run continues, where
                           * its state came from, and how long the restart took */
    TUTTI_RUN_STEP,       /* after each step: epoch, loss, lr; if is_logged, also new means of speed and times */
    TUTTI_RUN_TEST,       /* sets epoch, and accuracy and loss of the test */
    TUTTI_RUN_CHECKPOINT, /* text: path of the checkpoint */
    TUTTI_RUN_NOTE,       /* text: something that a person should know, such as a torn checkpoint that was passed
                           * over */
    TUTTI_RUN_TRACED,     /* text: which steps were traced, and the name of the trace file */
    TUTTI_RUN_VISITS,     /* at the end, where workers took steps of their own; text: how stale the weights were that
                           * they read */
    TUTTI_RUN_COST,       /* at the end; text: a table of where the time went */
    TUTTI_RUN_END,        /* at the end: `result` is set; text: how the ranks were bound to cores, empty if they were
                           * not */
} tutti_run_event_kind;

/* The end of a run. */
typedef struct {
    int64_t step, nsteps; /* step: number of steps done; nsteps: number of steps of the whole job */
    double loss;          /* loss of the last step; NaN: no step was done */
    double accuracy;      /* accuracy in the last test, 0 to 1; NaN: no test was done */
    double seconds;       /* time of training alone */
    uint64_t weights_hash;
    int stop_signal; /* the signal that asked a rank to end; 0: the run did all its steps */
    bool was_done;   /* true if the job had no steps left to do */
} tutti_run_result;

typedef struct {
    tutti_run_event_kind kind;
    int rank, nranks;        /* rank: the rank that reports the event; -1: this process is not a rank yet. nranks: ranks
                              * of the run */
    uint32_t epoch_of_group; /* epoch of the group: 1 at first, and one more after each loss of ranks */
    const char *text;        /* never NULL; valid until the callback returns */
    tutti_status status;     /* for TUTTI_RUN_FAILED: why the run failed */
    bool is_borne;           /* for TUTTI_RUN_FAILED: true if the other ranks continue without this rank */
    int64_t step, nsteps;    /* step: number of steps done; nsteps: number of steps of the whole job */
    double epoch;            /* number of finished passes over the training set */
    double loss, accuracy, lr;
    bool is_logged;
    double images_per_s, step_ms, comm_ms; /* means over the steps since the last logged step; comm_ms: time of
                                            * exchanges that no compute hid */
    double loss_scale;
    int64_t nskipped;               /* steps that were skipped because a gradient was not finite */
    const tutti_run_result *result; /* for TUTTI_RUN_END: the result of the run; else NULL */
} tutti_run_event;

/* on_event is called in the thread of the rank that reports the event. With ranks as threads several calls may run at
 * once. The callback must return soon, because the ranks wait for it, and must not start a run. */
typedef struct {
    void (*on_event)(void *arg, const tutti_run_event *event);
    void *arg;
} tutti_run_events;

/* Trains a job as one rank of its run, or as all of them. The call takes a seat in the partition, joins the other
 * ranks, opens the data, builds and proves the plan, goes on from the newest checkpoint, trains, tests and saves. It
 * then releases everything but the process's binding to cores and memory. Collective between the ranks of the run,
 * which have loaded the same job. May be called again, with the same job or another one. Prints nothing and handles no
 * signal.
 *   job      borrowed; its `ranks` is the number of ranks of the run
 *   options  borrowed; NULL: all zero
 *   events   borrowed; NULL: no events are reported
 *   result   written on success
 *   err      an empty text means that another rank knows the cause and has reported it. Every failure with a text is
 *            also reported as TUTTI_RUN_FAILED
 * TUTTI_ERR_USAGE: the job, its options and the number of ranks do not fit together; TUTTI_ERR_DATA: samples or a
 * checkpoint; TUTTI_ERR_PEER: a rank was lost, or a deadline passed; TUTTI_ERR_RENDEZVOUS: the ranks did not find each
 * other or disagree. */
tutti_status tutti_job_run(const tutti_job *job, const tutti_run_options *options, const tutti_run_events *events,
                           tutti_run_result *result, tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
