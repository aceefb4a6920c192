/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_windows.h: the windows of a convolution as an operand of matrix products (im2col). The matrix of windows is
 * never written whole: panels are packed from the activations.
 *
 * A *tap* is one position (row and column) of the kernel. There are two ways to read windows. If the channels of a
 * position lie side by side and fill vectors, each tap of a window is one run of channels, found by a pointer. If
 * channels are few or lie apart, as in an image, a sample is first copied into *planes*. They hold channel after
 * channel, padded with zeros. Each line is cut into as many parts as the stride: part p has the columns p, p + stride,
 * p + 2 stride and so on. Then neighbouring windows lie side by side for every tap. With stride 1 the planes are the
 * sample itself with its padding. */
#ifndef TUTTI_GEMM_WINDOWS_H
#define TUTTI_GEMM_WINDOWS_H

#include "../choose/memory_order.h"
#include "gemm_impl.h"

typedef struct {
    tutti_blocks at; /* the order of the activations, as blocks of channels */
    tutti_dtype type;
    int64_t channel, channels; /* the first channel of a group, and how many channels it has */
    int64_t taps_down, taps_right, stride;
    /* a window of output line y begins at input line y * stride - top, which may be below 0; left: the same for
     * columns */
    int64_t top, left;
    int64_t down, right; /* number of windows of a sample, down and to the right */
} tutti_windows;

enum { TUTTI_WINDOWS_MOST_PLANES = 1024 }; /* largest number of elements in a window that is read from planes */

/* True if this row of loops packs windows by runs of channels, false if it packs them from planes. */
bool tutti_windows_in_runs(const tutti_windows *w, const tutti_gemm_row *row);
bool tutti_windows_in_planes(const tutti_windows *w, const tutti_gemm_row *row);

/* Packs windows into a panel of A. The rows are windows [position, position + n), counted over all samples. Along k lie
 * nk channels of tap `tap`, from channel `from` on. */
void tutti_windows_pack_rows(const tutti_windows *w, const tutti_gemm_row *row, const void *memory, int64_t position,
                             int64_t n, int64_t tap, int64_t from, int64_t nk, tutti_gemm_cell *to);
/* Windows as steps of k: windows [position, position + n), counted over all samples. at: for each window a pointer to
 * the channels of one tap. */
enum { TUTTI_WINDOWS_MOST_STEPS = 1024 };
typedef struct {
    int64_t position, n, tap; /* tap: the tap whose channels the pointers point to; negative before the first call */
    const void *at[TUTTI_WINDOWS_MOST_STEPS];
} tutti_windows_steps;
/* Packs windows into a panel of B: each window is a step of k, and the n columns are the windows' elements from
 * `number` on. */
void tutti_windows_pack_steps(const tutti_windows *w, const tutti_gemm_row *row, const void *memory,
                              tutti_windows_steps *steps, int64_t number, int64_t n, tutti_gemm_cell *to);

/* The same for windows that are read from planes. The functions return the bytes of one sample's planes, fill the
 * planes, and pack panels from them. A panel of A then holds all of k for windows of one sample. A panel of B holds one
 * line of windows. */
size_t tutti_windows_plane_bytes(const tutti_windows *w);
void tutti_windows_fill_planes(const tutti_windows *w, const void *memory, int64_t sample, void *planes);
void tutti_windows_pack_plane_rows(const tutti_windows *w, const tutti_gemm_row *row, const void *planes,
                                   int64_t position, int64_t n, tutti_gemm_cell *to);
void tutti_windows_pack_plane_steps(const tutti_windows *w, const tutti_gemm_row *row, const void *planes, int64_t line,
                                    int64_t number, int64_t n, tutti_gemm_cell *to);

#endif
