/* SPDX-License-Identifier: Apache-2.0 */
/* tune_time.c: measures the time of one exchange between threads of this process. All ranks begin together, and rank
 * 0's clock counts. The result is the lower quartile of many short blocks of invocations: a block that was interrupted
 * says nothing about the machine.
 *
 * With `touch`, a rank rewrites its input before each invocation, as kernels do. Of that time only the excess over
 * private memory counts: lines that other cores have read must be fetched back (measured once: 1.3 GB/s instead of 70
 * GB/s), and a training step pays for that wherever it happens. Inputs are zeros, so sums of sums stay finite however
 * often they are repeated. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/sort.h"
#include "../../tensor/elementwise.h"
#include "../exchange/executor.h"
#include "../launch/join.h"
#include "../lower/prepare.h"
#include "tune.h"

enum { NBLOCKS = 24, MAX_INVOCATIONS = 2000 };
static const double BLOCK_S = 0.01, DEADLINE_S = 60;

typedef struct {
    tutti_group *group;
    const tutti_schedule *schedule;
    bool touch;
    int64_t n;
    int invocations; /* number of invocations in a block */
    double block_s[NBLOCKS];
    tutti_region *region;
    float *zeros;
    tutti_exchange *exchange;
    tutti_status status;
    tutti_failure err;
} rank_run;

static tutti_status block_run(rank_run *r, int invocations, double *seconds)
{
    tutti_status st = tutti_group_barrier(r->group, "tune", &r->err);
    float *own = tutti_region_base(r->region, tutti_group_rank(r->group));
    double start = tutti_clock_s();
    for (int i = 0; i < invocations && !st; i++) {
        /* copies zeros instead of calling memset, which might bypass the caches */
        if (r->touch) tutti_elementwise_copy(&own, 1, r->zeros, r->n, false);
        tutti_exchange_start(r->exchange, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        st = tutti_exchange_wait(r->exchange, &r->err);
    }
    *seconds = tutti_clock_s() - start;
    return st;
}

/* Finds how many invocations fill a block: rank 0 measures a few and passes the number on. */
static tutti_status invocations_find(rank_run *r)
{
    double seconds = 0;
    tutti_status st = block_run(r, 3, &seconds);
    int n = (int)(BLOCK_S / (seconds / 3 + 1e-9));
    r->invocations = n < 1 ? 1 : n > MAX_INVOCATIONS ? MAX_INVOCATIONS : n;
    if (!st) st = tutti_group_broadcast(r->group, "tune", 0, &r->invocations, sizeof r->invocations, &r->err);
    return st;
}

static tutti_status exchange_create(rank_run *r)
{
    size_t nbytes = ((size_t)r->n * sizeof(float) + 63) / 64 * 64;
    tutti_status st = tutti_region_create(r->group, "tune", nbytes, &r->region, &r->err);
    const tutti_place place = {r->region, 0};
    const tutti_exchange_binding binding = {.name = "tune", .n = r->n, .in = &place, .nin = 1, .out = place};
    return st ? st : tutti_exchange_create(r->group, r->schedule, &binding, &r->exchange, &r->err);
}

static void *rank_main(void *arg)
{
    rank_run *r = arg;
    r->zeros = tutti_alloc((size_t)r->n * sizeof(float));
    r->status = exchange_create(r);
    if (!r->status) r->status = invocations_find(r);
    for (int b = 0; b < NBLOCKS && !r->status; b++) r->status = block_run(r, r->invocations, &r->block_s[b]);
    if (!r->status) r->status = tutti_group_barrier(r->group, "tune", &r->err);
    if (r->status) tutti_group_abort(r->group, r->err.text);
    tutti_exchange_destroy(r->exchange);
    tutti_region_destroy(r->region);
    free(r->zeros);
    tutti_group_leave(r->group);
    return NULL;
}

/* Runs all ranks as threads. runs: nranks entries, in which this function writes each thread's arguments. */
static tutti_status ranks_run(rank_run *runs, int nranks, double *seconds, tutti_failure *err)
{
    tutti_group **groups = tutti_alloc((size_t)nranks * sizeof(tutti_group *));
    pthread_t *threads = tutti_alloc((size_t)nranks * sizeof *threads);
    tutti_status st = tutti_group_create_threads(nranks, DEADLINE_S, groups, err);
    int nstarted = 0;
    for (; nstarted < nranks && !st; nstarted += !st) {
        runs[nstarted].group = groups[nstarted];
        int rc = pthread_create(&threads[nstarted], NULL, rank_main, &runs[nstarted]);
        if (rc) {
            st = tutti_fail(err, TUTTI_ERR_FAILED, "cannot start %d threads: %s", nranks, strerror(rc));
            tutti_group_abort(groups[nstarted], err->text);
            for (int i = nstarted; i < nranks; i++) tutti_group_leave(groups[i]);
        }
    }
    for (int i = 0; i < nstarted; i++) {
        pthread_join(threads[i], NULL);
        if (!st && runs[i].status) st = tutti_fail(err, runs[i].status, "%s", runs[i].err.text);
    }
    if (!st) {
        tutti_sort_doubles(runs[0].block_s, NBLOCKS);
        *seconds = runs[0].block_s[NBLOCKS / 4] / runs[0].invocations;
    }
    free(groups);
    free(threads);
    return st;
}

tutti_status tutti_tune_time(const char *algorithm, tutti_collective collective, int nranks, int64_t n, bool touch,
                             double *seconds, tutti_failure *err)
{
    const tutti_compile_request request = {.collective = collective, .nranks = nranks, .in_place = true};
    tutti_prepared made = {0};
    rank_run *runs = tutti_alloc((size_t)nranks * sizeof *runs);
    tutti_status st = tutti_schedule_prepare(algorithm, &request, NULL, NULL, &made, err);
    for (int i = 0; i < nranks; i++) runs[i].schedule = made.lowered, runs[i].touch = touch, runs[i].n = n;
    if (!st) st = ranks_run(runs, nranks, seconds, err);
    tutti_prepared_release(&made);
    free(runs);
    if (!st && touch) *seconds -= fmin(*seconds / 2, tutti_tune_local(false, n));
    return st;
}

double tutti_tune_local(bool add, int64_t n)
{
    double block_s[NBLOCKS];
    size_t nbytes = (size_t)n * sizeof(float);
    float *values = tutti_alloc(3 * nbytes), *out = values + 2 * n;
    const float *const inputs[] = {values, values + n};
    const tutti_elementwise_call sum = {.outputs = &out, .nout = 1, .inputs = inputs, .nin = 2, .n = n};
    const int repeats = 20;
    for (int b = 0; b < NBLOCKS; b++) {
        double start = tutti_clock_s();
        for (int i = 0; i < repeats; i++) {
            if (add)
                tutti_elementwise_reduce(&sum);
            else
                tutti_elementwise_copy(&out, 1, inputs[0], n, false);
        }
        block_s[b] = (tutti_clock_s() - start) / repeats;
    }
    free(values);
    tutti_sort_doubles(block_s, NBLOCKS);
    return block_s[NBLOCKS / 4];
}
