/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c: creates and destroys exchanges: ranks agree on them, memory is allocated, steps are bound. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "device_regions.h"
#include "executor_impl.h"

enum { WORDS = 400 };

/* The notice that a rank gives all others about each exchange before memory is shared. A rank that is no member fills
 * only `words`. */
typedef struct {
    uint64_t words;           /* hash of the words (schedule, type, counts, ...) that must be equal on all ranks */
    uint64_t part, next_part; /* hashes of this rank's part and of the next member's part, as this rank has made both */
    uint64_t nbytes;          /* bytes of this rank's part of the shared memory, without counters of channels */
    int32_t nchannels, nbuffers;
} exchange_notice;

/* The notices of all ranks: [rank][exchange]. */
typedef struct {
    exchange_notice *notices;
    int nexchanges;
} notice_table;

static const exchange_notice *notice_of(const notice_table *t, int rank, int exchange)
{
    return &t->notices[(size_t)rank * (size_t)t->nexchanges + (size_t)exchange];
}

/* Memory of exchanges that were made together. */
struct tutti_exchange_memory {
    tutti_region *region;
    const tutti_device *device; /* device that has enrolled this memory; NULL: none yet */
    int nusers;
};

static int32_t count_blocks(const tutti_schedule_header *h)
{
    return h->collective == TUTTI_ALL_TO_ALL ? h->nranks * h->nranks : h->nranks;
}

/* Writes ", counts 3 0 5 1": as many of the counts as there is room for, then a hash of all. */
static void describe_list(const char *what, const int64_t *numbers, int32_t n, char out[96])
{
    enum { ROOM = 60 };
    int length = snprintf(out, 96, ", %s", what);
    for (int32_t i = 0; i < n && length < ROOM; i++)
        length += snprintf(out + length, 96 - (size_t)length, " %lld", (long long)numbers[i]);
    const unsigned hash = (unsigned)tutti_hash(numbers, sizeof *numbers * (size_t)n);
    if (length >= ROOM) snprintf(out + length, 96 - (size_t)length, " .. (hash %08x)", hash);
}

static void describe_members(const tutti_exchange_binding *b, char out[96])
{
    const int32_t n = b->nmembers > 0 ? b->nmembers : 0;
    int64_t *members = tutti_alloc(sizeof *members * (size_t)n + 1);
    for (int32_t i = 0; i < n; i++) members[i] = b->members[i];
    describe_list("over ranks", members, n, out);
    free(members);
}

static void describe(const tutti_schedule_header *h, const tutti_exchange_binding *binding, char *out, size_t size)
{
    char counts[96] = "", members[96] = "";
    if (binding->counts) describe_list("counts", binding->counts, count_blocks(h), counts);
    if (binding->members) describe_members(binding, members);
    snprintf(out, size, "%.64s %s of %d ranks%s, root %d, %d slots, %s, %lld elements%s, %s %s%s%s, '%.60s'",
             h->algorithm, tutti_collective_name(h->collective), h->nranks, members, h->root, h->slots,
             binding->moves ? "in motion"
             : h->in_place  ? "in place"
                            : "out of place",
             (long long)binding->n, counts, tutti_dtype_name(binding->type), tutti_operation_name(binding->op),
             binding->sent ? " sent as " : "", binding->sent ? tutti_dtype_name(binding->sent) : "", binding->name);
}

/* Returns true if the exchange can be rounded: inputs and outputs are f32, or of the type that is sent. */
static bool can_round(const tutti_schedule_header *h, const tutti_exchange_binding *b)
{
    const bool half = b->sent == TUTTI_BF16 || b->sent == TUTTI_F16, sums = b->op == TUTTI_SUM || b->op == TUTTI_AVG;
    return half && sums && tutti_collective_reduces(h->collective) && !b->plain &&
           (b->type == TUTTI_F32 || b->type == b->sent) && (b->taken == TUTTI_F32 || b->taken == b->sent) &&
           (!h->in_place || b->type == b->taken);
}

static tutti_status take_vector(tutti_exchange *x, const tutti_schedule_header *h,
                                const tutti_exchange_binding *binding, tutti_failure *err)
{
    const int32_t nblocks = count_blocks(h);
    if (tutti_collective_reduces(h->collective) && !tutti_can_reduce(binding->type, binding->op))
        return tutti_fail(err, TUTTI_ERR_USAGE, "exchange '%s': %s is moved, there is no %s of it", x->name,
                          tutti_dtype_name(binding->type), tutti_operation_name(binding->op));
    if (binding->moves && (h->collective != TUTTI_BROADCAST || !h->in_place))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "exchange '%s': only a broadcast in place moves from one memory to another", x->name);
    if (h->in_place && (binding->in_window || binding->out_window))
        return tutti_fail(err, TUTTI_ERR_USAGE, "exchange '%s': a schedule in place needs places of whole vectors",
                          x->name);
    const size_t bytes = tutti_element_bytes(binding->type, binding->op);
    x->type = binding->type, x->op = binding->op;
    x->rounds = binding->sent != TUTTI_F32;
    x->sent = x->rounds ? binding->sent : binding->type;
    x->vector = (tutti_vector){.n = binding->n, .bytes = bytes, .nblocks = nblocks};
    x->vector.sent_bytes = x->rounds ? tutti_dtype_bytes(binding->sent) : bytes;
    x->vector.taken_bytes = x->rounds ? tutti_dtype_bytes(binding->taken) : bytes;
    if (x->rounds && !can_round(h, binding))
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "exchange '%s': %s of %s from %s sent as %s: what is sent is rounded for sums, in f32, of bf16 "
            "or f16, in regions",
            x->name, tutti_operation_name(binding->op), tutti_dtype_name(binding->type),
            tutti_dtype_name(binding->taken), tutti_dtype_name(binding->sent));
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

/* Finds a member whose part for the next member differs from the part that the next member made itself; -1: none. Two
 * files may have the same header and different steps. Each member hashes its own part and the next one's, because
 * hashing all parts on every rank would cost too much. */
static int32_t find_other_part(const tutti_exchange *x, const notice_table *t, int i)
{
    for (int32_t m = 0; m < x->nmembers; m++) {
        const int rank = x->members[m], next = x->members[(m + 1) % x->nmembers];
        if (notice_of(t, rank, i)->next_part != notice_of(t, next, i)->part) return m;
    }
    return -1;
}

/* Fails with a message that names two ranks that were asked for different exchanges, after all ranks have seen a
 * difference. */
static tutti_status tell_difference(const tutti_exchange *x, const tutti_exchange_request *q, const notice_table *t,
                                    int i, tutti_failure *err)
{
    tutti_group *g = x->group;
    char own[WORDS], one[17], other[17], (*words)[WORDS] = tutti_alloc(WORDS * (size_t)g->nranks);
    describe(tutti_schedule_head(q->schedule), &q->binding, own, sizeof own);
    tutti_status st = tutti_group_all_gather(g, "exchanges that differ", own, words, WORDS, err);
    for (int r = 1; r < g->nranks && !st; r++)
        if (strcmp(words[0], words[r]))
            st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS, "the ranks create different exchanges: %s: %s; %s: %s",
                            g->peers[0].describe, words[0], g->peers[r].describe, words[r]);
    if (!st) {
        const int32_t m = find_other_part(x, t, i);
        const int r = x->members[m], next = x->members[(m + 1) % x->nmembers];
        tutti_hash_text(notice_of(t, r, i)->next_part, one);
        tutti_hash_text(notice_of(t, next, i)->part, other);
        st = tutti_fail(err, TUTTI_ERR_RENDEZVOUS,
                        "the ranks run different schedules: rank %d's part has hash %s for %s and %s for itself; %s",
                        next, one, g->peers[r].describe, other, words[r]);
    }
    free(words);
    return st;
}

/* Compares the notices of all ranks. refused: this rank refuses the exchanges; then the parts were not hashed and are
 * not compared. */
static tutti_status compare(tutti_exchange *const *x, const tutti_exchange_request *requests, const notice_table *t,
                            bool refused, tutti_failure *err)
{
    for (int i = 0; i < t->nexchanges; i++) {
        bool differ = !refused && find_other_part(x[i], t, i) >= 0;
        for (int r = 1; r < x[i]->group->nranks; r++)
            differ = differ || notice_of(t, 0, i)->words != notice_of(t, r, i)->words;
        if (differ) return tell_difference(x[i], &requests[i], t, i, err);
    }
    return TUTTI_OK;
}

/* Fills the hashes of parts. Exchanges of one schedule share them: `like` is an earlier one with the same schedule and
 * the same index of this rank in it. */
static void fill_part(const tutti_exchange *x, const tutti_exchange_request *q, const tutti_part *part,
                      const exchange_notice *like, exchange_notice *out)
{
    out->part = like ? like->part : tutti_schedule_part_hash(q->schedule, x->me);
    out->next_part = like ? like->next_part : tutti_schedule_part_hash(q->schedule, (x->me + 1) % x->nmembers);
    out->nchannels = tutti_part_channels(part);
    out->nbuffers = part->nbuffers;
    out->nbytes = x->vector.bytes ? tutti_exchange_own_bytes(part, x->nmembers, 0, &x->vector, q->binding.plain) : 0;
}

/* Fills this rank's notices. parts: this rank's own; NULL: this rank refuses the exchanges. */
static void fill_notices(tutti_exchange *const *x, const tutti_exchange_request *requests, const tutti_part *parts,
                         int n, exchange_notice *own)
{
    char words[WORDS];
    for (int i = 0; i < n; i++) {
        const tutti_exchange_request *q = &requests[i];
        int k = 0;
        describe(tutti_schedule_head(q->schedule), &q->binding, words, sizeof words);
        own[i].words = tutti_hash(words, strlen(words));
        if (!parts || x[i]->me < 0) continue;
        while (requests[k].schedule != q->schedule || x[k]->me != x[i]->me) k++;
        fill_part(x[i], q, &parts[i], k < i ? &own[k] : NULL, &own[i]);
    }
}

/* Assigns each exchange its place in the memory of each member; returns the bytes that this rank needs for all
 * exchanges. */
static size_t lay_out(const tutti_group *g, tutti_exchange *const *x, const notice_table *t)
{
    size_t *end = tutti_alloc(sizeof *end * (size_t)g->nranks);
    for (int i = 0; i < t->nexchanges; i++) {
        for (int32_t m = 0; m < x[i]->nmembers; m++)
            if (notice_of(t, x[i]->members[m], i)->nchannels > x[i]->nchannels)
                x[i]->nchannels = notice_of(t, x[i]->members[m], i)->nchannels;
        const size_t counters = (size_t)TUTTI_LINE * (size_t)x[i]->nmembers * (size_t)x[i]->nchannels;
        for (int32_t m = 0; m < x[i]->nmembers; m++) {
            const int r = x[i]->members[m];
            x[i]->at[m] = end[r];
            x[i]->nbuffers[m] = notice_of(t, r, i)->nbuffers;
            end[r] += (notice_of(t, r, i)->nbytes + counters + TUTTI_LINE - 1) / TUTTI_LINE * TUTTI_LINE;
            x[i]->buffers_at[m] = end[r] - tutti_buffers_bytes(notice_of(t, r, i)->nbuffers);
        }
    }
    const size_t own = end[g->rank];
    free(end);
    return own;
}

/* Compares what the ranks ask for, of all exchanges in one round. parts NULL: this rank refuses the exchanges, as do
 * all ranks with the same arguments. */
static tutti_status agree(const tutti_exchange_request *requests, tutti_exchange **x, const tutti_part *parts, int n,
                          size_t *nbytes, tutti_failure *err)
{
    tutti_group *g = x[0]->group;
    const size_t each = sizeof(exchange_notice) * (size_t)n;
    exchange_notice *own = tutti_alloc(each);
    const notice_table table = {tutti_alloc(each * (size_t)g->nranks), n};
    fill_notices(x, requests, parts, n, own);
    tutti_status st = tutti_group_all_gather(g, n > 1 ? "exchanges" : "exchange", own, table.notices, each, err);
    if (!st) st = compare(x, requests, &table, !parts, err);
    if (!st && parts) *nbytes = lay_out(g, x, &table);
    free(own), free(table.notices);
    return st;
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
                                            .describe = tutti_exchange_describe_all,
                                            .wake = tutti_exchange_wake_sleepers};

static void insert(tutti_group *g, tutti_exchange *x)
{
    tutti_exchange **at = &g->exchanges;
    while (*at && (*at)->priority <= x->priority) at = &(*at)->next;
    x->next = *at;
    *at = x;
    g->traffic = &traffic;
}

static tutti_status check_wire(const tutti_exchange *x, const tutti_exchange_request *q, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(q->schedule);
    const int nhosts = tutti_members_count_hosts(x);
    const bool fits = h->wire != TUTTI_WIRE_TWO_SIDED && (h->wire != TUTTI_WIRE_MAPPED || nhosts == 1);
    if (fits && q->binding.n >= 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "exchange '%s': the schedule is %s for %d ranks; this group needs one lowered for %d ranks "
                      "on %d host%s",
                      q->binding.name, tutti_wire_class_name(h->wire), h->nranks, x->nmembers, nhosts,
                      nhosts == 1 ? "" : "s");
}

static tutti_exchange *begin(tutti_group *g, const tutti_exchange_request *q)
{
    tutti_exchange *x = tutti_alloc(sizeof *x);
    x->group = g;
    x->device = q->binding.device ? q->binding.device : tutti_device_cpu();
    x->me = -1;
    x->priority = q->binding.priority;
    snprintf(x->name, sizeof x->name, "%s", q->binding.name);
    snprintf(x->algorithm, sizeof x->algorithm, "%s", tutti_schedule_head(q->schedule)->algorithm);
    return x;
}

/* Checks what one rank alone can check. All ranks have the same arguments, so all refuse or none does. */
static tutti_status take(tutti_exchange *x, const tutti_exchange_request *q, tutti_failure *err)
{
    const tutti_schedule_header *h = tutti_schedule_head(q->schedule);
    tutti_status st = tutti_members_take(x, h->nranks, &q->binding, err);
    if (!st) st = check_wire(x, q, err);
    return st ? st : take_vector(x, h, &q->binding, err);
}

/* Makes the memory of all exchanges as one region, because each region costs rounds of messages and, between 300 ranks,
 * 90,000 mappings. */
static tutti_status share_memory(tutti_group *g, tutti_exchange **x, int n, size_t nbytes, tutti_failure *err)
{
    tutti_region *region;
    char name[128];
    snprintf(name, sizeof name, n > 1 ? "%s, and %d more exchanges" : "%s", x[0]->name, n - 1);
    tutti_status st = tutti_region_create(g, name, nbytes, &region, err);
    if (st) return st;
    tutti_exchange_memory *memory = tutti_alloc(sizeof *memory);
    *memory = (tutti_exchange_memory){.region = region, .nusers = n};
    for (int i = 0; i < n; i++) x[i]->memory = memory, x[i]->region = region;
    return TUTTI_OK;
}

/* Makes this rank's parts of the exchanges of which it is a member. */
static tutti_part *take_parts(tutti_exchange *const *x, const tutti_exchange_request *requests, int n)
{
    tutti_part *parts = tutti_alloc(sizeof *parts * (size_t)n);
    for (int i = 0; i < n; i++)
        if (x[i]->me >= 0) tutti_schedule_part(requests[i].schedule, x[i]->me, &parts[i]);
    return parts;
}

static void release_parts(tutti_exchange *const *x, tutti_part *parts, int n)
{
    for (int i = 0; i < n && parts; i++)
        if (x[i]->me >= 0) tutti_part_release(&parts[i]);
    free(parts);
}

/* Writes this rank's list of buffers into shared memory, because peers need to know where they lie. If each rank made
 * the parts of the others to find that out, the work would grow with the cube of the ranks. */
static tutti_status show_buffers(tutti_group *g, tutti_exchange **x, const tutti_part *parts, int n, tutti_failure *err)
{
    for (int i = 0; i < n; i++)
        if (x[i]->me >= 0 && parts[i].nbuffers)
            memcpy(tutti_exchange_buffers(x[i], x[i]->me), parts[i].buffers,
                   sizeof(tutti_buffer) * (size_t)parts[i].nbuffers);
    return tutti_group_barrier(g, "buffers of exchanges", err);
}

/* Enrols the whole memory with the device, because it holds signal words as well as scratch. */
static tutti_status enrol_memory(tutti_exchange *x, tutti_failure *err)
{
    const tutti_status st = tutti_device_enrol_region(x->device, x->group, x->region, true, err);
    if (!st) x->memory->device = x->device;
    return st;
}

static tutti_status bind_all(tutti_exchange **x, const tutti_exchange_request *requests, const tutti_part *parts, int n,
                             tutti_failure *err)
{
    tutti_status st = enrol_memory(x[0], err);
    for (int i = 0; i < n && !st; i++)
        if (x[i]->me >= 0) st = tutti_exchange_bind(x[i], requests[i].schedule, &parts[i], &requests[i].binding, err);
    /* all ranks agree, so that no rank starts an exchange that will never end */
    return tutti_group_all_well(x[0]->group, "exchange bound", st, err);
}

static tutti_status make(tutti_group *g, const tutti_exchange_request *requests, tutti_exchange **x, int n,
                         tutti_failure *err)
{
    tutti_failure own = {0}, unfit = {0};
    size_t nbytes = 0;
    tutti_status refused = TUTTI_OK;
    for (int i = 0; i < n && !refused; i++) refused = take(x[i], &requests[i], &unfit);
    tutti_part *parts = refused ? NULL : take_parts(x, requests, n);
    tutti_status st = agree(requests, x, parts, n, &nbytes, &own);
    if (!st && refused) st = tutti_fail(&own, refused, "%s", unfit.text);
    if (!st) st = share_memory(g, x, n, nbytes, &own);
    if (!st) st = show_buffers(g, x, parts, n, &own);
    if (!st) st = bind_all(x, requests, parts, n, &own);
    release_parts(x, parts, n);
    return st ? tutti_fail(err, st, "%s", own.text) : TUTTI_OK;
}

tutti_status tutti_exchange_create_all(tutti_group *g, const tutti_exchange_request *requests, int n,
                                       tutti_exchange **out, tutti_failure *err)
{
    for (int i = 0; i < n; i++) out[i] = begin(g, &requests[i]);
    const tutti_status st = n ? make(g, requests, out, n, err) : TUTTI_OK;
    if (!st) tutti_group_lock(g);
    for (int i = 0; i < n && !st; i++)
        if (out[i]->me >= 0) insert(g, out[i]);
    if (!st) tutti_group_unlock(g);
    for (int i = 0; i < n; i++)
        if (st || out[i]->me < 0) tutti_exchange_destroy(out[i]), out[i] = NULL;
    return st;
}

tutti_status tutti_exchange_create(tutti_group *g, const tutti_schedule *schedule,
                                   const tutti_exchange_binding *binding, tutti_exchange **out, tutti_failure *err)
{
    tutti_exchange *x = NULL;
    const tutti_status st = tutti_exchange_create_all(g, &(tutti_exchange_request){schedule, *binding}, 1, &x, err);
    if (!st) *out = x;
    return st;
}

static void leave_memory(const tutti_group *group, tutti_exchange_memory *memory)
{
    if (!memory || --memory->nusers > 0) return;
    if (memory->device) tutti_device_forget_region(memory->device, group, memory->region);
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
    for (tutti_exchange *other = x->group->exchanges; other; other = other->next)
        if (other->first == x) other->first = NULL; /* x is destroyed, so `other` no longer follows it */
    for (int32_t i = 0; i < x->nops * TUTTI_MOST_PIECES; i++)
        tutti_put_release(x->ops[i / TUTTI_MOST_PIECES].flights[i % TUTTI_MOST_PIECES]);
    tutti_group_unlock(x->group);
    leave_memory(x->group, x->memory);
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
