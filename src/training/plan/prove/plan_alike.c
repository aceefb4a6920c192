/* SPDX-License-Identifier: Apache-2.0 */
/* plan_alike.c: finds classes of elements that all ranks treat alike, so that a plan's proof covers each class once
 * (plan_alike.h). */
#include "plan_alike.h"

#include <stdlib.h>

/* With more classes few elements would be alike, and the proof by classes would save nothing. */
enum { MOST_CLASSES = 1 << 14 };

/* ---- windows and zones ---- */

static bool is_apart(const tutti_plan *p, int memory)
{
    const tutti_memory_role role = p->memories[memory].role;
    return role == TUTTI_ROLE_NUMBERS || role == TUTTI_ROLE_TRAVELLING;
}

/* Assigns each memory to a window, a range of elements like the packed vector; false: no assignment fits. Memories of
 * control numbers that are exchanged with each other share a window. */
static bool find_windows(tutti_alikes *a)
{
    const tutti_plan *p = a->c->plan;
    bool changed = true;
    a->window = TUTTI_ARENA_NEW(&a->arena, int, p->nmemories + 1);
    for (int m = 0; m < p->nmemories; m++) a->window[m] = is_apart(p, m) ? 1 + m : 0;
    while (changed) {
        changed = false;
        for (int x = 0; x < p->nexchanges; x++) {
            int *in = &a->window[p->exchanges[x].in.memory], *out = &a->window[p->exchanges[x].out.memory];
            if (!*in != !*out) return false;
            if (*in != *out) changed = true;
            *in = *out = *in < *out ? *in : *out;
        }
    }
    for (int m = 0; m < p->nmemories; m++) a->ncopies += tutti_composition_copies(a->c, m);
    a->memory_of = TUTTI_ARENA_NEW(&a->arena, int, a->ncopies + 1);
    for (int m = 0; m < p->nmemories; m++)
        for (int i = 0; i < tutti_composition_copies(a->c, m); i++)
            a->memory_of[a->c->memory_base[m] - TUTTI_COMPOSED_FIRST_MEMORY + i] = m;
    return true;
}

static tutti_zone *add_zone(tutti_alikes *a, int window, int64_t first, int64_t last)
{
    tutti_zone *z = &a->zones[a->nzones++];
    *z = (tutti_zone){.first = first, .last = last, .window = window, .nparts = 1, .is_owed = window == 0};
    z->exchanges = TUTTI_ARENA_NEW(&a->arena, int, a->c->plan->nexchanges + 1);
    for (int m = 0; window && m < a->c->plan->nmemories; m++)
        if (a->window[m] == window && a->c->window[m]) z->is_owed = true;
    return z;
}

static void add_member(tutti_alikes *a, tutti_zone *z, int exchange)
{
    if (!z->nexchanges) z->nparts = z->shared ? a->c->nranks : a->c->plan->exchanges[exchange].nmembers;
    z->exchanges[z->nexchanges++] = exchange;
    a->zone_of[exchange] = (int)(z - a->zones);
}

/* Returns the next exchange of the packed vector from `at` on; -1 = none. */
static int next_vector(const tutti_alikes *a, int64_t at)
{
    const tutti_plan *p = a->c->plan;
    int next = -1;
    for (int x = 0; x < p->nexchanges; x++)
        if (!a->window[p->exchanges[x].in.memory] && p->exchanges[x].first >= at &&
            (next < 0 || p->exchanges[x].first < p->exchanges[next].first))
            next = x;
    return next;
}

/* Returns the bucket of a split layer's parameter that begins at `first`; NULL = none. */
static const tutti_bucket *find_shared(const tutti_plan *p, int64_t first)
{
    for (int b = 0; b < p->nbuckets; b++)
        if (p->buckets[b].parts > 1 && p->buckets[b].offset == first) return &p->buckets[b];
    return NULL;
}

/* True if the exchange moves the zone's whole vector or, in a zone that ranks share, one of the equal parts of the
 * vector. */
static bool is_within(const tutti_alikes *a, const tutti_zone *z, const tutti_plan_exchange *x)
{
    const int64_t n = z->last - z->first, at = x->first - z->first;
    if (a->window[x->in.memory] || at < 0 || x->count <= 0 || at + x->count > n) return false;
    return z->shared ? n % x->count == 0 && at % x->count == 0 && z->shared % (n / x->count) == 0 : x->count == n;
}

/* Cuts the packed vector into the vectors of exchanges; false: these vectors overlap. Exchanges of one bucket have one
 * vector, or parts of it. No rank keeps the padding behind a shared parameter. */
static bool find_vectors(tutti_alikes *a)
{
    const tutti_plan *p = a->c->plan;
    const tutti_bucket *before = NULL;
    int64_t at = 0;
    for (int x; (x = next_vector(a, at)) >= 0;) {
        const int64_t first = p->exchanges[x].first;
        const tutti_bucket *b = find_shared(p, first);
        const int64_t count = b ? p->graph->params[p->order[b->first_param]].count : p->exchanges[x].count;
        if (count <= 0 || first + count > p->total || (before && first > before->offset + before->count)) return false;
        if (first > at) add_zone(a, 0, at, first)->is_owed = !before;
        tutti_zone *z = add_zone(a, 0, first, first + count);
        if (b) z->shared = b->parts;
        for (int y = 0; y < p->nexchanges; y++)
            if (is_within(a, z, &p->exchanges[y])) add_member(a, z, y);
        at = first + count;
        before = b;
    }
    if (before && p->total > before->offset + before->count) return false;
    if (at < p->total) add_zone(a, 0, at, p->total)->is_owed = !before;
    return true;
}

/* True for two memories whose exchanges belong to the proof of each zone of shared layers: the inputs of the first
 * shared layer, and the control numbers (loss, right answers and the like, summed over ranks). The gather of the inputs
 * brings the group's samples to a kernel, and the proof needs the samples until the control numbers are summed. window:
 * number of the memory. */
static bool is_beside(const tutti_alikes *a, int window)
{
    return window && (window == a->inputs || window == a->control);
}

static void add_beside(tutti_alikes *a)
{
    const tutti_plan *p = a->c->plan;
    if (!p->graph->nsplit) return;
    a->inputs = a->window[tutti_plan_split_memory(p, TUTTI_SPLIT_INPUTS)];
    a->control = a->window[tutti_plan_find_memory(p, TUTTI_ROLE_NUMBERS, 0)];
    for (int z = 0; z < a->nzones; z++)
        for (int x = 0; x < p->nexchanges && a->zones[z].shared; x++)
            if (is_beside(a, a->window[p->exchanges[x].in.memory])) a->zones[z].exchanges[a->zones[z].nexchanges++] = x;
}

static bool find_zones(tutti_alikes *a)
{
    const tutti_plan *p = a->c->plan;
    a->zones = TUTTI_ARENA_NEW(&a->arena, tutti_zone, 2 * p->nexchanges + p->nmemories + 1);
    a->zone_of = TUTTI_ARENA_NEW(&a->arena, int, p->nexchanges + 1);
    for (int x = 0; x < p->nexchanges; x++) a->zone_of[x] = -1;
    if (!find_vectors(a)) return false;
    for (int m = 0; m < p->nmemories; m++) {
        if (a->window[m] != 1 + m) continue;
        tutti_zone *z = add_zone(a, a->window[m], 0, p->total);
        for (int x = 0; x < p->nexchanges; x++)
            if (a->window[p->exchanges[x].in.memory] == z->window) add_member(a, z, x);
    }
    for (int x = 0; x < p->nexchanges; x++)
        if (a->zone_of[x] < 0) return false; /* its vector overlaps that of another exchange, so there are no zones */
    add_beside(a);
    return true;
}

int tutti_zone_place(const tutti_zone *z, int exchange)
{
    for (int i = 0; i < z->nexchanges; i++)
        if (z->exchanges[i] == exchange) return i;
    return -1;
}

/* ---- the elements that steps touch ---- */

bool tutti_alike_place(const tutti_alikes *a, int rank, const tutti_loop_step *s, int *window)
{
    const int nslots = tutti_composition_nslots(a->c, rank), buffers[] = {s->from[0], s->from[1], s->to};
    *window = s->to == nslots + TUTTI_COMPOSED_GROUP ? 0 : -1;
    if (s->part && s->to == nslots + TUTTI_COMPOSED_SEEN) return false;
    for (int i = 0; i < 3; i++) {
        const int copy = buffers[i] - nslots - TUTTI_COMPOSED_FIRST_MEMORY;
        if (copy >= a->ncopies) return false;
        if (buffers[i] < 0 || copy < 0) continue;
        const int own = a->window[a->memory_of[copy]];
        if (*window >= 0 && *window != own) return false;
        *window = own;
    }
    return *window >= 0 && (*window || (s->first >= 0 && s->last <= a->c->plan->total));
}

/* Returns the part that begins at `at`, -1 = none. */
static int part_at(const tutti_zone *z, int64_t at)
{
    const int64_t n = z->last - z->first, parts = z->nparts;
    const int64_t k = at == n ? parts : ((at + 1) * parts + n - 1) / n - 1;
    return k * n / parts == at ? (int)k : -1;
}

/* Returns the parts that the step touches: all, one, or, if ranks share the zone, several. A parameter that is not
 * shared is never taken for a part of the same size: otherwise elements that no kernel writes would seem written. */
static tutti_touched parts_of(const tutti_zone *z, const tutti_loop_step *s)
{
    static const tutti_touched all = {0, 1, 1}, nothing = {0, 0, 1};
    if (s->first <= z->first && s->last >= z->last) return all;
    if (!z->nexchanges || s->first < z->first || s->last > z->last || (s->param >= 0 && !z->shared)) return nothing;
    const int first = part_at(z, s->first - z->first), last = part_at(z, s->last - z->first);
    return first < 0 || last <= first || (!z->shared && last > first + 1) ? nothing
                                                                          : (tutti_touched){first, last, z->nparts};
}

tutti_touched tutti_alike_touched(const tutti_alikes *a, const tutti_alike *k, const tutti_loop_step *s, int window)
{
    static const tutti_touched all = {0, 1, 1}, nothing = {0, 0, 1};
    const tutti_zone *z = &a->zones[k->zone];
    if (s->peer >= 0 && !z->shared) return nothing; /* only a shared layer reads the samples of other ranks */
    if (window != z->window)
        return z->shared && is_beside(a, window) && s->to != tutti_composition_nslots(a->c, 0) + TUTTI_COMPOSED_OUT
                   ? all
                   : nothing;
    if (window) return all;
    if (s->last <= s->first || s->last <= z->first || s->first >= z->last) return nothing;
    const tutti_touched parts = parts_of(z, s);
    if (parts.last) return parts;
    return s->first <= k->first && s->last >= k->last ? all : nothing;
}

/* Returns the end of the range of zones that a step touches; *z: its begin. */
static int zones_of(const tutti_alikes *a, const tutti_loop_step *s, int window, int *z)
{
    int lo = 0, hi = a->nzones;
    if (window) {
        for (lo = 0; a->zones[lo].window != window;) lo++;
        *z = lo;
        return lo + 1;
    }
    while (hi > 0 && a->zones[hi - 1].window) hi--;
    const int end = hi;
    while (lo < hi) { /* finds the first zone that ends behind s->first */
        const int mid = (lo + hi) / 2;
        if (a->zones[mid].last <= s->first)
            lo = mid + 1;
        else
            hi = mid;
    }
    *z = lo;
    while (lo < end && a->zones[lo].first < s->last) lo++;
    return s->last > s->first ? lo : *z;
}

/* ---- finding classes ---- */

typedef struct {
    int64_t *at;
    int n, capacity;
} cuts;

static int by_value(const void *x, const void *y)
{
    const int64_t p = *(const int64_t *)x, q = *(const int64_t *)y;
    return (p > q) - (p < q);
}

static void add_cut(cuts *c, int64_t at)
{
    c->at = tutti_grow(c->at, c->n, &c->capacity, sizeof *c->at);
    c->at[c->n++] = at;
}

static void tidy(cuts *c)
{
    int n = 0;
    if (c->n) qsort(c->at, (size_t)c->n, sizeof *c->at, by_value);
    for (int i = 0; i < c->n; i++)
        if (!n || c->at[n - 1] != c->at[i]) c->at[n++] = c->at[i];
    c->n = n;
}

static bool find_cuts(const tutti_alikes *a, int rank, cuts *out)
{
    const tutti_unrolled *l = &a->ranks[rank].loop;
    for (int i = 0; i < l->nsteps; i++) {
        const tutti_loop_step *s = &l->steps[i];
        int window, z;
        if (s->to < 0) continue;
        if (!tutti_alike_place(a, rank, s, &window)) return false;
        const int end = zones_of(a, s, window, &z);
        for (; z < end && !window; z++) {
            if (parts_of(&a->zones[z], s).last) continue;
            add_cut(out, s->first);
            add_cut(out, s->last);
        }
    }
    tidy(out);
    return out->n <= MOST_CLASSES;
}

static void cut_zone(tutti_alikes *a, tutti_zone *z, const cuts *c)
{
    int64_t at = z->first;
    z->first_class = a->nclasses;
    for (int i = 0; i < c->n && !z->window; i++) {
        if (c->at[i] <= at || c->at[i] >= z->last) continue;
        a->classes[a->nclasses++] = (tutti_alike){.zone = (int)(z - a->zones), .first = at, .last = c->at[i]};
        at = c->at[i];
    }
    a->classes[a->nclasses++] = (tutti_alike){.zone = (int)(z - a->zones), .first = at, .last = z->last};
    z->nclasses = a->nclasses - z->first_class;
}

static bool find_classes(tutti_alikes *a)
{
    cuts c = {0};
    bool fits = true;
    for (int r = 0; r < a->c->nranks && fits; r++) fits = find_cuts(a, r, &c);
    a->classes = TUTTI_ARENA_NEW(&a->arena, tutti_alike, c.n + a->nzones + 1);
    for (int z = 0; z < a->nzones && fits; z++) cut_zone(a, &a->zones[z], &c);
    free(c.at);
    return fits;
}

/* ---- keys of classes ---- */

static void mix(uint64_t *h, int64_t value)
{
    uint64_t x = *h ^ ((uint64_t)value + 0x9e3779b97f4a7c15u + (*h << 6) + (*h >> 2));
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    *h = x ^ (x >> 31);
}

static void begin_keys(tutti_alikes *a)
{
    const tutti_plan *p = a->c->plan;
    for (int i = 0; i < a->nclasses; i++) {
        tutti_alike *k = &a->classes[i];
        const tutti_zone *z = &a->zones[k->zone];
        mix(&k->key, z->is_owed), mix(&k->key, z->window), mix(&k->key, z->nexchanges), mix(&k->key, z->shared);
        for (int j = 0; j < z->nexchanges; j++) {
            const tutti_plan_exchange *x = &p->exchanges[z->exchanges[j]];
            mix(&k->key, x->schedule), mix(&k->key, a->c->ninvocations[z->exchanges[j]]);
            mix(&k->key, x->in.memory), mix(&k->key, x->in.copy);
            mix(&k->key, x->out.memory), mix(&k->key, x->out.copy);
            mix(&k->key, x->nmembers), mix(&k->key, x->members != NULL);
            if (!z->shared || a->window[x->in.memory]) continue;
            mix(&k->key, (x->first - z->first) / x->count), mix(&k->key, (z->last - z->first) / x->count);
        }
    }
}

/* Adds a part to the key. Parts are numbered anew, in the order in which the class's steps touch them, so that equal
 * classes get equal keys. */
static void mix_part(tutti_alike *k, int part)
{
    if (part && part != k->part) k->nparts++;
    if (part) k->part = part;
    mix(&k->key, part ? k->nparts : 0);
}

static void mix_told(tutti_alikes *a, const tutti_told *t, int what, int part)
{
    const int own = a->zone_of[t->exchange];
    const bool beside = is_beside(a, a->zones[own].window);
    for (int z = 0; z < a->nzones; z++) {
        const tutti_zone *zone = &a->zones[z];
        if (z != own && !(beside && zone->shared)) continue;
        const int place = tutti_zone_place(zone, t->exchange);
        for (int i = zone->first_class; i < zone->first_class + zone->nclasses; i++) {
            mix_part(&a->classes[i], part);
            mix(&a->classes[i].key, what + t->kind);
            mix(&a->classes[i].key, place);
            mix(&a->classes[i].key, t->invocation);
        }
    }
}

static void mix_touched(tutti_alikes *a, const tutti_zone *z, const tutti_loop_step *s, int window)
{
    for (int i = z->first_class; i < z->first_class + z->nclasses; i++) {
        const tutti_touched touched = tutti_alike_touched(a, &a->classes[i], s, window);
        if (!touched.last) continue;
        mix_part(&a->classes[i], s->part);
        mix(&a->classes[i].key, 1000 + s->kind), mix(&a->classes[i].key, touched.of);
        mix(&a->classes[i].key, touched.first), mix(&a->classes[i].key, touched.last);
        mix(&a->classes[i].key, s->from[0]), mix(&a->classes[i].key, s->from[1]), mix(&a->classes[i].key, s->to);
        mix(&a->classes[i].key, s->peer);
    }
}

static void mix_step(tutti_alikes *a, int rank, const tutti_loop_step *s)
{
    int window, z;
    (void)tutti_alike_place(a, rank, s, &window); /* find_cuts has checked that the step has a place */
    const int end = zones_of(a, s, window, &z);
    for (; z < end; z++) mix_touched(a, &a->zones[z], s, window);
    for (z = 0; z < a->nzones && is_beside(a, window); z++)
        if (a->zones[z].shared) mix_touched(a, &a->zones[z], s, window);
}

static void mix_rank(tutti_alikes *a, int rank)
{
    const tutti_rank_loop *r = &a->ranks[rank];
    for (int i = 0; i < a->nclasses; i++) {
        mix(&a->classes[i].key, 2000 + rank), mix(&a->classes[i].key, tutti_composition_nslots(a->c, rank));
        a->classes[i].part = a->classes[i].nparts = 0;
    }
    for (int i = 0; i < r->loop.nsteps; i++) {
        const tutti_loop_step *s = &r->loop.steps[i];
        for (int t = r->head[i]; t >= 0; t = r->told[t].next) mix_told(a, &r->told[t], 0, s->part);
        for (int t = s->after >= 0 ? r->head[s->after] : -1; t >= 0; t = r->told[t].next)
            mix_told(a, &r->told[t], 100, s->part);
        if (s->to >= 0) mix_step(a, rank, s);
    }
}

/* ---- the loops of all ranks ---- */

static void add_told(tutti_rank_loop *r, const tutti_told t, int position)
{
    if (position < 0) return;
    r->told[r->ntold] = t;
    r->told[r->ntold].next = r->head[position];
    r->head[position] = r->ntold++;
}

static bool unroll(tutti_alikes *a, int rank)
{
    const tutti_plan *p = a->c->plan;
    tutti_rank_loop *r = &a->ranks[rank];
    if (tutti_composition_unroll(a->c, rank, &a->arena, &r->loop, NULL)) return false;
    r->head = TUTTI_ARENA_NEW(&a->arena, int, r->loop.nsteps + 1);
    r->told = TUTTI_ARENA_NEW(&a->arena, tutti_told, 4 * a->c->most_invocations * p->nexchanges + 1);
    for (int i = 0; i < r->loop.nsteps; i++) r->head[i] = -1;
    for (int k = 0; k < a->c->most_invocations; k++)
        for (int x = 0; x < p->nexchanges; x++) {
            const int at = tutti_composition_at(a->c, k, x);
            const int where[] = {r->loop.begun[at], r->loop.ready[at], r->loop.is_free[at], r->loop.waited[at]};
            for (int i = 0; i < 4; i++) add_told(r, (tutti_told){(tutti_told_kind)i, x, k, -1}, where[i]);
        }
    return true;
}

/* ---- the whole proof ---- */

static bool is_proved(const tutti_proved_keys *proved, uint64_t key)
{
    for (int i = 0; i < proved->nkeys; i++)
        if (proved->keys[i] == key) return true;
    return false;
}

/* Proves the classes whose keys `proved` lacks; returns true if all are proved then. A class that is refused ends the
 * search. A class that is neither proved nor refused does not end it, because a later class may be refused; if none is,
 * the plan is proved as a whole. */
static bool prove_classes(const tutti_alikes *a, tutti_proved_keys *proved)
{
    bool all = true;
    for (int i = 0; i < a->nclasses; i++) {
        if (is_proved(proved, a->classes[i].key)) continue;
        if (!tutti_alike_prove(a, &a->classes[i])) {
            proved->is_refuted = proved->err && (tutti_alike_refute(a, &a->classes[i], proved->err) ||
                                                 tutti_alike_find_race(a, &a->classes[i], proved->err));
            if (proved->is_refuted || !proved->err) return false;
            all = false;
            continue;
        }
        proved->keys = tutti_grow(proved->keys, proved->nkeys, &proved->capacity, sizeof *proved->keys);
        proved->keys[proved->nkeys++] = a->classes[i].key;
    }
    return all;
}

bool tutti_composition_prove_alike(const tutti_composition *c, tutti_proved_keys *proved)
{
    tutti_alikes a = {.c = c};
    bool holds = find_windows(&a) && find_zones(&a);
    a.ranks = TUTTI_ARENA_NEW(&a.arena, tutti_rank_loop, c->nranks);
    for (int r = 0; r < c->nranks && holds; r++) holds = unroll(&a, r);
    holds = holds && find_classes(&a);
    if (holds) begin_keys(&a);
    for (int r = 0; r < c->nranks && holds; r++) mix_rank(&a, r);
    holds = holds && tutti_alike_all_end(&a) && prove_classes(&a, proved);
    tutti_arena_release(&a.arena);
    return holds;
}
