/* SPDX-License-Identifier: Apache-2.0 */
/* step.h: plays the steps of one rank: a plan's memories and exchanges on a device, its batches, and how far it has
 * come.
 *
 *   stepping.c   its life                                 step*.c      the actions of one step
 *   exchanges.c  memories and exchanges of a plan         ahead.c      the batch of a step, and the next one on its way
 *                to a device
 *   beside.c     what is done when an exchange has ended  hops.c       layers that ranks share
 *   account.c    what time was spent on                   staging.c    samples and labels on their way to a device,
 *                figures on theirs back
 *   groups.c     parameters with a rate of their own      step_work.c  what runs on a device, launched
 *   handicap.c   ranks that are held up on purpose        pretend.c    kernels that only wait
 *   evaluate.c   test accuracy, over all ranks            forward.c    an inference graph of some samples
 *   sparsity.c   zeros that convolutions skip
 *
 * Knows of visits only what an action asks of the board, and nothing of what is kept and told. Threads: owner of the
 * group; a stand-in's, the thread that plays it. */
#ifndef TUTTI_STEP_H
#define TUTTI_STEP_H

#include "../train.h"
#include "../visit/board/visits.h"
#include "account.h"
#include "exchanges.h"
#include "staging.h"

/* How a parameter is updated. */
typedef struct {
    double rate, decay; /* the first is a factor */
} tutti_param_group;

/* The batch of the next step, on its way to the device (ahead.c). */
typedef struct {
    bool is_there;
    tutti_batch batch;   /* its samples and labels are the loader's: nobody looks at them here */
    tutti_status status; /* what came of loading it, if not OK */
    tutti_failure why;
} tutti_ahead;

typedef struct tutti_beside tutti_beside;

typedef struct {
    tutti_group *group;
    const tutti_train_config *config;
    const tutti_plan *plan;
    const tutti_device *device;
    int rank, nranks;
    tutti_shared shared;
    tutti_param_group *groups; /* a parameter's */
    int loss, correct, stop;   /* control numbers: indices of parameters */
    tutti_loss_scale_state scale;
    int64_t earlier_updates; /* of the states that it began with */
    int64_t first_step;      /* of this run */
    tutti_visits *visits;    /* where ranks take steps of their own (tutti_async_create); NULL else */
    /* of who plays, the rank itself or a stand-in */
    tutti_event launched; /* the last that this thread has put on the device's queue */
    int64_t local_steps;  /* in this run, where ranks take steps of their own */
    tutti_account account;
    /* of the rank itself */
    tutti_staging staging;
    tutti_loader *loader;
    tutti_ahead ahead;
    tutti_beside *beside;    /* NULL: nothing is */
    tutti_replaced replaced; /* of this rank's training samples */
    int64_t step;            /* steps done */
    double last_loss;
    int64_t skipped_in_a_row;          /* steps, for want of finite gradients */
    bool skipped_at_least;             /* the last of them at the smallest scale */
    int my_signal;                     /* that asks this rank to end; 0 = none */
    bool asked_to_stop, asked_to_save; /* some rank was signalled; rank 0's clock: all do after this step */
    bool has_stalled;                  /* as its handicap has it */
    double owed_s;                     /* by kernels that only wait; < 0: they have waited too long */
} tutti_stepping;

/* Before it is made: no step is done, and time is counted. */
tutti_stepping tutti_stepping_begin(tutti_group *group, const tutti_train_config *config);
/* Collective: what its device needs, memories, exchanges, what is done beside. The caller releases it in any case. */
tutti_status tutti_stepping_make(tutti_stepping *s, tutti_failure *err);
/* Makes the loader, and shows its memory to a device that samples are brought to. Weights are there and the step is
 * known, and so are visits. */
tutti_status tutti_stepping_load(tutti_stepping *s, tutti_failure *err);
void tutti_stepping_release(tutti_stepping *s); /* and its visits */
/* Makes a stepping that plays actions for a worker of another host, as these visits: in the memories of `own`, which it
 * borrows, by its rules and rates. It reads no batch and has taken no step yet. */
tutti_stepping tutti_stepping_stand_in(const tutti_stepping *own, tutti_visits *visits);

/* Waits for all that this thread has put on the device's queue: before a start or a tell of an exchange, a look, a loop
 * of the device's own, a borrowing, the end of a visit. */
static inline void tutti_step_sync(const tutti_stepping *s)
{
    s->device->wait(s->device, s->launched);
}

/* The numbers of a step, counted from 0, whose update is the nth of these states. */
tutti_update_step tutti_step_numbers(const tutti_stepping *s, int64_t step, int64_t nth);
/* Asks once whether this rank is asked to end, if it was not before. */
void tutti_step_ask(tutti_stepping *s);
/* One step: a batch, all actions. Afterwards exchanges may still be under way. saves: this rank asks all to save behind
 * it. */
tutti_status tutti_step_play(tutti_stepping *s, bool saves, tutti_failure *err);
/* The next batch; NULL: there is none. */
tutti_status tutti_step_load(tutti_stepping *s, const tutti_batch **out, tutti_failure *err);
/* One rank's share of a step, by itself. */
tutti_status tutti_step_play_share(tutti_stepping *s, const tutti_batch *batch, tutti_failure *err);
/* Actions of a part of the loop of arrivals, none of which travels, by these numbers. */
tutti_status tutti_step_play_served(tutti_stepping *s, const tutti_update_step *update, const tutti_action *actions,
                                    int nactions, tutti_failure *err);
/* A loop between two steps: before a test, before a checkpoint. */
tutti_status tutti_step_play_between(tutti_stepping *s, tutti_loop_driver driver, tutti_failure *err);
/* Of this rank's samples of the step just played (in copy 0 of the gradients), the sum. */
double tutti_step_own_loss(const tutti_stepping *s);
/* Mean loss, and whether any rank asks to stop, of the step just played. TUTTI_ERR_FAILED: its device has failed. */
tutti_status tutti_step_settle(tutti_stepping *s, tutti_failure *err);
tutti_status tutti_step_wait_all(tutti_stepping *s, tutti_failure *err);
/* What is tested, saved and handed on, on the device. */
float *tutti_step_answer(const tutti_stepping *s);

#endif
