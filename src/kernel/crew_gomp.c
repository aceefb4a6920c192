/* SPDX-License-Identifier: Apache-2.0 */
/* crew_gomp.c: threads by libgomp, through the entry that gcc compiles `#pragma omp parallel` to: so any compiler builds this file, also
 * one whose own OpenMP would bring a second set of threads (clang's). */
#include "crew.h"

#include <stdatomic.h>

extern void GOMP_parallel(void (*body)(void *), void *data, unsigned nthreads, unsigned flags);
extern int omp_get_thread_num(void), omp_get_num_threads(void);

/* That parts begin after the call and end before it returns is libgomp's doing; the counter says it once more, to ThreadSanitizer, which does
 * not see into libgomp. */
typedef struct {
    int64_t n;
    tutti_crew_job *job;
    void *arg;
    atomic_int done;
} work;

static void do_part(void *data)
{
    work *w = data;
    (void)atomic_load_explicit(&w->done, memory_order_acquire);
    const int64_t thread = omp_get_thread_num(), nthreads = omp_get_num_threads();
    const int64_t begin = w->n * thread / nthreads, end = w->n * (thread + 1) / nthreads;
    if (begin < end) w->job(w->arg, begin, end, (int)thread);
    atomic_fetch_add_explicit(&w->done, 1, memory_order_release);
}

void tutti_crew_run(int nthreads, int64_t n, tutti_crew_job *job, void *arg)
{
    work w = {n, job, arg, 0};
    if (nthreads > n) nthreads = (int)n;
    if (nthreads <= 1) {
        if (n > 0) job(arg, 0, n, 0);
        return;
    }
    atomic_store_explicit(&w.done, 0, memory_order_release);
    GOMP_parallel(do_part, &w, (unsigned)nthreads, 0);
    (void)atomic_load_explicit(&w.done, memory_order_acquire);
}
