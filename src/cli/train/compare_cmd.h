/* SPDX-License-Identifier: Apache-2.0 */
/* compare_cmd.h: parts of `tutti compare` with files of their own: what is asked, and the runs. Threads: owner. */
#ifndef TUTTI_CLI_COMPARE_CMD_H
#define TUTTI_CLI_COMPARE_CMD_H

#include "../../compare/compare.h"

/* ---- compare_methods.c: what is compared ---- */

/* "async-easgd:period=4:optimiser.lr=0.1,sync-sgd". TUTTI_ERR_USAGE. */
tutti_status tutti_compare_read_methods(tutti_compare *c, const char *list, tutti_failure *err);
/* "accuracy=0.988", "seconds=60"; NULL: to the end. TUTTI_ERR_USAGE. */
tutti_status tutti_compare_read_goal(tutti_compare *c, const char *text, tutti_failure *err);
/* Makes c->runs. Loads the job of each, and plans it once a method: what a run would refuse is refused here. */
tutti_status tutti_compare_prepare(tutti_compare *c, tutti_failure *err);
/* The keys of a run as --set has them, of at most TUTTI_COMPARE_MAX_SETS; how many. The arena's. */
int tutti_compare_keys(tutti_compare *c, const tutti_compare_method *m, const char *seed,
                       const char *keys[TUTTI_COMPARE_MAX_SETS]);
void tutti_compare_release(tutti_compare *c);

/* ---- compare_run.c ---- */

/* A folder may hold a run that was held up otherwise, which is no part of this comparison: TUTTI_ERR_USAGE. */
tutti_status tutti_compare_check_handicaps(const tutti_compare *c, tutti_failure *err);
/* All runs that have not been done, one after the other, seed by seed; fills in lines. *signal: what asked for an end, 0 = nothing did. */
tutti_status tutti_compare_play(tutti_compare *c, int *signal, tutti_failure *err);

#endif
