/* SPDX-License-Identifier: Apache-2.0 */
/* compile.h: from the name of an algorithm to a schedule.
 *
 * Implemented in src/collective/compile. Threads: any; a schedule is frozen once it is made. */
#ifndef TUTTI_COMPILE_H
#define TUTTI_COMPILE_H

#include "tutti/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles an algorithm: NAME[,parameter=value]... such as "hierarchical,group=4", one row of the table in
 * src/collective/compile (`tutti coll list` shows rows and parameters). The header's text has every parameter of the
 * row with its value, so equal schedules have equal texts. slots > 0 asks for canonical sums.
 * Refusals (unknown name or parameter with the nearest one, a value out of range, a rank count or class that the
 * algorithm cannot serve, with the reason) are TUTTI_ERR_USAGE. The result is two-sided; lower it with
 * tutti_schedule_lower. */
struct tutti_topology; /* tutti/topology.h */
enum { TUTTI_MAX_PARAMETERS = 4 };
typedef struct {
    tutti_collective collective;
    int32_t nranks;
    int32_t root;
    int32_t slots;
    bool in_place;
    bool sums_once; /* refuse rows that pass partial sums on, but for those that sum all of groups' sums in one step */
    const struct tutti_topology *topology; /* for rows that are bound to one; NULL = none; must outlive the schedule */
    /* For the row, filled in while compiling; what a caller leaves here is not looked at. */
    int32_t param[TUTTI_MAX_PARAMETERS];
    const void *prepared;
} tutti_compile_request;
tutti_status tutti_schedule_compile(const char *name, const tutti_compile_request *request, tutti_schedule **out,
                                    tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
