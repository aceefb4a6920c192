/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_windows.c: packs panels of a product from the windows of a convolution. */
#include "gemm_windows.h"

#include <assert.h>
#include <string.h>

enum { FEW_CHANNELS = 8, MOST_SIDE = 64 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool tutti_windows_in_runs(const tutti_windows *w, const tutti_gemm_row *row)
{
    return w->at.nblocks == 1 || (w->at.block % row->vector == 0 && w->channel % row->vector == 0);
}

bool tutti_windows_in_planes(const tutti_windows *w, const tutti_gemm_row *row)
{
    const bool few = w->channels == w->at.channels && w->channels < FEW_CHANNELS;
    return few && !row->a_in_tiles && w->taps_down * w->taps_right * w->channels <= TUTTI_WINDOWS_MOST_PLANES;
}

/* ---- runs of channels ---- */

/* Sets a pointer for each window to the first channel that the tap reads. */
static void point(const tutti_windows *w, const char *memory, int64_t position, int64_t n, int64_t tap, const void **at)
{
    const int64_t each = (int64_t)tutti_dtype_bytes(w->type), bytes = w->at.block * each;
    const int64_t sample_bytes = w->at.sample_step * each, plane = w->down * w->right;
    const int64_t tap_down = tap / w->taps_right - w->top, tap_right = tap % w->taps_right - w->left;
    int64_t sample = position / plane, y = position % plane / w->right, x = position % w->right;
    for (; n > 0; x = 0) {
        const int64_t some = least(n, w->right - x), in_y = y * w->stride + tap_down;
        const bool inside = in_y >= 0 && in_y < w->at.height;
        const char *line = memory + sample * sample_bytes + (inside ? in_y * w->at.width * bytes : 0);
        int64_t in_x = x * w->stride + tap_right;
        for (int64_t i = 0; i < some; i++, in_x += w->stride)
            at[i] = inside && in_x >= 0 && in_x < w->at.width ? line + in_x * bytes : NULL;
        at += some, n -= some;
        if (++y == w->down) y = 0, sample++;
    }
}

static tutti_gemm_scattered runs(const tutti_windows *w, const void *const *at)
{
    return (tutti_gemm_scattered){at, w->type, w->at.block, w->at.block_step};
}

void tutti_windows_pack_rows(const tutti_windows *w, const tutti_gemm_row *row, const void *memory, int64_t position,
                             int64_t n, int64_t tap, int64_t from, int64_t nk, tutti_gemm_cell *to)
{
    const void *at[MOST_SIDE];
    const tutti_gemm_scattered s = runs(w, at);
    assert(n <= MOST_SIDE);
    point(w, memory, position, n, tap, at);
    row->pack_rows(&s, n, w->channel + from, nk, row->rows, to);
}

/* Packs the columns of a panel of B, one tap after the other. */
void tutti_windows_pack_steps(const tutti_windows *w, const tutti_gemm_row *row, const void *memory,
                              tutti_windows_steps *steps, int64_t number, int64_t n, tutti_gemm_cell *to)
{
    const tutti_gemm_scattered s = runs(w, steps->at);
    assert(steps->n <= TUTTI_WINDOWS_MOST_STEPS);
    for (int64_t done = 0; done < n;) {
        const int64_t tap = (number + done) / w->channels, c = (number + done) % w->channels, channel = w->channel + c;
        const int64_t some = least(n - done, w->channels - c);
        if (tap != steps->tap) point(w, memory, steps->position, steps->n, tap, steps->at);
        steps->tap = tap;
        row->pack_steps(&s, channel, some, steps->n, row->columns, to + done);
        done += some;
    }
}

/* ---- planes ---- */

typedef struct {
    /* lines: lines of a channel; part: elements in a part of a line; parts: parts of a line */
    int64_t lines, part, parts;
} planes_of;

static planes_of shape_of(const tutti_windows *w)
{
    return (planes_of){.lines = (w->down - 1) * w->stride + w->taps_down,
                       .part = w->right + (w->taps_right - 1) / w->stride,
                       .parts = w->stride};
}

static int64_t plane_numbers(const tutti_windows *w)
{
    const planes_of p = shape_of(w);
    return w->channels * p.lines * p.parts * p.part;
}

/* Returns the bytes of the table that lies in front of the planes. The table has a pointer for each element of the
 * first window. */
static size_t table_bytes(const tutti_windows *w)
{
    return (size_t)(w->taps_down * w->taps_right * w->channels) * sizeof(void *);
}

size_t tutti_windows_plane_bytes(const tutti_windows *w)
{
    return table_bytes(w) + (size_t)plane_numbers(w) * tutti_dtype_bytes(w->type);
}

/* Copies one part of a line: every stride-th element from column `x` of the padded line on. */
static void fill_part(const tutti_windows *w, const char *line, int64_t x, int64_t n, char *to)
{
    const size_t each = tutti_dtype_bytes(w->type), apart = (size_t)w->at.block * each;
    for (int64_t i = 0; i < n; i++, to += each) {
        const int64_t in_x = x + i * w->stride - w->left;
        if (in_x < 0 || in_x >= w->at.width) continue;
        if (each == sizeof(float))
            memcpy(to, line + (size_t)in_x * apart, sizeof(float));
        else
            memcpy(to, line + (size_t)in_x * apart, sizeof(uint16_t));
    }
}

static void point_planes(const tutti_windows *w, const char *planes, const void **at)
{
    const planes_of p = shape_of(w);
    for (int64_t y = 0; y < w->taps_down; y++)
        for (int64_t x = 0; x < w->taps_right; x++)
            for (int64_t c = 0; c < w->channels; c++) {
                const int64_t part = (c * p.lines + y) * p.parts + x % p.parts;
                *at++ = planes + (size_t)(part * p.part + x / p.parts) * tutti_dtype_bytes(w->type);
            }
}

void tutti_windows_fill_planes(const tutti_windows *w, const void *memory, int64_t sample, void *planes)
{
    const planes_of p = shape_of(w);
    const size_t each = tutti_dtype_bytes(w->type);
    char *to = (char *)planes + table_bytes(w);
    memset(to, 0, tutti_windows_plane_bytes(w) - table_bytes(w));
    point_planes(w, to, planes);
    for (int64_t c = 0; c < w->channels; c++)
        for (int64_t y = 0; y < p.lines; y++, to += (size_t)(p.parts * p.part) * each) {
            const int64_t in_y = y - w->top, channel = w->channel + c;
            if (in_y < 0 || in_y >= w->at.height) continue;
            const int64_t at = sample * w->at.sample_step + channel / w->at.block * w->at.block_step +
                               in_y * w->at.width * w->at.block + channel % w->at.block;
            const char *line = (const char *)memory + (size_t)at * each;
            for (int64_t x = 0; x < p.parts; x++) fill_part(w, line, x, p.part, to + (size_t)(x * p.part) * each);
        }
}

/* Returns the distance in the planes, in elements, from one line of windows to the next. */
static int64_t line_step(const tutti_windows *w)
{
    const planes_of p = shape_of(w);
    return w->stride * p.parts * p.part;
}

void tutti_windows_pack_plane_rows(const tutti_windows *w, const tutti_gemm_row *row, const void *planes,
                                   int64_t position, int64_t n, tutti_gemm_cell *to)
{
    const tutti_gemm_scattered s = {planes, w->type, INT64_MAX, 0};
    const int64_t nk = w->taps_down * w->taps_right * w->channels;
    for (int64_t done = 0; done < n;) {
        const int64_t y = (position + done) / w->right, x = (position + done) % w->right,
                      some = least(n - done, w->right - x);
        row->pack_steps(&s, y * line_step(w) + x, some, nk, row->rows, to + done);
        done += some;
    }
}

void tutti_windows_pack_plane_steps(const tutti_windows *w, const tutti_gemm_row *row, const void *planes, int64_t line,
                                    int64_t number, int64_t n, tutti_gemm_cell *to)
{
    const tutti_gemm_scattered s = {(const void *const *)planes + number, w->type, INT64_MAX, 0};
    row->pack_rows(&s, n, line * line_step(w), w->right, row->columns, to);
}
