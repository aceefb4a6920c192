/* SPDX-License-Identifier: Apache-2.0 */
/* members.c: finds the ranks of a group that take part in an exchange, and their numbers in the schedule. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "executor_impl.h"

tutti_status tutti_members_find(const tutti_group *g, const char *what, int32_t nplaces, tutti_ranks_listed members,
                                int32_t *me, tutti_failure *err)
{
    if (members.n != nplaces)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: the schedule is for %d ranks, and %d are its members", what,
                          nplaces, members.n);
    /* for each rank of the group: 1 + its index in the list of members; 0: the rank was not in the list so far */
    int32_t *place_of = tutti_alloc(sizeof *place_of * (size_t)g->nranks);
    tutti_status st = TUTTI_OK;
    for (int32_t i = 0; i < members.n && !st; i++) {
        const int32_t rank = members.rank[i];
        if (rank < 0 || rank >= g->nranks)
            st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: its member %d is rank %d; the group has ranks 0 to %d", what, i,
                            rank, g->nranks - 1);
        else if (place_of[rank])
            st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: rank %d is its member %d and its member %d", what, rank,
                            place_of[rank] - 1, i);
        else
            place_of[rank] = i + 1;
    }
    *me = st ? -1 : place_of[g->rank] - 1;
    free(place_of);
    return st;
}

tutti_status tutti_members_take(tutti_exchange *x, int32_t nplaces, const tutti_exchange_binding *binding,
                                tutti_failure *err)
{
    const tutti_group *g = x->group;
    const int32_t n = binding->members ? binding->nmembers : g->nranks;
    char what[sizeof x->name + 16];
    snprintf(what, sizeof what, "exchange '%s'", x->name);
    if (n < 1 || n > g->nranks) /* the number is checked before memory is allocated for the members */
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %d members, in a group of %d ranks", what, n, g->nranks);
    int32_t *members = TUTTI_ARENA_NEW(&x->arena, int32_t, n);
    x->over_some = n != g->nranks;
    for (int32_t i = 0; i < n; i++) {
        members[i] = binding->members ? binding->members[i] : i;
        x->over_some |= members[i] != i;
    }
    x->members = members, x->nmembers = n;
    x->at = TUTTI_ARENA_NEW(&x->arena, size_t, n);
    x->buffers_at = TUTTI_ARENA_NEW(&x->arena, size_t, n);
    x->nbuffers = TUTTI_ARENA_NEW(&x->arena, int32_t, n);
    return tutti_members_find(g, what, nplaces, (tutti_ranks_listed){members, n}, &x->me, err);
}

int tutti_members_count_hosts(const tutti_exchange *x)
{
    int n = 0;
    for (int32_t i = 0; i < x->nmembers; i++) {
        int32_t first = 0;
        while (x->group->hosts[x->members[first]] != x->group->hosts[x->members[i]]) first++;
        n += first == i;
    }
    return n;
}
