/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_rooms.c: finds which chunks each place of a GPU's memory ever holds, and assigns buffers to them. */
#include "msccl_rooms.h"

#include <stdio.h>
#include <stdlib.h>

static const tutti_slice own_memory = {.rank = -1, .of = 1};

int32_t msccl_rooms_add(msccl_rooms *r, const msccl_room *room)
{
    r->rooms = tutti_grow(r->rooms, r->nrooms, &r->capacity, sizeof *r->rooms);
    r->rooms[r->nrooms] = *room;
    return r->nrooms++;
}

static int32_t add_home(msccl_rooms *r, const char *name, const char *role, int32_t first, int32_t count, int32_t of)
{
    msccl_room room = {.role = role, .first = first, .count = count, .of = of, .lies_in = own_memory};
    snprintf(room.name, sizeof room.name, "%s", name);
    return msccl_rooms_add(r, &room);
}

/* Adds the buffers of input and output. A GPU that has no input or no output in the collective gets scratch in its
 * place. */
static void add_homes(msccl_rooms *r)
{
    const tutti_msccl *m = r->m;
    int32_t p = m->ngpus, g = r->gpu;
    bool root = g == m->root;
    bool has_in = m->collective != TUTTI_BROADCAST || root, has_out = m->collective != TUTTI_REDUCE || root;
    bool gathers = m->collective == TUTTI_ALL_GATHER, matrix = m->collective == TUTTI_ALL_TO_ALL;
    r->home[MSCCL_I] = r->home[MSCCL_O] = -1;
    if (has_in)
        r->home[MSCCL_I] = gathers || matrix ? add_home(r, "in", "in", g, 1, p) : add_home(r, "in", "in", 0, 1, 1);
    if (has_out && !matrix)
        r->home[MSCCL_O] = m->collective == TUTTI_REDUCE_SCATTER ? add_home(r, "out", "out", g, 1, p)
                                                                 : add_home(r, "out", "out", 0, 1, 1);
    for (int32_t q = 0; q < p && matrix; q++) {
        char name[16] = "out";
        if (q) snprintf(name, sizeof name, "out%d", q);
        int32_t room = add_home(r, name, "out", q * p + g, 1, p * p);
        r->rooms[room].ordinal = q;
        if (!q) r->home[MSCCL_O] = room;
    }
    for (int32_t b = 0; b < 2; b++) {
        if (r->home[b] >= 0) continue;
        r->home[b] = m->in_place ? r->home[1 - b] : add_home(r, b == MSCCL_I ? "i" : "o", "scratch", 0, 1, 1);
    }
}

/* Returns the buffer of the chunk that belongs to this place. In place it is the buffer of the whole vector: the
 * output, but the input for a reduce-scatter. */
static int32_t home_of(const msccl_rooms *r, msccl_place at)
{
    const tutti_msccl *m = r->m;
    if (m->collective == TUTTI_ALL_TO_ALL && at.buffer == MSCCL_O)
        return r->home[MSCCL_O] + at.offset / (m->nchunks / m->ngpus);
    if (!m->in_place) return r->home[at.buffer];
    return r->home[m->collective == TUTTI_REDUCE_SCATTER ? MSCCL_I : MSCCL_O];
}

static msccl_tenant *find(const msccl_rooms *r, msccl_place at, int32_t position)
{
    int32_t i = r->tenant_of[msccl_location(r->m, r->gpu, at)];
    while (i >= 0 && r->tenants[i].position != position) i = r->tenants[i].next;
    return i < 0 ? NULL : &r->tenants[i];
}

int32_t msccl_room_of(const msccl_rooms *r, msccl_place at, int32_t position)
{
    if (msccl_natural(r->m, r->gpu, at) == position) return home_of(r, at);
    return find(r, at, position)->buffer;
}

static void note(msccl_rooms *r, msccl_place at, int32_t position)
{
    if (msccl_natural(r->m, r->gpu, at) == position || find(r, at, position)) return;
    r->tenants = tutti_grow(r->tenants, r->ntenants, &r->tenants_capacity, sizeof *r->tenants);
    int32_t *first = &r->tenant_of[msccl_location(r->m, r->gpu, at)];
    r->tenants[r->ntenants] = (msccl_tenant){-1, position, *first};
    *first = r->ntenants++;
}

static void note_all(msccl_rooms *r)
{
    const msccl_gpu *g = &r->m->gpus[r->gpu];
    for (int32_t t = 0; t < g->nblocks; t++)
        for (int32_t i = 0; i < g->blocks[t].nsteps; i++) {
            const msccl_step *s = &g->blocks[t].steps[i];
            for (int32_t k = 0; k < s->count; k++) {
                if (msccl_does[s->type] & MSCCL_READS) note(r, msccl_at(s->src, k), s->position[k]);
                if (msccl_does[s->type] & MSCCL_WRITES) note(r, msccl_at(s->dst, k), s->position[k]);
            }
        }
}

static int32_t add_tenant(msccl_rooms *r, msccl_place at, int32_t position, tutti_slice lies_in)
{
    msccl_room room = {.role = "scratch", .first = position, .count = 1, .of = r->m->of, .lies_in = lies_in};
    snprintf(room.name, sizeof room.name, "%c%dp%d", "ios"[at.buffer], at.offset, position);
    return msccl_rooms_add(r, &room);
}

/* Called for a place that ever holds several chunks, or a chunk that does not belong to the place. Gives each of them a
 * buffer; these buffers share one memory. */
static void settle_mixed(msccl_rooms *r, msccl_place at, int32_t first)
{
    tutti_slice lies_in = own_memory;
    int32_t natural = msccl_natural(r->m, r->gpu, at);
    if (natural >= 0) lies_in = (tutti_slice){r->gpu, home_of(r, at), natural, 1, r->m->of};
    for (int32_t i = first; i >= 0; i = r->tenants[i].next) {
        msccl_tenant *t = &r->tenants[i];
        t->buffer = add_tenant(r, at, t->position, lies_in);
        if (lies_in.rank < 0) lies_in = (tutti_slice){r->gpu, t->buffer, t->position, 1, r->m->of};
    }
}

static void settle(msccl_rooms *r)
{
    const msccl_gpu *g = &r->m->gpus[r->gpu];
    for (int32_t b = 0; b < 3; b++)
        for (int32_t i = 0; i < g->size[b]; i++) {
            msccl_place at = {b, i};
            int32_t location = msccl_location(r->m, r->gpu, at), first = r->tenant_of[location];
            /* no chunk is ever here, or (in place) the other place in the same memory was handled before */
            if (first < 0 || r->tenants[first].buffer >= 0) continue;
            msccl_tenant *t = &r->tenants[first];
            if (b != MSCCL_S || t->next >= 0) {
                settle_mixed(r, at, first);
                continue;
            }
            const msccl_tenant *before =
                i && r->tenant_of[location - 1] >= 0 ? &r->tenants[r->tenant_of[location - 1]] : NULL;
            bool goes_on = before && before->next < 0 && before->position + 1 == t->position;
            if (goes_on) {
                t->buffer = before->buffer;
                r->rooms[t->buffer].count++;
            } else {
                t->buffer = add_tenant(r, at, t->position, own_memory);
                snprintf(r->rooms[t->buffer].name, sizeof r->rooms[t->buffer].name, "s%d", i);
            }
        }
}

void msccl_rooms_make(const tutti_msccl *m, int32_t gpu, msccl_rooms *out)
{
    *out = (msccl_rooms){.m = m, .gpu = gpu};
    int32_t n = msccl_nlocations(&m->gpus[gpu]);
    out->tenant_of = tutti_alloc(sizeof *out->tenant_of * ((size_t)n + 1));
    for (int32_t i = 0; i < n; i++) out->tenant_of[i] = -1;
    add_homes(out);
    note_all(out);
    settle(out);
}

void msccl_rooms_release(msccl_rooms *r)
{
    free(r->rooms);
    free(r->tenants);
    free(r->tenant_of);
}
