/* SPDX-License-Identifier: Apache-2.0 */
/* step_work.h: the work that a step launches on its device: kinds of work by number, and their arguments. Arguments
 * hold the device's addresses and numbers, and nothing of the trainer. Each kind of device has a table with a row for
 * each kind of work: the cpu's is in step_work.c, CUDA's in cuda/step_cuda.c. Threads: any. */
#ifndef TUTTI_STEP_WORK_H
#define TUTTI_STEP_WORK_H

#include "../../../device/device_row.h"
#include "../../method/rule/rule.h"
#include "../../plan/action/action.h"

typedef enum {
    TUTTI_WORK_FORWARD, /* arguments: tutti_kernel_work */
    TUTTI_WORK_PARAMS,
    TUTTI_WORK_DATA,
    TUTTI_WORK_SUM,
    TUTTI_WORK_TO_PLAIN, /* arguments: tutti_plain_work */
    TUTTI_WORK_FROM_PLAIN,
    TUTTI_WORK_BLOCKS,
    TUTTI_WORK_CONTROL,
    TUTTI_WORK_NO_LOSS, /* arguments: float *, the loss */
    TUTTI_WORK_UPDATE,
    TUTTI_WORK_STATISTIC,
    TUTTI_WORK_FINITE,
    TUTTI_WORK_NORMS,
    TUTTI_WORK_ZEROS,
    TUTTI_WORK_CLEAR,
    TUTTI_WORK_ELEMENTS, /* arguments: tutti_elements, for an action whose row has a loop */
    TUTTI_NWORKS
} tutti_work_kind;
/* Returns the row of this kind of work in the table of the device's kind. */
const tutti_queue_work *tutti_work_of(const tutti_device *d, tutti_work_kind kind);
static inline tutti_event tutti_work_launch(const tutti_device *d, tutti_work_kind kind, const void *args)
{
    return d->launch(d, tutti_work_of(d, kind), args);
}
extern const tutti_queue_work tutti_works_cpu[TUTTI_NWORKS], tutti_works_cuda[TUTTI_NWORKS];

/* Prepares what a device needs for its work, such as its kernels, so that running work cannot fail. Call it before work
 * is launched, while no other thread launches. rule: the rule of the updates and norms to come; NULL = none. May be
 * called again with other rules. TUTTI_ERR_FAILED with a message. */
tutti_status tutti_step_prepare(const tutti_device *d, const tutti_rule_row *rule, tutti_failure *err);
tutti_status tutti_step_prepare_cuda(const tutti_device *d, const tutti_rule_row *rule, tutti_failure *err);

/* A pass of a kernel. Its seed, step and first_sample vary. */
typedef struct {
    tutti_kernel *kernel;
    tutti_kernel_args args;
} tutti_kernel_work;

/* out = the sum of the parts of the gradient of one layer's output. */
typedef struct {
    const tutti_value *value;
    void *out;
    int nparts, nthreads;
    const void *parts[TUTTI_MAX_SUM_PARTS];
} tutti_sum_work;

/* Converts numbers in the order of a tutti_value, such as a layer's output, to row-major f32, and back. */
typedef struct {
    const tutti_value *value;
    const void *from;
    void *to;
} tutti_plain_work;

/* Copies rows of all outputs into blocks, one block for each part, or back. */
typedef struct {
    float *rows, *blocks;
    int64_t nsamples, noutputs;
    int parts;
    bool into;
} tutti_blocks_work;

/* Writes the control numbers that no kernel writes: how many answers are right, whether this rank asks to stop, and a
 * loss if none was computed. */
typedef struct {
    const int32_t *correct;
    float *counted, *stops;
    float stop; /* the value that this rank adds to the control number @stop; varies */
} tutti_control_work;

/* Parameters are many, and mostly short, so one launch takes several. Entries behind the last one are zero. */
enum { TUTTI_WORK_TOGETHER = 16 };

/* Arguments of an update: the rule, on elements of parameters that do not overlap. For running statistics
 * tutti_statistic_work takes its place. */
typedef struct {
    const tutti_rule_row *rule;
    int nslices;
    tutti_update_slice slices[TUTTI_WORK_TOGETHER]; /* the slices to update; slices[i].alpha is not read */
    struct {
        float numbers[TUTTI_RULE_MAX_NUMBERS]; /* constants of the step: tutti_update_prepare */
        float alpha;                           /* alpha of all slices, in place of slices[i].alpha */
    } varying[TUTTI_WORK_TOGETHER];
} tutti_update_work;

typedef struct {
    double take;
    float *w;
    const float *sum;
    int64_t n;
} tutti_statistic_slice;
typedef struct {
    int nslots, nslices;
    tutti_statistic_slice slices[TUTTI_WORK_TOGETHER];
} tutti_statistic_work;

/* Checks vectors and sums their squares: *bad counts the vectors that are not finite; squares are added to
 * `squares`. */
typedef struct {
    int nvectors;
    const float *x[TUTTI_WORK_TOGETHER];
    int64_t n[TUTTI_WORK_TOGETHER];
    int64_t *squares; /* sums to which squares are added; NULL = not needed */
    int64_t *bad;
} tutti_finite_work;

typedef struct {
    const tutti_rule_row *rule;
    tutti_update_slice slice;
    int64_t *squares, *bad;
    float numbers[TUTTI_RULE_MAX_NUMBERS]; /* the rule's constants for this step (tutti_update_prepare) */
} tutti_norms_work;

/* Adds the number of zeros in a layer's output to *zeros. */
typedef struct {
    const tutti_value *value;
    const void *memory;
    int64_t *zeros;
} tutti_zeros_work;

typedef struct {
    int64_t *numbers, n;
} tutti_clear_work;

/* Prepares an element loop. TUTTI_ERR_FAILED, with a message, if the device lacks it. words: the action's words. */
tutti_status tutti_step_prepare_loop(const tutti_device *d, const tutti_element_loop *loop, const char *words,
                                     tutti_failure *err);
bool tutti_step_has_loop_cuda(const tutti_element_loop *loop);

#endif
