/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms.h: the table of algorithms for collectives, one row each. A new algorithm needs one file with its row, and
 * one line in compile_table.c.
 *
 * A row makes one rank's part of the two-sided form, for any rank count above 1 that it accepts. The hints on its
 * messages let lowering make a fast mapped form. The comment of an algorithm's file argues why an invocation cannot
 * race with the next one; the checker proves it. Threads: frozen. */
#ifndef TUTTI_ALGORITHMS_H
#define TUTTI_ALGORITHMS_H

#include "../schedule/part_builder.h"
#include "tutti/compile.h"

/* A parameter: a whole number after the name, as in "hierarchical,group=4". */
typedef struct {
    const char *name; /* NULL: no further parameter */
    int32_t initial, lowest, highest;
    const char *help; /* meaning of the parameter; if `initial` is below `lowest`, also how `settle` chooses the
                       * value */
} tutti_parameter;

typedef enum {
    TUTTI_NO_ROTATION,
    TUTTI_BY_RANK,
    TUTTI_BY_GROUP, /* groups of neighbouring ranks do alike; the first parameter is the number of ranks of a group */
    TUTTI_BY_BITS,  /* rank r does what rank 0 does, with every rank q replaced by q xor r; for powers of two. Does not
                     * hold for a reduce-scatter, whose last messages follow another rule */
} tutti_rotation;

typedef struct {
    const char *name, *summary;
    unsigned collectives;          /* bit set of tutti_collective */
    tutti_determinism determinism; /* determinism class of its schedules without canonical sums (slots == 0) */
    bool sums_once;                /* one step sums each element from all ranks' inputs, so no partial sum travels */
    bool sums_groups;              /* one step in each group sums the inputs of the group, and one more step adds the
                                    * sums of all groups */
    bool is_bound;                 /* bound to a topology: the row needs q->topology */
    /* Without canonical sums and without a root: every rank does what rank 0 does, with all peers and slices moved on
     * by the same distance. If all slices are of one size, a few parts then say what all ranks send and add, stage by
     * stage (tests/collective/test_lines.c looks at all parts). */
    tutti_rotation rotates;
    /* Returns TUTTI_OK, or why the row cannot serve this request and what could. The caller has checked before that
     * rank count >= 1, slots is 0 or a power of two >= the rank count, and root and collective are in range. NULL: the
     * row serves every request. */
    tutti_status (*accept)(const tutti_compile_request *q, tutti_failure *err);
    /* Makes the part of one rank; there are at least two ranks. q->param has the values of the parameters in the order
     * of the row, q->prepared the result of `prepare`. (A single rank has the same part whatever the row.) */
    void (*part)(const tutti_compile_request *q, int32_t rank, tutti_part_builder *b);
    tutti_parameter parameters[TUTTI_MAX_PARAMETERS];
    /* Parameters that the chooser tries besides the initial values, such as "radix=4"; ends with NULL. */
    const char *variants[8];
    /* Called before accept: sets parameters that still have an `initial` below their lowest. NULL: the row has none. */
    void (*settle)(tutti_compile_request *q);
    /* Called after accept, once for each schedule: makes what all parts share, for q->prepared; released with the
     * schedule. NULL: the parts share nothing. */
    tutti_status (*prepare)(const tutti_compile_request *q, void **prepared, tutti_failure *err);
    void (*release)(void *prepared);
} tutti_algorithm;

int tutti_algorithm_count(void);
const tutti_algorithm *tutti_algorithm_at(int i);
/* finds the algorithm of a text "name,parameter=value"; NULL = none */
const tutti_algorithm *tutti_algorithm_find(const char *text);

/* Convert between text and values (compile_name.c). read: `text` begins with a's name; parameters that it does not give
 * get their initial values. */
tutti_status tutti_algorithm_read(const tutti_algorithm *a, const char *text, int32_t param[TUTTI_MAX_PARAMETERS],
                                  tutti_failure *err);
void tutti_algorithm_print(const tutti_algorithm *a, const int32_t param[TUTTI_MAX_PARAMETERS],
                           char out[TUTTI_ALGORITHM_TEXT]);
int tutti_algorithm_nparameters(const tutti_algorithm *a);

/* Estimates the steps of all ranks from those of rank 0, which are nearly as many as any other rank's
 * (compile_part.c). */
int64_t tutti_compile_steps(const tutti_schedule *s);

/* A root is a subtree of the canonical sum. A rank's inputs (compile_sum.c) are one buffer for each of its roots: in<i>
 * holds the sum of the leaves of root i. */
enum { TUTTI_MAX_ROOTS = 62 };
typedef struct {
    int32_t first, count; /* the leaves first .. first + count - 1, whose sum the root is */
} tutti_root;
/* Fills the roots of a rank and returns their number. slots = 0: one root, whose only leaf is the rank. Otherwise the
 * leaves floor(S*r/p) .. floor(S*(r+1)/p) as the fewest aligned subtrees. */
int tutti_compile_roots(const tutti_compile_request *q, int32_t rank, tutti_root out[TUTTI_MAX_ROOTS]);

#endif
