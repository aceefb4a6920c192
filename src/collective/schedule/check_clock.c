/* SPDX-License-Identifier: Apache-2.0 */
/* check_clock.c: vector clocks that are shared until they change, and that know only what may matter.
 *
 * A clock is a base (what is known of other threads and of owners' acts, copied on write) and the holder's own count beside
 * it. A burst of signals, even with accesses between them, changes the own count alone, so p - 1 messages share one base.
 * (thread, own) names one state: after it was told to anybody, the next event takes a new count; who knows `own` of a thread
 * knows everything that the thread knew then, which lets most joins end after one comparison.
 *
 * Layouts. Rank r can only race with ranks that touch memory which r touches: its neighbours. A near layout keeps entries
 * for neighbours only, so a join in a ring of 1,024 ranks costs 5 entries, not 1,024. Knowledge that would have to travel
 * through strangers is lost: what is proved stays proved, but a race found this way is only a suspicion, and the check is
 * done again with full layouts. */
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

enum { ALIGNMENT = 64, BLOCK = 32 };

void tutti_clocks_init(tutti_clocks *c, const tutti_layout *layouts, int32_t nranks, int64_t max_events)
{
    c->wide = max_events >= INT16_MAX;
    int32_t ncounts = 0, nmarks = 0;
    for (int32_t r = 0; r < nranks; r++) {
        if (layouts[r].ncounts > ncounts) ncounts = layouts[r].ncounts;
        if (layouts[r].nmarks > nmarks) nmarks = layouts[r].nmarks;
    }
    c->count_bytes =
        ((c->wide ? sizeof(int32_t) : sizeof(int16_t)) * (size_t)ncounts + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    c->mark_bytes = ((size_t)nmarks + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void tutti_clocks_release(tutti_clocks *c)
{
    tutti_arena_release(&c->arena);
}

static tutti_base *new_base(tutti_clocks *c, const tutti_layout *layout)
{
    tutti_base *base = c->spare;
    if (base) {
        c->spare = base->next;
    } else {
        char *memory = tutti_arena_alloc(&c->arena, ALIGNMENT + c->count_bytes + c->mark_bytes);
        base = (tutti_base *)memory;
        base->wide = c->wide ? (int32_t *)(memory + ALIGNMENT) : NULL;
        base->narrow = (int16_t *)(memory + ALIGNMENT);
        base->marks = (uint8_t *)(memory + ALIGNMENT + c->count_bytes);
    }
    base->refs = 1;
    base->layout = layout;
    return base;
}

static void drop_base(tutti_clocks *c, tutti_base *base)
{
    if (--base->refs > 0) return;
    base->next = c->spare;
    c->spare = base;
}

void tutti_clock_init(tutti_clocks *c, tutti_clock *t, int32_t thread, const tutti_layout *layout)
{
    *t = (tutti_clock){.base = new_base(c, layout), .thread = thread, .own = 1};
    memset(t->base->narrow, 0, c->count_bytes + c->mark_bytes);
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

/* Elementwise maximum of two arrays, into a third or the first. Lengths are whole blocks, so that compilers turn the inner
 * loops into a few vector instructions. */
static void max_wide(int32_t *out, const int32_t *a, const int32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK / 2) {
        int32_t m[BLOCK / 2];
        for (size_t k = 0; k < BLOCK / 2; k++) m[k] = a[i + k] > b[i + k] ? a[i + k] : b[i + k];
        memcpy(out + i, m, sizeof m);
    }
}

static void max_narrow(int16_t *out, const int16_t *a, const int16_t *b, size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        int16_t m[BLOCK];
        for (size_t k = 0; k < BLOCK; k++) m[k] = a[i + k] > b[i + k] ? a[i + k] : b[i + k];
        memcpy(out + i, m, sizeof m);
    }
}

static void max_marks(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        uint8_t m[BLOCK];
        for (size_t k = 0; k < BLOCK; k++) m[k] = a[i + k] > b[i + k] ? a[i + k] : b[i + k];
        memcpy(out + i, m, sizeof m);
    }
}

/* The clock's base becomes its own, and the maximum of itself and `more` (NULL = nothing; else of the same layout). */
static void change_base(tutti_clocks *c, tutti_clock *t, const tutti_base *more)
{
    tutti_base *old = t->base;
    tutti_clock_event(t);
    if (old->refs > 1) t->base = new_base(c, old->layout);
    if (more && c->wide) max_wide(t->base->wide, old->wide, more->wide, c->count_bytes / sizeof *old->wide);
    if (more && !c->wide) max_narrow(t->base->narrow, old->narrow, more->narrow, c->count_bytes / sizeof *old->narrow);
    if (more) max_marks(t->base->marks, old->marks, more->marks, c->mark_bytes);
    if (t->base == old) return;
    if (!more) memcpy(t->base->narrow, old->narrow, c->count_bytes + c->mark_bytes);
    drop_base(c, old);
}

static void set_count(tutti_base *base, int32_t at, int32_t count)
{
    if (base->wide)
        base->wide[at] = count;
    else
        base->narrow[at] = (int16_t)count;
}

/* What both layouts have: a walk over two ascending lists of neighbours. */
static void join_common(tutti_base *to, const tutti_base *from)
{
    const tutti_layout *a = to->layout, *b = from->layout;
    for (int32_t i = 0, k = 0; i < a->nnear && k < b->nnear;) {
        if (a->near[i] != b->near[k]) {
            if (a->near[i] < b->near[k])
                i++;
            else
                k++;
            continue;
        }
        for (int32_t x = a->start[i], y = b->start[k]; x < a->start[i + 1]; x++, y++) {
            int32_t count = tutti_base_count(from, y);
            if (count > tutti_base_count(to, x)) set_count(to, x, count);
        }
        for (int32_t m = 0; m < 2; m++)
            if (from->marks[2 * k + m] > to->marks[2 * i + m]) to->marks[2 * i + m] = from->marks[2 * k + m];
        i++, k++;
    }
}

void tutti_clock_hear(tutti_clocks *c, tutti_clock *t, const tutti_news *news)
{
    if (news->depth > t->depth) t->depth = news->depth;
    if (tutti_clock_of(t, news->thread) >= news->own) return;
    bool equal = news->base->layout == t->base->layout;
    change_base(c, t, equal ? news->base : NULL);
    if (!equal) join_common(t->base, news->base);
    int32_t at = tutti_layout_thread(t->base->layout, news->thread);
    if (at >= 0) set_count(t->base, at, news->own);
}

void tutti_clock_mark(tutti_clocks *c, tutti_clock *t, int32_t mark, int32_t count)
{
    int32_t at = tutti_layout_mark(t->base->layout, mark);
    if (at < 0 || t->base->marks[at] >= count) return;
    change_base(c, t, NULL);
    t->base->marks[at] = (uint8_t)count;
}
