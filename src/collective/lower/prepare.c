/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c: compiles, lowers and proves a schedule in one call. */
#include "prepare.h"

#include "tutti/lower.h"

static tutti_status lower(const tutti_schedule *compiled, const int32_t *host_of, tutti_schedule **out,
                          tutti_failure *err)
{
    return host_of ? tutti_schedule_lower_hosts(compiled, host_of, out, err)
                   : tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, out, err);
}

tutti_status tutti_schedule_prepare(const char *algorithm, const tutti_compile_request *request, const int32_t *host_of,
                                    const tutti_prover *by, tutti_prepared *out, tutti_failure *err)
{
    *out = (tutti_prepared){0};
    tutti_status st = tutti_schedule_compile(algorithm, request, &out->compiled, err);
    if (!st) st = lower(out->compiled, host_of, &out->lowered, err);
    if (!st && by) st = by->prove(by->who, out->lowered, (tutti_proved_among){0}, &out->hash, err);
    if (st) tutti_prepared_release(out);
    return st;
}

void tutti_prepared_release(tutti_prepared *p)
{
    tutti_schedule_destroy(p->lowered);
    tutti_schedule_destroy(p->compiled);
    *p = (tutti_prepared){0};
}
