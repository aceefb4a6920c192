/* SPDX-License-Identifier: Apache-2.0 */
/* step.h: plays the steps of one rank: a plan's memories and exchanges on a device, its batches, and how far it has
 * come.
 *
 *   stepping.c   create and release
 *   exchanges.c  memories and exchanges of a plan
 *   step*.c      the actions of one step
 *   ahead.c      the batch of a step, and the next batch on its way to a device
 *   beside.c     what is done when an exchange has ended
 *   hops.c       layers that ranks share
 *   account.c    what time was spent on
 *   staging.c    samples and labels on their way to a device, and results on their way back
 *   groups.c     parameters with a rate of their own
 *   step_work.c  what runs on a device, launched
 *   handicap.c   ranks that are delayed on purpose
 *   pretend.c    kernels that only wait
 *   evaluate.c   test accuracy, over all ranks
 *   forward.c    an inference graph of some samples
 *   sparsity.c   zeros that convolutions skip
 *
 * This code knows only those calls to the board of visits (visit/board/visits.h) that actions make. It knows nothing
 * about checkpoints and reports. Threads: one at a time for each group; for a stand-in, the thread that plays it. */
#ifndef TUTTI_STEP_H
#define TUTTI_STEP_H

#include "../train.h"
#include "../visit/board/visits.h"
#include "account.h"
#include "exchanges.h"
#include "staging.h"

/* Rate and decay of one parameter. */
typedef struct {
    double rate, decay; /* factor of the run's rate; weight decay */
} tutti_param_group;

/* The batch of the next step, which is being brought to the device (ahead.c). */
typedef struct {
    bool is_there;
    tutti_batch batch;   /* its samples and labels belong to the loader; code that plays steps must not read them */
    tutti_status status; /* status of loading this batch, if not OK */
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
    tutti_param_group *groups; /* per parameter: its rate and decay */
    int loss, correct, stop;   /* control numbers: indices into the parameters */
    tutti_loss_scale_state scale;
    int64_t earlier_updates; /* updates that the rule's states had seen before step 0 of this run */
    int64_t first_step;      /* the step at which this run began */
    tutti_visits *visits;    /* where ranks take steps of their own (tutti_async_create): this rank's view of the board;
                              * else NULL */
    /* the following belong to the thread that plays: the rank itself or a stand-in */
    tutti_event launched; /* the last event that this thread has put on the device's queue */
    int64_t local_steps;  /* local steps of this run, where ranks take steps of their own */
    tutti_account account;
    /* the following belong to the rank itself */
    tutti_staging staging;
    tutti_loader *loader;
    tutti_ahead ahead;
    tutti_beside *beside;    /* the parts of the loop TUTTI_EACH_END; NULL = there are none */
    tutti_replaced replaced; /* training samples of this rank that were replaced */
    int64_t step;            /* steps done */
    double last_loss;
    int64_t skipped_in_a_row; /* steps skipped in a row because gradients were not finite */
    bool skipped_at_least;    /* the last skipped step used the smallest loss scale already */
    int my_signal;            /* number of the signal that asks this rank to end; 0 = none */
    /* after this step all ranks stop, save a checkpoint, or copy the state: a rank got a signal, or rank 0's clock
     * asked for it */
    bool asked_to_stop, asked_to_save, asked_to_copy;
    bool has_stalled; /* true once this rank's handicap has made it stall */
    /* time that kernels which only wait still have to wait; < 0: they have waited too long */
    double owed_s;
} tutti_stepping;

/* Returns a stepping before it is made: at step 0, with time counted from now. */
tutti_stepping tutti_stepping_begin(tutti_group *group, const tutti_train_config *config);
/* Collective: prepares the device, and makes memories, exchanges, and the parts of the plan's loop TUTTI_EACH_END. The
 * caller releases *s in any case. */
tutti_status tutti_stepping_make(tutti_stepping *s, tutti_failure *err);
/* Makes the loader, and registers its memory with a device that copies batches to its own memory. Call it when the
 * weights, the step and the visits are set. */
tutti_status tutti_stepping_load(tutti_stepping *s, tutti_failure *err);
void tutti_stepping_release(tutti_stepping *s); /* releases the stepping's visits too */
/* Returns a stepping that plays actions for a worker of another host, with that worker's visits. It borrows the
 * memories, the rule and the rates of `own`. It reads no batch and has taken no step yet. */
tutti_stepping tutti_stepping_stand_in(const tutti_stepping *own, tutti_visits *visits);

/* Waits for all work that this thread has put on the device's queue. It is needed before an exchange is started or told
 * conditions, before the host reads results or borrows vectors, before a loop runs on the device, and before a visit
 * ends. */
static inline void tutti_step_sync(const tutti_stepping *s)
{
    s->device->wait(s->device, s->launched);
}

/* Returns the rule's parameters of a step, counted from 0, whose update is the nth of the states. */
tutti_update_step tutti_step_numbers(const tutti_stepping *s, int64_t step, int64_t nth);
/* Asks config.stop_asked whether this rank must end. Once the answer was yes, it does not ask again. */
void tutti_step_ask(tutti_stepping *s);
/* Requests of rank 0 to all ranks for the end of a step. */
enum { TUTTI_WISH_SAVE = 1, TUTTI_WISH_COPY = 2 };
/* Plays one step: a batch and all actions. Exchanges may still run afterwards. wishes: a sum of TUTTI_WISH_.... */
tutti_status tutti_step_play(tutti_stepping *s, unsigned wishes, tutti_failure *err);
/* Sets *out to the next batch; NULL = there is none. */
tutti_status tutti_step_load(tutti_stepping *s, const tutti_batch **out, tutti_failure *err);
/* Plays one rank's share of a step, without other ranks. */
tutti_status tutti_step_play_share(tutti_stepping *s, const tutti_batch *batch, tutti_failure *err);
/* Plays actions of a part of rank 0's loop TUTTI_EACH_ARRIVAL; the rule uses the numbers `update`. None of the actions
 * is an exchange. */
tutti_status tutti_step_play_served(tutti_stepping *s, const tutti_update_step *update, const tutti_action *actions,
                                    int nactions, tutti_failure *err);
/* Plays a loop between two steps: before a test, before a checkpoint. */
tutti_status tutti_step_play_between(tutti_stepping *s, tutti_loop_driver driver, tutti_failure *err);
/* Returns the sum of the losses of this rank's samples in the step just played (in copy 0 of the gradients). */
double tutti_step_own_loss(const tutti_stepping *s);
/* Reads the mean loss of the step just played, and whether any rank asks to stop. TUTTI_ERR_FAILED: the device has
 * failed. */
tutti_status tutti_step_settle(tutti_stepping *s, tutti_failure *err);
tutti_status tutti_step_wait_all(tutti_stepping *s, tutti_failure *err);
/* Returns the weights on the device that are tested, saved and given to the caller. */
float *tutti_step_answer(const tutti_stepping *s);

#endif
