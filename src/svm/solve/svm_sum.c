/* SPDX-License-Identifier: Apache-2.0 */
/* svm_sum.c: sums kernel values over weighted rows of all ranks.
 *
 * The weighted rows of all ranks, one rank after the other, form one sequence in the order of the file. The sequence is
 * cut into chunks of whole tiles, and each rank sends its own rows of a chunk. So the data alone decide which rows
 * share a tile, and with it every rounding. */
#include <stdlib.h>
#include <string.h>

#include "svm_context.h"

enum { CHUNK = 1024 }; /* rows of a chunk, a multiple of a tile's lanes */

/* Gathers the weights of a chunk's rows from all ranks, in the order of the rows. */
static tutti_status gather_weights(tutti_svm_context *e, const double *mine, double *all, tutti_failure *err)
{
    const tutti_call call = {.collective = TUTTI_ALL_GATHER,
                             .in = mine,
                             .out = all,
                             .count = e->nrows_of[e->rank],
                             .counts = e->nrows_of,
                             .type = TUTTI_F64};
    const tutti_status st = tutti_comm_run(e->comm, &call, err);
    int64_t n = 0;
    for (int r = 0; r < e->nranks; r++) n += e->nrows_of[r];
    tutti_svm_charge_moving(&e->account, n * (int64_t)sizeof *all);
    return st;
}

/* Finds which of the rows [first, first + CHUNK) of the sequence belong to this rank. `before` rows of lower ranks come
 * before this rank's n rows. */
static int64_t own_part(int64_t first, int64_t before, int64_t n, int64_t *begin)
{
    const int64_t low = first > before ? first - before : 0;
    int64_t high = first + CHUNK - before;
    if (high > n) high = n;
    *begin = low < n ? low : n;
    return high > low ? high - low : 0;
}

static tutti_status fetch_chunk(tutti_svm_context *e, const tutti_svm_weighted *own, double *weights, int64_t *both,
                                tutti_failure *err)
{
    int64_t mine[2] = {own->n, 0};
    for (int64_t i = 0; i < own->n; i++) mine[1] += tutti_svm_row_entries(e, own->row[i]);
    tutti_status st = tutti_svm_context_share(e, mine, both, err);
    if (st) return st;
    for (int r = 0; r < e->nranks; r++) e->nrows_of[r] = both[2 * r], e->entries_of[r] = both[2 * r + 1];
    st = gather_weights(e, own->weight, weights, err);
    e->store.n = 0;
    return st ? st : tutti_svm_travel(e, &e->store, own->row, own->n, err);
}

static tutti_status add_chunks(tutti_svm_context *e, const tutti_svm_weighted *own, int64_t ntargets,
                               const int32_t *target, double *sum, tutti_failure *err)
{
    int64_t *both = tutti_alloc((size_t)(2 * e->nranks) * sizeof *both);
    double weights[CHUNK];
    int32_t which[CHUNK];
    int64_t before = 0, total = 0;
    const int64_t mine[2] = {own->n, 0};
    tutti_status st = tutti_svm_context_share(e, mine, both, err);
    for (int r = 0; r < e->nranks && !st; r++) {
        if (r < e->rank) before += both[2 * r];
        total += both[2 * r];
    }
    for (int32_t i = 0; i < CHUNK; i++) which[i] = i;
    for (int64_t first = 0; first < total && !st; first += CHUNK) {
        int64_t begin;
        const int64_t many = own_part(first, before, own->n, &begin);
        const tutti_svm_weighted part = {many, own->row + begin, own->weight + begin};
        st = fetch_chunk(e, &part, weights, both, err);
        if (st) break;
        const tutti_svm_rows rows = tutti_svm_store_sources(&e->store);
        tutti_svm_context_add(e, &rows, &(tutti_svm_weighted){e->store.n, which, weights}, ntargets, target, sum);
    }
    free(both);
    return st;
}

tutti_status tutti_svm_sum_rows(tutti_svm_context *e, const tutti_svm_weighted *own, int64_t ntargets,
                                const int32_t *target, double *sum, tutti_failure *err)
{
    tutti_arena arena = {0};
    int32_t *heavy = TUTTI_ARENA_NEW(&arena, int32_t, own->n);
    double *weighs = TUTTI_ARENA_NEW(&arena, double, own->n);
    int64_t many = 0, entries = 0;
    tutti_status st = TUTTI_OK;
    for (int64_t i = 0; i < own->n; i++) {
        if (own->weight[i] == 0) continue;
        heavy[many] = own->row[i], weighs[many++] = own->weight[i];
        entries += tutti_svm_row_entries(e, own->row[i]);
    }
    const tutti_svm_weighted rows = {many, heavy, weighs};
    tutti_svm_charge(&e->account, e->account.adding);
    if (e->nranks == 1) e->account.row_bytes += tutti_svm_row_bytes(e, many, entries);
    if (e->nranks == 1)
        tutti_svm_context_add(e, &e->sources, &rows, ntargets, target, sum);
    else
        st = add_chunks(e, &rows, ntargets, target, sum, err);
    tutti_arena_release(&arena);
    return st;
}
