/* SPDX-License-Identifier: Apache-2.0 */
/* rate.c: the learning rate of a step, with warm-up and decay: a pure function of the step, so a resumed run needs no
 * state for it.
 *
 * Warm-up is linear by step (Goyal et al. 2017) and comes first; poly and cosine (Loshchilov and Hutter 2017) fall from
 * the end of the warm-up to the end of the run; the milestones of `step` count from the start of the run, as in
 * PyTorch's MultiStepLR. */
#include <math.h>

#include "../method.h"

static double fall(const tutti_rate *r, double done)
{
    const double height = r->lr - r->end_lr;
    if (r->kind == TUTTI_RATE_POLY) return r->end_lr + height * pow(1 - done, r->power);
    return r->end_lr + height * (1 + cos(acos(-1.0) * done)) / 2;
}

double tutti_rate_largest(const tutti_rate *r)
{
    const bool falls = r->kind == TUTTI_RATE_POLY || r->kind == TUTTI_RATE_COSINE;
    double largest = r->lr; /* gamma is at most 1, so no later rate exceeds lr */
    if (r->warmup_epochs > 0) largest = fmax(largest, r->warmup_lr);
    return falls ? fmax(largest, r->end_lr) : largest;
}

double tutti_rate_at(const tutti_rate *r, int64_t step, int64_t steps_per_epoch, int64_t nsteps)
{
    const double warm = r->warmup_epochs * (double)steps_per_epoch;
    if ((double)step < warm) return r->warmup_lr + (r->lr - r->warmup_lr) * (double)step / warm;
    if (r->kind == TUTTI_RATE_CONSTANT) return r->lr;
    if (r->kind == TUTTI_RATE_STEP) {
        double lr = r->lr;
        for (int i = 0; i < r->milestones.n; i++)
            if ((double)step >= r->milestones.values[i] * (double)steps_per_epoch) lr *= r->gamma;
        return lr;
    }
    const double left = (double)nsteps - warm;
    const double done = left > 0 ? ((double)step - warm) / left : 1;
    return fall(r, done < 1 ? done : 1);
}
