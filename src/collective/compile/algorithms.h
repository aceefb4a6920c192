/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms.h: the table of algorithms for collectives, one row each. A new one is one file with its row, and one line
 * in compile_table.c.
 *
 * A row makes one rank's part of the two-sided form, for any rank count above 1 that it accepts; the hints that it puts
 * on messages are what lowering makes a fast mapped form of. Whoever writes a row argues in its comment why two
 * invocations in a row cannot race; the checker proves it. Threads: frozen. */
#ifndef TUTTI_ALGORITHMS_H
#define TUTTI_ALGORITHMS_H

#include "../schedule/part_builder.h"
#include "tutti/compile.h"

/* A whole number after the name: "hierarchical,group=4". */
typedef struct {
    const char *name; /* NULL: the row has no more */
    int32_t initial, lowest, highest;
    const char *help; /* what it is; if initial < lowest, also what `settle` makes of it */
} tutti_parameter;

typedef enum {
    TUTTI_NO_ROTATION,
    TUTTI_BY_RANK,
    TUTTI_BY_GROUP, /* the first parameter: ranks a group */
    TUTTI_BY_BITS,  /* rank r as rank 0 with r xor, of powers of two; no reduce-scatter, whose blocks go home another
                    * way */
} tutti_rotation;

typedef struct {
    const char *name, *summary;
    unsigned collectives;          /* bit set of tutti_collective */
    tutti_determinism determinism; /* claimed when slots == 0 */
    bool sums_once;   /* each element is summed by one step, from all ranks' inputs: no partial sum travels */
    bool sums_groups; /* ... or groups' sums do, each of which is summed once more, into the result */
    bool is_bound;    /* to a topology: it takes q->topology and cannot do without */
    /* Fast mode, without a root: whoever is so many ranks further on does the same with peers and slices as many
     * further on, so that where all slices are of one size a few parts say what all send and add, stage by stage
     * (tests/collective/test_lines.c looks at all parts). */
    tutti_rotation rotates;
    /* TUTTI_OK, or why this request cannot be served and what could (rank count >= 1, slots 0 or a power of two >= the
     * rank count, root and collective in range are checked before). NULL: everything is served. */
    tutti_status (*accept)(const tutti_compile_request *q, tutti_failure *err);
    /* A part among several ranks; q->param has the parameters' values in the order of the row, q->prepared what
     * `prepare` made. (A rank that is alone has the same part whatever the row.) */
    void (*part)(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b);
    tutti_parameter parameters[TUTTI_MAX_PARAMETERS];
    /* Parameters that the chooser tries beside those that stand initially: "radix=4", ...; ends with NULL. */
    const char *variants[8];
    /* Before accept: puts values for parameters that were left at an `initial` below their lowest. NULL: there are
     * none. */
    void (*settle)(tutti_compile_request *q);
    /* After accept, once a schedule: what all parts share, for q->prepared; released with the schedule. NULL:
     * nothing. */
    tutti_status (*prepare)(const tutti_compile_request *q, void **prepared, tutti_failure *err);
    void (*release)(void *prepared);
} tutti_algorithm;

int tutti_algorithm_count(void);
const tutti_algorithm *tutti_algorithm_at(int i);
const tutti_algorithm *tutti_algorithm_find(const char *text); /* by the name in "name,parameter=value"; NULL = none */

/* Between text and values (compile_name.c). read: `text` begins with a's name; what it does not give stands
 * initially. */
tutti_status tutti_algorithm_read(const tutti_algorithm *a, const char *text, int32_t param[TUTTI_MAX_PARAMETERS],
                                  tutti_failure *err);
void tutti_algorithm_print(const tutti_algorithm *a, const int32_t param[TUTTI_MAX_PARAMETERS],
                           char out[TUTTI_ALGORITHM_TEXT]);
int tutti_algorithm_nparameters(const tutti_algorithm *a);

/* Steps of all ranks, guessed from part 0: parts are alike enough for an estimate (compile_part.c). */
int64_t tutti_compile_steps(const tutti_schedule *s);

/* What a rank's inputs hold (compile_sum.c): buffer in<i> has the sum of the leaves of root i. */
enum { TUTTI_MAX_ROOTS = 62 };
typedef struct {
    int32_t first, count; /* leaves */
} tutti_root;
/* slots = 0: the leaf (rank, 1). Else the leaves floor(S*r/p) .. floor(S*(r+1)/p) as the fewest aligned subtrees. */
int tutti_compile_roots(const tutti_compile_request *q, int32_t rank, tutti_root out[TUTTI_MAX_ROOTS]);

#endif
