/* SPDX-License-Identifier: Apache-2.0 */
/* bench_exchange.h: times one exchange of a group beside its memory bound, as every rank of the group. Threads:
 * owner. */
#ifndef TUTTI_BENCH_EXCHANGE_H
#define TUTTI_BENCH_EXCHANGE_H

#include "../exchange/executor.h"

typedef struct {
    const char *algorithm; /* "auto": what the model of this host prefers */
    tutti_collective collective;
    int slots;
    long long bytes; /* of the whole vector; a multiple of 4 is used */
    long iterations; /* in all; 0 = about a quarter of a second */
    bool check, in_place;
    const tutti_device *device; /* whose memory it is between; NULL: the host's */
} tutti_bench_case;

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    double seconds;       /* median over rounds of the slowest rank's mean */
    double bound_seconds; /* a loop with the same reads and writes on the same kind of memory, run in turn with it */
    long long wrong;      /* elements, all ranks together; -1 = not checked */
    long long copies;     /* bytes that rank 0's part copies only in order to be sent, here or where they arrive */
} tutti_bench_result;

/* Collective: same case on every rank; every rank gets the result. */
tutti_status tutti_bench_exchange(tutti_group *group, const tutti_bench_case *what, tutti_bench_result *out,
                                  tutti_failure *err);

#endif
