/* SPDX-License-Identifier: Apache-2.0 */
/* copies_hosts.c: copies of a run on several hosts, whose ranks share no memory file.
 *
 * After each copy every rank sends its part to the other hosts, so each host's file holds the whole copy, and no part
 * is lost with a host. Before training, all ranks agree on the newest copy: one that some host has as a whole, or of
 * which each host has its own ranks' parts. A file that was written with another number of ranks is converted parameter
 * by parameter. */
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "copies_impl.h"

enum { MOST_SENT = 1 << 24 }; /* bytes of one message */

/* ---- what this host's file offers ---- */

/* Steps of the copies in the slots, as one rank finds them in its host's file; -1 = none. */
typedef struct {
    uint64_t file;                   /* identity of the file: ranks with the same identity share the file */
    int64_t part[TUTTI_COPY_SLOTS];  /* per slot: step of the copy of which the file has this rank's part, in the
                                      * layout of the plan */
    int64_t whole[TUTTI_COPY_SLOTS]; /* per slot: step of the copy of which the file has all ranks' parts, perhaps in
                                      * another layout */
} offer;

static const tutti_copy_head *head_of(const tutti_copies *c)
{
    return (const tutti_copy_head *)(const void *)c->base;
}

static const tutti_copy_record *record_of(const tutti_copies *c, const tutti_copy_head *h, int slot, int rank)
{
    return (const tutti_copy_record *)(const void *)(c->base + h->records_at) + slot * h->nranks + rank;
}

/* True if the file's content can be read, directly or by a conversion. */
static bool is_known(const tutti_copies *c, const tutti_copy_head *h)
{
    return h->layout && h->kind == c->head.kind && h->nvectors == c->head.nvectors && h->nparams == c->head.nparams &&
           h->nranks > 0 && h->nbytes <= c->mapped;
}

static offer look(tutti_copies *c)
{
    const tutti_copy_head *h = head_of(c);
    offer o = {c->file, {-1, -1}, {-1, -1}};
    c->was_same = h->layout == c->head.layout;
    if (!is_known(c, h)) return o;
    for (int slot = 0; slot < TUTTI_COPY_SLOTS; slot++) {
        const int64_t done = atomic_load(&record_of(c, h, slot, 0)->done);
        bool is_whole = true;
        for (int r = 1; r < h->nranks; r++) is_whole &= atomic_load(&record_of(c, h, slot, r)->done) == done;
        if (is_whole) o.whole[slot] = done - 1;
        if (c->was_same) o.part[slot] = atomic_load(&record_of(c, h, slot, c->rank)->done) - 1;
    }
    return o;
}

static int slot_of(const int64_t steps[TUTTI_COPY_SLOTS], int64_t step)
{
    for (int slot = 0; slot < TUTTI_COPY_SLOTS; slot++)
        if (steps[slot] == step) return slot;
    return -1;
}

/* ---- agreeing ---- */

/* Finds the ranks that share this rank's file, and the number of files. */
static void list_ranks(tutti_copies *c, const offer *all)
{
    c->is_first = true;
    c->nfiles = 0;
    for (int r = 0; r < c->nranks; r++) {
        int first = 0;
        while (all[first].file != all[r].file) first++;
        c->nfiles += first == r;
        c->is_here[r] = all[r].file == c->file;
        c->is_first &= !c->is_here[r] || r >= c->rank;
    }
}

/* Returns how the copy of a step can be read: -2 = it cannot, -1 = each rank's file has its part, else the lowest rank
 * whose file has the whole copy. *everywhere: all files have the whole copy. */
static int source_of(const offer *all, int nranks, int64_t step, bool *everywhere)
{
    bool has_parts = true;
    int source = -2;
    *everywhere = true;
    for (int r = nranks - 1; r >= 0; r--) {
        const bool is_whole = slot_of(all[r].whole, step) >= 0;
        has_parts &= slot_of(all[r].part, step) >= 0;
        *everywhere &= is_whole;
        if (is_whole) source = r;
    }
    return has_parts && source < 0 ? -1 : source;
}

/* Sets step and source of the newest copy that can be read. */
static void choose(tutti_copies *c, const offer *all)
{
    c->step = -1;
    for (int r = 0; r < c->nranks; r++)
        for (int slot = 0; slot < TUTTI_COPY_SLOTS; slot++) {
            const int64_t steps[] = {all[r].part[slot], all[r].whole[slot]};
            for (int i = 0; i < 2; i++) {
                bool everywhere;
                const int source = steps[i] > c->step ? source_of(all, c->nranks, steps[i], &everywhere) : -2;
                if (source == -2) continue;
                c->step = steps[i];
                c->source = source;
                c->is_everywhere = everywhere;
            }
        }
}

/* Converts the copy in a slot of the file to the layout of the plan: the vectors into `to`, the record into
 * *numbers. */
static void convert(const tutti_copies *c, int slot, char *to, tutti_copy_record *numbers)
{
    const tutti_copy_head *h = head_of(c);
    const int64_t *offsets = (const int64_t *)(const void *)(c->base + sizeof *h);
    const char *from = c->base + h->slots_at + slot * h->slot_bytes;
    memset(to, 0, (size_t)c->common_bytes);
    for (int i = 0; i < c->nvectors; i++)
        for (int p = 0; p < c->head.nparams; p++) {
            const int64_t n = c->plan->graph->params[p].desc.elements, there = c->plan->param_offset[p];
            const bool is_in = offsets[p] + n <= h->elements[i] && there + n <= c->head.elements[i];
            if (is_in)
                memcpy(to + c->head.at[i] + there * (int64_t)sizeof(float),
                       from + h->at[i] + offsets[p] * (int64_t)sizeof(float), (size_t)n * sizeof(float));
        }
    memcpy(numbers, record_of(c, h, slot, 0), sizeof *numbers);
}

/* Gives the file the layout of the plan, and drops its content except slot `keeps`; -1 = drops all. Otherwise an old
 * part and a new part of the same step could pass for a whole copy. */
static void clear(tutti_copies *c, int keeps)
{
    tutti_copy_head *h = (tutti_copy_head *)(void *)c->base;
    for (int slot = 0; slot < TUTTI_COPY_SLOTS; slot++)
        for (int r = 0; r < c->nranks; r++) {
            tutti_copy_record *one = tutti_copies_record(c, slot, r);
            if (slot == keeps || (c->was_same && !c->is_here[r])) continue;
            atomic_store(&one->done, 0);
            if (keeps < 0) one->has_frozen = 0;
        }
    memcpy(h, &c->head, sizeof *h);
    memcpy(c->base + sizeof *h, c->plan->param_offset, (size_t)c->head.nparams * sizeof(int64_t));
}

/* Prepares this host's file: the chosen copy lies in c->slot, or will be received there. */
static void prepare(tutti_copies *c, const offer *own)
{
    const int part = c->step < 0 ? -1 : slot_of(own->part, c->step);
    const int whole = c->step < 0 ? -1 : slot_of(own->whole, c->step);
    tutti_copy_record numbers;
    c->slot = whole >= 0 && c->was_same ? whole : part >= 0 ? part : 0;
    if (!c->is_first) return;
    char *vectors = whole >= 0 && !c->was_same ? tutti_alloc((size_t)c->common_bytes) : NULL;
    if (vectors) convert(c, whole, vectors, &numbers);
    clear(c, vectors || (whole < 0 && part < 0) ? -1 : c->slot);
    if (!vectors) return;
    memcpy(tutti_copies_slot(c, c->slot), vectors, (size_t)c->common_bytes);
    for (int r = 0; r < c->nranks; r++) memcpy(tutti_copies_record(c, c->slot, r), &numbers, sizeof numbers);
    free(vectors);
}

tutti_status tutti_copies_agree(tutti_group *group, tutti_copies *c, tutti_failure *err)
{
    const offer own = look(c);
    offer *all = tutti_alloc(sizeof *all * (size_t)c->nranks);
    tutti_status st = tutti_group_all_gather(group, "copies in memory", &own, all, sizeof own, err);
    if (!st) {
        list_ranks(c, all);
        choose(c, all);
        prepare(c, &own);
        st = tutti_group_barrier(group, "copies in memory", err);
    }
    free(all);
    return st;
}

/* ---- sending ---- */

typedef struct {
    tutti_group *group;
    const tutti_copies *copies;
    int slot;    /* slot of the copy that is sent, or received */
    char *spare; /* memory of MOST_SENT bytes, for pieces that this rank does not keep */
} sending;

/* Sends bytes of the file of rank `root` to the other files. One rank of each file writes them; the others receive them
 * into `spare`. */
static tutti_status send_piece(const sending *s, int root, char *piece, int64_t nbytes, tutti_failure *err)
{
    const tutti_copies *c = s->copies;
    const bool uses_file = c->rank == root || (c->is_first && !c->is_here[root]);
    tutti_status st = TUTTI_OK;
    for (int64_t at = 0; at < nbytes && !st; at += MOST_SENT) {
        const size_t n = (size_t)(nbytes - at < MOST_SENT ? nbytes - at : MOST_SENT);
        st = tutti_group_broadcast(s->group, "copies in memory", root, uses_file ? piece + at : s->spare, n, err);
    }
    return st;
}

/* Sends all that rank `root` has written into the slot. */
static tutti_status send_part(const sending *s, int root, tutti_failure *err)
{
    const tutti_copies *c = s->copies;
    const int64_t total = c->plan->total, size = sizeof(float);
    char *base = tutti_copies_slot(c, s->slot);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < c->nvectors && !st; i++) {
        char *vector = base + c->head.at[i];
        for (int b = 0; b < c->plan->nbuckets && !st; b++) {
            int64_t first, count;
            tutti_plan_own_slice(c->plan, b, root, &first, &count);
            st = send_piece(s, root, vector + first * size, count * size, err);
        }
        const int64_t nfrozen = root == 0 ? c->head.elements[i] - total : 0;
        if (!st) st = send_piece(s, root, vector + total * size, nfrozen * size, err);
    }
    if (!st) st = send_piece(s, root, base + c->common_bytes + root * c->own_bytes, c->own_bytes, err);
    if (!st) st = send_piece(s, root, (char *)tutti_copies_record(c, s->slot, root), sizeof(tutti_copy_record), err);
    return st;
}

tutti_status tutti_copies_share(tutti_group *group, const tutti_copies *c, int slot, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (c->nfiles == 1) return st;
    const sending s = {.group = group, .copies = c, .slot = slot, .spare = tutti_alloc(MOST_SENT)};
    for (int r = 0; r < c->nranks && !st; r++) st = send_part(&s, r, err);
    free(s.spare);
    return st;
}

tutti_status tutti_copies_complete(tutti_group *group, const tutti_copies *c, tutti_failure *err)
{
    if (c->is_everywhere) return TUTTI_OK;
    tutti_status st = TUTTI_OK;
    if (c->source < 0) {
        st = tutti_copies_share(group, c, c->slot, err);
    } else {
        const sending s = {.group = group, .copies = c, .slot = c->slot, .spare = tutti_alloc(MOST_SENT)};
        const int64_t nrecords = c->nranks * (int64_t)sizeof(tutti_copy_record);
        st = send_piece(&s, c->source, tutti_copies_slot(c, c->slot), c->head.slot_bytes, err);
        if (!st) st = send_piece(&s, c->source, (char *)tutti_copies_record(c, c->slot, 0), nrecords, err);
        free(s.spare);
    }
    return st ? st : tutti_group_barrier(group, "copies in memory", err);
}
