/* SPDX-License-Identifier: Apache-2.0 */
/* step_work.c: finds the table of step work of a device, and has the table of the cpu: each function passes its
 * arguments to a loop or kernel. */
#include "step_work.h"

#include <math.h>
#include <string.h>

#include "../../../tensor/elementwise.h"
#include "step_table.h"

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
    for (int i = 0; i < w->nslices; i++) {
        tutti_update_slice slice = w->slices[i];
        slice.alpha = w->varying[i].alpha;
        tutti_update_run(w->rule, w->varying[i].numbers, &slice);
    }
}

static void statistic_work(const tutti_device *d, const void *statistic_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_statistic_work *w = statistic_work;
    for (int i = 0; i < w->nslices; i++)
        tutti_update_statistic(w->slices[i].take, w->nslots, w->slices[i].w, w->slices[i].sum, w->slices[i].n);
}

static void finite_work(const tutti_device *d, const void *finite_work, const void *varying)
{
    (void)d, (void)varying;
    const tutti_finite_work *w = finite_work;
    for (int i = 0; i < w->nvectors; i++)
        *w->bad += !(w->squares ? tutti_squares_add(w->x[i], w->n[i], w->squares)
                                : tutti_elementwise_is_finite(w->x[i], w->n[i]));
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

static void elements_work(const tutti_device *d, const void *elements, const void *varying)
{
    (void)d, (void)varying;
    tutti_elements_run(elements);
}

/* ---- the tables ---- */

const tutti_queue_work tutti_works_cpu[TUTTI_NWORKS] = TUTTI_STEP_TABLE;

const tutti_queue_work *tutti_work_of(const tutti_device *d, tutti_work_kind kind)
{
    static const tutti_queue_work *const works[TUTTI_NDEVICE_KINDS] = {
        [TUTTI_DEVICE_CPU] = tutti_works_cpu, [TUTTI_DEVICE_CUDA] = tutti_works_cuda};
    return &works[d->kind][kind];
}

tutti_status tutti_step_prepare(const tutti_device *d, const tutti_rule_row *rule, tutti_failure *err)
{
    return d->kind == TUTTI_DEVICE_CUDA ? tutti_step_prepare_cuda(d, rule, err) : TUTTI_OK;
}

tutti_status tutti_step_prepare_loop(const tutti_device *d, const tutti_element_loop *loop, const char *words,
                                     tutti_failure *err)
{
    if (!loop || d->kind != TUTTI_DEVICE_CUDA || tutti_step_has_loop_cuda(loop)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "'%s' has no loop for a card; use 'device: cpu' or another method", words);
}
