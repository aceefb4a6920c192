/* SPDX-License-Identifier: Apache-2.0 */
/* lane_copy_loops.h: a rectangle of numbers from one order and type into another: the loops of every row. Where the same numbers follow
 * each other on both sides it is copied line by line, else square by square, turned over in registers. */
#ifndef TUTTI_LANE_COPY_LOOPS_H
#define TUTTI_LANE_COPY_LOOPS_H

#include "lane_loops.h"

INLINE void put_or_add(void *to, int64_t at, vector v, int64_t n, bool adds, tutti_dtype type)
{
    if (adds) v = n == WIDTH ? take(to, at, type) + v : take_some(to, at, n, type) + v;
    if (n == WIDTH)
        put(to, at, v, type);
    else
        put_some(to, at, v, n, type);
}

INLINE vector take_n(const void *from, int64_t at, int64_t n, tutti_dtype type)
{
    return n == WIDTH ? take(from, at, type) : take_some(from, at, n, type);
}

/* ni numbers a line. */
INLINE void copy_lines(const void *from, int64_t from_at, int64_t from_step, void *to, int64_t to_at, int64_t to_step,
                       int64_t ni, int64_t nj, bool adds, tutti_dtype in, tutti_dtype out)
{
    for (int64_t j = 0; j < nj; j++, from_at += from_step, to_at += to_step) {
        int64_t i = 0;
        for (; i + WIDTH <= ni; i += WIDTH) put_or_add(to, to_at + i, take(from, from_at + i, in), WIDTH, adds, out);
        if (i < ni) put_or_add(to, to_at + i, take_some(from, from_at + i, ni - i, in), ni - i, adds, out);
    }
}

/* Number (i, j) lies at i + j * step on the one side and at i * step + j on the other. */
INLINE void turn_square(const void *from, int64_t from_at, int64_t from_step, void *to, int64_t to_at, int64_t to_step,
                        int64_t ni, int64_t nj, bool adds, tutti_dtype in, tutti_dtype out)
{
    vector v[WIDTH];
    for (int j = 0; j < WIDTH; j++) v[j] = j < nj ? take_n(from, from_at + j * from_step, ni, in) : (vector){0};
    transpose(v);
    for (int i = 0; i < WIDTH; i++)
        if (i < ni) put_or_add(to, to_at + i * to_step, v[i], nj, adds, out);
}

INLINE void turn(const void *from, int64_t from_at, int64_t from_step, void *to, int64_t to_at, int64_t to_step,
                 int64_t ni, int64_t nj, bool adds, tutti_dtype in, tutti_dtype out)
{
    for (int64_t i = 0; i < ni; i += WIDTH)
        for (int64_t j = 0; j < nj; j += WIDTH) {
            const int64_t f = from_at + i + j * from_step, t = to_at + i * to_step + j;
            if (ni - i >= WIDTH && nj - j >= WIDTH)
                turn_square(from, f, from_step, to, t, to_step, WIDTH, WIDTH, adds, in, out);
            else
                turn_square(from, f, from_step, to, t, to_step, at_most(ni - i, WIDTH), at_most(nj - j, WIDTH), adds,
                            in, out);
        }
}

INLINE void copy_typed(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, bool adds,
                       tutti_dtype in, tutti_dtype out)
{
    const int line = from->step[0] == 1 ? 0 : 1; /* along which numbers follow each other in `from` */
    const int64_t n = line == 0 ? ni : nj, others = line == 0 ? nj : ni;
    if (to->step[line] == 1)
        copy_lines(from->memory, from->at, from->step[1 - line], to->memory, to->at, to->step[1 - line], n, others,
                   adds, in, out);
    else
        turn(from->memory, from->at, from->step[1 - line], to->memory, to->at, to->step[line], n, others, adds, in,
             out);
}

INLINE void copy_into(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, tutti_dtype out,
                      tutti_dtype in)
{
    copy_typed(from, to, ni, nj, false, in, out);
}

INLINE void copy_added(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, tutti_dtype in)
{
    copy_typed(from, to, ni, nj, true, in, TUTTI_F32);
}

static void copy_rectangle(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, bool adds)
{
    if (adds)
        BY_TYPE(from->type, copy_added, from, to, ni, nj)
    else if (to->type == TUTTI_BF16)
        BY_TYPE(from->type, copy_into, from, to, ni, nj, TUTTI_BF16)
    else if (to->type == TUTTI_F16)
        BY_TYPE(from->type, copy_into, from, to, ni, nj, TUTTI_F16)
    else
        BY_TYPE(from->type, copy_into, from, to, ni, nj, TUTTI_F32)
}

#endif
