/* SPDX-License-Identifier: Apache-2.0 */
/* compile_groups.c: rows whose first parameter is a number of neighbouring ranks: groups of one size. */
#include <stdio.h>

#include "compile_impl.h"

void tutti_settle_groups(tutti_compile_request *q)
{
    if (q->param[0]) return;
    int32_t p = q->nranks, best = 1;
    for (int32_t k = 1; k <= p; k++)
        if (p % k == 0 && k + p / k < best + p / best) best = k;
    q->param[0] = best;
}

tutti_status tutti_accept_groups(const char *name, const tutti_compile_request *q, tutti_failure *err)
{
    const int32_t p = q->nranks, k = q->param[0], below = p / k * k;
    char lower[24] = "";
    if (p % k == 0) return TUTTI_OK;
    if (below) snprintf(lower, sizeof lower, "%d or ", below);
    return tutti_fail(err, TUTTI_ERR_USAGE,
                      "%s needs groups of one size: %d ranks are not groups of %d; %s%d ranks would be", name, p, k,
                      lower, below + k);
}
