/* SPDX-License-Identifier: Apache-2.0 */
/* check_layout.c: decides which other ranks' accesses a rank's vector clock has to remember.
 *
 * touched[r] = ranks whose memory r's steps touch (itself included). Two ranks can race only if they touch the same
 * rank's memory, so r's neighbours are all ranks that touch some memory which r touches too. If nearly all ranks are
 * neighbours (direct exchanges), they share one full layout, whose joins are plain vector loops. */
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

static bool has(const uint64_t *set, int32_t i)
{
    return set[i / 64] >> (i % 64) & 1;
}

void tutti_layout_touch(tutti_checker *c, int32_t who, int32_t whose)
{
    size_t words = ((size_t)c->head->nranks + 63) / 64;
    if (c->touched) c->touched[(size_t)who * words + (size_t)whose / 64] |= (uint64_t)1 << (whose % 64);
}

void tutti_layout_begin(tutti_checker *c)
{
    size_t words = ((size_t)c->head->nranks + 63) / 64;
    if (!c->full) c->touched = tutti_alloc(sizeof *c->touched * words * (size_t)c->head->nranks);
    for (int32_t r = 0; r < c->head->nranks; r++) tutti_layout_touch(c, r, r);
}

static void full_layout(tutti_checker *c)
{
    c->full = true;
    for (int32_t r = 0; r < c->head->nranks; r++)
        c->layouts[r] = (tutti_clock_layout){.nmarks = 2 * c->head->nranks, .ncounts = c->nthreads};
}

/* Finds all ranks that touch memory which r touches; returns their number. */
static int32_t neighbours(const tutti_checker *c, int32_t r, uint64_t *const *touchers, uint64_t *near, size_t words)
{
    int32_t n = 0;
    memset(near, 0, sizeof *near * words);
    for (int32_t q = 0; q < c->head->nranks; q++)
        if (has(c->touched + (size_t)r * words, q)) {
            near[q / 64] |= (uint64_t)1 << (q % 64);
            for (size_t i = 0; i < words; i++) near[i] |= touchers[q][i];
        }
    for (size_t i = 0; i < words; i++) n += __builtin_popcountll(near[i]);
    return n;
}

static void near_layout(tutti_checker *c, int32_t r, const uint64_t *near, int32_t n)
{
    tutti_clock_layout *l = &c->layouts[r];
    *l = (tutti_clock_layout){.near = TUTTI_ARENA_NEW(&c->arena, int32_t, n),
                              .start = TUTTI_ARENA_NEW(&c->arena, int32_t, n + 1)};
    l->first_thread = c->first_thread;
    l->rank_of = c->rank_of;
    for (int32_t q = 0; q < c->head->nranks; q++) {
        if (!has(near, q)) continue;
        l->near[l->nnear++] = q;
        l->start[l->nnear] = l->start[l->nnear - 1] + c->ranks[q].nthreads;
    }
    l->ncounts = l->start[l->nnear];
    l->nmarks = 2 * l->nnear;
}

/* Returns true if the mean rank touches memory of more than an eighth of all ranks, or if there are fewer than 16
 * ranks; then every rank counts as a neighbour of all. */
static bool is_crowded(const tutti_checker *c, size_t words)
{
    int64_t pairs = 0, p = c->head->nranks;
    for (size_t i = 0; i < words * (size_t)p; i++) pairs += __builtin_popcountll(c->touched[i]);
    return p < 16 || pairs > p * p / 8;
}

void tutti_layout_end(tutti_checker *c)
{
    int32_t p = c->head->nranks;
    size_t words = ((size_t)p + 63) / 64;
    c->layouts = TUTTI_ARENA_NEW(&c->arena, tutti_clock_layout, p);
    if (c->full || c->reuses || is_crowded(c, words)) {
        full_layout(c);
        return;
    }
    uint64_t *all = tutti_alloc(sizeof *all * words * ((size_t)p + 1));
    uint64_t **touchers = tutti_alloc(sizeof *touchers * (size_t)p);
    for (int32_t q = 0; q < p; q++) touchers[q] = all + (size_t)q * words;
    for (int32_t r = 0; r < p; r++)
        for (int32_t q = 0; q < p; q++)
            if (has(c->touched + (size_t)r * words, q)) touchers[q][r / 64] |= (uint64_t)1 << (r % 64);
    for (int32_t r = 0; r < p; r++) {
        uint64_t *near = all + (size_t)p * words;
        int32_t n = neighbours(c, r, touchers, near, words);
        near_layout(c, r, near, n);
    }
    free(all);
    free(touchers);
}
