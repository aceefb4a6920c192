/* SPDX-License-Identifier: Apache-2.0 */
/* launch_impl.h: shared by the files of the launcher: launch.c (starts ranks and says how they ended), launch_epochs.c
 * (replaces ranks that were lost) and launch_told.c (follows orders, where several hosts decide together). Threads:
 * owner. */
#ifndef TUTTI_LAUNCH_IMPL_H
#define TUTTI_LAUNCH_IMPL_H

#include <stdint.h>

#include "../../base/process.h"
#include "address.h"
#include "launch.h"
#include "link.h"

typedef struct {
    int order;   /* 1 = this rank failed first; 0 = it did not fail */
    bool borne;  /* true if the rank failed and the other ranks went on without it */
    bool killed; /* true if the launcher killed the rank */
} tutti_rank_end;

/* How far a rank has come in the current epoch. */
typedef enum { TUTTI_RANK_JOINS, TUTTI_RANK_JOINED, TUTTI_RANK_PLAYS, TUTTI_RANK_OVER } tutti_rank_phase;

/* The epochs of a run whose lost ranks are replaced. Without replacements all fields are 0. */
typedef struct {
    int left;                /* number of replacements that may still be made; 0 = none */
    uint32_t epoch;          /* number of the current epoch */
    tutti_rank_phase *phase; /* phase of each rank */
    int *link;               /* the launcher's end of each rank's link; -1 = none */
    int samples, copies;     /* descriptors of memory files that all ranks inherit */
    bool broken;             /* true once a rank was lost: then the epoch ends */
    bool given_up;           /* true if no further epoch follows */
    int lost;                /* the rank that was lost, -1 = not known yet */
    int64_t lost_ns;         /* when that rank was lost (tutti_clock_ns) */
    double blamed_at;        /* when a running rank was first blamed; 0 = none is */
    int held;                /* a signal that ranks get when all have done a step of the epoch; 0 = none */
    /* the fields below are used only if options->decide is set: */
    bool saving;    /* true once ranks were asked to save and end */
    int busy;       /* see tutti_launch_facts */
    bool finishing; /* true once rank 0 has finished the run */
    int own_code;   /* exit code of the first rank that has failed by itself; 0 = none has */
    bool told_end;  /* true once the order END has come */
    int told_code;  /* exit code of the order END */
} tutti_launch_epochs;

typedef struct {
    const tutti_launch_options *options;
    char *const *argv;
    tutti_process *ranks;
    pid_t group; /* the process group of all ranks */
    tutti_rank_end *ends;
    int nranks, nrunning, nfailed;    /* numbers of ranks of this host: all, running, failed */
    int base, world;                  /* number in the group of this host's first rank; ranks of the group */
    char address[TUTTI_ADDRESS_HOST]; /* address on which rank 0 listens */
    int listener, port;
    int from_zero[2]; /* pipe through which rank 0 says that it goes on without the others */
    bool bears;
    char cookie[33];
    tutti_process_watch watch;
    int interrupts;
    unsigned sent;  /* one bit for each signal that was passed on to the ranks */
    double kill_at; /* time at which running ranks are killed; 0 = none is set */
    int64_t kills;  /* what tutti_memory_kills returned before the first rank was started */
    tutti_launch_epochs epochs;
} tutti_launcher;

tutti_status tutti_launch_listen(tutti_launcher *l, tutti_failure *err);
tutti_status tutti_launch_start_rank(tutti_launcher *l, int rank, tutti_failure *err);
void tutti_launch_send_all(tutti_launcher *l, int signal);
/* Kills the running ranks; their ends then count as no failures of their own. */
void tutti_launch_kill_all(tutti_launcher *l);
/* Gives running ranks options->grace_s to end by themselves; a grace that runs already stays. */
void tutti_launch_hurry(tutti_launcher *l);
/* Sets l->bears if rank 0 is here and has said that it goes on without the others. */
void tutti_launch_hear_zero(tutti_launcher *l);
/* Writes how a rank of this host has ended, and whether memory had run out. */
enum { TUTTI_LAUNCH_WORDS = TUTTI_PROCESS_WORDS + 120 };
void tutti_launch_words(const tutti_launcher *l, int rank, char words[TUTTI_LAUNCH_WORDS]);

/* ---- launch_epochs.c; without replacements these do nothing ---- */

tutti_status tutti_epochs_begin(tutti_launcher *l, tutti_failure *err);
void tutti_epochs_end(tutti_launcher *l);
/* Makes a link for a rank that is about to start. *child: the rank's end, which the caller closes after the start; -1 =
 * none. */
tutti_status tutti_epochs_open_link(tutti_launcher *l, int rank, int *child, tutti_failure *err);
/* Returns the seconds to sleep until something must be looked at again, at most 1. */
double tutti_epochs_nap(const tutti_launcher *l);
/* Reads the messages of all ranks and acts on them. */
void tutti_epochs_hear(tutti_launcher *l);
/* Called when a rank has ended. Returns true if the rank will be replaced: then its end is no failure of the run. */
bool tutti_epochs_bear(tutti_launcher *l, int rank);
/* Begins the next epoch if the current one is broken and all remaining ranks have left it. False: a rank could not be
 * started. */
bool tutti_epochs_advance(tutti_launcher *l, tutti_failure *err);
/* True if the signal must wait, because ranks still form an epoch; it is passed on when they play. */
bool tutti_epochs_hold(tutti_launcher *l, int signal);
/* Gives up: no further epoch follows, and ranks that wait for one end. */
void tutti_epochs_give_up(tutti_launcher *l);
/* Ends the current epoch because a rank was lost; lost: its number in the group, -1 = unknown. */
void tutti_epochs_break(tutti_launcher *l, int lost);
/* True if each rank of this host has ended or waits for the next epoch. */
bool tutti_epochs_all_left(const tutti_launcher *l);
/* True if each running rank of this host has done its first step of the epoch. */
bool tutti_epochs_all_play(const tutti_launcher *l);
/* True if rank 0 of the group was here and has ended well: it does so only when all steps are done and the result is
 * saved. */
bool tutti_epochs_zero_is_done(const tutti_launcher *l);
/* Gathers the ranks of this host for the current epoch: sends the message NEXT to those that run, and starts the
 * others. */
tutti_status tutti_epochs_gather(tutti_launcher *l, tutti_failure *err);

/* ---- launch_told.c: where options->decide is set ---- */

/* Asks options->decide for an order and carries it out. False: a rank could not be started. */
bool tutti_told_advance(tutti_launcher *l, tutti_failure *err);
/* True if the launcher has more to do although no rank runs. */
bool tutti_told_goes_on(const tutti_launcher *l);

#endif
