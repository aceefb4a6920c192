/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_impl.h: a schedule is a header and a function that makes one rank's part.
 *
 * Three modules make schedules: the compilers (they compute parts), lowering (it computes parts from another schedule's
 * parts) and the parser (it keeps parts). Threads: any, after create. */
#ifndef TUTTI_SCHEDULE_IMPL_H
#define TUTTI_SCHEDULE_IMPL_H

#include "part_builder.h"

typedef struct {
    void (*part)(const tutti_schedule_header *head, const void *state, int32_t rank, tutti_part_builder *b);
    void (*destroy)(void *state); /* releases the state; NULL: the state owns no memory */
} tutti_schedule_ops;

/* Makes a schedule that takes over `state` and copies the array of head->host_of. ops must outlive the schedule (static
 * tables). */
tutti_schedule *tutti_schedule_create(const tutti_schedule_header *head, const tutti_schedule_ops *ops, void *state);

#endif
