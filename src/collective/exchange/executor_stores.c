/* SPDX-License-Identifier: Apache-2.0 */
/* executor_stores.c: chooses the stores of an exchange: ordinary ones, or streaming stores that bypass the caches.
 *
 * Vectors that the caches of a host cannot hold are stored past them. Vectors that fit into the caches' nominal size
 * may still be stored faster past them. A last-level cache that other virtual machines share is not all ours; and one
 * that holds only lines evicted from the second level moves every line twice. So if all vectors together take more than
 * a good part of the caches, the first invocations try both kinds, and the time of this rank's own steps decides. Both
 * store the same bits, so no other rank need know. Streaming must win by a margin, because the next reader of the
 * result may find it in a cache after ordinary stores. */
#include "executor_impl.h"

enum { A_GOOD_PART = 8, BURST = 3 };
static const double MARGIN = 0.9;

static double vectors_bytes(const tutti_exchange *x, const tutti_schedule *schedule)
{
    const int sharing = x->nmembers < x->group->nmachine ? x->nmembers : x->group->nmachine;
    const size_t each = x->vector.bytes + (tutti_schedule_head(schedule)->in_place ? 0 : x->vector.taken_bytes);
    return sharing * (double)x->vector.n * (double)each;
}

void tutti_stores_choose(tutti_exchange *x, const tutti_schedule *schedule, bool past)
{
    const double bytes = vectors_bytes(x, schedule), cache = (double)x->group->cache_bytes;
    x->stores.past = past || bytes > cache;
    if (!x->stores.past && bytes > cache / A_GOOD_PART) x->stores.left = 2 * BURST;
    for (int32_t i = 0; i < x->nops; i++) {
        tutti_op *op = &x->ops[i];
        char *const *at = x->pointers[0] + op->first;
        op->stream = true;
        for (int32_t k = 0; k < op->nins; k++)
            for (int32_t o = 0; o < op->nouts; o++) /* true: input and output have the same address, so this core has
                                                     * read the output's lines and an ordinary store finds them in its
                                                     * cache */
                if (at[k] == at[op->nins + o]) op->stream = false;
    }
}

/* Notes the time of a trial: first ordinary stores, then streaming ones. The least time of each kind counts, because
 * the first trial of a kind finds the caches as the other kind left them. */
void tutti_stores_record(tutti_exchange *x, double seconds)
{
    tutti_stores *t = &x->stores;
    const int last = (BURST - t->left % BURST) % BURST;
    double *least = &t->least_s[t->past];
    if (last == 0 || seconds < *least) *least = seconds;
    t->left--;
    t->past = t->left > 0 ? t->left <= BURST : t->least_s[1] < MARGIN * t->least_s[0];
}
