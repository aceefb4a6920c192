/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c: life of an exchange: agree, allocate, bind, and the other way round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "executor_impl.h"

enum { WORDS = 340 };

/* What every rank tells of each exchange before memory is shared. */
typedef struct {
    uint64_t words;           /* hash of the words that must agree */
    uint64_t part, next_part; /* hashes of the own part and of the next rank's, as this rank has them */
    uint64_t nbytes;          /* of its part of the shared memory, without counters of channels */
    int32_t nchannels, nbuffers;
} exchange_notice;

/* Memory of exchanges that were made together. */
struct tutti_exchange_memory {
    tutti_region *region;
    int nusers;
};

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
 * would cost all of them at every rank. -1: all is well; else the rank whose next one has another part. */
static int find_other_part(const exchange_notice *all, int nranks, int stride)
{
    for (int r = 0; r < nranks; r++)
        if (all[(size_t)r * (size_t)stride].next_part != all[(size_t)((r + 1) % nranks) * (size_t)stride].part)
            return r;
    return -1;
}

/* All ranks have found the same exchange, and tell what they have there. */
static tutti_status tell_difference(tutti_group *g, const tutti_exchange_request *q, const exchange_notice *all,
                                    int stride, tutti_failure *err)
{
    char own[WORDS], one[17], other[17], (*words)[WORDS] = tutti_alloc(WORDS * (size_t)g->nranks);
    describe(tutti_schedule_head(q->schedule), &q->binding, own, sizeof own);
    tutti_status s = tutti_group_all_gather(g, "exchanges that differ", own, words, WORDS, err);
    for (int r = 1; r < g->nranks && !s; r++)
        if (strcmp(words[0], words[r]))
            s = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "the ranks create different exchanges: %s: %s; %s: %s",
                           g->peers[0].describe, words[0], g->peers[r].describe, words[r]);
    if (!s) {
        const int r = find_other_part(all, g->nranks, stride), next = (r + 1) % g->nranks;
        tutti_hash_text(all[(size_t)r * (size_t)stride].next_part, one);
        tutti_hash_text(all[(size_t)next * (size_t)stride].part, other);
        s = tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                       "the ranks run different schedules: rank %d's part has hash %s for %s and %s for itself; %s",
                       next, one, g->peers[r].describe, other, words[r]);
    }
    free(words);
    return s;
}

/* A table of notices, [rank][exchange]. */
static tutti_status compare(tutti_group *g, const tutti_exchange_request *requests, const exchange_notice *all, int n,
                            tutti_failure *err)
{
    for (int i = 0; i < n; i++) {
        bool differ = find_other_part(&all[i], g->nranks, n) >= 0;
        for (int r = 1; r < g->nranks; r++)
            differ = differ || all[i].words != all[(size_t)r * (size_t)n + (size_t)i].words;
        if (differ) return tell_difference(g, &requests[i], &all[i], n, err);
    }
    return TUTTI_OK;
}

/* Exchanges of one schedule share its hashes: `like` is an earlier request with the same one. */
static void fill_notice(const tutti_exchange *x, const tutti_exchange_request *q, const tutti_part *part,
                        const exchange_notice *like, exchange_notice *out)
{
    const int rank = x->group->rank, nranks = x->group->nranks;
    char words[WORDS];
    describe(tutti_schedule_head(q->schedule), &q->binding, words, sizeof words);
    out->words = tutti_hash(words, strlen(words));
    out->part = like ? like->part : tutti_schedule_part_hash(q->schedule, rank);
    out->next_part = like ? like->next_part : tutti_schedule_part_hash(q->schedule, (rank + 1) % nranks);
    out->nchannels = tutti_part_channels(part);
    out->nbuffers = part->nbuffers;
    out->nbytes = x->vector.bytes ? tutti_exchange_own_bytes(part, nranks, 0, &x->vector, q->binding.plain) : 0;
}

/* Where each exchange lies in the memory of each rank; returns the bytes that this rank needs for all. */
static size_t lay_out(const tutti_group *g, tutti_exchange **x, const exchange_notice *all, int n)
{
    size_t own = 0;
    for (int i = 0; i < n; i++)
        for (int r = 0; r < g->nranks; r++)
            if (all[(size_t)r * (size_t)n + (size_t)i].nchannels > x[i]->nchannels)
                x[i]->nchannels = all[(size_t)r * (size_t)n + (size_t)i].nchannels;
    for (int r = 0; r < g->nranks; r++) {
        size_t at = 0;
        for (int i = 0; i < n; i++) {
            const size_t counters = (size_t)TUTTI_LINE * (size_t)g->nranks * (size_t)x[i]->nchannels;
            const exchange_notice *notice = &all[(size_t)r * (size_t)n + (size_t)i];
            x[i]->at[r] = at;
            x[i]->nbuffers[r] = notice->nbuffers;
            at += (notice->nbytes + counters + TUTTI_LINE - 1) / TUTTI_LINE * TUTTI_LINE;
            x[i]->buffers_at[r] = at - tutti_buffers_bytes(notice->nbuffers);
        }
        if (r == g->rank) own = at;
    }
    return own;
}

/* One round for all of them. */
static tutti_status agree(const tutti_exchange_request *requests, tutti_exchange **x, const tutti_part *parts, int n,
                          size_t *nbytes, tutti_failure *err)
{
    tutti_group *g = x[0]->group;
    const size_t each = sizeof(exchange_notice) * (size_t)n;
    exchange_notice *own = tutti_alloc(each), *all = tutti_alloc(each * (size_t)g->nranks);
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (requests[k].schedule != requests[i].schedule) k++;
        fill_notice(x[i], &requests[i], &parts[i], k < i ? &own[k] : NULL, &own[i]);
    }
    tutti_status s = tutti_group_all_gather(g, n > 1 ? "exchanges" : "exchange", own, all, each, err);
    if (!s) s = compare(g, requests, all, n, err);
    if (!s) *nbytes = lay_out(g, x, all, n);
    free(own), free(all);
    return s;
}

static bool is_any_active(const tutti_group *g)
{
    for (const tutti_exchange *x = g->exchanges; x; x = x->next)
        if (x->active) return true;
    return false;
}

static const tutti_group_traffic traffic = {.advance = tutti_exchange_advance_all,
                                            .is_active = is_any_active,
                                            .count_begun = tutti_exchange_count_begun,
                                            .describe = tutti_exchange_describe_all};

static void insert(tutti_group *g, tutti_exchange *x)
{
    tutti_exchange **at = &g->exchanges;
    while (*at && (*at)->priority <= x->priority) at = &(*at)->next;
    x->next = *at;
    *at = x;
    g->traffic = &traffic;
}

static tutti_status check_wire(const tutti_group *g, const tutti_exchange_request *q, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(q->schedule);
    const bool fits = h->wire != TUTTI_WIRE_TWO_SIDED && (h->wire != TUTTI_WIRE_MAPPED || g->nhosts == 1);
    if (fits && h->nranks == g->nranks && q->binding.n >= 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "exchange '%s': the schedule is %s for %d ranks; this group needs one lowered for its %d ranks "
                      "on %d host%s",
                      q->binding.name, tutti_wire_class_name(h->wire), h->nranks, g->nranks, g->nhosts,
                      g->nhosts == 1 ? "" : "s");
}

static tutti_exchange *begin(tutti_group *g, const tutti_exchange_request *q)
{
    tutti_exchange *x = tutti_alloc(sizeof *x);
    x->group = g;
    x->priority = q->binding.priority;
    x->at = TUTTI_ARENA_NEW(&x->arena, size_t, g->nranks);
    x->buffers_at = TUTTI_ARENA_NEW(&x->arena, size_t, g->nranks);
    x->nbuffers = TUTTI_ARENA_NEW(&x->arena, int32_t, g->nranks);
    snprintf(x->name, sizeof x->name, "%s", q->binding.name);
    snprintf(x->algorithm, sizeof x->algorithm, "%s", tutti_schedule_head(q->schedule)->algorithm);
    return x;
}

/* The memory of all of them: one region, because each costs rounds and, between 300 ranks, 90,000 mappings. */
static tutti_status share_memory(tutti_group *g, tutti_exchange **x, int n, size_t nbytes, tutti_failure *err)
{
    tutti_region *region;
    char name[128];
    snprintf(name, sizeof name, n > 1 ? "%s, and %d more exchanges" : "%s", x[0]->name, n - 1);
    tutti_status s = tutti_region_create(g, name, nbytes, &region, err);
    if (s) return s;
    tutti_exchange_memory *memory = tutti_alloc(sizeof *memory);
    *memory = (tutti_exchange_memory){region, n};
    for (int i = 0; i < n; i++) x[i]->memory = memory, x[i]->region = region;
    return TUTTI_OK;
}

/* Peers place our buffers too: making each other's parts for that would be work in the cube of the ranks. */
static tutti_status show_buffers(tutti_group *g, tutti_exchange **x, const tutti_part *parts, int n, tutti_failure *err)
{
    for (int i = 0; i < n; i++)
        if (parts[i].nbuffers)
            memcpy(tutti_exchange_buffers(x[i], g->rank), parts[i].buffers,
                   sizeof(tutti_buffer) * (size_t)parts[i].nbuffers);
    return tutti_group_barrier(g, "buffers of exchanges", err);
}

static tutti_status make(tutti_group *g, const tutti_exchange_request *requests, tutti_exchange **x, int n,
                         tutti_failure *err)
{
    tutti_failure own = {0}, unfit = {0};
    size_t nbytes = 0;
    tutti_status refused = TUTTI_OK;
    tutti_part *parts = tutti_alloc(sizeof *parts * (size_t)n);
    for (int i = 0; i < n; i++) tutti_schedule_part(requests[i].schedule, g->rank, &parts[i]);
    for (int i = 0; i < n && !refused; i++)
        refused = take_vector(x[i], tutti_schedule_head(requests[i].schedule), &requests[i].binding, &unfit);
    tutti_status s = agree(requests, x, parts, n, &nbytes, &own);
    if (!s && refused) s = tutti_fail(&own, refused, "%s", unfit.text);
    if (!s) s = share_memory(g, x, n, nbytes, &own);
    if (!s) s = show_buffers(g, x, parts, n, &own);
    if (!s) {
        for (int i = 0; i < n && !s; i++)
            s = tutti_exchange_bind(x[i], requests[i].schedule, &parts[i], &requests[i].binding, &own);
        s = tutti_group_all_well(g, "exchange bound", s, &own); /* so that nobody starts what will never end */
    }
    for (int i = 0; i < n; i++) tutti_part_release(&parts[i]);
    free(parts);
    return s ? tutti_fail(err, s, "%s", own.text) : TUTTI_OK;
}

tutti_status tutti_exchange_create_all(tutti_group *g, const tutti_exchange_request *requests, int n,
                                       tutti_exchange **out, tutti_failure *err)
{
    for (int i = 0; i < n; i++)
        if (check_wire(g, &requests[i], err)) return TUTTI_ERR_USAGE;
    for (int i = 0; i < n; i++) out[i] = begin(g, &requests[i]);
    const tutti_status s = n ? make(g, requests, out, n, err) : TUTTI_OK;
    if (!s) tutti_group_lock(g);
    for (int i = 0; i < n && !s; i++) insert(g, out[i]);
    if (!s) tutti_group_unlock(g);
    for (int i = 0; i < n && s; i++) tutti_exchange_destroy(out[i]), out[i] = NULL;
    return s;
}

tutti_status tutti_exchange_create(tutti_group *g, const tutti_schedule *schedule,
                                   const tutti_exchange_binding *binding, tutti_exchange **out, tutti_failure *err)
{
    tutti_exchange *x = NULL;
    const tutti_status s = tutti_exchange_create_all(g, &(tutti_exchange_request){schedule, *binding}, 1, &x, err);
    if (!s) *out = x;
    return s;
}

static void leave_memory(tutti_exchange_memory *memory)
{
    if (!memory || --memory->nusers > 0) return;
    tutti_region_destroy(memory->region);
    free(memory);
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
    leave_memory(x->memory);
    tutti_plain_release(x->plain);
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
