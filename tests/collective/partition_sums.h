/* SPDX-License-Identifier: Apache-2.0 */
/* partition_sums.h: allreduces over some ranks of a group, every element known: all blocks of all ways to part the
 * ranks, at once, started and awaited in another order by each rank. After testing.h. */
#ifndef TUTTI_TESTS_PARTITION_SUMS_H
#define TUTTI_TESTS_PARTITION_SUMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "collective/compile/algorithms.h"
#include "collective/exchange/executor.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { PARTED = 6, MOST_SUMS = 1200, LONGEST = 67, SUM_ROUNDS = 4 };
enum { PARTITIONS = 203, PARTS = 674 }; /* of six: ways to part them, parts in all of these */

/* One exchange. */
typedef struct {
    int32_t members[PARTED], nmembers;
    char name[24];
    int64_t n;
    int algorithm;
    tutti_schedule *compiled, *lowered;
    bool shares;       /* `lowered` with an earlier one */
    tutti_exchange *x; /* NULL: this rank is no member */
} some_sum;

typedef struct {
    some_sum sums[MOST_SUMS];
    int nsums;
    tutti_region *in, *out;
} many_sums;

static inline uint32_t draw(uint64_t seed, uint64_t a, uint64_t b)
{
    return tutti_random(seed, TUTTI_STREAM_TEST, a, b).word[0];
}

static inline void shuffle(int32_t *numbers, int n, uint64_t seed, uint64_t which)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)(draw(seed, which, (uint64_t)i) % (uint32_t)(i + 1));
        const int32_t swapped = numbers[i];
        numbers[i] = numbers[k], numbers[k] = swapped;
    }
}

/* The first algorithm from number `wish` on that serves this many ranks on their hosts; false: nothing is left to try.
 * Sums that are the same but for who the members are share a schedule. */
static inline bool make_sum(const tutti_group *g, const many_sums *all, some_sum *s, int wish, bool only_it)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = s->nmembers};
    int32_t hosts[PARTED];
    for (int i = 0; i < s->nmembers; i++) hosts[i] = tutti_group_host_of(g, s->members[i]);
    for (int i = 0; i < (only_it ? 1 : tutti_algorithm_count()); i++) {
        const int number = (wish + i) % tutti_algorithm_count();
        if (tutti_schedule_compile(tutti_algorithm_at(number)->name, &q, &s->compiled, NULL)) continue;
        s->algorithm = number;
        for (const some_sum *other = all->sums; other < s && !s->lowered; other++)
            if (other->algorithm == number && other->nmembers == s->nmembers && tutti_group_nhosts(g) == 1)
                s->lowered = other->lowered, s->shares = true;
        return s->shares || !tutti_schedule_lower_hosts(s->compiled, hosts, &s->lowered, NULL);
    }
    return false;
}

/* The members that are set in the mask, in an order of chance. */
static inline void add_sum(const tutti_group *g, many_sums *all, unsigned mask, int wish, bool only_it)
{
    some_sum *s = &all->sums[all->nsums];
    *s = (some_sum){.n = 1 + all->nsums % LONGEST};
    for (int r = 0; r < PARTED; r++)
        if (mask >> r & 1) s->members[s->nmembers++] = r;
    shuffle(s->members, s->nmembers, 11, (uint64_t)all->nsums);
    snprintf(s->name, sizeof s->name, "sum %d", all->nsums);
    all->nsums += make_sum(g, all, s, wish, only_it);
}

/* Every way to part the ranks: block_of[r] is at most one more than the largest before it. Returns how many there
 * are. */
static inline int add_partitions(const tutti_group *g, many_sums *all)
{
    int block_of[PARTED] = {0}, nparts = 0;
    for (bool more = true; more; nparts++) {
        int most = 0;
        for (int r = 0; r < PARTED; r++) most = block_of[r] > most ? block_of[r] : most;
        for (int b = 0; b <= most; b++) {
            unsigned mask = 0;
            for (int r = 0; r < PARTED; r++) mask |= (unsigned)(block_of[r] == b) << r;
            add_sum(g, all, mask, all->nsums, false);
        }
        more = false;
        for (int r = PARTED - 1; r > 0 && !more; r--) {
            int before = 0;
            for (int k = 0; k < r; k++) before = block_of[k] > before ? block_of[k] : before;
            more = block_of[r] <= before;
            if (more)
                block_of[r]++;
            else
                block_of[r] = 0;
        }
    }
    return nparts;
}

/* Every algorithm over every set of ranks. */
static inline void add_subsets(const tutti_group *g, many_sums *all)
{
    for (unsigned mask = 1; mask < 1u << PARTED; mask++)
        for (int a = 0; a < tutti_algorithm_count(); a++) add_sum(g, all, mask, a, true);
}

static inline tutti_status open_sums(tutti_group *g, many_sums *all, tutti_failure *err)
{
    const size_t bytes = sizeof(float) * LONGEST * MOST_SUMS;
    tutti_exchange_request *requests = calloc(MOST_SUMS, sizeof *requests);
    tutti_exchange *made[MOST_SUMS];
    tutti_place *places = calloc(MOST_SUMS, sizeof *places);
    tutti_check_report report;
    tutti_status s = tutti_region_create(g, "in", bytes, &all->in, err);
    if (!s) s = tutti_region_create(g, "out", bytes, &all->out, err);
    for (int i = 0; i < all->nsums && !s; i++) {
        const some_sum *sum = &all->sums[i];
        const size_t at = sizeof(float) * LONGEST * (size_t)i;
        places[i] = (tutti_place){all->in, at};
        requests[i].schedule = sum->lowered;
        requests[i].binding = (tutti_exchange_binding){.name = sum->name,
                                                       .n = sum->n,
                                                       .members = sum->members,
                                                       .nmembers = sum->nmembers,
                                                       .in = &places[i],
                                                       .nin = 1,
                                                       .out = {all->out, at}};
        if (tutti_group_rank(g) == 0 && !sum->shares) s = tutti_schedule_check(sum->lowered, &report, err);
    }
    s = tutti_group_all_ready(g, "sums", s, err);
    if (!s) s = tutti_exchange_create_all(g, requests, all->nsums, made, err);
    for (int i = 0; i < all->nsums && !s; i++) all->sums[i].x = made[i];
    free(requests), free(places);
    return s;
}

static inline void close_sums(many_sums *all)
{
    for (int i = 0; i < all->nsums; i++) {
        tutti_exchange_destroy(all->sums[i].x);
        if (!all->sums[i].shares) tutti_schedule_destroy(all->sums[i].lowered);
    }
    for (int i = 0; i < all->nsums; i++)
        tutti_schedule_destroy(all->sums[i].compiled); /* what was lowered makes its parts of them */
    tutti_region_destroy(all->in), tutti_region_destroy(all->out);
    free(all);
}

static inline float given(int rank, int sum, int64_t i, int e)
{
    return (float)((rank + 1) * (e + 1) + sum % 5 + i % 7);
}

static inline tutti_status check_sum(const many_sums *all, int number, int rank, int e, tutti_failure *err)
{
    const some_sum *s = &all->sums[number];
    const float *out = (const float *)tutti_region_base(all->out, rank) + (int64_t)LONGEST * number;
    for (int64_t i = 0; i < s->n; i++) {
        float want = 0;
        for (int m = 0; m < s->nmembers; m++) want += given(s->members[m], number, i, e);
        if (out[i] != want)
            return tutti_fail(err, TUTTI_ERR_FAILED, "round %d, %s (%s, %d ranks): element %lld is %g, not %g", e,
                              s->name, tutti_schedule_head(s->lowered)->algorithm, s->nmembers, (long long)i,
                              (double)out[i], (double)want);
    }
    return TUTTI_OK;
}

/* All that this rank is a member of: filled, started in one order, awaited in another, each rank by its own. */
static inline tutti_status run_sums(tutti_group *g, const many_sums *all, int e, tutti_failure *err)
{
    const int me = tutti_group_rank(g);
    int32_t order[MOST_SUMS], n = 0;
    tutti_status s = TUTTI_OK;
    float *in = tutti_region_base(all->in, me);
    for (int i = 0; i < all->nsums; i++)
        if (all->sums[i].x) order[n++] = i;
    for (int32_t k = 0; k < n; k++)
        for (int64_t i = 0; i < all->sums[order[k]].n; i++)
            in[(int64_t)LONGEST * order[k] + i] = given(me, order[k], i, e);
    shuffle(order, n, 2 + (uint64_t)me, (uint64_t)e);
    for (int32_t k = 0; k < n; k++) {
        tutti_exchange *x = all->sums[order[k]].x;
        tutti_exchange_delay(x, (uint64_t)order[k] + 1, order[k] % 40 == e ? 50 : 0);
        tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
    }
    shuffle(order, n, 100 + (uint64_t)me, (uint64_t)e);
    for (int32_t k = 0; k < n && !s; k++) {
        s = tutti_exchange_wait(all->sums[order[k]].x, err);
        if (!s) s = check_sum(all, order[k], me, e, err);
    }
    return s;
}

/* Memory that is no region, over some: aimed at anew each time, over vectors of different lengths. */
static inline tutti_status plain_sums(tutti_group *g, const int32_t *members, int32_t n, tutti_failure *err)
{
    const tutti_compile_request q = {.collective = TUTTI_ALLREDUCE, .nranks = n};
    const int me = tutti_group_rank(g);
    float in[LONGEST], out[LONGEST];
    tutti_schedule *compiled = NULL, *lowered = NULL;
    tutti_exchange *x = NULL;
    const tutti_exchange_binding b = {.name = "plain", .n = LONGEST, .members = members, .nmembers = n, .plain = true};
    tutti_status s = tutti_group_probe_peers(g, err);
    if (!s && tutti_group_peer_memory(g, NULL) == TUTTI_PEERS_CLOSED) return TUTTI_OK; /* as TUTTI_CMA=off has it */
    if (!s) s = tutti_schedule_compile("direct", &q, &compiled, err);
    if (!s) s = tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, &lowered, err);
    if (!s) s = tutti_exchange_create(g, lowered, &b, &x, err);
    for (int e = 0; e < SUM_ROUNDS && x && !s; e++) {
        const int64_t length = LONGEST - 13 * e;
        for (int64_t i = 0; i < length; i++) in[i] = given(me, 0, i, e);
        tutti_exchange_aim(x, in, out, length, false);
        tutti_exchange_start(x, TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        s = tutti_exchange_wait(x, err);
        for (int64_t i = 0; i < length && !s; i++) {
            float want = 0;
            for (int m = 0; m < n; m++) want += given(members[m], 0, i, e);
            if (out[i] != want) s = tutti_fail(err, TUTTI_ERR_FAILED, "plain, round %d: element %lld", e, (long long)i);
        }
    }
    tutti_exchange_destroy(x);
    if (!s) s = tutti_group_barrier(g, "nobody reads these stacks any more", err);
    tutti_schedule_destroy(lowered), tutti_schedule_destroy(compiled);
    return s;
}

/* subsets: every algorithm over every set of ranks; else all partitions. */
static inline tutti_status all_partition_sums(tutti_group *g, bool subsets, tutti_failure *err)
{
    many_sums *all = calloc(1, sizeof *all);
    tutti_status s = TUTTI_OK;
    if (subsets)
        add_subsets(g, all);
    else if (add_partitions(g, all) != PARTITIONS || all->nsums != PARTS)
        s = tutti_fail(err, TUTTI_ERR_FAILED, "%d sums, not one for each of %d parts", all->nsums, PARTS);
    if (!s) s = open_sums(g, all, err);
    for (int e = 0; e < SUM_ROUNDS && !s; e++) s = run_sums(g, all, e, err);
    close_sums(all);
    return s;
}

#endif
