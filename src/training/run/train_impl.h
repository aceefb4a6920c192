/* SPDX-License-Identifier: Apache-2.0 */
/* train_impl.h: what the files of the trainer share.
 *
 *   train.c      set-up, the loop over steps, ends        step*.c      plays the actions of one step
 *   exchanges.c  memories and exchanges of a plan         evaluate.c   test accuracy, over all ranks
 *   beside.c     what is done when an exchange has ended  async.c      steps that ranks take on their own
 *   visits*.c    ... and how they come to what is common  visitor.c    ... from another host
 *   serve.c      visits that rank 0 makes for those       handicap.c   ranks that are held up on purpose
 *   resume.c     the folder: lock, match, where to go on  report.c     metrics and events
 *   fill.c       the weights it begins with               init*.c      those from elsewhere
 *   account.c    what time was spent on                   tracing.c    spans of some steps, as files
 *   forward.c    an inference graph of some samples       groups.c     parameters with a rate or a decay of their own
 *   hops.c       layers that ranks share                  lost.c       workers that die, and the others go on
 *   pretend.c    kernels that only wait                    step_work.c  what runs on a device, launched
 *   staging.c    samples and labels on their way to a device, figures on theirs back
 *   proof.c      what is played is proved
 *   lent.c       vectors of a device, where the host reads and fills them
 *   saving.c     when a run saves, and what      diverge.c    loss or weights that are no numbers any more
 *   ahead.c      the batch of a step, and the next one on its way to a device */
#ifndef TUTTI_TRAIN_IMPL_H
#define TUTTI_TRAIN_IMPL_H

#include "../../base/headway.h"
#include "../../collective/exchange/executor.h"
#include "../../metrics/metrics.h"
#include "../../metrics/tensorboard.h"
#include "keep/checkpoint.h"
#include "step/account.h"
#include "step/staging.h"
#include "train.h"
#include "visit/board/visits.h"

/* The plan's memories and exchanges, bound (exchanges.c). */
typedef struct {
    tutti_group *group;
    const tutti_device *device;
    const tutti_plan *plan;
    int enrolled;              /* of the memories, whose regions the device knows */
    tutti_place *place;        /* a memory: where it lies on every rank; of a private one nothing */
    char **memory;             /* a memory: this rank's */
    tutti_region *numbers;     /* that all memories of numbers share */
    tutti_region *seats;       /* the same of seats; NULL: there are none */
    tutti_exchange **exchange; /* of the plan; NULL: between others, or for checkpoints where there are none */
    bool *in_flight;           /* an exchange: started and not waited for */
} tutti_shared;

/* saves: checkpoints are written. */
tutti_status tutti_shared_create(tutti_group *group, const tutti_device *device, const tutti_plan *plan, bool saves,
                                 tutti_shared *out, tutti_failure *err);
void tutti_shared_destroy(tutti_shared *s);
float *tutti_shared_vector(const tutti_shared *s, int memory, int copy);           /* of f32 */
int64_t *tutti_shared_numbers(const tutti_shared *s, int memory);                  /* of i64 */
float *tutti_shared_of_role(const tutti_shared *s, tutti_memory_role role, int n); /* tutti_plan_find_memory's */
void tutti_shared_start(tutti_shared *s, int exchange, unsigned when);
/* done: as in tutti_exchange_wait_for, or NULL. */
tutti_status tutti_shared_wait(tutti_shared *s, int exchange, const atomic_bool *done, tutti_failure *err);
void tutti_shared_time(tutti_shared *s, bool on); /* see tutti_exchange_time */
double tutti_shared_exchange_seconds(const tutti_shared *s, int exchange);
/* Read from or written to memory of other ranks in the same. */
int64_t tutti_shared_crossed_bytes(const tutti_shared *s);
double tutti_shared_seconds(const tutti_shared *s); /* in the exchanges of steps so far, this rank */

/* Accuracy over blocks of the test set; each rank takes a run of blocks. Block borders do not depend on the rank count. */
typedef struct tutti_evaluator tutti_evaluator;
tutti_status tutti_evaluator_create(const tutti_graph *like, const tutti_dataset *data, const tutti_device *device,
                                    tutti_evaluator **out, tutti_failure *err);
/* stop_asked is asked before each block; what is not 0 ends a test early. headway hears of the samples that are tested; its "not wanted any
 * more" ends a test as well. */
void tutti_evaluator_watch(tutti_evaluator *e, int (*stop_asked)(void *arg), void *arg, tutti_headway headway);
/* The model's ReLUs; zeros: of the outputs of each, in the last run. */
const struct tutti_relus *tutti_evaluator_relus(const tutti_evaluator *e, int64_t **zeros);
/* Who hears of each answer of the runs that follow. */
tutti_status tutti_evaluator_listen(tutti_evaluator *e, const tutti_answer_listener *listener, tutti_failure *err);
void tutti_evaluator_destroy(tutti_evaluator *e);
/* Whether an interval between two tests ends with this step. */
bool tutti_evaluator_is_due(const tutti_train_config *c, int64_t step);
/* weights: the device's. */
tutti_status tutti_evaluator_run(tutti_evaluator *e, const float *weights, const int64_t *param_offset, int part,
                                 int nparts, tutti_eval_result *out, /* loss: the sum, not the mean */
                                 tutti_failure *err);

/* What rank 0 finds in the folder and all ranks do. */
typedef struct {
    int lock_fd;           /* -1 = none */
    char *path;            /* checkpoint to go on from, NULL = from the start */
    tutti_headway headway; /* of what is read */
    char *init_path;       /* from the start: what was found for config->init, NULL = nothing is asked for */
    tutti_init_wanted wanted;
    tutti_init *init; /* rank 0 has looked into it already; the others have NULL */
} tutti_start;
tutti_status tutti_start_agree(tutti_group *group, const tutti_train_config *config, tutti_start *out,
                               tutti_failure *err);
void tutti_start_say(const tutti_train_config *c, tutti_train_event_kind kind, const char *text);
/* Rank 0, where nothing is resumed: checks all that config->init asks for and keeps it in s; a second call does nothing. */
tutti_status tutti_start_look_at_init(const tutti_train_config *c, tutti_start *s, tutti_failure *err);
void tutti_start_say_init(const tutti_train_config *c,
                          const tutti_start *s);          /* what came of it, if anything was asked for */
void tutti_start_say_unread(const tutti_train_config *c); /* that the run is resumed instead */
/* From the start: fills the weights of c and those of its states that are asked for, on every rank the same, or fails. init is given back. */
tutti_status tutti_start_fill(tutti_group *group, const tutti_train_config *config, tutti_start *s, tutti_checkpoint *c,
                              tutti_failure *err);
/* Whether the folder is still the one that was locked; true without a folder or a lock. */
bool tutti_start_holds(const tutti_start *s, const char *dir);
void tutti_start_release(tutti_start *s);
/* Keys on which two jobs differ, but for the free ones, in words ("batch is 64 there, 32 here; ..."); NULL if none. */
char *tutti_jobs_differ(const char *there, const char *here, const char *const *free_keys);

/* Collective: the plan is proved, or was, and then tutti_start_agree (proof.c). Rank 0 proves and says so, before it touches the folder; each rank
 * compares its own plan with what was proved. TUTTI_ERR_USAGE on all: it is wrong, in words on rank 0. TUTTI_ERR_RENDEZVOUS: a rank has another
 * one. */
#define TUTTI_PROOF_FILE "plan.proof"
tutti_status tutti_train_begin(tutti_group *group, const tutti_train_config *config, tutti_start *start,
                               tutti_failure *err);

typedef struct tutti_beside tutti_beside;
typedef struct tutti_serve tutti_serve;

/* How a parameter is updated. */
typedef struct {
    double rate, decay; /* the first is a factor */
} tutti_param_group;
/* One for each parameter of the plan's graph, as the configuration's groups have it (groups.c). free() */
tutti_param_group *tutti_groups_make(const tutti_train_config *config);

/* What rank 0 has told of a worker that the run has lost. */
typedef struct {
    bool told;
    int64_t step, played; /* steps done, of all; shares, of its own */
    double seconds;       /* since then */
} tutti_lost;

/* The batch of the next step, on its way to the device (ahead.c). */
typedef struct {
    bool is_there;
    tutti_batch batch;   /* its samples and labels are the loader's: nobody looks at them here */
    tutti_status status; /* what came of loading it, if not OK */
    tutti_failure why;
} tutti_ahead;

typedef struct {
    tutti_group *group;
    const tutti_device *device;
    tutti_event launched; /* the last that this thread has put on the device's queue */
    tutti_staging staging;
    tutti_ahead ahead;
    const tutti_train_config *config;
    const tutti_plan *plan;
    const tutti_start *start;
    int rank, nranks;
    tutti_shared shared;
    tutti_beside *beside;      /* NULL: nothing is */
    tutti_param_group *groups; /* a parameter's */
    tutti_loader *loader;
    tutti_evaluator *evaluator;
    tutti_metrics *metrics;         /* rank 0 with a folder */
    tutti_tensorboard *tensorboard; /* NULL = off */
    int loss, correct, stop;        /* control numbers: indices of parameters */
    int64_t step;                   /* steps done */
    tutti_loss_scale_state scale;
    int64_t earlier_updates;  /* of the states that it began with */
    bool has_stalled;         /* as its handicap has it */
    double owed_s;            /* by kernels that only wait; < 0: they have waited too long */
    bool asked_to_stop;       /* some rank was signalled: ends after this step, everywhere */
    bool has_diverged;        /* and was told */
    bool has_odd_test;        /* a test had a loss that is not finite, by weights that are: it was told */
    int64_t skipped_in_a_row; /* steps, for want of finite gradients */
    bool skipped_at_least;    /* the last of them at the smallest scale */
    bool asked_to_save;       /* rank 0's clock: all save after this step */
    double saved_s;           /* when they did last, or began */
    int my_signal;
    double last_loss, last_accuracy;
    /* Where ranks take steps of their own; visits is NULL else. */
    tutti_visits *visits;
    tutti_serve *serve;      /* rank 0: of workers of other hosts; NULL: there are none */
    const tutti_batch *held; /* dealt, and not played yet */
    int64_t local_steps;     /* of this rank, in this run */
    int64_t first_step;      /* of this run */
    int64_t told_shares;     /* in the last line */
    double told_loss;        /* up to then */
    tutti_lost *lost;        /* rank 0: one a rank; NULL: none may be lost */
    int nlost;               /* told */
    double lost_from;        /* since when workers may be lost */
    tutti_replaced replaced; /* of this rank's training samples */
    tutti_account account;
    struct tutti_tracing *tracing; /* NULL = off */
    /* clocks */
    double seconds, resumed_at; /* training only; start of the running stretch */
    double eval_seconds;        /* metrics say the sum of both: what it takes to know an accuracy */
    double logged_seconds, logged_exchange_seconds;
    double looked_s; /* at the folder: when */
    int64_t logged_step;
} tutti_trainer;

/* Waits for all that this thread has put on the device's queue: before a start or a tell of an exchange, a look, a loop of the device's own, a
 * borrowing, the end of a visit. */
static inline void tutti_step_sync(const tutti_trainer *t)
{
    t->device->wait(t->device, t->launched);
}

/* Vectors of a checkpoint, as tutti_saving_of names them on the device, where this host's loops reach them, until they are given back (lent.c). */
tutti_checkpoint tutti_lent_borrow(const tutti_trainer *t, const tutti_checkpoint *there);
void tutti_lent_give_back(const tutti_trainer *t, const tutti_checkpoint *there, tutti_checkpoint *c, bool changed);

/* saving.c: what is tested, saved and handed on, on the device; all that a checkpoint holds, there. */
float *tutti_saving_answer(const tutti_trainer *t);
tutti_checkpoint tutti_saving_of(const tutti_trainer *t);
/* TUTTI_ERR_FAILED: the run's folder was removed, renamed or replaced. */
tutti_status tutti_saving_check_folder(tutti_trainer *t, tutti_failure *err);
/* Rank 0: its clock asks for a checkpoint. */
bool tutti_saving_is_wished(const tutti_trainer *t);
/* Whether all save behind this step, the same on all ranks. Collective: they do. */
bool tutti_saving_is_due(const tutti_trainer *t, int64_t step);
tutti_status tutti_saving_save(tutti_trainer *t, tutti_failure *err);

/* diverge.c: all ranks find that the run has diverged after the same step, say so once and, unless it goes on, fail: rank 0 with the words, the others
 * without any. Nobody need be told then (t->has_diverged). Nothing where it has not. */
tutti_status tutti_diverge_after_step(tutti_trainer *t, tutti_failure *err);
tutti_status tutti_diverge_after_test(tutti_trainer *t, double loss, tutti_failure *err);
/* Collective. lent: what is to be saved, where the host reads it. *is_bad: it must not be. */
tutti_status tutti_diverge_before_saving(tutti_trainer *t, const tutti_checkpoint *lent, bool *is_bad,
                                         tutti_failure *err);

/* The weights to begin with: of the checkpoint that start names, of config->init, or drawn. c: where weights and states are on the device. */
tutti_status tutti_fill_weights(tutti_trainer *t, tutti_start *start, tutti_checkpoint *c, tutti_failure *err);
/* One step: a batch, all actions. Afterwards exchanges may still be under way. */
tutti_status tutti_step_play(tutti_trainer *t, tutti_failure *err);
/* The next batch; NULL: there is none. */
tutti_status tutti_step_load(tutti_trainer *t, const tutti_batch **out, tutti_failure *err);
/* take: the batch of this step, and where the device finds its samples. load: brings the next batch to a device that wants that, once the step's
 * work was launched. */
tutti_status tutti_ahead_take(tutti_trainer *t, tutti_batch *out, const float **samples_at, const int32_t **labels_at,
                              tutti_failure *err);
void tutti_ahead_load(tutti_trainer *t);
/* Makes the loader, and shows its memory to a device that samples are brought to; takes both back. */
tutti_status tutti_ahead_begin(tutti_trainer *t, const tutti_loader_config *config, tutti_failure *err);
void tutti_ahead_end(tutti_trainer *t);
/* One rank's share of a step, by itself. */
tutti_status tutti_step_play_share(tutti_trainer *t, const tutti_batch *batch, tutti_failure *err);
/* Actions of a part of the loop of arrivals, none of which travels, by these numbers. Threads: that of t, which shares its memories with
 * others. */
tutti_status tutti_step_play_served(tutti_trainer *t, const tutti_update_step *update, const tutti_action *actions,
                                    int nactions, tutti_failure *err);
/* As the rank's handicap has it, behind a step before which its computing had taken so long in all (handicap.c). */
void tutti_step_hold_up(tutti_trainer *t, int64_t step, int64_t computed_ns);
/* Whether kernels wait instead of computing; that the kernel of this node does so (pretend.c). */
bool tutti_pretends(const tutti_trainer *t);
void tutti_pretend(tutti_trainer *t, const tutti_node *node);
/* A loop between two steps: before a test, before a checkpoint. */
tutti_status tutti_step_play_between(tutti_trainer *t, tutti_loop_driver driver, tutti_failure *err);
/* Where the kernel of a split layer finds what it reads and leaves what it writes: args already have the activations of the layer. */
void tutti_split_bind(const tutti_trainer *t, const tutti_node *node, tutti_kernel_args *args);
/* Between these activations and memory for what travels. */
void tutti_split_move(tutti_trainer *t, const tutti_node *node, const tutti_kernel_args *activations);
/* The rule, to elements of a bucket; gradients are multiplied by clip. Threads: any, of other elements. Returns when it is over. */
tutti_event tutti_step_update(const tutti_trainer *t, const tutti_update_step *update, double clip,
                              const tutti_action *apply);
/* Of this rank's samples of the step just played (in copy 0 of the gradients), the sum. */
double tutti_step_own_loss(const tutti_trainer *t);
/* Mean loss, and whether any rank asks to stop, of the step just played. TUTTI_ERR_FAILED: its device has failed. */
tutti_status tutti_step_settle(tutti_trainer *t, tutti_failure *err);
tutti_status tutti_step_wait_all(tutti_trainer *t, tutti_failure *err);

/* The parts of the plan's loop beside, bound to its exchanges; after tutti_shared_create. */
tutti_status tutti_beside_create(tutti_trainer *t, tutti_failure *err);
void tutti_beside_destroy(tutti_trainer *t); /* after tutti_shared_destroy */
/* An exchange is about to be started: what comes after its end goes by these numbers. */
void tutti_beside_starts(tutti_trainer *t, int exchange, const tutti_update_step *update);
/* An exchange was waited for, and with it the one that its part waited for. */
void tutti_beside_ended(tutti_trainer *t, int exchange);

/* Where ranks take steps of their own (async.c): after weights are there; from this step to `stop`, or to where somebody asked to end;
 * what came of it, in words. */
tutti_status tutti_async_create(tutti_trainer *t, tutti_failure *err);
tutti_status tutti_async_play(tutti_trainer *t, int64_t stop, tutti_failure *err);
tutti_status tutti_async_report(tutti_trainer *t, tutti_failure *err);

/* Rank 0's threads that play the parts of workers of other hosts (serve.c); nothing where there are none. After tutti_visits_create. */
tutti_status tutti_serve_create(tutti_trainer *t, tutti_failure *err);
void tutti_serve_destroy(tutti_trainer *t);    /* before the visits */
void tutti_serve_open(const tutti_trainer *t); /* a stop was opened: they go on */
/* All have come there: until they rest, also those whose workers are gone. */
tutti_status tutti_serve_rest(const tutti_trainer *t, tutti_failure *err);
/* Nanoseconds of this part that the thread of that worker has spent; when all have met. 0: there is none. */
int64_t tutti_serve_spent(const tutti_trainer *t, int worker, tutti_cost_part part);
/* Collective, at the end of set-up: from now on workers that take steps of their own may be lost, but rank 0 (lost.c). */
tutti_status tutti_lost_begin(tutti_trainer *t, tutti_failure *err);
/* Rank 0: says who has been lost since it was asked the last time. Others: nothing. */
tutti_status tutti_lost_tell(tutti_trainer *t, tutti_failure *err);
void tutti_lost_sum_up(tutti_trainer *t);
/* What becomes true when the worker is gone with which rank 0 has this exchange; NULL: another rank was asked, or it is needed whoever is gone. */
const atomic_bool *tutti_lost_flag(const tutti_trainer *t, int exchange);
/* Whether the others go on when this rank fails so. */
bool tutti_lost_resigns(const tutti_trainer *t, tutti_status st);

void tutti_clock_tick(tutti_trainer *t); /* train.c: up to now it was training */

void tutti_replaced_add(tutti_replaced *sum, int64_t n, const char *why);
tutti_status tutti_report_visits(tutti_trainer *t, const tutti_staleness *s, const char *text, tutti_failure *err);
tutti_status tutti_report_lost(tutti_trainer *t, int rank, int64_t played, const char *text, tutti_failure *err);
/* Lines that follow are of another process than those before. */
tutti_status tutti_report_resume(const tutti_trainer *t, tutti_failure *err);
tutti_status tutti_report_bound(const tutti_trainer *t, tutti_failure *err);     /* config->bound */
tutti_status tutti_report_pretended(const tutti_trainer *t, tutti_failure *err); /* config->pretended */
void tutti_report_note(const tutti_trainer *t, const char *text);
/* ends: whoever asked for the run hears the words as its failure. */
tutti_status tutti_report_diverged(const tutti_trainer *t, const char *words, bool ends, tutti_failure *err);
tutti_status tutti_report_begin(const tutti_trainer *t, bool was_done,
                                tutti_failure *err); /* its plan, unless it was done */
tutti_status tutti_report_step(tutti_trainer *t, tutti_failure *err);
tutti_status tutti_report_eval(tutti_trainer *t, const tutti_eval_result *r, tutti_failure *err);
/* A line a ReLU, of a test of so many samples. */
tutti_status tutti_report_sparsity(tutti_trainer *t, int64_t nsamples, tutti_failure *err);
/* Of a new run: which do before anything has been tested, by shapes alone. */
tutti_status tutti_report_first_skips(tutti_trainer *t, tutti_failure *err);
/* Decides by the same test which convolutions skip zeros from now on, on every rank, and says it where that has changed. */
tutti_status tutti_report_skips(tutti_trainer *t, int64_t nsamples, tutti_failure *err);
void tutti_report_bears(const tutti_trainer *t);
void tutti_report_saved(const tutti_trainer *t);
void tutti_report_traced(const tutti_trainer *t, int64_t first, int64_t last);
/* What each part of the run took, mean of all ranks; of it, what rank 0 did for workers of other hosts, the sum. */
tutti_status tutti_report_cost(tutti_trainer *t, const double seconds[TUTTI_NCOSTS], double served, tutti_failure *err);
tutti_status tutti_report_end(tutti_trainer *t, const tutti_train_result *r, tutti_failure *err);

#endif
