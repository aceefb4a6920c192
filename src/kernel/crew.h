/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h: the threads of one kernel, which are OpenMP's own, so that tutti and oneDNN share one set of threads on the
 * rank's cores. Threads: one at a time. Cost: some microseconds to wake the other threads. */
#ifndef TUTTI_KERNEL_CREW_H
#define TUTTI_KERNEL_CREW_H

#include <stdint.h>

#include "tutti/failure.h"

/* Computes elements [begin, end) of a range on thread number `thread` of the crew. Thread 0 is the caller. */
typedef void tutti_crew_job(void *arg, int64_t begin, int64_t end, int thread);

/* Calls job on contiguous parts of [0, n) and returns when all are done. Each thread gets one part, and no part is
 * empty. Results must not depend on where the range is cut. OpenMP's limits may lead to fewer threads than asked for,
 * but never to more. */
void tutti_crew_run(int nthreads, int64_t n, tutti_crew_job *job, void *arg);
/* Asks OpenMP for nthreads threads in the next team of the calling thread, whatever OMP_DYNAMIC and
 * OMP_MAX_ACTIVE_LEVELS say, even inside a team of the caller's. A library that has divided its work among nthreads
 * threads (oneDNN) gives wrong results, or waits for ever, with fewer. */
void tutti_crew_ask(int nthreads);
/* Starts a team of nthreads once, before kernels run with it on the calling thread. Returns TUTTI_ERR_USAGE if
 * OMP_THREAD_LIMIT or OMP_STACKSIZE prevents it, TUTTI_ERR_FAILED if the system gives no more threads (ulimit -u,
 * pids.max). Without this check OpenMP would end the process later. */
tutti_status tutti_crew_prepare(int nthreads, tutti_failure *err);

#endif
