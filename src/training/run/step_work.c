/* SPDX-License-Identifier: Apache-2.0 */
/* step_work.c: which table of work a device has, and the cpu's: each function hands its arguments to the loop or the kernel that does it. */
#include "step_work.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "../../tensor/elementwise.h"

/* ---- kernels ---- */

static void forward_work(const tutti_device *d, const void *kernel_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_kernel_work *w = kernel_work;
    w->kernel->row->forward(w->kernel, &w->args);
}

static void backward_params_work(const tutti_device *d, const void *kernel_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_kernel_work *w = kernel_work;
    w->kernel->row->backward_params(w->kernel, &w->args);
}

static void backward_data_work(const tutti_device *d, const void *kernel_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_kernel_work *w = kernel_work;
    w->kernel->row->backward_data(w->kernel, &w->args);
}

static void sum_work(const tutti_device *d, const void *sum_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_sum_work *w = sum_work;
    tutti_value_sum(w->value, w->parts, w->nparts, w->out, w->nthreads);
}

static void to_plain_work(const tutti_device *d, const void *plain_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_plain_work *w = plain_work;
    tutti_value_to_plain(w->value, w->from, w->to);
}

static void from_plain_work(const tutti_device *d, const void *plain_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_plain_work *w = plain_work;
    tutti_value_from_plain(w->value, w->from, w->to);
}

static void blocks_work(const tutti_device *d, const void *blocks_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_blocks_work *w = blocks_work;
    const int64_t n = w->noutputs / w->parts;
    for (int64_t row = 0; row < w->nsamples; row++)
        for (int part = 0; part < w->parts; part++) {
            float *there = w->blocks + (part * w->nsamples + row) * n, *here = w->rows + row * w->noutputs + part * n;
            memcpy(w->into ? there : here, w->into ? here : there, (size_t)n * sizeof(float));
        }
}

static void control_work(const tutti_device *d, const void *control_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_control_work *w = control_work;
    *w->counted = (float)*w->correct;
    *w->stops = w->stop;
}

static void no_loss_work(const tutti_device *d, const void *loss, const void *varying)
{
    (void)d, (void)varying;
    **(float *const *)loss = NAN;
}

/* ---- the rule ---- */

static void update_work(const tutti_device *d, const void *update_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_update_work *w = update_work;
    tutti_update_slice slice = w->slice;
    slice.alpha = w->varying.alpha;
    tutti_update_run(w->rule, w->varying.numbers, &slice);
}

static void statistic_work(const tutti_device *d, const void *statistic_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_statistic_work *w = statistic_work;
    tutti_update_statistic(w->take, w->nslots, w->w, w->sum, w->n);
}

static void finite_work(const tutti_device *d, const void *finite_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_finite_work *w = finite_work;
    *w->bad += !(w->squares ? tutti_squares_add(w->x, w->n, w->squares) : tutti_elementwise_is_finite(w->x, w->n));
}

static void norms_work(const tutti_device *d, const void *norms_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_norms_work *w = norms_work;
    *w->bad += !tutti_update_look(w->rule, w->numbers, &w->slice, w->squares);
}

static void zeros_work(const tutti_device *d, const void *zeros_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_zeros_work *w = zeros_work;
    *w->zeros += tutti_value_zeros(w->value, w->memory);
}

static void clear_work(const tutti_device *d, const void *clear_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_clear_work *w = clear_work;
    memset(w->numbers, 0, sizeof *w->numbers * (size_t)w->n);
}

/* ---- the centre ---- */

static void elastic_work(const tutti_device *d, const void *centre_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_centre_work *w = centre_work;
    tutti_centre_elastic(w->alpha, w->nworkers, w->centre, w->from, w->n);
}

static void outer_work(const tutti_device *d, const void *centre_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_centre_work *w = centre_work;
    tutti_centre_outer(&w->rule, w->centre, w->other, w->from, w->n);
}

static void meet_work(const tutti_device *d, const void *centre_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_centre_work *w = centre_work;
    tutti_centre_meet(w->alpha, w->centre, w->from, w->other, w->n);
}

static void mean_work(const tutti_device *d, const void *centre_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_centre_work *w = centre_work;
    tutti_centre_mean(w->nworkers, w->centre, w->from, w->n);
}

static void read_work(const tutti_device *d, const void *centre_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_centre_work *w = centre_work;
    tutti_centre_read(w->centre, w->other, w->n);
}

/* ---- the tables ---- */

#define WORK(name, type)                                                                                               \
    {                                                                                                                  \
#name, name##_work, sizeof(type), 0, 0                                                                         \
    }
#define VARYING(name, type, first, bytes)                                                                              \
    {                                                                                                                  \
#name, name##_work, sizeof(type), offsetof(type, first), bytes                                                 \
    }

const tutti_queue_work tutti_works_cpu[TUTTI_NWORKS] = {
    [TUTTI_WORK_FORWARD] = VARYING(forward, tutti_kernel_work, args.seed, 3 * sizeof(uint64_t)),
    [TUTTI_WORK_PARAMS] = VARYING(backward_params, tutti_kernel_work, args.seed, 3 * sizeof(uint64_t)),
    [TUTTI_WORK_DATA] = VARYING(backward_data, tutti_kernel_work, args.seed, 3 * sizeof(uint64_t)),
    [TUTTI_WORK_SUM] = WORK(sum, tutti_sum_work),
    [TUTTI_WORK_TO_PLAIN] = WORK(to_plain, tutti_plain_work),
    [TUTTI_WORK_FROM_PLAIN] = WORK(from_plain, tutti_plain_work),
    [TUTTI_WORK_BLOCKS] = WORK(blocks, tutti_blocks_work),
    [TUTTI_WORK_CONTROL] = VARYING(control, tutti_control_work, stop, sizeof(float)),
    [TUTTI_WORK_NO_LOSS] = WORK(no_loss, float *),
    [TUTTI_WORK_UPDATE] = VARYING(update, tutti_update_work, varying, sizeof((tutti_update_work *)0)->varying),
    [TUTTI_WORK_STATISTIC] = WORK(statistic, tutti_statistic_work),
    [TUTTI_WORK_FINITE] = WORK(finite, tutti_finite_work),
    [TUTTI_WORK_NORMS] = VARYING(norms, tutti_norms_work, numbers, sizeof((tutti_norms_work *)0)->numbers),
    [TUTTI_WORK_ZEROS] = WORK(zeros, tutti_zeros_work),
    [TUTTI_WORK_CLEAR] = WORK(clear, tutti_clear_work),
    [TUTTI_WORK_ELASTIC] = VARYING(elastic, tutti_centre_work, alpha, sizeof(float)),
    [TUTTI_WORK_OUTER] = WORK(outer, tutti_centre_work),
    [TUTTI_WORK_MEET] = VARYING(meet, tutti_centre_work, alpha, sizeof(float)),
    [TUTTI_WORK_MEAN] = WORK(mean, tutti_centre_work),
    [TUTTI_WORK_READ] = WORK(read, tutti_centre_work),
};

const tutti_queue_work *tutti_work_of(const tutti_device *d, tutti_work_kind kind)
{
    static const tutti_queue_work *const works[TUTTI_NDEVICE_KINDS] = {
        [TUTTI_DEVICE_CPU] = tutti_works_cpu, [TUTTI_DEVICE_CUDA] = tutti_works_cpu};
    return &works[d->kind][kind];
}
