/* SPDX-License-Identifier: Apache-2.0 */
/* step_work.h: what a step launches on its device: kinds of work by number, and their arguments, which hold addresses
 * of the device and numbers, and nothing of the trainer. Each kind of device has a table with a row a kind of work: the
 * cpu's is step_work.c, CUDA's cuda/step_cuda.c. Threads: shared. */
#ifndef TUTTI_STEP_WORK_H
#define TUTTI_STEP_WORK_H

#include "../../../device/device_row.h"
#include "../../method/rule/rule.h"
#include "../../plan/action/action.h"

typedef enum {
    TUTTI_WORK_FORWARD, /* tutti_kernel_work */
    TUTTI_WORK_PARAMS,
    TUTTI_WORK_DATA,
    TUTTI_WORK_SUM,
    TUTTI_WORK_TO_PLAIN, /* tutti_plain_work */
    TUTTI_WORK_FROM_PLAIN,
    TUTTI_WORK_BLOCKS,
    TUTTI_WORK_CONTROL,
    TUTTI_WORK_NO_LOSS, /* float *: the loss */
    TUTTI_WORK_UPDATE,
    TUTTI_WORK_STATISTIC,
    TUTTI_WORK_FINITE,
    TUTTI_WORK_NORMS,
    TUTTI_WORK_ZEROS,
    TUTTI_WORK_CLEAR,
    TUTTI_WORK_ELEMENTS, /* tutti_elements: of an action whose row has a loop */
    TUTTI_NWORKS
} tutti_work_kind;
/* The row of this kind of work in the table of the device's kind. */
const tutti_queue_work *tutti_work_of(const tutti_device *d, tutti_work_kind kind);
static inline tutti_event tutti_work_launch(const tutti_device *d, tutti_work_kind kind, const void *args)
{
    return d->launch(d, tutti_work_of(d, kind), args);
}
extern const tutti_queue_work tutti_works_cpu[TUTTI_NWORKS], tutti_works_cuda[TUTTI_NWORKS];

/* Finds what a device needs for its work, such as kernels, so that running work cannot fail. Callers prepare before
 * they launch, from a thread beside which nobody launches. rule: that of the updates and norms to come; NULL: none. May
 * be called again, with other rules. TUTTI_ERR_FAILED with words. */
tutti_status tutti_step_prepare(const tutti_device *d, const tutti_rule_row *rule, tutti_failure *err);
tutti_status tutti_step_prepare_cuda(const tutti_device *d, const tutti_rule_row *rule, tutti_failure *err);

/* A pass of a kernel. seed, step and first_sample of args vary. */
typedef struct {
    tutti_kernel *kernel;
    tutti_kernel_args args;
} tutti_kernel_work;

/* out = the sum of gradients of one value. */
typedef struct {
    const tutti_value *value;
    void *out;
    int nparts, nthreads;
    const void *parts[TUTTI_MAX_SUM_PARTS];
} tutti_sum_work;

/* A value as row-major f32, and back. */
typedef struct {
    const tutti_value *value;
    const void *from;
    void *to;
} tutti_plain_work;

/* Rows of all outputs and, of each part, a block of its own: into the blocks, or out of them. */
typedef struct {
    float *rows, *blocks;
    int64_t nsamples, noutputs;
    int parts;
    bool into;
} tutti_blocks_work;

/* Control numbers that no kernel writes: how many are right, whether this rank asks to stop; a loss that nobody has
 * computed. */
typedef struct {
    const int32_t *correct;
    float *counted, *stops;
    float stop; /* 1 or 0; varies */
} tutti_control_work;

/* Parameters are many, and mostly short: a launch takes several. What is behind the last one is zero. */
enum { TUTTI_WORK_TOGETHER = 16 };

/* The rule, on elements of parameters that overlap nothing; what running statistics have instead. */
typedef struct {
    const tutti_rule_row *rule;
    int nslices;
    tutti_update_slice slices[TUTTI_WORK_TOGETHER]; /* alpha is not looked at */
    struct {
        float numbers[TUTTI_RULE_MAX_NUMBERS]; /* of the step: tutti_update_prepare */
        float alpha;                           /* slices[i].alpha */
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

/* Looks: *bad counts the vectors that are not finite; squares of all are added to. */
typedef struct {
    int nvectors;
    const float *x[TUTTI_WORK_TOGETHER];
    int64_t n[TUTTI_WORK_TOGETHER];
    int64_t *squares; /* NULL: nobody wants them */
    int64_t *bad;
} tutti_finite_work;

typedef struct {
    const tutti_rule_row *rule;
    tutti_update_slice slice;
    int64_t *squares, *bad;
    float numbers[TUTTI_RULE_MAX_NUMBERS]; /* vary; as of an update */
} tutti_norms_work;

/* Zeros of a value are added to *zeros. */
typedef struct {
    const tutti_value *value;
    const void *memory;
    int64_t *zeros;
} tutti_zeros_work;

typedef struct {
    int64_t *numbers, n;
} tutti_clear_work;

/* Whether the device has this loop; TUTTI_ERR_FAILED with words. words: of the action. */
tutti_status tutti_step_prepare_loop(const tutti_device *d, const tutti_element_loop *loop, const char *words,
                                     tutti_failure *err);
bool tutti_step_has_loop_cuda(const tutti_element_loop *loop);

#endif
