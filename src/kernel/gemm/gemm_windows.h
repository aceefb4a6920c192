/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_windows.h: the windows of a convolution as an operand of matrix products (im2col that is never written whole).
 * No such matrix is written: panels are packed from the activations.
 *
 * Two ways. Where the channels of a position lie side by side, in vectors at least, a row is one run of channels for
 * each tap, found by a pointer. Where they are few or lie apart (an image's), a sample is first laid out in *planes*:
 * channel by channel, padded with zeros, each line cut by the stride's remainders, so that neighbouring windows lie
 * side by side for every tap; with stride 1 that is the sample itself with its padding. */
#ifndef TUTTI_GEMM_WINDOWS_H
#define TUTTI_GEMM_WINDOWS_H

#include "../choose/memory_order.h"
#include "gemm_impl.h"

typedef struct {
    tutti_blocks at; /* of the activations */
    tutti_dtype type;
    int64_t channel, channels; /* the first, how many: those of a group */
    int64_t taps_down, taps_right, stride;
    int64_t top, left;   /* the window of line y begins at line y * stride - top; may be below 0 */
    int64_t down, right; /* windows of a sample */
} tutti_windows;

enum { TUTTI_WINDOWS_MOST_PLANES = 1024 }; /* numbers of a window that is read from planes */

/* Whether this row packs windows by runs of channels; by planes. */
bool tutti_windows_in_runs(const tutti_windows *w, const tutti_gemm_row *row);
bool tutti_windows_in_planes(const tutti_windows *w, const tutti_gemm_row *row);

/* Into a panel of A: windows `position` .. + n of all samples, of tap number `tap` the channels from `from` on, nk of
 * them. */
void tutti_windows_pack_rows(const tutti_windows *w, const tutti_gemm_row *row, const void *memory, int64_t position,
                             int64_t n, int64_t tap, int64_t from, int64_t nk, tutti_gemm_cell *to);
/* Windows as steps of k: `position` .. + n of all samples, and where the channels of one tap lie of each. */
enum { TUTTI_WINDOWS_MOST_STEPS = 1024 };
typedef struct {
    int64_t position, n, tap; /* tap: below 0: none yet */
    const void *at[TUTTI_WINDOWS_MOST_STEPS];
} tutti_windows_steps;
/* Into a panel of B whose columns are the numbers of windows from one on, n of them. */
void tutti_windows_pack_steps(const tutti_windows *w, const tutti_gemm_row *row, const void *memory,
                              tutti_windows_steps *steps, int64_t number, int64_t n, tutti_gemm_cell *to);

/* Planes of one sample: bytes of them; filled; the same panels from them. There a panel of A is all of k, of windows of
 * one sample; one of B is of one line of windows. */
size_t tutti_windows_plane_bytes(const tutti_windows *w);
void tutti_windows_fill_planes(const tutti_windows *w, const void *memory, int64_t sample, void *planes);
void tutti_windows_pack_plane_rows(const tutti_windows *w, const tutti_gemm_row *row, const void *planes,
                                   int64_t position, int64_t n, tutti_gemm_cell *to);
void tutti_windows_pack_plane_steps(const tutti_windows *w, const tutti_gemm_row *row, const void *planes, int64_t line,
                                    int64_t number, int64_t n, tutti_gemm_cell *to);

#endif
