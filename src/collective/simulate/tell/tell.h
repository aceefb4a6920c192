/* SPDX-License-Identifier: Apache-2.0 */
/* coll_ranges.h: how `tutti coll explain --ranges` and `--svg` show what the chooser found over sizes. Threads: owner. */
#ifndef TUTTI_COLL_RANGES_H
#define TUTTI_COLL_RANGES_H

#include "../../collective/simulate/choose/choose.h"
#include "../cli.h"

/* A table, or one JSON object a range and line, to standard output. nrows: ranks that share the elements (all-to-all), else
 * 1; bytes are those of one. */
void tutti_coll_print_ranges(const tutti_ranges *ranges, int64_t nrows, bool json);

typedef struct {
    const tutti_policy *policy;
    int64_t most_steps; /* as for tutti_choose_by */
    const tutti_compile_request *q;
    int64_t most, at; /* bytes of a rank: the largest size; one to be marked, 0 = none */
    const tutti_topology *t;
    const char *topology; /* in words */
} tutti_coll_times;

/* Draws the times of all rows of the table over sizes from 4 bytes on, a curve a row by its best variant at each size. Cost: each
 * schedule once a power of 4. */
tutti_status tutti_coll_draw_times(const tutti_coll_times *times, const char *path, tutti_failure *err);

#endif
