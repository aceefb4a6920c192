/* SPDX-License-Identifier: Apache-2.0 */
/* choose_impl.h: the schedules that the chooser of algorithms compares, compiled once and simulated for any size.
 * Threads: one at a time. */
#ifndef TUTTI_CHOOSE_IMPL_H
#define TUTTI_CHOOSE_IMPL_H

#include "choose.h"

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_schedule *compiled, *lowered; /* the contender's schedule; NULL: it cannot be made, or has too many steps */
    int64_t nsteps;                     /* estimated number of steps of all ranks */
    bool too_many;
    int32_t most_fan_in; /* the policy's limit of ranks that send to one rank at a time */
    char refusal[200];
} tutti_contender;

typedef struct {
    tutti_contender list[TUTTI_MAX_CANDIDATES];
    int n;
} tutti_contenders;

void tutti_contenders_open(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                           const tutti_topology *t, tutti_contenders *out);
void tutti_contenders_close(tutti_contenders *c);
tutti_status tutti_contender_simulate(const tutti_contender *c, const tutti_topology *t, int64_t n,
                                      tutti_simulation *out, tutti_failure *err);
/* Returns true if the time a is shorter than the time b by more than rounding errors. */
static inline bool tutti_is_faster(double a, double b)
{
    return a < b * (1 - 1e-3);
}

#endif
