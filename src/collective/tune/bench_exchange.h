/* SPDX-License-Identifier: Apache-2.0 */
/* bench_exchange.h: times one exchange of a group beside its memory bound; every rank of the group takes part. Threads:
 * owner. */
#ifndef TUTTI_BENCH_EXCHANGE_H
#define TUTTI_BENCH_EXCHANGE_H

#include "../exchange/executor.h"

typedef struct {
    const char *algorithm; /* name of the algorithm; "auto": the algorithm that this host's model prefers */
    tutti_collective collective;
    int slots;
    long long bytes; /* bytes of the whole vector; rounded to a multiple of 4 */
    long iterations; /* number of invocations in all; 0 = about a quarter of a second */
    bool check, in_place;
    const tutti_device *device; /* device whose memory is exchanged; NULL: the host's memory is */
} tutti_bench_case;

typedef struct {
    char algorithm[TUTTI_ALGORITHM_TEXT];
    double seconds;       /* time of an invocation: the slowest rank's mean in each round, then the median over
                           * rounds */
    double bound_seconds; /* time of a loop with the same reads and writes on the same kind of memory, run in turn with
                           * the exchange */
    long long wrong;      /* number of wrong elements on all ranks; -1 = results were not checked */
    long long copies;     /* bytes that rank 0's part copies only in order to be sent, on either side */
} tutti_bench_result;

/* Times one case. Collective: every rank gives the same case and gets the result. */
tutti_status tutti_bench_exchange(tutti_group *group, const tutti_bench_case *what, tutti_bench_result *out,
                                  tutti_failure *err);

#endif
