/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: what the checker and the interpreter take: parts from anywhere.
 *
 * tutti_schedule_check proves a frozen schedule; the same proof serves parts that are no schedule yet (mutants in tests,
 * imported files before they are frozen). A source hands out one rank's part at a time, as tutti_schedule_part does.
 *
 * Threads: owner. */
#ifndef TUTTI_SCHEDULE_CHECK_H
#define TUTTI_SCHEDULE_CHECK_H

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
    /* Memory that holds different elements one after the other: true if the buffer lies where *where does, a slice of as
     * many elements in another buffer of that rank, which lies nowhere else. NULL: none does. */
    bool (*lies_in)(const void *owner, int32_t rank, int32_t buffer, tutti_slice *where);
} tutti_part_source;

/* As tutti_schedule_check. Memory: 24 bytes for each run of neighbouring slices with one history in a bank of a buffer of
 * a rank, 56 bytes a step, and one clock of (sequences of all ranks) words for each rank and each message that is under way
 * with news of its own. */
tutti_status tutti_check_source(const tutti_part_source *source, tutti_check_report *report, tutti_failure *err);

tutti_part_source tutti_part_source_of(const tutti_schedule *s);

#endif
