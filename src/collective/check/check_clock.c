/* SPDX-License-Identifier: Apache-2.0 */
/* check_clock.c: vector clocks that are shared until they change, and that keep only what may matter.
 *
 * A clock is a base (knowledge of other threads and of owners' acts, copied on write) and the holder's own count beside
 * it. Signals and accesses of the holder change its own count alone, so the p - 1 messages that it sends in a row share
 * one base. The pair (thread, own) names one state of a thread: after another thread has heard of a state, the next
 * event takes a new count. A thread that knows count `own` of another thread knows all that the other thread knew at
 * that count. So most joins end after one comparison.
 *
 * Adopting. Most messages between sequences of a rank contain all that the receiver knows. Then the receiver takes over
 * the sender's base. The sender's own count is not in that base, so the receiver keeps it beside the base (`via`).
 *
 * Layouts. Rank r can only race with ranks that touch memory which r touches: its neighbours. A near layout keeps
 * entries for neighbours only, so a join in a ring of 1,024 ranks costs 5 entries, not 1,024. Knowledge that travels
 * through ranks that are no neighbours is lost. Losing knowledge can only add races: a schedule that passes is proved,
 * but a race found this way is only suspected, and the check runs again with full layouts. */
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

enum { ALIGNMENT = 64, BLOCK = 32, SMALL = 64 };

void tutti_clocks_init(tutti_clocks *c, const tutti_clock_layout *layouts, int32_t nranks, int64_t max_events)
{
    c->wide = max_events >= INT16_MAX;
    int32_t ncounts = 0, nmarks = 0;
    for (int32_t r = 0; r < nranks; r++) {
        if (layouts[r].ncounts > ncounts) ncounts = layouts[r].ncounts;
        if (layouts[r].nmarks > nmarks) nmarks = layouts[r].nmarks;
    }
    c->count_bytes = (c->wide ? sizeof(int32_t) : sizeof(int16_t)) * (size_t)ncounts;
    c->mark_bytes = (size_t)nmarks;
    c->begin = sizeof(tutti_base);
    if (c->count_bytes + c->mark_bytes <= SMALL) return;
    c->count_bytes = (c->count_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    c->mark_bytes = (c->mark_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    c->begin = ALIGNMENT;
}

void tutti_clocks_release(tutti_clocks *c)
{
    tutti_arena_release(&c->arena);
}

static tutti_base *new_base(tutti_clocks *c, const tutti_clock_layout *layout)
{
    tutti_base *base = c->spare;
    if (base) {
        c->spare = base->next;
    } else {
        char *memory = tutti_arena_alloc(&c->arena, c->begin + c->count_bytes + c->mark_bytes);
        base = (tutti_base *)memory;
        base->wide = c->wide ? (int32_t *)(memory + c->begin) : NULL;
        base->narrow = (int16_t *)(memory + c->begin);
        base->marks = (uint8_t *)(memory + c->begin + c->count_bytes);
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

void tutti_clock_init(tutti_clocks *c, tutti_clock *t, int32_t thread, const tutti_clock_layout *layout)
{
    *t = (tutti_clock){.base = new_base(c, layout), .thread = thread, .own = 1, .via = -1};
    t->base->maker = thread;
    memset(t->base->narrow, 0, c->count_bytes + c->mark_bytes);
}

tutti_news tutti_clock_tell(tutti_clock *t)
{
    t->released = true;
    t->base->refs++;
    return (tutti_news){t->base, t->thread, t->own, t->depth, t->via, t->via_own};
}

void tutti_clock_drop(tutti_clocks *c, tutti_news *news)
{
    if (news->base) drop_base(c, news->base);
    news->base = NULL;
}

/* Takes the elementwise maximum of two arrays, into a third or the first. Long arrays are whole blocks, which compilers
 * turn into a few vector instructions; small clocks have only the length that they need, so that they fit in one or two
 * cache lines. */
static void max_wide(int32_t *out, const int32_t *a, const int32_t *b, size_t n)
{
    size_t i = 0;
    for (; i + BLOCK / 2 <= n; i += BLOCK / 2) {
        int32_t m[BLOCK / 2];
        for (size_t k = 0; k < BLOCK / 2; k++) m[k] = a[i + k] > b[i + k] ? a[i + k] : b[i + k];
        memcpy(out + i, m, sizeof m);
    }
    for (; i < n; i++) out[i] = a[i] > b[i] ? a[i] : b[i];
}

static void max_narrow(int16_t *out, const int16_t *a, const int16_t *b, size_t n)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        int16_t m[BLOCK];
        for (size_t k = 0; k < BLOCK; k++) m[k] = a[i + k] > b[i + k] ? a[i + k] : b[i + k];
        memcpy(out + i, m, sizeof m);
    }
    for (; i < n; i++) out[i] = a[i] > b[i] ? a[i] : b[i];
}

static void max_marks(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        uint8_t m[BLOCK];
        for (size_t k = 0; k < BLOCK; k++) m[k] = a[i + k] > b[i + k] ? a[i + k] : b[i + k];
        memcpy(out + i, m, sizeof m);
    }
    for (; i < n; i++) out[i] = a[i] > b[i] ? a[i] : b[i];
}

static void set_count(tutti_base *base, int32_t at, int32_t count)
{
    if (base->wide)
        base->wide[at] = count;
    else
        base->narrow[at] = (int16_t)count;
}

static void raise_count(tutti_base *base, int32_t thread, int32_t count)
{
    int32_t at = thread < 0 ? -1 : tutti_layout_thread(base->layout, thread);
    if (at >= 0 && tutti_base_count(base, at) < count) set_count(base, at, count);
}

/* Gives the clock a base of its own, and joins `more` into it (NULL = nothing; else of the same layout). */
static void change_base(tutti_clocks *c, tutti_clock *t, const tutti_base *more)
{
    tutti_base *old = t->base;
    tutti_clock_event(t);
    if (old->refs > 1) t->base = new_base(c, old->layout);
    if (more && c->wide) max_wide(t->base->wide, old->wide, more->wide, c->count_bytes / sizeof *old->wide);
    if (more && !c->wide) max_narrow(t->base->narrow, old->narrow, more->narrow, c->count_bytes / sizeof *old->narrow);
    if (more) max_marks(t->base->marks, old->marks, more->marks, c->mark_bytes);
    if (t->base != old && !more) memcpy(t->base->narrow, old->narrow, c->count_bytes + c->mark_bytes);
    if (t->base != old) drop_base(c, old);
    raise_count(t->base, t->via, t->via_own);
    t->via = -1;
    t->base->maker = t->thread;
    t->base->age = ++t->age;
}

/* Returns true if `b` knows everything that `a` knows (both of one layout). */
static bool contains(const tutti_clocks *c, const tutti_base *b, const tutti_base *a)
{
    if (a->maker == b->maker) return a->age <= b->age;
    bool more = false;
    for (size_t i = 0; i < c->count_bytes && !more; i += ALIGNMENT)
        for (size_t k = 0; k < ALIGNMENT / sizeof *a->narrow; k++)
            more |=
                c->wide ? a->wide[i / 4 + k / 2] > b->wide[i / 4 + k / 2] : a->narrow[i / 2 + k] > b->narrow[i / 2 + k];
    for (size_t i = 0; i < c->mark_bytes && !more; i += ALIGNMENT)
        for (size_t k = 0; k < ALIGNMENT; k++) more |= a->marks[i + k] > b->marks[i + k];
    return !more;
}

/* Replaces the base of the thread's clock (the part that clocks share) by the base of the news, which is what a
 * received message says of its sender's clock. False, and nothing is changed, if the thread would lose knowledge by
 * it. */
static bool adopt(tutti_clocks *c, tutti_clock *t, const tutti_news *news)
{
    bool large = c->begin == ALIGNMENT;
    if (!large || news->via >= 0 || news->base->layout != t->base->layout) return false;
    if (t->via >= 0 && t->via != news->thread) return false;
    if (!contains(c, news->base, t->base)) return false;
    tutti_clock_event(t);
    news->base->refs++;
    drop_base(c, t->base);
    t->base = news->base;
    t->via = news->thread;
    t->via_own = news->own;
    return true;
}

/* Returns true if `from` has a larger entry than `to` where both layouts have one. Callers test this before they join,
 * because most messages between ranks that share no memory change nothing. */
static bool has_more(const tutti_base *to, const tutti_base *from)
{
    const tutti_clock_layout *a = to->layout, *b = from->layout;
    for (int32_t i = 0, k = 0; i < a->nnear && k < b->nnear;) {
        if (a->near[i] != b->near[k]) {
            *(a->near[i] < b->near[k] ? &i : &k) += 1;
            continue;
        }
        for (int32_t x = a->start[i], y = b->start[k]; x < a->start[i + 1]; x++, y++)
            if (tutti_base_count(from, y) > tutti_base_count(to, x)) return true;
        for (int32_t m = 0; m < 2; m++)
            if (from->marks[2 * k + m] > to->marks[2 * i + m]) return true;
        i++, k++;
    }
    return false;
}

/* Joins the entries that both layouts have, in a walk over two ascending lists of neighbours. */
static void join_common(tutti_base *to, const tutti_base *from)
{
    const tutti_clock_layout *a = to->layout, *b = from->layout;
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
    if (adopt(c, t, news)) return;
    bool equal = news->base->layout == t->base->layout;
    int32_t at = tutti_layout_thread(t->base->layout, news->thread);
    if (!equal && at < 0 && !has_more(t->base, news->base)) return;
    change_base(c, t, equal ? news->base : NULL);
    if (!equal) join_common(t->base, news->base);
    raise_count(t->base, news->via, news->via_own);
    raise_count(t->base, news->thread, news->own);
}

void tutti_clock_mark(tutti_clocks *c, tutti_clock *t, int32_t mark, int32_t count)
{
    int32_t at = tutti_layout_mark(t->base->layout, mark);
    if (at < 0 || t->base->marks[at] >= count) return;
    change_base(c, t, NULL);
    t->base->marks[at] = (uint8_t)count;
}
