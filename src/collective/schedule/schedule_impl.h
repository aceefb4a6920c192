/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_impl.h: a schedule is a header and a function that makes one rank's part.
 *
 * Three things make schedules: the compilers (parts are computed), lowering (parts are computed from another schedule's
 * parts) and the parser (parts are kept). Threads: frozen after create. */
#ifndef TUTTI_SCHEDULE_IMPL_H
#define TUTTI_SCHEDULE_IMPL_H

#include "part_builder.h"

typedef struct {
    void (*part)(const tutti_schedule_header *head, const void *state, int32_t rank, tutti_part_builder *b);
    void (*destroy)(void *state); /* NULL: the state owns nothing */
} tutti_schedule_ops;

/* Takes over `state`; copies what head->host_of points to. ops must outlive the schedule (static tables). */
tutti_schedule *tutti_schedule_create(const tutti_schedule_header *head, const tutti_schedule_ops *ops, void *state);

#endif
