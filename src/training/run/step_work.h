/* SPDX-License-Identifier: Apache-2.0 */
/* step_work.h: what a step launches on its device: for each kind of work a function and its arguments, which hold addresses of the device and
 * numbers, and nothing of the trainer. On the cpu the functions are what runs; another row knows them by their addresses.
 * Threads: shared. */
#ifndef TUTTI_STEP_WORK_H
#define TUTTI_STEP_WORK_H

#include "../../device/device_row.h"
#include "../method/centre.h"
#include "../method/rule.h"

/* A pass of a kernel. */
typedef struct {
    tutti_kernel *kernel;
    tutti_kernel_args args;
} tutti_kernel_work;
void tutti_work_forward(const void *kernel_work);
void tutti_work_backward_params(const void *kernel_work);
void tutti_work_backward_data(const void *kernel_work);

/* out = the sum of gradients of one value. */
typedef struct {
    const tutti_value *value;
    void *out;
    int nparts, nthreads;
    const void *parts[TUTTI_MAX_SUM_PARTS];
} tutti_sum_work;
void tutti_work_sum(const void *sum_work);

/* A value as row-major f32, and back. */
typedef struct {
    const tutti_value *value;
    const void *from;
    void *to;
} tutti_plain_work;
void tutti_work_to_plain(const void *plain_work);
void tutti_work_from_plain(const void *plain_work);

/* Rows of all outputs and, of each part, a block of its own: into the blocks, or out of them. */
typedef struct {
    float *rows, *blocks;
    int64_t nsamples, noutputs;
    int parts;
    bool into;
} tutti_blocks_work;
void tutti_work_blocks(const void *blocks_work);

/* Control numbers that no kernel writes: how many are right, whether this rank asks to stop; a loss that nobody has computed. */
typedef struct {
    const int32_t *correct;
    float *counted, *stops;
    bool stop;
} tutti_control_work;
void tutti_work_control(const void *control_work);
void tutti_work_no_loss(const void *loss); /* float ** */

/* The rule, on elements of one parameter; what running statistics have instead. */
typedef struct {
    tutti_update rule;
    tutti_update_step step;
    tutti_param_kind kind;
    tutti_update_slice slice;
} tutti_update_work;
void tutti_work_update(const void *update_work);

typedef struct {
    double take;
    int nslots;
    float *w;
    const float *sum;
    int64_t n;
} tutti_statistic_work;
void tutti_work_statistic(const void *statistic_work);

/* Looks: *bad counts the vectors that are not finite; squares are added to. */
typedef struct {
    const float *x;
    int64_t n, *squares; /* NULL: nobody wants them */
    int64_t *bad;
} tutti_finite_work;
void tutti_work_finite(const void *finite_work);

typedef struct {
    tutti_update rule;
    tutti_update_step step;
    tutti_update_slice slice;
    int64_t *squares, *bad;
} tutti_norms_work;
void tutti_work_norms(const void *norms_work);

/* Zeros of a value are added to *zeros. */
typedef struct {
    const tutti_value *value;
    const void *memory;
    int64_t *zeros;
} tutti_zeros_work;
void tutti_work_zeros(const void *zeros_work);

typedef struct {
    int64_t *numbers, n;
} tutti_clear_work;
void tutti_work_clear(const void *clear_work);

/* The centre moves (centre.h): other is its own state, or what a worker has seen of it. */
typedef struct {
    tutti_centre rule;
    float alpha;
    int nworkers;
    float *centre, *other, *from;
    int64_t n;
} tutti_centre_work;
void tutti_work_elastic(const void *centre_work);
void tutti_work_outer(const void *centre_work);
void tutti_work_meet(const void *centre_work);
void tutti_work_mean(const void *centre_work);
void tutti_work_read(const void *centre_work); /* from the centre into other */

#endif
