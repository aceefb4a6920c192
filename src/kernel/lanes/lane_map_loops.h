/* SPDX-License-Identifier: Apache-2.0 */
/* lane_map_loops.h: elementwise loops (relu, sigmoid, tanh, sums): each result comes from the elements at the same
 * place, whatever the order in memory. */
#ifndef TUTTI_LANE_MAP_LOOPS_H
#define TUTTI_LANE_MAP_LOOPS_H

#include "lane_math_loops.h"

typedef unit map_of(unit x, unit y);

/* Computes to[i] = map(x[i], y[i]). Maps of one argument have no y. */
INLINE void map_numbers(const tutti_map_call *c, map_of *map, bool has_y, bool exact, bool streams, tutti_dtype type)
{
    const void *x = c->x, *y = c->y;
    void *to = c->to;
    const writing how = {type, exact, streams};
    int64_t at = c->begin;
    const int64_t end = c->end;
    for (; at + UNIT <= end; at += UNIT) {
        const unit u = take_unit(x, at, type);
        put_unit(to, at, map(u, has_y ? take_unit(y, at, type) : u), how);
    }
    if (at < end) {
        const unit u = take_part(x, at, end - at, type);
        put_part(to, at, map(u, has_y ? take_part(y, at, end - at, type) : u), end - at, how);
    }
    if (streams) stream_fence();
}

INLINE void map_typed(const tutti_map_call *c, map_of *map, bool has_y, bool exact, tutti_dtype type)
{
    if (c->streams)
        map_numbers(c, map, has_y, exact, true, type);
    else
        map_numbers(c, map, has_y, exact, false, type);
}

#define MAP(name, map, has_y, exact)                                                                                   \
    static void name(const tutti_map_call *c)                                                                          \
    {                                                                                                                  \
        BY_TYPE(c->type, map_typed, c, map, has_y, exact)                                                              \
    }

/* --- maps of x alone --- */

INLINE unit relu_of_unit(unit x, unit y)
{
    (void)y;
    return (unit){rectify(x.a), rectify(x.b)};
}

INLINE unit sigmoid_of_unit(unit x, unit y)
{
    (void)y;
    return (unit){sigmoid_of(x.a), sigmoid_of(x.b)};
}

INLINE unit tanh_of_unit(unit x, unit y)
{
    (void)y;
    return (unit){tanh_of(x.a), tanh_of(x.b)};
}

/* --- maps of x, the output, and y, its gradient --- */

/* Returns y if the output x is positive, and 0 if it is 0. NaN in x passes y, too. */
INLINE vector masked(vector x, vector y)
{
    return keep(y, positive(x) | is_nan(x));
}

INLINE unit relu_gradient_of(unit x, unit y)
{
    return (unit){masked(x.a, y.a), masked(x.b, y.b)};
}

INLINE unit sigmoid_gradient_of(unit x, unit y)
{
    return (unit){y.a * x.a * (1 - x.a), y.b * x.b * (1 - x.b)};
}

INLINE unit tanh_gradient_of(unit x, unit y)
{
    return (unit){y.a * (1 - x.a * x.a), y.b * (1 - x.b * x.b)};
}

MAP(map_relu, relu_of_unit, false, true)
MAP(map_sigmoid, sigmoid_of_unit, false, false)
MAP(map_tanh, tanh_of_unit, false, false)
MAP(map_relu_gradient, relu_gradient_of, true, true)
MAP(map_sigmoid_gradient, sigmoid_gradient_of, true, false)
MAP(map_tanh_gradient, tanh_gradient_of, true, false)

/* --- sums --- */

INLINE unit sum_at(const tutti_sum_call *c, int64_t at, int64_t n, tutti_dtype type)
{
    unit sum = take_of(c->parts[0], at, n, type);
    for (int i = 1; i < c->nparts; i++) {
        const unit part = take_of(c->parts[i], at, n, type);
        sum = (unit){sum.a + part.a, sum.b + part.b};
    }
    return sum;
}

INLINE void sum_numbers(const tutti_sum_call *c, bool streams, tutti_dtype type)
{
    const writing how = {type, .streams = streams};
    int64_t at = c->begin;
    for (; at + UNIT <= c->end; at += UNIT) put_unit(c->to, at, sum_at(c, at, UNIT, type), how);
    if (at < c->end) put_part(c->to, at, sum_at(c, at, c->end - at, type), c->end - at, how);
    if (streams) stream_fence();
}

INLINE void sum_typed(const tutti_sum_call *c, tutti_dtype type)
{
    if (c->streams)
        sum_numbers(c, true, type);
    else
        sum_numbers(c, false, type);
}

static void map_sum(const tutti_sum_call *c)
{
    BY_TYPE(c->type, sum_typed, c)
}

#endif
