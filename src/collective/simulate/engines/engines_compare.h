/* SPDX-License-Identifier: Apache-2.0 */
/* engines_compare.h: the candidates of a choice (choose.h), each timed by several engines. Threads: shared. */
#ifndef TUTTI_ENGINES_COMPARE_H
#define TUTTI_ENGINES_COMPARE_H

#include "../choose/choose.h"
#include "engines.h"

enum { TUTTI_MAX_ENGINES = 8 };

typedef struct {
    bool can;
    double seconds;
    char why[200]; /* it cannot, or failed */
} tutti_engine_answer;

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_engine_answer of[TUTTI_MAX_ENGINES]; /* in the table's order; what was not asked cannot, without a why */
} tutti_engine_row;

/* Every candidate as tutti_choose_by compiles and lowers it, those that cannot be had left out; rows: room for TUTTI_MAX_CANDIDATES.
 * engines: bit i = ask engine i. limit_s: of each run of a helper. late_s: when each rank begins, or NULL. Returns how many
 * rows. */
int tutti_engines_compare(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                          int64_t n, const tutti_topology *t, unsigned engines, double limit_s, const double *late_s,
                          tutti_engine_row *rows);

#endif
