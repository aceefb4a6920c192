/* SPDX-License-Identifier: Apache-2.0 */
/* keep.h: what a run keeps in its folder, and where it begins.
 *
 *   resume.c      the folder: lock, match, where to go on    init*.c        weights from elsewhere
 *   fill.c        the weights it begins with                 checkpoint*.c  a checkpoint, its manifest and its tensors
 *   saving.c      when a run saves, and what                 lent.c         vectors of a device, where the host reads
 *                 and fills them
 *
 * Threads: owner of the group. */
#ifndef TUTTI_KEEP_H
#define TUTTI_KEEP_H

#include "../step/step.h"
#include "checkpoint.h"
#include "init.h"

/* What rank 0 finds in the folder and all ranks do. */
typedef struct {
    int lock_fd;           /* -1 = none */
    char *path;            /* checkpoint to go on from, NULL = from the start */
    tutti_headway headway; /* of what is read */
    char *init_path;       /* from the start: what was found for config->init, NULL = nothing is asked for */
    tutti_init_wanted wanted;
    tutti_init *init; /* rank 0 has looked into it already; the others have NULL */
} tutti_start;

typedef struct {
    tutti_start start;
    double saved_s, looked_s; /* when: all saved last, or began; this rank looked at the folder */
} tutti_keeping;

tutti_status tutti_start_agree(tutti_group *group, const tutti_train_config *config, tutti_start *out,
                               tutti_failure *err);
/* Before there is a run to tell of. */
void tutti_start_say(const tutti_train_config *c, tutti_train_event_kind kind, const char *text);
/* Rank 0, where nothing is resumed: checks all that config->init asks for and keeps it in s; a second call does
 * nothing. */
tutti_status tutti_start_look_at_init(const tutti_train_config *c, tutti_start *s, tutti_failure *err);
void tutti_start_say_init(const tutti_train_config *c,
                          const tutti_start *s);          /* what came of it, if anything was asked for */
void tutti_start_say_unread(const tutti_train_config *c); /* that the run is resumed instead */
/* From the start: fills the weights of c and those of its states that are asked for, on every rank the same, or fails.
 * init is given back. */
tutti_status tutti_start_fill(tutti_group *group, const tutti_train_config *config, tutti_start *s, tutti_checkpoint *c,
                              tutti_failure *err);
/* Whether the folder is still the one that was locked; true without a folder or a lock. */
bool tutti_start_holds(const tutti_start *s, const char *dir);
void tutti_start_release(tutti_start *s);
/* Keys on which two jobs differ, but for the free ones, in words ("batch is 64 there, 32 here; ..."); NULL if none. */
char *tutti_jobs_differ(const char *there, const char *here, const char *const *free_keys);

/* The weights to begin with: of the checkpoint that start names, of config->init, or drawn; and how far its run had
 * come. */
tutti_status tutti_fill_weights(tutti_start *start, tutti_stepping *s, tutti_failure *err);

/* Vectors of a checkpoint, as tutti_saving_of names them on the device, where this host's loops reach them, until they
 * are given back. */
tutti_checkpoint tutti_lent_borrow(const tutti_stepping *s, const tutti_checkpoint *there);
void tutti_lent_give_back(const tutti_stepping *s, const tutti_checkpoint *there, tutti_checkpoint *c, bool changed);

/* All that a checkpoint holds, on the device. */
tutti_checkpoint tutti_saving_of(const tutti_stepping *s);
/* TUTTI_ERR_FAILED: the run's folder was removed, renamed or replaced. */
tutti_status tutti_saving_check_folder(tutti_keeping *k, const tutti_stepping *s, tutti_failure *err);
/* Rank 0: its clock asks for a checkpoint. */
bool tutti_saving_is_wished(const tutti_keeping *k, const tutti_stepping *s);
/* Whether all save behind this step, the same on all ranks. */
bool tutti_saving_is_due(const tutti_stepping *s, int64_t step);
/* A checkpoint under way: what is written lies still, where the host reads it. */
typedef struct {
    tutti_checkpoint there, lent;
    bool writes; /* this rank */
} tutti_saving;
void tutti_saving_begin(const tutti_stepping *s, tutti_saving *out);
/* Collective. What is not good need not be written. */
tutti_status tutti_saving_write(tutti_keeping *k, const tutti_stepping *s, const tutti_saving *saving,
                                tutti_failure *err);
void tutti_saving_end(const tutti_stepping *s, tutti_saving *saving);

#endif
