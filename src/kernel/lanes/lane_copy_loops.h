/* SPDX-License-Identifier: Apache-2.0 */
/* lane_copy_loops.h: copies a rectangle of elements from one order and type into another: the loops for every
 * instruction set. If the same elements follow each other on both sides, the rectangle is copied line by line; else
 * square by square, transposed in registers. */
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

/* Where elements lie in both memories: the offset of the first one, and the distance from one line to the next. */
typedef struct {
    const void *from;
    void *to;
    int64_t from_at, from_step, to_at, to_step;
    bool adds;
} copy_place;

/* Copies lines of ni elements. */
INLINE void copy_lines(copy_place p, int64_t ni, int64_t nj, tutti_dtype in, tutti_dtype out)
{
    for (int64_t j = 0; j < nj; j++, p.from_at += p.from_step, p.to_at += p.to_step) {
        int64_t i = 0;
        for (; i + WIDTH <= ni; i += WIDTH)
            put_or_add(p.to, p.to_at + i, take(p.from, p.from_at + i, in), WIDTH, p.adds, out);
        if (i < ni) put_or_add(p.to, p.to_at + i, take_some(p.from, p.from_at + i, ni - i, in), ni - i, p.adds, out);
    }
}

/* Transposes a square: element (i, j) lies at i + j * step on one side and at i * step + j on the other. */
INLINE void turn_square(copy_place p, int64_t ni, int64_t nj, tutti_dtype in, tutti_dtype out)
{
    vector v[WIDTH];
    for (int j = 0; j < WIDTH; j++) v[j] = j < nj ? take_n(p.from, p.from_at + j * p.from_step, ni, in) : (vector){0};
    transpose(v);
    for (int i = 0; i < WIDTH; i++)
        if (i < ni) put_or_add(p.to, p.to_at + i * p.to_step, v[i], nj, p.adds, out);
}

INLINE void turn(copy_place p, int64_t ni, int64_t nj, tutti_dtype in, tutti_dtype out)
{
    for (int64_t i = 0; i < ni; i += WIDTH)
        for (int64_t j = 0; j < nj; j += WIDTH) {
            copy_place square = p;
            square.from_at += i + j * p.from_step, square.to_at += i * p.to_step + j;
            if (ni - i >= WIDTH && nj - j >= WIDTH)
                turn_square(square, WIDTH, WIDTH, in, out);
            else
                turn_square(square, at_most(ni - i, WIDTH), at_most(nj - j, WIDTH), in, out);
        }
}

INLINE void copy_typed(const tutti_lane_view *from, const tutti_lane_view *to, const int64_t n[2], bool adds,
                       tutti_dtype in, tutti_dtype out)
{
    const int line = from->step[0] == 1 ? 0 : 1; /* the dimension along which elements of `from` lie side by side */
    const bool alike = to->step[line] == 1;
    const copy_place p = {.from = from->memory,
                          .to = to->memory,
                          .from_at = from->at,
                          .from_step = from->step[1 - line],
                          .to_at = to->at,
                          .to_step = to->step[alike ? 1 - line : line],
                          .adds = adds};
    if (alike)
        copy_lines(p, n[line], n[1 - line], in, out);
    else
        turn(p, n[line], n[1 - line], in, out);
}

INLINE void copy_into(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, tutti_dtype out,
                      tutti_dtype in)
{
    copy_typed(from, to, (const int64_t[]){ni, nj}, false, in, out);
}

INLINE void copy_added(const tutti_lane_view *from, const tutti_lane_view *to, int64_t ni, int64_t nj, tutti_dtype in)
{
    copy_typed(from, to, (const int64_t[]){ni, nj}, true, in, TUTTI_F32);
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
