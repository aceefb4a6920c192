/* SPDX-License-Identifier: Apache-2.0 */
/* product_peak.h: what this core multiplies at most: a loop of multiply-adds that leave their registers never. */
#ifndef TUTTI_BENCH_PRODUCT_PEAK_H
#define TUTTI_BENCH_PRODUCT_PEAK_H

/* Multiplications and additions a second by the instructions of a row of tutti_gemm; 0: no loop for that. CPU time of
 * this thread. */
double product_peak(const char *row);
/* CPU time of this thread, seconds. */
double product_clock(void);

#endif
