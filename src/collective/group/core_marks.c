/* SPDX-License-Identifier: Apache-2.0 */
/* core_marks.c: lets ranks that meet on one core give way to each other. Each waiting rank marks its core, so that a
 * rank yields to another rank and not to a foreign process.
 *
 * With a busy process (the stranger) beside two ranks on two cores, the scheduler leaves any two of the three on one
 * core. If these are the ranks, neither spinning nor waiting helps: the signal that one rank waits for can only come
 * when this rank gives up the core. If they are a rank and the stranger, giving up the core is the mistake: the
 * stranger keeps it for a time slice of about 3 ms, in which ranks exchange 1 KB some 10,000 times. So a rank must know
 * whether a rank or a stranger shares its core. For this every rank that waits leaves its mark on the core. A rank that
 * finds another rank's mark in place of its own yields. A rank that finds its own mark keeps the core until it sleeps.
 *
 * Ranks that meet OFTEN times within WHILE_NS lose most of that time by switching. They part: one rank goes to another
 * core that it may use. On that core the stranger takes its slices, but between the slices both ranks are as fast as
 * alone. Long exchanges lose less by switching than by waiting for slices: 64 KB take 13 us with both ranks on one
 * core, where all is in one cache, and 26 us on two cores beside a stranger; 16 MB take 5.5 ms on one core and 8 ms on
 * two. If a short exchange waits for a slice, the stranger is on the same core as both ranks; then they part at once.
 *
 * Measured with two ranks on two cores beside a busy process (EPYC Zen 4, Linux 6.18 with EEVDF, ticks of 4 ms): an
 * allreduce of 1 KB in plain memory takes 1.1 us if each rank has a core. On one core it takes 2.5 us if ranks yield at
 * once (a switch between processes takes 1 to 2 us), 6 us if they spin for 2 us before each yield, and 8,000 us, two
 * ticks, if they only spin.
 *
 * A mark may be stale: its rank has moved to another core and has not waited since. That costs one yield; a rank that
 * waits on another core removes its old mark. */
#include <sched.h>

#include "../../base/clock.h"
#include "group_impl.h"

enum { OFTEN = 16 };
static const int64_t WHILE_NS = 150000, SLICE_NS = 500000;

static _Atomic uint32_t *mark_of(const tutti_group *g, int core)
{
    int first = 0;
    while (!tutti_group_is_near(g, first)) first++;
    return &g->peers[first].board->marks[core % TUTTI_MARKS];
}

void tutti_group_mark_core(tutti_group *g)
{
    const int core = g->nranks > 1 ? sched_getcpu() : -1;
    if (core < 0) return; /* there is no other rank, or the system does not say which core this is */
    const uint32_t own = 1 + (uint32_t)g->rank;
    _Atomic uint32_t *mark = mark_of(g, core);
    const uint32_t was = atomic_load_explicit(mark, memory_order_relaxed);
    if (was == own) return;
    if (core != g->core) {
        uint32_t old = own;
        atomic_compare_exchange_strong(mark_of(g, g->core), &old, 0);
        g->core = core;
    }
    atomic_store_explicit(mark, own, memory_order_relaxed);
    g->beside = was;
}

/* Returns true if this rank has met the rank beside it OFTEN times within WHILE_NS, or if a stranger ran on the core.
 * Of two ranks that meet, the lower one stays, because otherwise both would move and meet again. */
static bool is_time_to_part(tutti_group *g, int64_t now_ns)
{
    if ((uint32_t)g->rank < g->beside) return false;
    if (now_ns - g->meeting_ns > WHILE_NS) g->meeting_ns = now_ns, g->meetings = 0;
    return ++g->meetings >= OFTEN || g->strange;
}

/* Moves this rank to another core. Returns true if the rank then runs on that core and may still use all of its
 * cores. */
static bool part(tutti_group *g)
{
    cpu_set_t all, others;
    g->meetings = 0, g->strange = false;
    if (sched_getaffinity(0, sizeof all, &all)) return false;
    others = all;
    CPU_CLR((size_t)g->core, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others)) return false;
    /* this rank used these cores a moment ago, so the call succeeds */
    (void)sched_setaffinity(0, sizeof all, &all);
    /* removes this rank's mark from the core that it leaves, so that the other rank no longer yields to it */
    atomic_store_explicit(mark_of(g, g->core), 0, memory_order_relaxed);
    return true;
}

bool tutti_group_make_way(tutti_group *g, int64_t now_ns, bool is_short)
{
    const bool parted = is_time_to_part(g, now_ns) && part(g);
    if (!parted) sched_yield();
    if (!parted && is_short && tutti_clock_ns() - now_ns > SLICE_NS) g->strange = true;
    g->beside = 0;
    tutti_group_mark_core(g);
    return parted;
}
