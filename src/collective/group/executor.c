/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c: life of an exchange: agree, allocate, bind, and the other way round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "executor_impl.h"

/* What every rank tells before memory is shared. */
typedef struct {
    int32_t nchannels;
    uint64_t part, next_part; /* hashes of the own part and of the next rank's, as this rank has them */
    char words[340];          /* must agree */
} exchange_notice;

static int32_t count_blocks(const tutti_schedule_header *h)
{
    return h->collective == TUTTI_ALL_TO_ALL ? h->nranks * h->nranks : h->nranks;
}

/* "3 0 5 1": as many as there is room for, then a hash of all. */
static void describe_counts(const int64_t *counts, int32_t nblocks, char out[96])
{
    enum { ROOM = 60 };
    int length = snprintf(out, 96, ", counts");
    for (int32_t i = 0; i < nblocks && length < ROOM; i++)
        length += snprintf(out + length, 96 - (size_t)length, " %lld", (long long)counts[i]);
    const unsigned hash = (unsigned)tutti_hash(counts, sizeof *counts * (size_t)nblocks);
    if (length >= ROOM) snprintf(out + length, 96 - (size_t)length, " .. (hash %08x)", hash);
}

static void describe(const tutti_schedule_header *h, const tutti_exchange_binding *binding, char *out, size_t size)
{
    char counts[96] = "";
    if (binding->counts) describe_counts(binding->counts, count_blocks(h), counts);
    snprintf(out, size, "%.64s %s of %d ranks, root %d, %d slots, %s, %lld elements%s, %s %s, '%.60s'", h->algorithm,
             tutti_collective_name(h->collective), h->nranks, h->root, h->slots,
             h->in_place ? "in place" : "out of place", (long long)binding->n, counts, tutti_dtype_name(binding->type),
             tutti_operation_name(binding->op), binding->name);
}

/* All ranks have been told the same, so all refuse or none does. */
static tutti_status take_vector(tutti_exchange *x, const tutti_schedule_header *h,
                                const tutti_exchange_binding *binding, tutti_failure *err)
{
    const int32_t nblocks = count_blocks(h);
    if (tutti_collective_reduces(h->collective) && !tutti_can_reduce(binding->type, binding->op))
        return tutti_fail(err, TUTTI_ERR_USAGE, "exchange '%s': %s is moved, there is no %s of it", x->name,
                          tutti_dtype_name(binding->type), tutti_operation_name(binding->op));
    if (h->in_place && (binding->in_window || binding->out_window))
        return tutti_fail(err, TUTTI_ERR_USAGE, "exchange '%s': a schedule in place needs places of whole vectors",
                          x->name);
    x->type = binding->type, x->op = binding->op;
    x->vector = (tutti_vector){binding->n, tutti_element_bytes(binding->type, binding->op), nblocks, NULL};
    if (!binding->counts) return TUTTI_OK;
    int64_t *first = TUTTI_ARENA_NEW(&x->arena, int64_t, nblocks + 1);
    for (int32_t i = 0; i < nblocks; i++) {
        if (binding->counts[i] < 0 || binding->counts[i] > binding->n - first[i])
            return tutti_fail(err, TUTTI_ERR_USAGE, "exchange '%s': count %d is %lld; %lld elements in all", x->name, i,
                              (long long)binding->counts[i], (long long)binding->n);
        first[i + 1] = first[i] + binding->counts[i];
    }
    if (first[nblocks] != binding->n)
        return tutti_fail(err, TUTTI_ERR_USAGE, "exchange '%s': the counts add up to %lld, not to %lld", x->name,
                          (long long)first[nblocks], (long long)binding->n);
    x->vector.first = first;
    return TUTTI_OK;
}

/* Two files may say the same of themselves and differ inside. Each rank looks at its own part and the next rank's: hashing all
 * would cost all of them at every rank. */
static tutti_status compare_parts(const tutti_group *g, const exchange_notice *all, tutti_failure *err)
{
    for (int r = 0; r < g->nranks; r++) {
        char one[17], other[17];
        const int next = (r + 1) % g->nranks;
        if (all[r].next_part == all[next].part) continue;
        tutti_hash_text(all[r].next_part, one), tutti_hash_text(all[next].part, other);
        return tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                          "the ranks run different schedules: rank %d's part has hash %s for %s and %s for itself; %s",
                          next, one, g->peers[r].describe, other, all[r].words);
    }
    return TUTTI_OK;
}

static tutti_status agree(tutti_exchange *x, const tutti_schedule *schedule, const tutti_part *part,
                          const tutti_exchange_binding *binding, tutti_failure *err)
{
    tutti_group *g = x->group;
    const tutti_schedule_header *h = tutti_schedule_head(schedule);
    exchange_notice own = {.nchannels = tutti_part_channels(part),
                           .part = tutti_schedule_part_hash(schedule, g->rank),
                           .next_part = tutti_schedule_part_hash(schedule, (g->rank + 1) % g->nranks)},
                    *all = tutti_alloc(sizeof *all * (size_t)g->nranks);
    describe(h, binding, own.words, sizeof own.words);
    tutti_status s = tutti_group_all_gather(g, "exchange", &own, all, sizeof own, err);
    for (int r = 0; r < g->nranks && !s; r++) {
        if (all[r].nchannels > x->nchannels) x->nchannels = all[r].nchannels;
        if (strcmp(all[0].words, all[r].words))
            s = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "the ranks create different exchanges: %s: %s; %s: %s",
                           g->peers[0].describe, all[0].words, g->peers[r].describe, all[r].words);
    }
    if (!s) s = compare_parts(g, all, err);
    free(all);
    return s;
}

/* A rank that could not bind tells the others, so that nobody starts what will never end. */
static tutti_status share_status(tutti_exchange *x, tutti_status own, tutti_failure *err)
{
    struct {
        uint32_t status;
        char words[400];
    } mine = {.status = own}, *all = tutti_alloc(sizeof *all * (size_t)x->group->nranks);
    if (own && err) snprintf(mine.words, sizeof mine.words, "%.390s", err->text);
    tutti_failure why = {0};
    tutti_status s = tutti_group_all_gather(x->group, "exchange bound", &mine, all, sizeof mine, &why);
    for (int r = 0; r < x->group->nranks && !s; r++)
        if (all[r].status) s = tutti_fail(&why, (tutti_status)all[r].status, "%s", all[r].words);
    free(all);
    if (s && !own) tutti_fail(err, s, "%s", why.text);
    return own ? own : s;
}

static void insert(tutti_group *g, tutti_exchange *x)
{
    tutti_exchange **at = &g->exchanges;
    while (*at && (*at)->priority <= x->priority) at = &(*at)->next;
    x->next = *at;
    *at = x;
    g->progress = tutti_exchange_advance_all;
}

tutti_status tutti_exchange_create(tutti_group *g, const tutti_schedule *schedule,
                                   const tutti_exchange_binding *binding, tutti_exchange **out, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(schedule);
    const bool fits = h->wire != TUTTI_WIRE_TWO_SIDED && (h->wire != TUTTI_WIRE_MAPPED || g->nhosts == 1);
    if (!fits || h->nranks != g->nranks || binding->n < 0)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "exchange '%s': the schedule is %s for %d ranks; this group needs one lowered for its %d ranks "
            "on %d host%s",
            binding->name, tutti_wire_class_name(h->wire), h->nranks, g->nranks, g->nhosts, g->nhosts == 1 ? "" : "s");
    tutti_exchange *x = tutti_alloc(sizeof *x);
    tutti_failure own = {0};
    tutti_part part;
    x->group = g;
    x->priority = binding->priority;
    snprintf(x->name, sizeof x->name, "%s", binding->name);
    snprintf(x->algorithm, sizeof x->algorithm, "%s", h->algorithm);
    tutti_schedule_part(schedule, g->rank, &part);
    tutti_status s = agree(x, schedule, &part, binding, &own);
    if (!s) s = take_vector(x, h, binding, &own);
    if (!s) {
        size_t bytes = tutti_exchange_own_bytes(&part, g->nranks, x->nchannels, &x->vector);
        s = tutti_region_create(g, binding->name, bytes, &x->region, &own);
    }
    if (!s) {
        s = tutti_exchange_bind(x, schedule, &part, binding, &own);
        s = share_status(x, s, &own);
    }
    tutti_part_release(&part);
    if (s) {
        tutti_exchange_destroy(x);
        return tutti_fail(err, s, "%s", own.text);
    }
    tutti_group_lock(g);
    insert(g, x);
    tutti_group_unlock(g);
    *out = x;
    return TUTTI_OK;
}

void tutti_exchange_destroy(tutti_exchange *x)
{
    if (!x) return;
    tutti_group_lock(x->group);
    for (tutti_exchange **at = &x->group->exchanges; *at; at = &(*at)->next)
        if (*at == x) {
            *at = x->next;
            break;
        }
    for (int32_t i = 0; i < x->nops; i++) tutti_put_release(x->ops[i].flight);
    tutti_group_unlock(x->group);
    tutti_region_destroy(x->region);
    tutti_arena_release(&x->arena);
    free(x);
}

void tutti_exchange_stats_read(const tutti_exchange *x, tutti_exchange_stats *out)
{
    tutti_group_lock(x->group);
    *out = x->stats;
    tutti_group_unlock(x->group);
}

void tutti_exchange_time(tutti_exchange *x, bool on)
{
    x->timed = on;
}
