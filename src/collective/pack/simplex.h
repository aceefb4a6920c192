/* SPDX-License-Identifier: Apache-2.0 */
/* simplex.h: small dense linear programs: maximise c z under A z <= b, z >= 0. b >= 0, so z = 0 is a feasible start.
 * Rows may be added between solves. The solver is for the few hundred rows and columns of a machine's links, trees or
 * cuts. Threads: one at a time. */
#ifndef TUTTI_SIMPLEX_H
#define TUTTI_SIMPLEX_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t ncolumns, nrows, room;
    double *goal;  /* ncolumns coefficients c */
    double *rows;  /* nrows x ncolumns coefficients A */
    double *limit; /* nrows limits b, >= 0 */
} tutti_lp;

void tutti_lp_init(tutti_lp *lp, int32_t ncolumns);
void tutti_lp_release(tutti_lp *lp);
/* Adds a row of zeros with this limit, for the caller to fill. Valid until the next row. */
double *tutti_lp_row(tutti_lp *lp, double limit);
/* Solves for z and the value of the goal. False: unbounded, or not finished after very many steps. */
bool tutti_lp_solve(const tutti_lp *lp, double *z, double *value);

#endif
