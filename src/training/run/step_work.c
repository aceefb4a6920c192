/* SPDX-License-Identifier: Apache-2.0 */
/* step_work.c: the cpu's side of what a step launches: each function hands its arguments to the loop or the kernel that does it. */
#include "step_work.h"

#include <math.h>
#include <string.h>

#include "../../tensor/elementwise.h"

/* ---- kernels ---- */

void tutti_work_forward(const void *kernel_work)
{
    const tutti_kernel_work *w = kernel_work;
    w->kernel->row->forward(w->kernel, &w->args);
}

void tutti_work_backward_params(const void *kernel_work)
{
    const tutti_kernel_work *w = kernel_work;
    w->kernel->row->backward_params(w->kernel, &w->args);
}

void tutti_work_backward_data(const void *kernel_work)
{
    const tutti_kernel_work *w = kernel_work;
    w->kernel->row->backward_data(w->kernel, &w->args);
}

void tutti_work_sum(const void *sum_work)
{
    const tutti_sum_work *w = sum_work;
    tutti_value_sum(w->value, w->parts, w->nparts, w->out, w->nthreads);
}

void tutti_work_to_plain(const void *plain_work)
{
    const tutti_plain_work *w = plain_work;
    tutti_value_to_plain(w->value, w->from, w->to);
}

void tutti_work_from_plain(const void *plain_work)
{
    const tutti_plain_work *w = plain_work;
    tutti_value_from_plain(w->value, w->from, w->to);
}

void tutti_work_blocks(const void *blocks_work)
{
    const tutti_blocks_work *w = blocks_work;
    const int64_t n = w->noutputs / w->parts;
    for (int64_t row = 0; row < w->nsamples; row++)
        for (int part = 0; part < w->parts; part++) {
            float *there = w->blocks + (part * w->nsamples + row) * n, *here = w->rows + row * w->noutputs + part * n;
            memcpy(w->into ? there : here, w->into ? here : there, (size_t)n * sizeof(float));
        }
}

void tutti_work_control(const void *control_work)
{
    const tutti_control_work *w = control_work;
    *w->counted = (float)*w->correct;
    *w->stops = w->stop ? 1 : 0;
}

void tutti_work_no_loss(const void *loss)
{
    **(float *const *)loss = NAN;
}

/* ---- the rule ---- */

void tutti_work_update(const void *update_work)
{
    const tutti_update_work *w = update_work;
    tutti_update_apply(&w->rule, &w->step, w->kind, &w->slice);
}

void tutti_work_statistic(const void *statistic_work)
{
    const tutti_statistic_work *w = statistic_work;
    tutti_update_statistic(w->take, w->nslots, w->w, w->sum, w->n);
}

void tutti_work_finite(const void *finite_work)
{
    const tutti_finite_work *w = finite_work;
    *w->bad += !(w->squares ? tutti_squares_add(w->x, w->n, w->squares) : tutti_elementwise_is_finite(w->x, w->n));
}

void tutti_work_norms(const void *norms_work)
{
    const tutti_norms_work *w = norms_work;
    *w->bad += !tutti_update_look(&w->rule, &w->step, &w->slice, w->squares);
}

void tutti_work_zeros(const void *zeros_work)
{
    const tutti_zeros_work *w = zeros_work;
    *w->zeros += tutti_value_zeros(w->value, w->memory);
}

void tutti_work_clear(const void *clear_work)
{
    const tutti_clear_work *w = clear_work;
    memset(w->numbers, 0, sizeof *w->numbers * (size_t)w->n);
}

/* ---- the centre ---- */

void tutti_work_elastic(const void *centre_work)
{
    const tutti_centre_work *w = centre_work;
    tutti_centre_elastic(w->alpha, w->nworkers, w->centre, w->from, w->n);
}

void tutti_work_outer(const void *centre_work)
{
    const tutti_centre_work *w = centre_work;
    tutti_centre_outer(&w->rule, w->centre, w->other, w->from, w->n);
}

void tutti_work_meet(const void *centre_work)
{
    const tutti_centre_work *w = centre_work;
    tutti_centre_meet(w->alpha, w->centre, w->from, w->other, w->n);
}

void tutti_work_mean(const void *centre_work)
{
    const tutti_centre_work *w = centre_work;
    tutti_centre_mean(w->nworkers, w->centre, w->from, w->n);
}

void tutti_work_read(const void *centre_work)
{
    const tutti_centre_work *w = centre_work;
    tutti_centre_read(w->centre, w->other, w->n);
}
