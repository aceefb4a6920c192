/* SPDX-License-Identifier: Apache-2.0 */
/* lane_loops.h: loads elements of any type into vectors of floats, and stores them, for the loops of lane_*_loops.h.
 *
 * Loops that do not care which element lies in which lane work on *units* of two vectors. A unit of bf16 is one
 * register: its even elements become vector a by a shift, its odd ones vector b by a mask, and rounding joins them
 * again without a shuffle. tutti_lane_index gives the place, in a table of channels' values, that belongs to element i
 * of memory. Loops that need the order take WIDTH elements in order. The type is a constant wherever these functions
 * are called. */
#ifndef TUTTI_LANE_LOOPS_H
#define TUTTI_LANE_LOOPS_H

#include "../../tensor/vector.h"
#include "lane_impl.h"

enum { UNIT = 2 * WIDTH, FETCHED_LINE = 64 };

/* --- WIDTH elements in their order; `take_first` reads n of them and fills up with zeros --- */

INLINE vector take(const void *from, int64_t at, tutti_dtype type)
{
    if (type == TUTTI_BF16) return widen_bf16(load_halves((const uint16_t *)from + at));
    if (type == TUTTI_F16) return widen_f16(load_halves((const uint16_t *)from + at));
    return load((const float *)from + at);
}

INLINE vector take_some(const void *from, int64_t at, int64_t n, tutti_dtype type)
{
    if (type == TUTTI_BF16) return widen_bf16(load_some_halves((const uint16_t *)from + at, n));
    if (type == TUTTI_F16) return widen_f16(load_some_halves((const uint16_t *)from + at, n));
    return load_some((const float *)from + at, n);
}

INLINE halves narrow(vector v, tutti_dtype type)
{
    return type == TUTTI_BF16 ? narrow_bf16(v) : narrow_f16(v);
}

INLINE void put(void *to, int64_t at, vector v, tutti_dtype type)
{
    if (type == TUTTI_F32)
        store((float *)to + at, v);
    else
        store_halves((uint16_t *)to + at, narrow(v, type));
}

INLINE void put_some(void *to, int64_t at, vector v, int64_t n, tutti_dtype type)
{
    if (type == TUTTI_F32)
        store_some((float *)to + at, v, n);
    else
        store_some_halves((uint16_t *)to + at, narrow(v, type), n);
}

/* --- units --- */

typedef struct {
    vector a, b;
} unit;

INLINE unit split(words w, tutti_dtype type)
{
    if (type == TUTTI_BF16) return (unit){(vector)(w << 16), (vector)(w & 0xffff0000u)};
    return (unit){widen_f16(lower_halves(w)), widen_f16(upper_halves(w))};
}

/* Joins a unit's vectors to elements of the type. exact: the elements already have the type's precision, so nothing is
 * rounded. */
INLINE words join(unit u, tutti_dtype type, bool exact)
{
    if (type == TUTTI_F16) return join_halves(narrow_f16(u.a), narrow_f16(u.b));
    return exact ? join_upper((words)u.a, (words)u.b) : join_upper(round_bf16(u.a), round_bf16(u.b));
}

INLINE unit take_unit(const void *from, int64_t at, tutti_dtype type)
{
    if (type != TUTTI_F32) return split(load_words((const uint16_t *)from + at), type);
    return (unit){load((const float *)from + at), load((const float *)from + at + WIDTH)};
}

/* How put_unit writes a unit (two vectors) to memory. */
typedef struct {
    tutti_dtype type;
    bool exact, streams; /* exact: elements have the type's precision already; streams: stores bypass the caches, into
                          * memory aligned as a unit */
} writing;

INLINE void put_unit(void *to, int64_t at, unit u, writing how)
{
    if (how.type != TUTTI_F32) {
        const words w = join(u, how.type, how.exact);
        if (how.streams)
            stream_words((uint16_t *)to + at, w);
        else
            store_words((uint16_t *)to + at, w);
    } else if (how.streams) {
        stream((float *)to + at, u.a);
        stream((float *)to + at + WIDTH, u.b);
    } else {
        store((float *)to + at, u.a);
        store((float *)to + at + WIDTH, u.b);
    }
}

/* Prefetches into the second-level cache the memory that lies `ahead` bytes behind the unit that a loop reads or writes
 * now. The processor's own prefetching ends with each page. */
INLINE void fetch_unit(const void *from, int64_t at, int64_t ahead, tutti_dtype type)
{
    const int64_t nbytes = type == TUTTI_F32 ? 4 : 2;
    const char *line = (const char *)((uintptr_t)from + (uintptr_t)(at * nbytes + ahead));
    __builtin_prefetch(line, 0, 2);
    if (type == TUTTI_F32) __builtin_prefetch(line + FETCHED_LINE, 0, 2);
}

INLINE int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

/* Loads the first n < UNIT elements of a unit; the others become zero. */
INLINE unit take_part(const void *from, int64_t at, int64_t n, tutti_dtype type)
{
    if (type != TUTTI_F32) return split(load_some_words((const uint16_t *)from + at, n), type);
    const float *f = (const float *)from + at;
    return (unit){load_some(f, at_most(n, WIDTH)), n > WIDTH ? load_some(f + WIDTH, n - WIDTH) : (vector){0}};
}

INLINE void put_part(void *to, int64_t at, unit u, int64_t n, writing how)
{
    if (how.type != TUTTI_F32) {
        store_some_words((uint16_t *)to + at, join(u, how.type, how.exact), n);
        return;
    }
    float *f = (float *)to + at;
    store_some(f, u.a, at_most(n, WIDTH));
    if (n > WIDTH) store_some(f + WIDTH, u.b, n - WIDTH);
}

/* Loads a whole unit, or the first n elements of one. n is a compile-time constant in loops over whole units. */
INLINE unit take_of(const void *from, int64_t at, int64_t n, tutti_dtype type)
{
    return n == UNIT ? take_unit(from, at, type) : take_part(from, at, n, type);
}

INLINE void put_of(void *to, int64_t at, unit u, int64_t n, writing how)
{
    if (n == UNIT)
        put_unit(to, at, u, how);
    else
        put_part(to, at, u, n, how);
}

/* Sets lanes beyond the first n elements to zero. */
INLINE unit only_first(unit u, int64_t n, tutti_dtype type)
{
    const int64_t a = type == TUTTI_BF16 ? (n + 1) / 2 : at_most(n, WIDTH), b = n - a;
    const bits first = (bits)((UINT64_C(1) << a) - 1), second = (bits)((UINT64_C(1) << b) - 1);
    return (unit){keep(u.a, lanes_set_of(first)), keep(u.b, lanes_set_of(second))};
}

INLINE unit load_table(const float *table)
{
    return (unit){load(table), load(table + WIDTH)};
}

INLINE void store_table(float *table, unit u)
{
    store(table, u.a);
    store(table + WIDTH, u.b);
}

/* Returns the unit with its elements rounded as memory of this type would hold them. */
INLINE unit rounded(unit u, tutti_dtype type)
{
    return type == TUTTI_F32 ? u : split(join(u, type, false), type);
}

INLINE pair_bits join_lanes(lanes_set a, lanes_set b)
{
    return (pair_bits)(bits_of(a) | (pair_bits)bits_of(b) << WIDTH);
}

INLINE unit keep_unit(unit u, pair_bits where)
{
    return (unit){keep(u.a, lanes_set_of((bits)where)), keep(u.b, lanes_set_of((bits)(where >> WIDTH)))};
}

/* Calls a loop in which the element type is a compile-time constant. */
#define BY_TYPE(type, loop, ...)                                                                                       \
    switch (type) {                                                                                                    \
    case TUTTI_BF16: loop(__VA_ARGS__, TUTTI_BF16); break;                                                             \
    case TUTTI_F16: loop(__VA_ARGS__, TUTTI_F16); break;                                                               \
    default: loop(__VA_ARGS__, TUTTI_F32); break;                                                                      \
    }

#endif
