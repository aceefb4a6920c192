/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: a small pool of pthreads for loops, such as those of generated data sets and support vector machines. Kernels
 * use other threads (kernel/crew.h). Threads: any. */
#ifndef TUTTI_BASE_POOL_H
#define TUTTI_BASE_POOL_H

#include <stdint.h>

typedef struct tutti_pool tutti_pool;
/* makes a pool of nthreads >= 1 threads; the caller of tutti_pool_for counts as one of them */
tutti_pool *tutti_pool_create(int nthreads);
void tutti_pool_destroy(tutti_pool *pool);
int tutti_pool_size(const tutti_pool *pool);
/* Calls body(arg, begin, end) on contiguous parts of [0, n) and returns when all are done. If pool is NULL, the caller
 * does all the work. */
void tutti_pool_for(tutti_pool *pool, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end), void *arg);

#endif
