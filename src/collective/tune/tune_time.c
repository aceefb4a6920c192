/* SPDX-License-Identifier: Apache-2.0 */
/* tune_time.c: the time of one exchange over threads of this process: the same executor, regions and waiting as between
 * processes. All ranks begin together; rank 0's clock counts; of many short blocks of invocations the
 * lower quartile is taken: a block that was interrupted says nothing about the machine. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../group/executor.h"
#include "tune.h"

enum { NBLOCKS = 24, MAX_INVOCATIONS = 2000 };
static const double BLOCK_S = 0.01, DEADLINE_S = 60;

typedef struct {
    tutti_group *group;
    const tutti_schedule *schedule;
    int64_t n;
    int invocations; /* of a block */
    double block_s[NBLOCKS];
    tutti_status status;
    tutti_failure err;
} rank_run;

static tutti_status block_run(rank_run *r, tutti_exchange *x, int invocations, double *seconds)
{
    tutti_status status = tutti_group_barrier(r->group, "tune", &r->err);
    double start = tutti_clock_s();
    for (int i = 0; i < invocations && !status; i++) {
        tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        status = tutti_exchange_wait(x, &r->err);
    }
    *seconds = tutti_clock_s() - start;
    return status;
}

/* How many invocations fill a block: rank 0 measures a few and tells the others. */
static tutti_status invocations_find(rank_run *r, tutti_exchange *x)
{
    double seconds = 0;
    tutti_status status = block_run(r, x, 3, &seconds);
    int n = (int)(BLOCK_S / (seconds / 3 + 1e-9));
    r->invocations = n < 1 ? 1 : n > MAX_INVOCATIONS ? MAX_INVOCATIONS : n;
    if (!status) status = tutti_group_broadcast(r->group, "tune", 0, &r->invocations, sizeof r->invocations, &r->err);
    return status;
}

static void *rank_main(void *arg)
{
    rank_run *r = arg;
    tutti_region *region = NULL;
    tutti_exchange *x = NULL;
    size_t nbytes = ((size_t)r->n * sizeof(float) + 63) / 64 * 64;
    r->status = tutti_region_create(r->group, "tune", nbytes, &region, &r->err);
    const tutti_place place = {region, 0};
    const tutti_exchange_binding binding = {.name = "tune", .n = r->n, .in = &place, .nin = 1, .out = place};
    if (!r->status) r->status = tutti_exchange_create(r->group, r->schedule, &binding, &x, &r->err);
    if (!r->status) r->status = invocations_find(r, x);
    for (int b = 0; b < NBLOCKS && !r->status; b++) r->status = block_run(r, x, r->invocations, &r->block_s[b]);
    if (!r->status) r->status = tutti_group_barrier(r->group, "tune", &r->err);
    if (r->status) tutti_group_abort(r->group, r->err.text);
    tutti_exchange_destroy(x);
    tutti_region_destroy(region);
    tutti_group_leave(r->group);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tutti_status ranks_run(const tutti_schedule *schedule, int nranks, int64_t n, double *seconds,
                              tutti_failure *err)
{
    tutti_group **groups = tutti_alloc((size_t)nranks * sizeof(tutti_group *));
    rank_run *runs = tutti_alloc((size_t)nranks * sizeof *runs);
    pthread_t *threads = tutti_alloc((size_t)nranks * sizeof *threads);
    tutti_status status = tutti_group_create_threads(nranks, DEADLINE_S, groups, err);
    int nstarted = 0;
    for (; nstarted < nranks && !status; nstarted += !status) {
        runs[nstarted] = (rank_run){.group = groups[nstarted], .schedule = schedule, .n = n};
        int rc = pthread_create(&threads[nstarted], NULL, rank_main, &runs[nstarted]);
        if (rc) {
            status = tutti_fail(err, TUTTI_ERR_FAILED, "cannot start %d threads: %s", nranks, strerror(rc));
            tutti_group_abort(groups[nstarted], err->text);
            for (int i = nstarted; i < nranks; i++) tutti_group_leave(groups[i]);
        }
    }
    for (int i = 0; i < nstarted; i++) {
        pthread_join(threads[i], NULL);
        if (!status && runs[i].status) status = tutti_fail(err, runs[i].status, "%s", runs[i].err.text);
    }
    if (!status) {
        qsort(runs[0].block_s, NBLOCKS, sizeof(double), compare);
        *seconds = runs[0].block_s[NBLOCKS / 4] / runs[0].invocations;
    }
    free(groups);
    free(runs);
    free(threads);
    return status;
}

tutti_status tutti_tune_time(const char *algorithm, tutti_collective collective, int nranks, int64_t n, double *seconds,
                             tutti_failure *err)
{
    const tutti_compile_request request = {.collective = collective, .nranks = nranks, .in_place = true};
    tutti_schedule *compiled = NULL, *lowered = NULL;
    tutti_status status = tutti_schedule_compile(algorithm, &request, &compiled, err);
    if (!status) status = tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &lowered, err);
    if (!status) status = ranks_run(lowered, nranks, n, seconds, err);
    tutti_schedule_destroy(lowered);
    tutti_schedule_destroy(compiled);
    return status;
}
