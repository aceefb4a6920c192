/* SPDX-License-Identifier: Apache-2.0 */
/* engines_compare.c: asks each engine for the time of each contender's schedule. */
#include "../choose/choose.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../choose/choose_impl.h"

static void ask(const tutti_engine *e, const tutti_engine_question *q, tutti_engine_answer *out)
{
    tutti_failure err = {0};
    out->can = e->can(q, out->why);
    if (!out->can || e->simulate(q, &out->seconds, &err) == TUTTI_OK) return;
    out->can = false;
    snprintf(out->why, sizeof out->why, "%.199s", err.text);
}

int tutti_engines_compare(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                          int64_t n, const tutti_topology *t, unsigned engines, double limit_s, const double *late_s,
                          tutti_engine_row *rows)
{
    tutti_contenders *all = tutti_alloc(sizeof *all);
    int nrows = 0;
    assert(tutti_engine_count() <= TUTTI_MAX_ENGINES);
    tutti_contenders_open(policy, most_steps, request, t, all);
    for (int i = 0; i < all->n; i++) {
        const tutti_contender *c = &all->list[i];
        if (!c->compiled) continue;
        const tutti_engine_question q = {.schedule = c->lowered ? c->lowered : c->compiled,
                                         .algorithm = c->algorithm,
                                         .topology = t,
                                         .n = n,
                                         .limit_s = limit_s,
                                         .late_s = late_s};
        tutti_engine_row *row = &rows[nrows++];
        *row = (tutti_engine_row){0};
        memcpy(row->algorithm, c->algorithm, sizeof row->algorithm);
        for (int e = 0; e < tutti_engine_count(); e++)
            if (engines >> e & 1) ask(tutti_engine_at(e), &q, &row->of[e]);
    }
    tutti_contenders_close(all);
    free(all);
    return nrows;
}
