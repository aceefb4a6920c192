/* SPDX-License-Identifier: Apache-2.0 */
/* lower.h: lowers a schedule: from sends and receives to what a wire can do.
 *
 * Implemented in src/collective/lower. Threads: any; a schedule is frozen once it is made. */
#ifndef TUTTI_LOWER_H
#define TUTTI_LOWER_H

#include "tutti/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a new schedule for the wire class. `s` must be two-sided and must outlive the result, which generates its parts
 * from s's parts. */
tutti_status tutti_schedule_lower(const tutti_schedule *s, tutti_wire_class wire, tutti_schedule **out,
                                  tutti_failure *err);

/* Makes a schedule for ranks of several hosts. host_of holds nranks numbers; ranks of one host have the same number,
 * and any numbers will do. The result counts hosts from 0 in the order of the ranks. If all ranks are on one host, the
 * result is mapped; if each is on its own, one-sided; else mixed. */
tutti_status tutti_schedule_lower_hosts(const tutti_schedule *s, const int32_t *host_of, tutti_schedule **out,
                                        tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
