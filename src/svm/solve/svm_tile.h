/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile.h: the innermost loop of training and prediction: kernel values between a tile of sources (support vectors,
 * members of a working set) and many target rows, in vector lanes.
 *
 * A tile holds up to `lanes` source rows dense and side by side: entry f of source c lies at dense[slot(f) * lanes +
 * c]. A target row then needs one broadcast and a few contiguous multiply-adds for each of its entries: no gathers, no
 * merge of indices, and lanes values come out together. Where the data are wide only features that some source has get
 * a slot; slot 0 is zeros.
 *
 * Bits: a value depends on its two rows, the kernel and the number type alone (entries are summed in ascending order,
 * one fused multiply-add each), not on the tile, lane, batch or thread, and K(u, v) = K(v, u). avx2 and avx512 give
 * equal bits.
 *
 * Threads: a tile is filled by its owner; then shared. */
#ifndef TUTTI_SVM_TILE_H
#define TUTTI_SVM_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/svm.h"

/* Rows in the form that the loops need: values in the type of the tile, and the indices of the data themselves. */
typedef struct {
    const int64_t *start;
    const int32_t *index;
    const double *value;  /* [nnz] values in f64 */
    const float *value32; /* [nnz] values in f32; NULL if the type is f64 */
    const double *square; /* |row|^2 of each row */
} tutti_svm_rows;

/* The target rows of a tile: rows[which[t]] for t in [begin, end). */
typedef struct {
    const tutti_svm_rows *rows;
    const int32_t *which; /* rows that are computed; NULL means rows[t] */
    int64_t begin, end;
} tutti_svm_targets;

/* Kept kernel values: row[c][t] of source c < n, at most `lanes` sources, for t in [begin, end). */
typedef struct {
    const void *const *row;
    int n;
    int64_t begin, end;
} tutti_svm_kept;

typedef struct tutti_svm_tile tutti_svm_tile;

/* Creates a tile. precision: F32 or F64 (of values and their sums). width: the largest index. TUTTI_ERR_USAGE if degree
 * or gamma is negative or a parameter is not finite. */
tutti_status tutti_svm_tile_create(const tutti_svm_kernel *kernel, tutti_svm_precision precision, int32_t width,
                                   tutti_svm_tile **out, tutti_failure *err);
void tutti_svm_tile_destroy(tutti_svm_tile *tile);
int tutti_svm_tile_lanes(const tutti_svm_tile *tile); /* Returns 64 for f32, 32 for f64. */

/* Takes the sources rows[which[0 .. n - 1]], n <= lanes; if which is NULL, rows first .. first + n - 1. The rows may be
 * freed afterwards. */
void tutti_svm_tile_fill(tutti_svm_tile *tile, const tutti_svm_rows *rows, const int32_t *which, int64_t first, int n);
/* Adds to the sums of targets: sum[t] += sum over c of weight[c] * K(source c, target t), in f64, in an order that c
 * alone determines. */
void tutti_svm_tile_sum(const tutti_svm_tile *tile, const tutti_svm_targets *targets, const double *weight,
                        double *sum);
/* Writes out[c * stride + t] = K(source c, target t) for each source c, in the tile's precision. */
void tutti_svm_tile_values(const tutti_svm_tile *tile, const tutti_svm_targets *targets, void *out, int64_t stride);
/* Adds kept kernel values: sum[t] += sum over c of weight[c] * row[c][t]. It gives the same sum in the same order as
 * tile_sum, from values of this precision that tile_values has made. */
void tutti_svm_kept_sum(tutti_svm_precision precision, const tutti_svm_kept *kept, const double *weight, double *sum);
/* Returns K(row, row). */
double tutti_svm_tile_diagonal(const tutti_svm_tile *tile, const tutti_svm_rows *rows, int64_t row);
/* Returns f64 if f32 would cost accuracy: if eps < 1e-5, or if a bound on the error of f32 values, from the largest
 * |row|^2 and the kernel's parameters, is over 1e-6. */
tutti_svm_precision tutti_svm_precision_for(const tutti_svm_kernel *kernel, double eps, double largest_square);
/* Computes |row|^2 of all rows, and value32 (may be NULL). */
void tutti_svm_rows_measure(const tutti_svm_data *data, double *square, float *value32);

#endif
