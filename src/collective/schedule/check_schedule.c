/* SPDX-License-Identifier: Apache-2.0 */
/* check_schedule.c: a frozen schedule as a source of parts for the checker. */
#include "check.h"

static void part_of_schedule(const void *owner, int32_t rank, tutti_part *out)
{
    tutti_schedule_part(owner, rank, out);
}

tutti_part_source tutti_part_source_of(const tutti_schedule *s)
{
    return (tutti_part_source){tutti_schedule_head(s), part_of_schedule, tutti_part_release, s};
}

tutti_status tutti_schedule_check(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err)
{
    tutti_part_source source = tutti_part_source_of(s);
    return tutti_check_source(&source, report, err);
}
