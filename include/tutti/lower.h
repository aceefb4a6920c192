/* SPDX-License-Identifier: Apache-2.0 */
/* lower.h: from a schedule to one for a wire.
 *
 * Implemented in src/collective/lower. Threads: any; a schedule is frozen once it is made. */
#ifndef TUTTI_LOWER_H
#define TUTTI_LOWER_H

#include "tutti/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A new schedule for the wire class; `s` must be two-sided and must outlive the result (the result generates its parts
 * from s's parts). */
tutti_status tutti_schedule_lower(const tutti_schedule *s, tutti_wire_class wire, tutti_schedule **out,
                                  tutti_failure *err);

/* For ranks of several hosts (host_of: nranks numbers, the same for those of one host, such as a group's for some of
 * its ranks; the result's own count from 0 in the order of the ranks): all on one host gives a mapped schedule, each on
 * its own a one-sided one, else a mixed one. */
tutti_status tutti_schedule_lower_hosts(const tutti_schedule *s, const int32_t *host_of, tutti_schedule **out,
                                        tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
