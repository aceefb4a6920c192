/* SPDX-License-Identifier: Apache-2.0 */
/* centre.c: the loops over a centre, written once; the compiler makes vectors of them for each instruction set. As in rule_loops.h no
 * multiplication is fused with an addition, so all of them, and all their tails, give equal bits. */
#include "centre.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/relaxed.h"

/* By this share of its distance to the mean of all workers a centre moves, as in the launch file of the EASGD authors (mpiT). */
static const double AUTO_MOVE = 0.9;

#define ELEMENTS static inline __attribute__((always_inline))

ELEMENTS void elastic(float alpha, float nworkers, float *restrict c, const float *restrict sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++) c[i] += alpha * (sum[i] - nworkers * c[i]);
}

ELEMENTS void outer(float rate, float momentum, float *restrict c, float *restrict v, float *restrict w, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float d = c[i] - w[i];
        v[i] = momentum * v[i] + d;
        c[i] -= rate * (d + momentum * v[i]);
        w[i] = c[i];
    }
}

/* Others may change the centre meanwhile: each element is read once. */
ELEMENTS void meet(float alpha, float *c, const float *restrict w, float *restrict seen, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float old = tutti_relaxed_read(&c[i]);
        tutti_relaxed_write(&c[i], old + alpha * (w[i] - old));
        seen[i] = old;
    }
}

#define LOOPS(isa, target)                                                                                             \
    target static void elastic_##isa(float alpha, float nworkers, float *c, const float *sum, int64_t n)               \
    {                                                                                                                  \
        elastic(alpha, nworkers, c, sum, n);                                                                           \
    }                                                                                                                  \
    target static void outer_##isa(float rate, float momentum, float *c, float *v, float *w, int64_t n)                \
    {                                                                                                                  \
        outer(rate, momentum, c, v, w, n);                                                                             \
    }                                                                                                                  \
    target static void meet_##isa(float alpha, float *c, const float *w, float *seen, int64_t n)                       \
    {                                                                                                                  \
        meet(alpha, c, w, seen, n);                                                                                    \
    }                                                                                                                  \
    static const tutti_centre_loops loops_##isa = {elastic_##isa, outer_##isa, meet_##isa};
TUTTI_ISA_EACH(LOOPS)
const tutti_centre_loops *const tutti_centre_rows[TUTTI_NISAS] = TUTTI_ISA_LIST(&loops);

static const tutti_centre_loops *loops_here(void)
{
    return tutti_centre_rows[tutti_isa_here()];
}

void tutti_centre_settle(tutti_centre *c, int nworkers, double largest_rate)
{
    char *end = NULL;
    if (!c->said_rho) return;
    if (!strcmp(c->said_rho, "auto")) {
        c->rho = AUTO_MOVE / (nworkers * largest_rate);
        return;
    }
    c->rho = strtod(c->said_rho, &end);
    if (end == c->said_rho || *end || !isfinite(c->rho) || c->rho < 0) c->rho = (double)NAN;
}

float tutti_centre_alpha(const tutti_centre *c, double lr)
{
    return (float)(lr * c->rho);
}

void tutti_centre_elastic(float alpha, int nworkers, float *centre, const float *sum, int64_t n)
{
    loops_here()->elastic(alpha, (float)nworkers, centre, sum, n);
}

void tutti_centre_outer(const tutti_centre *c, float *centre, float *momentum, float *w, int64_t n)
{
    loops_here()->outer((float)c->outer_rate, (float)c->outer_mu, centre, momentum, w, n);
}

void tutti_centre_meet(float alpha, float *centre, const float *w, float *seen, int64_t n)
{
    enum { BLOCK = 1024 };
    float old[BLOCK];
    if (seen != w) {
        loops_here()->meet(alpha, centre, w, seen, n);
        return;
    }
    for (int64_t at = 0; at < n; at += BLOCK) { /* what comes takes the place of what was brought */
        const int64_t m = n - at < BLOCK ? n - at : BLOCK;
        loops_here()->meet(alpha, centre + at, w + at, old, m);
        memcpy(seen + at, old, sizeof *old * (size_t)m);
    }
}

void tutti_centre_read(const float *centre, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = tutti_relaxed_read(&centre[i]);
}

void tutti_centre_mean(int nworkers, float *centre, const float *sum, int64_t n)
{
    for (int64_t i = 0; i < n; i++) centre[i] = sum[i] / (float)nworkers;
}
