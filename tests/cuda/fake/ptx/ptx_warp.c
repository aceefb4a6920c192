/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_warp.c: instructions in which the lanes of a warp look at each other. They run when all lanes of their mask that
 * live have come. */
#include <stdlib.h>
#include <time.h>

#include "ptx_lanes.h"

/* Says which lanes do the instruction together with lane l. */
static uint32_t members(ptx_warp *w, const ptx_inst *i, uint32_t mask, int l)
{
    return PTX_REG(uint32_t, w, i->mask_at)[l] & mask;
}

/* A shuffle has the value in register a, how far in b, segments in c and its mode in `what`; imm is a predicate's
 * offset or -1. */
enum { UP, DOWN, BUTTERFLY, INDEX };
static int source_of(int what, int l, uint32_t by, uint32_t segments, bool *inside)
{
    const int segment = segments >> 8 & 31, clamp = segments & 31;
    const int most = (l & segment) | (clamp & ~segment), least = l & segment;
    int j;
    switch (what) {
    case UP:
        j = l - (int)(by & 31);
        *inside = j >= most;
        break;
    case DOWN:
        j = l + (int)(by & 31);
        *inside = j <= most;
        break;
    case BUTTERFLY:
        j = l ^ (int)(by & 31);
        *inside = j <= most;
        break;
    default:
        j = least | ((int)(by & 31) & ~segment);
        *inside = j <= most;
        break;
    }
    return *inside ? j : l;
}

void ptx_shuffle(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    uint32_t *d = PTX_REG(uint32_t, w, i->d), values[PTX_LANES];
    memcpy(values, PTX_REG(uint32_t, w, i->a), sizeof(values));
    const uint32_t *by = PTX_REG(uint32_t, w, i->b), *segments = PTX_REG(uint32_t, w, i->c);
    uint32_t results[PTX_LANES], in = 0;
    memcpy(results, d, sizeof(results));
    for (int l = 0; l < PTX_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        bool inside;
        const int from = source_of(i->what, l, by[l], segments[l], &inside);
        in |= (uint32_t)inside << l;
        if (!(members(w, i, mask, l) >> from & 1))
            ptx_say(w, l, "a shuffle reads lane %d of the warp, which takes no part", from);
        results[l] = values[from];
    }
    memcpy(d, results, sizeof(results));
    if (i->imm >= 0) ptx_set_pred(w, (uint32_t)i->imm, in, mask);
}

/* A vote is on predicate a, its complement where `flags` is set, and has its mode in `what`. */
enum { BALLOT, ALL, ANY, UNIFORM };
void ptx_vote(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    const uint32_t p = i->flags ? ~*ptx_pred(w, i->a) : *ptx_pred(w, i->a);
    uint32_t result = 0;
    for (int l = 0; l < PTX_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        const uint32_t who = members(w, i, mask, l), yes = p & who;
        if (i->what == BALLOT) PTX_REG(uint32_t, w, i->d)[l] = yes;
        const bool holds = i->what == ALL ? yes == who : i->what == ANY ? yes != 0 : yes == who || !yes;
        result |= (uint32_t)holds << l;
    }
    if (i->what != BALLOT) ptx_set_pred(w, i->d, result, mask);
}

/* redux.sync has its operation in `what`, as an atomic, and its type in `flags`. */
static uint32_t combined(const ptx_inst *i, uint32_t x, uint32_t y)
{
    const bool less = i->flags == PTX_T_S32 ? (int32_t)x < (int32_t)y : x < y;
    switch (i->what) {
    case PTX_ATOM_ADD: return x + y;
    case PTX_ATOM_MIN: return less ? x : y;
    case PTX_ATOM_MAX: return less ? y : x;
    case PTX_ATOM_AND: return x & y;
    case PTX_ATOM_OR: return x | y;
    default: return x ^ y;
    }
}
void ptx_reduce(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    uint32_t values[PTX_LANES];
    memcpy(values, PTX_REG(uint32_t, w, i->a), sizeof(values));
    for (int l = 0; l < PTX_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t who = members(w, i, mask, l);
        if (!who) continue;
        uint32_t r = values[__builtin_ctz(who)];
        for (who &= who - 1; who; who &= who - 1) r = combined(i, r, values[__builtin_ctz(who)]);
        PTX_REG(uint32_t, w, i->d)[l] = r;
    }
}

/* match.sync asks whether all lanes of the mask have one value where `what` is set, otherwise which lanes have it. A
 * value has `size` bytes; imm is a predicate's offset or -1. */
void ptx_match(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    uint64_t values[PTX_LANES];
    for (int l = 0; l < PTX_LANES; l++)
        values[l] = i->size == 8 ? PTX_REG(uint64_t, w, i->a)[l] : PTX_REG(uint32_t, w, i->a)[l];
    for (int l = 0; l < PTX_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        const uint32_t who = members(w, i, mask, l);
        uint32_t same = 0;
        for (int k = 0; k < PTX_LANES; k++) same |= (who >> k & 1 && values[k] == values[l] ? UINT32_C(1) : 0) << k;
        const bool whole = same == who;
        PTX_REG(uint32_t, w, i->d)[l] = i->what && !whole ? 0 : same;
        if (i->imm >= 0) ptx_set_pred(w, (uint32_t)i->imm, (uint32_t)whole << l, UINT32_C(1) << l);
    }
}

void ptx_active(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    uint32_t *d = PTX_REG(uint32_t, w, i->d);
    PTX_EACH(mask, d[l] = mask;);
}

/* After bar.warp.sync lanes of this warp see what they did before. */
void ptx_sync_warp(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    (void)i, (void)mask;
    w->sync++;
}

/* A clock counts nanoseconds here, in a result of `size` bytes. */
void ptx_clock(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    for (int l = 0; l < PTX_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        if (i->size == 4) PTX_REG(uint32_t, w, i->d)[l] = (uint32_t)now;
        if (i->size == 8) PTX_REG(uint64_t, w, i->d)[l] = now;
    }
}

/* isspacep asks whether an address is of `space`. */
void ptx_in_space(ptx_warp *w, const ptx_inst *i, uint32_t mask)
{
    const uint64_t *a = PTX_REG(uint64_t, w, i->a);
    const uint64_t window = ptx_window_of((ptx_space)i->space);
    uint32_t r = 0;
    for (int l = 0; l < PTX_LANES; l++) r |= (uint32_t)((a[l] & PTX_WINDOW_MASK) == window) << l;
    ptx_set_pred(w, i->d, r, mask);
}
