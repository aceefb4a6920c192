/* SPDX-License-Identifier: Apache-2.0 */
/* step_schedule.h: predicts a step of data-parallel training from its layers' times and the order of its exchanges,
 * without job or model. All ranks are alike and each has its own batch (weak scaling).
 *
 * The schedules are those of Shi, Wang, Chu and Li (arXiv 1805.03812). io is the time to read and copy a batch, f and b
 * are sums over layers, u is the update, and t_c is the time of an exchange:
 *   bsp      T = io + f + b + sum t_c(l) + u            one thing after the other, a message a layer
 *   bsp-one  T = io + f + b + t_c(all bytes) + u        the same with one message
 *   io       T = max(io, f + b + sum t_c(l) + u)        the next batch is read beside the step
 *   wfbp     T = max(io, f + b + t_no + u)              a layer's exchange begins when its gradient is ready and the
 *            exchange before has ended: c(L) = ready of L, c(l) = max(c(l+1) + t_c(l+1), ready of l); t_no is the part
 *            of the exchanges that ends after the backward pass
 *   mg-wfbp  wfbp with neighbouring layers merged so that it ends first (training/plan/merge.h is exact; the paper's
 *            walk is greedy)
 *   priority wfbp, but of the layers that are ready, the one next to the input goes first, and the next forward pass
 *            waits for each layer's own exchange only (after ByteScheduler, Peng et al., SOSP 2019). A message that
 *            travels is not interrupted
 * If the ranks' own cores move the bytes (cost.overlap 0), nothing hides behind compute, whatever the schedule.
 *
 * Times are whole nanoseconds, so answers are exact. Always bsp >= io >= wfbp >= priority, and mg-wfbp <= the better of
 * wfbp and one message. Threads: any (pure functions). */
#ifndef TUTTI_STEP_SCHEDULE_H
#define TUTTI_STEP_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../training/plan/merge.h"

typedef struct {
    int64_t forward_ns, backward_ns, bytes; /* nanoseconds of the layer's two passes; bytes: of its gradients, 0 =
                                             * nothing is exchanged */
} tutti_step_layer;

typedef struct {
    const tutti_step_layer *layers; /* layers in the order of the forward pass */
    int nlayers;
    int64_t read_ns, copy_ns, update_ns;
} tutti_step_work;

typedef enum { TUTTI_MESSAGES_EACH, TUTTI_MESSAGES_ONE, TUTTI_MESSAGES_BEST } tutti_step_messages;

typedef struct {
    const char *name, *summary;
    bool reads_beside;     /* the next batch is read while this step is computed */
    bool exchanges_beside; /* exchanges begin in the backward pass */
    bool by_need;          /* exchanges end in the next forward pass */
    tutti_step_messages messages;
} tutti_step_schedule;

int tutti_step_schedule_count(void);
const tutti_step_schedule *tutti_step_schedule_at(int i);
const tutti_step_schedule *tutti_step_schedule_find(const char *name); /* Returns the schedule of this name, or NULL. */

typedef struct {
    int64_t step_ns;
    int64_t io_ns, compute_ns;  /* io_ns: reading and copying a batch; compute_ns: all layers forward and backward, and
                                 * the update */
    int64_t exchange_ns;        /* nanoseconds of all messages, one after the other */
    int64_t exposed_ns;         /* nanoseconds of the step minus those of a step without exchanges */
    int64_t lower_ns, upper_ns; /* lower: the longest part of the step; upper: all parts one after the other */
    int nmessages;
} tutti_step_times;

/* Plays a step. cost: the time of a message by its bytes; NULL for one rank, where nothing travels. Cost: O(layers^2)
 * for mg-wfbp and priority. */
void tutti_step_schedule_play(const tutti_step_schedule *s, const tutti_step_work *work,
                              const tutti_exchange_cost *cost, tutti_step_times *out);

#endif
