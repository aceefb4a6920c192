/* SPDX-License-Identifier: Apache-2.0 */
/* centre.h: how the centre moves that workers with weights of their own agree on, and by how much workers are pulled to it.
 *
 *   elastic (Zhang, Choromanska and LeCun 2015; You, Buluc and Demmel 2017, arXiv 1708.02983), alpha = rate * rho:
 *     W_i <- rule(W_i, g_i) - alpha * (W_i - C)      with the rule, in one pass (rule.h): tutti_update_slice.centre
 *     C   <- C + alpha * (sum of W_i - P * C)        all right-hand sides are what was there before
 *   meet, one worker with the centre (the asynchronous and the original EASGD), in its own order of all of them:
 *     C   <- C + alpha * (W_i - C);  W_i <- rule(W_i, g_i) - alpha * (W_i - C), by the C from before
 *   outer (DiLoCo: Douillard et al. 2023, arXiv 2311.08105), as torch.optim.SGD with nesterov=True on the gradient C - mean of W_i:
 *     d = C - mean;  v <- momentum * v + d;  C <- C - rate * (d + momentum * v);  W_i <- C
 *
 * Running statistics are learned by nobody: the centre's are the mean of the workers'.
 * Cost: memory. The pull adds one read (4 bytes) an element to the rule's pass; elastic moves 12 bytes an element, outer 24.
 * Threads: shared (pure functions). */
#ifndef TUTTI_CENTRE_H
#define TUTTI_CENTRE_H

#include <stdint.h>

#include "../../tensor/isa.h"

typedef struct {
    const char *said_rho;        /* what a job says of it: "auto" or a number; NULL = nothing */
    double rho;                  /* elasticity, 0 = workers go alone */
    double outer_rate, outer_mu; /* of the outer rule */
} tutti_centre;

/* Makes rho of what was said, between so many workers at the largest rate of a run; NaN of what is no number of 0 or more. */
void tutti_centre_settle(tutti_centre *c, int nworkers, double largest_rate);
/* The share of their distance by which workers and centre move towards each other at this rate. */
float tutti_centre_alpha(const tutti_centre *c, double lr);

/* sum: of the weights of nworkers. */
void tutti_centre_elastic(float alpha, int nworkers, float *centre, const float *sum, int64_t n);
/* w: the mean of the workers' weights, then the centre's. */
void tutti_centre_outer(const tutti_centre *c, float *centre, float *momentum, float *w, int64_t n);
/* seen: what the centre was; it may be w. Others may do the same to the same elements at the same time: then one of both moves is lost. */
void tutti_centre_meet(float alpha, float *centre, const float *w, float *seen, int64_t n);
/* Copies the centre, while others may change it. */
void tutti_centre_read(const float *centre, float *to, int64_t n);
/* The centre's running statistics. */
void tutti_centre_mean(int nworkers, float *centre, const float *sum, int64_t n);

/* One instruction set's loops. */
typedef struct {
    void (*elastic)(float alpha, float nworkers, float *centre, const float *sum, int64_t n);
    void (*outer)(float rate, float momentum, float *centre, float *v, float *w, int64_t n);
    void (*meet)(float alpha, float *centre, const float *w, float *seen, int64_t n);
} tutti_centre_loops;
extern const tutti_centre_loops *const tutti_centre_rows[TUTTI_NISAS];

#endif
