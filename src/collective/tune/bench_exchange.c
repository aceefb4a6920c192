/* SPDX-License-Identifier: Apache-2.0 */
/* bench_exchange.c: times an exchange on every rank, for `tutti coll bench`.
 *
 * The bound is the time of ranks that move the same bytes with the same loops and never signal each other: as many
 * input and output streams, equally long, from and to registered memory, in the executor's blocks. Rounds of both take
 * turns, so that other load on the machine slows both alike; the faster of ordinary and streaming stores is the
 * bound. */
#include "bench_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/sort.h"
#include "../../tensor/elementwise.h"
#include "../exchange/device_regions.h"
#include "../exchange/executor.h"
#include "../simulate/choose/choose.h"
#include "tutti/compile.h"

enum { ROUNDS = 7, MOST_INPUTS = 64, MOST_STREAMS = 256, CHECKS = 3, BLOCK = 1 << 18 };
static const double ROUND_S = 0.02;

typedef struct {
    tutti_group *group;
    const tutti_bench_case *what;
    int rank, nranks;
    int64_t n;
    tutti_prepared made;
    tutti_part part;
    const tutti_device *device;
    tutti_region *in[MOST_INPUTS], *out;
    int nin, streams_in; /* nin: most inputs that one rank has; streams_in: inputs of all ranks together */
    tutti_exchange *x;
} bench;

/* --- setting up --- */

/* Chooses the algorithm; between hosts it uses the assumed figures of a star. */
static tutti_status choose(const tutti_compile_request *q, int64_t n, const tutti_group *g,
                           char name[TUTTI_ALGORITHM_TEXT], tutti_failure *err)
{
    tutti_topology where;
    tutti_status st = tutti_group_nhosts(g) == 1 ? tutti_topology_of_cores(tutti_group_ncores(g), &where, NULL, err)
                                                 : tutti_topology_parse("star", &where, err);
    if (st) return st;
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_choose_algorithm(q, n, &where, choice);
    if (choice->best < 0)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "no algorithm can do this");
    else
        snprintf(name, TUTTI_ALGORITHM_TEXT, "%s", choice->candidates[choice->best].algorithm);
    free(choice);
    return st;
}

static tutti_status make_schedule(bench *b, char name[TUTTI_ALGORITHM_TEXT], tutti_failure *err)
{
    const tutti_compile_request q = {
        .collective = b->what->collective, .nranks = b->nranks, .slots = b->what->slots, .in_place = b->what->in_place};
    tutti_status st = TUTTI_OK;
    snprintf(name, TUTTI_ALGORITHM_TEXT, "%s", b->what->algorithm);
    if (!strcmp(name, "auto")) st = choose(&q, b->n, b->group, name, err);
    const tutti_prover together = tutti_group_prover(b->group);
    if (!st) st = tutti_schedule_prepare(name, &q, tutti_group_hosts(b->group), &together, &b->made, err);
    for (int r = 0; !st && r < b->nranks; r++) {
        tutti_part part;
        tutti_schedule_part(b->made.lowered, r, &part);
        for (int i = 0; i < part.nbuffers; i++) {
            if (part.buffers[i].role != TUTTI_BUFFER_IN) continue;
            b->streams_in++;
            if (part.buffers[i].ordinal >= b->nin) b->nin = part.buffers[i].ordinal + 1;
        }
        tutti_part_release(&part);
    }
    if (!st && b->nin > MOST_INPUTS)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%d inputs a rank, at most %d", b->nin, MOST_INPUTS);
    if (!st) tutti_schedule_part(b->made.lowered, b->rank, &b->part);
    return st;
}

static bool is_matrix(const bench *b)
{
    return b->what->collective == TUTTI_ALL_TO_ALL;
}

static tutti_status bind(bench *b, tutti_failure *err)
{
    tutti_place places[MOST_INPUTS];
    tutti_status st = TUTTI_OK;
    /* elements that a rank stores: in an all-to-all one row and one column of blocks */
    int64_t held = is_matrix(b) ? b->n / b->nranks + b->nranks : b->n;
    size_t bytes = (size_t)(held + 1) * sizeof(float);
    for (int k = 0; k < b->nin && !st; k++) {
        st = tutti_device_create_region(b->device, b->group, "bench input", bytes, &b->in[k], err);
        places[k] = (tutti_place){b->in[k], 0};
    }
    if (!st) st = tutti_device_create_region(b->device, b->group, "bench output", bytes, &b->out, err);
    const tutti_exchange_binding binding = {.name = "bench",
                                            .n = b->n,
                                            .device = b->device,
                                            .in = places,
                                            .nin = b->nin,
                                            .out = {b->out, 0},
                                            .in_window = is_matrix(b),
                                            .out_window = is_matrix(b)};
    if (!st) st = tutti_exchange_create(b->group, b->made.lowered, &binding, &b->x, err);
    return st;
}

static void release(bench *b)
{
    tutti_exchange_destroy(b->x);
    for (int k = 0; k < b->nin; k++) tutti_region_destroy(b->in[k]);
    tutti_region_destroy(b->out);
    if (b->part.storage) tutti_part_release(&b->part);
    tutti_prepared_release(&b->made);
}

static float *own_memory(const bench *b, tutti_region *region)
{
    return tutti_region_base(region, b->rank);
}

/* Lends this rank's part of a region to the host, which reads and fills it until it gives it back. */
static float *lend(const bench *b, tutti_region *region)
{
    return b->device->borrow(b->device, own_memory(b, region), tutti_region_bytes(region, b->rank));
}

static void give_back(const bench *b, tutti_region *region, float *lent, bool changed)
{
    b->device->give_back(b->device, own_memory(b, region), lent, tutti_region_bytes(region, b->rank), changed);
}

/* --- checking results: the values are whole numbers, so that the sums are exact --- */

static float leaf_value(int leaf, int64_t i, int e)
{
    return (float)((leaf + 1) * (e + 1) + i % 7);
}

static int64_t slice_begin(const bench *b, int64_t k, int64_t of)
{
    return b->n / of * k + b->n % of * k / of;
}

static void fill_inputs(const bench *b, int e)
{
    for (int k = 0; k < b->part.nbuffers; k++) {
        const tutti_buffer *buffer = &b->part.buffers[k];
        if (buffer->role != TUTTI_BUFFER_IN) continue;
        float *to = lend(b, b->in[buffer->ordinal]);
        int first = buffer->leaf, last = buffer->leaf + buffer->nleaves;
        int64_t begin = is_matrix(b) ? slice_begin(b, b->rank, b->nranks) : 0;
        int64_t end = is_matrix(b) ? slice_begin(b, b->rank + 1, b->nranks) : b->n;
        for (int64_t i = begin; i < end; i++) {
            to[i - begin] = 0;
            for (int leaf = first; leaf < last; leaf++) to[i - begin] += leaf_value(leaf, i, e);
        }
        give_back(b, b->in[buffer->ordinal], to, true);
    }
}

static int64_t count_wrong_blocks(const bench *b, const float *got, int e)
{
    int64_t p = b->nranks, wrong = 0;
    for (int64_t q = 0; q < p; q++) {
        int64_t from = slice_begin(b, q * p + b->rank, p * p), to = slice_begin(b, q * p + b->rank + 1, p * p);
        for (int64_t i = from; i < to; i++) wrong += *got++ != leaf_value((int)q, i, e);
    }
    return wrong;
}

static int64_t count_wrong(const bench *b, const float *got, int e)
{
    tutti_collective c = b->what->collective;
    if (is_matrix(b)) return count_wrong_blocks(b, got, e);
    int64_t wrong = 0, from = 0, to = b->n;
    int leaves = b->what->slots ? b->what->slots : b->nranks;
    if ((c == TUTTI_GATHER || c == TUTTI_REDUCE) && b->rank != 0) return 0;
    if (c == TUTTI_REDUCE_SCATTER)
        from = slice_begin(b, b->rank, b->nranks), to = slice_begin(b, b->rank + 1, b->nranks);
    for (int64_t i = from, owner = 0; i < to; i++) {
        float want = 0;
        if (tutti_collective_reduces(c)) {
            for (int leaf = 0; leaf < leaves; leaf++) want += leaf_value(leaf, i, e);
        } else {
            while (c != TUTTI_BROADCAST && i >= slice_begin(b, owner + 1, b->nranks)) owner++;
            want = leaf_value((int)owner, i, e);
        }
        wrong += got[i] != want;
    }
    return wrong;
}

static tutti_status run_once(bench *b, tutti_failure *err)
{
    tutti_exchange_start(b->x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    return tutti_exchange_wait(b->x, err);
}

static tutti_status check(bench *b, long long *wrong, tutti_failure *err)
{
    int64_t own = 0, *all = tutti_alloc(sizeof *all * (size_t)b->nranks);
    tutti_status st = TUTTI_OK;
    for (int e = 0; e < CHECKS && !st; e++) {
        fill_inputs(b, e);
        st = run_once(b, err);
        if (st || b->what->collective == TUTTI_BARRIER) continue; /* a barrier has no vectors */
        tutti_region *answer = b->what->in_place ? b->in[0] : b->out;
        float *got = lend(b, answer);
        own += count_wrong(b, got, e);
        give_back(b, answer, got, false);
    }
    if (!st) st = tutti_group_all_gather(b->group, "bench check", &own, all, sizeof own, err);
    *wrong = 0;
    for (int r = 0; r < b->nranks; r++) *wrong += all[r];
    free(all);
    return st;
}

/* --- timing --- */

/* Returns the memory of stream k of the bound's loop. For a sum over ranks it is this rank's slice of another rank's
 * vector, as in the exchange. For a stream that only moves bytes, or whose rank is on another host, it is a slice of
 * this rank's own vector. */
static float *stream_at(const bench *b, tutti_region *region, int k, bool everybodys)
{
    const int64_t share = b->n / b->nranks;
    float *theirs = everybodys ? tutti_region_base(region, k % b->nranks) : NULL;
    return theirs ? theirs + share * b->rank : own_memory(b, region) + share * (k % b->nranks);
}

/* Runs the loop of the bound: as many streams as the exchange has, each as long as a rank's slice. */
static void run_bound(const bench *b, bool stream)
{
    const float *in[MOST_STREAMS];
    float *out[MOST_STREAMS];
    tutti_collective c = b->what->collective;
    bool sums = tutti_collective_reduces(c),
         spreads = c == TUTTI_ALLREDUCE || c == TUTTI_ALL_GATHER || c == TUTTI_BROADCAST;
    if (c == TUTTI_BARRIER) return;
    int64_t share = b->n / b->nranks;
    int nin = sums ? (b->streams_in < MOST_STREAMS ? b->streams_in : MOST_STREAMS) : 1;
    int nout = spreads ? (b->nranks < MOST_STREAMS ? b->nranks : MOST_STREAMS) : 1;
    for (int k = 0; k < nin; k++) in[k] = stream_at(b, b->in[k / b->nranks % b->nin], k, sums);
    for (int k = 0; k < nout; k++) out[k] = stream_at(b, b->what->in_place ? b->in[0] : b->out, k, sums && spreads);
    if (!b->device->shares_host) {
        const tutti_device_reduction how = {.in = TUTTI_F32, .out = TUTTI_F32, .op = TUTTI_SUM};
        const tutti_operands of = {(char *const *)out, nout, (const char *const *)in, nin};
        b->device->reduce(b->device, &how, &of, share);
        b->device->finish(b->device);
        return;
    }
    for (int64_t at = 0; at < share; at += BLOCK) {
        const int64_t n = share - at < BLOCK ? share - at : BLOCK;
        tutti_elementwise_reduce(&(tutti_elementwise_call){
            .outputs = out, .nout = nout, .inputs = in, .nin = nin, .n = n, .stream = stream});
        for (int k = 0; k < nin; k++) in[k] += n;
        for (int k = 0; k < nout; k++) out[k] += n;
    }
}

typedef enum { RUN_EXCHANGE, RUN_BOUND, RUN_STREAMING_BOUND, NRUNS } run_kind;

/* Measures the seconds of one iteration on the slowest rank. */
static tutti_status time_round(bench *b, run_kind kind, long iterations, double *seconds, tutti_failure *err)
{
    tutti_status st = tutti_group_barrier(b->group, "bench round", err);
    double begin = tutti_clock_s(), own, *all = tutti_alloc(sizeof *all * (size_t)b->nranks);
    for (long i = 0; i < iterations && !st; i++) {
        if (kind == RUN_EXCHANGE)
            st = run_once(b, err);
        else
            run_bound(b, kind == RUN_STREAMING_BOUND);
    }
    own = (tutti_clock_s() - begin) / (double)iterations;
    if (!st) st = tutti_group_all_gather(b->group, "bench time", &own, all, sizeof own, err);
    *seconds = 0;
    for (int r = 0; r < b->nranks; r++) *seconds = all[r] > *seconds ? all[r] : *seconds;
    free(all);
    return st;
}

static double median(double *values, int n)
{
    tutti_sort_doubles(values, (size_t)n);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Finds how many iterations make a round. Every rank computes this number from the same gathered time. */
static tutti_status calibrate(bench *b, run_kind kind, long *iterations, tutti_failure *err)
{
    double seconds;
    tutti_status st = time_round(b, kind, 2, &seconds, err);
    if (!st) st = time_round(b, kind, seconds < 1e-3 ? 20 : 1, &seconds, err);
    if (st) return st;
    double wanted = b->what->iterations ? (double)b->what->iterations / ROUNDS : ROUND_S / seconds;
    *iterations = wanted < 1 ? 1 : wanted > 200000 ? 200000 : (long)wanted;
    return TUTTI_OK;
}

static tutti_status time_all(bench *b, tutti_bench_result *out, tutti_failure *err)
{
    long iterations[NRUNS];
    double seconds[NRUNS][ROUNDS];
    tutti_status st = TUTTI_OK;
    for (int k = 0; k < NRUNS && !st; k++) st = calibrate(b, (run_kind)k, &iterations[k], err);
    for (int round = 0; round < ROUNDS && !st; round++)
        for (int k = 0; k < NRUNS && !st; k++) st = time_round(b, (run_kind)k, iterations[k], &seconds[k][round], err);
    if (st) return st;
    double plain = median(seconds[RUN_BOUND], ROUNDS), streaming = median(seconds[RUN_STREAMING_BOUND], ROUNDS);
    out->seconds = median(seconds[RUN_EXCHANGE], ROUNDS);
    out->bound_seconds = plain < streaming ? plain : streaming;
    return TUTTI_OK;
}

tutti_status tutti_bench_exchange(tutti_group *group, const tutti_bench_case *what, tutti_bench_result *out,
                                  tutti_failure *err)
{
    bench b = {.group = group,
               .what = what,
               .device = what->device ? what->device : tutti_device_cpu(),
               .rank = tutti_group_rank(group),
               .nranks = tutti_group_nranks(group)};
    tutti_bench_result result = {.wrong = -1};
    b.n = what->bytes / (long long)sizeof(float);
    /* `bytes` of the case are those of one rank's row of blocks, so the vector has nranks times as many */
    if (is_matrix(&b)) b.n *= b.nranks;
    if (what->collective == TUTTI_BARRIER) b.n = 0;
    tutti_status st = make_schedule(&b, result.algorithm, err);
    if (!st) st = bind(&b, err);
    if (!st) {
        tutti_exchange_stats stats;
        tutti_exchange_stats_read(b.x, &stats);
        result.copies = stats.copies;
    }
    if (!st && what->check) st = check(&b, &result.wrong, err);
    if (!st && !what->check) fill_inputs(&b, 0);
    if (!st) st = time_all(&b, &result, err);
    release(&b);
    if (!st) *out = result;
    return st;
}
