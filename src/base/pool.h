/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: a small pthread pool for loops and one-shot jobs (loader, tests); oneDNN brings its own threads.
 * Threads: shared. */
#ifndef TUTTI_BASE_POOL_H
#define TUTTI_BASE_POOL_H

#include <stdint.h>

typedef struct tutti_pool tutti_pool;
tutti_pool *tutti_pool_create(int nthreads); /* makes a pool of nthreads >= 1; the caller of tutti_pool_for counts as
                                              * one */
void tutti_pool_destroy(tutti_pool *pool);
int tutti_pool_size(const tutti_pool *pool);
/* Calls body(arg, begin, end) on contiguous parts of [0, n); returns when all are done. pool NULL = the caller does
 * all. */
void tutti_pool_for(tutti_pool *pool, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

#endif
