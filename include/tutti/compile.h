/* SPDX-License-Identifier: Apache-2.0 */
/* compile.h: compiles a schedule from the name of an algorithm.
 *
 * Implemented in src/collective/compile. Threads: any; a schedule is frozen once it is made. */
#ifndef TUTTI_COMPILE_H
#define TUTTI_COMPILE_H

#include "tutti/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles an algorithm. Its text is NAME[,parameter=value]..., such as "hierarchical,group=4". NAME is one row of the
 * table in src/collective/compile (`tutti coll list` shows rows and parameters). The schedule's header names every
 * parameter of the row with its value, so equal schedules have equal texts. slots > 0 asks for canonical sums.
 * TUTTI_ERR_USAGE: an unknown name or parameter (the words give the nearest one), a value out of range, or a rank count
 * or class that the algorithm cannot serve. The result is two-sided; lower it with tutti_schedule_lower. */
struct tutti_topology; /* declared in tutti/topology.h */
enum { TUTTI_MAX_PARAMETERS = 4 };
typedef struct {
    tutti_collective collective;
    int32_t nranks;
    int32_t root;
    int32_t slots;
    bool in_place;
    bool sums_once; /* true refuses algorithms in which a rank adds to a partial sum that another rank sent it. Sums of
                     * whole groups of ranks may still be added in one step */
    const struct tutti_topology *topology; /* the topology, for algorithms that are made for one; NULL: none. Must
                                            * outlive the schedule */
    /* The compiler fills in these values for the algorithm; it ignores what the caller leaves here. */
    int32_t param[TUTTI_MAX_PARAMETERS];
    const void *prepared;
} tutti_compile_request;
tutti_status tutti_schedule_compile(const char *name, const tutti_compile_request *request, tutti_schedule **out,
                                    tutti_failure *err);

#ifdef __cplusplus
}
#endif
#endif
