/* SPDX-License-Identifier: Apache-2.0 */
/* centre.c: completes and checks the keys of a job about a centre (centre.h). */
#include "centre.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A centre moves by this fraction of its distance to the mean of all workers, as in the launch file of the EASGD
 * authors (mpiT). */
static const double AUTO_MOVE = 0.9;

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
