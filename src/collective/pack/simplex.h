/* SPDX-License-Identifier: Apache-2.0 */
/* simplex.h: small linear programs, dense: maximise c z under A z <= b, z >= 0, with b >= 0, so that z = 0 is a start.
 * Rows may be added between solves. For the few hundred rows and columns of a machine's links, trees or cuts. Threads:
 * owner. */
#ifndef TUTTI_SIMPLEX_H
#define TUTTI_SIMPLEX_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t ncolumns, nrows, room;
    double *goal;  /* ncolumns */
    double *rows;  /* nrows x ncolumns */
    double *limit; /* nrows, >= 0 */
} tutti_lp;

void tutti_lp_init(tutti_lp *lp, int32_t ncolumns);
void tutti_lp_release(tutti_lp *lp);
/* A new row of zeros with this limit; fill it in. Valid until the next row. */
double *tutti_lp_row(tutti_lp *lp, double limit);
/* z and the goal's value. False: unbounded, or not finished after a great many steps. */
bool tutti_lp_solve(const tutti_lp *lp, double *z, double *value);

#endif
