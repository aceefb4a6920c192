/* SPDX-License-Identifier: Apache-2.0 */
/* engines.h: the engines that say how long a schedule takes on a topology, one row each; they check each other.
 *
 * Order of the answers: the round evaluator's lower_s <= every engine without barriers (events, simgrid, simgrid-tcp).
 * These engines seldom exceed the round evaluator's `seconds`, because its rounds end in barriers. If no routes collide
 * and every rank has the same work, all engines but simgrid-tcp agree. docs/simulation.md lists the effects that each
 * engine leaves out. Threads: any. */
#ifndef TUTTI_ENGINES_H
#define TUTTI_ENGINES_H

#include "../simulate.h"

typedef struct {
    const tutti_schedule *schedule; /* the schedule as it runs on the topology: lowered if ranks map each other's
                                     * memory */
    const char *algorithm;          /* name of the algorithm, for the closed form; NULL: an imported program, which has
                                     * none */
    const tutti_topology *topology;
    int64_t n;            /* number of elements, f32 */
    double limit_s;       /* time limit of a helper program */
    const double *late_s; /* when each rank begins; NULL: all at once */
} tutti_engine_question;

typedef struct {
    const char *name, *about;
    /* Returns false if the engine cannot answer; `why` gets a sentence. An answer may still fail: a helper has a
     * deadline, a schedule may hang. */
    bool (*can)(const tutti_engine_question *q, char why[200]);
    tutti_status (*simulate)(const tutti_engine_question *q, double *seconds, tutti_failure *err);
} tutti_engine;

int tutti_engine_count(void);
const tutti_engine *tutti_engine_at(int i);
const tutti_engine *tutti_engine_find(const char *name); /* finds an engine by its name; NULL: there is none */
/* Calls `can`, then `simulate`. Returns TUTTI_ERR_USAGE with the reason if the engine cannot simulate this. */
tutti_status tutti_engine_ask(const tutti_engine *e, const tutti_engine_question *q, double *seconds,
                              tutti_failure *err);

#endif
