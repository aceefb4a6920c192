/* SPDX-License-Identifier: Apache-2.0 */
/* check_clock.c: vector clocks that are shared until they change.
 *
 * A clock is a base (what is known of all threads, copied on write) and the holder's own count beside it. A burst of
 * signals, even with accesses between them, changes the own count alone, so p - 1 messages share one base. (thread, own)
 * names one state: after it was told to anybody, the next event takes a new count; who knows `own` of a thread knows
 * everything that the thread knew then, which lets most joins end after one comparison. */
#include <string.h>

#include "check_impl.h"

typedef int32_t lanes __attribute__((vector_size(32), may_alias));
typedef int8_t bytes __attribute__((vector_size(32), may_alias));
enum { ALIGNMENT = 64 };

void tutti_clocks_init(tutti_clocks *c, int32_t nthreads, int32_t nmarks)
{
    *c = (tutti_clocks){.nthreads = nthreads, .nmarks = nmarks};
    c->count_bytes = (sizeof(int32_t) * (size_t)nthreads + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    c->mark_bytes = ((size_t)nmarks + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void tutti_clocks_release(tutti_clocks *c)
{
    tutti_arena_release(&c->arena);
}

static tutti_base *new_base(tutti_clocks *c)
{
    tutti_base *base = c->spare;
    if (base) {
        c->spare = base->next;
    } else {
        char *memory = tutti_arena_alloc(&c->arena, ALIGNMENT + c->count_bytes + c->mark_bytes);
        base = (tutti_base *)memory;
        base->counts = (int32_t *)(memory + ALIGNMENT);
        base->marks = (int8_t *)(memory + ALIGNMENT + c->count_bytes);
    }
    base->refs = 1;
    return base;
}

static void drop_base(tutti_clocks *c, tutti_base *base)
{
    if (--base->refs > 0) return;
    base->next = c->spare;
    c->spare = base;
}

void tutti_clock_init(tutti_clocks *c, tutti_clock *t, int32_t thread)
{
    *t = (tutti_clock){.base = new_base(c), .thread = thread, .own = 1};
    memset(t->base->counts, 0, c->count_bytes + c->mark_bytes);
}

tutti_news tutti_clock_tell(tutti_clock *t)
{
    t->released = true;
    t->base->refs++;
    return (tutti_news){t->base, t->thread, t->own, t->depth};
}

void tutti_clock_drop(tutti_clocks *c, tutti_news *news)
{
    if (news->base) drop_base(c, news->base);
    news->base = NULL;
}

static void own_base(tutti_clocks *c, tutti_clock *t)
{
    tutti_clock_event(t);
    if (t->base->refs == 1) return;
    tutti_base *copy = new_base(c);
    memcpy(copy->counts, t->base->counts, c->count_bytes + c->mark_bytes);
    drop_base(c, t->base);
    t->base = copy;
}

/* Elementwise maximum. Counts and marks are never negative; the padding is zero. */
static void join(tutti_clocks *c, tutti_base *to, const tutti_base *from)
{
    lanes *a = (lanes *)to->counts;
    const lanes *b = (const lanes *)from->counts;
    for (size_t i = 0; i < c->count_bytes / sizeof(lanes); i++) {
        lanes more = b[i] > a[i];
        a[i] = (b[i] & more) | (a[i] & ~more);
    }
    bytes *x = (bytes *)to->marks;
    const bytes *y = (const bytes *)from->marks;
    for (size_t i = 0; i < c->mark_bytes / sizeof(bytes); i++) {
        bytes more = y[i] > x[i];
        x[i] = (y[i] & more) | (x[i] & ~more);
    }
}

void tutti_clock_hear(tutti_clocks *c, tutti_clock *t, const tutti_news *news)
{
    if (news->depth > t->depth) t->depth = news->depth;
    if (tutti_clock_of(t, news->thread) >= news->own) return;
    own_base(c, t);
    if (news->base != t->base) join(c, t->base, news->base);
    t->base->counts[news->thread] = news->own;
}

void tutti_clock_mark(tutti_clocks *c, tutti_clock *t, int32_t mark, int32_t count)
{
    if (t->base->marks[mark] >= count) return;
    own_base(c, t);
    t->base->marks[mark] = (int8_t)count;
}
