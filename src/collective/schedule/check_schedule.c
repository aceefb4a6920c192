/* SPDX-License-Identifier: Apache-2.0 */
/* check_schedule.c: a frozen schedule as a source of parts for the checker and the interpreter. */
#include "interpret.h"

static void part_of_schedule(const void *owner, int32_t rank, tutti_part *out)
{
    tutti_schedule_part(owner, rank, out);
}

tutti_part_source tutti_part_source_of(const tutti_schedule *s)
{
    return (tutti_part_source){
        .head = tutti_schedule_head(s), .part = part_of_schedule, .release = tutti_part_release, .owner = s};
}

tutti_status tutti_schedule_check(const tutti_schedule *s, tutti_check_report *report, tutti_failure *err)
{
    tutti_part_source source = tutti_part_source_of(s);
    return tutti_check_source(&source, report, err);
}

void tutti_schedule_interpret(const tutti_schedule *s, int64_t n, uint64_t seed, int64_t ntries, tutti_verdict *out)
{
    tutti_part_source source = tutti_part_source_of(s);
    tutti_interpret(&source, n, seed, ntries, out);
}
