/* SPDX-License-Identifier: Apache-2.0 */
/* partition_even.c: cuts cores into a number of groups, each a run of neighbouring cores. Their lengths differ by at
 * most one core, and a run cuts a cache only if it must.
 *
 * hwloc_distrib goes down the tree and deals groups to subtrees by their weight, so two groups of one cache may have
 * half the cores of a third group. Ranks that step together wait for the rank with the fewest cores, so here equal
 * lengths come first. The only choice that is left is which runs are one core longer. Dynamic programming finds the
 * best choice: best[g][k] is the greatest total worth (worth_of) of the first g runs if k of them are longer. */
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "partition_impl.h"

/* Returns how good it is to begin a run at core `at`: 0 inside a shared cache, the highest value at the border of two
 * memory nodes. */
static int64_t worth_of(const tutti_core_unit *units, int n, int at)
{
    const int64_t most = n + 1;
    if (at <= 0 || at >= n) return 0;
    const tutti_core_unit *a = &units[at - 1], *b = &units[at];
    if (memcmp(&a->nodes, &b->nodes, sizeof a->nodes) != 0) return most * most;
    if (a->cache != b->cache) return most;
    return a->inner != b->inner || !a->inner;
}

void tutti_partition_cut_evenly(const tutti_core_unit *units, int n, int ngroups, int *out)
{
    const int length = n / ngroups, nlonger = n % ngroups, width = nlonger + 1;
    int64_t *best = tutti_alloc(sizeof *best * (size_t)width);
    bool *is_longer = tutti_alloc(sizeof *is_longer * (size_t)ngroups * (size_t)width);
    for (int k = 1; k < width; k++) best[k] = -1; /* -1 means impossible: of zero runs, no k > 0 can be longer */
    for (int g = 0; g < ngroups; g++) {
        /* goes downwards, because best[k - 1] must still be the value for g runs */
        for (int k = width - 1; k >= 0; k--) {
            const int64_t as_longer = k > 0 ? best[k - 1] : -1, as_other = best[k];
            /* > and not >=, so that of two equally good choices the one with the longer runs first is taken */
            is_longer[g * width + k] = as_longer > as_other;
            best[k] = as_longer > as_other ? as_longer : as_other;
            if (best[k] >= 0) best[k] += worth_of(units, n, (g + 1) * length + k);
        }
    }
    out[ngroups] = n;
    for (int g = ngroups - 1, k = nlonger; g >= 0; g--) {
        const bool longer = is_longer[g * width + k];
        out[g] = out[g + 1] - length - longer;
        k -= longer;
    }
    free(best);
    free(is_longer);
}
