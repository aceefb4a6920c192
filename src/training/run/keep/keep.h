/* SPDX-License-Identifier: Apache-2.0 */
/* keep.h: the files that a run keeps in its folder, and the weights and step where it begins.
 *
 *   copies.c      copies of the state in memory
 *   resume.c      the folder: lock, comparison of jobs, where to continue
 *   fill.c        the weights it begins with
 *   saving.c      when a run saves, and what
 *   writing.c     a thread that writes a checkpoint while the training goes on
 *   init*.c       weights from elsewhere
 *   checkpoint*.c a checkpoint, its manifest and its tensors
 *   lent.c        copies a device's vectors to where the host reads and fills them
 *
 * Threads: one at a time for each group. */
#ifndef TUTTI_KEEP_H
#define TUTTI_KEEP_H

#include "../step/step.h"
#include "checkpoint.h"
#include "copies.h"
#include "init.h"

/* Where the run begins, as rank 0 finds it in the folder; all ranks then begin alike. */
typedef struct {
    int lock_fd;           /* descriptor of the lock file; -1 = none */
    char *path;            /* checkpoint to continue from; NULL = from `copied`, or begin at step 0 */
    tutti_copies *copies;  /* copies in memory; NULL = the run takes none */
    int64_t copied;        /* step of the copy to continue from; -1 = from none */
    tutti_headway headway; /* receives progress reports of reading */
    char *init_path;       /* at step 0: the source that was found for config->init, NULL = the job asks for none */
    tutti_init_wanted wanted;
    tutti_init *init; /* the source, opened, if rank 0 has opened it already; the other ranks have NULL */
} tutti_start;

typedef struct tutti_writing tutti_writing;

typedef struct {
    tutti_start start;
    tutti_writing *writing;   /* NULL on ranks other than 0, or without a folder */
    double saved_s, looked_s; /* times: saved_s: when all ranks last saved, or began; looked_s: when this rank last
                               * looked at the folder */
} tutti_keeping;

tutti_status tutti_start_agree(tutti_group *group, const tutti_train_config *config, tutti_start *out,
                               tutti_failure *err);
/* True if the run continues, from a checkpoint or from a copy in memory. */
static inline bool tutti_start_resumes(const tutti_start *s)
{
    return s->path || s->copied >= 0;
}
/* Reports an event while the run is not set up yet. */
void tutti_start_say(const tutti_train_config *c, tutti_train_event_kind kind, const char *text);
/* Rank 0, when nothing is resumed: opens and checks all that config->init asks for, and keeps it in s; a second call
 * does nothing. */
tutti_status tutti_start_look_at_init(const tutti_train_config *c, tutti_start *s, tutti_failure *err);
void tutti_start_say_init(const tutti_train_config *c,
                          const tutti_start *s);          /* reports the weights that config->init gave; does nothing if
                                                           * the job has no init */
void tutti_start_say_unread(const tutti_train_config *c); /* reports that config->init is not read, because the run is
                                                           * resumed */
/* At step 0: fills the weights of c, and the states that the job asks for, equally on every rank, or fails. Releases
 * s->init. */
tutti_status tutti_start_fill(tutti_group *group, const tutti_train_config *config, tutti_start *s, tutti_checkpoint *c,
                              tutti_failure *err);
/* True if the folder is still the one that was locked; true without a folder or a lock. */
bool tutti_start_holds(const tutti_start *s, const char *dir);
void tutti_start_release(tutti_start *s);
/* Returns the keys in which two jobs differ, except free_keys, in words ("batch is 64 there, 32 here; ..."); NULL if
 * none. The caller frees it. */
char *tutti_jobs_differ(const char *there, const char *here, const char *const *free_keys);

/* Fills the weights that the run begins with: from the checkpoint that `start` names, from config->init, or with random
 * initial values; and sets how far the run has come. */
tutti_status tutti_fill_weights(tutti_start *start, tutti_stepping *s, tutti_failure *err);

/* Returns a checkpoint like `there` (the device's vectors, as tutti_saving_of names them) with vectors that this host's
 * loops can read and write, until they are given back. */
tutti_checkpoint tutti_lent_borrow(const tutti_stepping *s, const tutti_checkpoint *there);
void tutti_lent_give_back(const tutti_stepping *s, const tutti_checkpoint *there, tutti_checkpoint *c, bool changed);
/* Copies the vectors of c, borrowed for `there`, to `to`, and makes c name the copies. to NULL: copies nothing. Returns
 * the bytes that `to` must have; it must begin at a multiple of 64. */
size_t tutti_lent_copy(const tutti_stepping *s, const tutti_checkpoint *there, tutti_checkpoint *c, char *to);

/* How a checkpoint, or a copy in memory, holds a memory of the plan. */
typedef enum {
    TUTTI_SAVED_NOT,
    TUTTI_SAVED_ANSWER, /* as the weights of the checkpoint */
    TUTTI_SAVED_STATE,  /* as a state, once for all ranks */
    TUTTI_SAVED_OWN,    /* in a file for each rank, because the content differs */
} tutti_saved_kind;
tutti_saved_kind tutti_saving_kind(const tutti_plan *p, int memory);
/* Returns what a checkpoint must hold; the vectors are the device's. */
tutti_checkpoint tutti_saving_of(const tutti_stepping *s);
/* Checks the folder. TUTTI_ERR_FAILED: the run's folder was removed, renamed or replaced. */
tutti_status tutti_saving_check_folder(tutti_keeping *k, const tutti_stepping *s, tutti_failure *err);
/* Rank 0: true if it is time for a checkpoint by its clock. */
bool tutti_saving_is_wished(const tutti_keeping *k, const tutti_stepping *s);
/* True if all ranks save after this step; the same on all ranks. */
bool tutti_saving_is_due(const tutti_stepping *s, int64_t step);
/* A checkpoint that is being saved: its vectors do not change, and the host can read them. */
typedef struct {
    tutti_checkpoint there, lent;
    bool writes;    /* this rank writes files */
    bool is_beside; /* a thread writes the files while the training goes on */
} tutti_saving;
void tutti_saving_begin(const tutti_stepping *s, tutti_saving *out);
/* Collective. Writes the checkpoint, or has it written beside the training from a copy; the caller leaves this call out
 * if weights are not finite. An earlier checkpoint must have been ended (tutti_writing_end). The last checkpoint of a
 * run and vectors that differ between ranks are written before this call returns. */
tutti_status tutti_saving_write(tutti_keeping *k, const tutti_stepping *s, tutti_saving *saving, tutti_failure *err);
void tutti_saving_end(const tutti_stepping *s, tutti_saving *saving);

/* writing.c: the checkpoint that a thread writes while the training goes on. There is at most one, and at most one copy
 * of the vectors. tutti_writing_create returns NULL on ranks that need none; every function but tutti_writing_start
 * accepts NULL. `run` is borrowed until destroy. */
tutti_writing *tutti_writing_create(const tutti_stepping *run);
/* Copies the vectors of `saving` and starts the thread. An earlier checkpoint must have been ended. Returns false,
 * without a checkpoint, if the system has no memory for the copy or no thread: then the caller writes. If the device
 * does not share the host's memory, the borrowed vectors are the copy, and tutti_writing_end gives them back. */
bool tutti_writing_start(tutti_writing *w, const tutti_saving *saving);
/* Returns the step of the checkpoint that was started and not ended; -1 = none. */
int64_t tutti_writing_step(const tutti_writing *w);
/* Returns true if a checkpoint was started and not ended, and its thread has nothing more to do. */
bool tutti_writing_is_over(tutti_writing *w);
/* Ends the checkpoint that was started: waits for its thread, in a long phase, and returns the result of writing.
 * Without such a checkpoint: TUTTI_OK. */
tutti_status tutti_writing_end(tutti_writing *w, tutti_failure *err);
/* Waits for the thread; a failure to write is not reported. */
void tutti_writing_destroy(tutti_writing *w);

#endif
