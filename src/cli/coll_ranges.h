/* SPDX-License-Identifier: Apache-2.0 */
/* coll_ranges.h: how `tutti coll explain --ranges` shows what the chooser found. Threads: owner. */
#ifndef TUTTI_COLL_RANGES_H
#define TUTTI_COLL_RANGES_H

#include "../collective/simulate/choose.h"

/* A table, or one JSON object a range and line, to standard output. nrows: ranks that share the elements (all-to-all), else
 * 1; bytes are those of one. */
void tutti_coll_print_ranges(const tutti_ranges *ranges, int64_t nrows, bool json);

#endif
