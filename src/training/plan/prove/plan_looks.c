/* SPDX-License-Identifier: Apache-2.0 */
/* plan_looks.c: proves that looks go over all elements. A look (action.h) counts values that are not finite, for a
 * verdict, and sums squares, for a norm. Updates use both. No race would show a wrong sum, so this file proves that the
 * looks go over every element exactly once, and that their sums begin at 0.
 *
 * If a rank uses only its own sums, it must have looked at all elements. If an exchange adds up the sums of ranks, the
 * looks of all its members together must cover all elements. plan_loop.c proves that looks come before the exchange
 * starts, and updates after it; the proof of the exchange's schedule shows that it adds whole numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../plan_impl.h"

typedef struct {
    int64_t first, last;
} stretch;

typedef struct {
    stretch *at;
    int n, capacity;
} stretches;

static int by_first(const void *a, const void *b)
{
    const stretch *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Collects the elements that a rank's checks of gradients (actions `look`) count into `memory` in a step; false: the
 * first of these checks does not set the counts to 0, or a later one does. */
static bool add_looks(const tutti_loop *l, int memory, stretches *out)
{
    bool first = true, good = true;
    for (int i = 0; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (!tutti_action_looks(a) || a->to != memory) continue;
        good = good && a->begins == first;
        first = false;
        out->at = tutti_grow(out->at, out->n, &out->capacity, sizeof *out->at);
        if (a->count) out->at[out->n++] = (stretch){a->first, a->first + a->count};
    }
    return good;
}

static int bucket_of(const tutti_plan *p, int64_t element)
{
    int b = 0;
    while (b + 1 < p->nbuckets && p->buckets[b + 1].offset <= element) b++;
    return b;
}

/* Returns the first element that was not looked at exactly once; -1 = none. *often: that element was looked at more
 * than once. */
static int64_t find_gap(stretches *s, int64_t total, bool *often)
{
    int64_t at = 0;
    if (s->n) qsort(s->at, (size_t)s->n, sizeof *s->at, by_first);
    for (int i = 0; i < s->n; at = s->at[i++].last)
        if (s->at[i].first != at) {
            *often = s->at[i].first < at;
            return *often ? s->at[i].first : at;
        }
    *often = false;
    return at < total ? at : -1;
}

static tutti_status check_whole(const tutti_plan *p, const char *who, int memory, stretches *s, tutti_failure *err)
{
    bool often;
    const int64_t gap = find_gap(s, p->total, &often);
    if (gap < 0) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED,
                      "%s: the norms in %s are not whole: element %" PRId64 " of bucket %d is %s", who,
                      p->memories[memory].name, gap - p->buckets[bucket_of(p, gap)].offset, bucket_of(p, gap),
                      often ? "looked at twice" : "looked at by nobody");
}

/* Returns the memory that updates take norms from, -1 = none. */
static int find_norms(const tutti_loop *l)
{
    for (int i = 0; i < l->nactions; i++)
        if (tutti_action_updates(&l->actions[i]) && l->actions[i].norm >= 0) return l->actions[i].norm;
    return -1;
}

static bool all_go_by(const tutti_loop *l, int memory)
{
    for (int i = 0; i < l->nactions; i++)
        if (tutti_action_updates(&l->actions[i]) && l->actions[i].norm != memory) return false;
    return true;
}

/* Returns the exchange that adds up the ranks' counts in `memory`; NULL = each rank counts by itself. */
static const tutti_plan_exchange *find_sum(const tutti_plan *p, int memory)
{
    for (int x = 0; x < p->nexchanges; x++)
        if (p->exchanges[x].out.memory == memory) return &p->exchanges[x];
    return NULL;
}

/* Checks that the exchange x sums all counts and squares that the checks of gradients (actions `look`) of all ranks
 * have found. */
static tutti_status check_sum(const tutti_plan *p, const tutti_plan_exchange *x, tutti_failure *err)
{
    if (x->first == 0 && x->count >= tutti_plan_nlooked(p) && !x->members && x->op == TUTTI_SUM) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "%s: does not sum all %" PRId64 " numbers of all ranks, as norms need it",
                      x->name, tutti_plan_nlooked(p));
}

/* Returns the loop with the updates that use a rank's results: the rank's own loop or, if rank 0 serves it, its part of
 * rank 0's loop TUTTI_EACH_ARRIVAL. */
static tutti_loop updates_of(const tutti_plan *p, int rank, tutti_arena *work)
{
    tutti_loop loops[TUTTI_NDRIVERS];
    tutti_plan_list_loops(p, 0, work, loops);
    const tutti_loop part = tutti_loop_part(&loops[TUTTI_EACH_ARRIVAL], rank);
    for (int i = 0; i < part.nactions; i++)
        if (tutti_action_updates(&part.actions[i])) return part;
    tutti_plan_list_loops(p, rank, work, loops);
    return rank == p->config.rank ? p->loops[TUTTI_EACH_STEP] : loops[TUTTI_EACH_STEP];
}

tutti_status tutti_plan_check_looks(const tutti_plan *p, tutti_failure *err)
{
    const tutti_loop *own = &p->loops[TUTTI_EACH_STEP];
    int memory = p->config.norms ? find_norms(own) : -1;
    const tutti_plan_exchange *sum = memory < 0 ? NULL : find_sum(p, memory);
    tutti_arena work = {0};
    stretches all = {0};
    tutti_status st = sum ? check_sum(p, sum, err) : TUTTI_OK;
    for (int r = 0; r < p->config.nranks && (memory >= 0 || tutti_plan_has_far(p)) && p->config.norms && !st; r++) {
        char who[32];
        const tutti_loop of_rank = updates_of(p, r, &work), *step = &of_rank;
        if (!sum) memory = find_norms(step);
        if (memory < 0) continue;
        snprintf(who, sizeof who, "rank %d", r);
        if (!add_looks(step, sum ? sum->in.memory : memory, &all))
            st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: the norms in %s do not begin at 0 with the first look", who,
                            p->memories[memory].name);
        if (!st && !all_go_by(step, memory))
            st = tutti_fail(err, TUTTI_ERR_FAILED, "%s: an update does not go by the norms in %s", who,
                            p->memories[memory].name);
        if (!st && !sum) st = check_whole(p, who, memory, &all, err);
        if (!sum) all.n = 0;
        tutti_arena_reset(&work);
    }
    if (!st && sum) st = check_whole(p, "all ranks", memory, &all, err);
    free(all.at);
    tutti_arena_release(&work);
    return st;
}
