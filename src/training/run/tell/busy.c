/* SPDX-License-Identifier: Apache-2.0 */
/* busy.c: finds a host that computes much longer than the others, as one does that is full of other work
 * (elastic.leave_out). Once in a while the ranks compare how long they have computed. A host counts as busy when it was
 * the longest in several comparisons in a row, so that a moment of other work does not count. */
#include <stdio.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "../../../base/sort.h"
#include "tell.h"

enum { LOOK_STEPS = 20, LOOKS = 2 }; /* steps between two comparisons; comparisons after which a host counts as busy */

/* Returns the mean over the ranks of a host; *first: the first of them. */
static double mean_of(const tutti_group *group, const int64_t *ns, int nranks, int host, int *first)
{
    double sum = 0;
    int n = 0;
    for (int r = nranks - 1; r >= 0; r--)
        if (tutti_group_host_of(group, r) == host) sum += (double)ns[r], n++, *first = r;
    return n ? sum / n : 0;
}

/* Returns a rank of the host that has computed at least `least` times as long as the median of the others; -1 = no host
 * has. *times: how many times as long. */
static int find(const tutti_group *group, const int64_t *ns, int nranks, double least, double *times)
{
    const int n = tutti_group_nhosts(group);
    double *sorted = tutti_alloc(sizeof *sorted * (size_t)n);
    double longest = 0;
    int rank = -1, first = 0;
    for (int h = 0; h < n; h++) {
        sorted[h] = mean_of(group, ns, nranks, h, &first);
        if (sorted[h] > longest) longest = sorted[h], rank = first;
    }
    tutti_sort_doubles(sorted, (size_t)n);
    const double median = sorted[(n - 1) / 2]; /* of all but the longest */
    free(sorted);
    if (median <= 0 || longest < least * median) return -1;
    *times = longest / median;
    return rank;
}

static void tell(tutti_busy *b, const tutti_telling *t, int rank, double times)
{
    const tutti_stepping *s = t->run;
    char words[240];
    const bool again =
        b->nlooks && rank >= 0 && tutti_group_host_of(s->group, rank) == tutti_group_host_of(s->group, b->rank);
    b->nlooks = rank < 0 ? 0 : again ? b->nlooks + 1 : 1;
    b->rank = rank;
    if (b->nlooks != LOOKS) return;
    snprintf(words, sizeof words, "the host of %s has computed %.1f times as long as the others for %d steps",
             tutti_group_describe(s->group, rank), times, LOOKS * LOOK_STEPS);
    tutti_report_note(t, words);
    const tutti_train_event event = {.kind = TUTTI_TRAIN_BUSY, .rank = rank, .text = words};
    if (s->config->on_event) s->config->on_event(s->config->on_event_arg, &event);
}

tutti_status tutti_busy_look(tutti_busy *b, const tutti_telling *t, tutti_failure *err)
{
    const tutti_stepping *s = t->run;
    const double least = s->config->leave_out;
    if (least <= 0 || s->visits || s->config->copies <= 0 || tutti_group_nhosts(s->group) == 1) return TUTTI_OK;
    if (s->step % LOOK_STEPS) return TUTTI_OK;
    const int64_t now = s->account.cost.ns[TUTTI_COST_COMPUTE], mine = now - b->compute_ns;
    const bool is_whole = b->step && s->step - b->step == LOOK_STEPS;
    b->compute_ns = now;
    b->step = s->step;
    if (!is_whole) return TUTTI_OK;
    int64_t *all = tutti_alloc(sizeof *all * (size_t)s->nranks);
    double times = 0;
    const tutti_status st = tutti_group_all_gather(s->group, "busy hosts", &mine, all, sizeof mine, err);
    const int rank = !st && s->rank == 0 ? find(s->group, all, s->nranks, least, &times) : -1;
    if (!st && s->rank == 0) tell(b, t, rank, times);
    free(all);
    return st;
}
