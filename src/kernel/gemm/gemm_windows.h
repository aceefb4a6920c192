/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_windows.h: the windows of a convolution as an operand of matrix products (im2col). The matrix of windows is
 * never written whole: panels are packed from the activations.
 *
 * There are two ways. If the channels of a position lie side by side and fill vectors, a window is one run of channels
 * for each tap, found by a pointer. If channels are few or lie apart (an image's), a sample is first laid out in
 * *planes*: channel by channel, padded with zeros, each line cut by its columns' remainders by the stride. Then
 * neighbouring windows lie side by side for every tap; with stride 1 the planes are the sample itself with its
 * padding. */
#ifndef TUTTI_GEMM_WINDOWS_H
#define TUTTI_GEMM_WINDOWS_H

#include "../choose/memory_order.h"
#include "gemm_impl.h"

typedef struct {
    tutti_blocks at; /* the order of the activations, as blocks of channels */
    tutti_dtype type;
    int64_t channel, channels; /* the first channel of a group, and how many channels it has */
    int64_t taps_down, taps_right, stride;
    int64_t top, left;   /* the window of line y begins at line y * stride - top; may be below 0 */
    int64_t down, right; /* windows of a sample, down and to the right */
} tutti_windows;

enum { TUTTI_WINDOWS_MOST_PLANES = 1024 }; /* the most elements in a window that is read from planes */

/* True if this row packs windows by runs of channels; false if by planes. */
bool tutti_windows_in_runs(const tutti_windows *w, const tutti_gemm_row *row);
bool tutti_windows_in_planes(const tutti_windows *w, const tutti_gemm_row *row);

/* Packs into a panel of A the windows `position` .. + n of all samples: nk channels, from `from` on, of tap `tap`. */
void tutti_windows_pack_rows(const tutti_windows *w, const tutti_gemm_row *row, const void *memory, int64_t position,
                             int64_t n, int64_t tap, int64_t from, int64_t nk, tutti_gemm_cell *to);
/* Windows as steps of k: windows `position` .. + n of all samples, with pointers to the channels of one tap in each. */
enum { TUTTI_WINDOWS_MOST_STEPS = 1024 };
typedef struct {
    int64_t position, n, tap; /* tap: the tap whose channels the pointers point to; negative before the first call */
    const void *at[TUTTI_WINDOWS_MOST_STEPS];
} tutti_windows_steps;
/* Packs into a panel of B, whose columns are n elements of the windows, from `number` on. */
void tutti_windows_pack_steps(const tutti_windows *w, const tutti_gemm_row *row, const void *memory,
                              tutti_windows_steps *steps, int64_t number, int64_t n, tutti_gemm_cell *to);

/* The same for windows that are read from planes: functions that return the bytes of one sample's planes, fill the
 * planes, and pack panels from them. A panel of A then holds all of k, for windows of one sample; a panel of B holds
 * one line of windows. */
size_t tutti_windows_plane_bytes(const tutti_windows *w);
void tutti_windows_fill_planes(const tutti_windows *w, const void *memory, int64_t sample, void *planes);
void tutti_windows_pack_plane_rows(const tutti_windows *w, const tutti_gemm_row *row, const void *planes,
                                   int64_t position, int64_t n, tutti_gemm_cell *to);
void tutti_windows_pack_plane_steps(const tutti_windows *w, const tutti_gemm_row *row, const void *planes, int64_t line,
                                    int64_t number, int64_t n, tutti_gemm_cell *to);

#endif
