/* SPDX-License-Identifier: Apache-2.0 */
/* part_source.h: where a checker takes parts from: a frozen schedule, or parts that a test has changed.
 *
 * A frozen schedule is a source, and so are parts that are no schedule yet: mutants in tests, imported files before
 * they are frozen, the steps of a plan. A source hands out one rank's part at a time, as tutti_schedule_part does.
 *
 * Threads: owner. */
#ifndef TUTTI_PART_SOURCE_H
#define TUTTI_PART_SOURCE_H

#include "../../base/headway.h"
#include "tutti/schedule.h"

typedef struct {
    const tutti_schedule_header *head;
    void (*part)(const void *owner, int32_t rank, tutti_part *out);
    void (*release)(tutti_part *part);
    const void *owner;
    /* Words for counter-examples; NULL = what the part itself says. Boundaries are fractions first/of. */
    void (*describe_step)(const void *owner, int32_t rank, int32_t step, char *out, size_t size);
    void (*describe_cell)(const void *owner, const tutti_slice *begin, const tutti_slice *end, char *out, size_t size);
    /* Messages that a channel holds before a send has to wait. 0: a send is complete when it was received. */
    int32_t capacity;
    /* Inputs of each rank, a leaf each, where a sum is not canonical. 0: one. */
    int32_t leaves_a_rank;
    bool rounds_sums; /* what a reduce leaves is rounded: equal sums rounded at other places are other expressions */
    bool inputs_are_symbols; /* no memory: any rank may read those of any other */
    /* Of an allreduce: the i-th slice of its output that a rank owes; false: there are no more. NULL: all of it. */
    bool (*owed)(const void *owner, int32_t rank, int32_t i, tutti_slice *out);
    /* Memory that holds different elements one after the other: true if the buffer lies where *where does, a slice of
     * as many elements in another buffer of that rank, which lies nowhere else. NULL: none does. */
    bool (*lies_in)(const void *owner, int32_t rank, int32_t buffer, tutti_slice *where);
    const tutti_headway *headway; /* hears now and then that the judging goes on, without counts; NULL = nobody */
} tutti_part_source;

tutti_part_source tutti_part_source_of(const tutti_schedule *s);

#endif
