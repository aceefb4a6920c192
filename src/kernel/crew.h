/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h: the threads of one kernel, which are OpenMP's own, so that tutti and oneDNN share one set of threads on the
 * rank's cores. Threads: owner. Cost: waking the others, some microseconds. */
#ifndef TUTTI_KERNEL_CREW_H
#define TUTTI_KERNEL_CREW_H

#include <stdint.h>

#include "tutti/failure.h"

/* A range of things to do, and which of the crew does it: 0 is the caller. */
typedef void tutti_crew_job(void *arg, int64_t begin, int64_t end, int thread);

/* Calls job on contiguous parts of [0, n), one a thread and none empty, and returns when all are done. What is written
 * must not depend on where the parts are cut. There may be fewer threads than asked for, where OpenMP's limits say so,
 * never more. */
void tutti_crew_run(int nthreads, int64_t n, tutti_crew_job *job, void *arg);
/* Asks OpenMP for nthreads in the next team of the calling thread, whatever OMP_DYNAMIC and OMP_MAX_ACTIVE_LEVELS say,
 * inside a team of the caller's too: a library that has parted its work for so many (oneDNN) is wrong, or waits for
 * ever, with fewer. */
void tutti_crew_ask(int nthreads);
/* Makes such a team, once before kernels of nthreads run on the calling thread. TUTTI_ERR_USAGE where OMP_THREAD_LIMIT
 * or OMP_STACKSIZE is in the way, TUTTI_ERR_FAILED where the system gives no more threads (ulimit -u, pids.max):
 * without it OpenMP would end the process later. */
tutti_status tutti_crew_prepare(int nthreads, tutti_failure *err);

#endif
