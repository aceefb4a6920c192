/* SPDX-License-Identifier: Apache-2.0 */
/* svm_context.c: the context of an SVM training. It holds what a rank keeps for all problems of one training: numbers
 * of the rows in the tile's type, the tile, the threads, and requests that every round uses again. */
#include "svm_context.h"

#include <stdlib.h>

#include "../../base/clock.h"
#include "../../base/host/memory.h"

enum { BLOCK = 1024 };

void *tutti_svm_buffer_of(tutti_svm_buffer *b, size_t nbytes)
{
    if (nbytes >= b->room) { /* never returns NULL, even for 0 bytes */
        b->room = nbytes + nbytes / 2 + 64;
        b->at = tutti_realloc(b->at, b->room);
    }
    return b->at;
}

/* Makes the targets for a precomputed kernel: the target of row j has a single entry 1, at index number(j). Since entry
 * number(j) of row i is K(i, j), K(i, j) is the inner product of row i and target j. */
static void make_targets(tutti_svm_context *e)
{
    const tutti_svm_data *d = e->data;
    e->targets = e->sources;
    if (!e->precomputed) return;
    int64_t *start = TUTTI_ARENA_NEW(&e->arena, int64_t, d->nrows + 1);
    int32_t *index = TUTTI_ARENA_NEW(&e->arena, int32_t, d->nrows);
    double *one = TUTTI_ARENA_NEW(&e->arena, double, d->nrows);
    float *one32 = TUTTI_ARENA_NEW(&e->arena, float, d->nrows);
    for (int64_t i = 0; i < d->nrows; i++) {
        start[i + 1] = i + 1, one[i] = 1, one32[i] = 1;
        index[i] = (int32_t)d->value[d->start[i]];
    }
    e->targets = (tutti_svm_rows){start, index, one, one32, one};
}

/* Checks the memory that this rank's rows need besides themselves: copies as f32, lengths; in a solver alphas,
 * gradients, places, orders of own samples, and a word for each sample of all ranks; the set's matrix. Memory for rows
 * of other ranks and for the cache is allocated later and can be less. */
static tutti_status check_memory(const tutti_svm_context *e, tutti_failure *err)
{
    enum { A_SAMPLE = 96 };
    const tutti_svm_data *d = e->data;
    const double matrix = 8.0 * e->block * (e->block + 32.0),
                 rows = 4.0 * (double)d->start[d->nrows] + 8.0 * (double)d->total;
    const double need = matrix + rows + A_SAMPLE * (double)d->nrows;
    return tutti_memory_check(need < 9e18 ? (int64_t)need : INT64_MAX, "the training of these rows",
                              "use more ranks, on more hosts", err);
}

/* Determines the kernel's parameters and the number type, and prepares the rows. Collective. */
static tutti_status settle(tutti_svm_context *e, tutti_failure *err)
{
    const tutti_svm_data *d = e->data;
    e->kernel = e->config->kernel;
    if (e->kernel.gamma == 0 && d->width > 0) e->kernel.gamma = 1.0 / d->width;
    e->precomputed = e->kernel.type == TUTTI_SVM_PRECOMPUTED;
    int64_t entries = e->precomputed ? d->nrows : d->start[d->nrows];
    tutti_status st = tutti_svm_context_count(e, &entries, 1, err);
    if (st) return st;
    e->mean_entries = d->total > 0 ? (double)entries / (double)d->total : 0;
    st = check_memory(e, err);
    if (st) return st;
    double *square = TUTTI_ARENA_NEW(&e->arena, double, d->nrows);
    float *value32 = NULL;
    tutti_svm_rows_measure(d, square, NULL);
    double largest = 0;
    for (int64_t i = 0; i < d->nrows; i++) largest = square[i] > largest ? square[i] : largest;
    if (e->nranks > 1) {
        st = tutti_comm_allreduce(e->comm, &largest, &largest, 1, TUTTI_F64, TUTTI_MAX, err);
        if (st) return st;
    }
    e->precision = e->config->precision;
    if (e->precision == TUTTI_SVM_AUTO) e->precision = tutti_svm_precision_for(&e->kernel, e->config->eps, largest);
    e->value_bytes = e->precision == TUTTI_SVM_F32 ? sizeof(float) : sizeof(double);
    if (e->precision == TUTTI_SVM_F32) { /* squares of rounded values, so that the distance of a row from itself is 0 */
        value32 = TUTTI_ARENA_NEW(&e->arena, float, d->start[d->nrows]);
        tutti_svm_rows_measure(d, square, value32);
    }
    e->sources = (tutti_svm_rows){d->start, d->index, d->value, value32, square};
    make_targets(e);
    st = tutti_svm_tile_create(&e->kernel, e->precision, d->width, &e->tile, err);
    if (!st) e->lanes = tutti_svm_tile_lanes(e->tile);
    return st;
}

/* Prepares the requests that every round uses. */
static tutti_status prepare_requests(tutti_svm_context *e, tutti_failure *err)
{
    e->offer = tutti_svm_offer_of(e->block, e->nranks);
    const int64_t n = tutti_svm_offer_length(e->offer);
    e->offered = TUTTI_ARENA_NEW(&e->arena, tutti_svm_candidate, n);
    e->offers = TUTTI_ARENA_NEW(&e->arena, tutti_svm_candidate, n * e->nranks);
    const tutti_call extremes = {.collective = TUTTI_ALLREDUCE,
                                 .in = e->extremes,
                                 .out = e->agreed,
                                 .count = 3,
                                 .type = TUTTI_F64,
                                 .op = TUTTI_ARGMIN};
    const tutti_call offer = {.collective = TUTTI_ALL_GATHER,
                              .in = e->offered,
                              .out = e->offers,
                              .count = n * (int64_t)sizeof *e->offered,
                              .type = TUTTI_U8};
    const tutti_status st = tutti_comm_prepare(e->comm, &extremes, &e->extremes_request, err);
    return st ? st : tutti_comm_prepare(e->comm, &offer, &e->offer_request, err);
}

tutti_status tutti_svm_context_create(tutti_comm *comm, const tutti_svm_data *data, const tutti_svm_config *config,
                                      tutti_svm_context **out, tutti_failure *err)
{
    tutti_svm_context *e = tutti_alloc(sizeof *e);
    e->comm = comm, e->data = data, e->config = config;
    e->rank = comm ? tutti_comm_rank(comm) : 0, e->nranks = comm ? tutti_comm_size(comm) : 1;
    e->began = tutti_clock_s();
    e->block = config->block ? config->block : BLOCK;
    if (e->block > data->total) e->block = data->total > 2 ? (int)(data->total + 1) / 2 * 2 : 2;
    e->nrows_of = TUTTI_ARENA_NEW(&e->arena, int64_t, e->nranks);
    e->entries_of = TUTTI_ARENA_NEW(&e->arena, int64_t, e->nranks);
    e->bytes_of = TUTTI_ARENA_NEW(&e->arena, int64_t, e->nranks);
    if (config->nthreads > 1) e->pool = tutti_pool_create(config->nthreads);
    tutti_status st = settle(e, err);
    if (!st && e->nranks > 1) st = prepare_requests(e, err);
    if (st)
        tutti_svm_context_destroy(e);
    else
        *out = e;
    return st;
}

void tutti_svm_context_destroy(tutti_svm_context *e)
{
    if (!e) return;
    tutti_request_free(e->extremes_request);
    tutti_request_free(e->offer_request);
    tutti_svm_tile_destroy(e->tile);
    tutti_pool_destroy(e->pool);
    tutti_svm_store_release(&e->store);
    free(e->packet.at);
    free(e->arrivals.at);
    tutti_arena_release(&e->arena);
    free(e);
}

const tutti_svm_kernel *tutti_svm_context_kernel(const tutti_svm_context *e)
{
    return &e->kernel;
}

typedef struct {
    const tutti_svm_tile *tile;
    const tutti_svm_rows *targets;
    const int32_t *target;
    const double *weight;
    double *sum;
} addition;

static void add_part(void *arg, int64_t begin, int64_t end)
{
    const addition *a = arg;
    const tutti_svm_targets targets = {a->targets, a->target, begin, end};
    tutti_svm_tile_sum(a->tile, &targets, a->weight, a->sum);
}

void tutti_svm_context_add(tutti_svm_context *e, const tutti_svm_rows *sources, const tutti_svm_weighted *which,
                           int64_t ntargets, const int32_t *target, double *sum)
{
    for (int64_t first = 0; first < which->n && ntargets > 0; first += e->lanes) {
        const int width = which->n - first < e->lanes ? (int)(which->n - first) : e->lanes;
        tutti_svm_tile_fill(e->tile, sources, which->row + first, 0, width);
        tutti_svm_charge(&e->account, TUTTI_SVM_ALIKE);
        addition a = {e->tile, &e->targets, target, which->weight + first, sum};
        tutti_pool_for(e->pool, ntargets, add_part, &a);
        tutti_svm_charge(&e->account, e->account.adding);
    }
}

tutti_status tutti_svm_context_share(tutti_svm_context *e, const int64_t mine[2], int64_t *all, tutti_failure *err)
{
    all[0] = mine[0], all[1] = mine[1];
    if (e->nranks == 1) return TUTTI_OK;
    const tutti_status st = tutti_comm_all_gather(e->comm, mine, all, 2, TUTTI_I64, err);
    tutti_svm_charge_moving(&e->account, 2 * e->nranks * (int64_t)sizeof *all);
    return st;
}

tutti_status tutti_svm_context_count(tutti_svm_context *e, int64_t *values, int n, tutti_failure *err)
{
    if (e->nranks == 1) return TUTTI_OK;
    const tutti_status st = tutti_comm_allreduce(e->comm, values, values, n, TUTTI_I64, TUTTI_SUM, err);
    tutti_svm_charge_moving(&e->account, n * (int64_t)sizeof *values);
    return st;
}
