/* SPDX-License-Identifier: Apache-2.0 */
/* comm_choice.c: chooses the way through memory for the next call of a class, by the times that rank 0 measured
 * (comm_way.h).
 *
 * Each way is tried in several calls in a row, because the time of a call depends on the call before it. The first call
 * finds cold memory and does not count. If ranks take turns on a core, one call is short because another one was long,
 * so only a mean over calls says anything.
 *
 * If each rank has a core, a long call takes its own time, or up to 3 ms more if another process had the core for a
 * time slice. So the shortest of a few calls shows which of two ways is faster. Their mean would show which of them
 * another process disturbed. */
#include "comm_way.h"

/* Trying a way through memory again may cost this fraction of the time of all calls, and happens after PAUSE calls at
 * the earliest. */
static const double SHARE = 1.0 / 64;
enum {
    PAUSE = 32,
    SHORT_OCTAVE = 20,
    SHORT_BURST = 6,
    LONG_BURST = 4,
    TURNS_BURST = 3,
    ENOUGH_TO_DROP = 4,
    SMOOTH = 4
};

/* Short calls are often disturbed but cheap to repeat, so they are tried in longer bursts. */
static int burst_of(const tutti_class *c)
{
    if (c->key.octave < SHORT_OCTAVE) return SHORT_BURST;
    return c->takes_turns ? TURNS_BURST
                          : LONG_BURST; /* for ranks that take turns: one call that does not count, then two, of which
                                         * one is short and one long */
}

int32_t tutti_octave_of(int64_t bytes)
{
    int32_t octave = 0;
    while (bytes > 1) bytes >>= 1, octave++;
    return octave;
}

static bool has(const tutti_class *c, int way)
{
    return c->key.ways >> way & 1;
}

tutti_way tutti_class_best(const tutti_class *c, tutti_way otherwise)
{
    int best = -1;
    for (int w = 0; w < TUTTI_NWAYS; w++)
        if (has(c, w) && c->record[w].cost > 0 && (best < 0 || c->record[w].cost < c->record[best].cost)) best = w;
    return best < 0 ? otherwise : (tutti_way)best;
}

static int untried(const tutti_class *c)
{
    for (int w = 0; w < TUTTI_NWAYS; w++)
        if (has(c, w) && !c->record[w].tries) return w;
    return -1;
}

/* Returns a way that has not been tried for long, if the credit (seconds that may be lost to trying) covers what trying
 * it would cost; -1: there is none. */
static int worth_a_try(const tutti_class *c, tutti_way best)
{
    int oldest = -1;
    for (int w = 0; w < TUTTI_NWAYS; w++)
        if (has(c, w) && w != (int)best && (oldest < 0 || c->record[w].last < c->record[oldest].last)) oldest = w;
    if (oldest < 0 || c->calls - c->record[oldest].last < PAUSE) return -1;
    const double bytes = (double)((int64_t)1 << c->key.octave);
    const double loss = (c->record[oldest].cost - c->record[best].cost) * bytes * burst_of(c);
    return loss > c->credit ? -1 : oldest;
}

void tutti_class_begin_burst(tutti_class *c, tutti_way way)
{
    c->way = way, c->left = burst_of(c);
    c->record[way].burst = (tutti_way_burst){.left = c->left};
}

tutti_way tutti_class_next(tutti_class *c)
{
    if (c->left == 0) {
        const tutti_way best = tutti_class_best(c, c->way);
        int way = untried(c);
        if (way < 0) way = worth_a_try(c, best);
        c->way = best;
        if (way >= 0) tutti_class_begin_burst(c, (tutti_way)way);
    }
    if (c->left > 0) c->left--;
    c->record[c->way].tries++;
    c->record[c->way].last = c->calls;
    return c->way;
}

/* Scales the times of the other ways with that of the best way. A change that makes the best way slower or faster
 * (touched pages, a busy machine) most likely affects all ways. So only a try changes which way is best. */
static void follow(tutti_class *c, tutti_way best, double before)
{
    const double factor = c->record[best].cost / before;
    for (int w = 0; w < TUTTI_NWAYS; w++)
        if (w != (int)best) c->record[w].cost *= factor;
}

/* Adds a call to a burst, whose first call does not count. At the end of the burst it returns the burst's cost. For
 * long calls of ranks that do not take turns this is the shortest call. Otherwise it is the mean, of many calls without
 * the longest one, in which some rank was interrupted. Returns 0 before the end. */
static double add_to_burst(const tutti_class *c, tutti_way_burst *b, double cost)
{
    if (b->begun) {
        if (b->n == 0 || cost < b->least) b->least = cost;
        if (cost > b->most) b->most = cost;
        b->sum += cost, b->n++;
    }
    b->begun = true;
    if (--b->left > 0 || b->n == 0) return 0;
    if (c->key.octave >= SHORT_OCTAVE && !c->takes_turns) return b->least;
    return b->n >= ENOUGH_TO_DROP ? (b->sum - b->most) / (b->n - 1) : b->sum / b->n;
}

/* Calls of the best way are collected in bursts like those of a try, so that times of the same kind are compared. */
void tutti_class_record(tutti_class *c, tutti_way way, int64_t bytes, double seconds)
{
    tutti_way_record *r = &c->record[way];
    const double nbytes = (double)(bytes > 0 ? bytes : 1), cost = seconds / nbytes, before = r->cost;
    const tutti_way best = tutti_class_best(c, way);
    c->credit += SHARE * seconds;
    if (way != best && before > 0 && cost > c->record[best].cost) c->credit -= (cost - c->record[best].cost) * nbytes;
    if (r->burst.left == 0) r->burst = (tutti_way_burst){.left = burst_of(c)};
    const double mean = add_to_burst(c, &r->burst, cost);
    if (mean <= 0) return;
    r->cost = before > 0 ? before + (mean - before) / (way == best ? SMOOTH : 2) : mean;
    if (before > 0 && way == best) follow(c, best, before);
}
