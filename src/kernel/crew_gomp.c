/* SPDX-License-Identifier: Apache-2.0 */
/* crew_gomp.c: threads by libgomp, through the entry that gcc compiles `#pragma omp parallel` to: so any compiler builds this file, also
 * one whose own OpenMP would bring a second set of threads (clang's). */
#include "crew.h"

extern void GOMP_parallel(void (*body)(void *), void *data, unsigned nthreads, unsigned flags);
extern int omp_get_thread_num(void), omp_get_num_threads(void);

typedef struct {
    int64_t n;
    tutti_crew_job *job;
    void *arg;
} work;

static void do_part(void *data)
{
    const work *w = data;
    const int64_t thread = omp_get_thread_num(), nthreads = omp_get_num_threads();
    const int64_t begin = w->n * thread / nthreads, end = w->n * (thread + 1) / nthreads;
    if (begin < end) w->job(w->arg, begin, end, (int)thread);
}

void tutti_crew_run(int nthreads, int64_t n, tutti_crew_job *job, void *arg)
{
    work w = {n, job, arg};
    if (nthreads > n) nthreads = (int)n;
    if (nthreads > 1)
        GOMP_parallel(do_part, &w, (unsigned)nthreads, 0);
    else if (n > 0)
        job(arg, 0, n, 0);
}
