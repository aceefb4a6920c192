/* SPDX-License-Identifier: Apache-2.0 */
/* each_schedule.h: calls a test for every schedule that the table of algorithms can make at 1 to 33 ranks. */
#ifndef TUTTI_TESTS_EACH_SCHEDULE_H
#define TUTTI_TESTS_EACH_SCHEDULE_H

#include "collective/compile/algorithms.h"
#include "tutti/compile.h"
#include "tutti/topology.h"

enum { MOST_RANKS = 33, MOST_BOUND_RANKS = 9, NSLOTS = 64 };

/* Calls body for every schedule that the row serves at p ranks, in place or not, canonical or not. */
static inline void each_request(const tutti_algorithm *a, int32_t p, void (*body)(tutti_schedule *s))
{
    tutti_topology star; /* for rows that are bound to a topology; they have tests on others */
    assert_int_equal(tutti_topology_parse("star", &star, NULL), TUTTI_OK);
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++)
        for (int variant = 0; variant < 4; variant++) {
            tutti_compile_request q = {.collective = (tutti_collective)c,
                                       .nranks = p,
                                       .root = tutti_collective_has_root((tutti_collective)c) ? p / 2 : 0,
                                       .slots = variant & 1 ? NSLOTS : 0,
                                       .in_place = variant & 2,
                                       .topology = p <= MOST_BOUND_RANKS ? &star : NULL};
            tutti_schedule *s = NULL;
            tutti_failure err = {0};
            if (tutti_schedule_compile(a->name, &q, &s, &err) != TUTTI_OK) {
                assert_int_equal(err.status, TUTTI_ERR_USAGE);
                continue;
            }
            body(s);
            tutti_schedule_destroy(s);
        }
}

static inline void each_schedule(void (*body)(tutti_schedule *s))
{
    for (int i = 0; i < tutti_algorithm_count(); i++)
        for (int32_t p = 1; p <= MOST_RANKS; p++) each_request(tutti_algorithm_at(i), p, body);
}

#endif
