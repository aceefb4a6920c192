/* SPDX-License-Identifier: Apache-2.0 */
/* part_source.c: hands out the parts of a frozen schedule to the checker. */
#include "part_source.h"

static void part_of_schedule(const void *owner, int32_t rank, tutti_part *out)
{
    tutti_schedule_part(owner, rank, out);
}

tutti_part_source tutti_part_source_of(const tutti_schedule *s)
{
    const tutti_schedule_header *head = tutti_schedule_head(s);
    return (tutti_part_source){
        .head = head, .part = part_of_schedule, .release = tutti_part_release, .owner = s, .capacity = head->room};
}
