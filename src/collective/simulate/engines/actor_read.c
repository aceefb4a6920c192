/* SPDX-License-Identifier: Apache-2.0 */
/* actor_read.c: reads and checks the file of a problem for tutti-simgrid. */
#include "actor_read.h"

#include <stdio.h>
#include <string.h>

enum { MOST_RANKS = 1 << 20 };

typedef struct {
    const char *bytes;
    size_t at, nbytes;
    bool fits;
} cursor;

static const void *take(cursor *c, int64_t n, size_t element)
{
    const size_t room = c->nbytes - c->at;
    if (!c->fits || n < 0 || (uint64_t)n > room / element) {
        c->fits = false;
        return NULL;
    }
    const void *array = c->bytes + c->at;
    const size_t end = c->at + ((size_t)n * element + 7) / 8 * 8;
    c->at = end < c->nbytes ? end : c->nbytes;
    return array;
}

static bool is_rank(const tutti_actor_head *h, int32_t rank)
{
    return rank >= 0 && rank < h->nranks;
}

static bool in(int64_t first, int64_t n, int64_t of)
{
    return first >= 0 && n >= 0 && first <= of && n <= of - first;
}

static bool network_is_sound(const tutti_actor_problem *p)
{
    const tutti_actor_head *h = p->head;
    for (int64_t i = 0; i < h->nlinks; i++)
        if (!(p->links[i].bytes_per_s > 0) || !(p->links[i].latency_s >= 0)) return false;
    for (int64_t i = 0; i < h->nhops; i++)
        if (p->hops[i] < 0 || p->hops[i] >= h->nlinks) return false;
    for (int64_t i = 0; i < h->npairs; i++) {
        const tutti_actor_pair *a = &p->pairs[i];
        if (!is_rank(h, a->src) || !is_rank(h, a->dst) || !in(a->first_hop, a->nhops, h->nhops)) return false;
        if (a->alias < 0 || a->alias >= h->naliases) return false;
    }
    for (int64_t i = 0; i < h->nlines; i++) {
        const tutti_actor_line *l = &p->lines[i];
        if (!is_rank(h, l->src) || !is_rank(h, l->dst) || !in(l->first_alias, h->nparts, h->nlines * h->nparts))
            return false;
        if (!(l->latency_s >= 0)) return false;
    }
    for (int64_t i = 0; i < h->nlines * h->nparts; i++)
        if (p->aliases[i] < 0 || p->aliases[i] >= h->naliases) return false;
    return true;
}

static bool step_is_sound(const tutti_actor_problem *p, const tutti_actor_step *s, int64_t nsteps, int64_t ndeps,
                          const int32_t *deps, int32_t rank)
{
    const tutti_actor_head *h = p->head;
    if (s->kind > TUTTI_ACTOR_LOAD || !(s->amount >= 0) || !in(s->first_dep, s->ndeps, ndeps)) return false;
    for (int32_t i = 0; i < s->ndeps; i++)
        if (deps[s->first_dep + i] < 0 || deps[s->first_dep + i] >= nsteps) return false;
    switch (s->kind) {
    case TUTTI_ACTOR_SEND:
    case TUTTI_ACTOR_SIGNAL: return s->at >= 0 && s->at < h->nlines && p->lines[s->at].src == rank;
    case TUTTI_ACTOR_RECV:
    case TUTTI_ACTOR_WAIT: return s->at >= 0 && s->at < h->nlines && p->lines[s->at].dst == rank;
    case TUTTI_ACTOR_LOAD: return s->nloads > 0 && in(s->at, s->nloads, h->nloads);
    default: return true;
    }
}

static bool parts_are_sound(const tutti_actor_problem *p)
{
    const tutti_actor_head *h = p->head;
    if (p->ranks[0].first_step || p->ranks[0].first_dep) return false;
    if (p->ranks[h->nranks].first_step != h->nsteps || p->ranks[h->nranks].first_dep != h->ndeps) return false;
    for (int32_t r = 0; r < h->nranks; r++) {
        const tutti_actor_rank *a = &p->ranks[r];
        const int64_t nsteps = a[1].first_step - a->first_step, ndeps = a[1].first_dep - a->first_dep;
        if (!in(a->first_step, nsteps, h->nsteps) || !in(a->first_dep, ndeps, h->ndeps) || nsteps > INT32_MAX ||
            !(a->late_s >= 0))
            return false;
        if (nsteps && !p->steps[a->first_step].begins) return false;
        for (int64_t i = 0; i < nsteps; i++)
            if (!step_is_sound(p, &p->steps[a->first_step + i], nsteps, ndeps, p->deps + a->first_dep, r)) return false;
    }
    for (int64_t i = 0; i < h->nloads; i++)
        if (!is_rank(h, p->loads[i].src) || !is_rank(h, p->loads[i].dst) || !(p->loads[i].bytes >= 0)) return false;
    return true;
}

static bool head_is_sound(const tutti_actor_head *h)
{
    return !memcmp(h->magic, TUTTI_ACTOR_MAGIC, sizeof h->magic) && h->nranks > 0 && h->nranks <= MOST_RANKS &&
           h->naliases > 0 && h->naliases <= MOST_RANKS / h->nranks + 64 && h->nparts > 0 && h->nparts <= 1024 &&
           h->soft_s >= 0 && h->precision_s > 0 && h->nlines >= 0 && h->nlines <= INT32_MAX / h->nparts;
}

bool tutti_actor_read(const void *bytes, size_t nbytes, tutti_actor_problem *out, char why[200])
{
    cursor c = {.bytes = bytes, .nbytes = nbytes, .fits = true};
    const tutti_actor_head *h = take(&c, 1, sizeof *h);
    if (!h || !head_is_sound(h)) {
        snprintf(why, 200, "the problem has not the head that this program reads (another build?)");
        return false;
    }
    out->head = h;
    out->steps = take(&c, h->nsteps, sizeof *out->steps);
    out->ranks = take(&c, h->nranks + 1, sizeof *out->ranks);
    out->links = take(&c, h->nlinks, sizeof *out->links);
    out->pairs = take(&c, h->npairs, sizeof *out->pairs);
    out->lines = take(&c, h->nlines, sizeof *out->lines);
    out->loads = take(&c, h->nloads, sizeof *out->loads);
    out->hops = take(&c, h->nhops, sizeof *out->hops);
    out->aliases = take(&c, h->nlines * h->nparts, sizeof *out->aliases);
    out->deps = take(&c, h->ndeps, sizeof *out->deps);
    if (!c.fits || c.at != nbytes)
        snprintf(why, 200, "the problem has %zu bytes, its head says another number", nbytes);
    else if (!network_is_sound(out) || !parts_are_sound(out))
        snprintf(why, 200, "the problem points at what is not in it");
    else
        return true;
    return false;
}
