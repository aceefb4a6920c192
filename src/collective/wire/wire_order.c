/* SPDX-License-Identifier: Apache-2.0 */
/* wire_order.c: keeps enrolled memory, words that wait for the puts before them, and reads under way (wire_order.h). */
#include "wire_order.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "../../base/arena.h"

/* --- enrolled memory --- */

tutti_wire_memory *tutti_wire_memory_add(tutti_wire_memory **list, void *base, size_t nbytes)
{
    tutti_wire_memory *m = tutti_alloc(sizeof *m);
    *m = (tutti_wire_memory){.list = list, .next = *list, .base = (uint64_t)(uintptr_t)base, .nbytes = nbytes};
    *list = m;
    return m;
}

void tutti_wire_memory_remove(tutti_wire_memory *m)
{
    tutti_wire_memory **at = m->list;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    free(m);
}

void *tutti_wire_memory_find(const tutti_wire_memory *list, uint64_t address, size_t nbytes)
{
    for (const tutti_wire_memory *m = list; m; m = m->next)
        if (address >= m->base && address - m->base <= m->nbytes && nbytes <= m->nbytes - (address - m->base))
            return (void *)(uintptr_t)address;
    return NULL;
}

/* --- order of puts and words --- */

void tutti_wire_order_land(tutti_wire_order *o, uint64_t number)
{
    if (number == o->landed + 1 && o->nearly == 0) { /* the usual case: puts land in order */
        o->landed++;
        return;
    }
    if (o->nearly == o->early_room) {
        o->early_room = 2 * o->early_room + 8;
        o->early = tutti_realloc(o->early, sizeof *o->early * (size_t)o->early_room);
    }
    o->early[o->nearly++] = number;
    for (int i = 0; i < o->nearly; i++)
        if (o->early[i] == o->landed + 1) {
            o->landed++;
            o->early[i] = o->early[--o->nearly];
            i = -1; /* the search begins again, because the next number may be anywhere in the list */
        }
}

void tutti_wire_order_add(tutti_wire_order *o, const tutti_wire_word *word)
{
    if (o->nwords == o->words_room) {
        o->words_room = 2 * o->words_room + 8;
        o->words = tutti_realloc(o->words, sizeof *o->words * (size_t)o->words_room);
    }
    o->words[o->nwords++] = *word;
}

bool tutti_wire_order_take(tutti_wire_order *o, tutti_wire_word *out)
{
    int i = 0;
    while (i < o->nwords && o->words[i].number > o->landed) i++;
    if (i == o->nwords) return false;
    *out = o->words[i];
    o->nwords--;
    for (; i < o->nwords; i++) o->words[i] = o->words[i + 1];
    return true;
}

void tutti_wire_order_release(tutti_wire_order *o)
{
    free(o->early), free(o->words);
    *o = (tutti_wire_order){0};
}

void tutti_wire_store_word(const tutti_wire_memory *list, uint64_t address, uint64_t word)
{
    _Atomic uint64_t *at = address % sizeof *at ? NULL : tutti_wire_memory_find(list, address, sizeof *at);
    if (at && atomic_load(at) < word) atomic_store(at, word);
}

/* --- reads --- */

tutti_wire_read *tutti_wire_reads_begin(tutti_wire_reads *reads, void *to, size_t nbytes)
{
    tutti_wire_read *r = tutti_alloc(sizeof *r);
    *r = (tutti_wire_read){.base = {.flying = true},
                           .next = reads->head,
                           .number = ++reads->last,
                           .to = to,
                           .nbytes = nbytes,
                           .left = nbytes};
    reads->head = r;
    return r;
}

static tutti_wire_read *find(const tutti_wire_reads *reads, uint64_t number)
{
    tutti_wire_read *r = reads->head;
    while (r && r->number != number) r = r->next;
    return r;
}

static void end(tutti_wire_reads *reads, tutti_wire_read *r, bool answered)
{
    tutti_wire_read **at = &reads->head;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    r->base.flying = false;
    r->base.over = answered;
    if (r->base.abandoned) free(r);
}

char *tutti_wire_reads_place(const tutti_wire_reads *reads, uint64_t number, uint64_t offset, size_t n)
{
    const tutti_wire_read *r = find(reads, number);
    if (!r || r->base.abandoned || offset > r->nbytes || n > r->nbytes - offset || n > r->left) return NULL;
    return r->to + offset;
}

void tutti_wire_reads_arrive(tutti_wire_reads *reads, uint64_t number, size_t n)
{
    tutti_wire_read *r = find(reads, number);
    if (!r) return;
    r->left -= n < r->left ? n : r->left;
    if (r->left == 0) end(reads, r, true);
}

void tutti_wire_reads_refuse(tutti_wire_reads *reads, uint64_t number)
{
    tutti_wire_read *r = find(reads, number);
    if (r) end(reads, r, false);
}

void tutti_wire_reads_release(tutti_wire_reads *reads)
{
    for (tutti_wire_read *r = reads->head, *next; r; r = next) next = r->next, free(r);
    *reads = (tutti_wire_reads){0};
}
