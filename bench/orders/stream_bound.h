/* SPDX-License-Identifier: Apache-2.0 */
/* stream_bound.h: how long it takes to read and write what a kernel must, at the speed of memory. Buffers of one size
 * are walked in one loop, whose outputs are the sum of what is read (past the caches where they are large); others pass
 * by in turns, by pieces. */
#ifndef TUTTI_BENCH_STREAM_BOUND_H
#define TUTTI_BENCH_STREAM_BOUND_H

#include <stddef.h>

enum { STREAM_MOST = 6 };

/* One walk: so many buffers that are read, then those that are written. */
typedef struct {
    void *memory[STREAM_MOST];
    size_t bytes[STREAM_MOST];
    int nread, nwritten;
} stream_walk;

/* Seconds, by so many threads. What is read is kept. */
double stream_seconds(const stream_walk *walks, int nwalks, int nthreads);

#endif
