/* SPDX-License-Identifier: Apache-2.0 */
/* most_carried.c: finds the weights of given trees that carry most together: maximise sum x, loads x <= room, x >=
 * 0. */
#include "pack_impl.h"
#include "simplex.h"

double tutti_most_carried(const tutti_tree_loads *l, const bool *use, double *x)
{
    tutti_lp lp;
    double most;
    tutti_lp_init(&lp, l->ntrees);
    for (int32_t i = 0; i < l->ntrees; i++) lp.goal[i] = use[i];
    for (int32_t a = 0; a < l->nlinks; a++) {
        double *row = tutti_lp_row(&lp, l->room[a]);
        for (int32_t i = 0; i < l->ntrees; i++)
            row[i] = use[i] ? (double)l->load[(size_t)i * (size_t)l->nlinks + (size_t)a] : 0;
    }
    (void)tutti_lp_solve(&lp, x, &most); /* the program is bounded, because every tree uses a link; an unfinished
                                          * solution is still a packing */
    tutti_lp_release(&lp);
    return most;
}
