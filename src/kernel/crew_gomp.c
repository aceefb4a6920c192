/* SPDX-License-Identifier: Apache-2.0 */
/* crew_gomp.c: threads by libgomp. This file calls the function that gcc compiles `#pragma omp parallel` to. So any
 * compiler can build the file, also clang, whose own OpenMP would start a second set of threads. */
#include "../base/signals.h"
#include "crew.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern void GOMP_parallel(void (*body)(void *), void *data, unsigned nthreads, unsigned flags);
extern int omp_get_thread_num(void), omp_get_num_threads(void), omp_get_thread_limit(void), omp_get_active_level(void),
    omp_get_max_active_levels(void);
extern void omp_set_num_threads(int nthreads), omp_set_dynamic(int may_give_fewer), omp_set_max_active_levels(int n);

enum {
    LEAST_STACK = 256 << 10
}; /* least bytes of a thread's stack: training survives a signal with 192 KiB, but not with 160 KiB */

/* libgomp guarantees that the team's work begins after the call and ends before the call returns. The counter makes
 * this order visible to ThreadSanitizer, which cannot see into libgomp. */
typedef struct {
    int64_t n;
    tutti_crew_job *job;
    void *arg;
    atomic_int done;
} work;

/* Runs body on a team of threads. OpenMP's threads that start here have all signals blocked, because oneDNN computes on
 * them too, and a signal handler must not run during its products (onednn_pass.c). */
static void parallel(void (*body)(void *), void *data, int nthreads)
{
    sigset_t before;
    tutti_signals_hold(&before);
    GOMP_parallel(body, data, (unsigned)nthreads, 0);
    tutti_signals_release(&before);
}

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
    parallel(do_part, &w, nthreads);
    (void)atomic_load_explicit(&w.done, memory_order_acquire);
}

/* ---- the team that OpenMP must give ---- */

void tutti_crew_ask(int nthreads)
{
    const int level = omp_get_active_level();
    omp_set_dynamic(0);
    if (omp_get_max_active_levels() <= level) omp_set_max_active_levels(level + 1);
    omp_set_num_threads(nthreads);
}

typedef struct {
    pthread_t *threads;
    sem_t end;
} trial;

static void *wait_for_end(void *arg)
{
    trial *t = arg;
    while (sem_wait(&t->end) != 0) {
    }
    return NULL;
}

/* Returns how many of n more threads the system can run at the same time. *problem is the errno of the first refusal,
 * or 0. libgomp itself would end the process at a refusal. */
static int count_threads(int n, int *problem)
{
    trial t = {.threads = malloc((size_t)n * sizeof(pthread_t))};
    int made = 0;
    *problem = 0;
    if (!t.threads || sem_init(&t.end, 0, 0) != 0) {
        free(t.threads);
        return n; /* the trial itself failed, so it says nothing: assume all n */
    }
    while (made < n && !(*problem = pthread_create(&t.threads[made], NULL, wait_for_end, &t))) made++;
    for (int i = 0; i < made; i++) sem_post(&t.end);
    for (int i = 0; i < made; i++) pthread_join(t.threads[i], NULL);
    sem_destroy(&t.end);
    free(t.threads);
    return made;
}

typedef struct {
    atomic_int nthreads;
    atomic_size_t least_stack;
} team;

static void look_at_team(void *data)
{
    team *t = data;
    pthread_attr_t attr;
    sigset_t before;
    size_t stack = 0, least;
    if (omp_get_thread_num() == 0) atomic_store(&t->nthreads, omp_get_num_threads());
    if (omp_get_thread_num() == 0) return;
    tutti_signals_hold(&before); /* signals stay blocked on this thread, even if the program started it before */
    if (pthread_getattr_np(pthread_self(), &attr) != 0) return;
    pthread_attr_getstacksize(&attr, &stack);
    pthread_attr_destroy(&attr);
    for (least = atomic_load(&t->least_stack); stack < least;)
        if (atomic_compare_exchange_weak(&t->least_stack, &least, stack)) break;
}

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : "not set";
}

tutti_status tutti_crew_prepare(int nthreads, tutti_failure *err)
{
    int problem;
    team t = {0};
    if (nthreads <= 1) return TUTTI_OK;
    if (omp_get_thread_limit() < nthreads)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "threads: %d are asked for, and OMP_THREAD_LIMIT=%s allows a process %d: unset "
                          "OMP_THREAD_LIMIT, or say --set threads=%d",
                          nthreads, value_of("OMP_THREAD_LIMIT"), omp_get_thread_limit(), omp_get_thread_limit());
    const int made = 1 + count_threads(nthreads - 1, &problem);
    if (made < nthreads)
        return tutti_fail(err, TUTTI_ERR_FAILED,
                          "threads: %d are asked for, and the system gives %d (%s): look at ulimit -u, pids.max of the "
                          "control group and free memory, or ask for fewer (--set threads=N)",
                          nthreads, made, strerror(problem));
    tutti_crew_ask(nthreads);
    atomic_store(&t.least_stack, SIZE_MAX);
    parallel(look_at_team, &t, nthreads);
    if (atomic_load(&t.nthreads) < nthreads)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "threads: %d are asked for, and OpenMP gives a team of %d (OMP_THREAD_LIMIT is %s): say "
                          "--set threads=%d",
                          nthreads, atomic_load(&t.nthreads), value_of("OMP_THREAD_LIMIT"), atomic_load(&t.nthreads));
    if (atomic_load(&t.least_stack) < LEAST_STACK)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "threads: OpenMP gives each a stack of %zu KiB, and kernels need %d (OMP_STACKSIZE is %s): "
                          "unset OMP_STACKSIZE, or raise ulimit -s",
                          atomic_load(&t.least_stack) >> 10, LEAST_STACK >> 10, value_of("OMP_STACKSIZE"));
    return TUTTI_OK;
}
