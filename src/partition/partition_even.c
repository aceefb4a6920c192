/* SPDX-License-Identifier: Apache-2.0 */
/* partition_even.c: cuts cores into a number of groups of equal length. Runs of equal length, but for one core, that
 * cut caches where they must only.
 *
 * How hwloc_distrib goes down the tree, with the lengths fixed: it deals groups to subtrees by their weight, and may
 * give two groups of one cache half of what a third has. Ranks that step together wait for the one with fewest cores,
 * so lengths come first here; what is left free, which runs are the longer ones, a table settles exactly: best[g][k] is
 * what g runs are worth of which k are longer. */
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "partition_impl.h"

/* What it is worth to begin a run at core `at`: nothing inside a cache that is shared. */
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
    for (int k = 1; k < width; k++) best[k] = -1; /* cannot be */
    for (int g = 0; g < ngroups; g++) {
        for (int k = width - 1; k >= 0; k--) { /* downwards: best[k - 1] is still that of g runs */
            const int64_t as_longer = k > 0 ? best[k - 1] : -1, as_other = best[k];
            /* >: where both are worth the same, the longer ones have gone before */
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
