/* SPDX-License-Identifier: Apache-2.0 */
/* part_source.h: where a checker takes parts from: a frozen schedule, or parts that a test has changed.
 *
 * A frozen schedule is a source. So are parts that are no schedule yet: mutants in tests, imported files before they
 * are frozen, the steps of a plan. A source hands out one rank's part at a time, as tutti_schedule_part does.
 *
 * Threads: one at a time. */
#ifndef TUTTI_PART_SOURCE_H
#define TUTTI_PART_SOURCE_H

#include "../../base/headway.h"
#include "tutti/schedule.h"

typedef struct {
    const tutti_schedule_header *head;
    void (*part)(const void *owner, int32_t rank, tutti_part *out);
    void (*release)(tutti_part *part);
    const void *owner;
    /* Describes a step for counter-examples; NULL = the part's own words. Boundaries are fractions first/of. */
    void (*describe_step)(const void *owner, int32_t rank, int32_t step, char *out, size_t size);
    void (*describe_cell)(const void *owner, const tutti_slice *begin, const tutti_slice *end, char *out, size_t size);
    /* Messages that a channel holds before a send has to wait. 0: a send completes when its message is received. */
    int32_t capacity;
    /* Number of inputs of each rank, each a leaf, if a sum is not canonical. 0 means 1. */
    int32_t leaves_a_rank;
    bool rounds_sums; /* results of a reduce are rounded: equal sums that are rounded at other places are different
                       * expressions */
    bool inputs_are_symbols; /* inputs have no memory: a rank may read the inputs of any other rank */
    /* Allreduce: returns the i-th slice of its output that a rank must hold in the end; false: there are no more. NULL:
     * every rank must hold the whole output. */
    bool (*owed)(const void *owner, int32_t rank, int32_t i, tutti_slice *out);
    /* For memory that holds different elements one after the other: returns true if the buffer shares the memory of
     * *where, a slice of the same length in another buffer of that rank, which itself has memory of its own. NULL: no
     * buffer shares memory. */
    bool (*lies_in)(const void *owner, int32_t rank, int32_t buffer, tutti_slice *where);
    bool *sums_wrong; /* set to true if a rank ends with a sum that lacks a contribution, or holds one too many; may be
                       * NULL */
    bool *races; /* set to true if two accesses race, or a read comes before what should be written for it; to false if
                  * the check ends otherwise; may be NULL */
    const tutti_headway *headway; /* called now and then while the check runs, without counts of progress; NULL =
                                   * none */
} tutti_part_source;

tutti_part_source tutti_part_source_of(const tutti_schedule *s);

#endif
