/* SPDX-License-Identifier: Apache-2.0 */
/* compile.h: the table of algorithms. A new one is one file with its row, and one line in compile_table.c.
 *
 * A row makes one rank's part of the two-sided form, for any rank count that it accepts; the hints that it puts on
 * messages are what lowering makes a fast mapped form of. Whoever writes a row argues in its comment why two invocations
 * in a row cannot race; the checker proves it. Threads: frozen. */
#ifndef TUTTI_COLLECTIVE_COMPILE_H
#define TUTTI_COLLECTIVE_COMPILE_H

#include "../schedule/part_builder.h"

typedef struct {
    const char *name, *summary;
    unsigned collectives;          /* bit set of tutti_collective */
    tutti_determinism determinism; /* claimed when slots == 0 */
    /* TUTTI_OK, or why this request cannot be served and what could (rank count >= 1, slots 0 or a power of two >= the rank
     * count, root and collective in range are checked before). NULL: everything is served. */
    tutti_status (*accept)(const tutti_compile_request *q, tutti_failure *err);
    void (*part)(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b);
} tutti_algorithm;

int tutti_algorithm_count(void);
const tutti_algorithm *tutti_algorithm_at(int i);
const tutti_algorithm *tutti_algorithm_find(const char *name); /* NULL = none */

/* What a rank's inputs hold (compile_sum.c): buffer in<i> has the sum of the leaves of root i. */
enum { TUTTI_MAX_ROOTS = 62 };
typedef struct {
    int32_t first, count; /* leaves */
} tutti_root;
/* slots = 0: the leaf (rank, 1). Else the leaves floor(S*r/p) .. floor(S*(r+1)/p) as the fewest aligned subtrees. */
int tutti_compile_roots(const tutti_compile_request *q, int32_t rank, tutti_root out[TUTTI_MAX_ROOTS]);

#endif
